// The card that says what is predicted, beside what happens.

import { h, short } from "./dom";
import type { Began } from "./state";
import type { Store } from "./store";

const TITLES: Record<string, string> = {
  "first-token": "The first token's place",
  "one-point": "One point of L",
  "two-points": "Two points ±ξ",
  cloud: "A cloud",
  "two-clouds": "Two clouds",
  rotating: "Rotation",
  jordan: "A Jordan block",
  zero: "λ max = 0",
};
const OPEN: Record<string, string> = {
  "emergence/theorem-3.1": "A polytope",
  "emergence/theorem-4.2": "Parallel hyperplanes",
  "emergence/theorem-5.2": "A polytope times a space",
  "emergence/negative-identity": "The origin",
};
const MET = 1e-2;

export class AtlasCard {
  readonly element: HTMLElement;
  onstatement: (name: string) => void = () => {};
  private title = h("b", { class: "row-title" });
  private words = h("p");
  private link = h(
    "button",
    { type: "button", class: "link", click: () => this.onstatement(this.claim) },
    "the statement",
  );
  private notes = h("p", { class: "hint" });
  private now = h("p", { class: "now", "aria-live": "off" });
  private verdict = h("span", { class: "verdict" });
  private claim = "";

  constructor() {
    this.element = h(
      "section",
      { class: "card atlas", "aria-label": "Atlas" },
      h("h2", {}, "Predicted from Q, K and V"),
      h("p", {}, this.title),
      this.words,
      this.link,
      this.notes,
      h("h2", {}, "What happens"),
      this.now,
      this.verdict,
    );
  }

  take(began: Began): void {
    const { atlas } = began;
    this.claim = atlas.claim;
    this.element.dataset.row = atlas.row;
    this.title.textContent = atlas.row
      ? (TITLES[atlas.row] ?? atlas.row)
      : atlas.claim
        ? (OPEN[atlas.claim] ?? "")
        : "No statement";
    const words = atlas.words
      .replaceAll("x_1", "x₁")
      .replaceAll("lambda_max", "λ max")
      .replaceAll(/\bxi\b/g, "ξ");
    this.words.textContent = `${words.charAt(0).toUpperCase() + words.slice(1)}.`;
    this.link.hidden = !atlas.claim;
    this.link.textContent = `Statement: ${atlas.claim}`;
    this.notes.textContent = atlas.notes.length ? `But ${atlas.notes.join("; ")}.` : "";
  }

  /** The numbers of a frame in words. */
  at(store: Store, index: number): void {
    const began = store.began!;
    const frame = store.frames[index]!;
    const value = (name: string): number => frame.measures[store.measure(name)];
    const count = value("clusters");
    const parts = [`${count} ${count === 1 ? "cluster" : "clusters"}`];
    const [gap, distance] = [value("gap"), value("distance")];
    if (Number.isFinite(gap) && began.atlas.gap) parts.push(`the farthest token is ${short(gap)} ${began.atlas.gap}`);
    if (["cloud", "two-clouds"].includes(began.atlas.row)) parts.push(`mean distance to L ${short(distance)}`);
    const text = `${parts.join("; ")}.`;
    if (this.now.textContent !== text) this.now.textContent = text;
    const clouds = began.atlas.row.includes("cloud");
    const there = clouds ? count > 0.25 * began.n_tokens : gap < MET;
    const known =
      Number.isFinite(gap) && began.atlas.row !== "" && began.atlas.row !== "rotating" && began.atlas.row !== "zero";
    const verdict = !known
      ? ""
      : there
        ? clouds
          ? "✓ Not merged: as predicted so far."
          : "✓ At the predicted limit."
        : clouds
          ? "Tokens have merged."
          : "Not there yet.";
    if (this.verdict.textContent !== verdict) this.verdict.textContent = verdict;
    this.verdict.classList.toggle("met", verdict.startsWith("✓"));
    this.element.dataset.clusters = String(count);
  }
}

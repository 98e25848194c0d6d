// How many clusters there are depends on the radius within which tokens are linked: the count against it, and what lasts.

import { h, s, short } from "./dom";
import type { Store } from "./store";

const [W, H, LEFT, TOP, RIGHT, BOTTOM] = [236, 96, 30, 6, 8, 16];
const CLEAR = 2; // what stays while the radius doubles stays, as tokenflock.analysis.persistence says

export class Radii {
  private svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
  private words = h("p", { class: "lasts", "aria-live": "off" });
  readonly element = h(
    "section",
    { class: "card radii", "aria-label": "Clusters without a radius", hidden: true },
    h("h2", {}, "Clusters without a radius"),
    h(
      "figure",
      {
        title:
          "The number of clusters against the radius within which tokens are linked. Shaded: the stretch that lasts longest. The thin line: the radius of the colours.",
      },
      this.svg,
    ),
    this.words,
  );
  private shown = -1;

  /** Another run. */
  begin(): void {
    this.shown = -1;
  }

  /** The last frame of which it is known, at or before this one. */
  at(store: Store, index: number): void {
    const began = store.began!;
    const measure = store.measure("lasting");
    let place = measure < 0 ? -1 : store.place(index);
    while (place >= 0 && !Number.isFinite(store.frames[store.there[place]]!.measures[measure])) place--;
    this.element.hidden = place < 0;
    if (place < 0 || this.shown === store.there[place]) return;
    this.shown = store.there[place];
    const { measures } = store.frames[this.shown]!;
    const [count, from, to] = measures.subarray(measure, measure + 3);
    const counts = [...measures.subarray(measure + 3, measure + 3 + began.radii.length)];
    this.draw(began.radii, counts, began.radius, from, to);
    const range = `radii from ${short(from)} to ${short(to)}, a factor ${short(to / from)}`;
    const clusters = `${count} ${count === 1 ? "cluster" : "clusters"}`;
    const words =
      to / from >= CLEAR
        ? `${clusters} for ${range}.`
        : `No number of clusters stands out; ${count} lasts longest, for ${range}.`;
    this.words.textContent = words;
    this.svg.setAttribute("aria-label", `Count against radius: ${words}`);
    this.element.dataset.lasting = String(count);
  }

  private draw(radii: number[], counts: number[], used: number, from: number, to: number): void {
    const [low, high] = [Math.log(radii[0]), Math.log(radii[radii.length - 1])];
    const px = (r: number): number =>
      LEFT + Math.min(1, Math.max(0, (Math.log(r) - low) / (high - low))) * (W - LEFT - RIGHT);
    const most = Math.log(Math.max(2, ...counts));
    const py = (n: number): number => H - BOTTOM - (Math.log(n) / most) * (H - TOP - BOTTOM);
    const steps = radii.map((r, k) => {
      const [x, y] = [px(r).toFixed(1), py(counts[k]).toFixed(1)];
      return k ? `H${x}V${y}` : `M${x} ${y}`;
    });
    const powers = [];
    for (let k = Math.ceil(low / Math.LN10); k <= high / Math.LN10; k++) powers.push(10 ** k);
    const height = H - TOP - BOTTOM;
    this.svg.replaceChildren(
      s("rect", { class: "band", x: px(from), y: TOP, width: Math.max(1, px(to) - px(from)), height }),
      s("path", { d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`, class: "axis" }),
      s("text", { x: LEFT - 4, y: py(1) + 3, "text-anchor": "end" }, "1"),
      s("text", { x: LEFT - 4, y: TOP + 7, "text-anchor": "end" }, short(Math.max(2, ...counts))),
      ...powers.map((r) => s("text", { x: px(r), y: H - 4, "text-anchor": "middle" }, short(r))),
      s("path", { d: steps.join(""), fill: "none", "stroke-width": 1.6, class: "first" }),
      s("line", { class: "hand", x1: px(used), x2: px(used), y1: TOP, y2: H - BOTTOM }),
    );
  }
}

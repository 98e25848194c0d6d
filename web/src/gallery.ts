// The presets: every figure and claim of the papers, chosen by a picture.

import { h, s } from "./dom";
import { clusterColour, css } from "./palette";
import type { Picture, Preset } from "./state";

/** A small picture of how a run ends. */
export function drawn(picture: Picture | null): SVGSVGElement {
  const svg = s("svg", { viewBox: "0 0 1000 1000", "aria-hidden": "true" });
  if (!picture) return svg;
  if (picture.kind !== "open") svg.append(s("circle", { cx: 500, cy: 500, r: 420, class: "outline" }));
  if (picture.kind === "sphere")
    svg.append(s("ellipse", { cx: 500, cy: 500, rx: 420, ry: 150, class: "outline thin" }));
  if (picture.hull) svg.append(s("polygon", { points: picture.hull.join(" "), class: "hull" }));
  for (const path of picture.paths) svg.append(s("polyline", { points: path.join(" "), class: "path" }));
  for (const [x, y, c] of picture.points) svg.append(s("circle", { cx: x, cy: y, r: 22, fill: css(clusterColour(c)) }));
  return svg;
}

export class Gallery {
  readonly dialog: HTMLDialogElement;
  onchoose: (preset: Preset) => void = () => {};
  private presets: Preset[] = [];
  private stale = false;
  private list = h("div", { class: "papers" });

  constructor() {
    this.dialog = h(
      "dialog",
      {
        class: "wide",
        "aria-label": "Presets",
        click: (event: MouseEvent) => event.target === this.dialog && this.dialog.close(),
      },
      h(
        "header",
        {},
        h("h2", {}, "Every figure and claim of the papers"),
        h("button", { type: "button", class: "round", "aria-label": "Close", click: () => this.dialog.close() }, "✕"),
      ),
      this.list,
    );
  }

  /** What there is to choose from; drawn when it is looked at. */
  fill(presets: Preset[]): void {
    this.presets = presets;
    this.stale = true;
    if (this.dialog.open) this.draw();
  }

  private draw(): void {
    this.stale = false;
    const { presets } = this;
    const papers = new Map<string, Preset[]>();
    for (const preset of presets) papers.set(preset.paper, [...(papers.get(preset.paper) ?? []), preset]);
    this.list.replaceChildren(
      ...[...papers].map(([paper, members]) =>
        h(
          "section",
          {},
          h("h3", {}, paper),
          h(
            "div",
            { class: "cards" },
            ...members.map((preset) =>
              h(
                "button",
                {
                  type: "button",
                  class: "preset",
                  "data-preset": preset.name,
                  title: `${preset.sentence} (${preset.shows.join(", ")})`,
                  click: () => this.choose(preset),
                },
                drawn(preset.picture),
                h("b", {}, preset.title),
                h("small", {}, preset.shows.join(" · ")),
              ),
            ),
          ),
        ),
      ),
    );
  }

  private choose(preset: Preset): void {
    this.dialog.close();
    this.onchoose(preset);
  }

  open(): void {
    if (this.stale) this.draw();
    if (!this.dialog.open) this.dialog.showModal();
  }
}

// Where the parts of the page stand.

import type { App } from "./app";
import { h } from "./dom";

export function layout(app: App, stage: HTMLElement, live: boolean, gallery: boolean): HTMLElement {
  const button = (text: string, title: string, action: () => void, name: string): HTMLElement =>
    h("button", { type: "button", title, "aria-label": title, name, click: action }, text);
  return h(
    "div",
    { class: `root${live ? "" : " recorded"}`, "data-frames": 0 },
    h(
      "header",
      { class: "head" },
      h("h1", {}, "tokenflock"),
      live && gallery
        ? button("Presets", "Presets: every figure and claim (P)", () => app.gallery.open(), "presets")
        : null,
      live ? button("Restart", "Restart from the start (R)", () => app.restart(), "restart") : null,
      h("span", { class: "space" }),
      app.note,
      button("Share", "Share: take it along (S)", () => app.share.showModal(), "share"),
      button("◐", "Light or dark", () => app.theme.toggle(), "theme"),
      button("?", "Help and keys (?)", () => app.help.showModal(), "help"),
    ),
    live ? h("nav", { class: "side left", "aria-label": "Controls" }, app.controls.element) : null,
    h("main", { class: "middle" }, app.sentence, stage, app.legend, app.alert.element),
    h("aside", { class: "side right" }, app.atlas.element, app.radii.element, app.attention.element),
    app.charts.element,
    app.player.element,
    app.gallery.dialog,
    app.share,
    app.help,
  );
}

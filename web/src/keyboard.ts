// Keys for everything that the pointer can do. Inputs keep their own keys.

import type { App } from "./app";
import type { Colour } from "./state";

const COLOURS: Colour[] = ["cluster", "index", "speed"];

export function keyboard(root: ShadowRoot, app: App): void {
  root.addEventListener("keydown", (given) => {
    const event = given as KeyboardEvent;
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = target.matches("input, select, textarea");
    const slider = target.matches("input[type=range]");
    if (typing && !(slider && event.key === " ")) return;
    if (root.querySelector("dialog[open]") && event.key !== "?") return;
    const onView = target === app.scene.canvas;
    const actions: Record<string, () => void> = {
      ",": () => app.player.step(-1),
      ".": () => app.player.step(1),
      Home: () => app.player.scrub(0),
      End: () => app.player.scrub(1),
      l: () => app.player.flip(),
      "[": () => app.pick(next(app, -1)),
      "]": () => app.pick(next(app, 1)),
      Escape: () => app.pick(null),
      "0": () => app.scene.reset(),
      c: () => {
        app.view.colour = COLOURS[(COLOURS.indexOf(app.view.colour) + 1) % COLOURS.length];
        app.controls.onview();
        app.controls.build(true);
      },
      h: () => app.head(app.attention.next),
      p: () => app.gallery.open(),
      s: () => app.share.showModal(),
      r: () => app.restart(),
      "?": () => (app.help.open ? app.help.close() : app.help.showModal()),
      ...(target.matches("button, summary, a") ? {} : { " ": () => app.player.toggle() }),
      ...(onView
        ? {
            ArrowLeft: () => app.scene.turn(-1, 0, 0),
            ArrowRight: () => app.scene.turn(1, 0, 0),
            ArrowUp: () => app.scene.turn(0, 1, 0),
            ArrowDown: () => app.scene.turn(0, -1, 0),
            "+": () => app.scene.turn(0, 0, 1),
            "=": () => app.scene.turn(0, 0, 1),
            "-": () => app.scene.turn(0, 0, -1),
          }
        : {}),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  // With nothing focused keys go to the body: send them here, as long as this is the only explorer of the page.
  if (root.host.id === "tokenflock") {
    document.body.addEventListener("keydown", (event) => {
      if (event.target === document.body && root.firstElementChild) {
        const copy = new KeyboardEvent("keydown", { key: event.key, bubbles: true, cancelable: true });
        if (!root.firstElementChild.dispatchEvent(copy)) event.preventDefault();
      }
    });
  }
}

function next(app: App, step: number): number | null {
  const n = app.store.began?.n_tokens ?? 0;
  if (!n) return null;
  const { token } = app.attending;
  return token === null ? (step > 0 ? 0 : n - 1) : (token + step + n) % n;
}

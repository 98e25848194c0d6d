// A sentence that something is wrong, until it is closed.

import { h } from "./dom";

export class Alert {
  readonly element = h("div", { class: "alert", role: "alert", hidden: true });

  /** Show a sentence; the empty one takes it away. */
  say(sentence: string): void {
    this.element.hidden = !sentence;
    if (!sentence) return;
    const close = { type: "button", class: "round", "aria-label": "Close", click: () => this.say("") };
    this.element.replaceChildren(h("span", {}, sentence), h("button", close, "✕"));
  }
}

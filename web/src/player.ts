// The time line at the bottom: plays and scrubs, on a linear or a logarithmic clock.

import { placeOf, timeAt } from "./charts";
import { h, short } from "./dom";
import type { View } from "./state";
import type { Store } from "./store";

const WHOLE_S = 14; // how long a whole run plays at pace 1
const PACES = [0.25, 0.5, 1, 2, 4];
const RESOLUTION = 10000;

export class Player {
  readonly element: HTMLElement;
  time = 0;
  playing = false;
  onmove: () => void = () => {};
  onclock: () => void = () => {};
  private play: HTMLButtonElement;
  private line: HTMLInputElement;
  private clock: HTMLButtonElement;
  private told = h("output", { class: "time", "aria-label": "Time" });
  private loaded = h("div", { class: "loaded" });
  private pace: HTMLSelectElement;

  constructor(
    private store: Store,
    private view: View,
  ) {
    const button = (label: string, icon: string, action: () => void): HTMLButtonElement =>
      h("button", { type: "button", class: "round", "aria-label": label, title: label, click: action }, icon);
    this.play = button("Play or pause (space)", "▶", () => this.toggle());
    this.play.classList.add("main");
    this.line = h("input", {
      type: "range",
      min: 0,
      max: RESOLUTION,
      step: 1,
      value: 0,
      "aria-label": "Time line",
      input: () => this.scrub(Number(this.line.value) / RESOLUTION),
    });
    this.clock = h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-pressed": "false",
        title: "Logarithmic clock (L)",
        click: () => this.flip(),
      },
      "log t",
    );
    this.pace = h(
      "select",
      { "aria-label": "Pace", title: "Pace", change: () => (this.view.pace = Number(this.pace.value)) },
      ...PACES.map((p) => h("option", { value: p, selected: p === view.pace }, `${p}×`)),
    );
    this.element = h(
      "section",
      { class: "player", "aria-label": "Time line" },
      button("To the start (Home)", "«", () => this.scrub(0)),
      button("A frame back (,)", "‹", () => this.step(-1)),
      this.play,
      button("A frame on (.)", "›", () => this.step(1)),
      h("div", { class: "line" }, this.loaded, this.line),
      this.told,
      this.clock,
      this.pace,
    );
    this.sync();
  }

  get place(): number {
    return Math.min(1, placeOf(this.time, this.store, this.view.clock));
  }

  flip(): void {
    this.view.clock = this.view.clock === "log" ? "linear" : "log";
    this.sync();
    this.onclock();
  }

  /** Buttons as the view says. */
  sync(): void {
    this.clock.setAttribute("aria-pressed", String(this.view.clock === "log"));
    this.pace.value = String(this.view.pace);
    this.show();
  }

  toggle(on = !this.playing): void {
    if (on && this.time >= this.store.endTime) this.time = 0;
    this.playing = on;
    this.play.textContent = on ? "❚❚" : "▶";
    this.play.setAttribute("aria-pressed", String(on));
  }

  scrub(place: number): void {
    this.toggle(false);
    this.go(Math.min(timeAt(place, this.store, this.view.clock), this.store.lastTime));
  }

  step(by: number): void {
    this.toggle(false);
    const at = this.store.at(this.time, this.view.clock === "log");
    if (!at) return;
    const from = by < 0 && at.part > 0 ? this.store.beside(at.before, 1) : at.before;
    this.go(this.store.frames[this.store.beside(from, by)]!.time);
  }

  go(time: number): void {
    this.time = time;
    this.show();
    this.onmove();
  }

  /** Time goes by; it waits where nothing has been computed yet. */
  tick(seconds: number): void {
    if (!this.playing || !this.store.last) return;
    const place = this.place + (seconds * this.view.pace) / WHOLE_S;
    const time = place >= 1 ? this.store.endTime : timeAt(place, this.store, this.view.clock);
    const reached = this.store.lastTime;
    if (time >= reached && reached >= this.store.endTime * (1 - 1e-12)) this.toggle(false);
    if (Math.min(time, reached) !== this.time) this.go(Math.min(time, reached));
  }

  /** The slider, the numbers, and how far frames have come. */
  show(): void {
    const value = Math.round(this.place * RESOLUTION);
    if (Number(this.line.value) !== value) this.line.value = String(value);
    const text = `t = ${short(this.time)}`;
    if (this.told.textContent !== text) {
      this.told.textContent = text;
      this.line.setAttribute("aria-valuetext", text);
    }
    this.loaded.style.width = `${100 * Math.min(1, placeOf(this.store.lastTime, this.store, this.view.clock))}%`;
  }
}

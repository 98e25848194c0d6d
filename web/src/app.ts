// The page: its parts, and how what arrives and what is asked goes between them.

import { Alert } from "./alert";
import { AtlasCard } from "./atlas";
import { Attending } from "./attending";
import { Attention } from "./attention";
import { Charts } from "./charts";
import { connect } from "./connect";
import { type Change, Controls } from "./controls";
import { h, throttled } from "./dom";
import { Gallery } from "./gallery";
import { keyboard } from "./keyboard";
import { layout } from "./layout";
import { type Frame, unpack } from "./packets";
import { Player } from "./player";
import { Radii } from "./radii";
import { Scene } from "./scene";
import { choices, helpDialog, shareDialog } from "./share";
import type { Source } from "./source";
import type { Began, Preset, Row, Shared, Spec, Statement, Table, View } from "./state";
import { encode, lean, VIEW } from "./state";
import { statementDialog } from "./statement";
import { Store } from "./store";
import css from "./style.css";
import { Theme } from "./theme";
import { headline, legend } from "./words";

export interface Options {
  shared: Shared;
  presets?: Preset[];
  address?: boolean; // whether the address of the page holds the state
  ahead?: { began: Began; packet: ArrayBuffer }; // the first frame, known before the server answers
  title?: string;
}

export class App {
  readonly store = new Store();
  readonly view: View;
  readonly scene: Scene;
  readonly player: Player;
  readonly controls: Controls;
  readonly charts = new Charts();
  readonly gallery = new Gallery();
  readonly help = helpDialog();
  readonly share: HTMLDialogElement;
  readonly theme: Theme;
  received = 0; // frames that came
  readonly atlas = new AtlasCard();
  readonly radii = new Radii();
  readonly attention = new Attention();
  readonly attending: Attending;
  private root: HTMLElement;
  private shadow: ShadowRoot;
  readonly note = h("p", { class: "note", role: "status" });
  readonly alert = new Alert();
  readonly sentence = h("p", { class: "sentence" });
  readonly legend = h("p", { class: "legend" });
  private base: Spec; // the run as the server has it, with the changes on its way
  // Runs that were asked for and have not begun; a change that will be asked for soon; one more after the answer.
  private asked = { runs: 0, soon: false, again: false, anew: false };
  private unseen = -1;
  private held = false; // a moment was asked for: nothing plays by itself
  private fresh = true; // the next run is looked at from its usual place
  private stopped = false;
  private last = 0;
  private watcher: ResizeObserver;
  private quiet = window.matchMedia("(prefers-reduced-motion: reduce)");
  private redraw = throttled(0.12, () => this.charts.draw(this.store, this.view));
  readonly remember = throttled(0.4, () => this.toAddress());
  private steer = throttled(0.1, () => this.ask());
  private preset = "";

  constructor(
    host: HTMLElement,
    private source: Source,
    private options: Options,
  ) {
    this.view = { ...VIEW, ...options.shared.view };
    this.base = structuredClone(options.shared.spec);
    this.preset = options.shared.preset ?? "";
    this.shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.shadow.adoptedStyleSheets = [sheet];
    this.controls = new Controls(this.current(), this.view);
    this.player = new Player(this.store, this.view);
    this.attending = new Attending(this.attention, source, this.store, this.view);
    const stage = h("div", { class: "stage" });
    this.share = shareDialog(choices(this), source.live && Boolean(options.address));
    this.root = layout(this, stage, source.live, Boolean(options.presets));
    this.shadow.replaceChildren(this.root);
    this.scene = new Scene(stage);
    this.theme = new Theme(host, () => {
      this.scene.theme();
      this.move();
    });
    this.watcher = new ResizeObserver(() => this.scene.resize());
    this.watcher.observe(stage);
    connect(this, source);
    this.gallery.fill(options.presets ?? []);
    this.attention.open = this.view.matrix;
    this.controls.build();
    this.describe();
    keyboard(this.shadow, this);
    if (options.ahead) this.foretold(options.ahead.began, options.ahead.packet);
    source.listen({
      message: (m) => this.message(m),
      packet: (data) => this.packet(data),
      state: (word) => this.state(word),
    });
    document.addEventListener("visibilitychange", this.hidden);
    requestAnimationFrame((now) => this.tick(now));
  }

  /** All presets, when they have come. */
  known(presets: Preset[]): void {
    this.options.presets = presets;
    this.gallery.fill(presets);
    this.describe();
  }

  /** Show what the server will send first. */
  private foretold(began: Began, packet: ArrayBuffer): void {
    this.store.begin({ ...began, run: 0 });
    this.scene.begin(this.store, this.view, true);
    this.attending.begin();
    this.controls.took(began);
    this.atlas.take(began);
    this.radii.begin();
    this.describe();
    const first = unpack(packet);
    if (first.kind === "frame") this.fill([first.frame], first.axes);
  }

  /** A page that nobody sees does not compute. */
  private hidden = (): void => this.source.send({ type: "pause", on: document.hidden });

  // What is asked ------------------------------------------------------------------------------------------------------

  /** The run as the controls change it: the model that is in force now. */
  private current(): Spec {
    const last = this.base.then?.[this.base.then.length - 1];
    return structuredClone({
      model: last?.model ?? this.base.model,
      start: this.base.start,
      simulate: last?.simulate ?? this.base.simulate,
    });
  }

  /** Whether a run is asked for, or about to be: what is shown is not yet what the controls say. */
  get busy(): boolean {
    return this.asked.runs > 0 || this.asked.soon || this.asked.again || this.root.dataset.state !== "open";
  }

  changed(what: Change, final: boolean): void {
    if (what === "start") this.fresh = true;
    if (what === "start" && !final) return;
    if (what === "start" || this.view.after === "restart") this.asked.anew = true;
    this.asked.soon = true;
    this.steer();
  }

  /** Go on from here with the model of the controls, or start anew; one question at a time. */
  private ask(): void {
    if (!this.asked.soon && !this.asked.again) return; // a whole new run has overtaken it
    this.asked.soon = this.asked.again = false;
    if (this.asked.runs) {
      this.asked.again = true;
      return;
    }
    const at = this.store.at(this.player.time, false);
    if (this.asked.anew || !at) {
      this.restart(false);
      return;
    }
    this.asked.runs++;
    if (!this.quiet.matches) this.player.toggle(true);
    this.source.send({ type: "steer", spec: this.controls.spec, frame: at.before });
  }

  restart(again = true): void {
    const spec = this.controls.spec;
    this.base = structuredClone({ model: spec.model, start: spec.start, simulate: spec.simulate });
    this.player.time = 0;
    this.view.time = null;
    if (again) this.fresh = true;
    if (!this.quiet.matches) this.player.toggle(true);
    this.start();
  }

  private start(): void {
    this.asked = { runs: this.asked.runs + 1, soon: false, again: false, anew: false };
    this.source.send({ type: "start", spec: this.base });
  }

  choose(preset: Preset): void {
    this.preset = preset.name;
    const { after, pace } = this.view;
    Object.assign(this.view, VIEW, { after, pace }, preset.view);
    this.base = structuredClone(preset.spec);
    this.controls.spec = this.current();
    this.controls.build(true);
    this.attention.open = this.view.matrix;
    this.pick(null);
    this.player.time = 0;
    this.player.sync();
    this.fresh = true;
    this.describe();
    this.start();
    if (!this.quiet.matches) this.player.toggle(true);
  }

  viewChanged(): void {
    this.player.sync();
    if (this.store.began) {
      const how = this.store.began.projection.how;
      if (this.store.began.dim > 3 && how !== this.view.projection && this.source.live) {
        const frame = this.store.at(this.player.time, false)?.before ?? 0;
        this.source.send({ type: "look", how: this.view.projection, frame });
      }
      this.scene.begin(this.store, this.view, false);
    }
    this.redraw();
    this.move();
    this.remember();
  }

  pick(token: number | null): void {
    this.attending.pick(token);
    this.move();
    this.remember();
  }

  head(head: View["head"]): void {
    this.attending.choose(head);
    this.move();
    this.remember();
  }

  // What arrives -------------------------------------------------------------------------------------------------------

  private state(word: "open" | "waiting" | "closed"): void {
    this.root.dataset.state = word;
    if (word === "open") {
      this.alert.say("");
      this.asked.runs = 0; // what was asked of a line that broke is not answered
      if (this.source.live) this.start();
    } else this.alert.say("The server does not answer. Is `tokenflock explore` still running? Trying again …");
  }

  private message(message: Table): void {
    if (message.type === "began") this.began(message as unknown as Began);
    else if (message.type === "ended") this.ended(message);
    else if (message.type === "error") this.error(message);
    else if (message.type === "row") this.attending.rowCame(message as unknown as Row);
    else if (message.type === "statement") statementDialog(this.root, message as unknown as Statement);
    else if (message.type === "projected" && this.store.began) {
      this.store.began.projection = message.projection;
      this.store.clear();
      this.describe();
    }
  }

  private began(began: Began): void {
    this.asked.runs = Math.max(0, this.asked.runs - 1);
    if (this.asked.runs) return; // another run was asked for meanwhile: this one is not looked at
    this.alert.say("");
    this.base = began.spec;
    this.store.begin(began);
    if (!this.source.live) this.controls.spec = this.current();
    // Controls that were changed meanwhile keep what they say: their own run is on its way.
    if (JSON.stringify(this.controls.spec.model) === JSON.stringify(this.current().model)) this.controls.took(began);
    this.atlas.take(began);
    this.radii.begin();
    this.scene.begin(this.store, this.view, this.fresh);
    this.held = this.fresh && this.view.time !== null;
    if (this.held) [this.player.time, this.view.time] = [this.view.time!, null];
    else if (this.fresh && !this.quiet.matches) this.player.toggle(true);
    else if (!this.fresh && !began.kept) this.player.time = 0;
    this.fresh = false;
    this.attending.begin();
    this.note.textContent = began.note || "Computing …";
    this.describe();
    this.remember();
    if (this.asked.again) this.ask();
  }

  private packet(data: ArrayBuffer): void {
    const packet = unpack(data);
    if (packet.run !== this.store.began?.run) return;
    if (packet.kind === "matrix") {
      this.attending.matrixCame(packet, this.store.at(this.player.time, false)?.before);
      return;
    }
    this.store.add(packet.index, packet.axes, packet.frame);
    this.unseen = packet.index;
    this.arrived();
  }

  fill(frames: Frame[], axes: number): void {
    for (const [k, frame] of frames.entries()) this.store.add(k, axes, frame);
    this.arrived();
  }

  private arrived(): void {
    this.received++;
    this.root.dataset.frames = String(this.store.there.length);
    if (this.store.there.length === 1 || this.held) this.move();
    else if (this.quiet.matches) this.player.go(this.store.lastTime); // no motion: show the end
    this.player.show();
    this.redraw();
  }

  private ended(message: Table): void {
    const began = this.store.began;
    if (!began || message.run !== began.run) return;
    const { note } = began;
    this.note.textContent = note && !message.failed ? note : message.failed ? "" : message.sentence;
    if (message.failed) this.alert.say(message.sentence);
    this.root.dataset.ended = message.sentence;
    this.redraw();
  }

  private error(message: Table): void {
    if (message.about === "row" || message.about === "matrix") {
      this.attention.refuse(message.sentence);
      return;
    }
    if (message.about === "start" || message.about === "steer") {
      this.asked.runs = Math.max(0, this.asked.runs - 1);
      if (this.asked.again) this.ask();
    }
    this.alert.say(message.sentence);
  }

  // What is shown ------------------------------------------------------------------------------------------------------

  private describe(): void {
    const preset = this.options.presets?.find((p) => p.name === this.preset);
    const statement = (name: string): void => this.source.send({ type: "statement", name });
    this.sentence.replaceChildren(...headline(this.base, preset, this.options.title ?? "", statement));
    const began = this.store.began;
    if (!began) return;
    this.legend.textContent = legend(began, this.view);
    this.scene.canvas.setAttribute(
      "aria-label",
      `${began.n_tokens} tokens in ${began.dim} dimensions, ${began.space}. ${preset?.sentence ?? ""}`,
    );
  }

  /** The moment has changed. */
  move(): void {
    const place = this.store.at(this.player.time, this.view.clock === "log");
    if (!place || !this.store.began) return;
    this.scene.show(this.store, place, this.view, this.attending.row, this.attending.token);
    this.charts.at(this.store, place.before, this.player.place);
    this.atlas.at(this.store, place.before);
    this.radii.at(this.store, place.before);
    this.root.dataset.clusters = this.atlas.element.dataset.clusters;
    this.root.dataset.time = String(this.player.time);
    this.attending.at(place.before);
    if (!this.player.playing) this.remember();
  }

  private tick(now: number): void {
    if (this.stopped) return;
    const seconds = Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    this.player.tick(seconds);
    this.scene.refresh(now);
    if (this.unseen >= 0 && this.store.began) {
      this.source.send({ type: "seen", run: this.store.began.run, frame: this.unseen });
      this.unseen = -1;
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  // Taking it along ----------------------------------------------------------------------------------------------------

  private shared(): Shared {
    const view = { ...lean(this.view), ...(this.player.playing ? {} : { time: this.player.time }) };
    return { spec: this.base, view, ...(this.preset ? { preset: this.preset } : {}) };
  }

  toAddress(): void {
    if (this.options.address && !this.stopped) history.replaceState(null, "", `#${encode(this.shared())}`);
  }

  close(): void {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.hidden);
    this.theme.close();
    this.source.close();
    this.watcher.disconnect();
    this.scene.dispose();
  }
}

// The page: its parts, and how what arrives and what is asked goes between them.

import { AtlasCard } from "./atlas";
import { Attention } from "./attention";
import { Charts } from "./charts";
import { Controls, type Change } from "./controls";
import { h, throttled } from "./dom";
import { Gallery } from "./gallery";
import { keyboard } from "./keyboard";
import { unpack, type Frame } from "./packets";
import { Player } from "./player";
import { Scene } from "./scene";
import { layout } from "./layout";
import { choices, helpDialog, shareDialog } from "./share";
import { RecordedSource, type Source } from "./source";
import { encode, lean, VIEW, type Began, type Preset, type Row, type Shared, type Spec, type Statement, type Table, type View } from "./state";
import { statementDialog } from "./statement";
import { Store } from "./store";
import css from "./style.css";

export interface Options {
  shared: Shared;
  presets?: Preset[];
  address?: boolean; // whether the address of the page holds the state
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
  token: number | null = null;
  received = 0; // frames that came
  readonly atlas = new AtlasCard();
  readonly attention = new Attention();
  private root: HTMLElement;
  private shadow: ShadowRoot;
  readonly note = h("p", { class: "note", role: "status" });
  readonly alert = h("div", { class: "alert", role: "alert", hidden: true });
  readonly sentence = h("p", { class: "sentence" });
  readonly legend = h("p", { class: "legend" });
  private base: Spec; // the run as the server has it, with the changes on its way
  private row: Row | null = null;
  private asked = { run: false, again: false, anew: false, row: -1, matrix: -1 };
  private unseen = -1;
  private held = false; // a moment was asked for: nothing plays by itself
  private fresh = true; // the next run is looked at from its usual place
  private stopped = false;
  private last = 0;
  private watcher: ResizeObserver;
  private quiet = window.matchMedia("(prefers-reduced-motion: reduce)");
  private redraw = throttled(0.12, () => this.charts.draw(this.store, this.view));
  private remember = throttled(0.4, () => this.toAddress());
  private steer = throttled(0.1, () => this.ask());
  private preset = "";

  constructor(private host: HTMLElement, private source: Source, private options: Options) {
    this.view = { ...VIEW, ...options.shared.view };
    this.base = structuredClone(options.shared.spec);
    this.preset = options.shared.preset ?? "";
    this.shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.shadow.adoptedStyleSheets = [sheet];
    this.controls = new Controls(this.current(), this.view);
    this.player = new Player(this.store, this.view);
    const stage = h("div", { class: "stage" });
    this.share = shareDialog(choices(this), source.live && Boolean(options.address));
    this.root = layout(this, stage, source.live, Boolean(options.presets));
    this.shadow.replaceChildren(this.root);
    this.scene = new Scene(stage);
    this.watcher = new ResizeObserver(() => this.scene.resize());
    this.watcher.observe(stage);
    this.connect();
    this.gallery.fill(options.presets ?? []);
    this.attention.open = this.view.matrix;
    this.controls.build();
    this.describe();
    keyboard(this.shadow, this);
    source.listen({ message: (m) => this.message(m), packet: (data) => this.packet(data), state: (word) => this.state(word) });
    document.addEventListener("visibilitychange", this.hidden);
    requestAnimationFrame((now) => this.tick(now));
  }

  /** A page that nobody sees does not compute. */
  private hidden = (): void => this.source.send({ type: "pause", on: document.hidden });

  private connect(): void {
    this.controls.onchange = (what, final) => this.changed(what, final);
    this.controls.onview = () => this.viewChanged();
    this.player.onmove = () => this.move();
    this.player.onclock = () => this.viewChanged();
    this.charts.onscrub = (place) => this.player.scrub(place);
    this.scene.onpick = (token) => this.pick(token);
    this.scene.oncamera = () => {
      this.view.eye = this.scene.eye;
      this.remember();
    };
    this.attention.onpick = (token) => this.pick(token);
    this.attention.onopen = (open) => {
      this.view.matrix = open;
      this.asked.matrix = -1;
      this.move();
    };
    this.atlas.onstatement = (name) => this.source.send({ type: "statement", name });
    this.gallery.onchoose = (preset) => this.choose(preset);
    if (this.source instanceof RecordedSource) this.source.onframes = (frames, axes) => this.fill(frames, axes);
  }

  // What is asked ------------------------------------------------------------------------------------------------------

  /** The run as the controls change it: the model that is in force now. */
  private current(): Spec {
    const last = this.base.then?.[this.base.then.length - 1];
    return structuredClone({ model: last?.model ?? this.base.model, start: this.base.start, simulate: last?.simulate ?? this.base.simulate });
  }

  private changed(what: Change, final: boolean): void {
    if (what === "start") this.fresh = true;
    if (what === "start" && !final) return;
    if (what === "start" || this.view.after === "restart") this.asked.anew = true;
    this.steer();
  }

  /** Go on from here with the model of the controls, or start anew; one question at a time. */
  private ask(): void {
    if (this.asked.run) {
      this.asked.again = true;
      return;
    }
    const at = this.store.at(this.player.time, false);
    if (this.asked.anew || !at) {
      this.restart(false);
      return;
    }
    this.asked.run = true;
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
    this.asked.run = true;
    this.asked.anew = false;
    this.source.send({ type: "start", spec: this.base });
  }

  private choose(preset: Preset): void {
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

  private viewChanged(): void {
    this.player.sync();
    if (this.store.began) {
      const how = this.store.began.projection.how;
      if (this.store.began.dim > 3 && how !== this.view.projection && this.source.live) {
        this.source.send({ type: "look", how: this.view.projection, frame: this.store.at(this.player.time, false)?.before ?? 0 });
      }
      this.scene.begin(this.store, this.view, false);
    }
    this.redraw();
    this.move();
    this.remember();
  }

  pick(token: number | null): void {
    this.token = token;
    this.view.token = token;
    this.row = null;
    this.asked.row = -1;
    if (token === null) this.attention.row(null, 0);
    this.move();
    this.remember();
  }

  // What arrives -------------------------------------------------------------------------------------------------------

  private state(word: "open" | "waiting" | "closed"): void {
    this.root.dataset.state = word;
    if (word === "open") {
      this.say("");
      if (this.source.live) this.start();
    } else this.say("The server does not answer. Is `tokenflock explore` still running? Trying again …");
  }

  private message(message: Table): void {
    if (message.type === "began") this.began(message as unknown as Began);
    else if (message.type === "ended") this.ended(message);
    else if (message.type === "error") this.error(message);
    else if (message.type === "row") this.rowCame(message as unknown as Row);
    else if (message.type === "statement") statementDialog(this.root, message as unknown as Statement);
    else if (message.type === "projected" && this.store.began) {
      this.store.began.projection = message.projection;
      this.store.clear();
      this.describe();
    }
  }

  private began(began: Began): void {
    this.asked.run = false;
    this.say("");
    this.base = began.spec;
    this.store.begin(began);
    this.controls.took(began);
    if (!this.source.live) this.controls.spec = this.current();
    this.atlas.take(began);
    this.scene.begin(this.store, this.view, this.fresh);
    this.held = this.fresh && this.view.time !== null;
    if (this.held) [this.player.time, this.view.time] = [this.view.time!, null];
    else if (this.fresh && !this.quiet.matches) this.player.toggle(true);
    else if (!this.fresh && !began.kept) this.player.time = 0;
    this.fresh = false;
    if (this.token === null && this.view.token !== null && this.view.token < began.n_tokens) this.token = this.view.token;
    if (this.token !== null && this.token >= began.n_tokens) this.pick(null);
    this.row = null;
    this.asked.row = this.asked.matrix = -1;
    this.note.textContent = began.note || "Computing …";
    this.describe();
    this.remember();
    if (this.asked.again) {
      this.asked.again = false;
      this.ask();
    }
  }

  private packet(data: ArrayBuffer): void {
    const packet = unpack(data);
    if (packet.run !== this.store.began?.run) return;
    if (packet.kind === "matrix") {
      this.attention.matrix(packet.weights, packet.size, this.store.began.n_tokens);
      this.asked.matrix = packet.index;
      if (packet.index !== this.store.at(this.player.time, false)?.before) this.move();
      return;
    }
    this.store.add(packet.index, packet.axes, packet.frame);
    this.unseen = packet.index;
    this.arrived();
  }

  private fill(frames: Frame[], axes: number): void {
    frames.forEach((frame, k) => this.store.add(k, axes, frame));
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
    if (message.failed) this.say(message.sentence);
    this.root.dataset.ended = message.sentence;
    this.redraw();
  }

  private error(message: Table): void {
    if (message.about === "row" || message.about === "matrix") return this.attention.refuse(message.sentence);
    if (message.about === "start" || message.about === "steer") {
      this.asked.run = false;
      if (this.asked.again) {
        this.asked.again = false;
        this.ask();
      }
    }
    this.say(message.sentence);
  }

  private rowCame(row: Row): void {
    if (row.token !== this.token) return;
    this.row = row;
    this.asked.row = row.frame;
    this.attention.row(row, this.store.frames[row.frame]?.labels[row.token] ?? 0);
    this.move();
  }

  /** A sentence that something is wrong; the empty one takes it away. */
  private say(sentence: string): void {
    this.alert.hidden = !sentence;
    if (sentence) this.alert.replaceChildren(h("span", {}, sentence), h("button", { type: "button", class: "round", "aria-label": "Close", click: () => this.say("") }, "✕"));
  }

  // What is shown ------------------------------------------------------------------------------------------------------

  /** One sentence about what is seen, with a way to the statement. */
  private describe(): void {
    const preset = this.options.presets?.find((p) => p.name === this.preset);
    const changed = preset && JSON.stringify([this.base.model, this.base.start, this.base.simulate, this.base.then]) !== JSON.stringify([preset.spec.model, preset.spec.start, preset.spec.simulate, undefined]);
    const claim = changed ? "" : preset?.claim;
    const title = preset ? (changed ? "Your own run, changed from " : "") + preset.title : this.options.title;
    this.sentence.replaceChildren(
      title ? h("b", {}, `${title}. `) : "",
      changed ? "" : preset?.sentence ?? "",
      " ",
      claim ? h("button", { type: "button", class: "link", name: "statement", click: () => this.source.send({ type: "statement", name: claim }) }, `Statement: ${claim}`) : "",
    );
    const began = this.store.began;
    if (!began) return;
    const shapes = this.view.centers && began.centers.length ? "★ first token  ■ strong center  ◆ Rényi center" : this.view.centers ? "★ first token" : "";
    const frozen = began.frozen.length ? "  ○ frozen" : "";
    const seen = began.dim > 3 || began.dim === 1 ? `${began.projection.words}.  ` : "";
    this.legend.textContent = `${seen}${shapes}${frozen}`;
    this.scene.canvas.setAttribute("aria-label", `${began.n_tokens} tokens in ${began.dim} dimensions, ${began.space}. ${preset?.sentence ?? ""}`);
  }

  /** The moment has changed. */
  private move(): void {
    const place = this.store.at(this.player.time, this.view.clock === "log");
    if (!place || !this.store.began) return;
    this.scene.show(this.store, place, this.view, this.row, this.token);
    this.charts.at(this.store, place.before, this.player.place);
    this.atlas.at(this.store, place.before);
    this.root.dataset.clusters = this.atlas.element.dataset.clusters;
    this.root.dataset.time = String(this.player.time);
    if (this.token !== null && this.asked.row !== place.before && this.asked.row !== -2) {
      this.asked.row = -2; // one question under way
      this.source.send({ type: "row", frame: place.before, token: this.token, head: 0 });
    }
    if (this.attention.open && this.asked.matrix !== place.before && this.asked.matrix !== -2) {
      this.asked.matrix = -2;
      this.source.send({ type: "matrix", frame: place.before, head: 0 });
    }
    if (!this.player.playing) this.remember();
  }

  private tick(now: number): void {
    if (this.stopped) return;
    const seconds = Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    this.player.tick(seconds);
    this.scene.render();
    if (this.unseen >= 0 && this.store.began) {
      this.source.send({ type: "seen", run: this.store.began.run, frame: this.unseen });
      this.unseen = -1;
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  /** Light, dark, or as the system has it. */
  shade(): void {
    const dark = this.host.dataset.theme ? this.host.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    this.host.dataset.theme = dark ? "light" : "dark";
    this.scene.theme();
    this.move();
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
    this.source.close();
    this.watcher.disconnect();
    this.scene.dispose();
  }
}

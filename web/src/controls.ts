// The controls at the side: all that a model, a start and a run may be.

import { h } from "./dom";
import { check, number, powers, section, select } from "./fields";
import { Spectrum } from "./spectrum";
import type { Began, Colour, Spec, Table, View } from "./state";

export type Change = "model" | "start" | "simulate";

const FAMILIES: [string, string][] = [
  ["identity", "identity"],
  ["ginibre", "Gaussian"],
  ["goe", "symmetric Gaussian"],
  ["positive_definite", "positive definite"],
  ["rotation", "rotation"],
  ["uniform_entries", "uniform entries"],
];
const STARTS: Record<string, [string, string, number][]> = {
  uniform: [],
  cap: [["angle", "angle", 1]],
  planted: [["n_clusters", "clusters", 4], ["spread", "spread", 0.3]],
  von_mises_fisher: [["kappa", "κ", 10]],
  orthonormal: [],
  equiangular: [["overlap", "overlap", 0.5]],
  cube: [["half_width", "half width", 2]],
  gaussian: [["scale", "scale", 1]],
};
const ON_SPHERE = ["uniform", "cap", "planted", "von_mises_fisher", "orthonormal", "equiangular"];
const OPEN = ["cube", "gaussian"];
const plain = (names: string[]): [string, string][] => names.map((name) => [name, name.replaceAll("_", " ")]);

export class Controls {
  readonly element = h("div", { class: "controls" });
  readonly spectrum = new Spectrum();
  onchange: (what: Change, final: boolean) => void = () => {};
  onview: () => void = () => {};
  private open = new Set(["Tokens", "Attention", "Value matrix V"]);
  private entries = h("div", { class: "entries" });
  private signature = "";

  constructor(public spec: Spec, private view: View) {
    this.spectrum.onchange = (value, final) => {
      this.spec.model.value = value;
      this.entries.replaceChildren(this.matrix(value));
      if (final) this.changed("model");
      else this.onchange("model", false);
    };
  }

  private changed(what: Change, final = true): void {
    this.onchange(what, final);
    if (final) this.build(true);
  }

  /** A run has begun: show its V. */
  took(began: Began): void {
    this.spectrum.take(began.atlas);
    const focused = this.element.getRootNode() as ShadowRoot;
    if (began.value && !this.entries.contains(focused.activeElement ?? null)) this.entries.replaceChildren(this.matrix(began.value));
    else if (!began.value) this.entries.replaceChildren(h("p", { class: "hint" }, "Entries are shown up to 16 dimensions."));
  }

  /** Make all inputs anew from the run; the focus stays where it was. */
  build(force = false): void {
    const signature = JSON.stringify([this.spec, this.view.after]);
    if (!force && signature === this.signature) return;
    this.signature = signature;
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const focused = root.activeElement as HTMLInputElement | null;
    for (const group of this.element.querySelectorAll<HTMLDetailsElement>("details.group")) {
      if (group.open) this.open.add(group.dataset.group!);
      else this.open.delete(group.dataset.group!);
    }
    const is = (title: string): boolean => this.open.has(title);
    this.element.replaceChildren(
      this.after(),
      section("Tokens", is("Tokens"), ...this.tokens()),
      section("Attention", is("Attention"), ...this.attention()),
      section("Value matrix V", is("Value matrix V"), ...this.value()),
      section("Space and blocks", is("Space and blocks"), ...this.space()),
      section("Time", is("Time"), ...this.time()),
      section("View", is("View"), ...this.look()),
    );
    if (!focused || root.activeElement === focused) return;
    const kept = this.element.contains(focused) ? focused : this.element.querySelector<HTMLElement>(`[name="${CSS.escape(focused.name)}"]`);
    kept?.focus({ preventScroll: true });
  }

  private after(): HTMLElement {
    const choose = (value: View["after"]) => () => {
      this.view.after = value;
      this.build(true);
    };
    const button = (value: View["after"], text: string, title: string): HTMLElement =>
      h("button", { type: "button", name: `after-${value}`, "aria-pressed": String(this.view.after === value), title, click: choose(value) }, text);
    return h(
      "div",
      { class: "after", role: "group", "aria-label": "What a change does" },
      button("continue", "Changes continue", "A change goes on from the moment that is shown."),
      button("restart", "Changes restart", "A change starts the run anew."),
    );
  }

  private tokens(): HTMLElement[] {
    const { model, start } = this.spec;
    const kinds = (model.space ?? "sphere") === "sphere" ? ON_SPHERE : OPEN;
    const kind = "array" in start ? "given" : start.kind ?? "uniform";
    const seed = start.seed ?? 0;
    const set = (key: string) => (value: number | string) => {
      start[key] = value;
      this.changed("start");
    };
    const chooseKind = (value: string): void => {
      const own = Object.fromEntries(STARTS[value].map(([key, , usual]) => [key, usual]));
      this.spec.start = { ...(value === "uniform" ? {} : { kind: value }), ...own, n_tokens: start.n_tokens ?? start.array?.length ?? 100, seed };
      this.changed("start");
    };
    const options = [...plain(kinds), ...(kinds.includes(kind) ? [] : ([[kind, kind]] as [string, string][]))];
    return [
      powers("n", start.n_tokens ?? start.array?.length ?? 1, 1, 10000, (value, final) => {
        if (!final) return;
        if ("array" in start) this.spec.start = { n_tokens: Math.round(value), seed: 0 };
        else start.n_tokens = Math.round(value);
        this.changed("start");
      }, "n_tokens"),
      number("d", model.dim, { min: 1, max: 64, whole: true, name: "dim", title: "Dimension" }, (value) => this.dimension(value)),
      select("start", kind, options, chooseKind, "The law of the tokens at time 0", "start"),
      ...(STARTS[kind] ?? []).map(([key, words, usual]) => number(words, start[key] ?? usual, { name: `start-${key}` }, set(key))),
      ...("array" in start ? [] : [number("seed", seed, { min: 0, whole: true, name: "seed" }, set("seed"))]),
    ];
  }

  /** Another dimension: what was given entry by entry fits no more. */
  private dimension(dim: number): void {
    const { model } = this.spec;
    model.dim = dim;
    for (const name of ["value", "query", "key"]) {
      const given = model[name];
      const loose = typeof given === "string" ? FAMILIES.some(([f]) => given.startsWith(f)) : given && FAMILIES.some(([f]) => f === given.family);
      if (!loose) delete model[name];
    }
    delete model.frozen;
    if (model.feedforward) model.feedforward = { w: eye(dim), activation: model.feedforward.activation };
    if ("array" in this.spec.start) this.spec.start = { n_tokens: this.spec.start.array.length, seed: 0 };
    this.changed("start");
  }

  private attention(): HTMLElement[] {
    const { model } = this.spec;
    const mask = model.mask ?? "causal";
    const width = typeof mask === "string" ? Number(/^window:(\d+)/.exec(mask)?.[1] ?? 0) : mask.window;
    const kind = width ? "window" : mask;
    const hard = model.beta === "inf";
    const set = (key: string, usual: unknown) => (value: unknown) => {
      if (value === usual) delete model[key];
      else model[key] = value;
      this.changed("model");
    };
    return [
      ...(hard ? [] : [powers("β", model.beta ?? 1, 0.01, 10000, (value, final) => {
        model.beta = value;
        this.onchange("model", final);
      }, "beta")]),
      check("hardmax (β = ∞)", hard, (on) => {
        model.beta = on ? "inf" : 10;
        this.changed("model");
      }, "hardmax"),
      select("mask", kind, [["causal", "causal"], ["full", "full"], ["window", "window"]], (value) => set("mask", "causal")(value === "window" ? "window:16" : value), "Which tokens a token sees", "mask"),
      ...(width ? [number("width", width, { min: 1, whole: true, name: "window" }, (value) => set("mask", "")(`window:${value}`))] : []),
      select("normaliser", model.normaliser ?? "softmax", [["softmax", "softmax"], ["count", "count (1/n)"], ["scaled-count", "scaled count"]], set("normaliser", "softmax"), "", "normaliser"),
      ...(["query", "key"] as const).map((name) => this.family(name, name === "query" ? "Q" : "K")),
      number("ALiBi slope", model.bias?.slope ?? 0, { name: "alibi" }, (value) => set("bias", undefined)(value ? { slope: value } : undefined)),
    ];
  }

  /** A matrix by its family, with a seed where it is random. */
  private family(name: "query" | "key" | "value", letter: string): HTMLElement {
    const { model } = this.spec;
    const given = model[name];
    const text = given === undefined ? "identity" : typeof given === "string" ? given.split(":")[0] : given.family ?? "given";
    const known = FAMILIES.some(([family]) => family === text);
    const seed = typeof given === "string" ? Number(given.split(":")[1] ?? 0) : given?.seed ?? 0;
    const set = (family: string, seed: number): void => {
      if (family === "identity") delete model[name];
      else if (family !== text || known) model[name] = `${family}:${seed}`;
      this.changed("model");
    };
    const field = select(letter, text, known ? FAMILIES : [...FAMILIES, [text, text === "given" ? "as edited" : text]], (family) => set(family, seed), "", name);
    if (known && text !== "identity") {
      const input = h("input", { type: "text", inputmode: "numeric", value: seed, "aria-label": `Seed of ${letter}`, title: "Seed", class: "seed", name: `${name}-seed`, change: () => Number.isInteger(Number(input.value)) && set(text, Number(input.value)) });
      field.append(input);
    }
    return field;
  }

  private value(): HTMLElement[] {
    return [
      this.family("value", "V"),
      this.spectrum.element,
      h("p", { class: "hint" }, "Drag an eigenvalue, or focus it and use the arrows. Right of the middle attracts, left repels; off the axis two become a conjugate pair."),
      h("details", { class: "inner" }, h("summary", {}, "Entries"), this.entries),
    ];
  }

  private matrix(value: number[][]): HTMLElement {
    const rows = value.map((row, i) =>
      h("tr", {}, ...row.map((entry, j) => {
        const input = h("input", { type: "text", inputmode: "decimal", value: Number(entry.toPrecision(4)), "aria-label": `V ${i + 1},${j + 1}`, name: `V-${i}-${j}`, change: () => {
          const given = Number(input.value);
          if (!Number.isFinite(given)) return input.toggleAttribute("aria-invalid", true);
          value[i][j] = given;
          this.spec.model.value = value.map((r) => [...r]);
          this.onchange("model", true);
          return undefined;
        } });
        return h("td", {}, input);
      })),
    );
    return h("table", { class: "matrix" }, h("tbody", {}, ...rows));
  }

  private space(): HTMLElement[] {
    const { model } = this.spec;
    const space = model.space ?? "sphere";
    const norm: Table = typeof model.layer_norm === "object" ? model.layer_norm : { kind: model.layer_norm ?? "post" };
    const setNorm = (changes: Table): void => {
      const next = { ...norm, ...changes };
      if (next.kind === "post") delete model.layer_norm;
      else model.layer_norm = next;
      this.changed("model");
    };
    const extras: Record<string, [string, string, number][]> = { mix: [["switch", "switch time", 1], ["radius", "radius", 1]], pre: [["radius", "radius", 1]], peri: [["radius", "radius", 1]], ngpt: [["alpha", "α", 1], ["decay", "decay", 0]] };
    const activation = model.feedforward?.activation ?? "none";
    return [
      select("space", space, [["sphere", "sphere"], ["euclidean", "R^d"], ["rescaled", "R^d, rescaled"]], (value) => this.toSpace(value), "Where the tokens live", "space"),
      ...(space === "sphere" ? [select("layer norm", norm.kind, plain(["post", "pre", "mix", "peri", "ngpt", "sqrt"]), (kind) => setNorm({ kind }), "Paper F", "layer_norm")] : []),
      ...(extras[norm.kind] ?? []).map(([key, words, usual]) => number(words, norm[key] ?? usual, { name: `norm-${key}` }, (value) => setNorm({ [key]: value }))),
      select("feed-forward", activation, plain(["none", "relu", "tanh", "linear"]), (value) => {
        if (value === "none") delete model.feedforward;
        else model.feedforward = { w: model.feedforward?.w ?? eye(model.dim), activation: value };
        this.changed("model");
      }, "w σ(x), w = I unless the preset has another", "feedforward"),
      ...(space === "rescaled" ? [] : [number("noise", model.noise ?? 0, { min: 0, name: "noise", title: "√(2/κ)" }, (value) => {
        if (value) model.noise = value;
        else delete model.noise;
        for (const key of ["scheme", "dt"]) delete this.spec.simulate[key];
        this.changed("model");
      })]),
      ...(model.frozen ? [h("button", { type: "button", class: "quiet", click: () => {
        delete model.frozen;
        this.changed("model");
      } }, `Remove ${model.frozen.tokens.length} frozen tokens`)] : []),
    ];
  }

  private toSpace(space: string): void {
    const { model, simulate } = this.spec;
    if (space === "sphere") delete model.space;
    else model.space = space;
    for (const key of ["layer_norm", "frozen", "noise"]) delete model[key];
    if (simulate.scheme === "rosenbrock") delete simulate.scheme;
    const n = this.spec.start.n_tokens ?? 60;
    const seed = this.spec.start.seed ?? 0;
    if (space === "sphere") {
      model.dim = Math.max(2, model.dim);
      this.spec.start = { n_tokens: n, seed };
    } else {
      this.spec.start = { kind: "cube", half_width: 2, n_tokens: n, seed };
      if (simulate.t_end > 20) this.spec.simulate = { t_end: 6, times: 240 };
    }
    this.changed("start");
  }

  private time(): HTMLElement[] {
    const { simulate } = this.spec;
    const text = String(simulate.times ?? 300);
    const log = text.startsWith("log:");
    const frames = Array.isArray(simulate.times) ? simulate.times.length : Number(text.split(":").pop());
    const first = log ? Number(text.split(":")[1]) : 0.02;
    const setTimes = (isLog: boolean, count: number): void => {
      simulate.times = isLog ? `log:${Math.min(first, simulate.t_end / 10)}:${count}` : count;
      this.view.clock = isLog ? "log" : "linear";
      this.changed("simulate");
      this.onview();
    };
    const scheme = simulate.scheme ?? "auto";
    const fixed = ["euler", "heun", "rk4", "layers"].includes(scheme);
    return [
      number("t end", simulate.t_end, { min: 1e-6, max: 1e300, name: "t_end", title: "1e30 is fine: long times play on a logarithmic clock." }, (value) => {
        simulate.t_end = value;
        if (value > 1e4 && !log) simulate.times = `log:0.1:${frames}`;
        if (value > 1e4) this.view.clock = "log";
        this.changed("simulate");
        this.onview();
      }),
      number("frames", frames, { min: 2, max: 2000, whole: true, name: "frames" }, (value) => setTimes(log, value)),
      select("kept times", log ? "log" : "even", [["even", "even"], ["log", "even in log t"]], (value) => setTimes(value === "log", frames), "", "times"),
      select("scheme", scheme, plain(["auto", "tsit5", "rosenbrock", "rk4", "heun", "euler", "layers"]), (value) => {
        if (value === "auto") delete simulate.scheme;
        else simulate.scheme = value;
        if (["euler", "heun", "rk4", "layers"].includes(value)) simulate.dt ??= 0.1;
        else delete simulate.dt;
        this.changed("simulate");
      }, "layers: a transformer with one block a step", "scheme"),
      ...(fixed ? [number("dt", simulate.dt ?? 0.1, { min: 1e-6, name: "dt" }, (value) => {
        simulate.dt = value;
        this.changed("simulate");
      })] : []),
      select("engine", simulate.engine ?? "auto", plain(["auto", "cpu", "harmonic", "reference"]), (value) => {
        if (value === "auto") delete simulate.engine;
        else simulate.engine = value;
        this.changed("simulate");
      }, "", "engine"),
    ];
  }

  private look(): HTMLElement[] {
    const view = this.view;
    const apply = <K extends keyof View>(key: K) => (value: View[K]): void => {
      view[key] = value;
      this.onview();
    };
    return [
      select("colour", view.colour, [["cluster", "by cluster"], ["index", "by index"], ["speed", "by speed"]], (value) => apply("colour")(value as Colour), "", "colour"),
      number("trails", view.trails, { min: 0, max: 200, whole: true, name: "trails", title: "Frames that a trail goes back" }, apply("trails")),
      check("centers and first token", view.centers, apply("centers"), "centers"),
      check("convex hull", view.hull, apply("hull"), "hull"),
      ...(this.spec.model.dim > 3 ? [select("projection", view.projection, [["eigenvectors", "top eigenvectors of V"], ["principal", "principal components, here"]], (value) => apply("projection")(value as View["projection"]), "", "projection")] : []),
    ];
  }

}

function eye(dim: number): number[][] {
  return Array.from({ length: dim }, (_, i) => Array.from({ length: dim }, (_, j) => Number(i === j)));
}

// The controls at the side: all that a model, a start and a run may be.

import { h } from "./dom";
import { check, eye, number, plain, powers, section, select } from "./fields";
import { FAMILIES, KERNELS, MASKS, NORMALISERS, RANDOM, STARTS } from "./named";
import { spaceFields, timeFields, viewFields } from "./options";
import { Spectrum } from "./spectrum";
import type { Began, Spec, View } from "./state";

export type Change = "model" | "start" | "simulate";

const ON_SPHERE = ["uniform", "cap", "planted", "von_mises_fisher", "orthonormal", "equiangular"];
const OPEN = ["cube", "gaussian"];

export class Controls {
  readonly element = h("div", { class: "controls" });
  readonly spectrum = new Spectrum();
  onchange: (what: Change, final: boolean) => void = () => {};
  onview: () => void = () => {};
  private open = new Set(["Tokens", "Attention", "Value matrix V"]);
  private entries = h("div", { class: "entries" });
  private signature = "";

  constructor(
    public spec: Spec,
    readonly view: View,
  ) {
    this.spectrum.onchange = (value, final) => {
      this.spec.model.value = value;
      this.entries.replaceChildren(this.matrix(value));
      if (final) this.changed("model");
      else this.onchange("model", false);
    };
  }

  /** Something was set: tell it, and show what follows from it. */
  changed(what: Change, final = true): void {
    this.onchange(what, final);
    if (final) this.build(true);
  }

  /** A run has begun: show its V. */
  took(began: Began): void {
    this.spectrum.take(began.atlas);
    const focused = this.element.getRootNode() as ShadowRoot;
    if (began.value && !this.entries.contains(focused.activeElement ?? null))
      this.entries.replaceChildren(this.matrix(began.value));
    else if (!began.value)
      this.entries.replaceChildren(h("p", { class: "hint" }, "Entries are shown up to 16 dimensions."));
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
      section("Space and blocks", is("Space and blocks"), ...spaceFields(this)),
      section("Time", is("Time"), ...timeFields(this)),
      section("View", is("View"), ...viewFields(this)),
    );
    if (!focused || root.activeElement === focused) return;
    const kept = this.element.contains(focused)
      ? focused
      : this.element.querySelector<HTMLElement>(`[name="${CSS.escape(focused.name)}"]`);
    kept?.focus({ preventScroll: true });
  }

  private after(): HTMLElement {
    const choose = (value: View["after"]) => () => {
      this.view.after = value;
      this.build(true);
    };
    const button = (value: View["after"], text: string, title: string): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          name: `after-${value}`,
          "aria-pressed": String(this.view.after === value),
          title,
          click: choose(value),
        },
        text,
      );
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
    const kind = "array" in start ? "given" : (start.kind ?? "uniform");
    const seed = start.seed ?? 0;
    const set = (key: string) => (value: number | string) => {
      start[key] = value;
      this.changed("start");
    };
    const chooseKind = (value: string): void => {
      const own = Object.fromEntries(STARTS[value].map(([key, , usual]) => [key, usual]));
      this.spec.start = {
        ...(value === "uniform" ? {} : { kind: value }),
        ...own,
        n_tokens: start.n_tokens ?? start.array?.length ?? 100,
        seed,
      };
      this.changed("start");
    };
    const options = [...plain(kinds), ...(kinds.includes(kind) ? [] : ([[kind, kind]] as [string, string][]))];
    return [
      powers(
        "tokens n",
        start.n_tokens ?? start.array?.length ?? 1,
        1,
        10000,
        (value, final) => {
          if (!final) return;
          if ("array" in start) this.spec.start = { n_tokens: Math.round(value), seed: 0 };
          else start.n_tokens = Math.round(value);
          this.changed("start");
        },
        "n_tokens",
      ),
      number("dim d", model.dim, { min: 1, max: 64, whole: true, name: "dim", title: "Dimension" }, (value) =>
        this.dimension(value),
      ),
      select("start", kind, options, chooseKind, "The law of the tokens at time 0", "start"),
      ...(STARTS[kind] ?? []).map(([key, words, usual]) =>
        number(words, start[key] ?? usual, { name: `start-${key}` }, set(key)),
      ),
      ...("array" in start ? [] : [number("seed", seed, { min: 0, whole: true, name: "seed" }, set("seed"))]),
    ];
  }

  /** Another dimension: what was given entry by entry fits no more. */
  private dimension(dim: number): void {
    const { model } = this.spec;
    model.dim = dim;
    for (const name of ["value", "query", "key"]) {
      const given = model[name];
      const loose =
        typeof given === "string"
          ? FAMILIES.some(([f]) => given.startsWith(f))
          : given && FAMILIES.some(([f]) => f === given.family);
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
    const kind = width ? "window" : typeof mask === "string" ? mask.split(":")[0] : "given";
    const masks: [string, string][] = MASKS.map(([name, words]) => [name, words]);
    const beta = typeof model.beta === "object" ? model.beta : null;
    const ends = beta?.values ?? [model.beta ?? 1, model.beta ?? 1];
    const setBeta = (from: number, to: number): void => {
      const end = this.spec.simulate.t_end;
      model.beta = from === to ? from : { knots: [0, end], values: [from, to], kind: "linear" };
      this.changed("model");
    };
    const kernel = typeof model.kernel === "string" ? model.kernel.split(":")[0] : "exp";
    const rope = model.position?.base ?? 0;
    const hard = model.beta === "inf";
    const set = (key: string, usual: unknown) => (value: unknown) => {
      if (value === usual) delete model[key];
      else model[key] = value;
      this.changed("model");
    };
    return [
      ...(hard || beta
        ? []
        : [
            powers(
              "β",
              model.beta ?? 1,
              0.01,
              10000,
              (value, final) => {
                model.beta = value;
                this.onchange("model", final);
              },
              "beta",
            ),
          ]),
      check(
        "hardmax (β = ∞)",
        hard,
        (on) => {
          model.beta = on ? "inf" : 10;
          this.changed("model");
        },
        "hardmax",
      ),
      select(
        "mask",
        kind,
        kind === "given" || !masks.some(([name]) => name === kind) ? [...masks, [kind, "as given"]] : masks,
        (value) => set("mask", "causal")(MASKS.find(([name]) => name === value)?.[2] ?? mask),
        "Which tokens a token sees",
        "mask",
      ),
      ...(width
        ? [
            number("width", width, { min: 1, whole: true, name: "window" }, (value) =>
              set("mask", "")(`window:${value}`),
            ),
          ]
        : []),
      select(
        "kernel",
        kernel,
        KERNELS.some(([name]) => name === kernel) ? KERNELS : [...KERNELS, [kernel, "of your own"]],
        (value) => {
          const signed = value === "linear" || value === "cosine";
          if (value === "exp") delete model.kernel;
          else model.kernel = value;
          if (signed && (model.normaliser ?? "softmax") === "softmax") model.normaliser = "count";
          this.changed("model");
        },
        "How a logit becomes a weight",
        "kernel",
      ),
      select(
        "normaliser",
        (typeof model.normaliser === "string" ? model.normaliser : (model.normaliser?.kind ?? "softmax")).split(":")[0],
        NORMALISERS,
        set("normaliser", "softmax"),
        "What the weights of a row are divided by",
        "normaliser",
      ),
      ...(hard
        ? []
        : [
            number(
              "β at the end",
              beta ? ends[1] : (model.beta ?? 1),
              { min: 0, name: "beta-end", title: "β changes along a line from the start to the end of the run" },
              (value) => setBeta(ends[0], value),
            ),
          ]),
      ...(beta
        ? [
            number("β at the start", ends[0], { min: 0, name: "beta-start" }, (value) =>
              setBeta(value, ends[ends.length - 1]),
            ),
          ]
        : []),
      number(
        "RoPE base",
        rope,
        { min: 0, name: "rope", title: "0: without positions. 10000 is that of most language models." },
        (value) => set("position", undefined)(value > 0 ? { base: value } : undefined),
      ),
      ...this.redrawn(),
      ...(["query", "key"] as const).map((name) => this.family(name, name === "query" ? "Q" : "K")),
      number("ALiBi slope", model.bias?.slope ?? 0, { name: "alibi" }, (value) =>
        set("bias", undefined)(value ? { slope: value } : undefined),
      ),
    ];
  }

  /** Whether Q, K and V are drawn anew, and how often. */
  private redrawn(): HTMLElement[] {
    const { model } = this.spec;
    const names = ["query", "key", "value"].filter((name) => model[name]?.redrawn);
    const every = names.length ? (model[names[0]].every ?? 1) : 0;
    return [
      number(
        "new weights every",
        every,
        {
          min: 0,
          name: "redrawn",
          title: "Q, K and V that are random are drawn anew after so much time; 0: never",
        },
        (value) => {
          for (const name of ["query", "key", "value"]) {
            const given = model[name];
            const text = given?.redrawn ?? (typeof given === "string" ? given.split(":")[0] : given?.family);
            const seed = given?.seed ?? (typeof given === "string" ? Number(given.split(":")[1] ?? 0) : 0);
            if (!text || !RANDOM.includes(text)) continue;
            model[name] = value > 0 ? { redrawn: text, every: value, seed } : `${text}:${seed}`;
          }
          if (value > 0 && !["query", "key", "value"].some((name) => model[name]?.redrawn))
            model.value = { redrawn: "ginibre", every: value, seed: 0 };
          this.changed("model");
        },
      ),
    ];
  }

  /** A matrix by its family, with a seed where it is random. */
  private family(name: "query" | "key" | "value", letter: string): HTMLElement {
    const { model } = this.spec;
    const given = model[name];
    const text =
      given === undefined
        ? "identity"
        : typeof given === "string"
          ? given.split(":")[0]
          : given.redrawn
            ? "redrawn"
            : (given.family ?? "given");
    const known = FAMILIES.some(([family]) => family === text);
    const seed = typeof given === "string" ? Number(given.split(":")[1] ?? 0) : (given?.seed ?? 0);
    const set = (family: string, seed: number): void => {
      if (family === "identity") delete model[name];
      else if (family !== text || known) model[name] = `${family}:${seed}`;
      this.changed("model");
    };
    const field = select(
      letter,
      text,
      known
        ? FAMILIES
        : [...FAMILIES, [text, text === "given" ? "as edited" : text === "redrawn" ? "drawn anew" : text]],
      (family) => set(family, seed),
      "",
      name,
    );
    if (known && text !== "identity") {
      const input = h("input", {
        type: "text",
        inputmode: "numeric",
        value: seed,
        "aria-label": `Seed of ${letter}`,
        title: "Seed",
        class: "seed",
        name: `${name}-seed`,
        change: () => Number.isInteger(Number(input.value)) && set(text, Number(input.value)),
      });
      field.append(input);
    }
    return field;
  }

  private value(): HTMLElement[] {
    return [
      this.family("value", "V"),
      this.spectrum.element,
      h(
        "p",
        { class: "hint" },
        "Drag an eigenvalue, or focus it and use the arrows. Right of the middle attracts, left repels; off the axis two become a conjugate pair.",
      ),
      h("details", { class: "inner" }, h("summary", {}, "Entries"), this.entries),
    ];
  }

  private matrix(value: number[][]): HTMLElement {
    const rows = value.map((row, i) =>
      h(
        "tr",
        {},
        ...row.map((entry, j) => {
          const input = h("input", {
            type: "text",
            inputmode: "decimal",
            value: Number(entry.toPrecision(4)),
            "aria-label": `V ${i + 1},${j + 1}`,
            name: `V-${i}-${j}`,
            change: () => {
              const given = Number(input.value);
              if (!Number.isFinite(given)) return input.toggleAttribute("aria-invalid", true);
              value[i][j] = given;
              this.spec.model.value = value.map((r) => [...r]);
              this.onchange("model", true);
              return undefined;
            },
          });
          return h("td", {}, input);
        }),
      ),
    );
    return h("table", { class: "matrix" }, h("tbody", {}, ...rows));
  }
}

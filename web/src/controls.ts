// The controls at the side: all that a model, a start and a run may be.

import { h } from "./dom";
import { check, eye, number, plain, powers, section, select } from "./fields";
import { spaceFields, timeFields, viewFields } from "./options";
import { Spectrum } from "./spectrum";
import type { Began, Spec, View } from "./state";

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
  planted: [
    ["n_clusters", "clusters", 4],
    ["spread", "spread", 0.3],
  ],
  von_mises_fisher: [["kappa", "κ", 10]],
  orthonormal: [],
  equiangular: [["overlap", "overlap", 0.5]],
  cube: [["half_width", "half width", 2]],
  gaussian: [["scale", "scale", 1]],
};
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
    const kind = width ? "window" : mask;
    const hard = model.beta === "inf";
    const set = (key: string, usual: unknown) => (value: unknown) => {
      if (value === usual) delete model[key];
      else model[key] = value;
      this.changed("model");
    };
    return [
      ...(hard
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
        [
          ["causal", "causal"],
          ["full", "full"],
          ["window", "window"],
        ],
        (value) => set("mask", "causal")(value === "window" ? "window:16" : value),
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
        "normaliser",
        model.normaliser ?? "softmax",
        [
          ["softmax", "softmax"],
          ["count", "count (1/n)"],
          ["scaled-count", "scaled count"],
        ],
        set("normaliser", "softmax"),
        "",
        "normaliser",
      ),
      ...(["query", "key"] as const).map((name) => this.family(name, name === "query" ? "Q" : "K")),
      number("ALiBi slope", model.bias?.slope ?? 0, { name: "alibi" }, (value) =>
        set("bias", undefined)(value ? { slope: value } : undefined),
      ),
    ];
  }

  /** A matrix by its family, with a seed where it is random. */
  private family(name: "query" | "key" | "value", letter: string): HTMLElement {
    const { model } = this.spec;
    const given = model[name];
    const text =
      given === undefined ? "identity" : typeof given === "string" ? given.split(":")[0] : (given.family ?? "given");
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
      known ? FAMILIES : [...FAMILIES, [text, text === "given" ? "as edited" : text]],
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

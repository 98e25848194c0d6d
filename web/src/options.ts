// The controls of the space, of time and of the view.

import type { Controls } from "./controls";
import { h } from "./dom";
import { check, eye, number, plain, select } from "./fields";
import type { Colour, Table, View } from "./state";

/** Where the tokens live, and what follows attention. */
export function spaceFields(controls: Controls): HTMLElement[] {
  const { model } = controls.spec;
  const space = model.space ?? "sphere";
  const norm: Table = typeof model.layer_norm === "object" ? model.layer_norm : { kind: model.layer_norm ?? "post" };
  const setNorm = (changes: Table): void => {
    const next = { ...norm, ...changes };
    if (next.kind === "post") delete model.layer_norm;
    else model.layer_norm = next;
    controls.changed("model");
  };
  const extras: Record<string, [string, string, number][]> = {
    mix: [
      ["switch", "switch time", 1],
      ["radius", "radius", 1],
    ],
    pre: [["radius", "radius", 1]],
    peri: [["radius", "radius", 1]],
    ngpt: [
      ["alpha", "α", 1],
      ["decay", "decay", 0],
    ],
  };
  const activation = model.feedforward?.activation ?? "none";
  return [
    select(
      "space",
      space,
      [
        ["sphere", "sphere"],
        ["euclidean", "R^d"],
        ["rescaled", "R^d, rescaled"],
      ],
      (value) => toSpace(controls, value),
      "Where the tokens live",
      "space",
    ),
    ...(space === "sphere"
      ? [
          select(
            "layer norm",
            norm.kind,
            plain(["post", "pre", "mix", "peri", "ngpt", "sqrt"]),
            (kind) => setNorm({ kind }),
            "Paper F",
            "layer_norm",
          ),
        ]
      : []),
    ...(extras[norm.kind] ?? []).map(([key, words, usual]) =>
      number(words, norm[key] ?? usual, { name: `norm-${key}` }, (value) => setNorm({ [key]: value })),
    ),
    select(
      "feed-forward",
      activation,
      plain(["none", "relu", "tanh", "linear"]),
      (value) => {
        if (value === "none") delete model.feedforward;
        else model.feedforward = { w: model.feedforward?.w ?? eye(model.dim), activation: value };
        controls.changed("model");
      },
      "w σ(x), w = I unless the preset has another",
      "feedforward",
    ),
    ...(space === "rescaled"
      ? []
      : [
          number("noise", model.noise ?? 0, { min: 0, name: "noise", title: "√(2/κ)" }, (value) => {
            if (value) model.noise = value;
            else delete model.noise;
            for (const key of ["scheme", "dt"]) delete controls.spec.simulate[key];
            controls.changed("model");
          }),
        ]),
    ...(model.frozen
      ? [
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              click: () => {
                delete model.frozen;
                controls.changed("model");
              },
            },
            `Remove ${model.frozen.tokens.length} frozen tokens`,
          ),
        ]
      : []),
  ];
}

/** Another space: what belongs to the old one goes. */
function toSpace(controls: Controls, space: string): void {
  const { model, simulate } = controls.spec;
  if (space === "sphere") delete model.space;
  else model.space = space;
  for (const key of ["layer_norm", "frozen", "noise"]) delete model[key];
  if (simulate.scheme === "rosenbrock") delete simulate.scheme;
  const n = controls.spec.start.n_tokens ?? 60;
  const seed = controls.spec.start.seed ?? 0;
  if (space === "sphere") {
    model.dim = Math.max(2, model.dim);
    controls.spec.start = { n_tokens: n, seed };
  } else {
    controls.spec.start = { kind: "cube", half_width: 2, n_tokens: n, seed };
    if (simulate.t_end > 20) controls.spec.simulate = { t_end: 6, times: 240 };
  }
  controls.changed("start");
}

/** How long, which times are kept, and how they are computed. */
export function timeFields(controls: Controls): HTMLElement[] {
  const { simulate } = controls.spec;
  const text = String(simulate.times ?? 300);
  const log = text.startsWith("log:");
  const frames = Array.isArray(simulate.times) ? simulate.times.length : Number(text.split(":").pop());
  const first = log ? Number(text.split(":")[1]) : 0.02;
  const setTimes = (isLog: boolean, count: number): void => {
    simulate.times = isLog ? `log:${Math.min(first, simulate.t_end / 10)}:${count}` : count;
    controls.view.clock = isLog ? "log" : "linear";
    controls.changed("simulate");
    controls.onview();
  };
  const scheme = simulate.scheme ?? "auto";
  const fixed = ["euler", "heun", "rk4", "layers"].includes(scheme);
  return [
    number(
      "t_end",
      simulate.t_end,
      { min: 1e-6, max: 1e300, name: "t_end", title: "1e30 is fine: long times play on a logarithmic clock." },
      (value) => {
        simulate.t_end = value;
        if (value > 1e4 && !log) simulate.times = `log:0.1:${frames}`;
        if (value > 1e4) controls.view.clock = "log";
        controls.changed("simulate");
        controls.onview();
      },
    ),
    number("frames", frames, { min: 2, max: 2000, whole: true, name: "frames" }, (value) => setTimes(log, value)),
    select(
      "kept times",
      log ? "log" : "even",
      [
        ["even", "even"],
        ["log", "even in log t"],
      ],
      (value) => setTimes(value === "log", frames),
      "",
      "times",
    ),
    select(
      "scheme",
      scheme,
      plain(["auto", "tsit5", "rosenbrock", "rk4", "heun", "euler", "layers"]),
      (value) => {
        if (value === "auto") delete simulate.scheme;
        else simulate.scheme = value;
        if (["euler", "heun", "rk4", "layers"].includes(value)) simulate.dt ??= 0.1;
        else delete simulate.dt;
        controls.changed("simulate");
      },
      "layers: a transformer with one block a step",
      "scheme",
    ),
    ...(fixed
      ? [
          number("dt", simulate.dt ?? 0.1, { min: 1e-6, name: "dt" }, (value) => {
            simulate.dt = value;
            controls.changed("simulate");
          }),
        ]
      : []),
    select(
      "engine",
      simulate.engine ?? "auto",
      plain(["auto", "cpu", "harmonic", "reference"]),
      (value) => {
        if (value === "auto") delete simulate.engine;
        else simulate.engine = value;
        controls.changed("simulate");
      },
      "",
      "engine",
    ),
  ];
}

/** What is drawn. */
export function viewFields(controls: Controls): HTMLElement[] {
  const view = controls.view;
  const apply =
    <K extends keyof View>(key: K) =>
    (value: View[K]): void => {
      view[key] = value;
      controls.onview();
    };
  return [
    select(
      "colour",
      view.colour,
      [
        ["cluster", "by cluster"],
        ["index", "by index"],
        ["speed", "by speed"],
      ],
      (value) => apply("colour")(value as Colour),
      "",
      "colour",
    ),
    number(
      "trails",
      view.trails,
      { min: 0, max: 200, whole: true, name: "trails", title: "Frames that a trail goes back" },
      apply("trails"),
    ),
    check("centers and first token", view.centers, apply("centers"), "centers"),
    check("convex hull", view.hull, apply("hull"), "hull"),
    ...(controls.spec.model.dim > 3
      ? [
          select(
            "projection",
            view.projection,
            [
              ["eigenvectors", "top eigenvectors of V"],
              ["principal", "principal components, here"],
            ],
            (value) => apply("projection")(value as View["projection"]),
            "",
            "projection",
          ),
        ]
      : []),
  ];
}

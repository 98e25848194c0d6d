// Taking a run along: the address, PNG, SVG, CSV, run.toml and Python.

import type { App } from "./app";
import { h, short } from "./dom";
import type { Began } from "./state";
import type { Store } from "./store";

/** Hand a file to the browser. */
export function download(name: string, content: Blob | string, kind = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: kind }) : content;
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** What was measured of every frame that has arrived. */
export function measuresCsv(store: Store): string {
  const names = store.began!.measures;
  const lines = store.there.map((k) => {
    const frame = store.frames[k]!;
    return [k, frame.time, ...frame.measures].map((v) => (Number.isNaN(v) ? "" : v)).join(",");
  });
  return `${[`frame,time,${names.join(",")}`, ...lines].join("\n")}\n`;
}

/** The tokens of one frame, as they are shown. */
export function tokensCsv(store: Store, index: number): string {
  const frame = store.frames[index]!;
  const axes = store.axes;
  const lines = Array.from(frame.labels, (label, i) =>
    [i, label, ...frame.positions.subarray(axes * i, axes * (i + 1))].join(","),
  );
  return `${[`token,cluster,${["x", "y", "z"].slice(0, axes).join(",")}`, ...lines].join("\n")}\n`;
}

export interface Choices {
  address: () => void;
  png: () => void;
  svg: () => void;
  measures: () => void;
  tokens: () => void;
  toml: () => void;
  python: () => void;
}

/** What the dialog does for an explorer. */
export function choices(app: App): Choices {
  const began = (): Began => app.store.began!;
  const frame = (): number => app.store.at(app.player.time, false)!.before;
  return {
    address: async () => {
      app.player.toggle(false);
      app.toAddress();
      try {
        await navigator.clipboard.writeText(location.href);
        app.note.textContent = "The address is copied.";
      } catch {
        app.note.textContent = "The address of this page holds everything: copy it.";
      }
      app.share.close();
    },
    png: async () => {
      const blob = await app.scene.png();
      if (blob) download("tokenflock.png", blob);
    },
    svg: () => {
      const title = `n = ${began().n_tokens}, d = ${began().dim}, t = ${short(app.player.time)}`;
      download("tokenflock.svg", app.charts.svg(title), "image/svg+xml");
    },
    measures: () => download("measures.csv", measuresCsv(app.store), "text/csv"),
    tokens: () => download("tokens.csv", tokensCsv(app.store, frame()), "text/csv"),
    toml: () => download("run.toml", began().recipe.toml, "application/toml"),
    python: () => download("run.py", began().recipe.python, "text/x-python"),
  };
}

export function shareDialog(choices: Choices, live: boolean): HTMLDialogElement {
  const rows: [keyof Choices, string, string][] = [
    ...(live
      ? ([
          ["address", "Copy the address", "It holds the whole state: whoever opens it sees this run at this moment."],
        ] as [keyof Choices, string, string][])
      : []),
    ["png", "Picture (PNG)", "The view as it is now."],
    ["svg", "Charts (SVG)", "For a paper or a talk."],
    ["measures", "Measures (CSV)", "Clusters, energy and distances of every frame."],
    ["tokens", "Tokens (CSV)", "The tokens of this frame with their clusters, as shown."],
    ["toml", "run.toml", "For `tokenflock simulate run.toml`."],
    ["python", "Python", "The lines that repeat this run, its changes too."],
  ];
  const dialog: HTMLDialogElement = h(
    "dialog",
    { "aria-label": "Share", click: (event: MouseEvent) => event.target === dialog && dialog.close() },
    h(
      "header",
      {},
      h("h2", {}, "Take it along"),
      h("button", { type: "button", class: "round", "aria-label": "Close", click: () => dialog.close() }, "✕"),
    ),
    h(
      "div",
      { class: "rows" },
      ...rows.map(([key, title, sentence]) =>
        h(
          "button",
          { type: "button", class: "choice", "data-share": key, click: () => choices[key]() },
          h("b", {}, title),
          h("small", {}, sentence),
        ),
      ),
    ),
    h("p", { class: "hint" }, "A saved run becomes one HTML file with: tokenflock explore --export run.zarr page.html"),
  );
  return dialog;
}

export const KEYS: [string, string][] = [
  ["space", "play or pause"],
  [", and .", "a frame back, a frame on"],
  ["Home, End", "to the start, to the end"],
  ["L", "linear or logarithmic clock"],
  ["[ and ]", "pick the token before, after"],
  ["Esc", "let the token go"],
  ["H", "attention of the next head"],
  ["arrows, + and −", "turn the view, closer and farther (when the view has the focus)"],
  ["0", "the view from its usual place"],
  ["C", "colour by cluster, index or speed"],
  ["P", "presets"],
  ["S", "take it along"],
  ["R", "restart"],
  ["?", "this list"],
];

export function helpDialog(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h(
    "dialog",
    { "aria-label": "Help", click: (event: MouseEvent) => event.target === dialog && dialog.close() },
    h(
      "header",
      {},
      h("h2", {}, "What is seen, and keys"),
      h("button", { type: "button", class: "round", "aria-label": "Close", click: () => dialog.close() }, "✕"),
    ),
    h(
      "p",
      {},
      "Every dot is a token. Attention moves it towards the tokens that it attends to, as the layers of a transformer do; time is depth.",
    ),
    h(
      "p",
      {},
      "★ is the first token, ■ a strong Rényi center, ◆ an ordinary one, ○ a frozen token. V is changed by dragging its eigenvalues: to the right tokens attract, to the left they repel.",
    ),
    h(
      "table",
      {},
      h(
        "tbody",
        {},
        ...KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, words))),
      ),
    ),
  );
  return dialog;
}

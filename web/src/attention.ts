// Attention beside the view: the row of the token that is picked, and the matrix as a heat map.

import { h, s, short } from "./dom";
import { labelled } from "./fields";
import { scaleColour } from "./palette";
import type { Row, View } from "./state";

const LEAST = 1e-4; // the darkest end of the map

/** A weight as 0 to 1 on a logarithmic scale. */
function level(weight: number): number {
  return weight <= LEAST ? 0 : 1 - Math.log(weight) / Math.log(LEAST);
}

export class Attention {
  readonly element: HTMLElement;
  onopen: (open: boolean) => void = () => {};
  onpick: (token: number) => void = () => {};
  onhead: (head: View["head"]) => void = () => {};
  private canvas = h("canvas", {
    width: 64,
    height: 64,
    class: "heat",
    role: "img",
    "aria-label": "Attention matrix: rows attend to columns",
  });
  private told = h("p", { class: "hint" }, "Pick a token in the view, or step through them with [ and ].");
  private bars = s("svg", {
    viewBox: "0 0 256 40",
    class: "row",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": "Attention row",
  });
  private details: HTMLDetailsElement;
  private select = h("select", { name: "head", change: () => this.onhead(asHead(this.select.value)) });
  private choice: HTMLElement;
  private size = 0;

  constructor() {
    this.choice = labelled("Attention of", this.select, "Every head has its own (H: the next one)");
    this.choice.hidden = true;
    this.details = h(
      "details",
      { toggle: () => this.onopen(this.details.open) },
      h("summary", {}, "Attention matrix"),
      this.canvas,
      h("p", { class: "hint" }, "Row i attends to column j; bright is 1, dark 10⁻⁴ or less."),
    );
    this.element = h(
      "section",
      { class: "card attention" },
      h("h2", {}, "Attention"),
      this.choice,
      this.told,
      this.bars,
      this.details,
    );
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      if (this.size) this.onpick(Math.floor(((event.clientY - box.top) / box.height) * this.size));
    });
  }

  /** The choice of heads, where there are several. */
  heads(count: number, chosen: View["head"]): void {
    this.choice.hidden = count < 2;
    if (this.select.options.length !== count + 1) {
      const each = Array.from({ length: count }, (_, k) => h("option", { value: k }, `head ${k + 1}`));
      this.select.replaceChildren(...each, h("option", { value: "mean" }, "mean of all heads"));
    }
    this.head = chosen;
  }

  set head(value: View["head"]) {
    this.select.value = String(value);
  }

  /** The head after the one that is chosen. */
  get next(): View["head"] {
    const options = this.select.options;
    return options.length ? asHead(options[(this.select.selectedIndex + 1) % options.length].value) : 0;
  }

  get open(): boolean {
    return this.details.open;
  }

  set open(value: boolean) {
    this.details.open = value;
  }

  /** The whole matrix. */
  matrix(weights: Float32Array, size: number, tokens: number): void {
    this.size = tokens;
    this.canvas.width = this.canvas.height = size;
    const context = this.canvas.getContext("2d")!;
    const image = context.createImageData(size, size);
    for (let k = 0; k < size * size; k++) {
      const [r, g, b] = scaleColour(level(weights[k]));
      image.data.set([r, g, b, 255], 4 * k);
    }
    context.putImageData(image, 0, 0);
    this.canvas.dataset.size = String(size);
    this.canvas.dataset.head = this.select.value;
  }

  /** One row. */
  row(row: Row | null, cluster: number): void {
    if (!row) {
      this.told.textContent = "Pick a token in the view, or step through them with [ and ].";
      this.bars.replaceChildren();
      return;
    }
    const others = row.strongest
      .slice(0, 4)
      .map(
        ([j, w]) =>
          `${j === row.token ? "itself" : j >= row.n_tokens ? `frozen ${j - row.n_tokens + 1}` : j + 1} ${short(w)}`,
      );
    const leader =
      row.leader >= row.n_tokens
        ? `frozen token ${row.leader - row.n_tokens + 1}`
        : row.leader === row.token
          ? "itself"
          : `token ${row.leader + 1}`;
    this.told.replaceChildren(
      h("b", {}, `Token ${row.token + 1}`),
      ` of cluster ${cluster + 1} follows `,
      h("b", { class: "leader" }, leader),
      `. Weights: ${others.join(", ")}.`,
    );
    const width = 256 / row.parts.length;
    const most = Math.max(...row.parts, 1e-12);
    this.bars.replaceChildren(
      ...row.parts.map((p, k) =>
        s("rect", {
          x: k * width,
          width: Math.max(0.6, width - 0.3),
          y: 40 - (40 * p) / most,
          height: (40 * p) / most,
        }),
      ),
    );
  }

  refuse(sentence: string): void {
    this.told.textContent = sentence;
  }
}

const asHead = (text: string): View["head"] => (text === "mean" ? text : Number(text));

// The charts under the view: how many clusters, energy, tokens consumed, distances, against time.

import { h, s, short } from "./dom";
import type { View } from "./state";
import type { Store } from "./store";

interface Line {
  measure: string;
  name: string;
  colour: string;
  dash?: string;
}

interface Chart {
  id: string;
  title: string;
  sentence: string;
  lines: Line[];
  log?: boolean;
  low?: number;
  high?: number;
  steps?: boolean;
}

const BLUE = "#0072b2";
const ORANGE = "#d55e00";
const CHARTS: Chart[] = [
  {
    id: "clusters",
    title: "Clusters",
    sentence: "Groups of tokens in which each step to the next is at most the radius long.",
    lines: [{ measure: "clusters", name: "clusters", colour: BLUE }],
    log: true,
    low: 1,
    steps: true,
  },
  {
    id: "energy",
    title: "Energy",
    sentence:
      "The mean of exp(β(⟨x,y⟩ − 1)): far clusters with shares p of the tokens have Σ p². Full attention never lowers it.",
    lines: [{ measure: "energy", name: "energy", colour: BLUE }],
    low: 0,
    high: 1,
  },
  {
    id: "consumed",
    title: "Consumed",
    sentence: "The fraction of tokens within 1/√β of a Rényi center, and of a strong one (dashed).",
    lines: [
      { measure: "consumed", name: "Rényi", colour: BLUE },
      { measure: "consumed_strong", name: "strong", colour: ORANGE, dash: "5 3" },
    ],
    low: 0,
    high: 1,
  },
  {
    id: "distance",
    title: "Distance to L",
    sentence:
      "The mean distance from the leading eigenspace L of V, and (dashed) the largest from the predicted limit.",
    lines: [
      { measure: "distance", name: "mean to L", colour: BLUE },
      { measure: "gap", name: "largest to the limit", colour: ORANGE, dash: "5 3" },
    ],
    low: 0,
  },
  {
    id: "size",
    title: "Size",
    sentence: "The largest distance of a token from the mean, in units of that at the start.",
    lines: [{ measure: "size", name: "size", colour: BLUE }],
    low: 0,
  },
];
const [W, H, LEFT, TOP, RIGHT, BOTTOM] = [216, 104, 30, 7, 10, 17];

/** The place of a time, 0 to 1, on a linear or a logarithmic clock. */
export function placeOf(time: number, store: Store, clock: View["clock"]): number {
  const [first, end] = [store.firstTime, store.endTime];
  if (clock === "linear") return time / end;
  if (time <= first) return 0.04 * (time / first); // before the first kept time: a short run-up
  return 0.04 + (0.96 * Math.log(time / first)) / Math.max(1e-12, Math.log(end / first));
}

/** The time at a place: the other way. */
export function timeAt(place: number, store: Store, clock: View["clock"]): number {
  const [first, end] = [store.firstTime, store.endTime];
  if (clock === "linear") return place * end;
  if (place <= 0.04) return (place / 0.04) * first;
  return first * (end / first) ** ((place - 0.04) / 0.96);
}

export class Charts {
  readonly element = h("section", { class: "charts", "aria-label": "Charts" });
  onscrub: (place: number) => void = () => {};
  private hands = new Map<string, { hand: SVGLineElement; value: HTMLElement; svg: SVGSVGElement; chart: Chart }>();

  /** Draw all again: new frames, another clock. */
  draw(store: Store, view: View): void {
    if (!store.began || !store.last) return;
    const shown = CHARTS.filter((chart) => this.has(chart, store)).slice(0, 4);
    if (shown.map((c) => c.id).join() !== [...this.hands.keys()].join()) this.build(shown);
    for (const chart of shown) this.lines(chart, store, view);
  }

  private has(chart: Chart, store: Store): boolean {
    const index = store.measure(chart.lines[0].measure);
    return store.there.some((k) => Number.isFinite(store.frames[k]!.measures[index]));
  }

  private build(shown: Chart[]): void {
    this.hands.clear();
    this.element.replaceChildren(
      ...shown.map((chart) => {
        const hand = s("line", { class: "hand", y1: TOP, y2: H - BOTTOM });
        const value = h("output", { class: "value", "data-chart": chart.id });
        const svg = s(
          "svg",
          {
            viewBox: `0 0 ${W} ${H}`,
            role: "img",
            "aria-label": `${chart.title} against time`,
            pointerdown: (e: PointerEvent) => this.scrub(e),
          },
          s("g", { class: "axes" }),
          s("g", { class: "plot" }),
          hand,
        );
        svg.addEventListener("pointermove", (e) => e.buttons && this.scrub(e));
        this.hands.set(chart.id, { hand, value, svg, chart });
        return h(
          "figure",
          { class: "chart", title: chart.sentence },
          h("figcaption", {}, h("b", {}, chart.title), value),
          svg,
        );
      }),
    );
  }

  private scrub(event: PointerEvent): void {
    const box = (event.currentTarget as SVGSVGElement).getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * W;
    this.onscrub(Math.min(1, Math.max(0, (x - LEFT) / (W - LEFT - RIGHT))));
  }

  private lines(chart: Chart, store: Store, view: View): void {
    const { svg } = this.hands.get(chart.id)!;
    const values = chart.lines.map((line) => {
      const index = store.measure(line.measure);
      return store.there
        .map(
          (k) =>
            [placeOf(store.frames[k]!.time, store, view.clock), store.frames[k]!.measures[index]] as [number, number],
        )
        .filter(([, y]) => Number.isFinite(y));
    });
    const all = values.flat().map(([, y]) => y);
    const low = chart.low ?? Math.min(...all);
    const high = Math.max(chart.high ?? -Infinity, ...all, low + 1e-9);
    const scale = (y: number): number =>
      chart.log ? Math.log(Math.max(y, low) / low) / Math.log(Math.max(high, low * 2) / low) : (y - low) / (high - low);
    const px = (x: number): number => LEFT + x * (W - LEFT - RIGHT);
    const py = (y: number): number => H - BOTTOM - scale(y) * (H - TOP - BOTTOM);
    const plot = svg.querySelector(".plot")!;
    plot.replaceChildren(
      ...chart.lines.map((line, k) => {
        const points = values[k].map(([x, y]) => [px(x).toFixed(1), py(y).toFixed(1)]);
        const d = points.map(([x, y], j) => (j ? (chart.steps ? `H${x}V${y}` : `L${x} ${y}`) : `M${x} ${y}`)).join("");
        return s("path", {
          d,
          fill: "none",
          stroke: line.colour,
          "stroke-width": 1.6,
          "stroke-dasharray": line.dash,
          class: k ? "second" : "first",
        });
      }),
    );
    svg.querySelector(".axes")!.replaceChildren(...this.axes(chart, store, view, low, high, px, py));
  }

  private axes(
    chart: Chart,
    store: Store,
    view: View,
    low: number,
    high: number,
    px: (x: number) => number,
    py: (y: number) => number,
  ): SVGElement[] {
    const parts: SVGElement[] = [s("path", { d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`, class: "axis" })];
    const ticksY = chart.log ? logTicks(low, Math.max(high, 2 * low), 4) : [low, (low + high) / 2, high];
    for (const y of ticksY) {
      parts.push(s("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: py(y), y2: py(y) }));
      parts.push(s("text", { x: LEFT - 4, y: py(y) + 3, "text-anchor": "end" }, short(Number(y.toPrecision(2)))));
    }
    const [first, end] = [store.firstTime, store.endTime];
    const ticksX = view.clock === "log" ? logTicks(first, end, 5) : [0, end / 2, end];
    for (const t of ticksX) {
      const x = px(placeOf(t, store, view.clock));
      parts.push(s("text", { x, y: H - 4, "text-anchor": "middle" }, short(t)));
    }
    return parts;
  }

  /** Move the hands to a time, and tell the values there. */
  at(store: Store, index: number, place: number): void {
    for (const { hand, value, chart } of this.hands.values()) {
      const x = LEFT + place * (W - LEFT - RIGHT);
      hand.setAttribute("x1", x.toFixed(1));
      hand.setAttribute("x2", x.toFixed(1));
      const told = chart.lines.map((line) => short(this.near(store, index, store.measure(line.measure))));
      const text = told.join(" · ");
      if (value.textContent !== text) value.textContent = text;
    }
  }

  /** The last value that was measured at or before a frame. */
  private near(store: Store, index: number, measure: number): number {
    for (let k = store.there.length - 1; k >= 0; k--) {
      const number = store.there[k];
      if (number > index) continue;
      const value = store.frames[number]!.measures[measure];
      if (Number.isFinite(value)) return value;
      if (index - number > 60) break;
    }
    return NaN;
  }

  /** All charts as one SVG file. */
  svg(title: string): string {
    const parts = [...this.hands.values()];
    const root = s("svg", {
      viewBox: `0 0 ${2 * W} ${Math.ceil(parts.length / 2) * (H + 24) + 24}`,
      "font-family": "sans-serif",
      "font-size": 10,
    });
    root.append(s("text", { x: 8, y: 16, "font-size": 12 }, title));
    parts.forEach(({ svg, chart }, k) => {
      const group = s(
        "g",
        { transform: `translate(${(k % 2) * W} ${24 + Math.floor(k / 2) * (H + 24)})` },
        s("text", { x: LEFT, y: 12 }, chart.title),
      );
      const inner = s("g", { transform: "translate(0 16)" });
      for (const child of svg.children) {
        const copy = child.cloneNode(true) as SVGElement;
        for (const part of [copy, ...copy.querySelectorAll<SVGElement>("*")]) {
          const name = part.getAttribute("class");
          if (name === "axis") part.setAttribute("fill", "none");
          if (name && ["axis", "grid", "hand"].includes(name))
            part.setAttribute("stroke", name === "grid" ? "#ddd" : "#888");
        }
        inner.append(copy);
      }
      group.append(inner);
      root.append(group);
    });
    return new XMLSerializer().serializeToString(root);
  }
}

/** Powers of ten (or few numbers between) from low to high. */
function logTicks(low: number, high: number, most: number): number[] {
  const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((b - a) / most));
  const ticks: number[] = [];
  for (let k = a; k <= b; k += step) ticks.push(10 ** k);
  return ticks.length > 1 ? ticks : [low, high];
}

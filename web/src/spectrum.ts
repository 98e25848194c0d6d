// The spectrum of V: eigenvalues in the complex plane, moved by pointer or keys; conjugate pairs move together.

import { h, s, short } from "./dom";
import type { Atlas } from "./state";

// A real eigenvalue has one column of the basis, a pair a + bi, a - bi (b > 0) two, and V = S D S^-1.
type Group = { re: number; im: number; columns: number[] };

const SIZE = 240;
const SNAP = 0.06; // of the half width: closer to the real axis is on it

export class Spectrum {
  readonly element: HTMLElement;
  onchange: (value: number[][], final: boolean) => void = () => {};
  private groups: Group[] = [];
  private basis: number[][] = [];
  private inverse: number[][] = [];
  private reach = 2;
  private svg = s("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    class: "plane",
    role: "group",
    "aria-label": "Eigenvalues of V in the complex plane",
  });
  private told = h("p", { class: "hint" });
  private held: number | null = null;
  private unit = s("circle", { cx: SIZE / 2, cy: SIZE / 2, class: "unit" });
  private twins = s("g");
  private handles = s("g");

  constructor() {
    const middle = SIZE / 2;
    this.element = h("div", { class: "spectrum" }, this.svg, this.told);
    this.svg.append(
      s("rect", { x: 0, y: 0, width: middle, height: SIZE, class: "left" }),
      s("path", { d: `M0 ${middle}H${SIZE}M${middle} 0V${SIZE}`, class: "axis" }),
      this.unit,
      s("text", { x: SIZE - 4, y: middle - 5, "text-anchor": "end" }, "Re"),
      s("text", { x: middle + 5, y: 12 }, "Im"),
      this.twins,
      this.handles,
    );
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, () => this.drop());
  }

  /** The spectrum of a V that came from elsewhere. While a value is held, nothing is taken from it. */
  take(atlas: Atlas): void {
    if (this.held !== null) return;
    this.svg.toggleAttribute("hidden", !atlas.basis);
    if (!atlas.basis || !atlas.inverse) {
      this.told.textContent = "This V has no basis of eigenvectors to move along: edit its entries.";
      return;
    }
    this.basis = atlas.basis;
    this.inverse = atlas.inverse;
    const found: Group[] = [];
    for (let k = 0; k < atlas.eigenvalues.length; k++) {
      const [re, im] = atlas.eigenvalues[k];
      if (im > 0 && k + 1 < atlas.eigenvalues.length) found.push({ re, im, columns: [k, ++k] });
      else found.push({ re, im: 0, columns: [k] });
    }
    this.groups = inOrderOf(this.groups, found);
    const most = Math.max(1, ...this.groups.map((g) => Math.max(Math.abs(g.re), g.im)));
    this.reach = 1.4 * 2 ** Math.ceil(Math.log2(most) - 1e-9);
    this.draw();
  }

  private x = (re: number): number => (SIZE / 2) * (1 + re / this.reach);
  private y = (im: number): number => (SIZE / 2) * (1 - im / this.reach);

  /** Handles are moved, never made anew: one that is under the pointer or has the focus keeps it. */
  private draw(focus: number | null = null): void {
    put(this.unit, { r: SIZE / 2 / this.reach });
    const pairs = this.groups.filter((group) => group.im);
    fit(this.twins, pairs.length, () => s("circle", { class: "twin", r: 6 }));
    for (const [k, group] of pairs.entries()) {
      put(this.twins.children[k], { cx: this.x(group.re), cy: this.y(-group.im) });
    }
    fit(this.handles, this.groups.length, (k) => this.handle(k));
    this.groups.forEach((group, k) => {
      const place = { cx: this.x(group.re), cy: this.y(group.im) };
      put(this.handles.children[k], { ...place, "aria-valuenow": group.re, "aria-valuetext": this.words(group) });
    });
    this.told.textContent = this.groups.map((g) => this.words(g)).join(",  ");
    if (focus !== null) (this.handles.children[focus] as SVGElement).focus();
  }

  private handle(k: number): SVGElement {
    return s("circle", {
      class: "handle",
      r: 8,
      tabindex: 0,
      role: "slider",
      "aria-label": `Eigenvalue ${k + 1}`,
      "data-eigenvalue": k,
      pointerdown: (event: PointerEvent) => this.grab(event, k),
      keydown: (event: KeyboardEvent) => this.key(event, k),
    });
  }

  private words(g: Group): string {
    return g.im ? `${short(g.re)} ± ${short(g.im)}i` : short(g.re);
  }

  private grab(event: PointerEvent, k: number): void {
    event.preventDefault();
    this.held = k;
    this.svg.setPointerCapture(event.pointerId);
  }

  private drag(event: PointerEvent): void {
    if (this.held === null) return;
    const box = this.svg.getBoundingClientRect();
    const re = (2 * ((event.clientX - box.left) / box.width) - 1) * this.reach;
    const im = (1 - 2 * ((event.clientY - box.top) / box.height)) * this.reach;
    this.move(this.held, re, im, false);
  }

  private drop(): void {
    if (this.held === null) return;
    this.held = null;
    this.onchange(this.matrix(), true);
  }

  private key(event: KeyboardEvent, k: number): void {
    const step = (event.shiftKey ? 0.5 : 0.1) * (this.reach / 2.8);
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, step],
      ArrowDown: [0, -step],
    };
    const by = moves[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const g = this.groups[k];
    const off = by[1] && !g.im ? Math.sign(by[1]) * Math.max(Math.abs(by[1]), 1.5 * SNAP * this.reach) : by[1];
    this.move(k, g.re + by[0], g.im + off, true);
  }

  /** An eigenvalue to a new place. Off the real axis it takes the nearest real one along, as its conjugate. */
  private move(k: number, re: number, im: number, final: boolean): void {
    const far = this.reach * 0.98;
    re = Math.min(far, Math.max(-far, re));
    const up = Math.min(far, Math.abs(im)) > SNAP * this.reach ? Math.min(far, Math.abs(im)) : 0;
    const g = this.groups[k];
    if (up && !g.im) {
      let partner = -1;
      this.groups.forEach((other, j) => {
        const closer = partner < 0 || Math.abs(other.re - g.re) < Math.abs(this.groups[partner].re - g.re);
        if (j !== k && !other.im && closer) partner = j;
      });
      if (partner >= 0) {
        this.groups[k] = { re, im: up, columns: [...g.columns, ...this.groups[partner].columns] };
        this.groups.splice(partner, 1);
        if (this.held !== null && partner < k) this.held = k - 1;
        if (partner < k) k--;
      } else g.re = re; // alone it stays on the axis
    } else if (!up && g.im) {
      this.groups.splice(k, 1, { re, im: 0, columns: [g.columns[0]] }, { re, im: 0, columns: [g.columns[1]] });
    } else {
      g.re = re;
      g.im = up;
    }
    this.draw(final ? k : null);
    this.onchange(this.matrix(), final);
  }

  /** V = S D S^-1. */
  private matrix(): number[][] {
    const d = this.basis.length;
    const D = Array.from({ length: d }, () => new Array(d).fill(0));
    for (const { re, im, columns } of this.groups) {
      for (const c of columns) D[c][c] = re;
      if (columns.length === 2) {
        D[columns[0]][columns[1]] = im;
        D[columns[1]][columns[0]] = -im;
      }
    }
    const round = (v: number): number => Number(v.toPrecision(12));
    return product(product(this.basis, D), this.inverse).map((row) =>
      row.map((v) => (Math.abs(v) < 1e-14 ? 0 : round(v))),
    );
  }
}

function product(A: number[][], B: number[][]): number[][] {
  return A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
}

/** Attributes, written only where they differ. */
function put(element: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
}

/** So many children: made or removed at the end only. */
function fit(parent: Element, count: number, make: (k: number) => Element): void {
  while (parent.children.length > count) parent.lastElementChild!.remove();
  while (parent.children.length < count) parent.append(make(parent.children.length));
}

/** The same eigenvalues keep their handles, in whatever order they come. */
function inOrderOf(old: Group[], found: Group[]): Group[] {
  const left = [...found];
  const same: Group[] = [];
  for (const { re, im } of old) {
    const at = left.findIndex((g) => Math.hypot(g.re - re, g.im - im) < 1e-6 * (1 + Math.abs(re) + im));
    if (at >= 0) same.push(...left.splice(at, 1));
  }
  return same.length === old.length && !left.length ? same : found;
}

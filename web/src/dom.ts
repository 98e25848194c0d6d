// Elements in one line. Styles are set through the object model only: the page's policy forbids style attributes.

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** An HTML element; attributes that are functions are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

/** A number for people: 3 digits, powers of ten where they help. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) {
    const [digits, power] = value.toExponential(1).split("e");
    return `${digits.replace(/\.0$/, "")}e${Number(power)}`.replace("-", "−");
  }
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

/** Run at most once in a while, and once more at the end. */
export function throttled(seconds: number, action: () => void): () => void {
  let last = -Infinity;
  let timer = 0;
  return () => {
    const wait = 1000 * seconds - (performance.now() - last);
    if (timer) return;
    timer = window.setTimeout(
      () => {
        timer = 0;
        last = performance.now();
        action();
      },
      Math.max(0, wait),
    );
  };
}

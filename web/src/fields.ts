// Inputs of the controls: a label, a value, and what happens when it changes.

import { type Child, h } from "./dom";

let next = 0;
const fresh = (): string => `tf-${++next}`;

export function labelled(text: string, input: HTMLElement, title = "", ...more: Child[]): HTMLElement {
  input.id ||= fresh();
  return h("div", { class: "field", title }, h("label", { for: input.id }, text), input, ...more);
}

export interface NumberOptions {
  min?: number;
  max?: number;
  step?: number | "any";
  whole?: boolean;
  title?: string;
  name?: string;
}

/** A number that is typed. */
export function number(
  text: string,
  value: number | string,
  options: NumberOptions,
  change: (value: number) => void,
): HTMLElement {
  const input = h("input", {
    type: "text",
    inputmode: "decimal",
    value: String(value),
    name: options.name ?? text,
    autocomplete: "off",
    change: () => {
      const given = Number(input.value.replace("−", "-"));
      const fits =
        Number.isFinite(given) &&
        (!options.whole || Number.isInteger(given)) &&
        given >= (options.min ?? -Infinity) &&
        given <= (options.max ?? Infinity);
      input.toggleAttribute("aria-invalid", !fits);
      if (fits) change(given);
    },
  });
  return labelled(text, input, options.title ?? "");
}

/** A number with a slider whose places are powers: for what spans decades. */
export function powers(
  text: string,
  value: number,
  min: number,
  max: number,
  change: (value: number, final: boolean) => void,
  name = text,
): HTMLElement {
  const round = (v: number): number => Number(v.toPrecision(3));
  const slider = h("input", {
    type: "range",
    min: Math.log10(min),
    max: Math.log10(max),
    step: 0.01,
    value: Math.log10(Math.max(min, value)),
    "aria-label": `${text}, slider`,
    name: `${name}-slider`,
  });
  const input = h("input", { type: "text", inputmode: "decimal", value: String(value), name, autocomplete: "off" });
  slider.addEventListener("input", () => {
    const given = round(10 ** Number(slider.value));
    input.value = String(given);
    change(given, false);
  });
  slider.addEventListener("change", () => change(Number(input.value), true));
  input.addEventListener("change", () => {
    const given = Number(input.value);
    const fits = Number.isFinite(given);
    input.toggleAttribute("aria-invalid", !fits);
    if (!fits) return;
    slider.value = String(Math.log10(Math.max(min, given)));
    change(given, true);
  });
  const field = labelled(text, input);
  field.classList.add("with-slider");
  field.append(slider);
  return field;
}

/** One of a few. */
export function select(
  text: string,
  value: string,
  options: [string, string][],
  change: (value: string) => void,
  title = "",
  name = text,
): HTMLElement {
  const input = h(
    "select",
    { name, change: () => change(input.value) },
    ...options.map(([key, words]) => h("option", { value: key, selected: key === value }, words)),
  );
  return labelled(text, input, title);
}

/** Yes or no. */
export function check(text: string, value: boolean, change: (value: boolean) => void, name = text): HTMLElement {
  const input = h("input", {
    type: "checkbox",
    checked: value,
    name,
    change: () => change(input.checked),
    id: fresh(),
  });
  return h("div", { class: "field check" }, input, h("label", { for: input.id }, text));
}

/** A part of the controls that folds. */
export function section(title: string, open: boolean, ...children: Child[]): HTMLDetailsElement {
  return h("details", { class: "group", open, "data-group": title }, h("summary", {}, title), ...children);
}

/** Options that are called what they are. */
export const plain = (names: string[]): [string, string][] => names.map((name) => [name, name.replaceAll("_", " ")]);

/** The identity matrix. */
export function eye(dim: number): number[][] {
  return Array.from({ length: dim }, (_, i) => Array.from({ length: dim }, (_, j) => Number(i === j)));
}

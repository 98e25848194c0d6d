// One sentence about what is seen, with a way to the statement; and what the signs in the view mean.

import { h } from "./dom";
import type { Began, Preset, Spec, View } from "./state";

/** Title and sentence of a preset, as long as its run is the one that is shown. */
export function headline(
  run: Spec,
  preset: Preset | undefined,
  title: string,
  onstatement: (claim: string) => void,
): (Node | string)[] {
  const same =
    preset &&
    JSON.stringify([run.model, run.start, run.simulate, run.then]) ===
      JSON.stringify([preset.spec.model, preset.spec.start, preset.spec.simulate, undefined]);
  const name = preset ? (same ? preset.title : `Your own run, changed from ${preset.title}`) : title;
  const claim = same ? preset.claim : "";
  return [
    name ? h("b", {}, `${name}. `) : "",
    same ? preset.sentence : "",
    " ",
    claim
      ? h(
          "button",
          { type: "button", class: "link", name: "statement", click: () => onstatement(claim) },
          `Statement: ${claim}`,
        )
      : "",
  ];
}

/** The line under the view. */
export function legend(began: Began, view: View): string {
  const shapes =
    view.centers && began.centers.length
      ? "★ first token  ■ strong center  ◆ Rényi center"
      : view.centers
        ? "★ first token"
        : "";
  const frozen = began.frozen.length ? "  ○ frozen" : "";
  const seen = began.dim > 3 || began.dim === 1 ? `${began.projection.words}.  ` : "";
  return `${seen}${shapes}${frozen}`;
}

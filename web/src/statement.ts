// A statement of a paper, in the words of the ledger.

import { h } from "./dom";
import type { Statement } from "./state";

export function statementDialog(root: HTMLElement, told: Statement): void {
  const dialog: HTMLDialogElement = h(
    "dialog",
    {
      "aria-label": told.name,
      click: (event: MouseEvent) => event.target === dialog && dialog.close(),
      close: () => dialog.remove(),
    },
    h(
      "header",
      {},
      h("h2", {}, `${told.name} (${told.kind})`),
      h("button", { type: "button", class: "round", "aria-label": "Close", click: () => dialog.close() }, "✕"),
    ),
    h("p", {}, told.statement),
    told.hypotheses.length ? h("p", { class: "hint" }, `Needs: ${told.hypotheses.join("; ")}.`) : null,
    told.erratum ? h("p", { class: "hint" }, `Correction of the print: ${told.erratum}`) : null,
    told.known ? h("p", { class: "hint" }, `Known to fail: ${told.known}`) : null,
    h(
      "p",
      {},
      h("a", { href: told.url, target: "_blank", rel: "noopener noreferrer" }, told.title),
      ". To run it as an experiment: ",
      h("code", {}, `tokenflock check ${told.name}`),
    ),
  );
  root.append(dialog);
  dialog.showModal();
}

// A guest in a notebook: as light or dark as its host, and deaf to the host's shortcuts.

/** Whether the notebook says that it is dark; null if it does not say. */
function dark(): boolean | null {
  const { body, documentElement: root } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // Jupyter
  if (body.dataset.vscodeThemeKind) return !body.dataset.vscodeThemeKind.includes("light"); // VS Code
  const said = [body, root].find((e) => e.classList.contains("dark") || e.classList.contains("light")); // marimo
  return said ? said.classList.contains("dark") : null;
}

/** The element that holds the explorer inside an output. */
export function guest(height: number): HTMLElement {
  const place = document.createElement("div");
  place.className = "tokenflock-widget";
  place.style.height = `${height}px`;
  const shade = dark();
  if (shade !== null) place.dataset.theme = shade ? "dark" : "light";
  // In Jupyter, d pressed twice deletes the cell: keys that are meant for the explorer stay in it.
  place.dataset.lmSuppressShortcuts = "true";
  place.addEventListener("keydown", (event) => event.stopPropagation());
  return place;
}

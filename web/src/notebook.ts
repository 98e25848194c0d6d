// A guest in a notebook: as light or dark as its host, and deaf to the host's shortcuts.

/** Whether the notebook says that it is dark; null if it does not say. */
function dark(): boolean | null {
  const { body, documentElement: root } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // Jupyter
  if (body.dataset.vscodeThemeKind) return !body.dataset.vscodeThemeKind.includes("light"); // VS Code
  const said = [body, root].find((e) => e.classList.contains("dark") || e.classList.contains("light")); // marimo
  return said ? said.classList.contains("dark") : null;
}

/** The element that holds the explorer inside an output, and how it is left. */
export function guest(height: number): { place: HTMLElement; leave: () => void } {
  const place = document.createElement("div");
  place.className = "tokenflock-widget";
  place.style.height = `${height}px`;
  const follow = (): void => {
    const shade = dark();
    if (shade !== null) place.dataset.theme = shade ? "dark" : "light";
  };
  follow();
  const watcher = new MutationObserver(follow);
  const attributeFilter = ["class", "data-jp-theme-light", "data-vscode-theme-kind"];
  for (const said of [document.body, document.documentElement]) watcher.observe(said, { attributeFilter });
  // In Jupyter, d pressed twice deletes the cell: keys that are meant for the explorer stay in it. Those that are not go on:
  // VS Code saves, and opens its palette, only if it hears of them.
  place.dataset.lmSuppressShortcuts = "true";
  place.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey || event.altKey || /^F\d+$/.test(event.key))) event.stopPropagation();
  });
  return { place, leave: () => watcher.disconnect() };
}

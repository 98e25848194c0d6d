// Light or dark: as the system has it, until the user says otherwise.

export class Theme {
  private system = window.matchMedia("(prefers-color-scheme: dark)");

  constructor(private host: HTMLElement, private onchange: () => void) {
    this.system.addEventListener("change", onchange);
  }

  /** Light instead of dark, or the other way. */
  toggle(): void {
    const { dataset } = this.host;
    const dark = dataset.theme ? dataset.theme === "dark" : this.system.matches;
    dataset.theme = dark ? "light" : "dark";
    this.onchange();
  }

  close(): void {
    this.system.removeEventListener("change", this.onchange);
  }
}

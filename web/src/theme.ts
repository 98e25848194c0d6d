// Light or dark: as the system has it, until the host of the page is told otherwise (data-theme).

export class Theme {
  private system = window.matchMedia("(prefers-color-scheme: dark)");
  private told: MutationObserver;

  constructor(
    private host: HTMLElement,
    private onchange: () => void,
  ) {
    this.system.addEventListener("change", onchange);
    this.told = new MutationObserver(onchange);
    this.told.observe(host, { attributeFilter: ["data-theme"] });
  }

  /** Light instead of dark, or the other way. */
  toggle(): void {
    const { dataset } = this.host;
    const dark = dataset.theme ? dataset.theme === "dark" : this.system.matches;
    dataset.theme = dark ? "light" : "dark";
  }

  close(): void {
    this.system.removeEventListener("change", this.onchange);
    this.told.disconnect();
  }
}

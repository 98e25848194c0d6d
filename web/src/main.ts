// The one module: the page of the server, a widget in a notebook, and a file with a recorded run.

import { App } from "./app";
import { guest } from "./notebook";
import { RecordedSource, type Recording, SocketSource, type WidgetModel, WidgetSource } from "./source";
import { type Began, decode, type Preset, type Shared } from "./state";

/** What the page carries: the preset that it opens with, and the first frame of its run. */
interface First {
  preset: Preset;
  began: Began;
  packet: string;
}

/** The page of `tokenflock explore`. */
async function served(host: HTMLElement, first: First): Promise<void> {
  const url = new URL(host.dataset.socket!, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  const clean = new URL(location.href);
  if (clean.searchParams.has("token")) {
    clean.searchParams.delete("token"); // it is in a cookie now, and must not be shared with the address
    history.replaceState(null, "", clean);
  }
  const { preset } = first;
  const given = decode(location.hash);
  const shared: Shared = given ?? { spec: preset.spec, view: preset.view, preset: preset.name };
  const ahead = given ? undefined : { began: first.began, packet: bytes(first.packet).buffer };
  let presets = [preset];
  let app = new App(host, new SocketSource(url.href), { shared, presets, ahead, address: true });
  show(host, app);
  window.addEventListener("hashchange", () => {
    const other = decode(location.hash); // somebody pasted another address
    if (!other) return;
    app.close();
    app = new App(host, new SocketSource(url.href), { shared: other, presets, address: true });
    show(host, app);
  });
  presets = ((await (await fetch("presets.json")).json()) as { presets: Preset[] }).presets;
  app.known(presets);
}

/** For tests and for the curious: the parts of the page. */
function show(host: HTMLElement, app: App): void {
  (host as any).explorer = app;
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** A file that `tokenflock explore --export` wrote. */
function recorded(host: HTMLElement, data: HTMLScriptElement): void {
  const held = JSON.parse(data.textContent!);
  const recording: Recording = { ...held, data: bytes(held.data) };
  const spec = recording.began.spec;
  show(host, new App(host, new RecordedSource(recording), { shared: { spec, view: held.view }, title: held.title }));
}

const host = typeof document === "undefined" ? null : document.getElementById("tokenflock");
if (host) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("body { margin: 0; }");
  document.adoptedStyleSheets = [sheet];
  const data = document.getElementById("tokenflock-run");
  if (data) recorded(host, data as HTMLScriptElement);
  else if (host.dataset.socket)
    void served(host, JSON.parse(document.getElementById("tokenflock-first")!.textContent!));
}

/** In a notebook: see src/tokenflock/explorer/widget.py. */
function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const { place, leave } = guest(model.get("height"));
  el.append(place);
  const meta = model.get("meta");
  let app: App;
  if (model.get("live")) {
    app = new App(place, new WidgetSource(model), {
      shared: { spec: meta.spec, view: meta.view },
      presets: meta.presets,
    });
  } else {
    const view = model.get("data") as DataView;
    const data = new Uint8Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer);
    const recording: Recording = { ...meta, data };
    app = new App(place, new RecordedSource(recording), {
      shared: { spec: meta.began.spec, view: meta.view },
      title: meta.title,
    });
  }
  show(place, app);
  return () => {
    leave();
    app.close();
  };
}

export default { render };

// Which part of the page calls which: what is changed, picked or moved in one is told to the others.

import type { App } from "./app";
import { RecordedSource, type Source } from "./source";

export function connect(app: App, source: Source): void {
  app.controls.onchange = (what, final) => app.changed(what, final);
  app.controls.onview = () => app.viewChanged();
  app.player.onmove = () => app.move();
  app.player.onclock = () => app.viewChanged();
  app.charts.onscrub = (place) => app.player.scrub(place);
  app.scene.onpick = (token) => app.pick(token);
  app.scene.oncamera = () => {
    app.view.eye = app.scene.eye;
    app.remember();
  };
  app.attention.onpick = (token) => app.pick(token);
  app.attention.onopen = (open) => {
    app.attending.opened(open);
    app.move();
  };
  app.attention.onhead = (head) => app.head(head);
  app.attending.onmove = () => app.move();
  app.atlas.onstatement = (name) => source.send({ type: "statement", name });
  app.gallery.onchoose = (preset) => app.choose(preset);
  if (source instanceof RecordedSource) source.onframes = (frames, axes) => app.fill(frames, axes);
}

// The view in the middle: circle, sphere or open space, tokens, trails, hull, centers, whom a token attends to.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Hull } from "./hull";
import { Lines } from "./lines";
import { clusterColour, type Rgb, scaleColour } from "./palette";
import { Points } from "./points";
import { drawnInSoftware, Quality } from "./quality";
import { Splats } from "./splats";
import { arrows, circle, globe } from "./stage";
import type { Row, View } from "./state";
import type { Place, Store } from "./store";
import { type Drawing, Tokens } from "./tokens";

const MOST_TRAILS = 300; // tokens that leave one
const MOST_HULL = 4000;
const DISTANCE = 3.4;

export class Scene {
  readonly canvas: HTMLCanvasElement;
  dirty = true; // all has to be drawn
  drawn = 0; // pictures so far
  onpick: (token: number | null) => void = () => {};
  oncamera: () => void = () => {};
  private renderer: THREE.WebGLRenderer;
  private scene = new THREE.Scene();
  private camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
  private controls: OrbitControls;
  private tokens = new Tokens();
  private drawing: Drawing;
  private hull = new Hull();
  private moved = true; // tokens have to be drawn
  readonly quality: Quality;
  private trails = new Lines();
  private rays = new Lines();
  private stageGroup = new THREE.Group();
  private marks = new Lines(); // rings around frozen tokens and around the one that is picked
  private ink = new THREE.Color();
  private paper = new THREE.Color();
  private faint = new THREE.Color();
  private flat = true;
  private onSphere = true;
  private scale = 1;
  private again: () => void = () => {}; // show the same moment once more
  private shown: { before: number; after: number; key: string } = { before: -1, after: -1, key: "" };
  private count = 0;
  private side = 400; // of the view, the shorter one, in pixels: to ask for it in every picture would lay the page out anew
  private together = new Uint32Array(0); // how many tokens each cluster has

  constructor(private host: HTMLElement) {
    const soft = drawnInSoftware();
    this.renderer = soft ? new THREE.WebGLRenderer(soft) : new THREE.WebGLRenderer({ antialias: true, alpha: true });
    this.quality = new Quality(soft !== null);
    this.drawing = soft ? new Splats(this.tokens) : new Points(this.tokens);
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas, ...(this.drawing.canvas ? [this.drawing.canvas] : []));
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = false;
    this.controls.enablePan = true;
    this.controls.minDistance = 0.05;
    this.controls.maxDistance = 20;
    this.controls.addEventListener("change", () => {
      this.dirty = true;
    });
    this.controls.addEventListener("end", () => this.oncamera());
    this.scene.add(this.stageGroup, this.hull.group, this.trails.object, this.rays.object, this.marks.object);
    if (this.drawing.object) this.scene.add(this.drawing.object);
    this.picking();
  }

  /** Look from where a new run is best seen. */
  begin(store: Store, view: View, fresh: boolean): void {
    const began = store.began!;
    const axes = Math.min(3, Math.max(2, began.dim));
    this.flat = began.dim <= 2;
    this.onSphere = began.space === "sphere" && began.dim <= 3;
    this.count = began.n_tokens;
    this.tokens.resize(this.count, axes);
    const shape = new Float32Array(this.count);
    if (view.centers) {
      for (const i of began.centers) shape[i] = 1;
      for (const i of began.strong) shape[i] = 2;
      if (this.count) shape[0] = 3;
    }
    this.tokens.shapes(shape);
    this.controls.enableRotate = !this.flat;
    if (fresh) {
      this.resize();
      this.look(view.eye, view.zoom, axes);
    }
    this.theme();
    this.shown.key = "";
    this.dirty = true;
  }

  private look(eye: number[] | null, zoom: number, axes: number): void {
    this.controls.target.set(0, 0, 0);
    if (eye && eye.length >= 3) this.camera.position.set(eye[0], eye[1], eye[2]);
    else if (axes === 2) this.camera.position.set(0, 0, DISTANCE / (zoom || 1));
    else this.camera.position.setFromSphericalCoords(DISTANCE / (zoom || 1), 1.15, 0.65);
    if (eye && eye.length === 6) this.controls.target.set(eye[3], eye[4], eye[5]);
    this.controls.update();
  }

  /** Back to the usual place. */
  reset(): void {
    this.look(null, 1, this.flat ? 2 : 3);
    this.dirty = true;
    this.oncamera();
  }

  get eye(): number[] {
    const round = (v: number): number => Number(v.toFixed(4));
    const [p, t] = [this.camera.position, this.controls.target];
    return [p.x, p.y, p.z, t.x, t.y, t.z].map(round);
  }

  /** Turn, or move closer, by keys. */
  turn(across: number, up: number, closer: number): void {
    const offset = this.camera.position.clone().sub(this.controls.target);
    if (this.flat) {
      const step = 0.1 * offset.length();
      for (const v of [this.camera.position, this.controls.target])
        v.add(new THREE.Vector3(across * step, up * step, 0));
    } else {
      const s = new THREE.Spherical().setFromVector3(offset);
      s.theta += 0.1 * across;
      s.phi = Math.min(Math.PI - 0.05, Math.max(0.05, s.phi - 0.1 * up));
      offset.setFromSpherical(s);
    }
    offset.multiplyScalar(1.15 ** -closer);
    if (!this.flat || closer) this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.dirty = true;
    this.oncamera();
  }

  /** Colours of the page, light or dark. */
  theme(): void {
    const style = getComputedStyle(this.host);
    this.ink.set(style.getPropertyValue("--ink").trim() || "#222");
    this.paper.set(style.getPropertyValue("--paper").trim() || "#fff");
    this.faint.set(style.getPropertyValue("--line").trim() || "#ccc");
    for (const child of [...this.stageGroup.children]) this.stageGroup.remove(child);
    const parts = this.onSphere
      ? this.flat
        ? circle(this.faint)
        : globe(this.faint, this.paper)
      : arrows(this.faint, this.flat);
    this.stageGroup.add(...parts);
    this.hull.colour(this.ink);
    this.dirty = true;
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    this.side = Math.min(width, height);
    this.renderer.setPixelRatio(Math.min(2, (window.devicePixelRatio || 1) * this.quality.now.ratio));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // A narrow window must not cut the circle off at its sides.
    this.camera.fov =
      width < height ? (2 * 180 * Math.atan(Math.tan((35 * Math.PI) / 360) * (height / width))) / Math.PI : 35;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** Show the state at a place between two frames. */
  show(store: Store, place: Place, view: View, row: Row | null, token: number | null): void {
    const { before, after, part } = place;
    this.again = () => void (store.frames[before] && this.trail(store, before, view));
    const a = store.frames[before]!;
    const b = store.frames[after]!;
    const key = `${view.colour}|${view.trails}|${view.centers}|${store.began!.run}|${store.began!.projection.how}|${token}`;
    const moved = before !== this.shown.before || after !== this.shown.after || key !== this.shown.key;
    if (moved) {
      this.shown = { before, after, key };
      this.scale = this.onSphere ? 1 : 1 / store.reach(before);
      this.tokens.place(a.positions, b.positions);
      this.tokens.dress(this.colours(store, before, view), a.labels, this.counts(a.labels));
      this.trail(store, before, view);
    }
    this.tokens.look = {
      part,
      size: this.dot(),
      scale: this.scale,
      onSphere: this.onSphere,
      flat: this.flat,
      edge: this.paper,
    };
    this.mark(store, token);
    this.ray(row && row.frame === before && row.token === token ? row : null);
    const was = this.hull.group.visible;
    this.hull.group.visible = view.hull && this.count <= MOST_HULL;
    if (this.hull.group.visible) this.hull.around(this.between(store, place), this.flat);
    if (was || this.hull.group.visible) this.dirty = true;
    this.moved = true;
  }

  /** A token in pixels: smaller where there are many. */
  private dot(): number {
    const base = this.side / 80;
    return Math.max(2, Math.min(7, base * (200 / Math.max(this.count, 100)) ** 0.35));
  }

  private between(store: Store, place: Place): Float32Array {
    const [a, b] = [store.frames[place.before]!.positions, store.frames[place.after]!.positions];
    const axes = store.axes;
    const out = new Float32Array(3 * this.count);
    for (let i = 0; i < this.count; i++) {
      for (let c = 0; c < axes; c++)
        out[3 * i + c] = (a[axes * i + c] + place.part * (b[axes * i + c] - a[axes * i + c])) * this.scale;
    }
    return out;
  }

  private colours(store: Store, index: number, view: View): (i: number) => Rgb {
    const frame = store.frames[index]!;
    if (view.colour === "index") return (i) => scaleColour(i / Math.max(1, this.count - 1));
    if (view.colour === "speed") {
      const speed = this.speeds(store, index);
      return (i) => scaleColour(speed[i]);
    }
    const first = new Int32Array(this.count).fill(-1); // of a cluster: its first token
    const { labels } = frame;
    for (let i = 0; i < this.count; i++) if (first[labels[i]] < 0) first[labels[i]] = i;
    return (i) => clusterColour(first[labels[i]]);
  }

  private counts(labels: Uint16Array): Uint32Array {
    if (this.together.length < this.count) this.together = new Uint32Array(this.count);
    this.together.fill(0);
    for (let i = 0; i < this.count; i++) this.together[labels[i]]++;
    return this.together;
  }

  /** log10 of the mean speed to the next frame, from 1e-6 to 1, as 0 to 1. */
  private speeds(store: Store, index: number): Float32Array {
    const next = store.beside(index, 1);
    const [k, l] = next === index ? [store.beside(index, -1), index] : [index, next];
    const [a, b] = [store.frames[k]!, store.frames[l]!];
    const axes = store.axes;
    const out = new Float32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      let square = 0;
      for (let c = 0; c < axes; c++) square += (a.positions[axes * i + c] - b.positions[axes * i + c]) ** 2;
      out[i] = 1 + Math.log10(Math.max(1e-12, Math.sqrt(square) / Math.max(b.time - a.time, 1e-300))) / 6;
    }
    return out;
  }

  private trail(store: Store, index: number, view: View): void {
    const last = store.place(index);
    const first = Math.max(0, last - view.trails);
    const most = Math.round(MOST_TRAILS * this.quality.now.trails);
    const step = Math.max(1, Math.ceil(this.count / Math.max(1, most)));
    const steps = most ? last - first : 0;
    const lines = this.trails.begin(2 * steps * Math.ceil(this.count / step));
    const colour = this.colours(store, index, view);
    const [axes, scale] = [store.axes, this.scale];
    for (let k = 1; k <= steps; k++) {
      const from = store.frames[store.there[first + k - 1]]!.positions;
      const to = store.frames[store.there[first + k]]!.positions;
      const [faint, full] = [0.5 * ((k - 1) / steps) ** 1.5, 0.5 * (k / steps) ** 1.5];
      for (let i = 0; i < this.count; i += step) {
        const [r, g, b] = colour(i);
        const at = axes * i;
        lines.end(from[at] * scale, from[at + 1] * scale, axes > 2 ? from[at + 2] * scale : 0, r, g, b, faint);
        lines.end(to[at] * scale, to[at + 1] * scale, axes > 2 ? to[at + 2] * scale : 0, r, g, b, full);
      }
    }
    if (lines.show()) this.dirty = true;
  }

  private mark(store: Store, token: number | null): void {
    const frozen = store.began!.frozen;
    const picked = token !== null && token < this.count ? this.tokens.at(token, new THREE.Vector3()) : null;
    const lines = this.marks.begin(64 * (frozen.length + Number(picked !== null)));
    const [red, green, blue] = this.ink.toArray().map((c) => 255 * c);
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    const ring = (x: number, y: number, z: number, radius: number): void => {
      for (let k = 0; k < 32; k++) {
        for (const a of [k, k + 1]) {
          const [u, v] = [radius * Math.cos((a * Math.PI) / 16), radius * Math.sin((a * Math.PI) / 16)];
          lines.end(
            x + u * right.x + v * up.x,
            y + u * right.y + v * up.y,
            z + u * right.z + v * up.z,
            red,
            green,
            blue,
            1,
          );
        }
      }
    };
    for (const p of frozen) ring(p[0] * this.scale, p[1] * this.scale, (p[2] ?? 0) * this.scale, 0.05);
    if (picked) ring(picked.x, picked.y, picked.z, 0.035 * (this.camera.position.length() / DISTANCE));
    if (lines.show()) this.dirty = true;
  }

  private ray(row: Row | null): void {
    const lines = this.rays.begin(2 * (row?.strongest.length ?? 0));
    const [red, green, blue] = this.ink.toArray().map((c) => 255 * c);
    const p = new THREE.Vector3();
    for (const [j, weight] of row?.strongest ?? []) {
      if (j >= this.count || j === row!.token || weight < 1e-3) continue;
      for (const i of [row!.token, j]) {
        this.tokens.at(i, p);
        lines.end(p.x, p.y, p.z, red, green, blue, 0.15 + 0.85 * weight);
      }
    }
    if (lines.show()) this.dirty = true;
  }

  /** A click that is no drag picks the nearest token. */
  private picking(): void {
    let down: [number, number] = [0, 0];
    this.canvas.addEventListener("pointerdown", (event) => {
      down = [event.clientX, event.clientY];
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const box = this.canvas.getBoundingClientRect();
      this.onpick(this.nearest(event.clientX - box.left, event.clientY - box.top, box.width, box.height));
    });
  }

  private nearest(x: number, y: number, width: number, height: number): number | null {
    let best: number | null = null;
    let least = 16;
    const p = new THREE.Vector3();
    for (let i = 0; i < this.count; i++) {
      this.tokens.at(i, p);
      const away = this.onSphere && !this.flat && p.dot(this.camera.position) < 0 ? 8 : 0; // the near side first
      p.project(this.camera);
      const gap = Math.hypot(((p.x + 1) / 2) * width - x, ((1 - p.y) / 2) * height - y) + away;
      if (gap < least) [best, least] = [i, gap];
    }
    return best;
  }

  /** Whether what is seen is as fine as it will be. */
  get fine(): boolean {
    return !this.dirty && !this.moved && this.quality.resting;
  }

  /** A turn of the screen at a time in ms: draw if anything changed, in the quality that there is time for. */
  refresh(now: number): void {
    if (this.quality.turn(now, this.dirty || this.moved)) {
      this.resize();
      this.again();
    }
    this.render();
  }

  /** Draw what changed. */
  render(): void {
    if (!this.dirty && !this.moved) return;
    this.drawing.draw(this.camera, this.canvas, this.renderer.getPixelRatio());
    if (this.dirty || this.drawing.object) this.renderer.render(this.scene, this.camera);
    this.dirty = this.moved = false;
    this.drawn++;
  }

  /** The picture as PNG, the finest one. */
  png(): Promise<Blob | null> {
    this.quality.resting = true;
    this.resize();
    this.again();
    this.render();
    const all = document.createElement("canvas");
    [all.width, all.height] = [this.canvas.width, this.canvas.height];
    for (const layer of [this.canvas, this.drawing.canvas]) if (layer) all.getContext("2d")!.drawImage(layer, 0, 0);
    return new Promise((resolve) => all.toBlob(resolve, "image/png"));
  }

  dispose(): void {
    this.controls.dispose();
    this.drawing.dispose();
    for (const lines of [this.trails, this.rays, this.marks]) lines.dispose();
    this.hull.dispose();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }
}

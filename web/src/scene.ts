// The view in the middle: circle, sphere or open space, tokens, trails, hull, centers, whom a token attends to.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Hull } from "./hull";
import { clusterColour, scaleColour, type Rgb } from "./palette";
import type { Row, View } from "./state";
import type { Place, Store } from "./store";
import { Tokens } from "./tokens";
import { arrows, circle, globe, segments } from "./stage";

const MOST_TRAILS = 300; // tokens that leave one
const MOST_HULL = 4000;
const DISTANCE = 3.4;

export class Scene {
  readonly canvas: HTMLCanvasElement;
  dirty = true;
  drawn = 0; // pictures so far
  onpick: (token: number | null) => void = () => {};
  oncamera: () => void = () => {};
  private renderer: THREE.WebGLRenderer;
  private scene = new THREE.Scene();
  private camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
  private controls: OrbitControls;
  private tokens = new Tokens();
  private hull = new Hull();
  private trails = segments();
  private rays = segments();
  private stageGroup = new THREE.Group();
  private marks = segments(); // rings around frozen tokens and around the one that is picked
  private ink = new THREE.Color();
  private paper = new THREE.Color();
  private faint = new THREE.Color();
  private flat = true;
  private onSphere = true;
  private scale = 1;
  private shown: { before: number; after: number; key: string } = { before: -1, after: -1, key: "" };
  private count = 0;

  constructor(private host: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true });
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = false;
    this.controls.enablePan = true;
    this.controls.minDistance = 0.05;
    this.controls.maxDistance = 20;
    this.controls.addEventListener("change", () => {
      this.dirty = true;
    });
    this.controls.addEventListener("end", () => this.oncamera());
    this.scene.add(this.stageGroup, this.hull.group, this.trails, this.rays, this.marks, this.tokens.mesh);
    this.tokens.mesh.renderOrder = 3;
    this.picking();
  }

  /** Look from where a new run is best seen. */
  begin(store: Store, view: View, fresh: boolean): void {
    const began = store.began!;
    const axes = Math.min(3, Math.max(2, began.dim));
    this.flat = began.dim <= 2;
    this.onSphere = began.space === "sphere" && began.dim <= 3;
    this.count = began.n_tokens;
    this.tokens.resize(this.count);
    const shape = new Float32Array(this.count);
    if (view.centers) {
      for (const i of began.centers) shape[i] = 1;
      for (const i of began.strong) shape[i] = 2;
      if (this.count) shape[0] = 3;
    }
    this.tokens.shapes(shape);
    this.controls.enableRotate = !this.flat;
    if (fresh) this.look(view.eye, view.zoom, axes);
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
      for (const v of [this.camera.position, this.controls.target]) v.add(new THREE.Vector3(across * step, up * step, 0));
    } else {
      const s = new THREE.Spherical().setFromVector3(offset);
      s.theta += 0.1 * across;
      s.phi = Math.min(Math.PI - 0.05, Math.max(0.05, s.phi - 0.1 * up));
      offset.setFromSpherical(s);
    }
    offset.multiplyScalar(Math.pow(1.15, -closer));
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
    const parts = this.onSphere ? (this.flat ? circle(this.faint) : globe(this.faint, this.paper)) : arrows(this.faint, this.flat);
    this.stageGroup.add(...parts);
    this.hull.colour(this.ink);
    this.dirty = true;
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // A narrow window must not cut the circle off at its sides.
    this.camera.fov = width < height ? (2 * 180 * Math.atan(Math.tan((35 * Math.PI) / 360) * (height / width))) / Math.PI : 35;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** Show the state at a place between two frames. */
  show(store: Store, place: Place, view: View, row: Row | null, token: number | null): void {
    const { before, after, part } = place;
    const a = store.frames[before]!;
    const b = store.frames[after]!;
    const axes = store.axes;
    const key = `${view.colour}|${view.trails}|${view.centers}|${store.began!.run}|${store.began!.projection.how}|${token}`;
    const moved = before !== this.shown.before || after !== this.shown.after || key !== this.shown.key;
    if (moved) {
      this.shown = { before, after, key };
      this.scale = this.onSphere ? 1 : 1 / this.reach(store, before);
      this.tokens.place(a.positions, b.positions, axes, this.scale);
      this.tokens.colour(this.colours(store, before, view));
      const counts = new Map<number, number>();
      for (const label of a.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
      this.tokens.swell((i) => counts.get(a.labels[i])!);
      this.trail(store, before, view);
    }
    this.tokens.set(part, this.dot(), this.onSphere, this.flat, this.host.clientWidth || 1, this.host.clientHeight || 1, this.paper);
    this.mark(store, place, token);
    this.ray(store, place, row && row.frame === before && row.token === token ? row : null);
    this.hull.group.visible = view.hull && this.count <= MOST_HULL;
    if (this.hull.group.visible) this.hull.around(this.between(store, place), this.flat);
    this.dirty = true;
  }

  /** A token in pixels: smaller where there are many. */
  private dot(): number {
    const base = Math.min(this.host.clientWidth, this.host.clientHeight) / 80;
    return Math.max(2, Math.min(7, base * Math.pow(200 / Math.max(this.count, 100), 0.35)));
  }

  /** How far tokens reach: at least as far as at the start, so that a hull is seen to shrink. */
  private reach(store: Store, index: number): number {
    const size = (k: number): number => {
      let most = 1e-24;
      const p = store.frames[k]!.positions;
      for (let i = 0; i < p.length; i += store.axes) {
        let square = 0;
        for (let c = 0; c < store.axes; c++) square += p[i + c] * p[i + c];
        if (square > most) most = square;
      }
      return Math.sqrt(most);
    };
    return Math.max(size(store.there[0]), size(index));
  }

  private between(store: Store, place: Place): Float32Array {
    const [a, b] = [store.frames[place.before]!.positions, store.frames[place.after]!.positions];
    const axes = store.axes;
    const out = new Float32Array(3 * this.count);
    for (let i = 0; i < this.count; i++) {
      for (let c = 0; c < axes; c++) out[3 * i + c] = (a[axes * i + c] + place.part * (b[axes * i + c] - a[axes * i + c])) * this.scale;
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
    const first = new Map<number, number>();
    frame.labels.forEach((label, i) => first.has(label) || first.set(label, i));
    return (i) => clusterColour(first.get(frame.labels[i])!);
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
    const from = store.beside(index, -view.trails);
    const numbers = view.trails ? store.there.filter((k) => k >= from && k <= index) : [];
    const step = Math.max(1, Math.ceil(this.count / MOST_TRAILS));
    const points: number[] = [];
    const tints: number[] = [];
    const colour = this.colours(store, index, view);
    const axes = store.axes;
    for (let i = 0; i < this.count && numbers.length > 1; i += step) {
      const c = colour(i);
      for (let k = 1; k < numbers.length; k++) {
        const [a, b] = [store.frames[numbers[k - 1]]!.positions, store.frames[numbers[k]]!.positions];
        for (const [p, age] of [[a, k - 1], [b, k]] as const) {
          points.push(p[axes * i] * this.scale, p[axes * i + 1] * this.scale, axes > 2 ? p[axes * i + 2] * this.scale : 0);
          tints.push(c[0] / 255, c[1] / 255, c[2] / 255, 0.5 * (age / (numbers.length - 1)) ** 1.5);
        }
      }
    }
    fillSegments(this.trails, points, tints);
  }

  private mark(store: Store, place: Place, token: number | null): void {
    const points: number[] = [];
    const tints: number[] = [];
    const ring = (x: number, y: number, z: number, r: number, c: THREE.Color): void => {
      const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
      const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
      for (let k = 0; k < 32; k++) {
        for (const a of [k, k + 1]) {
          const [u, v] = [r * Math.cos((a * Math.PI) / 16), r * Math.sin((a * Math.PI) / 16)];
          points.push(x + u * right.x + v * up.x, y + u * right.y + v * up.y, z + u * right.z + v * up.z);
          tints.push(c.r, c.g, c.b, 1);
        }
      }
    };
    for (const p of store.began!.frozen) ring(p[0] * this.scale, p[1] * this.scale, (p[2] ?? 0) * this.scale, 0.05, this.ink);
    if (token !== null && token < this.count) {
      const at = this.between(store, place);
      ring(at[3 * token], at[3 * token + 1], at[3 * token + 2], 0.035 * (this.camera.position.length() / DISTANCE), this.ink);
    }
    fillSegments(this.marks, points, tints);
  }

  private ray(store: Store, place: Place, row: Row | null): void {
    const points: number[] = [];
    const tints: number[] = [];
    if (row) {
      const at = this.between(store, place);
      for (const [j, weight] of row.strongest) {
        if (j >= this.count || j === row.token || weight < 1e-3) continue;
        for (const i of [row.token, j]) {
          points.push(at[3 * i], at[3 * i + 1], at[3 * i + 2]);
          tints.push(this.ink.r, this.ink.g, this.ink.b, 0.15 + 0.85 * weight);
        }
      }
    }
    fillSegments(this.rays, points, tints);
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
    const here = this.tokens.mesh.geometry.getAttribute("here");
    if (!here) return null;
    let best: number | null = null;
    let least = 16;
    const p = new THREE.Vector3();
    for (let i = 0; i < this.count; i++) {
      p.set(here.getX(i), here.getY(i), here.getZ(i));
      const away = this.onSphere && !this.flat && p.dot(this.camera.position) < 0 ? 8 : 0; // the near side first
      p.project(this.camera);
      const gap = Math.hypot(((p.x + 1) / 2) * width - x, ((1 - p.y) / 2) * height - y) + away;
      if (gap < least) [best, least] = [i, gap];
    }
    return best;
  }

  /** Draw if anything changed. */
  render(): void {
    if (!this.dirty) return;
    this.dirty = false;
    this.renderer.render(this.scene, this.camera);
    this.drawn++;
  }

  /** The picture as PNG. */
  png(): Promise<Blob | null> {
    this.dirty = true;
    this.render();
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }

  dispose(): void {
    this.controls.dispose();
    this.tokens.dispose();
    this.hull.dispose();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }
}

function fillSegments(object: THREE.LineSegments, points: number[], tints: number[]): void {
  object.visible = points.length > 0;
  if (!object.visible) return;
  object.geometry.dispose();
  object.geometry = new THREE.BufferGeometry();
  object.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
  object.geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(tints), 4));
}

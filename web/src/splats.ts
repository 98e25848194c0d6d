// Tokens without a graphics card: the browser takes 2 µs for every point then, more than for all the rest. The same picture is
// made here, the shaders of points.ts in plain numbers, on a canvas of its own above the view, which then stands still.

import * as THREE from "three";
import type { Drawing, Tokens } from "./tokens";

export class Splats implements Drawing {
  readonly object = null;
  readonly canvas = document.createElement("canvas");
  private context = this.canvas.getContext("2d", { willReadFrequently: true })!; // kept where the processor writes
  private image = new ImageData(1, 1);
  private words = new Uint32Array(1); // the same, a pixel at a time
  private depth = new Float32Array(1);
  private matrix = new THREE.Matrix4();

  constructor(private tokens: Tokens) {
    this.canvas.className = "above";
  }

  draw(camera: THREE.PerspectiveCamera, canvas: HTMLCanvasElement, ratio: number): void {
    const { count, axes, here, next, tint, shape, look } = this.tokens;
    if (!look) return;
    this.clear(canvas.width, canvas.height);
    camera.updateMatrixWorld();
    const m = this.matrix.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).elements;
    const eye = camera.position;
    const { part, scale, onSphere, size } = look;
    const edge = look.edge.toArray().map((c) => 255 * c);
    const fade = onSphere && !look.flat;
    for (let i = 0, at = 0; i < count; i++, at += axes) {
      let x = (here[at] + part * (next[at] - here[at])) * scale;
      let y = (here[at + 1] + part * (next[at + 1] - here[at + 1])) * scale;
      let z = axes > 2 ? (here[at + 2] + part * (next[at + 2] - here[at + 2])) * scale : 0;
      if (onSphere) {
        const length = Math.max(1e-6, Math.sqrt(x * x + y * y + z * z));
        x /= length;
        y /= length;
        z /= length;
      }
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      const kind = shape[i];
      const depth = Math.fround((m[2] * x + m[6] * y + m[10] * z + m[14]) / w - 0.0004 * kind); // as it will be kept
      if (w <= 0 || depth > 1 || depth < -1) continue;
      let shade = 1;
      if (fade) {
        const ex = eye.x - x;
        const ey = eye.y - y;
        const ez = eye.z - z;
        shade = smooth(-0.25, 0.2, (x * ex + y * ey + z * ez) / Math.sqrt(ex * ex + ey * ey + ez * ez));
      }
      const pixels = size * (1 + tint[4 * i + 3] / 255) * (kind > 2.5 ? 2.3 : kind > 0.5 ? 1.9 : 1);
      const rim = pixels > 3.6 ? (kind > 0.5 ? 0.66 : 0.8) : 2;
      const across = (m[0] * x + m[4] * y + m[8] * z + m[12]) / w;
      const up = (m[1] * x + m[5] * y + m[9] * z + m[13]) / w;
      this.paint(i, kind, across, up, depth, (pixels * ratio) / 2, 0.35 + 0.65 * shade, rim, edge);
    }
    this.context.putImageData(this.image, 0, 0);
  }

  /** Paint a token at a place of -1 to 1: so many pixels to its edge, so opaque, the colour of the edge from a rim on. */
  private paint(
    i: number,
    kind: number,
    across: number,
    up: number,
    deep: number,
    half: number,
    opaque: number,
    rim: number,
    edge: number[],
  ): void {
    const { depth, words } = this;
    const { width, height } = this.image;
    const { tint } = this.tokens;
    const [r, g, b] = [tint[4 * i], tint[4 * i + 1], tint[4 * i + 2]];
    const plain = word(r, g, b, opaque);
    const inner = Math.min(0.93, rim) ** 2; // up to there a token has its own colour
    const x = (1 + across) * 0.5 * width - 0.5;
    const y = (1 - up) * 0.5 * height - 0.5;
    const left = Math.max(0, Math.ceil(x - half));
    const right = Math.min(width - 1, Math.floor(x + half));
    const low = Math.min(height - 1, Math.floor(y + half));
    for (let row = Math.max(0, Math.ceil(y - half)); row <= low; row++) {
      const v = (y - row) / half;
      for (let column = left, k = row * width + left; column <= right; column++, k++) {
        const u = (column - x) / half;
        const square = kind < 0.5 ? u * u + v * v : radius(kind, u, v) ** 2;
        if (square > 1 || deep > depth[k]) continue;
        depth[k] = deep;
        if (square <= inner && (opaque === 1 || !words[k])) {
          words[k] = plain;
          continue;
        }
        const out = Math.sqrt(square);
        const alpha = opaque * (1 - smooth(0.93, 1, out));
        const mix = smooth(rim, rim + 0.12, out);
        words[k] = over(words[k], r + mix * (edge[0] - r), g + mix * (edge[1] - g), b + mix * (edge[2] - b), alpha);
      }
    }
  }

  /** An empty image of so many pixels. */
  private clear(width: number, height: number): void {
    if (width === this.image.width && height === this.image.height) {
      this.words.fill(0);
      this.depth.fill(1);
      return;
    }
    [this.canvas.width, this.canvas.height] = [width, height];
    this.image = new ImageData(width, height);
    this.words = new Uint32Array(this.image.data.buffer);
    this.depth = new Float32Array(width * height).fill(1);
  }

  dispose(): void {
    this.canvas.remove();
  }
}

/** How far out a place in the square of a token is: 1 is the edge of its shape. */
function radius(kind: number, u: number, v: number): number {
  if (kind > 2.5) {
    const turn = 1.2566371;
    const a = Math.atan2(v, u) + 1.5707963;
    const w = Math.abs(a - turn * Math.floor(a / turn) - 0.6283185) / 0.6283185;
    return Math.sqrt(u * u + v * v) / (0.48 + 0.5 * w);
  }
  return kind > 1.5 ? Math.max(Math.abs(u), Math.abs(v)) / 0.82 : Math.abs(u) + Math.abs(v);
}

/** From 0 to 1 between two numbers, as the shaders' smoothstep. */
function smooth(low: number, high: number, x: number): number {
  const t = x <= low ? 0 : x >= high ? 1 : (x - low) / (high - low);
  return t * t * (3 - 2 * t);
}

/** A pixel of a canvas: its colours are not multiplied with its alpha of 0 to 1. */
function word(red: number, green: number, blue: number, alpha: number): number {
  return ((255 * alpha + 0.5) << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5);
}

/** The pixel of a colour over another pixel. */
function over(below: number, red: number, green: number, blue: number, alpha: number): number {
  if (!below) return word(red, green, blue, alpha);
  const under = (1 - alpha) * ((below >>> 24) / 255);
  const share = alpha / (alpha + under);
  const [r, g, b] = [below & 255, (below >> 8) & 255, (below >> 16) & 255];
  return word(r + share * (red - r), g + share * (green - g), b + share * (blue - b), alpha + under);
}

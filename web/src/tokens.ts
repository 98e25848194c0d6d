// Tokens between two frames: where they are, what they look like. How they are drawn: points.ts with a graphics card,
// splats.ts without one.

import type * as THREE from "three";
import type { Rgb } from "./palette";

const LARGEST = 2; // times its usual size is a token among many

export interface Look {
  part: number; // how far between the two frames
  size: number; // of a token, in pixels of the page
  scale: number; // from the coordinates of a frame to those of the view
  onSphere: boolean;
  flat: boolean;
  edge: THREE.Color;
}

/** A way to draw them, for a camera on a canvas; ratio: pixels of that for one of the page. */
export interface Drawing {
  readonly object: THREE.Object3D | null; // part of the scene, or
  readonly canvas: HTMLCanvasElement | null; // apart from it, above
  draw(camera: THREE.PerspectiveCamera, canvas: HTMLCanvasElement, ratio: number): void;
  dispose(): void;
}

export class Tokens {
  count = 0;
  axes = 3; // coordinates of a token; what is missing to three is 0
  here = new Float32Array(0);
  next = new Float32Array(0);
  tint = new Uint8Array(0); // red, green, blue and how much larger a token is, 0 to 255
  // Shapes say what colours do not have to: 0 disc, 1 diamond (Renyi center), 2 square (strong one), 3 star (first token).
  shape = new Float32Array(0);
  look: Look | null = null;
  readonly changed = new Set<"count" | "position" | "next" | "tint" | "shape">(); // since the last picture

  /** Make room for so many tokens. */
  resize(count: number, axes: number): void {
    if (count === this.count && axes === this.axes) return;
    [this.count, this.axes] = [count, axes];
    this.here = new Float32Array(count * axes);
    this.next = new Float32Array(count * axes);
    this.tint = new Uint8Array(count * 4);
    this.shape = new Float32Array(count);
    this.changed.add("count");
  }

  /** Positions of two frames. */
  place(here: Float32Array, next: Float32Array): void {
    this.here.set(here);
    this.next.set(next);
    this.changed.add("position").add("next");
  }

  /** A colour for every token, and how many are together with it: the place of a hundred is seen better than that of one. */
  dress(colour: (i: number) => Rgb, labels: Uint16Array, together: Uint32Array): void {
    const to = this.tint;
    const grown = Uint8Array.from(together, (n) => (n < 2 ? 0 : Math.round(255 * (Math.min(LARGEST, n ** 0.15) - 1))));
    for (let i = 0, at = 0; i < this.count; i++, at += 4) {
      const c = colour(i);
      to[at] = c[0];
      to[at + 1] = c[1];
      to[at + 2] = c[2];
      to[at + 3] = grown[labels[i]];
    }
    this.changed.add("tint");
  }

  shapes(shape: Float32Array): void {
    this.shape.set(shape);
    this.changed.add("shape");
  }

  /** Where a token is seen now. */
  at(i: number, to: THREE.Vector3): THREE.Vector3 {
    if (!this.look) return to.set(0, 0, 0);
    const { part, scale, onSphere } = this.look;
    const { axes, here, next } = this;
    const c = (k: number): number =>
      k < axes ? (here[axes * i + k] + part * (next[axes * i + k] - here[axes * i + k])) * scale : 0;
    to.set(c(0), c(1), c(2));
    return onSphere ? to.divideScalar(Math.max(1e-6, to.length())) : to;
  }
}

// All tokens in one draw call: points between two frames, mixed on the graphics card. Points, not instanced squares: drivers
// that draw in software take 20 µs for every instance, and 1 µs for a point.

import * as THREE from "three";
import type { Rgb } from "./palette";

// Shapes say what colours do not have to: 0 disc, 1 diamond (Renyi center), 2 square (strong one), 3 star (first token).
// `position` holds two or three coordinates; what is missing is 0. The fourth part of `tint` is how much larger a token is.
const VERTEX = `
attribute vec3 next;
attribute vec4 tint;
attribute float shape;
uniform float part;
uniform float size;
uniform float scale;
uniform float onSphere;
uniform float fade;
uniform float ratio;
varying vec3 colour;
varying float kind;
varying float shade;
varying float rim;
void main() {
  vec3 p = mix(position, next, part) * scale;
  if (onSphere > 0.5) p = p / max(length(p), 1e-6);
  vec4 at = modelViewMatrix * vec4(p, 1.0);
  // Tokens on the far side of the sphere are seen through it: paler.
  float facing = dot(normalize(normalMatrix * p), normalize(-at.xyz));
  shade = fade > 0.5 ? smoothstep(-0.25, 0.2, facing) : 1.0;
  vec4 clip = projectionMatrix * at;
  float pixels = size * (1.0 + tint.w) * (shape > 2.5 ? 2.3 : shape > 0.5 ? 1.9 : 1.0);
  clip.z -= shape * 0.0004 * clip.w;
  gl_Position = clip;
  gl_PointSize = pixels * ratio;
  colour = tint.rgb;
  kind = shape;
  rim = pixels > 3.6 ? (shape > 0.5 ? 0.66 : 0.8) : 2.0; // a thin rim would eat up small dots
}`;

const FRAGMENT = `
uniform vec3 edge;
varying vec3 colour;
varying float kind;
varying float shade;
varying float rim;
void main() {
  vec2 place = vec2(2.0, -2.0) * (gl_PointCoord - 0.5);
  vec2 q = abs(place);
  float r;
  if (kind > 2.5) {
    float a = atan(place.y, place.x) + 1.5707963;
    float w = abs(mod(a, 1.2566371) - 0.6283185) / 0.6283185;
    r = length(place) / mix(0.48, 0.98, w);
  } else if (kind > 1.5) r = max(q.x, q.y) / 0.82;
  else if (kind > 0.5) r = (q.x + q.y);
  else r = length(place);
  if (r > 1.0) discard;
  vec3 c = mix(colour, edge, smoothstep(rim, rim + 0.12, r));
  float alpha = mix(0.35, 1.0, shade) * (1.0 - smoothstep(0.93, 1.0, r));
  gl_FragColor = vec4(c, alpha);
}`;

const LARGEST = 2; // times its usual size is a token among many

export interface Look {
  part: number; // how far between the two frames
  size: number; // of a token, in pixels of the page
  scale: number; // from the coordinates of a frame to those of the view
  onSphere: boolean;
  flat: boolean;
  edge: THREE.Color;
}

export class Tokens {
  readonly points: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private count = 0;
  private axes = 3;
  private look: Look | null = null;

  constructor() {
    const material = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: {
        part: { value: 0 },
        size: { value: 6 },
        scale: { value: 1 },
        onSphere: { value: 1 },
        fade: { value: 1 },
        ratio: { value: 1 },
        edge: { value: new THREE.Color(1, 1, 1) },
      },
      transparent: true,
      depthWrite: true,
    });
    this.points = new THREE.Points(new THREE.BufferGeometry(), material);
    this.points.frustumCulled = false;
  }

  private attribute(name: string): THREE.BufferAttribute {
    return this.points.geometry.getAttribute(name) as THREE.BufferAttribute;
  }

  /** Make room for so many tokens. */
  resize(count: number, axes: number): void {
    if (count === this.count && axes === this.axes) return;
    [this.count, this.axes] = [count, axes];
    this.points.geometry.dispose();
    const geometry = new THREE.BufferGeometry();
    geometry.boundingSphere = new THREE.Sphere(); // nothing is left out by it, and it need not be computed
    for (const [name, array, width] of [
      ["position", new Float32Array(count * axes), axes],
      ["next", new Float32Array(count * axes), axes],
      ["tint", new Uint8Array(count * 4), 4],
      ["shape", new Float32Array(count), 1],
    ] as const) {
      const attribute = new THREE.BufferAttribute(array, width, name === "tint");
      geometry.setAttribute(name, attribute.setUsage(THREE.DynamicDrawUsage));
    }
    this.points.geometry = geometry;
  }

  /** Positions of two frames. */
  place(here: Float32Array, next: Float32Array): void {
    for (const [name, from] of [["position", here], ["next", next]] as const) {
      const attribute = this.attribute(name);
      attribute.array.set(from);
      attribute.needsUpdate = true;
    }
  }

  /** A colour for every token, and how many are together with it: the place of a hundred is seen better than that of one. */
  dress(colour: (i: number) => Rgb, labels: Uint16Array, together: Uint32Array): void {
    const attribute = this.attribute("tint");
    const to = attribute.array as Uint8Array;
    const grown = Uint8Array.from(together, (n) => (n < 2 ? 0 : Math.round(255 * (Math.min(LARGEST, Math.pow(n, 0.15)) - 1))));
    for (let i = 0, at = 0; i < this.count; i++, at += 4) {
      const c = colour(i);
      to[at] = c[0];
      to[at + 1] = c[1];
      to[at + 2] = c[2];
      to[at + 3] = grown[labels[i]];
    }
    attribute.needsUpdate = true;
  }

  shapes(shape: Float32Array): void {
    const attribute = this.attribute("shape");
    attribute.array.set(shape);
    attribute.needsUpdate = true;
  }

  set(look: Look): void {
    this.look = look;
    const u = this.points.material.uniforms;
    u.part.value = look.part;
    u.size.value = look.size;
    u.scale.value = look.scale;
    u.onSphere.value = look.onSphere ? 1 : 0;
    u.fade.value = look.onSphere && !look.flat ? 1 : 0;
    u.edge.value.copy(look.edge);
  }

  /** Pixels of the canvas for one of the page. */
  set ratio(value: number) {
    this.points.material.uniforms.ratio.value = value;
  }

  /** Where a token is seen now. */
  at(i: number, to: THREE.Vector3): THREE.Vector3 {
    if (!this.look) return to.set(0, 0, 0);
    const { part, scale, onSphere } = this.look;
    const [a, b] = [this.attribute("position").array, this.attribute("next").array];
    const c = (k: number): number => (k < this.axes ? (a[this.axes * i + k] + part * (b[this.axes * i + k] - a[this.axes * i + k])) * scale : 0);
    to.set(c(0), c(1), c(2));
    return onSphere ? to.divideScalar(Math.max(1e-6, to.length())) : to;
  }

  dispose(): void {
    this.points.geometry.dispose();
    this.points.material.dispose();
  }
}

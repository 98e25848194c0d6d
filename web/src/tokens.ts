// All tokens in one instanced draw: billboards between two frames, mixed on the graphics card.

import * as THREE from "three";
import type { Rgb } from "./palette";

// Shapes say what colours do not have to: 0 disc, 1 diamond (Renyi center), 2 square (strong one), 3 star (first token).
const VERTEX = `
attribute vec3 here;
attribute vec3 next;
attribute vec3 tint;
attribute float shape;
attribute float swell;
uniform float part;
uniform float size;
uniform float onSphere;
uniform float fade;
uniform vec2 screen;
varying vec2 place;
varying vec3 colour;
varying float kind;
varying float shade;
varying float rim;
void main() {
  vec3 p = mix(here, next, part);
  if (onSphere > 0.5) p = p / max(length(p), 1e-6);
  vec4 at = modelViewMatrix * vec4(p, 1.0);
  // Tokens on the far side of the sphere are seen through it: paler.
  float facing = dot(normalize(normalMatrix * p), normalize(-at.xyz));
  shade = fade > 0.5 ? smoothstep(-0.25, 0.2, facing) : 1.0;
  vec4 clip = projectionMatrix * at;
  float pixels = size * swell * (shape > 2.5 ? 2.3 : shape > 0.5 ? 1.9 : 1.0);
  clip.xy += position.xy * pixels * clip.w / screen;
  clip.z -= shape * 0.0004 * clip.w;
  gl_Position = clip;
  place = position.xy;
  colour = tint;
  kind = shape;
  rim = pixels > 3.6 ? (shape > 0.5 ? 0.66 : 0.8) : 2.0; // a thin rim would eat up small dots
}`;

const FRAGMENT = `
uniform vec3 edge;
varying vec2 place;
varying vec3 colour;
varying float kind;
varying float shade;
varying float rim;
void main() {
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

export class Tokens {
  readonly mesh: THREE.Mesh;
  private geometry = new THREE.InstancedBufferGeometry();
  private material: THREE.ShaderMaterial;
  private count = 0;

  constructor() {
    this.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), 3));
    this.geometry.setIndex([0, 1, 2, 0, 2, 3]);
    this.material = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: {
        part: { value: 0 },
        size: { value: 6 },
        onSphere: { value: 1 },
        fade: { value: 1 },
        screen: { value: new THREE.Vector2(1, 1) },
        edge: { value: new THREE.Color(1, 1, 1) },
      },
      transparent: true,
      depthWrite: true,
    });
    this.mesh = new THREE.Mesh(this.geometry, this.material);
    this.mesh.frustumCulled = false;
  }

  private attribute(name: string): THREE.InstancedBufferAttribute {
    return this.geometry.getAttribute(name) as THREE.InstancedBufferAttribute;
  }

  /** Make room for so many tokens. */
  resize(count: number): void {
    if (count === this.count) return;
    this.count = count;
    for (const [name, width] of [["here", 3], ["next", 3], ["tint", 3], ["shape", 1], ["swell", 1]] as const) {
      const attribute = new THREE.InstancedBufferAttribute(new Float32Array(count * width), width);
      attribute.setUsage(THREE.DynamicDrawUsage);
      this.geometry.setAttribute(name, attribute);
    }
    this.geometry.instanceCount = count;
  }

  /** Positions of two frames, given with 2 or 3 coordinates each. */
  place(here: Float32Array, next: Float32Array, axes: number, scale: number): void {
    for (const [name, from] of [["here", here], ["next", next]] as const) {
      const attribute = this.attribute(name);
      const to = attribute.array as Float32Array;
      for (let i = 0; i < this.count; i++) {
        to[3 * i] = from[axes * i] * scale;
        to[3 * i + 1] = from[axes * i + 1] * scale;
        to[3 * i + 2] = axes > 2 ? from[axes * i + 2] * scale : 0;
      }
      attribute.needsUpdate = true;
    }
  }

  colour(colours: (i: number) => Rgb): void {
    const attribute = this.attribute("tint");
    const to = attribute.array as Float32Array;
    for (let i = 0; i < this.count; i++) {
      const c = colours(i);
      to[3 * i] = c[0] / 255;
      to[3 * i + 1] = c[1] / 255;
      to[3 * i + 2] = c[2] / 255;
    }
    attribute.needsUpdate = true;
  }

  /** Tokens that are together look larger: the place of a hundred is seen better than that of one. */
  swell(sizes: (i: number) => number): void {
    const attribute = this.attribute("swell");
    const to = attribute.array as Float32Array;
    for (let i = 0; i < this.count; i++) to[i] = Math.min(2, Math.pow(sizes(i), 0.15));
    attribute.needsUpdate = true;
  }

  shapes(shape: Float32Array): void {
    const attribute = this.attribute("shape");
    (attribute.array as Float32Array).set(shape);
    attribute.needsUpdate = true;
  }

  set(part: number, size: number, onSphere: boolean, flat: boolean, width: number, height: number, edge: THREE.Color): void {
    const u = this.material.uniforms;
    u.part.value = part;
    u.size.value = size;
    u.onSphere.value = onSphere ? 1 : 0;
    u.fade.value = onSphere && !flat ? 1 : 0;
    u.screen.value.set(width, height);
    u.edge.value.copy(edge);
  }

  dispose(): void {
    this.geometry.dispose();
    this.material.dispose();
  }
}

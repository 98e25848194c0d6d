// Tokens on a graphics card: all in one draw call, mixed between two frames by the card. Points, not instanced squares, which
// need six corners and a matrix each.

import * as THREE from "three";
import type { Drawing, Tokens } from "./tokens";

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

export class Points implements Drawing {
  readonly object: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  readonly canvas = null;

  constructor(private tokens: Tokens) {
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
    this.object = new THREE.Points(new THREE.BufferGeometry(), material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 3;
  }

  draw(_camera: THREE.PerspectiveCamera, _canvas: HTMLCanvasElement, ratio: number): void {
    const { look } = this.tokens;
    if (!look) return;
    this.send();
    const u = this.object.material.uniforms;
    u.part.value = look.part;
    u.size.value = look.size;
    u.scale.value = look.scale;
    u.onSphere.value = look.onSphere ? 1 : 0;
    u.fade.value = look.onSphere && !look.flat ? 1 : 0;
    u.ratio.value = ratio;
    u.edge.value.copy(look.edge);
  }

  /** What has changed goes to the card. */
  private send(): void {
    const { tokens } = this;
    const { changed } = tokens;
    if (changed.has("count")) {
      this.object.geometry.dispose();
      const geometry = new THREE.BufferGeometry();
      this.object.geometry = geometry;
      geometry.boundingSphere = new THREE.Sphere(); // nothing is left out by it, and it need not be computed
      for (const [name, array, width] of [
        ["position", tokens.here, tokens.axes],
        ["next", tokens.next, tokens.axes],
        ["tint", tokens.tint, 4],
        ["shape", tokens.shape, 1],
      ] as const) {
        const attribute = new THREE.BufferAttribute(array, width, name === "tint");
        geometry.setAttribute(name, attribute.setUsage(THREE.DynamicDrawUsage));
      }
    } else for (const name of changed) this.object.geometry.getAttribute(name).needsUpdate = true;
    changed.clear();
  }

  dispose(): void {
    this.object.geometry.dispose();
    this.object.material.dispose();
  }
}

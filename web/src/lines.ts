// Lines with a colour and a transparency at every end, in buffers that grow and are used again.

import * as THREE from "three";

export class Lines {
  readonly object: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private positions = new Float32Array(0);
  private tints = new Uint8Array(0);
  private used = 0; // ends

  constructor() {
    const material = new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });
    this.object = new THREE.LineSegments(new THREE.BufferGeometry(), material);
    this.object.frustumCulled = false;
    this.object.visible = false;
    this.object.renderOrder = 2;
  }

  /** Begin anew, with room for so many ends. */
  begin(room: number): this {
    this.used = 0;
    if (3 * room > this.positions.length) {
      this.positions = new Float32Array(3 * room);
      this.tints = new Uint8Array(4 * room);
      this.object.geometry.dispose();
      const geometry = new THREE.BufferGeometry();
      this.object.geometry = geometry;
      geometry.boundingSphere = new THREE.Sphere(); // nothing is left out by it, and it need not be computed
      geometry.setAttribute("position", new THREE.BufferAttribute(this.positions, 3).setUsage(THREE.DynamicDrawUsage));
      geometry.setAttribute("color", new THREE.BufferAttribute(this.tints, 4, true).setUsage(THREE.DynamicDrawUsage));
    }
    return this;
  }

  /** One end: a place, a colour of 0 to 255 and a transparency of 0 to 1. */
  end(x: number, y: number, z: number, r: number, g: number, b: number, alpha: number): void {
    const [p, t] = [3 * this.used, 4 * this.used];
    this.positions[p] = x;
    this.positions[p + 1] = y;
    this.positions[p + 2] = z;
    this.tints[t] = r;
    this.tints[t + 1] = g;
    this.tints[t + 2] = b;
    this.tints[t + 3] = 255 * alpha;
    this.used++;
  }

  /** Show what was given since the beginning. Whether there is, or was, anything. */
  show(): boolean {
    const was = this.object.visible;
    this.object.visible = this.used > 0;
    if (!this.used) return was;
    const { geometry } = this.object;
    geometry.setDrawRange(0, this.used);
    for (const name of ["position", "color"]) {
      const attribute = geometry.getAttribute(name) as THREE.BufferAttribute;
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(0, this.used * attribute.itemSize);
      attribute.needsUpdate = true;
    }
    return true;
  }

  dispose(): void {
    this.object.geometry.dispose();
    this.object.material.dispose();
  }
}

// The polytope: the convex hull of the tokens, drawn as a pale solid with its edges.

import * as THREE from "three";
import { ConvexHull } from "three/examples/jsm/math/ConvexHull.js";

/** The corners of a convex polygon around points of the plane, counter-clockwise. */
export function polygon(points: [number, number][]): [number, number][] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list: [number, number][]): [number, number][] => {
    const out: [number, number][] = [];
    for (const p of list) {
      while (out.length > 1) {
        const [a, b] = [out[out.length - 2], out[out.length - 1]];
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
        out.pop();
      }
      out.push(p);
    }
    out.pop();
    return out;
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

export class Hull {
  readonly group = new THREE.Group();
  private face = new THREE.Mesh(
    new THREE.BufferGeometry(),
    new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.1, side: THREE.DoubleSide, depthWrite: false }),
  );
  private edges = new THREE.LineSegments(
    new THREE.BufferGeometry(),
    new THREE.LineBasicMaterial({ transparent: true, opacity: 0.6 }),
  );

  constructor() {
    this.group.add(this.face, this.edges);
  }

  colour(colour: THREE.Color): void {
    this.face.material.color.copy(colour);
    this.edges.material.color.copy(colour);
  }

  /** Around these points, 3 coordinates each; flat: all in the plane. */
  around(points: Float32Array, flat: boolean): void {
    const [faces, lines] = flat ? this.plane(points) : this.solid(points);
    for (const [object, data] of [
      [this.face, faces],
      [this.edges, lines],
    ] as const) {
      object.geometry.dispose();
      object.geometry = new THREE.BufferGeometry();
      object.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(data), 3));
    }
  }

  private plane(points: Float32Array): [number[], number[]] {
    const list: [number, number][] = [];
    for (let i = 0; i < points.length; i += 3) list.push([points[i], points[i + 1]]);
    const corners = polygon(list);
    const faces: number[] = [];
    const lines: number[] = [];
    corners.forEach((corner, k) => {
      const next = corners[(k + 1) % corners.length];
      lines.push(...corner, -0.001, ...next, -0.001);
      if (k > 0) faces.push(...corners[0], -0.001, ...corner, -0.001, ...next, -0.001);
    });
    return [faces, lines];
  }

  private solid(points: Float32Array): [number[], number[]] {
    const list: THREE.Vector3[] = [];
    for (let i = 0; i < points.length; i += 3) list.push(new THREE.Vector3(points[i], points[i + 1], points[i + 2]));
    const faces: number[] = [];
    const lines: number[] = [];
    if (list.length < 4) return [faces, lines];
    const hull = new ConvexHull().setFromPoints(list);
    for (const face of hull.faces) {
      const corners: THREE.Vector3[] = [];
      let edge = face.edge;
      do {
        corners.push(edge.head().point);
        // Between faces of one plane an edge is none.
        if (edge.twin && face.normal.dot(edge.twin.face.normal) < 0.9999) {
          const [a, b] = [edge.tail()!.point, edge.head().point];
          lines.push(a.x, a.y, a.z, b.x, b.y, b.z);
        }
        edge = edge.next;
      } while (edge !== face.edge);
      for (let k = 1; k + 1 < corners.length; k++) {
        for (const c of [corners[0], corners[k], corners[k + 1]]) faces.push(c.x, c.y, c.z);
      }
    }
    return [faces, lines];
  }

  dispose(): void {
    this.face.geometry.dispose();
    this.edges.geometry.dispose();
  }
}

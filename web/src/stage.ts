// What stands still in the view: the circle, the sphere with its lines, the axes of open space.

import * as THREE from "three";

/** Lines with a colour and a transparency at every end. */
export function segments(): THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> {
  const lines = new THREE.LineSegments(
    new THREE.BufferGeometry(),
    new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }),
  );
  lines.frustumCulled = false;
  lines.visible = false;
  lines.renderOrder = 2;
  return lines;
}

function loop(points: THREE.Vector3[], colour: THREE.Color, opacity: number): THREE.Object3D {
  const geometry = new THREE.BufferGeometry().setFromPoints(points);
  return new THREE.LineLoop(geometry, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity }));
}

function around(turn: (a: number) => THREE.Vector3): THREE.Vector3[] {
  return Array.from({ length: 128 }, (_, k) => turn((k * Math.PI) / 64));
}

export function circle(colour: THREE.Color): THREE.Object3D[] {
  return [loop(around((a) => new THREE.Vector3(Math.cos(a), Math.sin(a), 0)), colour, 1)];
}

export function globe(colour: THREE.Color, paper: THREE.Color): THREE.Object3D[] {
  const parts: THREE.Object3D[] = [];
  const ball = new THREE.Mesh(
    new THREE.SphereGeometry(0.995, 64, 48),
    new THREE.MeshBasicMaterial({ color: paper, transparent: true, opacity: 0.35, depthWrite: false }),
  );
  ball.renderOrder = 1;
  parts.push(ball);
  for (let k = -2; k <= 2; k++) {
    const [z, r] = [Math.sin((k * Math.PI) / 6), Math.cos((k * Math.PI) / 6)];
    parts.push(loop(around((a) => new THREE.Vector3(r * Math.cos(a), z, r * Math.sin(a))), colour, k ? 0.45 : 0.9));
  }
  for (let k = 0; k < 6; k++) {
    const [c, s] = [Math.cos((k * Math.PI) / 6), Math.sin((k * Math.PI) / 6)];
    parts.push(loop(around((a) => new THREE.Vector3(c * Math.cos(a), Math.sin(a), s * Math.cos(a))), colour, 0.45));
  }
  return parts;
}

export function arrows(colour: THREE.Color, flat: boolean): THREE.Object3D[] {
  const ends = [new THREE.Vector3(1, 0, 0), new THREE.Vector3(0, 1, 0), ...(flat ? [] : [new THREE.Vector3(0, 0, 1)])];
  return ends.map((end) => {
    const geometry = new THREE.BufferGeometry().setFromPoints([end.clone().negate(), end]);
    return new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: colour }));
  });
}

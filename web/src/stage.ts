// What stands still in the view: the circle, the sphere with its lines, the axes of open space.

import * as THREE from "three";

const FAINT = 64; // lines of a faint loop: drivers that draw in software take 2 µs for each

/** Loops of one colour and opacity, in one draw call. */
function loops(all: THREE.Vector3[][], colour: THREE.Color, opacity: number): THREE.Object3D {
  const ends = all.flatMap((points) => points.flatMap((p, k) => [p, points[(k + 1) % points.length]]));
  const geometry = new THREE.BufferGeometry().setFromPoints(ends);
  return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity }));
}

function around(turn: (a: number) => THREE.Vector3, lines = 128): THREE.Vector3[] {
  return Array.from({ length: lines }, (_, k) => turn((2 * Math.PI * k) / lines));
}

export function circle(colour: THREE.Color): THREE.Object3D[] {
  return [loops([around((a) => new THREE.Vector3(Math.cos(a), Math.sin(a), 0))], colour, 1)];
}

/** A ball that is not seen itself, but makes the lines behind it paler: the disc on which the eye sees its edge. What is on
 * the ball and before that disc is on the near side. */
function veil(radius: number, paper: THREE.Color): THREE.Object3D {
  const disc = new THREE.Mesh(
    new THREE.CircleGeometry(1, FAINT),
    new THREE.MeshBasicMaterial({ color: paper, transparent: true, opacity: 0.35, depthWrite: false }),
  );
  disc.frustumCulled = false;
  disc.renderOrder = 1;
  disc.onBeforeRender = (_renderer, _scene, camera) => {
    const away = camera.position.length();
    const near = radius / Math.max(away, radius);
    disc.position.copy(camera.position).setLength(radius * near);
    disc.scale.setScalar(radius * Math.sqrt(1 - near * near));
    disc.lookAt(camera.position);
    disc.updateMatrixWorld();
    disc.modelViewMatrix.multiplyMatrices(camera.matrixWorldInverse, disc.matrixWorld);
  };
  return disc;
}

export function globe(colour: THREE.Color, paper: THREE.Color): THREE.Object3D[] {
  const ball = veil(0.995, paper);
  const faint: THREE.Vector3[][] = [];
  for (const k of [-2, -1, 1, 2]) {
    const [z, r] = [Math.sin((k * Math.PI) / 6), Math.cos((k * Math.PI) / 6)];
    faint.push(around((a) => new THREE.Vector3(r * Math.cos(a), z, r * Math.sin(a)), FAINT));
  }
  for (let k = 0; k < 6; k++) {
    const [c, s] = [Math.cos((k * Math.PI) / 6), Math.sin((k * Math.PI) / 6)];
    faint.push(around((a) => new THREE.Vector3(c * Math.cos(a), Math.sin(a), s * Math.cos(a)), FAINT));
  }
  const equator = around((a) => new THREE.Vector3(Math.cos(a), 0, Math.sin(a)));
  return [ball, loops(faint, colour, 0.45), loops([equator], colour, 0.9)];
}

export function arrows(colour: THREE.Color, flat: boolean): THREE.Object3D[] {
  const ends = [new THREE.Vector3(1, 0, 0), new THREE.Vector3(0, 1, 0), ...(flat ? [] : [new THREE.Vector3(0, 0, 1)])];
  return ends.map((end) => {
    const geometry = new THREE.BufferGeometry().setFromPoints([end.clone().negate(), end]);
    return new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: colour }));
  });
}

// Reading what the server sends: the layout is described in src/tokenflock/explorer/frames.py.

const MAGIC = 0x4b4c4654; // "TFLK"
const VERSION = 1;
const HEADER = 32;
const STEPS = 32767;
const MEAN = 65535; // in the place of a head's number: the mean of all heads

export interface Frame {
  time: number;
  positions: Float32Array; // n times axes
  labels: Uint16Array;
  measures: Float64Array;
}

export interface FramePacket {
  kind: "frame";
  run: number;
  index: number;
  axes: number;
  frame: Frame;
}

export interface MatrixPacket {
  kind: "matrix";
  run: number;
  index: number; // of the frame
  size: number;
  head: number | "mean";
  weights: Float32Array;
}

export type Packet = FramePacket | MatrixPacket;

export function unpack(buffer: ArrayBuffer): Packet {
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("not a packet of the explorer");
  if (view.getUint16(4, true) !== VERSION) throw new Error("this page is older than its server: reload it");
  const kind = view.getUint16(6, true);
  const run = view.getUint32(8, true);
  const index = view.getUint32(12, true);
  const time = view.getFloat64(16, true);
  const n = view.getUint32(24, true);
  const axes = view.getUint16(28, true);
  const measured = view.getUint16(30, true);
  if (kind === 2)
    return {
      kind: "matrix",
      run,
      index,
      size: n,
      head: axes === MEAN ? "mean" : axes,
      weights: new Float32Array(buffer, HEADER, n * n),
    };
  let at = HEADER;
  const measures = new Float64Array(buffer, at, measured);
  at += 8 * measured;
  const positions = new Float32Array(buffer, at, n * axes);
  at += 4 * n * axes;
  return {
    kind: "frame",
    run,
    index,
    axes,
    frame: { time, positions, labels: new Uint16Array(buffer, at, n), measures },
  };
}

/** An attention matrix as the server would send it. */
export function packMatrix(
  run: number,
  index: number,
  head: number | "mean",
  size: number,
  weights: Float32Array,
): ArrayBuffer {
  const buffer = new ArrayBuffer(HEADER + weights.byteLength);
  const view = new DataView(buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, 2, true);
  view.setUint32(8, run, true);
  view.setUint32(12, index, true);
  view.setUint32(24, size, true);
  view.setUint16(28, head === "mean" ? MEAN : head, true);
  new Float32Array(buffer, HEADER).set(weights);
  return buffer;
}

export interface RecordingHead {
  frames: number;
  n: number;
  axes: number;
  measures: number;
  scales: number[];
}

async function inflate(data: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Undo the differences of one plane: high bytes of all, then low bytes. */
function undiffer(bytes: Uint8Array, at: number, frames: number, n: number): Uint16Array {
  const total = frames * n;
  const out = new Uint16Array(total);
  for (let k = 0; k < total; k++) {
    const folded = (bytes[at + k] << 8) | bytes[at + total + k];
    const step = (folded >>> 1) ^ -(folded & 1);
    out[k] = (k >= n ? out[k - n] : 0) + step;
  }
  return out;
}

/** All frames of a recorded run. */
export async function replay(data: Uint8Array<ArrayBuffer>, head: RecordingHead, times: number[]): Promise<Frame[]> {
  const body = await inflate(data);
  const bytes = new Uint8Array(body);
  const { frames, n, axes } = head;
  let at = 8 * frames * head.measures;
  const numbers = new Float64Array(body.slice(0, at));
  const planes: Uint16Array[] = [];
  for (let a = 0; a <= axes; a++) {
    planes.push(undiffer(bytes, at, frames, n));
    at += 2 * frames * n;
  }
  return Array.from({ length: frames }, (_, k) => {
    const positions = new Float32Array(n * axes);
    const size = head.scales[k] / STEPS;
    for (let a = 0; a < axes; a++) {
      const steps = new Int16Array(planes[a].buffer, 2 * k * n, n);
      for (let i = 0; i < n; i++) positions[i * axes + a] = steps[i] * size;
    }
    const labels = planes[axes].subarray(k * n, (k + 1) * n);
    return {
      time: times[k],
      positions,
      labels,
      measures: numbers.subarray(k * head.measures, (k + 1) * head.measures),
    };
  });
}

// Where frames come from: a server, a notebook, or a recording inside the page. The page asks all three the same way.

import { type Frame, packMatrix, type RecordingHead, replay } from "./packets";
import type { Spec, Table, View } from "./state";

export interface Listener {
  message(message: Table): void;
  packet(data: ArrayBuffer): void;
  state(word: "open" | "waiting" | "closed"): void;
}

export interface Source {
  live: boolean; // whether it can compute
  listen(listener: Listener): void;
  send(message: Table): void;
  close(): void;
}

const AGAIN_MS = [500, 1000, 2000, 4000];

/** A websocket that comes back when the server does. */
export class SocketSource implements Source {
  live = true;
  private socket: WebSocket | null = null;
  private listener: Listener | null = null;
  private tries = 0;
  private closed = false;

  constructor(private address: string) {}

  listen(listener: Listener): void {
    this.listener = listener;
    this.open();
  }

  private open(): void {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.tries = 0;
      this.listener?.state("open");
    };
    socket.onmessage = (event) => {
      if (typeof event.data === "string") this.listener?.message(JSON.parse(event.data));
      else this.listener?.packet(event.data);
    };
    socket.onclose = () => {
      if (this.closed) return;
      this.listener?.state("waiting");
      window.setTimeout(() => !this.closed && this.open(), AGAIN_MS[Math.min(this.tries++, AGAIN_MS.length - 1)]);
    };
  }

  send(message: Table): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
  }
}

/** The model of an anywidget, as far as it is used here. */
export interface WidgetModel {
  get(name: string): any;
  on(event: string, action: (...arguments_: any[]) => void): void;
  off(event: string, action?: (...arguments_: any[]) => void): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}

/** A session in the kernel of a notebook. */
export class WidgetSource implements Source {
  live = true;
  private action: ((content: any, buffers: DataView[]) => void) | null = null;

  constructor(private model: WidgetModel) {}

  listen(listener: Listener): void {
    this.action = (content, buffers) => {
      if (buffers?.length) {
        const view = buffers[0];
        listener.packet(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer);
      } else listener.message(content);
    };
    this.model.on("msg:custom", this.action);
    listener.state("open");
  }

  send(message: Table): void {
    this.model.send(message);
  }

  close(): void {
    if (this.action) this.model.off("msg:custom", this.action);
    this.model.send({ type: "close" });
  }
}

export interface Recording {
  began: Table;
  head: RecordingHead;
  data: Uint8Array<ArrayBuffer>;
  ended: string;
  statement?: Table | null;
}

/** A run inside the page itself. What needs an engine is refused in words. */
export class RecordedSource implements Source {
  live = false;
  private listener: Listener | null = null;
  private frames: Frame[] = [];
  onframes: ((frames: Frame[], axes: number) => void) | null = null;

  constructor(private recording: Recording) {}

  async listen(listener: Listener): Promise<void> {
    this.listener = listener;
    listener.state("open");
    const { began, head, data, ended } = this.recording;
    this.frames = await replay(data, head, began.times);
    listener.message(began);
    this.onframes?.(this.frames, head.axes);
    listener.message({ type: "ended", run: began.run, sentence: ended, failed: false, frames: head.frames });
  }

  send(message: Table): void {
    if (message.type === "row") this.row(message.frame, message.token, message.head);
    else if (message.type === "statement" && this.recording.statement) {
      this.listener?.message({ type: "statement", ...this.recording.statement });
    } else if (message.type === "matrix") this.matrix(message.frame, message.head);
  }

  close(): void {}

  /** Softmax weights of one row, from the positions of the recording; null where they do not suffice. */
  private weights(frame: number, token: number, which: View["head"]): Float64Array | null {
    const forms: number[][][] | null = this.recording.began.forms ?? null;
    if (!forms) return null;
    if (which !== "mean") return this.headWeights(frame, token, forms[which]);
    const mean = new Float64Array(this.recording.head.n);
    for (const form of forms) {
      for (const [j, p] of this.headWeights(frame, token, form).entries()) mean[j] += p / forms.length;
    }
    return mean;
  }

  private headWeights(frame: number, token: number, form: number[][]): Float64Array {
    const { began, head } = this.recording;
    const { model } = began.spec as Spec;
    const d = head.axes;
    const x = this.frames[frame].positions;
    const hard = model.beta === "inf";
    const beta = hard ? 1 : Number(model.beta ?? 1);
    const [low, high] = seen(model.mask ?? "causal", token, head.n);
    const query = new Array(d).fill(0);
    for (let a = 0; a < d; a++) for (let b = 0; b < d; b++) query[b] += x[token * d + a] * form[a][b];
    const p = new Float64Array(head.n);
    let top = -Infinity;
    for (let j = low; j < high; j++) {
      let s = 0;
      for (let a = 0; a < d; a++) s += query[a] * x[j * d + a];
      p[j] = beta * s;
      top = Math.max(top, p[j]);
    }
    let sum = 0;
    for (let j = low; j < high; j++) sum += p[j] = hard ? Number(p[j] > top - 1e-4) : Math.exp(p[j] - top);
    for (let j = low; j < high; j++) p[j] /= sum;
    return p;
  }

  private row(frame: number, token: number, head: View["head"]): void {
    const p = this.weights(frame, token, head);
    if (!p) {
      this.listener?.message({
        type: "error",
        about: "row",
        sentence: "This recording does not hold what attention needs.",
      });
      return;
    }
    const order = Array.from(p.keys()).sort((a, b) => p[b] - p[a]);
    const strongest = order
      .slice(0, 8)
      .filter((j) => p[j] > 0)
      .map((j) => [j, p[j]]);
    const parts = pooled(Array.from(p), 256, (a, b) => a + b, 0);
    this.listener?.message({ type: "row", frame, token, head, leader: order[0], strongest, parts, n_tokens: p.length });
  }

  private matrix(frame: number, head: View["head"]): void {
    const n = this.recording.head.n;
    const size = Math.min(n, 256);
    const out = new Float32Array(size * size);
    for (let i = 0; i < n; i++) {
      const p = this.weights(frame, i, head);
      if (!p) {
        this.listener?.message({
          type: "error",
          about: "matrix",
          sentence: "This recording does not hold what attention needs.",
        });
        return;
      }
      const row = Math.floor((i * size) / n) * size;
      for (let j = 0; j < n; j++) {
        const at = row + Math.floor((j * size) / n);
        if (p[j] > out[at]) out[at] = p[j];
      }
    }
    this.listener?.packet(packMatrix(this.recording.began.run, frame, head, size, out));
  }
}

/** The tokens that a token sees: low <= j < high. */
function seen(mask: any, i: number, n: number): [number, number] {
  if (mask === "full") return [0, n];
  const text = typeof mask === "string" ? /^window:(\d+)(,causal=false)?/.exec(mask) : null;
  if (!text && typeof mask !== "object") return [0, i + 1];
  const width = text ? Number(text[1]) : (mask.window ?? mask.width);
  const causal = text ? !text[2] : mask.causal !== false;
  return [Math.max(0, i - width + 1), Math.min(n, i + (causal ? 1 : width))];
}

/** A list in at most so many parts, each the sum (or any fold) of its members. */
function pooled(values: number[], most: number, fold: (a: number, b: number) => number, from: number): number[] {
  const size = Math.min(most, values.length);
  const out = new Array(size).fill(from);
  values.forEach((value, k) => {
    const at = Math.floor((k * size) / values.length);
    out[at] = fold(out[at], value);
  });
  return out;
}

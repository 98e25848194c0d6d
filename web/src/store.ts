// The frames that have arrived of a run, with gaps where a slow page was spared some.

import type { Frame } from "./packets";
import type { Began } from "./state";

export interface Place {
  before: number; // number of the frame at or before a time
  after: number; // the next one that is there, or the same
  part: number; // how far between them, 0 to 1
}

export class Store {
  began: Began | null = null;
  axes = 2;
  frames: (Frame | undefined)[] = [];
  there: number[] = []; // numbers of the frames that have arrived, increasing

  /** A new run, or the same one gone on another way after its first frames. */
  begin(began: Began): void {
    this.began = began;
    if (!began.kept) {
      this.frames = [];
      this.there = [];
    } else {
      this.frames.length = Math.min(this.frames.length, began.kept);
      this.there = this.there.filter((k) => k < began.kept);
    }
  }

  clear(): void {
    this.frames = [];
    this.there = [];
  }

  add(index: number, axes: number, frame: Frame): void {
    this.axes = axes;
    if (this.frames[index] === undefined) {
      if (!this.there.length || index > this.there[this.there.length - 1]) this.there.push(index);
      else this.there.splice(this.place(index) + 1, 0, index);
    }
    this.frames[index] = frame;
  }

  /** Place in `there` of the last frame at or before a number; -1 if none. */
  place(index: number): number {
    let low = 0;
    let high = this.there.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.there[middle] <= index) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  get last(): Frame | undefined {
    return this.there.length ? this.frames[this.there[this.there.length - 1]] : undefined;
  }

  get lastTime(): number {
    return this.last?.time ?? 0;
  }

  get endTime(): number {
    const times = this.began?.times;
    return times?.length ? times[times.length - 1] : 1;
  }

  get firstTime(): number {
    return this.began?.times.find((t) => t > 0) ?? this.endTime;
  }

  /** Between which frames a time lies; in log time half way is the geometric mean. */
  at(time: number, log: boolean): Place | null {
    if (!this.there.length) return null;
    let low = 0;
    let high = this.there.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames[this.there[middle]]!.time <= time) low = middle;
      else high = middle - 1;
    }
    const before = this.there[low];
    if (low === this.there.length - 1) return { before, after: before, part: 0 };
    const after = this.there[low + 1];
    const a = this.frames[before]!.time;
    const b = this.frames[after]!.time;
    const part = log && a > 0 ? Math.log(time / a) / Math.log(b / a) : (time - a) / (b - a);
    return { before, after, part: Math.min(1, Math.max(0, part)) };
  }

  /** The arrived frame `step` places from a number. */
  beside(index: number, step: number): number {
    const at = Math.min(this.there.length - 1, Math.max(0, this.place(index) + step));
    return this.there[at];
  }

  /** How far tokens reach: at least as far as at the start, so that a hull is seen to shrink. */
  reach(index: number): number {
    const size = (k: number): number => {
      let most = 1e-24;
      const p = this.frames[k]!.positions;
      for (let i = 0; i < p.length; i += this.axes) {
        let square = 0;
        for (let c = 0; c < this.axes; c++) square += p[i + c] * p[i + c];
        if (square > most) most = square;
      }
      return Math.sqrt(most);
    };
    return Math.max(size(this.there[0]), size(index));
  }

  measure(name: string): number {
    return this.began?.measures.indexOf(name) ?? -1;
  }
}

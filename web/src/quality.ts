// How finely the view is drawn: coarser while pictures take too long, finer again when there is time, finest at rest.
// Where a coarser picture takes as long, something else is slow: it stays fine.

const LEVELS = [
  { ratio: 1, trails: 1 },
  { ratio: 0.75, trails: 1 },
  { ratio: 0.75, trails: 0.25 },
  { ratio: 0.5, trails: 0.25 },
  { ratio: 0.5, trails: 0 },
];
const REST = { ratio: 1, trails: 1 };
const REST_SOFT = { ratio: 2, trails: 1 }; // without a graphics card edges are smooth at rest only
const SLOW_MS = 20; // a picture that takes longer misses its turn at 60 a second
const FAST_MS = 17.5;
const SOME = 8; // pictures to judge by
const REST_MS = 250; // without motion, the finest picture is drawn
const GAIN = 0.85; // of the time before: what a coarser level must come to
const FIRST_WAIT = 8; // judgements before another level is tried; longer after each time that it did not help
const LONGEST_WAIT = 256;

export class Quality {
  level = 0;
  resting = false;
  private last = 0;
  private steady = false;
  private times: number[] = [];
  private before = 0; // ms of a picture, one level finer; 0 when the last change is settled
  private fast = 0; // judgements in a row that were
  private idle = 0; // judgements to come without a change
  private waits = { coarser: FIRST_WAIT / 2, finer: FIRST_WAIT };

  /** soft: pictures are drawn without a graphics card. */
  constructor(private soft: boolean) {}

  /** What to draw with: pixels of the canvas for a pixel of the screen, and the share of the trails. */
  get now(): { ratio: number; trails: number } {
    return this.resting ? (this.soft ? REST_SOFT : REST) : LEVELS[this.level];
  }

  /** A turn of the screen at a time in ms, with or without motion. Whether something has to be drawn in another quality. */
  turn(now: number, moving: boolean): boolean {
    if (!moving) {
      this.steady = false;
      if (this.resting || now - this.last < REST_MS) return false;
      this.resting = true;
      return this.soft || this.level > 0;
    }
    const took = now - this.last;
    this.last = now;
    if (this.resting) {
      this.resting = false;
      this.times = [];
      return this.soft || this.level > 0;
    }
    const between = this.steady; // only the time between two pictures that follow each other says how long one takes
    this.steady = true;
    return between && this.judge(took);
  }

  /** Judge by some pictures at a time. Whether the level changed. */
  private judge(took: number): boolean {
    this.times.push(took);
    if (this.times.length < SOME) return false;
    const middle = this.times.sort((a, b) => a - b)[SOME >> 1];
    this.times = [];
    if (this.before) return this.settle(middle);
    this.fast = middle < FAST_MS ? this.fast + 1 : 0;
    if (this.idle-- > 0) return false;
    this.idle = 0;
    if (middle > SLOW_MS && this.level < LEVELS.length - 1) {
      this.before = middle;
      this.level++;
      return true;
    }
    if (!this.level || this.fast < this.waits.finer) return false;
    this.waits.finer = Math.min(LONGEST_WAIT, 2 * this.waits.finer);
    this.fast = 0;
    this.level--;
    return true;
  }

  /** Keep a coarser level if it was worth it. */
  private settle(middle: number): boolean {
    const worth = middle < Math.max(FAST_MS, GAIN * this.before);
    this.before = 0;
    if (worth) return false;
    this.level--;
    this.idle = this.waits.coarser = Math.min(LONGEST_WAIT, 2 * this.waits.coarser);
    return true;
  }
}

/** A canvas without smooth edges, if there is no graphics card: they would take most of the time. Else null. */
export function drawnInSoftware(): { canvas: HTMLCanvasElement; context: WebGL2RenderingContext } | null {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2", { antialias: false, alpha: true });
  if (!context) return null;
  const told = context.getExtension("WEBGL_debug_renderer_info");
  const name = String(context.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)) return { canvas, context };
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return null;
}

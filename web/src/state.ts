// What a page shows: the run as in a run.toml, how it is looked at, and the address that holds both.

export type Table = Record<string, any>;

export interface Spec {
  model: Table;
  start: Table;
  simulate: Table;
  then?: Table[];
}

export type Colour = "cluster" | "index" | "speed";

export interface View {
  clock: "linear" | "log";
  colour: Colour;
  trails: number; // frames
  centers: boolean;
  hull: boolean;
  matrix: boolean; // the attention matrix is open
  pace: number; // of playing
  zoom: number;
  eye: number[] | null; // where the camera stands
  time: number | null; // of the frame that is shown; null: from the start, playing
  token: number | null; // the one that is picked
  head: number | "mean"; // whose attention is shown
  projection: "eigenvectors" | "principal";
  after: "continue" | "restart"; // what a change does
}

export const VIEW: View = {
  clock: "linear",
  colour: "cluster",
  trails: 16,
  centers: true,
  hull: false,
  matrix: false,
  pace: 1,
  zoom: 1,
  eye: null,
  time: null,
  token: null,
  head: 0,
  projection: "eigenvectors",
  after: "continue",
};

export interface Shared {
  spec: Spec;
  view: Partial<View>;
  preset?: string;
}

/** The state as the part of an address after #. */
export function encode(shared: Shared): string {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The other way; null if the address holds none. */
export function decode(hash: string): Shared | null {
  const found = /[#&]s=([\w-]+)/.exec(hash);
  if (!found) return null;
  try {
    const text = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    const shared = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    return shared?.spec?.model ? shared : null;
  } catch {
    return null;
  }
}

/** What differs from the usual view: addresses stay short. */
export function lean(view: View): Partial<View> {
  return Object.fromEntries(
    Object.entries(view).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify((VIEW as Table)[name])),
  );
}

export interface Atlas {
  eigenvalues: [number, number][];
  basis?: number[][];
  inverse?: number[][];
  notes: string[];
  row: string;
  words: string;
  claim: string;
  gap: string;
}

export interface Began {
  type: "began";
  run: number;
  kept: number;
  note: string;
  spec: Spec;
  n_tokens: number;
  dim: number;
  n_heads: number;
  space: string;
  times: number[];
  frozen: number[][];
  value: number[][] | null;
  forms?: number[][][] | null; // of a recording: B of every head
  projection: { how: string; words: string };
  atlas: Atlas;
  recipe: { toml: string; python: string };
  measures: string[];
  radius: number;
  radii: number[];
  delta: number | null;
  centers: number[];
  strong: number[];
}

export interface Row {
  token: number;
  head: number | "mean";
  leader: number;
  strongest: [number, number][];
  parts: number[];
  n_tokens: number;
  frame: number;
}

export interface Preset {
  name: string;
  title: string;
  sentence: string;
  shows: string[];
  claim: string;
  paper: string;
  spec: Spec;
  view: Partial<View>;
  picture: Picture | null;
}

export interface Picture {
  kind: "circle" | "sphere" | "open";
  points: [number, number, number][]; // x, y in 0..1000, colour
  paths: number[][];
  hull?: number[];
}

export interface Statement {
  name: string;
  kind: string;
  statement: string;
  hypotheses: string[];
  known: string;
  erratum: string;
  title: string;
  url: string;
}

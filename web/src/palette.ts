// Colours that people with any colour vision can tell apart, in light and dark.

export type Rgb = [number, number, number];

// Okabe and Ito's eight, without black, and shades of them for further clusters.
const OKABE: Rgb[] = [
  [0, 114, 178],
  [213, 94, 0],
  [0, 158, 115],
  [204, 121, 167],
  [230, 159, 0],
  [86, 180, 233],
  [150, 120, 60],
];
const SHADES = [1, 0.68, 1.28];

const CLUSTERS = SHADES.flatMap((shade) =>
  OKABE.map((base) => base.map((c) => Math.min(255, Math.round(c * shade + (shade > 1 ? 20 : 0)))) as Rgb),
);

/** The colour of a cluster, known by its first token: it keeps it through time. */
export function clusterColour(first: number): Rgb {
  return CLUSTERS[first % CLUSTERS.length];
}

// Points of a map that grows evenly in lightness (viridis, sampled).
const VIRIDIS: Rgb[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

const LEVELS = 256;
const SCALE = Array.from({ length: LEVELS }, (_, level) => {
  const at = (level / (LEVELS - 1)) * (VIRIDIS.length - 1);
  const k = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[k].map((c, j) => Math.round(c + (at - k) * (VIRIDIS[k + 1][j] - c))) as Rgb;
});

/** A value in [0, 1] as a colour. */
export function scaleColour(value: number): Rgb {
  return SCALE[Math.min(LEVELS - 1, Math.max(0, Math.round(value * (LEVELS - 1))))];
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r},${g},${b})`;

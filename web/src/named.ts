// Names that the controls offer, with their words.

/** families of matrices */
export const FAMILIES: [string, string][] = [
  ["identity", "identity"],
  ["ginibre", "Gaussian"],
  ["goe", "symmetric Gaussian"],
  ["positive_definite", "positive definite"],
  ["rotation", "rotation"],
  ["uniform_entries", "uniform entries"],
];
/** those that can be drawn anew */
export const RANDOM = FAMILIES.map(([name]) => name).filter((name) => name !== "identity");
/** name of a mask, its words, and the mask itself as it is first chosen */
export const MASKS: [string, string, string][] = [
  ["causal", "causal", "causal"],
  ["full", "full", "full"],
  ["window", "window", "window:16"],
  ["dilated", "dilated window", "dilated:8,gap=4"],
  ["blocks", "blocks", "blocks:16"],
  ["prefix", "prefix", "prefix:16"],
  ["sink", "sink and window", "sink:16,sinks=4"],
  ["random", "random graph", "random:0.1,seed=0"],
];
/** how a logit becomes a weight */
export const KERNELS: [string, string][] = [
  ["exp", "exp"],
  ["sigmoid", "sigmoid"],
  ["relu", "relu"],
  ["power", "power"],
  ["softplus", "softplus"],
  ["gaussian", "Gaussian"],
  ["bounded", "bounded confidence"],
  ["linear", "linear"],
  ["cosine", "overlap"],
];
/** what the weights of a row are divided by */
export const NORMALISERS: [string, string][] = [
  ["softmax", "softmax"],
  ["count", "count (1/n)"],
  ["scaled-count", "scaled count"],
  ["none", "nothing"],
  ["l2", "L2"],
  ["sink", "with a sink"],
  ["sinkhorn", "Sinkhorn"],
];
/** starts, with their own numbers: name, words, what it is at first */
export const STARTS: Record<string, [string, string, number][]> = {
  uniform: [],
  cap: [["angle", "angle", 1]],
  planted: [
    ["n_clusters", "clusters", 4],
    ["spread", "spread", 0.3],
  ],
  von_mises_fisher: [["kappa", "κ", 10]],
  orthonormal: [],
  equiangular: [["overlap", "overlap", 0.5]],
  cube: [["half_width", "half width", 2]],
  gaussian: [["scale", "scale", 1]],
};

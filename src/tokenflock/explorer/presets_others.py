"""Presets of papers C to F: full attention, metastability, noise, layer norms."""

from __future__ import annotations

import math

from tokenflock.explorer.preset import LOG, Preset, even, log, sphere

# Start of the staircase of paper D (D.6), as angles.
_PREPARED = [0.5 * c * math.log(2000) / math.sqrt(2000) for c in (0.0, 0.5, 2.0, 4.0, 7.0)]

OTHERS = (
    Preset(
        "full-attention",
        "Full attention climbs an energy",
        "Without a mask the energy never falls, and from almost every start all tokens meet.",
        ("perspective/theorem-6.1", "perspective/energy"),
        {"dim": 3, "beta": 4.0, "mask": "full"},
        sphere(128, 12),
        log(200.0),
        LOG,
    ),
    Preset(
        "hemisphere",
        "From one hemisphere",
        "Tokens that begin in one hemisphere meet exponentially fast.",
        ("perspective/lemma-6.4", "perspective/theorem-6.7"),
        {"dim": 3, "beta": 9.0, "mask": "full"},
        sphere(96, 13, kind="cap", angle=1.5),
        log(60.0),
        LOG,
    ),
    Preset(
        "orthogonal",
        "Orthogonal tokens",
        "From an orthogonal start all overlaps stay equal; in high dimension a random start is nearly that.",
        ("perspective/theorem-6.8", "perspective/theorem-6.9", "perspective/phase-transition", "perspective/3"),
        {"dim": 32, "beta": 2.0, "mask": "full"},
        sphere(32, 14, kind="orthonormal"),
        log(30.0),
        LOG,
    ),
    Preset(
        "metastable-caps",
        "Clusters that last",
        "Tokens in well separated caps collapse onto points in time of order β and then stay for times like e^β.",
        ("metastability/main-theorem", "metastability/collapse-time"),
        {"dim": 2, "beta": 30.0, "mask": "full"},
        sphere(90, 15, kind="planted", n_clusters=4, spread=0.25),
        log(1e12, 0.05, 320, scheme="rosenbrock"),
        LOG,
    ),
    Preset(
        "energy-staircase",
        "The energy as a staircase",
        "Five tokens merge one after the other: the energy stands still, jumps, and stands still again.",
        ("metastability/staircase", "metastability/hitting-time"),
        {"dim": 2, "beta": 2000.0, "mask": "full"},
        {"array": [[math.cos(a), math.sin(a)] for a in _PREPARED]},
        log(1e40, 1.0, 320, scheme="rosenbrock"),
        {**LOG, "zoom": 4.0},
    ),
    Preset(
        "long-context",
        "Equal overlaps and a long context",
        "All overlaps are 1/2; below β = log n/(1 - rho) attention averages all tokens, above each sees only itself.",
        ("meanfield/long-context",),
        {"dim": 64, "beta": 8.0, "mask": "full"},
        sphere(64, 16, kind="equiangular", overlap=0.5),
        log(200.0),
        LOG,
    ),
    Preset(
        "pitchfork",
        "Noise",
        "At β = 0 noise of strength √(2/κ) keeps tokens spread for κ ≤ 2; with less noise they gather.",
        ("meanfield/pitchfork",),
        {"dim": 2, "beta": 0.0, "mask": "full", "noise": 0.7},
        sphere(200, 17),
        even(40.0, 240, scheme="heun", dt=0.025),
    ),
    Preset(
        "pre-norm",
        "Pre-norm",
        "With pre-norm magnitudes grow and directions slow down: tokens meet like 1/t², not e^(-2t).",
        ("normalization/terminal-rate", "normalization/initial-rate", "normalization/clustering"),
        {"dim": 3, "beta": 2.0, "mask": "full", "layer_norm": "pre"},
        sphere(96, 18),
        log(1000.0),
        LOG,
    ),
    Preset(
        "peri-norm",
        "Peri-norm in high dimension",
        "At a uniform start the drive of attention is small; peri-norm divides by it and starts fast.",
        ("normalization/initial-drive",),
        {"dim": 48, "beta": 1.0, "mask": "full", "layer_norm": "peri"},
        sphere(96, 19),
        log(100.0),
        LOG,
    ),
)

"""The file format of llama2.c: seven integers, then every matrix of a Llama in float32, one kind after the other.

Its rotary positions turn neighbours; rows of queries and keys are reordered to turn halves, as everywhere else here.
A file may go on after the model (the web package of llama2.c puts the tokenizer there).
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenflock.errors import FileError
from tokenflock.networks.numbers import Entry
from tokenflock.networks.tensors import Tensors

HEADER = 28  # bytes
SUFFIXES = (".bin", ".data")
EPS, BASE = 1e-5, 10_000.0  # written in its source, not in its files


def sizes(head: bytes) -> dict[str, int] | None:
    """What the first bytes say, by the names of config.json; None if they are not those of such a file."""
    if len(head) < HEADER:
        return None
    dim, hidden, layers, heads, groups, vocabulary, length = (int(v) for v in np.frombuffer(head[:HEADER], "<i4"))
    small = (dim, hidden, layers, heads, groups, abs(vocabulary), length)
    if min(small) < 1 or max(small) > 1 << 22 or layers > 1000 or dim % heads or heads % groups or (dim // heads) % 2:
        return None
    return {
        "hidden_size": dim, "intermediate_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": groups, "vocab_size": abs(vocabulary), "max_position_embeddings": length,
    }  # fmt: skip


def recognise(path: Path) -> bool:
    """Whether a file begins as one of llama2.c."""
    with open(path, "rb") as file:
        return sizes(file.read(HEADER)) is not None


def read(path: Path) -> tuple[Mapping[str, Any], Tensors]:
    """The configuration and the tensors, under the names of Hugging Face's Llama."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = sizes(data[:HEADER])
    if found is None:
        raise FileError(f"{str(path)!r} does not begin as a file of llama2.c. Fetch it again.")
    d, m, L = found["hidden_size"], found["intermediate_size"], found["num_hidden_layers"]
    k = d // found["num_attention_heads"]
    kv, words = k * found["num_key_value_heads"], found["vocab_size"]
    table: list[tuple[str, tuple[int, ...]]] = [
        ("model.embed_tokens.weight", (words, d)),
        ("model.layers.{}.input_layernorm.weight", (L, d)),
        ("model.layers.{}.self_attn.q_proj.weight", (L, d, d)),
        ("model.layers.{}.self_attn.k_proj.weight", (L, kv, d)),
        ("model.layers.{}.self_attn.v_proj.weight", (L, kv, d)),
        ("model.layers.{}.self_attn.o_proj.weight", (L, d, d)),
        ("model.layers.{}.post_attention_layernorm.weight", (L, d)),
        ("model.layers.{}.mlp.gate_proj.weight", (L, m, d)),
        ("model.layers.{}.mlp.down_proj.weight", (L, d, m)),
        ("model.layers.{}.mlp.up_proj.weight", (L, m, d)),
        ("model.norm.weight", (d,)),
    ]
    entries, at = {}, HEADER
    for name, shape in table:
        each, count = (shape[1:], L) if "{}" in name else (shape, 1)
        for layer in range(count):
            turned = k if name.endswith(("q_proj.weight", "k_proj.weight")) else 0
            entries[name.format(layer)] = Entry(each, partial(_take, data, at, each, turned))
            at += 4 * math.prod(each)
    if at > len(data):
        raise FileError(
            f"{str(path)!r} cannot be read: it is truncated, {len(data)} bytes where {at} belong. Fetch it again."
        )
    config = {**found, "model_type": "llama", "rms_norm_eps": EPS, "rope_theta": BASE, "hidden_act": "silu"}
    return config, Tensors(entries, str(path))


def _take(data: mmap.mmap, at: int, shape: tuple[int, ...], head_dim: int) -> NDArray[Any]:
    matrix = np.frombuffer(data, "<f4", math.prod(shape), at).reshape(shape)
    return halves(matrix, head_dim) if head_dim else matrix


def halves(matrix: NDArray[Any], head_dim: int) -> NDArray[Any]:
    """Rows of each head from pairs of neighbours to pairs that lie half a head apart."""
    rows = matrix.reshape(-1, head_dim // 2, 2, *matrix.shape[1:])
    return rows.swapaxes(1, 2).reshape(matrix.shape)

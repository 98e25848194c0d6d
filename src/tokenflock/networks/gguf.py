"""GGUF files: numbers dequantised by the package gguf, one tensor at a time, under the names of Hugging Face.

Its converter reorders the rows of Llama's queries and keys so that neighbours turn; here they are put back.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tokenflock.errors import FileError, missing
from tokenflock.networks import gguf_table
from tokenflock.networks.gguf_table import Stored
from tokenflock.networks.layer import Array
from tokenflock.networks.numbers import Entry
from tokenflock.networks.tensors import Config, Tensors

#: entries of the file's table, after the architecture and a dot -> config.json
SIZES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.layer_norm_epsilon": "layer_norm_eps",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
}
LLAMA = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.{}.attn_norm": "model.layers.{}.input_layernorm",
    "blk.{}.attn_q": "model.layers.{}.self_attn.q_proj",
    "blk.{}.attn_k": "model.layers.{}.self_attn.k_proj",
    "blk.{}.attn_v": "model.layers.{}.self_attn.v_proj",
    "blk.{}.attn_output": "model.layers.{}.self_attn.o_proj",
    "blk.{}.attn_q_norm": "model.layers.{}.self_attn.q_norm",
    "blk.{}.attn_k_norm": "model.layers.{}.self_attn.k_norm",
    "blk.{}.ffn_norm": "model.layers.{}.post_attention_layernorm",
    "blk.{}.ffn_gate": "model.layers.{}.mlp.gate_proj",
    "blk.{}.ffn_up": "model.layers.{}.mlp.up_proj",
    "blk.{}.ffn_down": "model.layers.{}.mlp.down_proj",
}
GPT2 = {
    "token_embd": "wte",
    "position_embd": "wpe",
    "output_norm": "ln_f",
    "blk.{}.attn_norm": "h.{}.ln_1",
    "blk.{}.attn_qkv": "h.{}.attn.c_attn",
    "blk.{}.attn_output": "h.{}.attn.c_proj",
    "blk.{}.ffn_norm": "h.{}.ln_2",
    "blk.{}.ffn_up": "h.{}.mlp.c_fc",
    "blk.{}.ffn_down": "h.{}.mlp.c_proj",
}
BERT = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
    "blk.{}.attn_q": "encoder.layer.{}.attention.self.query",
    "blk.{}.attn_k": "encoder.layer.{}.attention.self.key",
    "blk.{}.attn_v": "encoder.layer.{}.attention.self.value",
    "blk.{}.attn_output": "encoder.layer.{}.attention.output.dense",
    "blk.{}.attn_output_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "blk.{}.ffn_up": "encoder.layer.{}.intermediate.dense",
    "blk.{}.ffn_down": "encoder.layer.{}.output.dense",
    "blk.{}.layer_output_norm": "encoder.layer.{}.output.LayerNorm",
}
#: architectures of GGUF, which are values of model_type too -> names of tensors
NAMES = {"llama": LLAMA, "qwen2": LLAMA, "qwen3": LLAMA, "gpt2": GPT2, "bert": BERT}
REORDERED = "llama"  # the one whose queries and keys were reordered


def read(path: Path) -> tuple[Config, Tensors]:
    """The configuration and the tensors, under the names of Hugging Face."""
    try:
        import gguf
    except ImportError as error:
        raise missing("gguf", "networks", f"reading {path.name}") from error
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        facts, stored = gguf_table.read(data)
        for name, tensor in stored.items():
            block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(tensor.kind)]
            n_bytes = math.prod(tensor.shape) // block * size
            if tensor.begin + n_bytes > len(data):
                raise FileError(f"it is truncated: tensor {name!r} ends beyond it")
    except Exception as error:  # whatever a damaged table makes Python raise
        why = str(error) if isinstance(error, FileError) else f"it is damaged ({type(error).__name__}: {error})"
        raise FileError(f"{str(path)!r} cannot be read: {why}. Fetch it again.") from error
    kind = str(facts.get("general.architecture"))
    if kind not in NAMES:
        found = ", ".join(list(stored)[:3])
        raise FileError(
            f"{str(path)!r} holds a network of architecture {kind!r} (tensors: {found}, ...). Supported in GGUF: "
            f"{', '.join(NAMES)}."
        )
    config = _config(kind, facts)
    if "rope_freqs.weight" in stored:  # how Llama 3 slows its turns, as a table
        config["rope_scaling"] = {"rope_type": "factors", "factors": _take(data, stored["rope_freqs.weight"], 0, False)}
    return config, Tensors(_entries(kind, data, stored, config), str(path))


def _config(kind: str, facts: Config) -> dict[str, Any]:
    config = {name: facts[f"{kind}.{key}"] for key, name in SIZES.items() if f"{kind}.{key}" in facts}
    config["model_type"] = kind
    if kind == "gpt2":
        config["layer_norm_epsilon"] = config.get("layer_norm_eps", 1e-5)
    scaling = facts.get(f"{kind}.rope.scaling.type")
    if scaling not in (None, "none"):
        config["rope_scaling"] = {"rope_type": scaling, "factor": facts.get(f"{kind}.rope.scaling.factor", 1.0)}
    return config


def _entries(kind: str, data: mmap.mmap, stored: Mapping[str, Stored], config: Config) -> dict[str, Entry]:
    """Every tensor that has a name in the other layout, to be dequantised when it is asked for."""
    n_heads = config.get("num_attention_heads", 1)
    heads = {"attn_q": n_heads, "attn_k": config.get("num_key_value_heads", n_heads)}
    entries = {}
    for name, tensor in stored.items():
        stem, _, end = name.rpartition(".")
        parts = stem.split(".")
        layer, pattern = ("", stem) if parts[0] != "blk" else (parts[1], ".".join(["blk", "{}", *parts[2:]]))
        if pattern not in NAMES[kind]:
            continue
        turned = heads.get(parts[-1], 0) if kind == REORDERED else 0
        # Of GPT-2 the other layout holds the transposes.
        across = kind == "gpt2" and len(tensor.shape) == 2 and layer != ""
        shape = tensor.shape[::-1] if across else tensor.shape
        there = f"{NAMES[kind][pattern].format(layer)}.{end}"
        entries[there] = Entry(shape, partial(_take, data, tensor, turned, across))
    return entries


def _take(data: mmap.mmap, tensor: Stored, turned: int, across: bool) -> Array:
    """The numbers of a tensor; turned: how many heads have reordered rows."""
    import gguf

    kind = gguf.GGMLQuantizationType(tensor.kind)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    *rows, length = tensor.shape
    raw = np.frombuffer(data, np.uint8, math.prod(tensor.shape) // block * size, tensor.begin)
    plain = {"F64": "<f8", "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}.get(kind.name)
    numbers = raw.view(plain) if plain else gguf.dequantize(raw.reshape(*rows, length // block * size), kind)
    numbers = numbers.reshape(tensor.shape)
    if turned:
        numbers = halves(numbers, tensor.shape[0] // turned)
    return numbers.T if across else numbers


def halves(matrix: Array, head_dim: int) -> Array:
    """Rows of each head from pairs of neighbours to pairs that lie half a head apart."""
    rows = matrix.reshape(-1, head_dim // 2, 2, *matrix.shape[1:])
    return rows.swapaxes(1, 2).reshape(matrix.shape)

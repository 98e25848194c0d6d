"""Mixtures of experts: Mixtral, Qwen 3 MoE and gpt-oss. Their attention is that of Llama; gpt-oss has sink logits.

An expert is read when a token is sent to it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tokenflock.errors import FileError
from tokenflock.networks.layer import Experts, Feedforward
from tokenflock.networks.llama import Llama

ALPHA, LIMIT = 1.702, 7.0  # of the gate of gpt-oss: quick_gelu has the first


class Mixtral(Llama):
    """Mixtral, and Qwen 3 MoE, some of whose layers may have one feed-forward."""

    name = "mixtral"
    types: tuple[str, ...] = ("mixtral", "qwen3_moe")

    def feedforward(self, layer: int) -> Feedforward | Experts:
        """Experts by their names: w1, w3, w2 of Mixtral are gate, up and down."""
        at = self.place(layer)
        if self.has(f"{at}.block_sparse_moe.gate.weight"):
            place, names = f"{at}.block_sparse_moe", ("w1", "w3", "w2")
        elif self.has(f"{at}.mlp.gate.weight"):
            place, names = f"{at}.mlp", ("gate_proj", "up_proj", "down_proj")
        else:
            return super().feedforward(layer)
        count = self.whole("num_local_experts", "num_experts")
        router = self.tensor(f"{place}.gate.weight", (count, self.dim))
        normalised = self.config.get("model_type") == "mixtral" or bool(self.config.get("norm_topk_prob"))
        return Experts(router, None, self.top(count), normalised, partial(self._expert, place, names))

    def top(self, count: int) -> int:
        """How many experts a token is sent to."""
        found = self.whole("num_experts_per_tok")
        if found > count:
            raise self.wrong(f"num_experts_per_tok = {found} in its config.json, and there are {count} experts")
        return found

    def _expert(self, place: str, names: tuple[str, ...], expert: int) -> Feedforward:
        return self.gated(*(f"{place}.experts.{expert}.{name}" for name in names))


class GptOss(Mixtral):
    """gpt-oss: a logit more in every row (a sink), windows in turn, experts in one tensor."""

    name = "gpt_oss"
    types = ("gpt_oss",)

    def more(self, layer: int) -> dict[str, Any]:
        """The logits of the sinks."""
        return {"sink": self.tensor(f"{self.place(layer)}.self_attn.sinks", (self.n_heads,))}

    def feedforward(self, layer: int) -> Feedforward | Experts:
        """The experts: gate and up alternate in one tensor."""
        at = f"{self.place(layer)}.mlp"
        if self.has(f"{at}.experts.gate_up_proj_blocks"):
            raise FileError(
                f"{self.tensors.where!r} has its experts packed in 4 bits (MXFP4), which are not read. "
                "Give a model saved in bfloat16; or use its heads alone: network.layer(l, feedforward=False)."
            )
        limit, alpha = (self.config.get(n, usual) for n, usual in (("swiglu_limit", LIMIT), ("swiglu_alpha", ALPHA)))
        if alpha != ALPHA:
            raise self.wrong(f"swiglu_alpha = {alpha!r} in its config.json. Allowed: {ALPHA}")
        count = self.whole("num_local_experts", "num_experts")
        router, bias = self.linear(f"{at}.router")
        return Experts(router, bias, self.top(count), True, partial(self._packed, f"{at}.experts", float(limit)))

    def _packed(self, at: str, limit: float, expert: int) -> Feedforward:
        both = self.tensor(f"{at}.gate_up_proj", (None, self.dim, None))[expert].T
        bias = self.tensor(f"{at}.gate_up_proj_bias", (None, len(both)))[expert]
        down = self.tensor(f"{at}.down_proj", (None, None, self.dim))[expert].T
        after = self.tensor(f"{at}.down_proj_bias", (None, self.dim))[expert]
        gate, up = np.ascontiguousarray(both[::2]), np.ascontiguousarray(both[1::2])
        return Feedforward("gated", up, down, gate, bias[1::2], after, bias[::2], "quick_gelu", limit)

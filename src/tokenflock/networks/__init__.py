"""Trained networks, read from files with nothing but numpy: no framework is needed, and nothing a file says is run.

    net = networks.read("weights/rxnmapper-0.4.3-py3-none-any.whl")
    net.layer(0)               one block as arrays
    networks.heads(net)        every head: its spectrum, its row of the atlas, whether it is a good triple

One noun a file: place, source and archive find a model; tensors, pickles and gguf read files; a file a family
says where its tensors are; layer and network are what they come to; spectra is what the theory says of the heads.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    **dict.fromkeys(("Network", "read", "supported"), "tokenflock.networks.network"),
    **dict.fromkeys(("find", "VARIABLE"), "tokenflock.networks.place"),
    **dict.fromkeys(("Layer", "Norm", "Feedforward", "Experts"), "tokenflock.networks.layer"),
    "Rotary": "tokenflock.networks.rotary",
    **dict.fromkeys(("heads", "eigenvalues", "regime", "triple", "gaussian"), "tokenflock.networks.spectra"),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tokenflock.networks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

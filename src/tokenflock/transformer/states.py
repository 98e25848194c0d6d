"""The model itself: torch and transformers run it, and its hidden states become a trajectory.

Nothing that a model folder says is executed: transformers loads safetensors, or torch files with weights_only, and
code beside them is not looked at (trust_remote_code=False). No network is asked either.
"""

from __future__ import annotations

import time
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenflock.arguments import Reals, flag, instance, named, numbers, real
from tokenflock.errors import FileError, bad
from tokenflock.networks import hub
from tokenflock.networks.network import Network
from tokenflock.transformer import stack, wording
from tokenflock.transformer.record import Origin, trajectory

if TYPE_CHECKING:
    import xarray as xr


def quiet_transformers() -> Any:
    """transformers, without its bars and reports; one sentence if it is not installed."""
    return hub.quiet_transformers()


class Original:
    """A network, loaded by transformers; in float64 it is a yardstick, in float32 what it is used as."""

    def __init__(self, network: Network, dtype: str = "float64") -> None:
        named("dtype", dtype, ("float32", "float64"))
        instance("network", network, Network, "a networks.Network", "networks.read(path) gives one.")
        transformers = quiet_transformers()
        import torch

        self.network, self.dtype = network, dtype
        if not (network.folder / "config.json").is_file():
            advice = "Give the folder of the model; without it our own blocks run: flock.transformer.stack."
            raise FileError(f"transformers reads folders with a config.json, and {network.name!r} is none. {advice}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.model = transformers.AutoModel.from_pretrained(
                    str(network.folder),
                    trust_remote_code=False,
                    local_files_only=True,
                    attn_implementation="eager",  # the only one that returns its weights
                    dtype=torch.float32,
                )
        except Exception as error:  # transformers raises many kinds; none of them is ours to explain
            said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            advice = "Fetch it again; without transformers our own blocks run: flock.transformer.stack."
            raise FileError(f"transformers cannot load {network.name!r} ({said}). {advice}") from error
        if hasattr(self.model, "set_experts_implementation"):
            self.model.set_experts_implementation("eager")  # the others know no float64
        self.model.eval().to(getattr(torch, dtype))

    def run(self, given: Any, attention: bool = True) -> xr.Dataset:
        """Hidden states of token ids (n,), or of an image (channels, height, width), layer by layer."""
        import torch

        flag("attention", attention)
        began, array = time.perf_counter(), given
        if numbers(given).ndim == 3:
            array = self._image(given)
            fed = {"pixel_values": torch.as_tensor(array[None], dtype=getattr(torch, self.dtype))}
        else:
            array = wording.check(array, stack.vocabulary(self.network), stack.longest(self.network))
            fed = {"input_ids": torch.as_tensor(array[None])}
        last: list[Any] = []
        hook = self._after_last_block(lambda *call: last.append(call[-1]))
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = self.model(**fed, output_hidden_states=True, output_attentions=attention)
        finally:
            if hook is not None:
                hook.remove()
        hidden = [state[0].numpy() for state in said.hidden_states]
        if last:  # what the model itself hands out last has passed the norm at its end, and what else comes there
            hidden[-1] = (last[-1][0] if isinstance(last[-1], tuple) else last[-1])[0].numpy()
        used = {name: version(name) for name in ("torch", "transformers")}
        return trajectory(
            np.stack(hidden),
            Origin.of(self.network, "transformers", self.dtype, used),
            attention=np.stack([layer[0].float().numpy() for layer in said.attentions]) if attention else None,
            ids=array if array.ndim == 1 else None,
            wall_s=time.perf_counter() - began,
        )

    def _image(self, given: Any) -> Reals:
        """An image of the size that this network takes."""
        image = real("given", given, "an image of finite numbers")
        if stack.vocabulary(self.network) or image.shape != stack.image_size(self.network):
            wanted = "token ids (n,)" if stack.vocabulary(self.network) else str(stack.image_size(self.network))
            raise bad("given.shape", image.shape, wanted)
        return image

    def _after_last_block(self, said: Any) -> Any:
        """A hook on the last block; none where blocks are used more than once, as ALBERT's are: it ends with them."""
        import torch

        if self.network.shared:
            return None
        lists = [m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList)]
        blocks = next(m for m in lists if len(m) == self.network.n_layers)
        return blocks[-1].register_forward_hook(said)

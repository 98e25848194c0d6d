"""Files of weights, written without a framework: safetensors, and both formats of torch.save."""

import collections
import io
import json
import pickle
import sys
import types
import zipfile

import numpy as np

PREFIX = "albert.encoder.albert_layer_groups.0.albert_layers.0.attention"
KINDS = {"<f8": ("F64", "DoubleStorage"), "<f4": ("F32", "FloatStorage"), "<f2": ("F16", "HalfStorage")}
KINDS |= {"<i8": ("I64", "LongStorage"), "<u2": ("BF16", "BFloat16Storage")}  # the bits of bfloat16 are given as uint16


def albert_tensors(dim=12, seed=0, dtype="<f4"):
    """The attention of a block and its norms, and one tensor of another kind that a reader has to pass over."""
    rng = np.random.default_rng(seed)
    names = ("value", "dense", "query", "key")
    made = {f"{PREFIX}.{name}.weight": rng.standard_normal((dim, dim)).astype(dtype) for name in names}
    for norm in (f"{PREFIX}.LayerNorm", f"{PREFIX.removesuffix('.attention')}.full_layer_layer_norm"):
        made |= {f"{norm}.weight": np.ones(dim, dtype), f"{norm}.bias": np.zeros(dim, dtype)}
    return {**made, "albert.embeddings.position_ids": np.arange(7)}


def safetensors(tensors, multiple=8):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        kind = KINDS[array.dtype.newbyteorder("<").str][0]
        begin, body = len(body), body + array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, len(body)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % multiple)
    return len(text).to_bytes(8, "little") + text + body


class Storage:
    """Stands for torch's: a name, a key and numbers."""

    def __init__(self, kind, key, array):
        self.kind, self.key, self.array = kind, key, array


class Tensor:
    """Pickled as torch pickles one: a call of _rebuild_tensor_v2."""

    def __init__(self, rebuild, storage, offset, shape, stride):
        self.rebuild, self.parts = rebuild, (storage, offset, shape, stride, False, collections.OrderedDict())

    def __reduce__(self):
        return self.rebuild, self.parts


def fake_torch(monkeypatch):
    """Modules with the names that pickles of torch ask for; undone with the test."""

    def _rebuild_tensor_v2(*_):
        raise AssertionError("a reader must not call what it finds in sys.modules")

    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    for _, name in KINDS.values():
        setattr(torch, name, type(name, (), {"__module__": "torch", "__qualname__": name}))
    torch._utils = utils
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


def torch_pickle(torch, tensors, legacy, protocol=2):
    """The pickle of a dictionary of tensors, and its storages by key."""
    made, state = {}, collections.OrderedDict()
    for k, (name, array) in enumerate(tensors.items()):
        kind = getattr(torch, KINDS[array.dtype.newbyteorder("<").str][1])
        # Two numbers before, to see that the offset counts; matrices transposed, to see that the stride does.
        flat = np.concatenate([np.zeros(2, array.dtype), np.ravel(array.T)])
        made[str(k)] = storage = Storage(kind, str(k), flat)
        stride = tuple(s // array.itemsize for s in np.array(array.T, order="C").T.strides)
        state[name] = Tensor(torch._utils._rebuild_tensor_v2, storage, 2, array.shape, stride)
    state._metadata = collections.OrderedDict()  # torch keeps versions here

    class Pickler(pickle._Pickler):
        def persistent_id(self, obj):
            if isinstance(obj, Storage):
                return ("storage", obj.kind, obj.key, "cpu", len(obj.array), *([None] if legacy else []))

    stream = io.BytesIO()
    Pickler(stream, protocol).dump(state)
    return stream.getvalue(), made


def torch_legacy(torch, tensors):
    text, storages = torch_pickle(torch, tensors, legacy=True)
    facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    parts = [pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.dumps(1001, 2), pickle.dumps(facts, 2), text]
    parts.append(pickle.dumps(list(storages), 2))
    parts += [len(s.array).to_bytes(8, "little") + s.array.tobytes() for s in storages.values()]
    return b"".join(parts)


def torch_zip(torch, tensors):
    text, storages = torch_pickle(torch, tensors, legacy=False)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/byteorder", "little")
        for key, storage in storages.items():
            archive.writestr(f"archive/data/{key}", storage.array.tobytes())
    return stream.getvalue()


def albert_folder(folder, tensors=None, n_heads=3, file="model.safetensors", data=None, **config):
    """A model in the layout of Hugging Face."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tensors or albert_tensors()
    dim = next((array.shape[-1] for array in tensors.values() if array.ndim), 12)
    settings = {"model_type": "albert", "num_attention_heads": n_heads, "hidden_size": dim, "num_hidden_layers": 4}
    (folder / "config.json").write_text(json.dumps({**settings, **config}))
    (folder / file).write_bytes(safetensors(tensors) if data is None else data)
    return folder

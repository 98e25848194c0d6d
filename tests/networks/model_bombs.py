"""Small files that were made to take gigabytes or hours of whoever reads them as a model; and what one takes.

As a program: reads the model at a path, and tells what that took, in a process of its own.
"""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for those it runs
from checkpoints import albert_folder, albert_tensors, safetensors

CONFIG = {"model_type": "albert", "num_attention_heads": 3, "hidden_size": 12, "num_hidden_layers": 4}
DEEP = b"[" * 200_000 + b"]" * 200_000


def zeros(mb):
    """JSON of that many megabytes, nearly all of it blank, in parts."""
    yield b"{"
    for _ in range(mb):
        yield b" " * (1 << 20)
    yield b"}"


def zipped(path, **parts):
    """A zip of files, each an iterable of bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, made in parts.items():
            with archive.open(f"m/{name}", "w", force_zip64=True) as out:
                for part in made:
                    out.write(part)
    return path


def tgz(path, mb, kind=tarfile.REGTYPE):
    """A .tgz of one file, a config.json or a header that tar reads for itself, of that many megabytes."""
    member = tarfile.TarInfo("m/config.json")
    member.size, member.type = mb << 20, kind
    with gzip.open(path, "wb") as out:
        out.write(member.tobuf(tarfile.GNU_FORMAT))
        for part in zeros(mb):
            out.write(part[: 1 << 20])
    return path


def doubled(times=60):
    """Operations that leave on the stack a tuple of twice a tuple of twice ..., in a few bytes."""
    return b")" + b"".join(b"q" + bytes([k]) + b"h" + bytes([k]) + b"\x86" for k in range(times))


def words(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def storage(key):
    """The operations of a storage with such a key."""
    return b"(" + words("storage") + b"ctorch\nFloatStorage\n" + key + words("cpu") + b"K\x0ctQ"


def tensor(of, shape=b"K\x0c\x85", stride=b"K\x01\x85"):
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + of + b"K\x00" + shape + stride + b"\x89}tR"


PICKLES = {
    "hash of a key": b"}" + doubled() + b"K\x01s.",
    "hash of many keys": b"}(" + doubled() + b"K\x01u.",
    "hash in an OrderedDict": b"ccollections\nOrderedDict\n](" + doubled() + b"K\x01\x86e\x85R.",
    "hash in a set": b"\x8f(" + doubled() + b"\x90.",
    "str of a key of a storage": b"}" + words("a") + tensor(storage(doubled())) + b"s.",
    "repr of a storage": b"(" + words("storage") + doubled() + b"K\x01K\x01K\x01tQ.",
    "repr of a shape": b"}" + words("a") + tensor(storage(words("0")), doubled()) + b"s.",
    "repr of a stride": b"}" + words("a") + tensor(storage(words("0")), stride=doubled() + b"\x85") + b"s.",
    "a bytearray of 64 GB": b"\x96" + struct.pack("<Q", 64 << 30) + b".",
    "many long shapes": b"(" + b"K\x01" * 20_000 + b"tq\x000}"
    + b"".join(words(str(k)) + tensor(storage(words("0")), b"h\x00", b"h\x00") + b"s" for k in range(2_000)) + b".",
}  # fmt: skip


def torch_file(folder, text):
    """A model whose weights are a zip of torch.save with such a pickle."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + text)
        archive.writestr("archive/data/0", np.zeros(12, "<f4").tobytes())
    return albert_folder(folder, file="pytorch_model.bin", data=stream.getvalue())


def legacy_keys(folder):
    """The older format, whose list of keys is a bomb."""
    facts = {"protocol_version": 1001, "little_endian": True}
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, facts)]
    data = b"".join([*parts, b"\x80\x02}.", b"\x80\x02](" + doubled() + b"e."])
    return albert_folder(folder, file="pytorch_model.bin", data=data)


def folder_with(folder, name, data):
    """A model one of whose files is this."""
    albert_folder(folder)
    if name != "config.json":
        (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(data)
    return folder


def many_models(path, count):
    """A zip of so many models, all of them small."""
    weights = safetensors(albert_tensors(dim=1))
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(count):
            archive.writestr(f"{k}/config.json", json.dumps(CONFIG))
            archive.writestr(f"{k}/model.safetensors", weights[:8])
    return path


def bombs(place, mb=300, models=15_000):
    """Each by its name: a function that makes it in a folder and gives its path."""
    config = [json.dumps(CONFIG).encode()]
    made = {
        "zip of a long config": lambda: zipped(
            place / "a.zip", **{"config.json": zeros(mb), "model.safetensors": [b"x"]}
        ),
        "zip of long weights": lambda: zipped(
            place / "b.zip", **{"config.json": config, "model.safetensors": zeros(mb)}
        ),
        "tgz of a long config": lambda: tgz(place / "c.tgz", mb),
        "tgz with a long header": lambda: tgz(place / "d.tgz", mb, tarfile.XHDTYPE),
        "tgz with a long name": lambda: tgz(place / "e.tgz", mb, tarfile.GNUTYPE_LONGNAME),
        "zip of many models": lambda: many_models(place / "f.zip", models),
        "deep config": lambda: folder_with(place / "g", "config.json", DEEP),
        "deep value of a config": lambda: folder_with(
            place / "h", "config.json", b'{"a":' + DEEP[100_000:300_000] + b"}"
        ),
        "long config": lambda: folder_with(place / "i", "config.json", b"[" + b"[]," * (mb << 18) + b"1]"),
        "deep index": lambda: folder_with(place / "j", "model.safetensors.index.json", DEEP),
        "deep header": lambda: folder_with(
            place / "k", "model.safetensors", struct.pack("<Q", len(DEEP) + 6) + b'{"a":' + DEEP + b"}"
        ),
        "keys of the older format": lambda: legacy_keys(place / "l"),
    }
    for k, (name, text) in enumerate(PICKLES.items()):
        made[name] = lambda k=k, text=text: torch_file(place / f"p{k}", text)
    return made


def measured(path, seconds=60.0):
    """What reading a model takes in a process of its own: megabytes over those of a good one, seconds, the sentence."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, str(path)], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"mb": None, "s": seconds, "said": "RAW still reading"}
    if done.returncode:
        return {"mb": None, "s": None, "said": f"RAW {done.stderr[-200:]}"}
    return json.loads(done.stdout)


def main():
    """See the head of this file."""
    import tempfile
    import time

    from tokenflock import networks
    from tokenflock.errors import FileError

    def most_mb():
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

    with tempfile.TemporaryDirectory() as good:
        networks.read(albert_folder(Path(good) / "m"))
    before, began, said = most_mb(), time.perf_counter(), "read"
    try:
        networks.read(sys.argv[1])
    except FileError as error:
        said = str(error)
    except BaseException as error:
        said = f"RAW {type(error).__name__}: {error}"[:200]
    print(json.dumps({"mb": most_mb() - before, "s": time.perf_counter() - began, "said": said}))


if __name__ == "__main__":
    main()

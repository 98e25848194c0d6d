"""Weights of trained networks: every format read to the bit, every damaged or hostile file refused with the reason."""

import os
import pickle
import zipfile

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
from tokenflock.errors import FileError, SpecError
from tokenflock.networks import albert, tensors
from tolerances import close


@pytest.fixture
def torch(monkeypatch):
    return fake_torch(monkeypatch)


@pytest.fixture(autouse=True)
def no_weights_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.delenv(albert.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


def written(kind, made, torch):
    return {
        "safetensors": safetensors,
        "legacy": lambda t: torch_legacy(torch, t),
        "zip": lambda t: torch_zip(torch, t),
    }[kind](made)


FORMATS = pytest.mark.parametrize("kind", ["safetensors", "legacy", "zip"])


@FORMATS
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2"])
def test_every_format_is_read_to_the_bit(kind, dtype, torch):
    made = {**albert_tensors(dtype=dtype), "scalar": np.array(3.5, dtype), "none": np.zeros((0, 4), dtype)}
    found = tensors.read(written(kind, made, torch), "file")
    assert list(found) == list(made)
    for name, array in made.items():
        assert found[name].dtype == array.dtype
        assert_array_equal(found[name], array, strict=True)


@FORMATS
def test_bfloat16_is_the_upper_half_of_a_float32(kind, torch):
    numbers = np.array([1.0, -2.5, 3.140625, 0.0, 1e30, -1e-30], dtype="<f4")
    bits = (numbers.view("<u4") >> 16).astype("<u2")
    found = tensors.read(written(kind, {"b": bits}, torch), "file")["b"]
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
    found = tensors.read((tmp_path / "x.bin").read_bytes(), "x.bin")
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
        tensors.read(data, "weights.bin")
    assert not (tmp_path / "evil").exists()
    pickle.loads(bad)  # the same bytes, trusted, do run
    assert (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["builtins eval", "torch load", "torch._utils _rebuild", "collections defaultdict"])
def test_other_names_are_refused(name):
    module, function = name.split()
    data = b"\x80\x02c" + f"{module}\n{function}\n".encode() + b"."
    with pytest.raises(FileError, match=f"asks for {module}.{function}"):
        tensors.read(data, "weights.bin")


def test_a_pickle_cannot_change_the_functions_it_is_given():
    # (function, state) BUILD would set attributes of what find_class handed out.
    reach = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}X\x08\x00\x00\x00__call__K\x01s\x86b."
    with pytest.raises(FileError, match="damaged or truncated"):
        tensors.read(reach, "weights.bin")
    assert callable(tensors._RebuildTensor())


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
        tensors.read(data, "weights.bin")


@FORMATS
def test_no_truncated_file_is_read(kind, torch):
    whole = written(kind, albert_tensors(dim=6), torch)
    for size in [0, 1, 7, 8, 9, *range(10, len(whole), 97), len(whole) - 1]:
        with pytest.raises(FileError, match=r"'cut.bin' (cannot be read|holds no tensors)"):
            tensors.read(whole[:size], "cut.bin")


def test_a_header_whose_length_looks_like_a_pickle_is_read():
    data = safetensors({"a": np.arange(3, dtype="<f4")}, multiple=128)
    assert data[:1] == b"\x80"
    assert_array_equal(tensors.read(data, "file")["a"], np.arange(3))


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
            tensors.read(good.replace(old, new, 1), "lies.safetensors")
    with pytest.raises(FileError, match="holds no tensors"):
        tensors.read(safetensors({}), "empty.safetensors")
    with pytest.raises(FileError, match=r"a pickle, but not one of torch.save"):
        tensors.read(pickle.dumps(17, 2), "seventeen.bin")


# ---------------------------------------------------------------------------------------------------------------------
# ALBERT


@FORMATS
def test_heads_are_slices_of_the_matrices_of_the_network(kind, torch, tmp_path):
    """Oracle: feed a vector through value and dense as the network does, with all heads but one silenced."""
    made = albert_tensors()
    file = "model.safetensors" if kind == "safetensors" else "pytorch_model.bin"
    folder = albert_folder(tmp_path / "model", file=file, data=written(kind, made, torch))
    value, dense = (made[f"{PREFIX}.{name}.weight"].astype(float) for name in ("value", "dense"))
    heads = albert.value_heads(folder)
    assert [(o.shape, v.shape) for o, v in heads] == [((12, 4), (4, 12))] * 3
    x = np.random.default_rng(1).standard_normal(12)
    for h, (output, read) in enumerate(heads):
        inner = value @ x
        inner[[k for k in range(12) if k // 4 != h]] = 0.0
        assert_allclose(output @ (read @ x), dense @ inner, **close("float64", 12, amplification=8))


def test_eigenvalues_are_those_of_the_large_matrix_without_its_zeros(tmp_path):
    for output, value in albert.value_heads(albert_folder(tmp_path / "model")):
        small, large = albert.eigenvalues(output, value), np.linalg.eigvals(output @ value)
        large = large[np.argsort(-np.abs(large))]
        assert np.abs(large[4:]).max() < 1e-10 < np.abs(large[:4]).min()
        for lam in small:
            assert np.abs(large[:4] - lam).min() < 1e-10
        assert (np.diff(small.real) <= 0).all()
        assert np.all(small[:-1].imag[np.diff(small.real) == 0] > 0), "of a pair the upper one first"


def test_the_initial_network_has_the_size_and_spread_of_the_config():
    model = albert.initial(dim=256, n_heads=8, scale=0.02, seed=3)
    assert (model.n_heads, model.dim, model.outputs.shape) == (8, 256, (8, 256, 32))
    for weights in (model.values, model.outputs):
        assert abs(weights.std() / 0.02 - 1) < 5 / np.sqrt(2 * weights.size)
    assert_array_equal(model.values, albert.initial(256, 8, 0.02, 3).values)
    with pytest.raises(SpecError, match="a divisor of dim = 10"):
        albert.initial(10, 3)


def test_wheels_and_folders_of_one_model_are_found(tmp_path, monkeypatch):
    folder = albert_folder(tmp_path / "albert-tiny")
    wheel = tmp_path / "weights" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(folder / "config.json", "tiny/models/a/config.json")
        archive.write(folder / "model.safetensors", "tiny/models/a/model.safetensors")
        archive.writestr("tiny/package.json", "{}")
    want = albert.read(folder)
    assert want.name == "albert-tiny"
    for place in (wheel, wheel.parent, folder / "model.safetensors", str(folder)):
        found = albert.read(place)
        assert_array_equal(found.values, want.values)
        assert found.digest == want.digest
        assert str(tmp_path) not in found.name
    assert albert.find() == albert.find("weights")  # beside the current directory
    monkeypatch.setenv(albert.VARIABLE, str(folder))
    assert albert.find() == folder
    assert albert.find(wheel) == wheel, "what is given comes first"


def test_without_weights_the_error_says_what_to_fetch(monkeypatch):
    with pytest.raises(
        FileError, match=r"at 'weights' \(TOKENFLOCK_WEIGHTS is not set\).*pip download --no-deps rxnmap"
    ):
        albert.find()
    monkeypatch.setenv(albert.VARIABLE, "nowhere")
    with pytest.raises(FileError, match=r"at 'nowhere' \(from TOKENFLOCK_WEIGHTS\)"):
        albert.find()
    with pytest.raises(FileError, match=r"at 'here' \(as given\)"):
        albert.read("here")


def test_models_that_cannot_be_used_are_named(tmp_path):
    def refused(match, name="model", **how):
        with pytest.raises(FileError, match=match):
            albert.read(albert_folder(tmp_path / name, **how))

    refused("a model of type 'bert'. Known: 'albert'", model_type="bert")
    refused("num_attention_heads = 'many'", n_heads="many")
    refused(r"should be square, for 5 equal heads", n_heads=5)
    refused("it is not an ALBERT model", tensors={"a": np.zeros(3, "<f4")})
    half = albert_tensors()
    del half[f"{PREFIX}.dense.weight"]
    refused(r"value \(12, 12\) and dense None", tensors=half)
    sick = albert_tensors()
    sick[f"{PREFIX}.value.weight"][2, 3] = np.nan
    refused("nan or inf", tensors=sick)
    folder = albert_folder(tmp_path / "two")
    with pytest.raises(SpecError, match=r"layer = 1 cannot be used. Allowed: 0 to 0"):
        albert.read(folder, layer=1)
    (folder / "config.json").write_text("{")
    with pytest.raises(FileError, match=r"config.json of .* is not JSON"):
        albert.read(folder)
    (folder / "config.json").unlink()
    with pytest.raises(FileError, match=r"has no config.json beside it"):
        albert.read(folder / "model.safetensors")


def test_places_with_no_model_or_several_are_named(tmp_path):
    place = tmp_path / "models"
    place.mkdir()
    with pytest.raises(FileError, match="should hold one model and holds: nothing of the kind"):
        albert.read(place)
    albert_folder(place / "a")
    albert_folder(place / "b")
    with pytest.raises(FileError, match="holds: a, b"):
        albert.read(place)
    (place / "a" / "model.safetensors").unlink()
    with pytest.raises(FileError, match=r"no weights. Wanted beside it: model.safetensors or pytorch_model.bin"):
        albert.read(place / "a")
    (tmp_path / "not.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FileError, match="cannot be read as a wheel or zip"):
        albert.read(tmp_path / "not.zip")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as archive:
        archive.writestr("a.txt", "")
    with pytest.raises(FileError, match="should hold one model and holds: none"):
        albert.read(tmp_path / "empty.whl")

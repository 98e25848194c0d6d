"""Every family of networks: what is read from its files is what transformers' own modules compute with.

The probe goes through the module: basis vectors are put in place of the tokens that attention is given, and its
weights and what it writes are compared with the heads that were read. Nothing is read twice under the same names.
"""

import dataclasses
import json
import re
import shutil
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tiny_networks import KINDS, inputs, parts, tiny
from tokenflock import networks
from tokenflock.errors import FileError, MissingExtra, install_command
from tokenflock.networks.gguf import halves
from tokenflock.networks.rotary import Rotary
from tolerances import close

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of torch and transformers are not ours
every_family = pytest.mark.parametrize("name", KINDS)


def saved(model, folder, kind="safetensors"):
    """A model's folder: whole or sharded safetensors, or pytorch_model.bin."""
    model.save_pretrained(folder, max_shard_size="4KB" if kind == "sharded" else "50GB")
    if kind == "bin":
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Networks by name with their folders, each made once."""
    kept = {}

    def make(name):
        if name not in kept:
            model = tiny(name)
            kept[name] = model, saved(model, tmp_path_factory.mktemp("families") / name)
        return kept[name]

    return make


def probe(model, tokens):
    """What every layer's attention makes of these tokens (n, d): weights (H, n, n) and what is written (n, d)."""
    written, hooks = [], []
    for reads, writes in parts(model):

        def exchange(_module, given, named):
            y = torch.tensor(tokens, dtype=torch.float32)[None]
            if "hidden_states" in named:
                return given, {**named, "hidden_states": y}
            return (y, *given[1:]), named

        hooks.append(reads.register_forward_pre_hook(exchange, with_kwargs=True))
        hooks.append(writes.register_forward_hook(lambda _module, _given, out: written.append(out[0].numpy())))
    with torch.no_grad():
        weights = model(**inputs(model, len(tokens)), output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    return [w[0].numpy() for w in weights], written


def visible(layer, n):
    """Which tokens (n, n) a token sees."""
    i, j = np.indices((n, n))
    seen = np.ones((n, n), dtype=bool) if not layer.causal else j <= i
    return seen if layer.window is None else seen & (i - j < layer.window)


def logits(layer, y):
    """(H, n, n), as `networks.layer` says."""
    sides = []
    for weight, bias, norm in (
        (layer.query, layer.query_bias, layer.query_norm),
        (layer.key, layer.key_bias, layer.key_norm),
    ):
        side = np.einsum("hkd,nd->hnk", weight, y) + (0 if bias is None else bias[:, None])
        side = side if norm is None else norm(side)
        sides.append(side if layer.rotary is None else layer.rotary.turn(side, np.arange(len(y))))
    s = layer.scale * np.einsum("hik,hjk->hij", *sides)
    return s if layer.cap is None else layer.cap * np.tanh(s / layer.cap)


def writes(layer, weights, y):
    """(n, d): what the heads write together, with these weights."""
    value = np.einsum("hkd,nd->hnk", layer.value, y) + (0 if layer.value_bias is None else layer.value_bias[:, None])
    out = np.einsum("hdk,hij,hjk->id", layer.output, weights, value)
    return out if layer.output_bias is None else out + layer.output_bias


def softmax(s, seen, sink=None):
    s = np.where(seen, s, -np.inf)
    if sink is not None:  # a column more, which goes nowhere
        s = np.concatenate([s, np.broadcast_to(sink[:, None, None], (*s.shape[:2], 1))], axis=-1)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    found = e / e.sum(axis=-1, keepdims=True)
    return found if sink is None else found[..., :-1]


def basis_tokens(model, dim):
    """Basis vectors in both orders, so that a causal model shows every pair; a few random tokens where it has more."""
    n = {"vit": 17, "deit": 18}.get(model.config.model_type, dim)
    rest = np.random.default_rng(3).standard_normal((n - dim, dim))
    return [np.concatenate([np.eye(dim)[order], rest]) for order in (slice(None), slice(None, None, -1))]


@every_family
def test_heads_are_those_the_module_computes_with(name, made):
    model, folder = made(name)
    network = networks.read(folder)
    blocks = network.n_layers // len(parts(model))
    for y in basis_tokens(model, network.dim):
        weights, written = probe(model, y)
        assert len(weights) == network.n_layers
        for l in range(network.n_layers):
            layer = network.layer(l)
            s, seen = logits(layer, y), visible(layer, len(y))
            bounds = close("float32", network.dim, amplification=40 + 4 * np.abs(s).max())
            assert_allclose(weights[l], softmax(s, seen, layer.sink), **bounds)
            assert_allclose(written[l], writes(layer, weights[l], y), **bounds)
    assert blocks == (network.n_layers if name == "albert" else 2 if name == "albert-groups" else 1)


@every_family
def test_the_probe_would_see_a_mistake(name, made):
    """Queries and keys exchanged, heads of the output moved on, positions left out: each is far from the module."""
    model, folder = made(name)
    layer = networks.read(folder).layer(0)
    y = basis_tokens(model, layer.dim)[0]
    weights, written = probe(model, y)
    swapped = softmax(np.swapaxes(logits(layer, y), 1, 2), visible(layer, len(y)))
    assert np.abs(swapped - weights[0]).max() > 1e-2
    moved = writes(layer, np.roll(weights[0], 1, axis=0), y)
    assert np.abs(moved - written[0]).max() > 1e-2
    if layer.rotary is not None:
        size = np.where(np.arange(layer.head_dim) < layer.rotary.width, layer.rotary.amplitude, 1.0)
        still = np.abs(layer.rotary.turn(np.ones((3, layer.head_dim)), np.zeros(3)) - size).max()
        assert still == 0.0
        assert (layer.rotary.amplitude > 1) == (name in ("gptoss", "phi3-long"))
        turned = layer.rotary.turn(np.ones((3, layer.head_dim)), np.arange(3))
        assert np.abs(turned[2] - size).max() > 1e-2
        assert_array_equal(turned[:, layer.rotary.width :], 1.0)


@every_family
def test_facts_are_those_of_the_configuration(name, made):
    model, folder = made(name)
    network = networks.read(folder)
    config = model.config
    assert (network.dim, network.n_heads) == (config.hidden_size, config.num_attention_heads)
    assert network.n_layers == config.num_hidden_layers
    assert network.n_groups == getattr(config, "num_key_value_heads", network.n_heads)
    assert network.causal == (
        name not in ("albert", "albert-groups", "bert", "electra", "roberta", "distilbert", "vit", "deit")
    )
    assert network.shared == name.startswith("albert")
    post = ("albert", "albert-groups", "bert", "bert-decoder", "electra", "roberta", "distilbert", "opt-post")
    assert network.norm == ("post" if name in post else "pre")
    rotary = ("neox", "llama", "mistral", "qwen", "smollm3", "gemma", "gptoss", "mixtral", "phi3")
    assert network.positions == ("rotary" if name.startswith(rotary) else "learned")
    assert networks.supported()[config.model_type] == network.family
    table = network.embeddings()
    if "word" in table:
        scale = 4.0 if name.startswith("gemma") else 1.0  # sqrt(16)
        assert_array_equal(table["word"], scale * model.get_input_embeddings().weight.detach().numpy())
    assert (network.final_norm() is None) == (network.norm == "post")


@pytest.mark.parametrize("kind", ["sharded", "bin"])
@pytest.mark.parametrize("name", ["albert", "bert", "gpt2", "neox", "opt", "llama"])
def test_shards_and_pickles_hold_the_same_network(name, kind, made, tmp_path):
    model, folder = made(name)
    want, found = networks.read(folder), networks.read(saved(model, tmp_path / name, kind))
    assert len(list((tmp_path / name).glob("*.safetensors"))) > 1 or kind == "bin"
    for l in range(want.n_layers):
        a, b = want.layer(l), found.layer(l)
        for part in ("query", "key", "value", "output"):
            assert_array_equal(getattr(a, part), getattr(b, part))
        assert_array_equal(a.feedforward.up, b.feedforward.up)
        assert_array_equal(a.attention_norm.weight, b.attention_norm.weight)


def test_each_token_is_sent_to_its_experts(made):
    """The router counts: fewer experts, weights that do not add up, or rows exchanged, and all is different."""
    from tokenflock.transformer import block

    for name in ("mixtral", "gptoss", "qwen3moe"):
        part = networks.read(made(name)[1]).layer(0).feedforward
        assert isinstance(part, networks.Experts)
        assert (part.n_experts, part.top) == (4, 2)
        y = np.random.default_rng(0).standard_normal((9, 16))
        want = block.feedforward(part, y)
        for change in ({"top": 1}, {"normalised": not part.normalised}, {"router": part.router[::-1]}):
            assert np.abs(block.feedforward(dataclasses.replace(part, **change), y) - want).max() > 1e-3
        s = y @ part.router.T + (0 if part.router_bias is None else part.router_bias)
        for i, row in enumerate(s):
            best = sorted(range(4), key=lambda e: -row[e])[:2]
            p = np.exp(row) / np.exp(row).sum()
            p = p / p[best].sum() if part.normalised else p
            slow = sum(p[e] * block.feedforward(part.expert(e), y[i : i + 1])[0] for e in best)
            assert_allclose(want[i], slow, rtol=1e-10, atol=1e-10)


def test_what_amplifies_turned_numbers_counts_to_the_form_of_a_head(made):
    from tokenflock.networks.spectra import Head

    layer = networks.read(made("gptoss")[1]).layer(0)
    size = layer.rotary.amplitude
    assert_allclose(Head.of(layer, 1).query, size * layer.query[1] * layer.attention_norm.weight)


@pytest.mark.parametrize(("kind", "words"), [("deepseek_v3", "latent attention"), ("gemma3", "language model alone")])
def test_what_is_not_read_says_why(kind, words, made, tmp_path):
    shutil.copytree(made("llama")[1], tmp_path / "x")
    config = json.loads((tmp_path / "x" / "config.json").read_text())
    (tmp_path / "x" / "config.json").write_text(json.dumps(config | {"model_type": kind}))
    with pytest.raises(FileError, match=words):
        networks.read(tmp_path / "x")


def test_half_precision_is_read_as_the_numbers_it_holds(tmp_path):
    model = tiny("llama").to(torch.bfloat16)
    network = networks.read(saved(model, tmp_path / "half"), dtype=np.float32)
    layer = network.layer(1)
    assert layer.query.dtype == np.float32
    want = model.model.layers[1].self_attn.q_proj.weight.float().detach().numpy()
    assert_array_equal(layer.query.reshape(want.shape), want)


def test_single_precision_changes_nothing_in_what_is_said_of_heads(made):
    folder = made("llama")[1]
    one, other = (networks.heads(networks.read(folder, dtype=dtype)) for dtype in ("float32", "float64"))
    assert one.identical(other)


def test_grouped_heads_repeat_their_keys_and_values(made):
    layer = networks.read(made("llama")[1]).layer(0)
    assert (layer.n_heads, layer.n_groups) == (4, 2)
    for part in (layer.key, layer.value):
        assert_array_equal(part[0], part[1])
        assert_array_equal(part[2], part[3])
        assert np.abs(part[1] - part[2]).max() > 0.1
    assert np.abs(layer.query[0] - layer.query[1]).max() > 0.1


def test_the_gain_is_that_of_the_norm_the_tokens_came_through(made):
    pre, post, shared = (networks.read(made(name)[1]) for name in ("gpt2", "bert", "albert"))
    assert_array_equal(pre.gain(1), pre.layer(1).attention_norm.weight)
    assert_array_equal(post.gain(1), post.layer(0).feedforward_norm.weight)
    assert_array_equal(post.gain(0), post.embeddings()["norm"].weight)
    assert_array_equal(shared.gain(0), shared.layer(2).feedforward_norm.weight)
    assert pre.blocks == [0, 1]
    assert shared.blocks == [0]
    assert networks.read(made("albert-groups")[1]).blocks == [0, 2]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"num_hidden_layers": 3}, "its config.json says 3 layers, and there is no tensor 'model.layers.2.self_attn"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers = 1000000000 in its config.json"),
        ({"rope_parameters": {"rope_theta": "x"}}, "does not say how rotary positions turn"),
        ({"rope_parameters": {"partial_rotary_factor": 3}}, "says that 12 of 4 numbers turn"),
        ({"rms_norm_eps": None, "num_key_value_heads": 3}, "4 heads and 3 groups of keys do not divide"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named(changed, said, made, tmp_path):
    folder = saved(made("llama")[0], tmp_path / "llama")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changed}))
    with pytest.raises(FileError, match=said):
        networks.read(folder).layer(0)


def test_rotary_positions_that_cannot_be_computed_are_named():
    with pytest.raises(FileError, match=r"rotary positions of kind 'longrope' cannot be computed"):
        _ = Rotary(4, 10_000.0, "longrope").frequencies
    with pytest.raises(FileError, match=r"of kind 'spiral' cannot be computed. Known: default, linear"):
        _ = Rotary(4, 10_000.0, "spiral").frequencies
    for kind in ("linear", "llama3", "yarn"):
        with pytest.raises(FileError, match=rf"of kind '{kind}' cannot be computed: their settings do not say \w+\."):
            _ = Rotary(4, 10_000.0, kind).frequencies
    with pytest.raises(FileError, match="settings do not say original_max_position_embeddings"):
        _ = Rotary(4, 10_000.0, "yarn").amplitude
    assert_allclose(Rotary(4, 100.0, "linear", {"factor": 2.0}).frequencies, [0.5, 0.05])


# ---------------------------------------------------------------------------------------------------------------------
# GGUF


def neighbours(matrix, n_heads):
    """What converters to GGUF do to the rows of queries and keys: halves become neighbours."""
    rows = matrix.reshape(n_heads, 2, -1, *matrix.shape[1:])
    return rows.swapaxes(1, 2).reshape(matrix.shape)


def write_gguf(path, model, arch="llama", quantised=None):
    """As the converters do: facts under the architecture's name, tensors by the package's own table of names."""
    import gguf

    config, writer = model.config, gguf.GGUFWriter(path, arch)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_token_list([f"word {k}" for k in range(200)])  # long: passed over
    if arch in ("gpt2", "bert"):
        writer.add_layer_norm_eps(getattr(config, "layer_norm_epsilon", 1e-12))
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_vocab_size(config.vocab_size)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        writer.add_key_length(config.head_dim if arch == "qwen3" else config.hidden_size // config.num_attention_heads)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[arch.upper()], config.num_hidden_layers)
    for name, given in state_of(model).items():
        array = given
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if target is None:  # heads for training
            continue
        if arch == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            array = neighbours(array, heads)
        if arch == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            array = np.ascontiguousarray(array.T)
        if quantised and array.ndim == 2:
            kind = gguf.GGMLQuantizationType[quantised]
            writer.add_tensor(target, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(target, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def state_of(model):
    """Arrays by the names that converters see: with the first part for Qwen, without it for BERT."""
    first = {"qwen2": "model.", "qwen3": "model."}.get(model.config.model_type, "")
    return {first + name.removeprefix("bert."): tensor.numpy() for name, tensor in model.state_dict().items()}


def assert_same_layers(want, found):
    biases = ("query_bias", "key_bias", "value_bias", "output_bias")
    for l in range(want.n_layers):
        a, b = want.layer(l), found.layer(l)
        for part in ("query", "key", "value", "output", *biases):
            assert_array_equal(getattr(a, part), getattr(b, part), err_msg=part)
        for part in ("up", "down", "gate", "up_bias", "down_bias"):
            assert_array_equal(getattr(a.feedforward, part), getattr(b.feedforward, part), err_msg=part)
        for part in ("attention_norm", "feedforward_norm", "query_norm", "key_norm"):
            one, other = getattr(a, part), getattr(b, part)
            assert (one is None) == (other is None)
            if one is not None:
                assert_array_equal(one.weight, other.weight)
                assert_allclose(one.eps, other.eps)
        assert (a.rotary and a.rotary.base) == (b.rotary and b.rotary.base)
        assert (a.causal, a.order, a.scale, a.n_groups) == (b.causal, b.order, b.scale, b.n_groups)
    assert_array_equal(found.embeddings()["word"], want.embeddings()["word"])
    if want.final_norm() is not None:
        assert_array_equal(found.final_norm().weight, want.final_norm().weight)


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gpt2", "bert"])
def test_a_gguf_file_holds_the_network_it_was_made_of(arch, made, tmp_path):
    pytest.importorskip("gguf", reason="gguf is not installed")
    model, folder = made(arch)
    want, found = networks.read(folder), networks.read(write_gguf(tmp_path / "tiny.gguf", model, arch))
    assert (found.family, found.name, found.head_dim) == (want.family, "tiny", want.head_dim)
    assert_same_layers(want, found)


@pytest.mark.parametrize(("kind", "bytes_of_a_block"), [("Q8_0", 34), ("Q4_0", 18)])
def test_quantised_numbers_are_what_their_bytes_say(kind, bytes_of_a_block, tmp_path):
    """A block is 32 numbers: a scale in half precision, then bytes (Q8_0) or pairs of 4 bits less 8 (Q4_0)."""
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    model = tiny("llama", hidden_size=32, intermediate_size=64)
    network = networks.read(write_gguf(tmp_path / "small.gguf", model, quantised=kind))
    weight = model.state_dict()["model.layers.0.self_attn.v_proj.weight"].numpy()
    found = network.layer(0).value[::2].reshape(weight.shape)
    raw = gguf.quantize(weight, gguf.GGMLQuantizationType[kind]).reshape(-1, bytes_of_a_block)
    want = []
    for block in raw:
        scale = float(block[:2].view("<f2")[0])
        if kind == "Q8_0":
            want += [scale * int(b) for b in block[2:].view("i1")]
        else:
            want += [scale * ((int(b) & 15) - 8) for b in block[2:]] + [scale * ((int(b) >> 4) - 8) for b in block[2:]]
    assert_allclose(found.ravel(), want, rtol=1e-6)
    assert np.abs(found - weight).max() < np.abs(weight).max() * (1 / 100 if kind == "Q8_0" else 1 / 6)


@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_transformers_reads_the_same_out_of_a_gguf_file(arch, made, tmp_path):
    """The order of rows and the transposes are not our idea: transformers, given the same file, agrees."""
    pytest.importorskip("gguf", reason="gguf is not installed")
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    model = made(arch)[0]
    path = write_gguf(tmp_path / "tiny.gguf", model, arch)
    theirs = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    layer = networks.read(path).layer(1)
    if arch == "llama":
        query, output = (theirs[f"model.layers.1.self_attn.{name}.weight"].numpy() for name in ("q_proj", "o_proj"))
    else:
        query = theirs["transformer.h.1.attn.c_attn.weight"].numpy()[:, :16].T
        output = theirs["transformer.h.1.attn.c_proj.weight"].numpy().T
    assert_array_equal(layer.query.reshape(query.shape), query)
    assert_array_equal(np.concatenate(list(layer.output), axis=1), output)


def test_damaged_gguf_files_are_refused(made, tmp_path):
    pytest.importorskip("gguf", reason="gguf is not installed")
    whole = write_gguf(tmp_path / "tiny.gguf", made("llama")[0]).read_bytes()
    path = tmp_path / "cut.gguf"
    for size in [0, 3, 8, 23, *range(24, len(whole), len(whole) // 40), len(whole) - 33]:
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"cut.gguf' cannot be read"):
            networks.read(path)
    for old, new, said in [
        (b"GGUF", b"GGUE", "does not begin as a GGUF file"),
        (b"GGUF\x03", b"GGUF\x09", "is of GGUF version 9"),
        (
            b"\x05\x00\x00\x00\x00\x00\x00\x00llama",
            b"\x05\x00\x00\x00\x00\x00\x00\x00mamba",
            "architecture 'mamba' .*Supported in GGUF: llama",
        ),
    ]:
        path.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(FileError, match=said):
            networks.read(path)


def test_without_the_package_a_gguf_file_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(
        MissingExtra, match=f"reading x.gguf needs gguf. Install.*{re.escape(install_command('networks'))}"
    ):
        networks.read(tmp_path / "x.gguf")


def test_turning_halves_after_the_reordering_is_turning_neighbours_before():
    """In a GGUF file numbers 2p and 2p + 1 of a head turn; here p and p + k/2 turn."""
    rng = np.random.default_rng(0)
    raw, y = rng.standard_normal((2, 6, 5)), rng.standard_normal((4, 5))  # queries and keys of one head of 6
    rotary = Rotary(6, 10_000.0)
    sides = []
    for weight in raw:
        side = y @ weight.T
        turned = np.empty_like(side)
        for i in range(len(y)):
            for p, frequency in enumerate(rotary.frequencies):
                c, s = np.cos(i * frequency), np.sin(i * frequency)
                turned[i, 2 * p] = c * side[i, 2 * p] - s * side[i, 2 * p + 1]
                turned[i, 2 * p + 1] = s * side[i, 2 * p] + c * side[i, 2 * p + 1]
        sides.append(turned)
    ours = [rotary.turn(y @ halves(weight, 6).T, np.arange(4)) for weight in raw]
    assert_allclose(ours[0] @ ours[1].T, sides[0] @ sides[1].T, **close("float64", 6, amplification=16))

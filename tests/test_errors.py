"""What an error suggests: our word for what a thing is called elsewhere, and the nearest name else."""

import inspect
import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

import tokenflock as flock
from tokenflock import cli
from tokenflock.cli.simulate import FLAGS, RENAMED

WEB = Path(__file__).parents[1] / "web" / "src"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run(engine="cuda"), "unknown engine 'cuda'. Did you mean 'gpu'"),
        (lambda: run(engine="numpy"), "unknown engine 'numpy'. Did you mean 'reference'"),
        (lambda: run(scheme="dopri5"), "unknown scheme 'dopri5'. Did you mean 'tsit5'"),
        (lambda: run(dtype="double"), "unknown dtype 'double'. Did you mean 'float64'"),
        (lambda: flock.Model(dim=2, mask="bidirectional"), "Did you mean 'full'"),
        (lambda: flock.Model(dim=2, space="circle"), "The circle is space='sphere' with dim=2. Known: sphere"),
        (lambda: flock.Frozen(tokens=lambda t: t), "Weights that change with time: query, key, value, beta"),
        (lambda: flock.transformer.wording.check("a text", 9, None), "Of a text: flock.transformer.wording.Encoder("),
        (lambda: flock.Model(dim=2, space="spere"), "Did you mean 'sphere'"),
    ],
)
def test_words_of_elsewhere_are_understood(call, words):
    with pytest.raises(flock.errors.SpecError) as error:
        call()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("told", "command"),
    [
        ({"url": "file:///home/me/my%20flock", "dir_info": {"editable": True}}, "-e '/home/me/my flock[gpu]'"),
        ({"url": "file:///nowhere", "dir_info": {}}, "'tokenflock[gpu]'"),
        ({"url": "https://example.org/tokenflock.whl"}, "'tokenflock[gpu]'"),
        (None, "'tokenflock[gpu]'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(monkeypatch, told, command):
    assert installing(monkeypatch, told) == f"pip install {command}"


def test_a_clone_that_was_installed_as_it_was_is_installed_again(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").touch()
    told = {"url": tmp_path.as_uri(), "dir_info": {}}
    assert installing(monkeypatch, told) == f"pip install {shlex.quote(f'{tmp_path}[gpu]')}"


def installing(monkeypatch, told):
    wrote = SimpleNamespace(read_text=lambda name: None if told is None else json.dumps(told))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: wrote)
    return flock.errors.install_command("gpu")


def run(**how):
    return flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, **how)


def test_a_flag_a_key_and_an_argument_have_one_name():
    takes = {
        "model": inspect.signature(flock.Model).parameters,
        "start": {*inspect.signature(flock.uniform).parameters, "kind", "file"},
        "simulate": inspect.signature(flock.simulate).parameters,
    }
    flags = {p.name: p.opts for p in get_command(cli.app).commands["simulate"].params}
    for name, section in FLAGS.items():
        key = RENAMED.get(name, name)
        assert key in takes[section], (name, section)
        assert f"--{name.replace('_', '-')}" == flags[name][0], name
    assert {"--n-tokens", "--n"} < set(flags["tokens"])  # the argument's name and the letter of the papers work too
    assert "--d" in flags["dim"]
    assert "--T" in flags["t_end"]


def test_the_page_calls_its_fields_by_the_same_names():
    sources = "".join((WEB / name).read_text() for name in ("controls.ts", "options.ts"))
    for label, name in (("tokens n", "n_tokens"), ("dim d", "dim"), ("t_end", "t_end"), ("seed", "seed"), ("dt", "dt")):
        assert f'"{label}"' in sources, label
        assert f'"{name}"' in sources, name

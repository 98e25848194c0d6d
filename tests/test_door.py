"""`.flock` on every Dataset, the reference in `help`, and names that need an extra which is not installed."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import tokenflock as flock
from tokenflock.door import MARK, AfterImport, document, entries, said_by_name
from tokenflock.errors import SpecError
from waiting import LONG_S


def said(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG_S
    ).stdout.strip()


@pytest.mark.parametrize(
    "imports",
    ["import tokenflock, xarray", "import xarray, tokenflock", "from xarray import Dataset; import tokenflock, xarray"],
)
def test_every_dataset_has_flock_whatever_is_imported_first(imports):
    assert (
        said(f"{imports}; print(hasattr(xarray.Dataset, 'flock'), 'numpy' in __import__('sys').modules)") == "True True"
    )


def test_a_run_that_xarray_opens_has_flock(tmp_path):
    run = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 1.0)
    flock.save(run, tmp_path / "run.zarr")
    code = (
        "import tokenflock, xarray as xr, importlib.util as u; u.find_spec('xarray');"
        f"run = xr.open_zarr({str(tmp_path / 'run.zarr')!r}, consolidated=False);"
        "print(run.flock.diagnose(again=False))"
    )
    assert said(code).startswith("5 tokens in dimension 2")


def test_flock_is_registered_once_where_we_import_xarray_ourselves():
    code = (
        "import warnings; warnings.simplefilter('error'); from tokenflock.accessor import register;"
        "register(); register(); import xarray; print(xarray.Dataset.flock.__name__)"
    )
    assert said(code) == "RunMethods"


def test_without_our_finder_there_is_no_flock():
    # The check above can fail: without the finder, xarray alone does not know the name.
    code = (
        "import sys, tokenflock; sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != 'AfterImport'];"
        "import xarray; print(hasattr(xarray.Dataset, 'flock'))"
    )
    assert said(code) == "False"


def test_what_comes_after_an_import_runs_once_it_is_whole_and_other_modules_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / "late_module.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = []
    finder = AfterImport(lambda name: (lambda module: seen.append(module.value)) if name == "late_module" else None)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    assert finder.find_spec("json", None) is None
    import late_module

    assert seen == [late_module.value] == [3]
    monkeypatch.delitem(sys.modules, "late_module")


def test_importing_tokenflock_reads_no_reference():
    assert said("import tokenflock; from tokenflock.door import entries; print(entries.cache_info().currsize)") == "0"


@pytest.mark.parametrize("name", [name for name in entries() if name.startswith("flock.") and "Flow" not in name])
def test_help_shows_the_reference_of_every_public_name(name):
    if name in ("flock.Schedule", "flock.gradient"):
        pytest.importorskip("torch")
    thing = flock
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    assert MARK in thing.__doc__
    assert ">>>" in thing.__doc__.partition(MARK)[2]
    assert entries()[name] in thing.__doc__
    assert thing.__doc__.count(MARK) == 1


def test_a_docstring_has_no_margin_beside_its_reference():
    lines = flock.sweep.__doc__.splitlines()
    assert "**What to run**" in lines


def test_help_of_the_model_has_fields_formulas_and_an_example():
    told = said("import tokenflock as flock; help(flock.Model)")
    for words in (
        "normaliser",
        "beta: inverse temperature",
        "(E6)  sphere      x_i' = P_{x_i} D_i / s_i",
        ">>> flock.Model(",
    ):
        assert words in told


def test_names_that_share_their_last_part_keep_their_own_words():
    module = ModuleType("tokenflock.somewhere.clusters")
    exec("def count(x):\n    '''Mine.'''", module.__dict__)
    document(module, {"count": "tokenflock.elsewhere"}, {"analysis": "tokenflock.analysis"})
    assert module.count.__doc__ == "Mine."


def test_help_needs_no_extra():
    code = (
        "import sys; sys.modules['torch'] = None\nimport tokenflock as flock\n"
        "help(flock.Flow); help(flock.gradient)\n"
        "try:\n    flock.Flow(flock.Model(dim=2))\n"
        "except flock.errors.MissingExtra as error:\n    print('REFUSED', error)"
    )
    told = said(code)
    assert "trainable" in told
    assert "REFUSED flock.Flow and flock.gradient needs torch" in told
    assert ">>> value, slopes = flock.gradient(" in told


def test_methods_of_a_run_say_what_they_take():
    run = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 1.0)
    assert set(dir(run.flock)) >= {"plot", "animate", "clusters", "diagnose", "view"}
    for name in dir(run.flock):
        if name != "view":  # it needs the extra notebook
            assert getattr(run.flock, name).__doc__, name
    with pytest.raises(AttributeError, match=r"run.flock has no 'plott'. It has again, animate, clusters"):
        run.flock.plott  # noqa: B018


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: flock.uniform(n=20, dim=2),
            "argument of flock.uniform 'n'. Did you mean 'n_tokens'? Known: n_tokens, dim",
        ),
        (lambda: flock.uniform(20, 2, sed=1), "argument of flock.uniform 'sed'. Did you mean 'seed'?"),
        (
            lambda: flock.uniform(20),
            "flock.uniform lacks dim. It takes: n_tokens, dim, seed, runs. `help(flock.uniform)`",
        ),
        (
            lambda: flock.uniform(20, 2, 0, None, 1),
            "5 arguments of flock.uniform stand without a name. Allowed: n_tokens",
        ),
        (lambda: flock.uniform(20, 2, dim=2), "dim of flock.uniform is given twice: in its place, and by its name."),
        (
            lambda: flock.Model(2),
            "1 arguments of flock.Model stand without a name. Allowed: none; the others by name: dim",
        ),
        (lambda: flock.Model(d=2), "argument of flock.Model 'd'. Did you mean 'dim'?"),
        (lambda: flock.Model(dim=2, V=np.eye(2)), "argument of flock.Model 'V'. Did you mean 'value'?"),
        (lambda: flock.Model(dim=2).with_options(V=1), "argument of flock.Model 'V'. Did you mean 'value'?"),
        (lambda: flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), T=3.0), "'T'. Did you mean 't_end'?"),
        (lambda: flock.analysis.clusters.count(flock.uniform(3, 2), threshold=1), "Did you mean 'radius'?"),
        (lambda: flock.sweep(flock.Model(dim=2), {"beta": [1]}, n=3, t_end=1), "'n'. Did you mean 'n_tokens'?"),
    ],
)
def test_a_call_with_other_arguments_says_which_are_meant(call, words):
    with pytest.raises(SpecError) as error:
        call()
    assert words in str(error.value)


def test_errors_inside_of_a_function_stay_as_they_are():
    def inside():
        return len(3)

    called = said_by_name(inside, "flock.inside")
    with pytest.raises(TypeError, match="has no len") as error:
        called()
    assert not isinstance(error.value, SpecError)
    assert said_by_name(called, "flock.inside") is called


def test_two_names_of_one_function_stay_one():
    assert flock.weights.goe is flock.weights.wigner

"""The plan of a sweep: strict about what it is told, and every run a function of the plan and a number alone."""

import inspect
import json
import math
import tomllib

import numpy as np
import pytest

import tokenflock as flock
from models import every_model_option, tokens_for
from small_sweeps import FAST, small_plan
from tokenflock.analysis import clusters, energy, metastability, renyi
from tokenflock.errors import FileError, SpecError
from tokenflock.options import Alibi, LayerNorm, Window
from tokenflock.sweeps import cost_estimate, shards, sweep, toml
from tokenflock.sweeps.axes import counter
from tokenflock.sweeps.plan import Plan
from tokenflock.sweeps.reducers import REDUCERS, read_record

BASE = {"start": {"n_tokens": 4}, "simulate": FAST}


def plan(axes, model=None, **changes):
    return Plan(model or flock.Model(dim=2), axes, **(BASE | changes))


# Axes


def test_axes_are_lists_ranges_labels_and_cases():
    made = plan(
        {
            "beta": {"log": [1.0, 100.0], "points": 3},
            "noise": {"linear": [0.0, 1.0], "points": 2},
            "value": {"plain": "identity", "weak": np.diag([1.0, 0.5])},
            "case": {"few": {"n_tokens": 3}, "cap": {"kind": "cap", "angle": 0.3}},
        },
        simulate={"t_end": 1.0, "scheme": "heun", "dt": 0.5, "engine": "reference"},
        replicates=5,
    )
    assert made.dims == ("beta", "noise", "value", "case", "replicate")
    assert made.shape == (3, 2, 2, 2, 5)
    np.testing.assert_allclose(made.axes[0].labels, [1, 10, 100], rtol=1e-15)
    assert made.axes[2].labels == ["plain", "weak"]
    setting = made.setting((2, 1, 1, 0))
    assert setting.model.beta == pytest.approx(100)
    assert setting.model.noise == 1.0
    assert setting.model.value.tolist() == [[1, 0], [0, 0.5]]
    assert setting.start(0, 0).shape == (3, 2)
    capped = made.setting((0, 0, 0, 1)).start(0, 0)
    assert capped.shape == (4, 2)
    assert np.abs(np.arctan2(capped[:, 1], capped[:, 0])).max() <= 0.3


def test_keys_inside_tables_and_parts_can_be_axes():
    made = plan(
        {"value.angle": [0.1, 0.2], "bias.slope": [0.0, 1.0], "mask.width": [2, 3]},
        model={"dim": 2, "value": {"family": "plane_rotation", "angle": 0.0}, "mask": Window(1)},
    )
    assert made.dims == ("value_angle", "bias_slope", "mask_width", "replicate")
    model = made.setting((1, 1, 0)).model
    assert model.value[1, 0] == math.sin(0.2)
    assert model.bias == Alibi(1.0)
    assert model.mask == Window(2)
    with pytest.raises(SpecError, match=r"Write it as a table: value = \{family = \.\.\., angle = \.\.\.\}"):
        plan({"value.angle": [0.1]}, model={"dim": 2, "value": "plane_rotation:0.3"})


def test_a_sections_name_may_stand_before_a_setting():
    assert plan({"start.n_tokens": [3, 4]}).dims == ("n_tokens", "replicate")
    with pytest.raises(SpecError, match=r"unknown axis 'model\.n_tokens'"):
        plan({"model.n_tokens": [3, 4]})


def test_draws_of_a_family_do_not_depend_on_the_other_axes():
    draws = {"family": "ginibre", "draws": 3}
    first = plan({"value": draws}).setting((2,)).model.value
    second = plan({"beta": [1.0, 2.0], "value": draws}, replicates=7).setting((1, 2)).model.value
    np.testing.assert_array_equal(first, second)
    others = [plan({"value": draws}, seed=seed).setting((k,)).model.value for seed in (0, 1) for k in range(3)]
    assert len({matrix.tobytes() for matrix in others}) == 6
    assert not np.array_equal(first, plan({"query": draws}).setting((2,)).model.query)


def test_a_function_may_make_the_model_and_its_parameters_are_axes():
    def turning(angle, gap=0.0):
        return flock.Model(dim=3, value=np.diag([1.0, 1.0 - gap, math.cos(angle)]))

    made = plan({"angle": [0.0, 1.0], "gap": [0.0, 0.5], "n_tokens": [4, 5]}, model=turning)
    assert made.shape == (2, 2, 2, 1)
    assert made.setting((1, 1, 1)).model.value[1, 1] == 0.5
    assert "turning" in json.dumps(made.describe())
    with pytest.raises(SpecError, match="unknown axis 'beta'"):
        plan({"beta": [1.0, 2.0]}, model=turning)


def test_a_start_may_be_a_function_or_an_array_of_runs():
    def start(seed, spread, dim):
        return flock.planted(6, dim, 2, spread, seed=seed)

    made = plan({"spread": [0.1, 0.2]}, start=start)
    np.testing.assert_array_equal(made.setting((1,)).start(7, 0), flock.planted(6, 2, 2, 0.2, seed=7))
    many = flock.uniform(4, 2, runs=3)
    held = plan({}, start=many, replicates=3)
    np.testing.assert_array_equal(held.setting(()).start(123, 2), many[2])
    with pytest.raises(SpecError, match="The start holds so many runs"):
        plan({}, start=many, replicates=4)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"bta": [1.0]}, "unknown axis 'bta'. Did you mean 'beta'"),
        ({"beta": []}, "at least one value"),
        ({"beta": [1.0, 1.0]}, "1.0 twice"),
        ({"beta": 3.0}, "a list of values"),
        ({"beta": "all"}, "a list of values"),
        ({"beta": [1.0, "two"]}, "[model] beta"),
        ({"seed": [1, 2]}, "Taken: replicate"),
        ({"replicate": [1, 2]}, "Taken: replicate"),
        ({"beta": {"log": [0.0, 1.0], "points": 3}}, "two finite numbers > 0"),
        ({"beta": {"log": [1.0, 2.0]}}, "one of linear or log, and points"),
        ({"beta": {"log": [1.0, 2.0], "linear": [1.0, 2.0], "points": 3}}, "one of linear or log, and points"),
        ({"beta": {"log": [1.0, 2.0], "pionts": 3}}, "Did you mean 'points'"),
        ({"beta": {"linear": 3, "points": 3}}, "two numbers: the first and the last"),
        ({"beta": {"linear": [1.0, 2.0], "points": 10**12}}, "at most 10,000,000"),
        ({"value": {"family": "ginibre", "draws": 0}}, "an integer >= 1"),
        ({"value": {"family": "ginibr", "draws": 2}}, "Did you mean 'ginibre'"),
        ({"value": {"family": "identity", "draws": 2}}, "which has no seed"),
        ({"value": {"family": "ginibre", "draws": 2, "seed": 1}}, "seeded by counter"),
        ({"case": {"a": {"beta": 1.0}, "b": {"bta": 1.0}}}, "Did you mean 'beta'"),
        ({"case": {"a": {}}}, "Any other name needs cases"),
        ({"beta": [-1.0, 2.0], "space": ["euclidean"]}, "There the sign belongs to query"),
        ({"n_tokens": [4, 0]}, "an integer >= 1"),
        ({"beta": [1.0], "model.beta": [2.0]}, "Two axes of one name"),
        ({"clusters": {"a": {"beta": 1.0}}}, "Name what is recorded"),
        ([1.0, 2.0], "a table {name: values}"),
        ({}, "nothing to sweep"),
    ],
)
def test_bad_axes_are_refused_with_the_reason(axes, words):
    with pytest.raises(SpecError) as refused:
        plan(axes)
    assert words in str(refused.value)


def test_a_grid_of_a_million_millions_is_refused_at_once():
    ten = {name: {"linear": [0.0, 1.0], "points": 1000} for name in ("beta", "noise", "rtol")}
    with pytest.raises(SpecError, match=r"1000 x 1000 x 1000 x 1000 = 1e\+12 runs.*at most 10,000,000 runs"):
        plan(ten, replicates=1000)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"replicates": 0}, "an integer >= 1"),
        ({"seed": -1}, "an integer >= 0"),
        ({"paired": "yes"}, "True or False"),
        ({"start": {"n_tokens": 4, "seed": 3}}, "set by counter"),
        ({"simulate": FAST | {"seed": 3}}, "set by counter"),
        ({"simulate": {"scheme": "rk4"}}, "lacks t_end"),
        ({"simulate": FAST | {"t_ned": 3}}, "Did you mean 't_end'"),
        ({"start": {"n_tokens": 4, "knd": "cap"}}, "unknown key of start"),
        ({"model": 3}, "a function that makes one"),
    ],
)
def test_a_bad_base_is_refused_before_anything_starts(changes, words):
    with pytest.raises(SpecError) as refused:
        plan({"beta": [1.0, 2.0]}, **changes)
    assert words in str(refused.value)


# Runs by number


def test_a_run_has_its_place_and_its_seed_whatever_else_there_is():
    made = plan({"beta": [1.0, 2.0], "n_tokens": [3, 4, 5]}, replicates=4, seed=9)
    assert made.n_runs == 24
    assert [made.place(run) for run in (0, 4, 23)] == [(0, 0, 0), (0, 1, 0), (1, 2, 3)]
    assert len({made.seed_of(run) for run in range(24)}) == 24
    assert made.seed_of(5) == counter(9, 0, 5)
    assert all(0 <= made.seed_of(run) < 2**63 for run in range(24))
    paired = plan({"beta": [1.0, 2.0]}, replicates=4, paired=True)
    assert [paired.seed_of(run) for run in range(4)] == [paired.seed_of(run) for run in range(4, 8)]
    assert len({paired.seed_of(run) for run in range(4)}) == 4


@pytest.mark.parametrize(("shape", "runs"), [((3, 2, 4), 4), ((3, 2, 4), 5), ((7,), 3), ((2, 101), 100), ((5, 1), 1)])
def test_boxes_cover_the_grid_once(shape, runs):
    grid = shards.cut(shape, runs)
    numbers = [run for shard in range(len(grid)) for run in grid.runs(shard)]
    assert sorted(numbers) == list(range(math.prod(shape)))
    assert max(grid.size(shard) for shard in range(len(grid))) <= max(runs, 1)
    for shard in range(len(grid)):
        index = np.arange(math.prod(shape)).reshape(shape)[grid.slices(shard)]
        assert index.ravel().tolist() == grid.runs(shard)


@pytest.mark.parametrize("named", list(every_model_option(5)), ids=str)
def test_a_run_has_the_bits_of_simulate(named):
    """The inner loop goes below flock.simulate: every option of a model must come out the same."""
    model, times = named.model, [0.5, 1.0]
    fixed = {"scheme": "heun", "dt": 0.25} if model.noise else {}
    made = Plan(model, {}, start={"array": tokens_for(model, 5)}, simulate={"t_end": 1.0, "times": times, **fixed},
                record=["trajectory"], replicates=2)  # fmt: skip
    arrays = shards.compute(made, shards.cut(made.shape, 2), 0)
    for replicate in range(2):
        seed = made.seed_of(replicate)
        assert arrays["seed"][replicate] == seed
        run = flock.simulate(model, tokens_for(model, 5), 1.0, times=times, seed=seed, **fixed)
        assert arrays["trajectory"][replicate].tobytes() == run["x"].values.tobytes()


def test_a_run_does_not_depend_on_its_shard():
    made = small_plan(replicates=5)
    by_one, by_seven = shards.cut(made.shape, 1), shards.cut(made.shape, 7)
    alone = np.concatenate([shards.compute(made, by_one, k)["overlap"].ravel() for k in range(len(by_one))])
    together = np.empty(made.shape)
    for k in range(len(by_seven)):
        together[by_seven.slices(k)] = shards.compute(made, by_seven, k)["overlap"]
    assert alone.tobytes() == together.tobytes()


@pytest.mark.parametrize("engine", ["auto", "cpu", "gpu"])
def test_runs_of_a_shard_go_together_with_the_bits_of_single_runs(engine):
    if engine == "gpu":
        pytest.importorskip("torch")
    made = Plan(flock.Model(dim=2, beta=4.0), {"beta": [1.0, 4.0]}, start={"n_tokens": 5},
                simulate={"t_end": 2.0, "engine": engine}, record=["positions"], replicates=3)  # fmt: skip
    alone = [shards.compute(made, shards.cut(made.shape, 1), k)["positions"] for k in range(6)]
    grid = shards.cut(made.shape, 3)
    together = [shards.compute(made, grid, k) for k in range(2)]
    by_themselves = [shards.compute(made, grid, k, alone=True) for k in range(2)]
    assert not any(reason for part in together for reason in part["reason"].ravel())
    assert np.stack(alone).tobytes() == np.stack([part["positions"] for part in together]).tobytes()
    assert np.stack(alone).tobytes() == np.stack([part["positions"] for part in by_themselves]).tobytes()


def test_which_runs_of_a_point_go_together():
    def at_once(model, some=3, **simulate):
        made = Plan(model, {}, start={"n_tokens": 5}, simulate={"t_end": 2.0, **simulate}, replicates=3)
        setting = made.setting(())
        return shards._at_once(setting, [lambda: setting.start(1, 0)] * some)

    plain = flock.Model(dim=2)
    assert at_once(plain) == 3
    assert at_once(plain, some=1) == 1
    assert at_once(plain, t_end=1e6) == 1, "it becomes implicit on its way"
    assert at_once(flock.Model(dim=2, noise=0.1), dt=0.1) == 1, "noise is seeded run by run"
    assert at_once(plain, engine="reference") == 1


def test_a_shard_in_which_a_start_fails_tells_of_that_run_and_has_the_others():
    def start(seed):
        if seed == bad_seed:
            raise ValueError("no such tokens")
        return flock.uniform(5, 2, seed=seed)

    bad_seed = -1
    made = Plan(flock.Model(dim=2), {}, start=start, simulate={"t_end": 2.0}, record=["positions"], replicates=4)
    bad_seed = made.seed_of(2)
    part = shards.compute(made, shards.cut(made.shape, 4), 0)
    assert [bool(reason) for reason in part["reason"]] == [False, False, True, False]
    assert "no such tokens" in part["reason"][2]
    assert np.isfinite(part["positions"][[0, 1, 3]]).all()


def test_the_seed_of_a_run_repeats_it_by_hand():
    table = sweep(flock.Model(dim=2), {"beta": [1.0, 4.0]}, n_tokens=4, record=["positions"], replicates=2, **FAST)
    one = table.sel(beta=4.0, replicate=1)
    start = flock.uniform(4, 2, seed=int(one["seed"]))
    run = flock.simulate(flock.Model(dim=2, beta=4.0), start, **FAST)
    assert one["positions"].values.tobytes() == run["x"].values[-1].tobytes()


# What is recorded


def trial(record, t_end=50.0, times="log:0.1:30", **model):
    """One compiled run, as a sweep and as a trajectory."""
    made = Plan(flock.Model(dim=3, beta=9.0, **model), {}, start={"n_tokens": 24},
                simulate={"t_end": t_end, "times": times}, record=record, replicates=2)  # fmt: skip
    arrays = shards.compute(made, shards.cut(made.shape, 2), 0)
    assert arrays["reason"].tolist() == ["", ""]
    start = flock.uniform(24, 3, seed=made.seed_of(1))
    run = flock.simulate(flock.Model(dim=3, beta=9.0, **model), start, t_end, times=made.times)
    return {name: array[1] for name, array in arrays.items()}, run


def test_reducers_say_what_the_analysis_says():
    found, run = trial([*REDUCERS])
    x, t = run["x"].values, run["time"].values
    counts = clusters.count(x, 0.05)
    assert found["clusters"] == counts[-1]
    assert found["counts"].tolist() == counts.tolist()
    sizes = np.sort(clusters.sizes(x[-1], 0.05))[::-1]
    assert found["sizes"].tolist() == [*sizes, *[-1] * (24 - len(sizes))]
    assert found["largest"] == sizes[0] / 24
    merges = metastability.merge_times(run, radius=0.05)
    np.testing.assert_array_equal(found["merge_times"], np.pad(merges, (0, 23 - len(merges)), constant_values=np.nan))
    longest = max((p for p in metastability.plateaus(t, counts) if p.count > 1), key=lambda p: p.end / p.begin)
    assert (found["plateau"], *found["plateau_ends"]) == (longest.count, longest.begin, longest.end)
    centers = renyi.centers(x[0], 4 / 3)
    assert found["centers"] == len(centers)
    assert found["strong_centers"] == len(renyi.strong_centers(x[0], 4 / 3))
    assert found["consumed"] == renyi.consumed(x[-1], centers, 0.05).mean()
    assert found["energy"] == energy.scaled_energy(x[-1], 9.0)
    np.testing.assert_array_equal(found["energies"], energy.scaled_energy(x, 9.0))
    assert found["overlap"] == (x[-1] @ x[-1].T).min()
    assert found["diameter"] == pytest.approx(np.linalg.norm(x[-1][:, None] - x[-1], axis=-1).max(), rel=1e-12)
    np.testing.assert_array_equal(found["trajectory"], x)
    np.testing.assert_array_equal(found["positions"], x[-1])
    assert found["steps"] == run.attrs["steps"]
    assert found["evaluations"] == run.attrs["evaluations"]
    assert 0 <= found["boolean"] <= 1
    assert math.isnan(found["boolean_time"])
    assert counts[-1] > 1
    assert math.isnan(found["collapse_time"])


def test_the_time_of_collapse_is_that_of_the_last_second_cluster():
    found, run = trial(["collapse_time", "counts"], t_end=1e9)
    counts = clusters.count(run["x"].values, 0.05)
    assert counts[-1] == 1
    assert found["collapse_time"] == run["time"].values[np.flatnonzero(counts > 1)[-1] + 1]


def test_boolean_runs_are_those_of_the_trajectory():
    model = flock.Model(dim=1, beta=1.0, value=[[1.0]], mask="full", space="rescaled")
    made = Plan(model, {}, start={"kind": "cube", "n_tokens": 8}, simulate={"t_end": 20.0, "times": 41},
                record=["boolean", "boolean_time"], replicates=3)  # fmt: skip
    arrays = shards.compute(made, shards.cut(made.shape, 3), 0)
    starts = [flock.cube(8, 1, seed=made.seed_of(k)) for k in range(3)]
    runs = [flock.simulate(model, x, 20.0, times=np.linspace(0, 20, 41)) for x in starts]
    assert arrays["boolean_time"].tolist() == [run.attrs["boolean_from"] for run in runs]
    assert (arrays["boolean"] > 0.5).all()


def test_runs_to_the_end_of_time_are_those_of_simulate():
    made = Plan(flock.Model(dim=2, beta=4.0), {}, start={"n_tokens": 4}, simulate={"t_end": math.inf},
                record=["collapse_time", "positions"], replicates=2)  # fmt: skip
    arrays = shards.compute(made, shards.cut(made.shape, 2), 0)
    run = flock.simulate(flock.Model(dim=2, beta=4.0), flock.uniform(4, 2, seed=made.seed_of(1)), math.inf)
    assert arrays["positions"][1].tobytes() == run["x"].values[-1].tobytes()
    assert 0 < arrays["collapse_time"][1] < run.attrs["t_end"]


def test_records_are_named_with_options_or_are_functions():
    made = read_record(["clusters:0.2", "counts:radius=0.3"])
    assert made["clusters"].options == {"radius": 0.2}
    assert made["counts"].options == {"radius": 0.3}
    made = read_record({"fine": {"reducer": "clusters", "radius": 0.01}, "energy": {}})
    assert made["fine"].function is REDUCERS["clusters"].function
    own = plan({"beta": [1.0, 2.0]}, record={"first": lambda run: run.final[0], "big": lambda run: len(run.final) > 3})
    assert own.record["first"].shape == (2,)
    assert own.record["big"].dtype == "int64"
    table = sweep(own, workers=0)
    assert table["first"].dims == ("beta", "replicate", "first_0")
    assert (table["big"].values == 1).all()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (["cluster"], "Did you mean 'clusters'"),
        ([], "at least one reducer"),
        (3, "a list of reducers"),
        (["clusters", "clusters"], "names that differ"),
        (["clusters:raduis=1"], "Did you mean 'radius'"),
        (["clusters:-1"], "radius = -1"),
        (["energy:3"], "takes no options"),
        ({"outcome": "clusters"}, "not those of a sweep"),
        ({"x y": "clusters"}, "names that are identifiers"),
        ({"a": 3}, "a function of a run"),
        ({"a": lambda run: run.nothing}, "raised AttributeError"),
        ({"a": lambda run: "words"}, "one that gives real numbers"),
    ],
)
def test_bad_records_are_refused_with_the_reason(record, words):
    with pytest.raises(SpecError) as refused:
        plan({"beta": [1.0, 2.0]}, record=record)
    assert words in str(refused.value)


def test_times_that_differ_have_no_time_axis():
    axes, free = {"t_end": [1.0, 2.0]}, FAST | {"times": 11}
    with pytest.raises(SpecError, match="kept times that differ from run to run"):
        plan(axes, record=["counts"], simulate=free)
    assert plan(axes, record=["collapse_time"], simulate=free).times is None
    assert plan(axes, record=["counts"]).sizes["time"] == 1


def test_sizes_are_those_of_the_largest_run():
    made = plan({"n_tokens": [3, 7], "case": {"flat": {"dim": 2}, "solid": {"dim": 3}}}, record=["positions"])
    assert made.shape_of(made.record["positions"]) == (7, 3)
    found = sweep(made, workers=0)["positions"]
    assert found.sel(n_tokens=3, case="flat").isnull().sum() == 7 * 3 - 3 * 2
    assert not found.sel(n_tokens=7, case="solid").isnull().any()


# The file


EXAMPLE = inspect.cleandoc(inspect.getdoc(toml).split("\n\n", 1)[1].rsplit("\n\n", 1)[0])


def written(folder, text):
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_the_example_of_the_module_is_a_sweep(tmp_path):
    made, told = toml.read(written(tmp_path, EXAMPLE))
    assert made.dims == ("beta", "value", "replicate")
    assert made.shape == (13, 20, 100)
    assert list(made.record) == ["clusters", "coarse", "merge_times"]
    assert told == {"timeout": 60.0, "hours": 8.0, "runs_a_shard": 50}


def test_a_file_and_a_call_are_the_same_plan(tmp_path):
    text = """
    [model]
    dim = 2
    mask = {window = 3, causal = true}
    layer_norm = "pre"
    [start]
    n_tokens = 4
    [simulate]
    t_end = 1.0
    [axes]
    beta = [1, 2]
    value = {family = "goe", draws = 2}
    [sweep]
    record = ["clusters"]
    replicates = 3
    seed = 5
    """
    made, _ = toml.read(written(tmp_path, inspect.cleandoc(text)))
    model = {"dim": 2, "mask": Window(3), "layer_norm": LayerNorm("pre")}
    called = Plan(model, {"beta": [1, 2], "value": {"family": "goe", "draws": 2}}, start={"n_tokens": 4},
                  simulate={"t_end": 1.0}, record=["clusters"], replicates=3, seed=5)  # fmt: skip
    grid = shards.cut(made.shape, 12)
    one, other = shards.compute(made, grid, 0), shards.compute(called, grid, 0)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_files_are_read_once(tmp_path):
    np.save(tmp_path / "v.npy", np.diag([1.0, 0.5]))
    np.save(tmp_path / "x.npy", flock.uniform(4, 2))
    text = '[model]\ndim = 2\nvalue = "v.npy"\n[start]\nfile = "x.npy"\n[simulate]\nt_end = 1.0\n'
    made, _ = toml.read(written(tmp_path, text + "[axes]\nbeta = [1.0, 2.0]\n"))
    (tmp_path / "v.npy").unlink()
    (tmp_path / "x.npy").unlink()
    assert made.setting((0,)).model.value[1, 1] == 0.5
    np.testing.assert_array_equal(made.setting((0,)).start(3, 0), flock.uniform(4, 2))


@pytest.mark.parametrize(
    ("find", "put", "words"),
    [
        ("[axes]", "[axis]", "unknown section 'axis'. Did you mean 'axes'"),
        ("replicates", "replicate", "Did you mean 'replicates'"),
        ("clusters = {}", "clusters = {raduis = 1}", "Did you mean 'radius'"),
        ("merge_times", "merge_time", "Did you mean 'merge_times'"),
        ("n_tokens = 32", "n_tokens = 32\nseed = 1", "seed is set by counter"),
        ("t_end = 50.0", "", "lacks t_end"),
        ('mask = "full"', 'msk = "full"', "Did you mean 'mask'"),
        ("points = 13", "points = 0", "an integer >= 1"),
        ("[sweep]", "[sweep]\nrecord = []", "Say once what to keep"),
        ("[start]", "[strt]", "unknown section 'strt'"),
    ],
)
def test_what_a_file_cannot_say(tmp_path, find, put, words):
    assert find in EXAMPLE
    with pytest.raises(SpecError) as refused:
        toml.read(written(tmp_path, EXAMPLE.replace(find, put)))
    assert words in str(refused.value)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(FileError, match=r"Give the name of a sweep\.toml"):
        toml.read(tmp_path / "nothing.toml")
    with pytest.raises(FileError, match="is a folder"):
        toml.read(tmp_path)
    with pytest.raises(SpecError, match="`tokenflock sweep --help` shows one"):
        toml.read(written(tmp_path, "= ="))


def test_the_example_of_the_project_is_a_sweep():
    from pathlib import Path

    path = Path(__file__).parents[2] / "examples" / "phase_diagram.toml"
    made, told = toml.read(path)
    assert made.n_runs == math.prod(made.shape) > 1000
    assert set(told) <= set(toml.EXECUTION)
    assert set(tomllib.loads(path.read_text())) <= set(toml.SECTIONS)


# The cost estimate


def test_the_cost_estimate_counts_runs_shards_time_and_disk():
    made = small_plan(replicates=50)
    told = cost_estimate.estimate_cost(made)
    assert told.runs == 300
    assert told.shards == len(shards.cut(made.shape, told.runs_a_shard))
    assert told.core_s == pytest.approx(300 * told.run_s)
    assert told.slowest_s >= told.run_s > 0
    assert told.disk_bytes >= 300 * (8 + 1 + 4 + 8)
    assert cost_estimate.estimate_cost(made, 10).runs_a_shard == 10


def test_a_shard_takes_about_a_second_and_fits_in_memory():
    made = small_plan(replicates=5)
    assert cost_estimate.shard_runs(made, 0.25) == 4
    assert cost_estimate.shard_runs(made, 10.0) == 1
    large = Plan(flock.Model(dim=2), {}, start={"n_tokens": 100_000}, simulate={"t_end": 1.0},
                 record=["positions"], replicates=500)  # fmt: skip
    assert cost_estimate.shard_runs(large, 1e-6) * cost_estimate.run_bytes(large) <= cost_estimate.SHARD_BYTES

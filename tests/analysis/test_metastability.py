"""Plateaus and mergers of staircases whose steps are known."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenflock as flock
from tokenflock.analysis import clusters, metastability
from tokenflock.analysis.metastability import Plateau, merge_times, plateaus
from tokenflock.errors import SpecError
from tokenflock.geometry import circle

GRID = np.geomspace(1, 1e6, 121)  # twenty a decade: a factor of 1.122 from one to the next


def stairs(*steps):
    """Counts on GRID: (from this time on, this many), ..."""
    counts = np.zeros(len(GRID), dtype=int)
    for begin, count in steps:
        counts[GRID >= begin * (1 - 1e-12)] = count
    return counts


def slow_plateaus(t, counts, ratio):
    """Without flicker: runs of equal counts, their ends half way to the next run in log time."""
    found, edge = [], t[0]
    for count, run in itertools.groupby(range(len(t)), key=lambda k: counts[k]):
        last = list(run)[-1]
        end = np.sqrt(t[last] * t[last + 1]) if last + 1 < len(t) else t[last]
        if end / edge >= ratio:
            found.append((count, edge, end))
        edge = end
    return found


def numbers(found):
    return [(p.count, p.begin, p.end) for p in found]


def test_a_staircase_has_its_steps():
    found = plateaus(GRID, stairs((1, 9), (10, 5), (12, 4), (1000, 1)))
    half = np.sqrt(GRID[1] / GRID[0])
    expected = [(9, 1.0, 10 / half), (4, GRID[GRID >= 12][0] / half, 1000 / half), (1, 1000 / half, 1e6)]
    np.testing.assert_allclose(numbers(found), expected, rtol=1e-12)
    assert all(isinstance(p, Plateau) for p in found)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=30), st.floats(1.01, 8))
def test_plateaus_are_their_definition(counts, ratio):
    t = np.geomspace(0.5, 200, len(counts))
    found = plateaus(t, counts, ratio=ratio, flicker=1.0)
    expected = slow_plateaus(t, counts, ratio * (1 - 1e-12))
    assert [p.count for p in found] == [count for count, _, _ in expected]
    np.testing.assert_allclose(numbers(found), expected, rtol=1e-12) if found else None


def test_a_wait_of_exactly_the_ratio_is_a_plateau():
    t = [1.0, 2.0, 8.0]
    assert len(plateaus(t, [3, 3, 1], ratio=4.0, flicker=1.0)) == 1, "3 from 1 to 4; 1 from 4 to 8"
    assert len(plateaus(t, [3, 3, 1], ratio=4.0 + 1e-9, flicker=1.0)) == 0


def test_flicker_is_ignored_and_a_change_that_stays_is_not():
    quiet = stairs((1, 5), (1000, 3))
    noisy = quiet.copy()
    noisy[[10, 30, 31, 70, 90]] = [4, 6, 7, 2, 9]
    assert numbers(plateaus(GRID, noisy)) == numbers(plateaus(GRID, quiet))
    assert len(plateaus(GRID, noisy, flicker=1.0)) > 2
    real = stairs((1, 5), (100, 4), (300, 5))  # gone for a factor of three
    assert [p.count for p in plateaus(GRID, real)] == [5, 4, 5]
    assert [p.count for p in plateaus(GRID, real, flicker=3.5)] == [5]


def test_where_two_counts_alternate_the_shorter_visits_are_the_excursions():
    counts = stairs((1, 5), (1000, 4))
    after = np.flatnonzero(counts == 4)
    counts[after[1:3]] = 5  # back for two frames, once it had left for one
    begin = np.sqrt(GRID[after[2]] * GRID[after[3]])
    np.testing.assert_allclose(numbers(plateaus(GRID, counts)), [(5, 1.0, begin), (4, begin, 1e6)], rtol=1e-12)
    counts[after[:4]] = [4, 4, 5, 4]  # back for one frame, when it had left for two
    begin = np.sqrt(GRID[after[0] - 1] * GRID[after[0]])
    np.testing.assert_allclose(numbers(plateaus(GRID, counts)), [(5, 1.0, begin), (4, begin, 1e6)], rtol=1e-12)


def test_a_glimpse_on_the_way_down_does_not_undo_the_step():
    """6, then 5 for a while, 6 for one frame as the next two meet, then 4: not one plateau of 6."""
    counts = stairs((1, 6), (1000, 5), (1500, 6), (1600, 4))
    assert [(p.count, round(p.end, -2)) for p in plateaus(GRID, counts)] == [(6, 900.0), (4, 1e6)]


def test_time_zero_is_left_out_of_log_time():
    t, counts = np.concatenate([[0.0], GRID]), np.concatenate([[200], stairs((1, 5), (100, 2))])
    assert numbers(plateaus(t, counts)) == numbers(plateaus(GRID, counts[1:]))


def meeting(t):
    """Four tokens; 3 comes to 1 at t = 10, and 2 to 0 at t = 1000, for good."""
    return circle(np.stack([0 * t, 0 * t + 1.5, np.where(t < 1000, 3.0, 0.01), np.where(t < 10, -1.5, 1.51)], axis=1))


def test_merge_times_are_half_way_between_frames():
    t = np.array([0.0, 1.0, 4.0, 9.0, 16.0, 900.0, 1600.0, 2500.0])
    assert merge_times(t, meeting(t), 0.1) == pytest.approx([12.0, 1200.0])
    assert merge_times(t, clusters.label(meeting(t), 0.1)) == pytest.approx([12.0, 1200.0])
    assert merge_times(t, clusters.track(meeting(t), 0.1)) == pytest.approx([12.0, 1200.0])
    assert merge_times([0.0, 20.0], meeting(np.array([0.0, 20.0])), 0.1) == pytest.approx([10.0]), "0 has no log"
    assert merge_times([20.0], meeting(np.array([20.0])), 0.1).size == 0


def test_mergers_in_one_interval_are_counted_each():
    assert merge_times([1.0, 4.0], [[0, 1, 2, 3], [0, 0, 0, 1]]) == pytest.approx([2.0, 2.0])


def test_what_is_undone_at_once_is_no_merger():
    apart, together = [0, 1], [0, 0]
    t = np.array([1.0, 2.0, 2.1, 2.2, 50.0, 60.0, 70.0])
    once = [apart, together, apart, together, together, together, together]
    assert merge_times(t, once) == pytest.approx([np.sqrt(2.1 * 2.2)]), "the merger that stayed"
    assert merge_times(t, once, flicker=1.0) == pytest.approx([np.sqrt(2.0), np.sqrt(2.1 * 2.2)])
    blink = [together, together, apart, together, together, together, together]
    assert merge_times(t, blink).size == 0, "never were they two for long"
    later = [apart, together, together, together, together, apart, together]
    assert merge_times(t, later) == pytest.approx([np.sqrt(2.0)]), "a late split undoes nothing, and is undone itself"


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1)))
def test_mergers_less_splits_are_the_drop_of_the_count(frames):
    labels, t = np.array(frames), np.arange(1.0, len(frames) + 1)
    tracked = clusters.follow(labels)
    first, last = len(set(frames[0])), len(set(frames[-1]))
    splits = tracked.max() + 1 - first
    assert len(merge_times(t, labels, flicker=1.0)) - splits == first - last


def test_a_causal_run_is_read_alike_by_both():
    """A.5: from one plateau to the next a run loses as many clusters as there are merge times between them."""
    times = np.concatenate([[0.0], np.geomspace(0.1, 2000, 150)])
    run = flock.simulate(flock.Model(dim=2, beta=25.0), flock.uniform(40, 2, seed=1), 2000.0, times=times)
    counts = clusters.count(run, 0.05)
    merged = merge_times(run, radius=0.05)
    assert merge_times(run["time"], run, 0.05).tolist() == merged.tolist()
    assert merge_times(run["time"], run["x"], 0.05).tolist() == merged.tolist()
    waits = plateaus(run, radius=0.05)
    assert waits == plateaus(times, counts) == plateaus(run["time"], run["x"], 0.05)
    assert len(waits) >= 2, "or there is nothing to see"
    tracked = clusters.track(run, 0.05)
    splits = tracked.max() + 1 - counts[0]
    assert len(merge_times(run, radius=0.05, flicker=1.0)) - splits == counts[0] - counts[-1]
    assert splits > 0, "tokens do trail behind where clusters meet, so flicker has something to do"
    for before, after in itertools.pairwise(waits[-2:]):
        lost = np.sum((merged >= before.end * (1 - 1e-9)) & (merged <= after.begin * (1 + 1e-9)))
        assert lost == before.count - after.count > 0


def test_what_a_run_kept_is_enough():
    run = flock.simulate(
        flock.Model(dim=2, beta=25.0), flock.uniform(20, 2), 50.0, times=np.geomspace(1, 50, 20),
        reduce={"clusters": lambda x: clusters.count(x, 0.05)}, positions=False,
    )  # fmt: skip
    assert plateaus(run["time"], run["clusters"]) == plateaus(run["time"].values, run["clusters"].values)
    with pytest.raises(SpecError, match="positions=True, or give the times and the count"):
        plateaus(run, radius=0.05)


T, X = np.array([1.0, 2.0, 3.0]), circle(np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plateaus(T, [1, 2]), r"shapes \(3,\) and \(2,\)"),
        (lambda: plateaus(T, X), "radius = None cannot be used. Allowed: a number > 0, with tokens"),
        (lambda: merge_times(T, X), "radius = None"),
        (lambda: plateaus(T, [1.5, 2, 3]), "whole numbers >= 0. Take them from clusters.count"),
        (lambda: plateaus(T, [1, -2, 3]), "whole numbers >= 0"),
        (lambda: plateaus(T, ["a", "b", "c"]), "whole numbers >= 0"),
        (lambda: plateaus(T[::-1], [1, 2, 3]), "strictly increasing times"),
        (lambda: plateaus(-T[::-1], [1, 2, 3]), "finite times >= 0"),
        (lambda: plateaus([0.0], [1]), "no time > 0"),
        (lambda: plateaus(T, [1, 2, 3], ratio=1.0), "ratio = 1.0 cannot be used. Allowed: a finite number > 1"),
        (lambda: plateaus(T, [1, 2, 3], flicker=0.5), "flicker = 0.5"),
        (lambda: merge_times(T, [1, 2, 3]), r"labels \(time, n\) or tokens \(time, n, d\)"),
        (lambda: merge_times(T, X[None], 0.1), r"run.isel\(run=0\)"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(SpecError, match=words):
        call()


def test_an_ensemble_is_refused_and_a_dataset_has_its_own_times():
    runs = flock.simulate(flock.Model(dim=2), flock.uniform(4, 2, runs=2), 1.0, times=[0.5, 1.0])
    with pytest.raises(SpecError, match=r"run.isel\(run=0\)"):
        plateaus(runs, radius=0.1)
    with pytest.raises(SpecError, match="nothing beside a Dataset"):
        plateaus(runs, [1, 2])
    with pytest.raises(SpecError, match="a Dataset without times"):
        metastability.merge_times(runs.drop_vars("time"), radius=0.1)


def rows_of(tree):
    columns = ["merged", "into", "merge_time", "born", "size_merged", "size_into", "left"]
    return [tuple(row) for row in tree[columns].to_dataframe().itertuples(index=False)]


def slow_tree(t, labels):
    """Without flicker: a number that is gone went to where its first token is; names are first tokens at birth."""
    tracked, found, name, born = clusters.follow(labels), [], {}, {}
    for k, now in enumerate(tracked):
        for number in set(now.tolist()) - name.keys():
            name[number] = now.tolist().index(number)
            born[number] = t[0] if k == 0 else np.sqrt(t[k - 1] * t[k])
        before = tracked[k - 1].tolist() if k else now.tolist()
        for number in sorted(set(before) - set(now.tolist())):
            heir = int(now[before.index(number)])
            sizes = before.count(number), before.count(heir)
            found.append((name[number], name[heir], np.sqrt(t[k - 1] * t[k]), born[number], *sizes))
    final = len(set(tracked[-1].tolist()))
    return [(*row, final + len(found) - 1 - k) for k, row in enumerate(found)]


FRAMES = st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1))


@settings(max_examples=200, deadline=None)
@given(FRAMES)
def test_the_tree_is_its_definition(frames):
    labels, t = np.array(frames), np.arange(1.0, len(frames) + 1)
    tree = metastability.tree(t, labels, flicker=1.0)
    assert [row[:2] + row[4:] for row in rows_of(tree)] == [row[:2] + row[4:] for row in slow_tree(t, labels)]
    np.testing.assert_allclose([row[2:4] for row in rows_of(tree)], [row[2:4] for row in slow_tree(t, labels)])
    assert tree["merge_time"].values.tolist() == merge_times(t, labels, flicker=1.0).tolist()
    assert tree["merge_time"].values.size >= metastability.tree(t, labels)["merge_time"].size, "flicker is left out"


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000))
def test_where_nothing_splits_every_merge_costs_one_cluster(n, seed):
    draw, groups, frames = np.random.default_rng(seed), np.arange(n), []
    while groups.max() > 0:
        frames.append(groups)
        a, b = sorted(draw.choice(groups.max() + 1, 2, replace=False))
        groups = np.unique(np.where(groups == b, a, groups), return_inverse=True)[1]
    frames.append(groups)
    t = np.geomspace(1, 1e9, len(frames))
    tree, counts = metastability.tree(t, frames), np.max(frames, axis=1) + 1
    assert tree.sizes["merge"] == n - 1
    assert (tree["left"].values == counts[1:]).all()
    assert sorted([*tree["merged"].values, *tree["root"].values]) == list(range(n)), "all are lost but the root"
    assert (tree["into"].values < tree["merged"].values).all(), "the earlier first token goes on"
    for k in range(n - 1):
        later = tree["merged"].values[k + 1 :]
        assert tree["into"].values[k] in {*later, *tree["root"].values}, "it is still there"


def test_a_cluster_that_comes_back_at_once_keeps_its_name():
    t = np.array([1.0, 2.0, 2.1, 50.0, 60.0])
    tree = metastability.tree(t, [[0, 1, 1], [0, 0, 0], [0, 1, 1], [0, 1, 1], [0, 0, 0]])
    assert rows_of(tree) == [(1, 0, pytest.approx(np.sqrt(3000.0)), 1.0, 2, 1, 1)]
    assert tree["root"].values.tolist() == [0]


def test_and_so_it_does_when_it_brings_an_earlier_token_along():
    t = np.array([1.0, 2.0, 2.1, 50.0, 60.0])
    tree = metastability.tree(t, [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])
    assert rows_of(tree) == [(2, 0, pytest.approx(np.sqrt(3000.0)), 1.0, 3, 1, 1)]


def test_who_merges_into_a_piece_that_is_soon_gone_has_merged_into_what_takes_the_piece():
    t = np.array([1.0, 100.0, 110.0, 120.0, 1000.0])
    labels = [[0, 1, 1, 2], [0, 1, 1, 2], [0, 1, 2, 3], [0, 1, 2, 2], [0, 1, 1, 1]]  # 2 leaves 1, takes 3, returns
    tree = metastability.tree(t, labels, flicker=20.0)
    assert rows_of(tree) == [(3, 1, pytest.approx(np.sqrt(110 * 120.0)), 1.0, 1, 1, 2)]
    assert tree["root"].values.tolist() == [0, 1]
    assert metastability.tree(t, labels, flicker=1.0)["into"].values.tolist() == [2, 1], "the piece itself, then"


def test_a_tree_of_one_frame_and_of_one_token_has_no_rows():
    assert rows_of(metastability.tree([1.0], [[0, 1]])) == []
    assert metastability.tree([1.0, 2.0], [[0], [0]])["root"].values.tolist() == [0]


def test_quantiles_are_those_of_the_logarithms():
    import xarray as xr

    at = np.array([[np.nan, 1e2, 1e20], [1.0, 1e4, 1e22], [np.nan, np.nan, 1e30]])
    count = np.array([[3, 2, 1], [4, 2, 1], [2, 2, 2]])
    trees = xr.Dataset({"merge_time": (("run", "merge"), at), "count": (("run", "time"), count)}, {"time": [0.0, 1, 2]})
    found = metastability.quantiles(trees, (0.0, 0.5))
    np.testing.assert_allclose(found["merge_time"].values, [[1e20, 1e2, 1.0], [1e22, 1e3, 1.0]], rtol=1e-12)
    assert found["runs"].values.tolist() == [3, 2, 1]
    assert found["count"].values.tolist() == [[2, 2, 1], [3, 2, 1]]
    with pytest.raises(SpecError, match="numbers from 0 to 1"):
        metastability.quantiles(trees, 2.0)
    with pytest.raises(SpecError, match="the merge trees of an ensemble"):
        metastability.quantiles(trees.isel(run=0))

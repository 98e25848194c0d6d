"""The ledger of studies: seeds, journals that survive a stop, answers that are read and not made again."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tokenflock.analysis.statistics import Estimate
from tokenflock.errors import FileError, SpecError, TokenflockError
from tokenflock.papers import studies
from tokenflock.papers.studies import ledger
from tokenflock.papers.studies.ledger import Table, spread, study

calls = []


def toy(stop_at=None):
    """A study of means of uniform numbers, which notes every cell it makes."""

    def draw(answer):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot(answer.table("means")["mean"])
        return figure

    @study(
        "toy",
        source="nowhere",
        question="What is the mean?",
        method="draw",
        sizes={"points": 4, "draws": 100},
        quick={"points": 2},
        draw=draw,
    )
    def means(work, points, draws):
        def cell(generator, k):
            if k == stop_at:
                raise KeyboardInterrupt
            calls.append(k)
            return {"mean": generator.random(draws).mean(), "nothing": math.nan}

        found = work.each({f"cell {k}": (k,) for k in range(points)}, cell)
        rows = [[k, found[f"cell {k}"]["mean"]] for k in range(points)]
        work.table("means", ("k", "mean"), rows, "a note")
        for k, mean in rows:
            work.number(f"mean {k}", Estimate(mean, mean - 0.2, mean + 0.2), draws, 0.5)
        work.control("means are near one half", all(abs(mean - 0.5) < 0.2 for _, mean in rows), "seen")
        work.surprise("nothing")
        work.answer("One half.", "Other numbers.")

    return means


@pytest.fixture(autouse=True)
def fresh():
    calls.clear()


def test_an_answer_holds_everything_and_is_plain():
    answer = ledger.run(toy())
    assert calls == [0, 1, 2, 3]
    assert answer.sound
    assert answer["mean 2"].agrees
    assert answer.table("means").where(k=2)["mean"].shape == (1,)
    told = json.loads(json.dumps(answer.plain()))
    assert told["answer"] == "One half."
    assert told["tables"][0]["rows"][1][0] == 1
    assert answer.figure.caption.startswith("toy: What is the mean?")
    assert answer.table("means").csv().splitlines()[0] == "k,mean"


def test_a_cell_depends_on_the_seed_and_its_name_only():
    long, short, other = ledger.run(toy()), ledger.run(toy(), quick=True), ledger.run(toy(), seed=1)
    assert long.table("means")["mean"][:2].tolist() == short.table("means")["mean"].tolist()
    assert long.table("means")["mean"][0] != other.table("means")["mean"][0]


def test_a_finished_study_is_read(tmp_path):
    first = ledger.run(toy(), folder=tmp_path)
    assert not first.read
    assert [path.name for path in tmp_path.iterdir()] == ["toy.json"]
    calls.clear()
    again = ledger.run(toy(), folder=tmp_path)
    assert again.read
    assert not calls
    assert again.numbers == first.numbers
    assert again.tables == first.tables
    assert again.controls == first.controls
    ledger.run(toy(), folder=tmp_path, draws=50)
    assert calls == [0, 1, 2, 3], "other parameters are another answer"
    calls.clear()
    ledger.run(toy(), folder=tmp_path, draws=50, overwrite=True)
    assert calls == [0, 1, 2, 3]


def test_a_stopped_study_goes_on_and_gives_the_same(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        ledger.run(toy(stop_at=2), folder=tmp_path)
    assert calls == [0, 1]
    with (tmp_path / "toy.cells.jsonl").open("a") as file:
        file.write('{"cell": "cell 2", "res')  # a line that was cut off
    calls.clear()
    resumed = ledger.run(toy(), folder=tmp_path)
    assert calls == [2, 3]
    assert resumed.tables == ledger.run(toy()).tables
    assert not (tmp_path / "toy.cells.jsonl").exists()


def test_what_is_not_ours_is_made_again(tmp_path):
    (tmp_path / "toy.json").write_text("{}")
    (tmp_path / "toy.cells.jsonl").write_text('{"key": "another"}\n{"cell": "cell 0", "result": {"mean": 7}}\n')
    assert ledger.run(toy(), folder=tmp_path).sound
    assert calls == [0, 1, 2, 3]


def test_bad_input_is_told():
    with pytest.raises(SpecError, match=r"unknown parameter of toy 'point'.*points"):
        ledger.run(toy(), point=3)
    with pytest.raises(SpecError, match=r"seed.*-1.*an integer >= 0"):
        ledger.run(toy(), seed=-1)
    with pytest.raises(SpecError, match=r"unknown study 'complex-tip'.*complex-top"):
        studies.study("complex-tip")
    with pytest.raises(SpecError, match=r"unknown number of toy 'mean'.*mean 0"):
        ledger.run(toy())["mean"]
    with pytest.raises(SpecError, match=r"unknown column of t 'x'"):
        Table("t", ("y",), ((1,),))["x"]
    with pytest.raises(TypeError, match="a cell may hold numbers"):
        ledger._plain(object())


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        ledger.run(toy(), folder=tmp_path / "file" / "inside")


def test_trials_over_the_cores_are_those_of_one():
    def one(generator):
        return float(generator.random())

    few, many = (spread(one, np.random.default_rng(3), count) for count in (3, 30))
    assert many[:3] == few
    assert len(set(many)) == 30

    def fails(generator):
        raise ValueError("as it must")

    with pytest.raises(ValueError, match="as it must"):
        spread(fails, np.random.default_rng(0), 4)


def test_the_text_of_a_study_is_all_it_is_made_of():
    folder = Path(ledger.__file__).parent
    assert set(ledger._text(folder / "convergence_rate.py", {})) == {"convergence_rate.py", "complex_top.py"}
    assert set(ledger._text(folder / "discretisation.py", {})) == {"discretisation.py"}


def test_every_name_is_a_study():
    for name in studies.NAMES:
        found = studies.find(name)
        assert found.name == name
        assert found.question.endswith("?")
        assert set(found.quick) <= set(found.sizes)
        assert found.source
        assert found.method
    assert issubclass(SpecError, TokenflockError)

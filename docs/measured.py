"""Numbers that pages and README quote, out of benchmarks/results: as tables, and as rows of a chart.

The newest file of a kind wins, group by group: a run of a few groups hides no others. Nothing here needs Sphinx.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
WORKS = {
    "single": "one causal run, n=200, d=2, beta=64, t=150",
    "ensemble": "{runs} such runs",
    "full": "full attention, n=1000, d=3, beta=9, t=30",
}

#: claims that README shows, in its words
QUOTED = {
    "causal/theorem-4.1": "V = I, all tokens meet at x_1(0)",
    "causal/conjecture-1": "distinct positive eigenvalues, tokens end at xi or -xi",
    "causal/conjecture-2": "an eigenspace L, all tokens meet in L",
    "causal/table-1": "the atlas, symmetric V",
    "causal/theorem-5.2": "tokens gather at frozen ones",
    "causal/lemma-a.1": "the interaction function",
    "causal/window": "the conditions of Theorem 5.2",
    "causal/lemma-c.1": "the number of strong centers",
    "causal/renyi-count": "the parking constant; exponents (d - 1)/2 of beta, up to curvature",
}


def newest(kind):
    """(rows of every group from the newest file that has it, stem of the newest file)."""
    groups, stem = {}, ""
    for path in sorted(RESULTS.glob(f"????-??-??-{kind}.json")):
        here = {}
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            here.setdefault(row.get("group") or row["panel"], []).append(row)
        groups |= here
        stem = path.stem
    return groups, stem


def stored(name):
    """A result that is no benchmark: verdicts of the quick claims, the table of steps."""
    return json.loads((RESULTS / "claims" / f"{name}.json").read_text(encoding="utf-8"))


def table(heads, rows):
    """Markdown."""
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *("| " + " | ".join(r) + " |" for r in rows)]


def short(seconds):
    """Seconds with two digits, in words that a person reads."""
    return f"{seconds:.3f} s" if seconds < 0.1 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def power(number):
    """3.2e12, not 3.2e+12."""
    return re.sub(r"e([+-])0*", lambda m: "e-" if m[1] == "-" else "e", f"{number:.1e}")


def two(ratio):
    """A ratio as the chart writes it."""
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def three(number):
    """Three digits: 7.76e-9, not 7.76e-09."""
    return f"{number:.3g}" if number >= 1e-3 or number == 0 else power(number).replace(".0e", "e")


def times(ratio):
    """A ratio with two digits."""
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


# Beside the peers on a CPU


@dataclass(frozen=True)
class Solve:
    """One kind of run on so many cores: ours, the best peer's, and that peer held to our error."""

    work: str
    cores: int
    ours: dict
    peer: dict
    ratio: float
    equal: float | None


def solves():
    """Every measured kind of run."""
    groups, _ = newest("cpu")
    for group, rows in groups.items():
        asked = re.fullmatch(r"(single|ensemble|full) (\d) core\(s\)", group)
        named = {row["name"]: row for row in rows}
        best = next((name for name in named if name.startswith("ratio to ")), None)
        if asked is None or best is None:
            continue
        equal = next((row["ratio"] for name, row in named.items() if "at equal error" in name and "ratio" in row), None)
        ours, peer = named["tokenflock"], named[best.removeprefix("ratio to ")]
        work = WORKS[asked[1]].format(runs=ours.get("runs", "many"))
        yield Solve(work, int(asked[2]), ours, peer, named[best]["ratio"], equal)


def speed():
    """Whole runs beside the best peer."""
    rows = []
    for s in solves():
        equal = "not measured" if s.equal is None else times(s.equal)
        errors = [
            power(s.ours["worst_error"]).replace("-", "\u2011"),
            power(s.peer["worst_error"]).replace("-", "\u2011"),
        ]
        seconds = [short(s.ours["best_s"]), s.peer["name"], short(s.peer["best_s"])]
        rows.append([s.work, str(s.cores), *seconds, times(s.ratio), equal, *errors])
    heads = [
        "work",
        "cores",
        "tokenflock",
        "best peer",
        "its time",
        "ratio",
        "at equal error",
        "our error",
        "its error",
    ]
    return table(heads, rows)


# On a GPU


def find(kind, group, name, **fields):
    """The row with this name and these fields."""
    rows = newest(kind)[0][group]
    return next(r for r in rows if r["name"] == name and all(r.get(k) == v for k, v in fields.items()))


def gpu():
    """Pairs a second on one device, with the limit and SDPA beside them."""

    def pairs(name, group="pairs", dim=2):
        return find("gpu", group, name, dim=dim)["pairs_per_s"]

    limit = find("gpu", "limits", "exponentials float32")["per_s"]
    many = next(
        r
        for r in newest("gpu")[0]["ensembles"]
        if re.match(r"tokenflock 5000 run\(s\), n=200, t=300.*float64", r["name"])
    )
    waves = max(newest("gpu")[0]["waves"], key=lambda row: row["n_tokens"])
    sdpa = f"SDPA float32 {power(pairs('SDPA float32'))}, bfloat16 {power(pairs('SDPA bfloat16'))}"
    wide, theirs = (find("gpu", "products", f"{who} float32", dim=64) for who in ("tokenflock products", "SDPA"))
    error = theirs["error"] / wide["error"]
    rows = [
        ["causal pairs, d = 2, float32", f"{power(pairs('tokenflock near causal float32'))} a second"],
        ["the same, float64", power(pairs("tokenflock near causal float64"))],
        ["d = 64, float32", power(wide["pairs_per_s"])],
        ["Figure 3 of paper A: 5,000 runs, n = 200, to t = 300, float64", short(many["best_s"])],
        [f"waves, n = {power(waves['n_tokens']).replace('.0', '')}, one velocity", short(waves["best_s"])],
    ]
    beside = [
        f"{power(limit)} exponentials a second is the limit; {sdpa}",
        "",
        f"SDPA float32 {power(theirs['pairs_per_s'])}, at {times(error)} times the error",
        "",
        "",
    ]
    return table(["work", "tokenflock", "beside it"], [[*r, b] for r, b in zip(rows, beside, strict=True)])


# What is no benchmark


def steps():
    """Does the usual step find the right clusters?"""
    found = stored("right-step")

    def cell(words):
        return re.sub(r"\d{4,}", lambda number: f"{int(number[0]):,}", words)

    ours = [[f"**{cell(words)}**" if row[0] == "tokenflock" else cell(words) for words in row] for row in found["rows"]]
    return table([cell(head) for head in found["columns"]], ours)


def accuracy():
    """The error of the setting of paper A at three tolerances."""
    rows = []
    for row in stored("accuracy")["rows"]:
        asked = f"{row['rtol']:.0e}, {row['atol']:.0e}".replace("e-0", "e-")
        asked += " (default)" if row["rtol"] == 1e-6 else ""
        rows.append([asked, f"{row['velocities']:,.0f}", power(row["worst_rad"]), power(row["median_rad"])])
    return table(["`rtol`, `atol`", "velocities a run", "worst error (rad)", "median over runs"], rows)


def verdicts():
    """Claims of paper A at their quick sizes."""
    rows = []
    for name, said in QUOTED.items():
        found = stored("verdicts")[name]
        word, tight = found["verdict"].split()[0], found["tightest"]
        measured, against = three(tight["measured"]), f"{tight['relation']} {three(tight['bound'])}"
        if tight["low"] is not None:
            measured += f" [{three(tight['low'])}, {three(tight['high'])}]"
            against = against.removeprefix("= ")
        if word == "proved":
            measured, against = "by ball arithmetic, over the whole range", ""
        told = word if found["holds"] else f"**{word}**"
        rows.append([f"{name}: {said}", told, f"{found['trials']:,}", str(found["undecided"]), measured, against])
    return table(["claim", "verdict", "trials", "undecided", "measured, in the tightest case", "against"], rows)


def cost():
    """Seconds of one velocity against n and against beta, one core; against d, beside jax."""
    lines = []
    for panel, rows in newest("cost")[0].items():
        axis, values = rows[0]["axis"], sorted({v for row in rows for v in row["values"]})
        body = []
        for row in rows:
            at = dict(zip(row["values"], row["seconds"], strict=True))
            body.append([row["way"], *(f"{at[v]:.2g}" if v in at else "" for v in values), f"{row['exponent']:.2f}"])
        lines += [f"Seconds, {panel}; the exponent is that of the last three points.", ""]
        heads = [axis, *(power(v).replace(".0", "") if v >= 1e3 else f"{v:g}" for v in values), "exponent"]
        lines += [*table(heads, body), ""]
    body = []
    for group, rows in newest("cpu")[0].items():
        if asked := re.fullmatch(r"d=(\d+) (full|causal) (\d) core\(s\)", group):
            ours, theirs = rows[0], next(row for row in rows if "ratio" in row)
            body.append([*asked.groups(), f"{ours['best_s']:.2g}", f"{theirs['best_s']:.2g}", times(theirs["ratio"])])
    lines += ["Seconds against d, n = 1,000:", ""]
    return [*lines, *table(["d", "mask", "cores", "tokenflock", "jax, compiled", "ratio"], body), ""]


# One picture of all


@dataclass(frozen=True)
class Ratio:
    """How we stand: times the best peer, or share of a limit that was measured beside it; and what we aim at."""

    panel: str
    label: str
    ratio: float
    target: float | None


PEER, SHARE = "times as fast as the best peer", "share of a measured limit"
#: what a row aims at, as the benchmarks were set up; rows without one were measured for their own sake
TARGETS = {"single": 8.0, "ensemble": 10.0, "full": 5.0, "jax": 1.0, "pairs": 0.6, "SDPA d=2": 20.0, "SDPA": 2.0}
EXP_TARGET = 0.85


def ratios():
    """Every row that has a peer or a limit, in the order of the chart."""
    short = {text.split(",")[0]: kind for kind, text in WORKS.items()}
    for s in solves():
        kind = next((kind for words, kind in short.items() if s.work.startswith(words)), "ensemble")
        yield Ratio(PEER, f"{s.work}, {s.cores} core{'s' * (s.cores > 1)} ({s.peer['name']})", s.ratio, TARGETS[kind])
    for group, rows in newest("cpu")[0].items():
        if asked := re.fullmatch(r"d=(\d+) (full|causal) (\d) core\(s\)", group):
            found = next(row["ratio"] for row in rows if "ratio" in row)
            label = f"one velocity, n=1000, d={asked[1]}, {asked[2]}, {asked[3]} core{'s' * (asked[3] != '1')} (jax)"
            yield Ratio(PEER, label, found, TARGETS["jax"])
    yield from _many_tokens()
    yield from _on_a_gpu()
    for row in newest("cpu")[0].get("pairs", []):
        if "ratio" in row:
            label = f"pairs a second, {row['name'].removeprefix('tokenflock ')}, 1 core (a C program)"
            yield Ratio(SHARE, label, row["ratio"], TARGETS["pairs"])


def _many_tokens():
    """The largest n at which a peer still fits into memory."""
    for panel, rows in newest("cost")[0].items():
        if rows[0]["axis"] == "n":
            at = {row["way"]: dict(zip(row["values"], row["seconds"], strict=True)) for row in rows}
            peers = {way: seconds for way, seconds in at.items() if not way.startswith("tokenflock")}
            n = max(min(max(seconds) for seconds in peers.values()), 0)
            best = min(peers, key=lambda way: peers[way][n])
            ours = min(seconds[n] for way, seconds in at.items() if way.startswith("tokenflock") and n in seconds)
            yield Ratio(PEER, f"one velocity, {panel}, n={n:,.0f} ({best})", peers[best][n] / ours, None)


def _on_a_gpu():
    groups, _ = newest("gpu")
    ours = {row["dim"]: row for row in groups["products"] if row["name"] == "tokenflock products float32"}
    ours[2] = find("gpu", "pairs", "tokenflock near causal float32", dim=2)
    for dim, row in sorted(ours.items()):
        peer = find("gpu", "pairs" if dim == 2 else "products", "SDPA float32", dim=dim)
        target = TARGETS["SDPA d=2"] if dim == 2 else TARGETS["SDPA"] if dim in (64, 128) else None
        label = f"causal pairs, d={dim}, float32, one H200 (SDPA)"
        yield Ratio(PEER, label, row["pairs_per_s"] / peer["pairs_per_s"], target)
    limit = find("gpu", "limits", "exponentials float32")["per_s"]
    for dim in (2, 3, 4):
        row = find("gpu", "pairs", "tokenflock near causal float32", dim=dim)
        yield Ratio(
            SHARE,
            f"causal pairs, d={dim}, float32, one H200 (its exponentials)",
            row["pairs_per_s"] / limit,
            EXP_TARGET,
        )

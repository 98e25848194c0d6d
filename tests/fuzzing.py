"""Calls of public names with arguments that are at their extremes or plainly wrong, and what must hold for each.

A call gives an error of ours with a sentence, or a result: finite, with its inputs as they were, and the same bits for
any layout in memory of the same numbers. A call is (seed, number): `python tests/fuzzing.py SEED NUMBER` makes it
again, `python tests/fuzzing.py SEED FIRST:LAST` a stretch, in a child process that is ended where a call hangs.
"""

import collections
import contextlib
import dataclasses
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

import hostile
from calls import Calls, copied
from tokenflock.errors import TokenflockError
from waiting import LONG_S

LIMIT_S = 20.0  # of processor time, so that a busy machine makes no difference
MEMORY = 12 * 2**30
LONGEST = 900  # characters of a sentence


class Fuzz:
    """All calls of a seed, by number."""

    def __init__(self, seed, heavy=None):
        self.seed, self.calls = seed, Calls()
        self.names = [name for name in self.calls.functions if heavy is None or not heavy.match(name)]

    def call(self, number):
        """Call `number`: (what was done to it, the call)."""
        generator = np.random.default_rng([self.seed, number])
        call = self.calls.valid(self.names[number % len(self.names)])
        kind = "layout" if generator.random() < 0.15 else "value"
        if kind == "layout":
            relaid = {k: hostile.relaid(v, int(generator.integers(7))) for k, v in call.items()}
            changed = {k: v for k, v in relaid.items() if v is not None}
            if changed:
                call.update(changed)
                return "layout", call
        keys = self._keys(call)
        for key in generator.permutation(keys)[: 1 + (generator.random() < 0.25)] if keys else []:
            call[str(key)] = self._hostile(call.get(str(key)), generator)
        return "value", call

    def _keys(self, call):
        """Arguments that a call has, and those that it may have."""
        kinds = inspect.Parameter
        plain = (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
        names = [p.name for p in inspect.signature(call.function).parameters.values() if p.kind in plain]
        return [*names, *(k for k in call if k not in names and k != "*")]

    def _hostile(self, value, generator):
        """Another value for an argument: half of the time near to what it was."""
        near = generator.random() < 0.6
        if near and isinstance(value, xr.Dataset):
            return hostile.pick(hostile.runs(self.calls.names), generator)
        if near and isinstance(value, bool):
            return hostile.pick(hostile.OTHER + hostile.WORDS[:4], generator)
        if near and isinstance(value, int | np.integer):
            return hostile.pick(hostile.WHOLE + hostile.REAL[:6], generator)
        if near and isinstance(value, float | np.floating):
            return hostile.pick(hostile.REAL, generator)
        if near and isinstance(value, str | Path):
            return hostile.pick(hostile.WORDS + hostile.PATHS, generator)
        if near and isinstance(value, np.ndarray | list | tuple):
            with contextlib.suppress(ValueError, TypeError, IndexError):
                return hostile.changed_array(value, generator)
        pools = [hostile.WHOLE, hostile.REAL, hostile.WORDS, hostile.PATHS, hostile.OTHER]
        pools += [hostile.arrays(generator), hostile.runs(self.calls.names)]
        return hostile.pick(pools[generator.integers(len(pools))], generator)


def same(a, b):
    """Whether two inputs or results are equal to the last bit."""
    if isinstance(a, xr.Dataset | xr.DataArray):
        return type(a) is type(b) and a.drop_attrs().identical(b.drop_attrs())
    if isinstance(a, np.ndarray):
        alike = isinstance(b, np.ndarray) and a.shape == b.shape
        return alike and (a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and same(_fields(a), _fields(b))
    if isinstance(a, float | complex | np.number):
        return a == b or (a != a and b != b)
    return True  # of other things nothing is known


def _fields(thing):
    return {f.name: getattr(thing, f.name, None) for f in dataclasses.fields(thing)}


def finite(value):
    """Whether all numbers of a result are finite. Attributes of a Dataset are words about it."""
    if isinstance(value, xr.Dataset):
        return all(finite(v.values) for v in value.variables.values())
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float | complex | np.floating | np.complexfloating):
        return bool(np.isfinite(value))
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list | tuple | set):
        return all(map(finite, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return finite(_fields(value))
    return True


#: names whose result may hold nan or inf, and why
NOT_FINITE = {
    "flock.Model": "beta = inf is hardmax",
    "flock.Model.with_options": "beta = inf is hardmax",
    "flock.analysis.attention.rank": "a gap above 0 is infinite",
    "flock.analysis.energy.energy": "e^beta may have no float64: log=True",
    "flock.analysis.spectrum.classify": "one eigenvalue alone has no gap",
    "flock.analysis.statistics.bootstrap": "no rows, no estimate",
    "flock.analysis.statistics.fit": "numbers without variance explain none of it",
    "flock.analysis.statistics.interval": "one value alone has an interval without ends",
    "flock.analysis.statistics.mean_and_error": "one value alone has no error",
    "flock.analysis.statistics.slope": "two points have no error",
    "flock.analysis.statistics.wilson": "no trials, no share",
    "flock.analysis.triple.good": "an overlap that has no value is nan",
    "flock.analysis.triple.good_with_multiplicity": "an overlap that has no value is nan",
    "flock.geometry.angle": "nan stays nan",
    "flock.geometry.distance": "nan stays nan",
    "flock.geometry.retract": "nan stays nan",
    "flock.geometry.tangent": "nan stays nan",
    "flock.networks.heads": "an overlap that has no value is nan",
    "flock.networks.regime": "one eigenvalue alone has no gap",
    "flock.networks.triple": "an overlap that has no value is nan",
    "flock.load": "frames that a run did not reach",
    "flock.schemes.hermite": "nan stays nan",
    "flock.study": "too few runs measure nothing",
    "flock.theory.merge_time_scale": "e^(beta (1 - cos)) may have no float64: log10=True",
    "flock.theory.metastability_times": "e^beta may have no float64",
    "flock.trajectories.boolean_from": "nan: never",
    "flock.transformer.behaviour.survey": "few tokens have no dimension, the last layer has no next one: nan",
    "flock.transformer.chance.counted": "nothing seen: log10 of 0",
    "flock.transformer.prediction.leading": "one eigenvalue alone has no gap",
    "flock.transformer.prediction.theory": "one eigenvalue alone has no gap",
    "flock.validate": "frames that a run did not reach",
}


def wrong(kind, call, plain):
    """What is wrong with one call: a kind of failure and words, or None. plain: the valid call, for layouts."""
    before, said = copied(dict(call)), io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            result = call()
    except TokenflockError as error:
        return _of_sentence(str(error))
    except RuntimeWarning as warning:
        return "warning", f"{warning} at {_where(warning)}"
    except BaseException as error:
        return "raw error", f"{type(error).__name__}: {str(error)[:120]} at {_where(error)}"
    if not same(before, dict(call)):
        return "input changed", ""
    if call.name not in NOT_FINITE and not _failed(result) and not finite(result):
        return "not finite", repr(result)[:150]
    if kind == "layout" and not same(plain(), result):
        return "other bits", ""
    return None


def _of_sentence(text):
    if not text or len(text) > LONGEST:
        return "sentence", f"{len(text)} characters: {text[:60]}"
    return None


def _failed(result):
    return isinstance(result, xr.Dataset) and result.attrs.get("outcome", "").startswith(("Interrupted", "The "))


def _where(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tokenflock/" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "the call"


def shown(call):
    """A call in a line."""
    parts = (
        f"{k}={type(v).__name__ if isinstance(v, xr.Dataset) else ' '.join(repr(v)[:80].split())}"
        for k, v in call.items()
    )
    return f"{call.name}({', '.join(parts)})"


def tell(number, fuzz):
    """One call as a line of JSON: said before it begins, so that one that hangs is known."""
    kind, call = fuzz.call(number)
    print(json.dumps({"begin": number, "call": shown(call)}), flush=True)
    found = wrong(kind, call, fuzz.calls.valid(call.name))
    print(
        json.dumps({"end": number, "kind": found[0] if found else "", "words": found[1] if found else ""}), flush=True
    )


def child(seed, numbers):
    """Calls one after the other, in this process; each has LIMIT_S of processor time."""
    import resource

    import matplotlib

    matplotlib.use("Agg")
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fuzz, warm = Fuzz(seed), set()
    for number in numbers:
        name = fuzz.names[number % len(fuzz.names)]
        if name not in warm:  # what is compiled for the first time is no hang
            warm.add(name)
            with contextlib.suppress(Exception):
                fuzz.calls.valid(name)()
        tell(number, fuzz)
        matplotlib.pyplot.close("all") if "matplotlib.pyplot" in sys.modules else None


def stretch(seed, first, last, limit_s=LIMIT_S, flags=()):
    """Calls first to last - 1: [(number, call, kind of failure or "", words)]; a child is begun anew after a hang."""
    found = []
    while first < last:
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w") as told:
            command = [sys.executable, str(Path(__file__).resolve()), str(seed), f"{first}:{last}", "--child", *flags]
            process = subprocess.Popen(command, cwd=folder, stdout=told, stderr=subprocess.DEVNULL)
            hung = _watch(process, told.name, limit_s)
            lines = [json.loads(line) for line in _lines(told.name)]
        begun = {line["begin"]: line["call"] for line in lines if "begin" in line}
        ended = [line for line in lines if "end" in line]
        found += [(line["end"], begun[line["end"]], line["kind"], line["words"]) for line in ended]
        open_ones = sorted(begun.keys() - {line["end"] for line in ended})
        if open_ones:
            found.append((open_ones[0], begun[open_ones[0]], "hang" if hung else "crash", f"exit {process.returncode}"))
        elif process.returncode:
            raise RuntimeError(f"the child of call {first} ended with {process.returncode} before a call")
        first = max(begun, default=last) + 1
    return found


def _watch(process, told, limit_s):
    """Wait for a child; end it when one call has had limit_s of its processor time."""
    import psutil

    said, since = -1, 0.0
    while process.poll() is None:
        time.sleep(0.2)
        with contextlib.suppress(psutil.Error):
            used = sum(psutil.Process(process.pid).cpu_times()[:2])
            lines = _lines(told)
            if len(lines) != said:
                said, since = len(lines), used
            elif lines and "begin" in lines[-1] and used - since > limit_s:
                process.kill()
                process.wait(timeout=LONG_S)
                return True
    return False


def _lines(told):
    """What a child said. Through a file of its own: a seek in the child's would move where the child writes."""
    return [line for line in Path(told).read_text().splitlines() if line.startswith("{") and line.endswith("}")]


def main(seed, what, *flags):
    """See the head of this file."""
    numbers = range(*map(int, what.split(":"))) if ":" in what else [int(what)]
    if "--hang" in flags:  # shows that a hang is found
        print(json.dumps({"begin": numbers[0], "call": "never"}), flush=True)
        while True:
            pass
    if "--child" in flags:
        child(int(seed), numbers)
        return
    found = stretch(int(seed), numbers[0], numbers[-1] + 1)
    for number, call, kind, words in found:
        if kind:
            print(f"{number}\t{kind}\t{words}\t{call}")
    print(len(found), "calls:", dict(collections.Counter(kind or "good" for _, _, kind, _ in found)))


if __name__ == "__main__":
    main(*sys.argv[1:])

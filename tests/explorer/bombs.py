"""Runs that a page may ask for in a few kilobytes, each made to take gigabytes or minutes; and what one takes.

As a program: reads one run from its input, and tells what asking for it took, in a process of its own.
"""

import gc
import json
import subprocess
import sys
import time

SIMULATE = {"t_end": 5.0, "times": 5}
ONES = [1.0] * 40_000
DIAGONAL = {"family": "diagonal", "values": ONES}


def asked(model=None, start=None, **rest):
    """A small run with these changes."""
    run = {"model": {"dim": 2} | (model or {}), "start": {"n_tokens": 10} | (start or {}), "simulate": SIMULATE}
    return run | rest


BOMBS = {
    "value of 40,000 numbers": asked({"value": DIAGONAL}),
    "query of 40,000 numbers": asked({"query": DIAGONAL}),
    "key with 40,000 eigenvalues": asked({"key": {"family": "spectrum", "eigenvalues": ONES}}),
    "a head of 40,000 numbers": asked({"value": ["identity", DIAGONAL]}),
    "20,000 heads by name": asked({"query": ["ginibre:1"] * 20_000}),
    "20,000 heads by table": asked({"query": [{"family": "ginibre"}] * 8_000}),
    "20,000 heads of numbers": asked({"value": [[[1, 0], [0, 1]]] * 8_000}),
    "heads inside of heads": asked({"value": [["identity"] * 1_000, "identity"]}),
    "40,000 rows of a query": asked({"query": [[1]] * 20_000}),
    "feed-forward of 40,000 numbers": asked({"feedforward": {"w": DIAGONAL}}),
    "feed-forward of 15,000 rows": asked({"feedforward": {"w": [[1] * 15_000, [1] * 15_000], "a": [[1, 1]] * 9_000}}),
    "feed-forward by eigenvalues": asked({"feedforward": {"w": {"family": "spectrum", "eigenvalues": ONES}}}),
    "frozen tokens of 40,000 numbers": asked({"frozen": {"tokens": DIAGONAL}}),
    "frozen weights of 40,000 numbers": asked({"frozen": {"tokens": [[1, 0]], "weights": DIAGONAL}}),
    "15,000 frozen tokens": asked({"frozen": {"tokens": [[1, 0]] * 15_000}, "mask": "full"}, {"n_tokens": 2_000}),
    "masses of 40,000 numbers": asked({"masses": ONES}, {"n_tokens": 20_000}),
    "masses as a table": asked({"masses": DIAGONAL}),
    "40,000 slopes": asked({"bias": {"slope": ONES}}),
    "runs inside of a kind": asked(start={"n_tokens": 20_000, "kind": "uniform:runs=5000"}),
    "runs inside of another kind": asked(start={"n_tokens": 20_000, "kind": "cap:angle=1,runs=5000"}),
    "tokens inside of a kind": {
        "model": {"dim": 2},
        "start": {"n_tokens": None, "kind": "uniform:n_tokens=100000000"},
        "simulate": SIMULATE,
    },
    "a center of 40,000 numbers": asked(start={"kind": "cap", "angle": 1.0, "center": ONES}),
    "a start of 40,000 tokens": asked() | {"start": {"array": [[1.0]] * 20_000}},
    "a start of one long token": asked() | {"start": {"array": [ONES]}},
    "a block of 40,000 numbers": asked({"value": "jordan:eigenvalue=1,size=40000"}),
    "a wide window": asked({"mask": "window:" + "9" * 150}),
    "times inside of a text": asked(simulate={"t_end": 5.0, "times": "log:0.1:2000:100000000"}),
    "a large seed": asked({"query": "ginibre:" + "9" * 150}),
    "changes that are none": asked(then=3),
    "forty changes of many tokens": asked(
        {"dim": 8},
        {"n_tokens": 5_000},
        then=[{"at": 1 + k, "model": {"dim": 8}, "simulate": SIMULATE} for k in range(40)],
    ),
    "forty long changes": asked(
        {"dim": 2},
        {"n_tokens": 16_000},
        simulate={"t_end": 5.0, "times": 100},
        then=[{"at": 1 + 99 * k, "model": {"dim": 2}, "simulate": {"t_end": 5.0, "times": 100}} for k in range(40)],
    ),
    "forty changes in 64 dimensions": asked(
        {"dim": 64},
        {"n_tokens": 3_000},
        then=[{"at": 1 + k, "model": {"dim": 64}, "simulate": SIMULATE} for k in range(40)],
    ),
    "centers in 64 dimensions": asked({"dim": 64, "beta": 100.0}, {"n_tokens": 6_000}),
    "many tokens in 64 dimensions": asked({"dim": 64}, {"n_tokens": 9_000}),
    "implicit steps of many unknowns": asked(
        {"mask": "full"}, {"n_tokens": 3_000}, simulate={"t_end": 1e4, "times": 5, "scheme": "rosenbrock"}
    ),
    "all attention of eight heads": asked({"value": ["identity"] * 8}, {"n_tokens": 2_000}, look=True),
    "all attention, with frozen tokens": asked(
        {"frozen": {"tokens": [[1, 0]] * 12_000}}, {"n_tokens": 1_900}, look=True
    ),
}


def measured(run):
    """What a run takes in a process of its own, the second time, when all is compiled: megabytes up to its twentieth
    slice; seconds of the processor until it has begun; the sentence. A run that is refused is asked for once."""
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(run), capture_output=True, text=True, timeout=300, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else {"mb": None, "s": None, "said": done.stderr[-200:]}


def _mb(what):
    """VmRSS, the memory that this process has; VmHWM, the most that it had since `_forget`."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what)) / 1024


def _forget():
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")


def _ask(run, look):
    """Seconds until a run has begun, and what was said; then twenty slices."""
    from tokenflock.errors import TokenflockError
    from tokenflock.explorer.session import Session

    session, began, said = Session(), time.process_time(), "computed"
    try:
        session.begin(run)
        while look and not session.measured:
            session.work()
        if look:
            session.matrix(0, "mean")
    except TokenflockError as error:
        said = str(error)
    except Exception as error:
        said = f"RAW {type(error).__name__}: {error}"
    spent = time.process_time() - began
    for _ in range(20):
        session.work()
    return spent, said


def main():
    """See the head of this file."""
    run = json.load(sys.stdin)
    look = run.pop("look", False)
    _ask(asked(), look)
    for _ in range(2):
        gc.collect()
        _forget()
        before = _mb("VmRSS")
        spent, said = _ask(run, look)
        taken = _mb("VmHWM") - before
        if said != "computed":
            break
    print(json.dumps({"mb": taken, "s": spent, "said": said[:300], "length": len(said)}))


if __name__ == "__main__":
    main()

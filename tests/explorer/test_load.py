"""Many tabs, and tabs that mean harm, on a server of its own: small here, in full with `make test-all` (crowds.py)."""

import statistics
import sys
import threading

import pytest
from crowds import flat, held_by_a_crowd, under_attack

from tokenflock.explorer.workers import Workers

pytest.importorskip("websockets")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
MOST_KEPT = 100  # MB over one closed tab; docs/trust.md says so
MOST_GROWTH = 25  # MB from the third minute to the last
MOST_WAIT = 4.0  # seconds of the server's processors; 1 s on two cores that nobody else uses is 2


@linux
def test_a_few_tabs_and_what_stays_of_them():
    found = held_by_a_crowd(5, 0.0, n_tokens=60)
    assert found["frames"] >= 5
    assert found["after all are closed"] - found["after one tab"] < MOST_KEPT


@linux
@pytest.mark.slow
def test_fifty_tabs_for_ten_minutes_hold_the_same_memory_and_give_it_back():
    found = held_by_a_crowd(50, 600.0)
    told = flat(found)
    assert told["growth"] < MOST_GROWTH, told
    assert told["kept"] < MOST_KEPT, told


@linux
@pytest.mark.slow
def test_a_good_tab_is_answered_while_others_do_harm():
    found = under_attack(60.0)
    assert len(found["harm"]) == 4, "every kind of harm was done"
    assert statistics.median(spent for _, spent in found["attacked"]) < MOST_WAIT, found


# Fair turns


def held_up(workers):
    """A worker that is busy until the event is set."""
    begun, free = threading.Event(), threading.Event()
    workers.submit(lambda: (begun.set(), free.wait(600.0)))
    assert begun.wait(600.0)
    return free


def test_of_those_that_wait_the_one_that_had_least_goes_first():
    workers, order = Workers(1), []
    greedy, modest, late = workers.share(), workers.share(), workers.share()
    free = held_up(workers)
    asked = [greedy.submit(order.append, f"greedy {k}") for k in range(3)]
    greedy.spent = 5.0
    asked += [modest.submit(order.append, "modest"), late.submit(order.append, "late")]
    modest.spent = 1.0
    free.set()
    for future in asked:
        future.result(600.0)
    assert order == ["late", "modest", "greedy 0", "greedy 1", "greedy 2"]
    workers.shutdown()


def test_what_was_not_used_is_not_saved():
    """Who slept, or came late, has no more right to the next turn than the one who is next."""
    workers = Workers(1)
    sleeper, busy = workers.share(), workers.share()
    busy.submit(int).result(600.0)
    busy.spent = 7.0
    busy.submit(int).result(600.0)
    assert sleeper.spent == 0.0
    sleeper.submit(int).result(600.0)
    assert sleeper.spent >= 7.0
    workers.shutdown()


def test_a_share_hears_errors_and_the_worker_goes_on():
    workers = Workers(1)
    share = workers.share()
    with pytest.raises(ZeroDivisionError):
        share.submit(lambda: 1 / 0).result(600.0)
    assert share.submit(lambda: 3).result(600.0) == 3
    assert share.spent > 0
    free = held_up(workers)
    waiting = share.submit(int)
    workers.shutdown(wait=False, cancel_futures=True)
    free.set()
    assert waiting.cancelled()

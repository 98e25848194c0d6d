"""Why a loop of steps gave control back: one set of codes for every loop, compiled or not."""

from __future__ import annotations

from tokenflock.engine.contract import Outcome

# ON: nothing stops the run. PAUSED: the patience of this call is used up, and the run goes on at the next one. FULL:
# every wanted time is there. ENDED: the stretch of smooth time has ended. BOOLEAN: rows have weights 0 and 1 only.
# REGROUP: bodies may have met, or one must be opened.
ON, PAUSED, FULL, ENDED, SMALL, NOT_FINITE, STOPPED, COLLAPSED, BOOLEAN, REGROUP = range(10)

#: what a code means for a run that cannot go on
FAILED = {SMALL: Outcome.SMALL, NOT_FINITE: Outcome.NOT_FINITE, STOPPED: Outcome.INTERRUPTED}

"""Receipts that their sender cannot have sent: lines of the sender are missing, or one is false."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from canvass.cluster.outcome import Outcome
from canvass.traces.alignment import costs
from canvass.traces.alignment.channel_matching import Matching, Receipt
from canvass.traces.alignment.moves import END_OF_LIFE
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import SLOTS, Windows

_BEGINNINGS: Final = frozenset({"Restart", "EnterElection"})
"""The steps that begin an election."""


def settle_unsent(windows: Mapping[int, Windows], matching: Matching) -> bool:
    """Decide of each receipt without a window what is wrong; false if there is nothing to decide.

    Notes
    -----
    A receipt of a member of which lines are known to be missing, or whose log ends, can have been
    sent among these. Of a member whose log is whole a single receipt is false; several of them cost
    more than a gap in the sender's log. Where the sender's election depends on receipts that no
    line shows, nothing is decided: other ones may have been received.
    """
    by_sender: defaultdict[int, list[tuple[int, Receipt]]] = defaultdict(list)
    for i, j, receipt in matching.unmatched:
        if i not in windows or receipt.hidden or _is_open(windows[i]):
            continue
        if not _is_inferred(windows[i], *_bracket(windows, matching, i, j, receipt)):
            by_sender[i].append((j, receipt))
    for i, receipts in by_sender.items():
        places = [_bracket(windows, matching, i, j, receipt) for j, receipt in receipts]
        ended = [place for place in places if _end_of_life(windows[i], *place) >= 0]
        if ended:
            at = _end_of_life(windows[i], *ended[0])
            _open_gap(windows[i], at, "the last lines of a process that was killed are missing")
        elif len({receipt.message for _, receipt in receipts}) >= costs.UNSENT_MESSAGES:
            at = places[0][0]
            what = f"{len(receipts)} messages that others received were sent among missing lines"
            _open_gap(windows[i], at, what)
        else:
            j, receipt = receipts[0]
            _mark_false(windows[j], receipt.step, f"member {i} cannot have sent this message")
    return bool(by_sender)


def _is_open(one: Windows) -> bool:
    """Whether it is known that steps of a member are missing, or not known how it goes on."""
    trajectory = one.trajectory
    count = len(trajectory.lines.records)
    # Of a log without a line that matters nothing is known.
    whole = 0 < count <= trajectory.stopped
    return not whole or any(step.gap for step in trajectory.steps)


def _is_inferred(one: Windows, first: int, last: int) -> bool:
    """Whether receipts that no line shows decide of what a member sends within a range of steps."""
    while first > 0 and one.steps[first].action not in _BEGINNINGS:
        first -= 1
    return any(step.given.message and not step.lines for step in one.steps[first : last + 1])


def _bracket(
    windows: Mapping[int, Windows], matching: Matching, i: int, j: int, receipt: Receipt
) -> tuple[int, int]:
    """The steps of the sender between which a receipt has its place, by its neighbours."""
    others = matching.channels.get((i, j), [])
    before = [one.earliest for one in others if one.step < receipt.step]
    after = [one.latest for one in others if one.step > receipt.step]
    end = len(windows[i].steps) - 1
    return max(before, default=0) // SLOTS, min(after, default=SLOTS * end) // SLOTS


def _end_of_life(one: Windows, first: int, last: int) -> int:
    """The step within a range at which a process has ended, or -1."""
    for at in range(first, min(last + 1, len(one.steps))):
        if one.steps[at].action == END_OF_LIFE and at:
            return at
    return -1


def _open_gap(one: Windows, at: int, reason: str) -> None:
    steps = one.trajectory.steps
    place = min(at + 1, len(steps) - 1)
    steps[place].gap = reason
    line = next((step.lines.start for step in steps[place:] if step.lines), one.trajectory.stopped)
    one.trajectory.gaps.append((line, reason))


def _mark_false(one: Windows, at: int, reason: str) -> None:
    """Let a trajectory end with a receipt that is false."""
    trajectory = one.trajectory
    if at >= len(trajectory.steps):
        return  # It ends before that already, with another false line.
    step = trajectory.steps[at]
    before = trajectory.steps[at - 1].state if at else one.before
    line = range(step.lines.start, step.lines.start + 1)
    del trajectory.steps[at:]
    trajectory.steps.append(Step(step.action, step.given, Outcome(before), line, false=True))
    trajectory.false_lines.append((line.start, reason))
    trajectory.stopped = line.stop

"""Receipts that their sender cannot have sent: lines of the sender are missing, or one is false."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from canvass.cluster.member import ElectionState, Input
from canvass.cluster.messages import AppendPosition, CommitPosition, Message, RequestVote
from canvass.cluster.outcome import Outcome
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment import costs
from canvass.traces.alignment.channel_matching import Matching, Receipt
from canvass.traces.alignment.clocks import FOREVER
from canvass.traces.alignment.completeness import GOES_ON_NS, IN_STEP_NS, is_one_host
from canvass.traces.alignment.moves import END_OF_LIFE
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import SLOTS, Windows, sender_of, sends_message

NEAR: Final = 8
"""Lines before a gap of which one may be false."""
_ASKING: Final = frozenset({"CanvassPosition", "AppendPosition"})
"""The messages that may be missing before an answer."""
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
    if by_sender:
        # Only what comes first is decided: the rest may follow from it.
        i = min(by_sender, key=lambda i: min(windows[j].due[r.step] for j, r in by_sender[i]))
        receipts = sorted(by_sender[i], key=lambda one: windows[one[0]].due[one[1].step])
        places = [_bracket(windows, matching, i, j, receipt) for j, receipt in receipts]
        _settle_first(windows, i, receipts, places)
    return bool(by_sender)


def _settle_first(
    windows: Mapping[int, Windows],
    i: int,
    receipts: list[tuple[int, Receipt]],
    places: list[tuple[int, int]],
) -> None:
    """Decide whether the first message that a member cannot have sent is false, or shows a gap."""
    j, receipt = receipts[0]
    m, now_ns = receipt.message, windows[j].due[receipt.step]
    one_host = is_one_host({k: one.trajectory.lines for k, one in windows.items()})
    ended = [
        place
        for place in places
        if (at := _end_of_life(windows[i], *place)) >= 0
        and not (one_host and now_ns < _last_line_ns(windows[i], at) - IN_STEP_NS)
    ]
    if ended and _can_be_recorded(windows, m, now_ns):
        at = _end_of_life(windows[i], *ended[0])
        _open_gap(windows[i], at, "the last lines of a process that was killed are missing")
        return
    several = len({one.message for _, one in receipts}) >= costs.UNSENT_MESSAGES
    witnesses = {to for to, one in receipts if one.message == m}
    if (
        several
        or len(witnesses) > 1
        or _answers_missing(windows[i], j, m, *places[0])
        or any(
            _is_silent(windows[i], at[0], windows[to].due[one.step])
            for (to, one), at in zip(receipts, places, strict=True)
        )
    ):
        what = f"lines are missing: messages that others received: {len(receipts)}"
        _open_gap(windows[i], places[0][0], what)
    else:
        line = windows[j].steps[receipt.step].lines.start
        _end_with(windows[j], line, f"member {i} cannot have sent this message")


def _last_line_ns(one: Windows, at: int) -> int:
    """When the last line of a process that has ended was written."""
    lines = one.trajectory.lines
    return lines.times[max(one.steps[at].lines.start - 1, 0)]


def _can_be_recorded(windows: Mapping[int, Windows], m: Message, now_ns: int) -> bool:
    """Whether a quorum can have recorded what a message says is committed."""
    if not isinstance(m, CommitPosition):
        return True
    reached = [
        any(
            upper.recorded >= m.log_position
            for upper, due in zip(one.bounds, one.due, strict=True)
            if due >= now_ns
        )
        for one in windows.values()
    ]
    missing = next(iter(windows.values())).moves.rules.member_count - len(windows)
    return is_quorum(sum(reached) + missing, len(windows) + missing)


def _answers_missing(one: Windows, to: int, m: Message, first: int, last: int) -> bool:
    """Whether a member can have answered with a message to one whose line is missing."""
    for t in range(first, last + 1):
        for s in one.with_numbers(one.steps[t].state, one.bounds[t], m):
            for given in one.unlogged(s, to, m, _ASKING):
                outcome = one.moves.take(s, f"On{type(given.message).__name__}", given)
                if sends_message(outcome, to, m) >= 0:
                    return True
    return False


def settle_gaps(windows: Mapping[int, Windows]) -> bool:
    """Decide that a line near a gap is false, if its sender cannot have sent the message ever.

    Notes
    -----
    Lines may be missing there, or one of them may be false; that the log of the sender is whole and
    never has the message decides. False if nothing is decided.
    """
    found = False
    for j, one in windows.items():
        trajectory = one.trajectory
        places = [line for line, _ in trajectory.gaps]
        if trajectory.stopped < len(trajectory.lines.records):
            places.append(trajectory.stopped)
        if not places or trajectory.false_lines:
            continue
        first = min(places)
        for line in range(max(first - NEAR, 0), min(first + 1, len(trajectory.lines.records))):
            m = trajectory.lines.messages[line]
            i = sender_of(m) if m is not None else j
            if m is None or i == j or i not in windows or _is_open(windows[i]):
                continue
            known = isinstance(m, RequestVote) or not windows[i].hidden
            if known and windows[i].first(0, j, m) is None:
                _end_with(one, line, f"member {i} cannot have sent this message")
                found = True
                break
    return found


def settle_falling(windows: Mapping[int, Windows], matching: Matching) -> bool:
    """Decide that a position is false that does not fit in the rising ones of its channel.

    Notes
    -----
    What a closed follower reports, and what a closed leader says is committed, never falls within
    one term. False if nothing is decided. A closed leader of 1.49 takes a commit position back.
    """
    found: list[tuple[int, int, int, int]] = []
    received: defaultdict[tuple[int, int], list[Receipt]] = defaultdict(list)
    for (i, j), receipts in matching.channels.items():
        received[i, j] += receipts
    for i, j, receipt in matching.unmatched:
        received[i, j].append(receipt)
    starts = {i: _beginnings(one.steps) for i, one in windows.items()}
    for (i, j), receipts in received.items():
        if i not in windows:
            continue
        runs: defaultdict[tuple[type, int, int], list[tuple[int, int]]] = defaultdict(list)
        for receipt in sorted(receipts, key=lambda one: one.step):
            m, place = receipt.message, receipt.earliest
            if receipt.hidden or not isinstance(m, AppendPosition | CommitPosition):
                continue
            if place < 0:
                place = windows[i].first(0, j, m) or -1
            falls = windows[i].moves.rules.is_149 and isinstance(m, CommitPosition)
            run = starts[i][place // SLOTS] if place >= 0 and not falls else -1
            if run >= 0:
                runs[type(m), m.leadership_term_id, run].append((m.log_position, receipt.step))
        for several in runs.values():
            found += [(windows[j].due[t], j, t, i) for t in _outliers(several)[:1]]
    for _, j, t, i in sorted(found)[:1]:
        line = windows[j].steps[t].lines.start
        _end_with(windows[j], line, f"the positions that member {i} sends rise, and this one falls")
    return bool(found)


def _beginnings(steps: list[Step]) -> list[int]:
    """For each step where the member closed its election last, or -1 in an election."""
    found: list[int] = []
    for at, step in enumerate(steps):
        before = found[-1] if found else -1
        closed = step.state.election_state is ElectionState.CLOSED
        found.append((before if before >= 0 else at) if closed else -1)
    return found


def _outliers(found: list[tuple[int, int]]) -> list[int]:
    """The steps whose positions are not in the longest sequence that never falls."""
    if all(a <= b for (a, _), (b, _) in pairwise(found)):
        return []
    ends: list[int] = []
    lengths: list[int] = []
    for position, _ in found:
        length = bisect_right(ends, position)
        ends[length : length + 1] = [position]
        lengths.append(length)
    kept, wanted, limit = set(), len(ends) - 1, FOREVER
    for at in range(len(found) - 1, -1, -1):
        if lengths[at] == wanted and found[at][0] <= limit:
            kept.add(at)
            wanted, limit = wanted - 1, found[at][0]
    return [t for at, (_, t) in enumerate(found) if at not in kept]


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


def _is_silent(one: Windows, at: int, now_ns: int) -> bool:
    """Whether the log of a closed member has no line for long around some time.

    A closed member receives reports or commit positions at intervals.
    """
    if one.steps[at].state.election_state is not ElectionState.CLOSED:
        return False
    if {"AppendPosition", "CommitPosition"} & one.hidden:
        return False
    times = one.trajectory.lines.times
    place = bisect_left(times, now_ns)
    before = times[place - 1] if place else now_ns
    after = times[place] if place < len(times) else FOREVER
    return after - before > GOES_ON_NS


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


def _end_with(one: Windows, line: int, reason: str) -> None:
    """Let a trajectory end with a receipt that is false."""
    trajectory = one.trajectory
    steps = trajectory.steps
    at = next((t for t, step in enumerate(steps) if step.lines.stop > line), len(steps))
    before = steps[at - 1].state if at else one.before
    del steps[at:]
    m = trajectory.lines.messages[line]
    action, given = f"On{type(m).__name__}", Input(message=m)
    steps.append(Step(action, given, Outcome(before), range(line, line + 1), false=True))
    trajectory.gaps[:] = [gap for gap in trajectory.gaps if gap[0] < line]
    trajectory.false_lines.append((line, reason))
    trajectory.stopped = line + 1

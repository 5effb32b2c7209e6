"""Decisions about receipts without a window: lines of the sender are missing, or a line is false.

A decision changes a trajectory: a step gets a gap, or the trajectory ends with a false line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from itertools import islice
from typing import Final

from canvass.cluster.effects import AppendNewLeadershipTermEvent
from canvass.cluster.member import ElectionState, Role
from canvass.cluster.messages import AppendPosition, Message, NewLeadershipTerm, sender_of
from canvass.traces.aeron_log.clocks import is_one_host
from canvass.traces.aeron_log.records import NewElection, ProcessStart
from canvass.traces.alignment.channel_matching import Matching, Receipt
from canvass.traces.alignment.completeness import IN_STEP_NS
from canvass.traces.alignment.member_lines import MemberLines
from canvass.traces.alignment.possible_steps import PROCESS_END
from canvass.traces.alignment.send_windows import SLOTS, Windows, sends_message

NEAR: Final = 8
"""The number of lines before a gap among which one may be false instead."""
_UNSENT_MESSAGES: Final = 2
"""If so many receipts have no window, there is a gap in the log of their sender: the gap costs less
than as many false lines."""
_ASKING: Final = frozenset({"CanvassPosition", "AppendPosition"})
"""The messages that have answers. If an answer has no window, the line of such a message may be
missing in the log of the member that answered."""
_BEGINNINGS: Final = frozenset({"Restart", "EnterElection"})
"""The steps that begin an election."""


def decide_unmatched(windows: Mapping[int, Windows], matching: Matching) -> bool:
    """Decide why the first receipt without a window has none; false if there is none to decide.

    Notes
    -----
    Nothing is decided if lines of the sender are missing, because it may have sent the message in
    the gap. Nothing is decided either if it depends on inferred receipts whether the sender sends
    the message, because it may have received other messages. If the sender's log is whole, a single
    receipt without a window is false. Several such receipts show a gap in the sender's log: as
    false lines they cost more than the gap.
    """
    by_sender: defaultdict[int, list[tuple[int, Receipt]]] = defaultdict(list)
    is_whole = not any(map(_is_open, windows.values()))
    for i, j, receipt in matching.unmatched:
        if i not in windows or receipt.is_inferred or _is_open(windows[i]):
            continue
        bracket = _bracket(windows, matching, i, j, receipt)
        may = _is_inferred(windows[i], *bracket)
        if not (may and _can_send(windows[i], j, receipt.message, is_whole=is_whole)):
            by_sender[i].append((j, receipt))
    if by_sender:
        # Only the first receipt is decided: the others may follow from it.
        i = min(
            by_sender, key=lambda i: min(windows[j].next_line_ns[r.step] for j, r in by_sender[i])
        )
        receipts = sorted(by_sender[i], key=lambda one: windows[one[0]].next_line_ns[one[1].step])
        places = [_bracket(windows, matching, i, j, receipt) for j, receipt in receipts]
        _decide_first(windows, i, receipts, places)
    return bool(by_sender)


def _decide_first(
    windows: Mapping[int, Windows],
    i: int,
    receipts: list[tuple[int, Receipt]],
    places: list[tuple[int, int]],
) -> None:
    """Decide whether the first receipt without a window of a sender is false, or shows a gap."""
    j, receipt = receipts[0]
    m, now_ns = receipt.message, windows[j].next_line_ns[receipt.step]
    one_host = is_one_host(one.trajectory.lines.records for one in windows.values())
    steps, times = windows[i].steps, windows[i].trajectory.lines.times
    ends = []
    for first, last in places:
        end = (t for t in range(max(first, 1), last + 1) if steps[t].action == PROCESS_END)
        for at in islice(end, 1):
            last_ns = times[max(steps[at].lines.start - 1, 0)]
            ends += [] if one_host and now_ns < last_ns - IN_STEP_NS else [at]
    shown = (
        len({one.message for _, one in receipts}) >= _UNSENT_MESSAGES
        or len({to for to, one in receipts if one.message == m}) > 1
        or any(
            _is_silent(windows[i], windows[to].next_line_ns[one.step])
            for to, one in receipts
            if not _is_led_by_another(windows, i, one.message)
        )
    )
    if ends and not _is_led_by_another(windows, i, m):
        reason = "the last lines of a process that was killed are missing"
        _open_gap(windows, i, ends[0], reason)
    elif shown or _answers_missing(windows[i], j, m, *places[0]):
        reason = f"lines are missing: messages that others received: {len(receipts)}"
        _open_gap(windows, i, places[0][0], reason)
    else:
        line = windows[j].steps[receipt.step].lines.start
        windows[j].trajectory.end_with(line, _cannot_send(i))


def _is_led_by_another(windows: Mapping[int, Windows], i: int, m: Message) -> bool:
    """Whether a message announces a term that a member other than ``i`` has led."""
    return isinstance(m, NewLeadershipTerm) and any(
        step.state.role is Role.LEADER and step.state.leadership_term_id == m.leadership_term_id
        for j, one in windows.items()
        for step in (one.steps if j != i else ())
    )


def _answers_missing(one: Windows, to: int, m: Message, first: int, last: int) -> bool:
    """Whether a message can be the answer to a message whose line is missing at the sender.

    The sender has the windows ``one``. Its steps from ``first`` to ``last`` are tried.
    """
    for t in range(first, last + 1):
        for s in one.with_numbers(one.steps[t].state, one.bounds[t], m):
            for action, given in one.inferred_receipts(s, to, m, _ASKING):
                if sends_message(one.moves.take(s, action, given), to, m) >= 0:
                    return True
    return False


def decide_near_gaps(windows: Mapping[int, Windows]) -> bool:
    """Decide that receipts near gaps are false; false if nothing is decided.

    Notes
    -----
    Lines may be missing at the gap, or one of the lines before it may be false. A receipt is false
    if the log of its sender is whole and has lines after the time of the receipt, and the sender
    can nowhere have sent the message. The times can be compared only if both logs have headers, or
    neither has.
    """
    found = False
    for j, one in windows.items():
        trajectory = one.trajectory
        places = [line for line, _ in trajectory.gaps]
        if trajectory.stopped < len(trajectory.lines.records):
            places.append(trajectory.stopped)
        if not places or trajectory.false_line is not None:
            continue
        first = min(places)
        for line in range(max(first - NEAR, 0), min(first + 1, len(trajectory.lines.records))):
            m = trajectory.lines.messages[line]
            i = sender_of(m) if m is not None else j
            if m is None or i == j or i not in windows or _is_open(windows[i]):
                continue
            sender = windows[i].trajectory.lines
            comparable = _has_header(sender) == _has_header(trajectory.lines)
            if not comparable or sender.times[-1] < trajectory.lines.times[line]:
                continue  # The last lines of the sender may be missing.
            can_send = _can_send(windows[i], j, m, is_whole=False)
            if windows[i].first(0, j, m) is None and not can_send:
                trajectory.end_with(line, _cannot_send(i))
                found = True
                break
    return found


def _has_header(lines: MemberLines) -> bool:
    """Whether a log names the wall time. The times of other logs are those of the host's clock."""
    return any(isinstance(record, ProcessStart) for record in lines.records)


def decide_term_entries(windows: Mapping[int, Windows]) -> bool:
    """Decide that the line of a term's first entry is false; false if nothing is decided.

    Notes
    -----
    The leader of a term has written the term's first entry. So the line is false if no leader has
    begun that term at that position. If no line announces the term, this holds even if lines after
    it are missing.
    """
    written = {
        (effect.leadership_term_id, effect.term_base_log_position)
        for one in windows.values()
        for step in one.steps
        for effect in step.outcome.effects
        if isinstance(effect, AppendNewLeadershipTermEvent)
    }
    terms, bases = {term for term, _ in written}, {base for _, base in written}
    unknown = {i for i, one in windows.items() if _is_open(one)}
    for i, one in windows.items():
        is_known = len(windows) == one.moves.rules.member_count and unknown <= {i}
        for step in one.steps:
            if step.gap:
                is_known = False
            if step.action != "OnReplayNewLeadershipTermEvent" or not step.lines or step.false:
                continue
            term, base = step.given.leadership_term_id, step.given.term_base_log_position
            is_led = i in unknown and term in one.moves.facts.announcements
            other = term in terms or (is_known and not is_led and base in bases)
            if (term, base) not in written and other:
                reason = f"no leader has begun term {term} at {base}"
                one.trajectory.end_with(step.lines.start, reason)
                return True
    return False


def decide_recorded(windows: Mapping[int, Windows], matching: Matching) -> bool:
    """Decide that a `NewElection` is false if its append position is too small; false if none is.

    Notes
    -----
    The append position of a `NewElection` is the one up to which the member has recorded at that
    moment. It is too small if the member has reported, logged or processed a greater one before.
    """
    reported: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (i, _), receipts in matching.channels.items():
        for receipt in receipts:
            if isinstance(receipt.message, AppendPosition) and not receipt.is_inferred:
                place = receipt.latest // SLOTS
                reported[i].append((place, receipt.message.log_position))
    for i, one in windows.items():
        least, recorded, sent = 0, 0, sorted(reported[i], reverse=True)
        for at, step in enumerate(one.steps):
            if step.state.recorded_position < recorded or step.is_taken_from_lines:
                least = 0
            recorded = step.state.recorded_position
            while sent and sent[-1][0] < at:
                least = max(least, sent.pop()[1])
            records = one.trajectory.lines.records
            for number in step.lines if not step.false else ():
                line = records[number]
                if not isinstance(line, NewElection):
                    continue
                known = max(least, line.log_position)
                if line.append_position < min(known, recorded):
                    reason = f"the member has recorded up to {known} before"
                    one.trajectory.end_with(number, reason)
                    return True
            if step.lines:
                least = max(least, recorded)
    return False


def _is_open(one: Windows) -> bool:
    """Whether steps of a member are missing, or its trajectory ends before its log."""
    trajectory = one.trajectory
    count = len(trajectory.lines.records)
    # A log without records shows nothing about the member.
    whole = 0 < count <= trajectory.stopped
    return not whole or trajectory.has_gap


def _is_inferred(one: Windows, first: int, last: int) -> bool:
    """Whether a member has inferred receipts from the start of an election to step ``last``.

    The election is that of step ``first``, or the last one before it.
    """
    while first > 0 and one.steps[first].action not in _BEGINNINGS:
        first -= 1
    return any(step.given.message and not step.lines for step in one.steps[first : last + 1])


def _can_send(one: Windows, to: int, m: Message, *, is_whole: bool) -> bool:
    """Whether a member can send a message if others have reported other positions to it.

    ``is_whole`` says whether the logs of the others are whole. If one is not, any position can have
    been reported. False if the logs have no silent messages.
    """
    if not one.silent_messages:
        return False
    reported = frozenset({"AppendPosition"})
    freed = Windows(one.trajectory, one.moves, more_silent=reported, trusts_lines=is_whole)
    return freed.first(0, to, m) is not None


def _bracket(
    windows: Mapping[int, Windows], matching: Matching, i: int, j: int, receipt: Receipt
) -> tuple[int, int]:
    """The first and the last step of ``i`` at which it can have sent the message of a receipt.

    They follow from the receipts before and after it in the channel.
    """
    others = matching.channels.get((i, j), [])
    before = [one.earliest for one in others if one.step < receipt.step]
    after = [one.latest for one in others if one.step > receipt.step]
    end = len(windows[i].steps) - 1
    return max(before, default=0) // SLOTS, min(after, default=SLOTS * end) // SLOTS


def _is_silent(one: Windows, now_ns: int) -> bool:
    """Whether lines may be missing in the log of a sender when its message was received.

    This is so after the last line of a process, unless that line shows that the module closed. It
    is also so if the sender is closed and has no line for long, although a closed member receives
    reports or commit positions at intervals.
    """
    lines = one.trajectory.lines
    place = bisect_left(lines.times, now_ns)
    is_last = place == len(lines.records) or isinstance(lines.records[place], ProcessStart)
    if is_last and place:
        return not lines.closes_before(place)
    if not place or {"AppendPosition", "CommitPosition"} & one.silent_messages:
        return False
    at = next((t for t, step in enumerate(one.steps) if step.lines.stop > place), len(one.steps))
    is_closed = at > 0 and one.steps[at - 1].state.election_state is ElectionState.CLOSED
    return is_closed and lines.is_silent_before(place)


def _cannot_send(i: int) -> str:
    return f"member {i} cannot have sent this message"


def _open_gap(windows: Mapping[int, Windows], i: int, at: int, reason: str) -> None:
    """Note that lines of member ``i`` are missing after step ``at``.

    If a process ends at that step, the gap comes before the first line of the next process that has
    lines. Messages of the member that had been called false no longer are, because the member may
    have sent them in the gap.
    """
    for one in windows.values():
        _, reason_before = one.trajectory.false_line or (0, "")
        if reason_before == _cannot_send(i):
            one.trajectory.stopped = one.trajectory.steps.pop().lines.start
    steps = windows[i].trajectory.steps
    place = min(at + 1, len(steps) - 1)
    if steps[at].action == PROCESS_END:
        later = range(at + 1, len(steps))
        place = next((k for k in later if steps[k].lines and steps[k].action != PROCESS_END), place)
    steps[place].gap = reason

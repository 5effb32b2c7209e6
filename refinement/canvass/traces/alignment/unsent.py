"""Receipts that their sender cannot have sent: lines of the sender are missing, or one is false."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Final

from msgspec import structs

from canvass.cluster.effects import AppendNewLeadershipTermEvent
from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import (
    AppendPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    sender_of,
)
from canvass.traces.aeron_log.clocks import is_one_host
from canvass.traces.aeron_log.records import LifeStart, NewElection
from canvass.traces.alignment import costs
from canvass.traces.alignment.channel_matching import (
    SCANS,
    Matching,
    Receipt,
    match_earliest,
    may_be_missing,
)
from canvass.traces.alignment.completeness import GOES_ON_NS, IN_STEP_NS
from canvass.traces.alignment.moves import END_OF_LIFE, Move, receive
from canvass.traces.alignment.replay import Step, Upper, false_step
from canvass.traces.alignment.windows import (
    SLOTS,
    Windows,
    positions_in,
    sends_message,
)

NEAR: Final = 8
"""Lines before a gap of which one may be false."""
SUSPECTS: Final = 6
"""Positions that do not fit in a rising sequence, of which it is tried whether one is false."""
LAST_LINES: Final = 2
"""Lines at the end of a process that one message can show to be missing."""
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
    more than a gap in the sender's log. Where it depends on receipts that no line shows whether the
    member sends the message, nothing is decided: other ones may have been received.
    """
    by_sender: defaultdict[int, list[tuple[int, Receipt]]] = defaultdict(list)
    is_whole = not any(map(_is_open, windows.values()))
    for i, j, receipt in matching.unmatched:
        if i not in windows or receipt.hidden or _is_open(windows[i]):
            continue
        bracket = _bracket(windows, matching, i, j, receipt)
        may = _is_inferred(windows[i], *bracket)
        if not (may and _can_send(windows[i], j, receipt.message, is_whole=is_whole)):
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
    one_host = is_one_host(one.trajectory.lines.records for one in windows.values())
    ends = [
        at
        for place in places
        if (at := _end_of_life(windows[i], *place)) >= 0
        and not (one_host and now_ns < _last_line_ns(windows[i], at) - IN_STEP_NS)
    ]
    shown = (
        len({one.message for _, one in receipts}) >= costs.UNSENT_MESSAGES
        or len({to for to, one in receipts if one.message == m}) > 1
        or any(
            _is_silent(windows[i], to, one.message, windows[to].due[one.step])
            for to, one in receipts
            if not _is_led_by_another(windows, i, one.message)
        )
    )
    if ends and (shown or _can_follow(windows[i], ends[0], j, m)):
        reason = "the last lines of a process that was killed are missing"
        _open_gap(windows[i], ends[0], reason)
    elif shown or _answers_missing(windows[i], j, m, *places[0]):
        reason = f"lines are missing: messages that others received: {len(receipts)}"
        _open_gap(windows[i], places[0][0], reason)
    else:
        line = windows[j].steps[receipt.step].lines.start
        _end_with(windows[j], line, f"member {i} cannot have sent this message")


def _is_led_by_another(windows: Mapping[int, Windows], i: int, m: Message) -> bool:
    """Whether a message announces a term that another member than its sender has led."""
    return isinstance(m, NewLeadershipTerm) and any(
        step.state.role is Role.LEADER and step.state.leadership_term_id == m.leadership_term_id
        for j, one in windows.items()
        for step in (one.steps if j != i else ())
    )


def _last_line_ns(one: Windows, at: int) -> int:
    """When the last line of a process that has ended was written."""
    lines = one.trajectory.lines
    return lines.times[max(one.steps[at].lines.start - 1, 0)]


def _can_follow(one: Windows, at: int, to: int, m: Message) -> bool:
    """Whether a member can have sent a message after a few more lines, before a step.

    One of these lines may be the receipt of a report that lets a leader commit what the message
    says.
    """
    count = len(one.trajectory.lines.records)
    line = next((step.lines.start for step in one.steps[at:] if step.lines), count)
    begun = one.steps[at - 1].state
    level = [begun, *(_grown(begun, position) for position in positions_in(m))]
    seen = set(level)
    reports = _reports(one, m)
    for _ in range(LAST_LINES + 1):
        following = []
        for state in level:
            for s in one.with_numbers(state, Upper(), m):
                tried = [*one.sending(s, type(m)), *one.unlogged(s, to, m, _ASKING)]
                taken = (one.moves.take(s, action, given) for action, given in tried)
                if any(sends_message(outcome, to, m) >= 0 for outcome in taken):
                    return True
            for action, given in [*one.moves.possible(state, line), *reports]:
                outcome = one.moves.take(state, action, given)
                if sends_message(outcome, to, m) >= 0:
                    return True
                if outcome is not None and outcome.next not in seen:
                    seen.add(outcome.next)
                    following.append(outcome.next)
        level = following
    return False


def _reports(one: Windows, m: Message) -> list[Move]:
    """Receipts of reports that let a leader commit what a message says."""
    if not isinstance(m, CommitPosition):
        return []
    others = sorted(one.moves.all - {one.moves.member_id})
    return [receive(AppendPosition(m.leadership_term_id, m.log_position, j, 0)) for j in others]


def _grown(s: Member, position: int) -> Member:
    """A state in which all that grows by itself has reached a position."""
    names = ["recorded_position", "commit_position"]
    if s.role is Role.LEADER:
        names.append("publication_position")
    return structs.replace(s, **{name: max(getattr(s, name), position) for name in names})


def _answers_missing(one: Windows, to: int, m: Message, first: int, last: int) -> bool:
    """Whether a member can have answered with a message to one whose line is missing."""
    for t in range(first, last + 1):
        for s in one.with_numbers(one.steps[t].state, one.bounds[t], m):
            for action, given in one.unlogged(s, to, m, _ASKING):
                if sends_message(one.moves.take(s, action, given), to, m) >= 0:
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
            can_send = _can_send(windows[i], j, m, is_whole=False)
            if windows[i].first(0, j, m) is None and not can_send:
                _end_with(one, line, f"member {i} cannot have sent this message")
                found = True
                break
    return found


def settle_falling(
    windows: Mapping[int, Windows], matching: Matching, is_hindering: Callable[[Receipt], bool]
) -> bool:
    """Decide that a position is false that does not fit in the rising ones of its channel.

    Notes
    -----
    What a closed follower reports, and what a closed leader says is committed, mostly rises within
    one term. The position that does not is false if without it all others can have been sent, or if
    it ``is_hindering``: the members can go on without it only. Of
    two of which each would do, it is the one that no other line of the cluster has. False if
    nothing is decided.
    """
    received: defaultdict[tuple[int, int], list[Receipt]] = defaultdict(list)
    for (i, j), receipts in matching.channels.items():
        received[i, j] += receipts
    for i, j, receipt in matching.unmatched:
        received[i, j].append(receipt)
    named = Counter(
        receipt.message.log_position
        for receipts in received.values()
        for receipt in receipts
        if isinstance(receipt.message, AppendPosition | CommitPosition)
    )
    found: list[tuple[bool, int, int, int, Receipt]] = []
    for (i, j), receipts in received.items():
        by_step = {receipt.step: receipt for receipt in receipts}
        for several in _rising(windows[i], j, receipts) if i in windows else ():
            for position, t in _falling(several):
                found.append((named[position] > 1, windows[j].due[t], i, j, by_step[t]))
    for _, _, i, j, receipt in sorted(found, key=itemgetter(0, 1))[:SUSPECTS]:
        if _hinders(windows[i], j, received[i, j], receipt.step) or is_hindering(receipt):
            line = windows[j].steps[receipt.step].lines.start
            reason = f"the positions that member {i} sends rise, and this one does not fit"
            _end_with(windows[j], line, reason)
            return True
    return False


def _rising(one: Windows, to: int, receipts: list[Receipt]) -> Iterator[list[tuple[int, int]]]:
    """The positions, with their steps, that a member sends to another one, and that mostly rise:
    those of one kind and term, between two elections.
    """
    starts = _beginnings(one.steps)
    # As many as a channel is looked through for: after a gap most receipts have no window.
    left = SCANS * (len(one.steps) + len(receipts))
    runs: defaultdict[tuple[type, int, int], list[tuple[int, int]]] = defaultdict(list)
    for receipt in sorted(receipts, key=lambda one: one.step):
        m, place = receipt.message, receipt.earliest
        if receipt.hidden or not isinstance(m, AppendPosition | CommitPosition):
            continue
        if place < 0 < left:
            found = one.first(0, to, m)
            left -= len(one.steps) if found is None else found // SLOTS
            place = -1 if found is None else found
        run = starts[place // SLOTS] if place >= 0 else -1
        if run >= 0:
            runs[type(m), m.leadership_term_id, run].append((m.log_position, receipt.step))
    yield from runs.values()


def _falling(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The positions, with their steps, where a sequence falls: either of two may be wrong."""
    falls = [pair for pair in pairwise(found) if pair[0][0] > pair[1][0]]
    return list(dict.fromkeys(one for pair in falls for one in pair))


def _hinders(one: Windows, to: int, receipts: list[Receipt], step: int) -> bool:
    """Whether others of a channel have windows without one receipt only, or it has none itself."""
    received = sorted(receipts, key=lambda receipt: receipt.step)
    first = next((k for k, receipt in enumerate(received) if receipt.earliest < 0), len(received))
    if first == len(received) or received[first].step == step:
        return first < len(received)
    others = [structs.replace(other) for other in received[: first + 1] if other.step != step]
    match_earliest(one, to, others)
    return others[-1].earliest >= 0


def settle_entries(windows: Mapping[int, Windows]) -> bool:
    """Decide that a line is false which says that a term begins where its leader did not begin it.

    Notes
    -----
    A leader has written every entry of a log. Lines that are missing after the entry's line do not
    matter, if no line announces its term. False if nothing is decided.
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
                _end_with(one, step.lines.start, f"no leader has begun term {term} at {base}")
                return True
    return False


def settle_recorded(windows: Mapping[int, Windows], matching: Matching) -> bool:
    """Decide that a line is false which says that a member has recorded less than before.

    How much it had recorded follows from its reports, its line before, and what it has processed.

    Notes
    -----
    An election begins with what is recorded at that moment. False if nothing is decided.
    """
    reported: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (i, _), receipts in matching.channels.items():
        for receipt in receipts:
            if isinstance(receipt.message, AppendPosition) and not receipt.hidden:
                place = receipt.latest // SLOTS
                reported[i].append((place, receipt.message.log_position))
    for i, one in windows.items():
        least, recorded, sent = 0, 0, sorted(reported[i], reverse=True)
        for at, step in enumerate(one.steps):
            if step.state.recorded_position < recorded or step.resynchronised:
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
                    _end_with(one, number, f"the member has recorded up to {known} before")
                    return True
            if step.lines:
                least = max(least, recorded)
    return False


def _beginnings(steps: list[Step]) -> list[int]:
    """For each step where the member closed its election last, or -1 in an election."""
    found: list[int] = []
    for at, step in enumerate(steps):
        before = found[-1] if found else -1
        closed = step.state.election_state is ElectionState.CLOSED
        found.append((before if before >= 0 else at) if closed else -1)
    return found


def _is_open(one: Windows) -> bool:
    """Whether it is known that steps of a member are missing, or not known how it goes on."""
    trajectory = one.trajectory
    count = len(trajectory.lines.records)
    # Of a log without a line that matters nothing is known.
    whole = 0 < count <= trajectory.stopped
    return not whole or may_be_missing(one)


def _is_inferred(one: Windows, first: int, last: int) -> bool:
    """Whether receipts that no line shows decide of what a member sends within a range of steps."""
    while first > 0 and one.steps[first].action not in _BEGINNINGS:
        first -= 1
    return any(step.given.message and not step.lines for step in one.steps[first : last + 1])


def _can_send(one: Windows, to: int, m: Message, *, is_whole: bool) -> bool:
    """Whether a member can send a message if others report other positions than lines show.

    If lines of the others are missing they can have reported any.
    """
    if not one.hidden:
        return False
    freed = Windows(one.trajectory, one.moves)
    freed.hidden = one.hidden | {"AppendPosition"}
    freed.trusts_lines = is_whole
    return freed.first(0, to, m) is not None


def _bracket(
    windows: Mapping[int, Windows], matching: Matching, i: int, j: int, receipt: Receipt
) -> tuple[int, int]:
    """The steps of the sender between which a receipt has its place, by its neighbours."""
    others = matching.channels.get((i, j), [])
    before = [one.earliest for one in others if one.step < receipt.step]
    after = [one.latest for one in others if one.step > receipt.step]
    end = len(windows[i].steps) - 1
    return max(before, default=0) // SLOTS, min(after, default=SLOTS * end) // SLOTS


def _is_silent(one: Windows, to: int, m: Message, now_ns: int) -> bool:
    """Whether a message can have been sent when the log of its sender has no line.

    So it is after the last line of a process, unless that line says that the module closed: nobody
    knows how many more lines there were. So it is, too, where a closed member has no line for long:
    it receives reports or commit positions at intervals.
    """
    lines = one.trajectory.lines
    place = bisect_left(lines.times, now_ns)
    is_last = place == len(lines.records) or isinstance(lines.records[place], LifeStart)
    if is_last and place:
        return not lines.closes_before(place)
    if not place or {"AppendPosition", "CommitPosition"} & one.hidden:
        return False
    at = next((t for t, step in enumerate(one.steps) if step.lines.stop > place), len(one.steps))
    is_closed = at > 0 and one.steps[at - 1].state.election_state is ElectionState.CLOSED
    is_long = lines.times[place] - lines.times[place - 1] > GOES_ON_NS
    return is_closed and is_long and _can_follow(one, at, to, m)


def _end_of_life(one: Windows, first: int, last: int) -> int:
    """The step within a range at which a process has ended, or -1."""
    for at in range(first, min(last + 1, len(one.steps))):
        if one.steps[at].action == END_OF_LIFE and at:
            return at
    return -1


def _open_gap(one: Windows, at: int, reason: str) -> None:
    """Note that lines are missing after a step.

    After the end of a process the gap is where the next process has its first line: what that
    process finds recorded may have been recorded before the gap.
    """
    steps = one.trajectory.steps
    place = min(at + 1, len(steps) - 1)
    if steps[at].action == END_OF_LIFE:
        # A process that logs no step has no place for it.
        later = range(at + 1, len(steps))
        place = next((k for k in later if steps[k].lines and steps[k].action != END_OF_LIFE), place)
    steps[place].gap = reason
    line = next(
        (step.lines.start for step in steps[at + 1 :] if step.lines), one.trajectory.stopped
    )
    one.trajectory.gaps.append((line, reason))


def _end_with(one: Windows, line: int, reason: str) -> None:
    """Let a trajectory end with a receipt that is false."""
    trajectory = one.trajectory
    steps = trajectory.steps
    at = next((t for t, step in enumerate(steps) if step.lines.stop > line), len(steps))
    before = trajectory.state_before(at)
    del steps[at:]
    steps.append(false_step(trajectory.lines, line, before))
    trajectory.gaps[:] = [gap for gap in trajectory.gaps if gap[0] < line]
    trajectory.false_lines.append((line, reason))
    trajectory.stopped = line + 1

"""Where lines seem to be cut out of the middle of a log: a silence in which others heard of the
member, changes of which one does not begin where the one before has led, or a member that serves
though no change has ended its election.

Nothing here drives anything; it is judged by what an attempt without holes could not explain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Final

from canvass.cluster.messages import NULL_VALUE, CommitPosition, Message
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.driver import Failure
from canvass.traces.aeron_import.evidence import (
    STARTED,
    UNDER_WAY_NS,
    MemberEvidence,
    cause_index,
    moments,
)
from canvass.traces.aeron_import.module_holes import find_module_holes
from canvass.traces.aeron_import.proposal import NEVER
from canvass.traces.aeron_log.records import (
    AppendPosition,
    DamagedLine,
    ElectionStateChange,
    LifeStart,
    Line,
    NewElection,
    NewLeadershipTerm,
    ReplayNewLeadershipTerm,
    RequestVote,
    RoleChange,
    TruncatedLine,
    TruncateLogEntry,
)

_SILENCE_NS: Final = 150_000_000
"""Between two lines of one life: longer than the shortest interval of repetition, 100 ms."""
_MOMENT_NS: Final = 50_000_000
"""Messages that were on their way when a process paused come within less."""
_HEARD_COUNT: Final = 3
"""Moments at which others must have heard of a member for a silence of its log to be a hole: who is
only paused is not heard of, but for what was on its way.
"""
_LACKING_COUNT: Final = 3
"""So many things must not follow from the lines before a silence for it to be a hole where less was
heard: one false line makes fewer.
"""


def find_holes(
    members: Mapping[int, MemberEvidence], plan: Plan, failures: Sequence[Failure]
) -> dict[int, dict[int, int]]:
    """Find where lines seem to be cut out of logs, before what is not explained.

    Parameters
    ----------
    members
        What was logged.
    plan, failures
        Of an attempt that knew of no hole.

    Returns
    -------
    dict
        For each member the index of the first record after a hole, and of the record with which it
        is known again.
    """
    heard: dict[int, list[int]] = {}
    for delivery in plan.by_record.values():
        heard.setdefault(delivery.sender, []).append(delivery.time)
    holes: dict[int, dict[int, int]] = {}
    for member_id, evidence in members.items():
        times = sorted(heard.get(member_id, []))
        broken = {*_breaks(evidence), *_begin_of_unsent(evidence, plan, failures)}
        for index in range(1, len(evidence.records)):
            damaged = isinstance(evidence.records[index], DamagedLine)
            if not (
                damaged
                or index in broken
                or _is_silence(evidence, index, times)
                or _lacks_much(evidence, index, plan, failures)
            ):
                continue
            end, known = len(evidence.records), evidence.known_again(index)
            shown = evidence.times[index] + _SILENCE_NS
            if damaged or index in broken:
                shown = evidence.times[known] + UNDER_WAY_NS if known < end else NEVER
            begin = evidence.times[index - 1]
            if any(
                (one.member_id == member_id and one.index >= index)
                or (one.sender == member_id and begin <= one.time <= shown)
                for one in failures
            ):
                holes.setdefault(member_id, {})[index] = known
    return holes


def _is_silence(evidence: MemberEvidence, index: int, heard: Sequence[int]) -> bool:
    """Whether a member was silent before a record, and others heard of it all the time."""
    begin, end = evidence.times[index - 1 : index + 1]
    if end - begin < _SILENCE_NS:
        return False
    within = heard[bisect_right(heard, begin) : bisect_left(heard, end)]
    return len(moments(within, _MOMENT_NS, begin)) >= _HEARD_COUNT


def _lacks_much(
    evidence: MemberEvidence, index: int, plan: Plan, failures: Sequence[Failure]
) -> bool:
    """Whether much does not follow from the lines before a silence: different messages that others
    received in it, and what the member logged after it, which counts once.
    """
    begin, end = evidence.times[index - 1 : index + 1]
    if end - begin < _SILENCE_NS or isinstance(evidence.records[index], LifeStart):
        return False
    known = evidence.known_again(index)
    lacking: set[Message | None] = set()
    for one in failures:
        if one.sender == evidence.member_id and begin <= one.time < end:
            lacking.add(plan.by_record[one.member_id, one.index].message)
        elif one.member_id == evidence.member_id and index <= one.index <= known:
            lacking.add(None)
    return len(lacking) >= _LACKING_COUNT


def _begin_of_unsent(
    evidence: MemberEvidence, plan: Plan, failures: Sequence[Failure]
) -> Iterator[int]:
    """Find where a member seems to have come to another state than it logged: its lines fit so far,
    and not what others received of it. Commit positions may lack reports only.
    """
    member_id = evidence.member_id
    mine = [plan.by_record[one.member_id, one.index] for one in failures if one.sender == member_id]
    unsent = [one for one in mine if not isinstance(one.message, CommitPosition)]
    if len({one.message for one in unsent}) >= _LACKING_COUNT:
        place = bisect_right(evidence.times, min(one.time for one in unsent))
        fits = not any(
            one.member_id == member_id and one.sender == NULL_VALUE and one.index < place
            for one in failures
        )
        if fits and 0 < place < len(evidence.records):
            yield place


# Changes that do not follow from each other.

_SHOWING: Final = (LifeStart, NewElection, ElectionStateChange)
_AROUND: Final = 2
"""So many steps from change to change on either side must fit: where two changes have changed
places of which each leads to where the other begins, the step between them fits as well.
"""
_OF_THE_NEXT: Final = (RoleChange, TruncateLogEntry)
"""What is logged directly before the change that it belongs to."""


def _breaks(evidence: MemberEvidence) -> Iterator[int]:
    """Find where one change does not follow from the one before, and those around the two do: for
    each the first record that may come after the lines that are missing.

    Notes
    -----
    A change that is false, or stands in another's place, fits neither to the one before nor to the
    one after it.
    """
    found = evidence.records
    of_module = set(find_module_holes(evidence))
    yield from of_module
    shown = [k for k, record in enumerate(found) if isinstance(record, _SHOWING)]
    fits = [_follows(evidence, first, second) for first, second in pairwise(shown)]
    for place, first in enumerate(shown):
        if all(fits[max(place - _AROUND, 0) : place]) and (
            _serves_though_open(evidence, first) or _leads_though_open(evidence, first)
        ):
            yield first + 1
    for place, (first, second) in enumerate(pairwise(shown)):
        around = fits[max(place - _AROUND, 0) : place] + fits[place + 1 : place + 1 + _AROUND]
        if not all(around):
            continue
        if fits[place]:
            if _lacks_its_cause(evidence, second):
                yield cause_index(evidence, second)
            continue
        if not of_module.isdisjoint(range(first + 1, second + 1)):
            continue
        begin, end = first, second
        while end - 1 > first and isinstance(found[end - 1], _OF_THE_NEXT):
            end -= 1
        for between in range(first + 1, end):
            if isinstance(found[between], RoleChange):
                begin = between
        yield begin + 1


def _serves_though_open(evidence: MemberEvidence, first: int) -> bool:
    """Whether a member has processed an entry outside an election after a change of one, before any
    other change or what must have been the end of it.
    """
    change = evidence.records[first]
    if not isinstance(change, ElectionStateChange) or change.new_state == "CLOSED":
        return False
    for index in range(first + 1, len(evidence.records)):
        record = evidence.records[index]
        if isinstance(record, (*_SHOWING, TruncatedLine)) or index in evidence.closings:
            return False
        if isinstance(record, ReplayNewLeadershipTerm) and not record.is_in_election:
            return True
    return False


_OPENING: Final = {
    ("NOMINATE", "CANDIDATE_BALLOT"),
    ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION"),
    ("LEADER_LOG_REPLICATION", "LEADER_REPLAY"),
    ("LEADER_REPLAY", "LEADER_INIT"),
    ("LEADER_INIT", "LEADER_READY"),
}
"""Changes with which a leader opens its term, but for the last one."""
_REPORTED_COUNT: Final = 2
"""So many reports are not all false: one is, where one line is."""


def _leads_though_open(evidence: MemberEvidence, first: int) -> bool:
    """Whether a member has had reports of what it wrote into its term, which it does once the
    election has closed, after a change that opens the term, and no other change follows that one.
    """
    change = evidence.records[first]
    if not isinstance(change, ElectionStateChange):
        return False
    if (change.old_state, change.new_state) not in _OPENING:
        return False
    count = 0
    for index in range(first + 1, len(evidence.records)):
        record = evidence.records[index]
        if isinstance(record, ElectionStateChange | TruncatedLine):
            return False
        if isinstance(record, LifeStart | NewElection):
            break
        count += (
            isinstance(record, AppendPosition)
            and record.leadership_term_id == change.candidate_term_id
            and record.log_position > change.append_position
        )
    return count >= _REPORTED_COUNT


def _follows(evidence: MemberEvidence, first: int, second: int) -> bool:
    """Whether two records that show an election can follow each other; where a line between them
    cannot be read, they can.
    """
    found = evidence.records
    if any(isinstance(one, TruncatedLine) for one in found[first + 1 : second]):
        return True
    return _leads_to(found[first], found[second])


_CAUSED: Final = {
    ("CANVASS", "FOLLOWER_BALLOT"),
    ("NOMINATE", "FOLLOWER_BALLOT"),
    *product(("CANVASS", "FOLLOWER_BALLOT"), ("FOLLOWER_REPLAY", "FOLLOWER_LOG_REPLICATION")),
}
"""Changes that only a message makes, which is logged directly before."""
_CAUSES: Final = (RequestVote, NewLeadershipTerm, TruncatedLine)


def _lacks_its_cause(evidence: MemberEvidence, index: int) -> bool:
    """Whether a change is not preceded by the message without which it is not made."""
    change = evidence.records[index]
    if not isinstance(change, ElectionStateChange):
        return False
    if (change.old_state, change.new_state) not in _CAUSED:
        return False
    cause = evidence.records[cause_index(evidence, index)]
    return not isinstance(cause, _CAUSES)


def _leads_to(before: Line, after: Line) -> bool:
    if isinstance(after, LifeStart):
        return True
    if isinstance(after, NewElection):
        if after.reason == STARTED:
            return isinstance(before, LifeStart)
        return isinstance(before, ElectionStateChange) and before.new_state == "CLOSED"
    assert isinstance(after, ElectionStateChange)
    if isinstance(before, NewElection):
        return after.old_state == "INIT"
    if isinstance(before, LifeStart):
        return False
    assert isinstance(before, ElectionStateChange)
    return before.new_state == after.old_state

"""What a member that serves must have heard and has not logged: lines are missing there.

A leader tells all followers of a commit position at once, and repeats it if nothing changes, as
they repeat their reports; the transport loses nothing of a connection that holds. So who goes on
reporting to its leader hears what the other followers hear, and nobody who is heard of goes on
hearing nothing. Nothing here drives anything, or says what such a log means.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_import.evidence import MemberEvidence, Segment, moments
from canvass.traces.aeron_import.proposal import NEVER
from canvass.traces.aeron_log.records import AppendPosition, CommitPosition, Line, TruncatedLine

_AROUND_NS: Final = 150_000_000
"""A member that reports new positions so shortly before a moment, and so shortly after it, is
connected to its leader then: it is neither paused nor cut off."""
_MEANWHILE_NS: Final = 20_000_000
"""A report of what a leader has written comes so shortly before or after others hear of it."""
_LAG_NS: Final = 100_000_000
"""Who hears something so much later than it was told was paused, or the network slow: more may have
come than there is room for, and what is missing may be late.
"""
_DELIVERED_NS: Final = 1_000_000_000
"""What was sent so long before a member ceased to follow was read and logged before that; a kill
takes the lines of some milliseconds."""
_SILENCE_NS: Final = 350_000_000
_REPORTING_NS: Final = 250_000_000
_MOMENT_NS: Final = 50_000_000
_MOMENT_COUNT: Final = 4
"""A member must have reported something new within a silence at so many moments, so far apart at
least, over so long a time: its leader did not stand still, and repeats what it tells more often."""

_INTERVAL_NS: Final = 100_000_000
"""What is repeated comes not sooner than so, but for what was late."""
_GOING_ON_NS: Final = 600_000_000
"""After the end of a log: three times as long as members are silent that serve."""

_Service: TypeAlias = tuple[int, int]
"""A term and its leader."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """A place in the log of a member that serves before which lines are missing.

    Parameters
    ----------
    index
        Of the first record after them; the number of records if none is.
    reason
        What was to be heard, in a part of a sentence.
    """

    index: int
    reason: str


@dataclass(slots=True)
class _Told:
    """What a leader has told in its term, and what it has heard in it.

    Parameters
    ----------
    heard
        When each commit position was first heard by anybody.
    reports
        For each follower when it reported more than before.
    reported
        What it reported then.
    latest
        For each follower the index of the last commit position that it has logged.
    """

    heard: dict[int, int] = field(default_factory=dict)
    reports: dict[int, list[int]] = field(default_factory=dict)
    reported: dict[int, list[int]] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    ranks: dict[int, int] = field(default_factory=dict)

    def rank(self) -> None:
        """Sort the positions, when all are known."""
        self.positions = sorted(self.heard)
        self.ranks = {position: rank for rank, position in enumerate(self.positions)}


@dataclass(slots=True)
class _Last:
    """The last commit position that a follower has logged."""

    service: _Service
    position: int
    index: int


def find_unheard(members: Mapping[int, MemberEvidence]) -> dict[int, tuple[Unheard, ...]]:
    """Find where commit positions are missing in the logs of followers, and which logs of members
    that serve lack their ends.

    Parameters
    ----------
    members
        What was logged, on one clock.

    Returns
    -------
    dict
        The places in each log that has some, in order.
    """
    told = _told(members)
    found = {}
    for member_id, evidence in members.items():
        places = [*_places(evidence, told), *_after_end(evidence, members)]
        if places:
            found[member_id] = tuple(dict.fromkeys(places))
    return found


def _told(members: Mapping[int, MemberEvidence]) -> dict[_Service, _Told]:
    told: dict[_Service, _Told] = {}
    for member_id, evidence in members.items():
        highest: dict[tuple[int, int], int] = {}
        for index, (record, time) in enumerate(zip(evidence.records, evidence.times, strict=True)):
            kind = type(record)
            if kind is CommitPosition:
                assert isinstance(record, CommitPosition)
                service = record.leadership_term_id, record.leader_member_id
                one = told.setdefault(service, _Told())
                one.latest[member_id] = index
                position = record.log_position
                if one.heard.get(position, time) >= time:
                    one.heard[position] = time
            elif kind is AppendPosition:
                assert isinstance(record, AppendPosition)
                term, follower = record.leadership_term_id, record.follower_member_id
                if record.log_position > highest.get((term, follower), -1):
                    highest[term, follower] = record.log_position
                    one = told.setdefault((term, member_id), _Told())
                    one.reports.setdefault(follower, []).append(time)
                    one.reported.setdefault(follower, []).append(record.log_position)
    for one in told.values():
        one.rank()
    return told


def _places(evidence: MemberEvidence, told: Mapping[_Service, _Told]) -> Iterator[Unheard]:
    last: _Last | None = None
    for segment in evidence.segments:
        service = segment.term, segment.leader
        if not _follows(evidence, segment) or (last is not None and last.service != service):
            last = None
        if service not in told or not _follows(evidence, segment):
            continue
        for index in range(segment.start, segment.end):
            record = evidence.records[index]
            if isinstance(record, TruncatedLine):
                last = None
            if not isinstance(record, CommitPosition):
                continue
            if (record.leadership_term_id, record.leader_member_id) != service:
                continue
            if last is not None:
                yield from _between(evidence, told[service], last, index, record.log_position)
            last = _Last(service, record.log_position, index)
        if last is not None and segment.state == "CLOSED":
            yield from _at_end(evidence, told[service], last, segment.end)
            last = None


def _follows(evidence: MemberEvidence, segment: Segment) -> bool:
    """Whether a member follows a leader in a segment."""
    if segment.state == "CLOSED":
        return not segment.leads(evidence.member_id)
    return segment.state.startswith("FOLLOWER_") and segment.state != "FOLLOWER_BALLOT"


def _between(
    evidence: MemberEvidence, told: _Told, last: _Last, index: int, position: int
) -> Iterator[Unheard]:
    """Look between two commit positions of one leader."""
    lacking = told.positions[told.ranks[last.position] + 1 : told.ranks[position]]
    reports = told.reports.get(evidence.member_id, [])
    newer = bisect_right(told.reported.get(evidence.member_id, []), position)
    late = newer < len(reports) and evidence.times[index] - reports[newer] > _LAG_NS
    yield from _missing(evidence, told, last, index, lacking, reports, late=late)


def _at_end(evidence: MemberEvidence, told: _Told, last: _Last, index: int) -> Iterator[Unheard]:
    """Look between the last commit position of a leader and the end of following it: what is
    reported later is of another life, or after another election. A cut of the network only delays
    what is told: what comes later was late.
    """
    reports = told.reports.get(evidence.member_id, [])
    if index < len(evidence.times):
        reports = reports[: bisect_left(reports, evidence.times[index])]
    if not reports or told.latest.get(evidence.member_id, -1) > last.index:
        return
    end = reports[-1] - _DELIVERED_NS
    beyond = told.positions[told.ranks[last.position] + 1 :]
    lacking = [position for position in beyond if told.heard[position] <= end]
    yield from _missing(evidence, told, last, index, lacking, reports)


def _missing(
    evidence: MemberEvidence,
    told: _Told,
    last: _Last,
    index: int,
    lacking: Sequence[int],
    reports: Sequence[int],
    *,
    late: bool = False,
) -> Iterator[Unheard]:
    begin = evidence.times[last.index]
    end = evidence.times[index] if index < len(evidence.times) else NEVER
    times = sorted(told.heard[position] for position in lacking)
    # What comes after it was told later, so that it was told before that, whoever else heard it.
    in_time = begin - min([told.heard[last.position], *times[:1]]) <= _LAG_NS
    heard = f"its leader {last.service[1]} heard it report new positions meanwhile, and"
    if in_time and _goes_on(reports, times):
        count = f"{len(lacking)} commit position{'s' * (len(lacking) > 1)}"
        yield Unheard(index, f"{heard} told others {count} that it lacks")
    elif not late and _is_silent(reports, begin, end):
        yield Unheard(index, f"{heard} repeats its commit position")


def _goes_on(reports: Sequence[int], times: Sequence[int]) -> bool:
    """Whether a member went on reporting new positions while others were told something at some
    times: half as often at least, and around half of these times.
    """
    if not times:
        return False
    low = bisect_left(reports, times[0] - _MEANWHILE_NS)
    meanwhile = bisect_right(reports, times[-1] + _MEANWHILE_NS) - low
    connected = sum(_is_connected(reports, time) for time in times)
    return 2 * min(meanwhile, connected) >= len(times)


def _is_connected(reports: Sequence[int], time: int) -> bool:
    """Whether a member reported new positions before and after a moment."""
    place = bisect_right(reports, time)
    if not 0 < place < len(reports):
        return False
    return time - reports[place - 1] <= _AROUND_NS and reports[place] - time <= _AROUND_NS


def _is_silent(reports: Sequence[int], begin: int, end: int) -> bool:
    """Whether a member was silent for long, and reported new positions all the while."""
    if end - begin < _SILENCE_NS:
        return False
    low = bisect_right(reports, begin + _MOMENT_NS)
    found = moments(reports[low : bisect_left(reports, end - _MOMENT_NS)], _MOMENT_NS)
    return len(found) >= _MOMENT_COUNT and found[-1] - found[0] >= _REPORTING_NS


def _after_end(
    evidence: MemberEvidence, members: Mapping[int, MemberEvidence]
) -> Iterator[Unheard]:
    """Tell whether others went on hearing of a member that served when its log ended: what is
    repeated at intervals is not late, as it was sent so.
    """
    if not evidence.segments or evidence.segments[-1].end < len(evidence.records):
        return
    segment, end = evidence.segments[-1], evidence.times[-1]
    if segment.state != "CLOSED":
        return
    heard: list[int] = []
    for other in members.values():
        position, latest = NULL_VALUE, end
        for place in range(bisect_right(other.times, end), len(other.times)):
            told = _told_by(other.records[place], evidence.member_id, segment.term)
            if told == NULL_VALUE:
                continue
            time = other.times[place]
            if told == position and time - latest >= _INTERVAL_NS:
                heard.append(time)
            position, latest = told, time
    heard.sort()
    if len(moments(heard, _MOMENT_NS)) >= _MOMENT_COUNT and heard[-1] - end >= _GOING_ON_NS:
        others = f"others went on hearing of member {evidence.member_id}"
        yield Unheard(len(evidence.records), f"{others}, and repeat what they tell it")


def _told_by(record: Line, member_id: int, term: int) -> int:
    """The position that a member tells in a term, if a record is of that."""
    if isinstance(record, CommitPosition):
        mine = record.leader_member_id == member_id
    elif isinstance(record, AppendPosition):
        mine = record.follower_member_id == member_id
    else:
        return NULL_VALUE
    return record.log_position if mine and record.leadership_term_id == term else NULL_VALUE

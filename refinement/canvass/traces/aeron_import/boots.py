"""Lives of a process after a boot of its host, whose clock has begun anew: put on the clock of the
first life, by the wall clock of the headers and then by what messages say.

Clocks of different hosts are the business of `clocks`; nothing here reads a message's content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from msgspec import structs

from canvass.traces.aeron_import.clocks import earliest_sends, key_of, likely_commits
from canvass.traces.aeron_import.evidence import MemberEvidence, is_stamped
from canvass.traces.aeron_log.records import LifeStart, Line

_NARROW_NS: Final = 4_000_000
"""An interval in whose middle no receipt is farther off than clocks are taken to be wrong."""

_MARGIN_NS: Final = 500_000_000
"""How far a wall clock may be wrong, and less than a host takes to boot."""


def join_boots(members: Mapping[int, MemberEvidence]) -> bool:
    """Put the lives of each member on one clock by the wall clock; say whether any was moved."""
    moved = [_join(evidence) for evidence in members.values()]
    return any(moved)


def _join(evidence: MemberEvidence) -> bool:
    shift, latest = 0, None
    header: LifeStart | None = None
    for index, record in enumerate(evidence.records):
        if isinstance(record, LifeStart):
            if header is not None and latest is not None and record.time_ns < latest:
                passed_ns = (record.wall_time_ms - header.wall_time_ms) * 1_000_000
                shift += passed_ns - (record.time_ns - header.time_ns)
                evidence.boots.append(index)
            header = record
        if header is not None and is_stamped(record):
            latest = record.time_ns
        if shift:
            evidence.records[index] = structs.replace(record, time_ns=record.time_ns + shift)
    return bool(evidence.boots)


def settle_boots(
    members: Mapping[int, MemberEvidence], offsets: Mapping[int, int], *, likely: bool = False
) -> None:
    """Move what follows a boot so that nothing is received before it was sent.

    Parameters
    ----------
    members
        What was logged, on the clock of each member's first life.
    offsets
        What is to be added to each of these clocks.
    likely
        Whether to go by what is only likely, too, as `align` says.
    """
    for member_id, evidence in members.items():
        for begin, end in _parts(evidence):
            low, high = _bounds(members, offsets, member_id, begin, end)
            if likely:
                low, high = _likely_bounds(members, offsets, member_id, (begin, end), (low, high))
            if low is not None and high is not None and high - low <= _NARROW_NS:
                move = (low + high) // 2
            else:
                # The wall clock is the better guess.
                move = max(0, low or 0) or min(0, high or 0)
            if move:
                evidence.records[begin:end] = [
                    structs.replace(record, time_ns=record.time_ns + move)
                    for record in evidence.records[begin:end]
                ]


def _parts(evidence: MemberEvidence) -> Iterator[tuple[int, int]]:
    """Begin and end of the records after each boot."""
    yield from pairwise((*evidence.boots, len(evidence.records)))


def _bounds(
    members: Mapping[int, MemberEvidence],
    offsets: Mapping[int, int],
    member_id: int,
    begin: int,
    end: int,
) -> tuple[int | None, int | None]:
    """How far some records of a member have to be moved at least, and may be at most."""
    part = members[member_id].records[begin:end]
    sent = earliest_sends(part)
    low: int | None = None
    high: int | None = None
    first, last = part[0].time_ns + offsets[member_id], part[-1].time_ns + offsets[member_id]
    for other, evidence in members.items():
        if other == member_id:
            continue
        apart = offsets[other] - offsets[member_id]
        for received, begun in _pairs(part, other, earliest_sends(evidence.records), member_id):
            least = begun + apart - received
            low = least if low is None else max(low, least)
        near = [
            record
            for record in evidence.records
            if first - _MARGIN_NS <= record.time_ns + offsets[other] <= last + _MARGIN_NS
        ]
        for received, begun in _pairs(near, member_id, sent, other):
            most = received + apart - begun
            high = most if high is None else min(high, most)
    return low, high


def _likely_bounds(
    members: Mapping[int, MemberEvidence],
    offsets: Mapping[int, int],
    member_id: int,
    span: tuple[int, int],
    known: tuple[int | None, int | None],
) -> tuple[int | None, int | None]:
    """The same, by commit positions as well."""
    (begin, end), (low, high) = span, known
    part = members[member_id].records[begin:end]
    torn = {**members, member_id: replace(members[member_id], records=part)}
    for (leader, receiver), least in likely_commits(torn).items():
        apart = offsets[leader] - offsets[receiver]
        if receiver == member_id and (high is None or least + apart <= high):
            low = least + apart if low is None else max(low, least + apart)
        elif leader == member_id and (low is None or low <= -least - apart):
            high = -least - apart if high is None else min(high, -least - apart)
    return low, high


def _pairs(
    received: list[Line], sender: int, sent: dict[tuple[object, ...], int], receiver: int
) -> Iterator[tuple[int, int]]:
    """For each receipt of a message whose earliest send is known the times of both."""
    for record in received:
        key = key_of(record)
        if key is not None and key[0] == sender:
            begun = sent.get((receiver, *key[1])) or sent.get(key[1])
            if begun is not None:
                yield record.time_ns, begun

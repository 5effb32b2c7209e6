"""What the logs do not show: members without a log, lines that cannot be read, events that are
disabled, a log that begins late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canvass.explanation.evidence import Evidence, Sentence
from canvass.explanation.timeline import MemberTimeline, Timeline, is_damaged
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line
from canvass.traces.counts import counted

_NEEDED: Final[dict[str, tuple[type[Line], str]]] = {
    "ELECTION_STATE_CHANGE": (records.ElectionStateChange, "elections and leaderships"),
    "NEW_ELECTION": (records.NewElection, "why elections begin"),
    "CANVASS_POSITION": (records.CanvassPosition, "what a candidate waited for"),
    "VOTE": (records.Vote, "who voted how"),
    "APPEND_POSITION": (
        records.AppendPosition,
        "how far followers were, and when a leader stopped",
    ),
    "COMMIT_POSITION": (records.CommitPosition, "how far the log was committed"),
}
"""Events whose absence leaves questions open, and which ones."""


def find_missing(timeline: Timeline) -> list[Sentence]:
    """List what is missing, each with a line that shows it."""
    found = list(_members(timeline))
    for event, (kind, what) in _NEEDED.items():
        without = [
            one
            for one in timeline.members.values()
            if not any(isinstance(record, kind) for record in one.records)
        ]
        if len(without) == len(timeline.members) and without:
            text = f"No log has the event {event}: it does not show {what}."
            found.append(Sentence(text, tuple(one.evidence(0) for one in without)))
    for one in timeline.members.values():
        found += _of_member(one)
    return found


def _members(timeline: Timeline) -> Iterator[Sentence]:
    for member_id in timeline.missing:
        line = _named(timeline, member_id)
        if line is not None:
            yield Sentence(f"The log of member {member_id} is not here.", (line,))


def _named(timeline: Timeline, member_id: int) -> Evidence | None:
    """A line that names a member."""
    names = ("follower_member_id", "leader_member_id", "candidate_member_id", "sender_member_id")
    for _, other, index in timeline.merged(records.ClusterEvent):
        record = timeline.record(other, index)
        if any(getattr(record, name, None) == member_id for name in names):
            return timeline.members[other].evidence(index)
    first = min(timeline.members, default=None)
    return None if first is None else timeline.members[first].evidence(0)


def _of_member(one: MemberTimeline) -> Iterator[Sentence]:
    if one.lacks_start:
        text = f"The log of member {one.member_id} begins within a process."
        yield Sentence(text, (one.evidence(0),))
    damaged = [k for k, record in enumerate(one.records) if is_damaged(record)]
    if damaged:
        text = f"{counted(len(damaged), 'line')} of member {one.member_id} cannot be read."
        places = damaged if len(damaged) < 4 else [damaged[0], damaged[-1]]
        yield Sentence(text, tuple(one.evidence(k) for k in places))
    for attempt in one.attempts:
        for earlier, later in zip(attempt.phases, attempt.phases[1:], strict=False):
            by = later.entered_by
            if isinstance(by, records.ElectionStateChange) and by.old_state != earlier.state:
                text = (
                    f"Lines of member {one.member_id} are missing: it was in {earlier.state} and"
                    f" comes from {by.old_state}."
                )
                yield Sentence(text, (one.evidence(earlier.begin), one.evidence(later.begin)))

"""Lines that a member must have written and that are not there, though all else explains itself: a
step that never happens without its line, a number that is left out, a change that does not follow.

Nothing here takes a step or judges what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from canvass.cluster.member import ElectionState, Member, ModuleState, Role
from canvass.cluster.messages import AppendPosition
from canvass.traces.aeron_import.evidence import STARTED, MemberEvidence, is_message
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.step import Step
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    LifeStart,
    Line,
    NewElection,
    ReplayNewLeadershipTerm,
    ReplicationEnded,
    RoleChange,
    ServiceAck,
    StateChange,
    TruncatedLine,
    TruncateLogEntry,
)

_AROUND: Final = 2
"""So many changes on either side of one that does not follow must fit: where two have changed
places of which each leads to where the other begins, those between them fit as well.
"""
_MOMENTS: Final = 5
"""So often a follower must have logged something since it had to process an entry; who is only
paused does so once.
"""
_MOMENT_NS: Final = 200_000_000
"""Between two of these: the interval at which leaders and followers send."""

Missing = tuple[int, str]
"""The index of a record before which a line is missing, and its event."""


def find_missing(proposal: Proposal) -> list[Missing]:
    """Find the lines that are missing of a member.

    Notes
    -----
    Of an event that the log has no line of nothing is said, as it may be turned off; but for the
    entries of terms, which tell how far the log was processed.
    """
    evidence = proposal.evidence
    kinds: set[type[Line]] = set(map(type, evidence.records))
    finders: dict[type[Line], Iterator[int]] = {
        ServiceAck: _acknowledgements(evidence),
        StateChange: _states(evidence),
        LifeStart: _headers(evidence),
        ReplicationEnded: _copies(evidence),
        RoleChange: _roles(proposal),
        ReplayNewLeadershipTerm: _entries(proposal),
        TruncateLogEntry: _cuts(proposal),
        NewElection: _elections(proposal),
        ElectionStateChange: _closings(proposal),
    }
    return sorted(
        {
            *proposal.lost_lines_at,
            *(
                (index, _EVENTS[kind])
                for kind, found in finders.items()
                if kind in kinds or kind is ReplayNewLeadershipTerm
                for index in found
                if not _is_unknown(evidence, index)
            ),
        }
    )


_EVENTS: Final[dict[type[Line], str]] = {
    ServiceAck: "SERVICE_ACK",
    StateChange: "STATE_CHANGE",
    LifeStart: "log started",
    ReplicationEnded: "REPLICATION_ENDED",
    RoleChange: "ROLE_CHANGE",
    ReplayNewLeadershipTerm: "REPLAY_NEW_LEADERSHIP_TERM",
    TruncateLogEntry: "TRUNCATE_LOG_ENTRY",
    NewElection: "NEW_ELECTION",
    ElectionStateChange: "ELECTION_STATE_CHANGE",
}


def _is_unknown(evidence: MemberEvidence, index: int) -> bool:
    """Whether lines are known to be missing there anyway: what the member did is not known."""
    found = evidence.records
    near = found[max(index - 2, 0) : index + 1]
    return any(isinstance(one, TruncatedLine) for one in near) or any(
        begin <= index <= end for begin, end in evidence.holes.items()
    )


# What the lines alone show.


def _lives(evidence: MemberEvidence) -> Iterator[range]:
    """The indexes of the records of each life that the log shows the beginning of."""
    begin = -1
    for index, record in evidence.others:
        if isinstance(record, LifeStart):
            if begin >= 0:
                yield range(begin, index)
            begin = index
    if begin >= 0:
        yield range(begin, len(evidence.records))


def _acknowledgements(evidence: MemberEvidence) -> Iterator[int]:
    """Each service counts what it acknowledges."""
    for life in _lives(evidence):
        latest: dict[int, int] = {}
        for index in life:
            record = evidence.records[index]
            if isinstance(record, ServiceAck):
                if record.ack_id > latest.get(record.service_id, -1) + 1:
                    yield index
                latest[record.service_id] = record.ack_id


def _states(evidence: MemberEvidence) -> Iterator[int]:
    """A module is active once its process has started, and each change begins where the one before
    has led.
    """
    yield from evidence.state_holes
    for life in _lives(evidence):
        begun = _after_begin(evidence, life)
        if begun is not None and not any(
            isinstance(evidence.records[index], StateChange) for index in life
        ):
            yield begun


def _after_begin(evidence: MemberEvidence, life: range) -> int | None:
    """The first record of a life after its first election was entered that belongs to no start."""
    started = False
    for index in life:
        record = evidence.records[index]
        if started and (is_message(record) or isinstance(record, ElectionStateChange)):
            return index
        started |= isinstance(record, ElectionStateChange) and record.old_state == "INIT"
    return None


def find_state_holes(evidence: MemberEvidence) -> frozenset[int]:
    """Find changes of the module's state that do not follow from the one before, where those around
    the two do: a change that is false, or in another's place, fits neither to the one before nor to
    the one after it.
    """
    found = set()
    for life in _lives(evidence):
        states = [(-1, "", "INIT")]
        for index in life:
            record = evidence.records[index]
            if isinstance(record, StateChange):
                states.append((index, record.old_state, record.new_state))
        fits = [before[2] == after[1] for before, after in pairwise(states)]
        for place, (index, _, _) in enumerate(states[1:]):
            around = fits[max(place - _AROUND, 0) : place] + fits[place + 1 : place + 1 + _AROUND]
            if not fits[place] and all(around):
                found.add(index)
    return frozenset(found)


def _headers(evidence: MemberEvidence) -> Iterator[int]:
    """A process that starts says so first."""
    for index in evidence.elections:
        record = evidence.records[index]
        if not isinstance(record, NewElection) or record.reason != STARTED:
            continue
        for place in range(index - 1, -1, -1):
            before = evidence.records[place]
            if isinstance(before, LifeStart | TruncatedLine):
                break
            if isinstance(before, ElectionStateChange) or is_message(before) or not place:
                yield index
                break


def _copies(evidence: MemberEvidence) -> Iterator[int]:
    """A copy of another's log is said to have ended before the election goes on from it."""
    for segment in evidence.segments:
        if segment.state != "FOLLOWER_LOG_REPLICATION" or segment.end >= len(evidence.records):
            continue
        change = evidence.records[segment.end]
        if not isinstance(change, ElectionStateChange) or change.new_state != "CANVASS":
            continue
        within = evidence.records[segment.start : segment.end]
        if change.append_position > segment.append and not any(
            isinstance(one, ReplicationEnded) for one in within
        ):
            yield segment.end


# What the steps show.


def _moves(proposal: Proposal) -> Iterator[tuple[Member, Step]]:
    """The steps with the states before them, where these are known."""
    before = proposal.found
    for step in proposal.steps:
        if not step.gap and step.action != "Restart" and not step.impossible:
            yield before, step
        before = step.state


def _shows(proposal: Proposal, step: Step, kind: type[Line]) -> bool:
    found = proposal.evidence.records
    return any(isinstance(found[index], kind) for index in step.lines)


def _roles(proposal: Proposal) -> Iterator[int]:
    """Each change of the role is logged before the change of the state that it comes with."""
    changes = [
        (index, (record.old_state, record.new_state))
        for index, record in proposal.evidence.others
        if isinstance(record, RoleChange)
    ]
    place = 0
    for before, step in _moves(proposal):
        change = (before.role.value, step.state.role.value)
        if change[0] == change[1] or step.state.module_state is not ModuleState.ACTIVE:
            continue
        end = _last_line(step)
        while place < len(changes) and changes[place][0] < step.index - 1:
            place += 1
        if place < len(changes) and changes[place][0] <= end and changes[place][1] == change:
            place += 1
        else:
            yield end


def _last_line(step: Step) -> int:
    """The last record that a step accounts for, or that it was taken at."""
    return max(*step.lines, step.index) if step.lines else step.index


def _entries(proposal: Proposal) -> Iterator[int]:
    """The first entry of a term is not processed without its line, and it is processed before long
    by a follower that goes on, has recorded it by its own reports, and has heard that it may.
    """
    reports = _received_reports(proposal)
    reported = 0
    ends = {term: end for _, end, term in proposal.plan.first_entries}
    due: tuple[int, int] | None = None
    moments, latest = 0, 0
    for before, step in _moves(proposal):
        if step.action == "OnReplayNewLeadershipTermEvent" and not _shows(
            proposal, step, ReplayNewLeadershipTerm
        ):
            yield step.index
        for number in range(step.first, step.first + len(step.sends)):
            reported = max(reported, reports.get(number, 0))
        reported = min(reported, step.state.recorded_position)
        end = ends.get(before.module_leadership_term_id, -1)
        waits = (
            before.commit_position < end <= before.module_notified_commit_position
            and end <= reported
            and before.role is Role.FOLLOWER
            and before.election_state is ElectionState.CLOSED
        )
        if not waits:
            due, moments = None, 0
        elif due is None or due[1] != end:
            due, moments, latest = (step.index, end), 0, step.time
        elif step.time - latest >= _MOMENT_NS:
            moments, latest = moments + 1, step.time
            if moments == _MOMENTS:
                yield due[0]


def _received_reports(proposal: Proposal) -> dict[int, int]:
    """The positions that a member has reported and somebody received, by the message's number."""
    return {
        one.number: one.message.log_position
        for queue in proposal.queues.values()
        for one in queue.items
        if isinstance(one.message, AppendPosition)
    }


def _cuts(proposal: Proposal) -> Iterator[int]:
    """A log is not cut without a line."""
    for before, step in _moves(proposal):
        if step.state.recorded_position < before.recorded_position and not _shows(
            proposal, step, TruncateLogEntry
        ):
            yield _last_line(step)


def _elections(proposal: Proposal) -> Iterator[int]:
    """Who serves does not come into an election without a line."""
    for before, step in _moves(proposal):
        enters = step.state.election_state is not before.election_state is ElectionState.CLOSED
        if enters and not _shows(proposal, step, NewElection):
            yield _last_line(step)


def _closings(proposal: Proposal) -> Iterator[int]:
    """An election does not close without a line."""
    for before, step in _moves(proposal):
        closes = before.election_state is not step.state.election_state is ElectionState.CLOSED
        if closes and not _shows(proposal, step, ElectionStateChange):
            yield step.index


def mark_missing(proposal: Proposal, missing: Sequence[Missing]) -> None:
    """Leave a number out of the run where lines are missing."""
    indexes = sorted({index for index, _ in missing}, reverse=True)
    for step in proposal.steps:
        while indexes and max(step.lines, default=step.index) >= indexes[-1]:
            indexes.pop()
            step.gap = True
    if indexes and proposal.steps:
        proposal.steps[-1].gap = True

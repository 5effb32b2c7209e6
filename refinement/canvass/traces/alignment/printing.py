"""The lines that a step prints, from the states before and after it.

The core decides what a step does; this module decides nothing about the protocol. The receipt of a
message has its own line, which comes before the lines that the step prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from canvass.cluster.effects import Outcome, TruncateLog
from canvass.cluster.member import ElectionState, Member, Role
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ClusterEvent, Line, NewElection
from canvass.traces.aeron_log.releases import LogVocabulary
from canvass.traces.alignment.member_lines import (
    NODE_STARTED,
    MemberLines,
    asks_to_terminate,
    is_snapshot_end,
    is_start,
    is_termination,
)

_CLOSED: Final = ElectionState.CLOSED
_INIT: Final = ElectionState.INIT
_OF_ELECTION: Final = ("candidate_term_id", "leadership_term_id", "log_leadership_term_id")
"""The variables of an election that the lines of the election print."""


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line that a step prints.

    Parameters
    ----------
    kind
        The class of its record.
    values
        The values of the fields that the step determines, by name. The append position of a
        `NewElection` has a range of values, because the archive goes on recording between this line
        and the step.
    shows
        A test whether a change of the module's state shows the step.
    """

    kind: type[ClusterEvent]
    values: dict[str, Any]
    shows: Callable[[Line], bool] | None = None

    def agrees(self, record: Line) -> bool:
        """Whether a line of a log has these values."""
        if not self._is_alike(record):
            return False
        if self.shows is not None:
            return self.shows(record)
        return all(_has(record, name, value) for name, value in self.values.items())

    def differing(self, record: Line) -> int:
        """The number of fields in which a line of the same kind differs; 0 for other kinds."""
        if not self._is_alike(record) or self.shows is not None:
            return 0
        return sum(not _has(record, name, value) for name, value in self.values.items())

    def _is_alike(self, record: Line) -> bool:
        """Whether a line is of the same kind.

        A `NewElection` that starts a process and any other `NewElection` are different kinds.
        """
        starts = self.values.get("reason") == NODE_STARTED
        return type(record) is self.kind and starts == is_start(record)


def _has(record: Line, name: str, value: object) -> bool:
    """Whether a field of a line has a value, or one of a range of values."""
    own: object = getattr(record, name)
    return own in value if isinstance(value, range) else own == value


def _state_change(before: Member, variables: Member, after: Member, old: str) -> PrintedLine:
    """The line of a change of the election state, with the values of ``variables``.

    In a change to INIT or CANVASS, the line still has the catch-up's join position of ``before``.
    """
    forgets = after.election_state in (_INIT, ElectionState.CANVASS) and old != _INIT.value
    join = before if forgets else variables
    return PrintedLine(
        records.ElectionStateChange,
        {
            "old_state": old,
            "new_state": after.election_state.value,
            "leader_member_id": after.leader_member_id,
            "log_position": after.commit_position,
            "append_position": variables.append_position,
            "catchup_join_position": join.catchup_join_position,
            **{name: getattr(variables, name) for name in _OF_ELECTION},
        },
    )


def _role_change(old: Role, new: Role) -> list[PrintedLine]:
    """The line of a change of the role; none if it stays."""
    values = {"old_state": old.value, "new_state": new.value}
    return [PrintedLine(records.RoleChange, values)] if old is not new else []


def _truncation(s: Member, position: int) -> PrintedLine:
    """The line that a member prints before it truncates its log to a position."""
    values: dict[str, Any] = {name: getattr(s, name) for name in _OF_ELECTION}
    values |= {"election_state": s.election_state.value, "append_position": s.append_position}
    values |= {"commit_position": s.commit_position, "log_position": s.commit_position}
    return PrintedLine(records.TruncateLogEntry, {**values, "new_position": position})


def _entry(s: Member, n: Member) -> PrintedLine:
    """The line that a member prints when it processes the first entry of a term."""
    return PrintedLine(
        records.ReplayNewLeadershipTerm,
        {
            "is_in_election": s.election_state is not _CLOSED,
            "leadership_term_id": n.module_leadership_term_id,
            "log_position": n.commit_position,
            "term_base_log_position": s.commit_position,
        },
    )


def logged_lines(
    vocabulary: LogVocabulary, action: str, s: Member, outcome: Outcome
) -> list[PrintedLine]:
    """The lines of a step that a log with this vocabulary contains, in the order of the log."""
    if action == "InitiateTermination" and not vocabulary.shows_requests:
        return []
    lines = [line for line in printed_lines(action, s, outcome) if vocabulary.prints(line.kind)]
    begins = action == "Restart" or s.election_state is _CLOSED
    if not vocabulary.prints_change_before_role or begins:
        return lines
    if outcome.next.election_state is ElectionState.CANVASS:
        for line in lines:
            if line.kind is records.ElectionStateChange:
                line.values["leader_member_id"] = s.leader_member_id
    return sorted(lines, key=lambda line: line.kind is records.RoleChange)


def count_logged(lines: MemberLines, printed: list[PrintedLine], k: int) -> int:
    """The number of printed lines that the log has from ``k`` on; -1 if another line is there.

    If the process ended within the step, only the first of the printed lines need to be there. An
    election leaves INIT in the duty cycle that begins it, unless the archive does not answer. Then
    the election stays in INIT, and receives messages there. Source: ``Election.init``,
    ``ConsensusModuleAgent.slowTickWork``.
    """
    for index, line in enumerate(printed, k):
        if index < len(lines.records) and line.agrees(lines.records[index]):
            continue
        leaves_init = line.values.get("old_state") == _INIT.value
        if index > k and lines.ends_before(index, in_init=leaves_init):
            return index - k
        return -1
    return len(printed)


def printed_lines(action: str, s: Member, outcome: Outcome) -> tuple[PrintedLine, ...]:
    """The lines that a step prints, without the line of the message that it receives."""
    n = outcome.next
    if n.election_state is s.election_state and n.role is s.role and action not in _NAMED:
        return ()
    if action == "OnReplayNewLeadershipTermEvent":
        return (_entry(s, n),)
    if action in _SHOWN_BY:
        return (PrintedLine(records.StateChange, {}, shows=_SHOWN_BY[action]),)
    lines: list[PrintedLine] = []
    started = action == "Restart"
    begins = started or (s.election_state is _CLOSED and n.election_state is not _CLOSED)
    leaves_init = s.election_state is _INIT and n.election_state is not _INIT
    # An election begins in the role of a follower.
    role = Role.FOLLOWER if begins or leaves_init else s.role
    if not started:
        lines += _role_change(s.role, role)
    if begins:
        begun: dict[str, Any] = {"log_position": n.commit_position}
        begun["leadership_term_id"] = n.log_leadership_term_id
        if started:
            begun["reason"] = NODE_STARTED
        # Nothing is recorded while a process starts.
        least = n.append_position if started else 0
        begun["append_position"] = range(least, n.append_position + 1)
        lines.append(PrintedLine(NewElection, begun))
        lines += _role_change(role, n.role)
        lines.append(_state_change(s, n, n, _INIT.value))
        return tuple(lines)
    lines += [_truncation(s, e.position) for e in outcome.effects if isinstance(e, TruncateLog)]
    lines += _role_change(role, n.role)
    if s.election_state is not n.election_state:
        variables = s if n.election_state is _CLOSED else n
        lines.append(_state_change(s, variables, n, s.election_state.value))
    return tuple(lines)


_SHOWN_BY: Final[dict[str, Callable[[Line], bool]]] = {
    "InitiateTermination": asks_to_terminate,
    "TakeSnapshot": is_snapshot_end,
    "Terminate": is_termination,
}
"""For each step that changes the state of the module: the test whether a line shows that step."""

_NAMED: Final = frozenset(
    {"OnReplayNewLeadershipTermEvent", "Restart", "OnNewLeadershipTerm", *_SHOWN_BY}
)

"""The lines of one member that steps of the model can print, in order.

The vocabulary of a log is the set of events that it prints. A step whose event is not in the
vocabulary is silent. Lines of other events (services, sessions, backup) are kept separately, so
that each line is counted.

The time of a line is no evidence, because the clocks of hosts may differ. Times only decide which
of several possible choices is tried first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from msgspec import structs

from canvass.cluster import messages
from canvass.cluster.member import ElectionState
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.clocks import boot_times
from canvass.traces.aeron_log.incarnations import MemberLog
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    Line,
    LogRecord,
    NewElection,
    ProcessStart,
    ServiceAck,
    StateChange,
)
from canvass.traces.aeron_log.releases import RECEIPTS, LogVocabulary

PRINTED_STEPS: Final[frozenset[type[ClusterEvent]]] = frozenset(
    {
        records.ElectionStateChange,
        records.RoleChange,
        records.NewElection,
        records.TruncateLogEntry,
        records.ReplayNewLeadershipTerm,
        records.StateChange,
    }
)
"""The events that steps print, apart from the receipts of messages."""

INFERRED: Final = frozenset(
    {"AppendPosition", "CanvassPosition", "CatchupPosition", "CommitPosition", "Vote"}
)
"""The messages that can be inferred from other lines if they are silent."""

_RARE: Final[Mapping[type[ClusterEvent], str]] = {
    records.CatchupPosition: "FOLLOWER_CATCHUP",
    records.StopCatchup: "",
    records.TerminationPosition: "TERMINATING",
    records.TerminationAck: "",
    records.TruncateLogEntry: "",
    records.RoleChange: "CANDIDATE_BALLOT",
}
"""Rare events, each with a state that a member, unless it leads, reaches only with the event. The
text is empty if there is no such state."""


def with_rare_events(vocabulary: LogVocabulary, reached: Collection[str]) -> LogVocabulary:
    """The vocabulary of logs in which rare events count as enabled if no line shows them.

    The exception is a rare event of which a member has ``reached`` the state: it stays disabled.
    """
    rare = {kind for kind, state in _RARE.items() if state not in reached}
    return replace(vocabulary, kinds=vocabulary.kinds | rare)


FOREVER: Final = 1 << 62
SILENCE_NS: Final = 600_000_000
"""A closed member logs a line at least so often, if the events of reports and commit positions are
enabled: it receives them at intervals (``ConsensusModule.leaderHeartbeatIntervalNs``, 200 ms if
nothing else is configured).
"""


def wall_times(records: Sequence[Line], offset: int | None = None) -> list[int]:
    """The wall time of each line in ns, according to the header of its process incarnation.

    For lines before the first header, ``offset`` is the wall clock minus the clock of the lines. By
    default it is the difference that the first header shows.
    """
    if offset is None:
        offset = next(boot_times(records), 0)
    times = []
    for record in records:
        if isinstance(record, ProcessStart):
            offset = record.wall_time_ms * 1_000_000 - record.time_ns
        times.append(record.time_ns + offset)
    return times


NODE_STARTED: Final = "node started"
"""The reason of the first election of a process incarnation."""
ROLLED_BACK: Final = "rollback"
"""From 1.51.0 on, the reason of a change of the module's state if an election takes back a request
for a snapshot."""

_TERMINATION_REQUESTS: Final = frozenset({"ClusterControl.SHUTDOWN", "ClusterControl.ABORT"})
"""From 1.50.0 on, the reasons of a change of the module's state if an operator asks a leader to
terminate all members."""

_LEADERLESS: Final = frozenset(
    {"CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"}
    | {"LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}
)
"""The election states in which a member has no leader."""

_MESSAGE_TYPES: Final[Mapping[type[Line], type[Message]]] = {
    getattr(records, kind.__name__): kind for kind in messages.MESSAGE_TYPES
}
_FIELDS: Final = {
    line: tuple(
        "sender_member_id" if name == "member_id" else name for name in kind.__struct_fields__
    )
    for line, kind in _MESSAGE_TYPES.items()
}


def message_of(record: Line) -> Message:
    """The message whose receipt a line shows."""
    kind = type(record)
    values: list[Any] = [getattr(record, name) for name in _FIELDS[kind]]
    # If the release does not print a field, the message of the spec has a null there.
    known: list[Any] = [NULL_VALUE if value is None else value for value in values]
    return _MESSAGE_TYPES[kind](*known)


@dataclass(slots=True)
class MemberLines:
    """The lines of one member.

    Parameters
    ----------
    files
        The names of the files; a record's ``file`` is an index into them.
    records
        The lines that steps can print, in order, and the starts of processes.
    messages
        For each of ``records``, the message whose receipt it shows, or None.
    beside
        The other lines of the cluster component, each with the index of the next record.
    acknowledged
        By the index of a line that ends a snapshot or a termination, or requests a termination: the
        position that the services have acknowledged. If no line shows that position, a snapshot has
        the end of the leader's log, or the position with which the member starts again; a request
        has the end of what the leader had recorded. If that is unknown, too, -1. The end of the
        leader's log is known from reports: a leader writes nothing while it takes a snapshot, and
        followers report the end of its log meanwhile (``ConsensusModuleAgent.consensusWork``,
        ``checkClusterControlToggle``).
    times
        For each of ``records``, the wall time in ns.
    """

    member_id: int
    files: tuple[str, ...]
    records: list[Line]
    messages: list[Message | None]
    vocabulary: LogVocabulary
    beside: list[tuple[int, Line]] = field(default_factory=list)
    acknowledged: dict[int, int] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)

    def is_silent_before(self, index: int) -> bool:
        """Whether the member has logged no line for longer than `SILENCE_NS` before a record."""
        return index > 0 and self.times[index] - self.times[index - 1] > SILENCE_NS

    def closes_before(self, index: int) -> bool:
        """Whether the last line before a record shows that the module closes."""
        several = [self.records[index - 1], *(one for at, one in self.beside if at == index)]
        return isinstance(several[-1], StateChange) and several[-1].new_state == "CLOSED"

    def ends_before(self, index: int, *, in_init: bool) -> bool:
        """Whether a process ends before a record.

        It ends if another process starts there, or if no record follows and the module has closed.
        A member can stay in INIT (``in_init``). Then receipts may come before the end, and the log
        can end without a line that the module closed.
        """
        count = len(self.records)
        while in_init and index < count and self.messages[index] is not None:
            index += 1
        if index < count:
            return isinstance(self.records[index], ProcessStart)
        return in_init or self.closes_before(index)

    def fails_at(self, index: int) -> bool:
        """Whether a record shows that an election fails: an exception leads to INIT.

        Source: ``ConsensusModuleAgent.doWork``, ``Election.handleError``.
        """
        record = self.records[index] if index < len(self.records) else None
        return isinstance(record, records.ElectionStateChange) and record.new_state == "INIT"


def is_snapshot_end(record: Line) -> bool:
    """Whether a line shows that a snapshot was taken.

    A line in which an election takes back the request does not count: a leader that enters an
    election takes back a request for a snapshot that is not committed. Source:
    ``ConsensusModuleAgent.restoreUncommittedEntries``.
    """
    return (
        isinstance(record, StateChange)
        and record.old_state == "SNAPSHOT"
        and record.reason != ROLLED_BACK
    )


def is_termination(record: Line) -> bool:
    """Whether a line shows that the member has terminated on request."""
    return (
        isinstance(record, StateChange)
        and record.new_state == "CLOSED"
        and record.old_state == "TERMINATING"
    )


def asks_to_terminate(record: Line) -> bool:
    """Whether a line shows that a leader asks all members to terminate.

    Notes
    -----
    Source: ``ConsensusModuleAgent.checkClusterControlToggle``. The leader sends the request before
    it logs the line. A leader that is asked to shut down takes a snapshot before it terminates.
    """
    return isinstance(record, StateChange) and record.reason in _TERMINATION_REQUESTS


def is_start(record: Line) -> bool:
    """Whether a line begins the first election of a process."""
    return isinstance(record, NewElection) and record.reason == NODE_STARTED


class LineReader:
    """Reads the lines of one member from its log, piece by piece.

    Attributes
    ----------
    lines
        The lines that were read and have not been dropped.
    is_ended
        Whether the log has been read to its end.
    shift
        Nanoseconds that are added to the times of lines.
    """

    def __init__(self, log: MemberLog, vocabulary: LogVocabulary) -> None:
        # Traces hold UTF-8, so bytes of a name that are not UTF-8 are escaped.
        names = (path.name.encode("utf-8", "backslashreplace") for path in log.files)
        files = tuple(name.decode() for name in names)
        self.lines = MemberLines(log.member_id, files, [], [], vocabulary)
        self.is_ended = False
        self._records = iter(log.every_record())
        self._kept = (PRINTED_STEPS | RECEIPTS) & vocabulary.kinds
        self._acknowledged = NULL_VALUE
        self._failed = False
        self._reported = NULL_VALUE
        self._is_electing = False
        self._snapshot = self._request = NULL_VALUE
        self.shift = 0
        self._offset: int | None = None
        self._join = NULL_VALUE

    def read(self, count: int) -> None:
        """Read until ``lines`` has ``count`` records, or the log ends."""
        lines = self.lines
        before = len(lines.records)
        while len(lines.records) < count and not self.is_ended:
            record = next(self._records, None)
            if record is None:
                self.is_ended = True
            else:
                self._add(record)
        times = wall_times(lines.records[before:], self._offset)
        lines.times += [time_ns + self.shift for time_ns in times]
        if times:
            self._offset = times[-1] - lines.records[-1].time_ns

    def _add(self, record: LogRecord) -> None:
        lines, kind = self.lines, type(record)
        index = len(lines.records)
        self._note(record)
        if kind is ProcessStart:
            lines.records.append(record)
            lines.messages.append(None)
        elif kind in RECEIPTS and kind in self._kept:
            lines.records.append(record)
            lines.messages.append(message_of(record))
        elif kind in self._kept and (kind is not StateChange or self._is_modelled(record)):
            lines.acknowledged[index] = self._acknowledged
            if is_snapshot_end(record):
                self._snapshot = index
                if self._acknowledged < 0:
                    lines.acknowledged[index] = self._reported
            elif asks_to_terminate(record):
                self._request = index
            elif (
                isinstance(record, NewElection)
                and is_start(record)
                and lines.acknowledged.get(self._snapshot) == NULL_VALUE
            ):
                lines.acknowledged[self._snapshot] = record.log_position
            if isinstance(record, records.ElectionStateChange):
                lines.records.append(self._without_old_join(record))
            else:
                lines.records.append(record)
            lines.messages.append(None)
        elif isinstance(record, ClusterEvent):
            lines.beside.append((index, record))

    def _note(self, record: LogRecord) -> None:
        """Note which position the services have acknowledged, and whether an election runs.

        What a later change of the module's state means depends on both.
        """
        if isinstance(record, ServiceAck):
            self._acknowledged = record.log_position
            self._failed |= record.relevant_id == NULL_VALUE
            kept = self.lines.records
            if not kept or not isinstance(kept[-1], ProcessStart):
                self._note_request(record.log_position)
        elif isinstance(record, StateChange) and record.old_state == "ACTIVE":
            self._acknowledged, self._failed, self._reported = NULL_VALUE, False, NULL_VALUE
        elif isinstance(record, records.AppendPosition):
            self._reported = max(self._reported, record.log_position)
        elif isinstance(record, NewElection):
            self._is_electing = True
            self._note_request(record.append_position)
        elif isinstance(record, records.ElectionStateChange):
            self._is_electing = record.new_state != ElectionState.CLOSED.value

    def _note_request(self, position: int) -> None:
        """Note the position of the last request to terminate, if it is not known yet.

        Services acknowledge the position in the process that received the request. If no line shows
        that, the position is the append position of the next election: the leader writes nothing
        after the request.
        """
        if self._request >= 0:
            self.lines.acknowledged[self._request] = position
        self._request = NULL_VALUE

    def _is_modelled(self, record: LogRecord) -> bool:
        """Whether a change of the module's state is a step of the model.

        Steps are requests to terminate, ends of snapshots and ends of terminations. Of these, the
        following are no steps:

        * the end of a snapshot that a service has acknowledged without a recording: the service
          failed, or joined a log meanwhile, so no snapshot was taken;
        * the end of a termination during an election: the model terminates only closed members, so
          this member counts as stopped.

        Source: ``ConsensusModuleAgent.takeSnapshot``, ``slowTickWork``, ``consensusWork``.
        """
        if is_termination(record):
            return not self._is_electing
        return asks_to_terminate(record) or (is_snapshot_end(record) and not self._failed)

    def _without_old_join(self, record: records.ElectionStateChange) -> Line:
        """A change of the election state without the join position of an earlier catch-up.

        Aeron's ``Election.catchupJoinPosition`` keeps its value up to the next announcement or to
        INIT. The model forgets the position in CANVASS.
        """
        before, self._join = self._join, record.catchup_join_position
        follows = record.leader_member_id not in (NULL_VALUE, record.member_id)
        if follows or before != self._join or record.old_state not in _LEADERLESS:
            return record
        return structs.replace(record, catchup_join_position=NULL_VALUE)

    def drop(self, count: int) -> None:
        """Drop the first ``count`` records, and the other lines up to there."""
        self._snapshot -= count
        self._request -= count
        one = self.lines
        del one.records[:count], one.messages[:count], one.times[:count]
        one.beside = [(index - count, record) for index, record in one.beside if index > count]
        later = one.acknowledged.items()
        one.acknowledged = {index - count: at for index, at in later if index >= count}


def member_lines(log: MemberLog, vocabulary: LogVocabulary) -> MemberLines:
    """The lines of one member, as far as its log is in memory."""
    reader = LineReader(replace(log, reread=None), vocabulary)
    reader.read(len(log.records) + 1)
    return reader.lines

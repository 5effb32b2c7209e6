"""Which events Aeron's cluster component prints, with which fields, in which order and since which
release: one table, no parsing.

It was read from the agent of all releases from 1.43 to 1.52 (``ClusterEventDissector``,
``ClusterEventCode``, ``ClusterComponentLogger``) and from the logger built into 1.53
(``ClusterEventLogger``). The order is that of the agent; 1.53 prints the same names in nearly the
same order, and a line that deviates is read by name.

Two events of the agent are not here, as no release prints them: ``ADD_PASSIVE_MEMBER`` and
``DYNAMIC_JOIN_STATE_CHANGE_UNUSED``.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from canvass.cluster.names import wire_name
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ClusterEvent, LifeStart

_VERSION: Final = re.compile(
    r"(?:version=)?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9.])"
)


class Release(NamedTuple):
    """A release of Aeron; releases are ordered."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def revision(self) -> str:
        """The revision of the spec that has the release's rules."""
        return "1.49" if self < Release(1, 50) else "1.50"


OLDEST: Final = Release(1, 43)
"""The oldest release whose text is read."""

NAMED: Final = Release(1, 49, 2)
"""The first release whose agent writes releases into the header of the log."""

BUILT_IN: Final = Release(1, 53)
"""The first release that logs without the agent: without lengths, and with each text quoted. Its
header does not name it; the event ``START`` does.
"""


def parse_release(text: str) -> Release | None:
    """The release that a version begins with (``1.53.0-SNAPSHOT``), or None if it is no version."""
    found = _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch = (int(number or 0) for number in found.groups())
    return Release(major, minor, patch)


def release_of(header: LifeStart) -> Release | None:
    """The release of the cluster component that a header names, or None."""
    versions = dict(header.loggers)
    return parse_release(versions["CLUSTER"]) if "CLUSTER" in versions else None


ELECTION_STATES: Final = (
    "INIT",
    "CANVASS",
    "NOMINATE",
    "CANDIDATE_BALLOT",
    "FOLLOWER_BALLOT",
    "LEADER_LOG_REPLICATION",
    "LEADER_REPLAY",
    "LEADER_INIT",
    "LEADER_READY",
    "FOLLOWER_LOG_REPLICATION",
    "FOLLOWER_REPLAY",
    "FOLLOWER_CATCHUP_INIT",
    "FOLLOWER_CATCHUP_AWAIT",
    "FOLLOWER_CATCHUP",
    "FOLLOWER_LOG_INIT",
    "FOLLOWER_LOG_AWAIT",
    "FOLLOWER_READY",
    "CLOSED",
)
ROLES: Final = ("FOLLOWER", "CANDIDATE", "LEADER")
MODULE_STATES: Final = (
    "INIT",
    "ACTIVE",
    "SUSPENDED",
    "SNAPSHOT",
    "QUITTING",
    "TERMINATING",
    "CLOSED",
)


class Kind(Enum):
    """How a value is written."""

    INT = "decimal, signed 64-bit"
    BOOL = "true or false"
    FLAGS = "0b and eight binary digits; decimal in 1.53"
    VERSION = "major.minor.patch; the encoded integer in 1.53"
    NAME = "an enum constant; unquoted but for a null of 1.53"
    TEXT = "to the next space; quoted in 1.53"
    REASON = "the last field: quoted, or to the end of the line before 1.50"
    ELECTION_STATES = "OLD -> NEW; oldState=OLD newState=NEW in 1.53"
    ROLES = "likewise, of a role"
    MODULE_STATES = "likewise, of a module state"
    NAMES = "likewise, of any enum"


CONSTANTS: Final = {
    Kind.ELECTION_STATES: frozenset([*ELECTION_STATES, records.NULL_NAME]),
    Kind.ROLES: frozenset([*ROLES, records.NULL_NAME]),
    Kind.MODULE_STATES: frozenset([*MODULE_STATES, records.NULL_NAME]),
}
"""Constants that the protocol speaks of: another one is damage, not news."""

PAIRS: Final = frozenset({*CONSTANTS, Kind.NAMES})
"""Kinds that fill two fields of the record, the old and the new one."""

LOG_NAMES: Final = {
    "candidate_member_id": "candidateId",
    "leader_member_id": "leaderId",
    "cluster_session_id": "sessionId",
    "catchup_join_position": "catchupPosition",
    "election_state": "state",
}
"""Fields that the log calls otherwise than SBE (or the election's own variable) does, in every
event.
"""


class Field(NamedTuple):
    """One value of a line.

    Parameters
    ----------
    log_name
        Its name in the log.
    kind
        How it is written.
    since
        The first release that prints it; the record of an older line has None.
    """

    log_name: str
    kind: Kind
    since: Release = OLDEST


class EventType(NamedTuple):
    """One event.

    Parameters
    ----------
    name
        Its name in the log.
    record
        The record that a line becomes.
    fields
        Its values after ``memberId``.
    since
        The first release that prints it.
    switch
        Up to 1.52 the event by whose name it is enabled; its own name if this is empty.
    """

    name: str
    record: type[ClusterEvent]
    fields: tuple[Field, ...]
    since: Release = OLDEST
    switch: str = ""


_MARKS: Final = {"": Kind.INT, "?": Kind.BOOL, ".": Kind.VERSION, "!": Kind.NAME, "$": Kind.TEXT}


def _fields(text: str, log_names: dict[str, str] | None = None) -> tuple[Field, ...]:
    """Fields from snake_case names; the mark after a name is its kind."""
    fields = []
    for word in text.split():
        name = word.rstrip("?.!$")
        log_name = (log_names or {}).get(name) or LOG_NAMES.get(name) or wire_name(name)
        fields.append(Field(log_name, _MARKS[word[len(name) :]]))
    return tuple(fields)


def _reason(since: Release = OLDEST) -> tuple[Field]:
    return (Field("reason", Kind.REASON, since),)


_ELECTION_STATE: Final = (Field("newState", Kind.ELECTION_STATES),)
_MODULE_STATE: Final = (Field("newState", Kind.MODULE_STATES),)
_ROLE: Final = (Field("newState", Kind.ROLES),)
_NAMED_STATE: Final = (Field("newState", Kind.NAMES),)
_FLAGS: Final = (Field("flags", Kind.FLAGS),)
_COMMIT_POSITION: Final = (Field("commitPosition", Kind.INT, Release(1, 50)),)
_VOTER: Final = {"follower_member_id": "voterId"}
_AS_LOG_TERM: Final = {"leadership_term_id": "logLeadershipTermId"}
_LOG_END: Final = "log_leadership_term_id log_position"
_TIME: Final = "timestamp time_unit!"

_ROWS: Final = (
    EventType(
        "ELECTION_STATE_CHANGE",
        records.ElectionStateChange,
        _ELECTION_STATE
        + _fields("leader_member_id candidate_term_id leadership_term_id log_position")
        + _fields("log_leadership_term_id append_position catchup_join_position")
        + _reason(Release(1, 45)),
    ),
    EventType(
        "NEW_LEADERSHIP_TERM",
        records.NewLeadershipTerm,
        _fields("log_leadership_term_id next_leadership_term_id next_term_base_log_position")
        + _fields("next_log_position leadership_term_id term_base_log_position log_position")
        + _COMMIT_POSITION
        + _fields("leader_recording_id timestamp leader_member_id")
        + _fields("log_session_id app_version. is_startup?"),
    ),
    EventType("STATE_CHANGE", records.StateChange, _MODULE_STATE + _reason(Release(1, 50))),
    EventType("ROLE_CHANGE", records.RoleChange, _ROLE + _reason(Release(1, 50))),
    EventType(
        "CANVASS_POSITION",
        records.CanvassPosition,
        _fields(f"{_LOG_END} leadership_term_id follower_member_id protocol_version."),
    ),
    EventType(
        "REQUEST_VOTE",
        records.RequestVote,
        _fields(f"{_LOG_END} candidate_term_id candidate_member_id protocol_version."),
    ),
    EventType(
        "VOTE",
        records.Vote,
        _fields(
            f"{_LOG_END} candidate_term_id candidate_member_id follower_member_id vote?", _VOTER
        ),
        Release(1, 50),
        switch="REQUEST_VOTE",
    ),
    EventType(
        "CATCHUP_POSITION",
        records.CatchupPosition,
        _fields("leadership_term_id log_position follower_member_id catchup_endpoint$"),
    ),
    EventType(
        "STOP_CATCHUP", records.StopCatchup, _fields("leadership_term_id follower_member_id")
    ),
    EventType(
        "TRUNCATE_LOG_ENTRY",
        records.TruncateLogEntry,
        _fields("election_state! log_leadership_term_id leadership_term_id candidate_term_id")
        + _fields("commit_position log_position append_position old_position new_position"),
    ),
    EventType(
        "REPLAY_NEW_LEADERSHIP_TERM",
        records.ReplayNewLeadershipTerm,
        _fields("is_in_election? leadership_term_id log_position term_base_log_position")
        + _fields(f"app_version. {_TIME}"),
    ),
    EventType(
        "APPEND_POSITION",
        records.AppendPosition,
        _fields("leadership_term_id log_position follower_member_id") + _FLAGS,
    ),
    EventType(
        "COMMIT_POSITION",
        records.CommitPosition,
        _fields("leadership_term_id log_position leader_member_id"),
    ),
    EventType(
        "APPEND_SESSION_CLOSE",
        records.AppendSessionClose,
        _fields(f"cluster_session_id close_reason! leadership_term_id {_TIME}"),
    ),
    EventType(
        "APPEND_SESSION_OPEN",
        records.AppendSessionOpen,
        _fields(f"cluster_session_id leadership_term_id log_position {_TIME}"),
        Release(1, 49),
        switch="APPEND_SESSION_CLOSE",
    ),
    EventType(
        "CLUSTER_SESSION_STATE_CHANGE",
        records.ClusterSessionStateChange,
        _fields("cluster_session_id action!") + _NAMED_STATE + _reason(),
        Release(1, 49),
    ),
    EventType(
        "CLUSTER_BACKUP_STATE_CHANGE",
        records.ClusterBackupStateChange,
        _NAMED_STATE + _reason(Release(1, 50)),
    ),
    EventType(
        "TERMINATION_POSITION",
        records.TerminationPosition,
        _fields("leadership_term_id log_position", _AS_LOG_TERM),
    ),
    EventType(
        "TERMINATION_ACK",
        records.TerminationAck,
        _fields("leadership_term_id log_position sender_member_id", _AS_LOG_TERM),
    ),
    EventType(
        "SERVICE_ACK",
        records.ServiceAck,
        _fields(f"log_position {_TIME} ack_id relevant_id service_id"),
    ),
    EventType(
        "REPLICATION_ENDED",
        records.ReplicationEnded,
        _fields("purpose$ channel$ src_recording_id dst_recording_id position has_synced?"),
    ),
    EventType(
        "STANDBY_SNAPSHOT_NOTIFICATION",
        records.StandbySnapshotNotification,
        _fields("recording_id leadership_term_id term_base_log_position log_position")
        + _fields(f"{_TIME} service_id archive_endpoint$"),
    ),
    EventType(
        "NEW_ELECTION",
        records.NewElection,
        _fields("leadership_term_id log_position append_position") + _reason(),
        Release(1, 44),
    ),
    EventType(
        "SNAPSHOT_ENTRY_INVALIDATION",
        records.SnapshotEntryInvalidation,
        _fields("entry_index recording_id log_position service_id"),
        Release(1, 51),
    ),
    EventType("START", records.Start, _fields("version$"), BUILT_IN),
)

EVENT_TYPES: Final = {row.name: row for row in _ROWS}
"""The events by name. A new one is a row above and a class in `records`."""

ALIASES: Final = {"termBaseLeadershipPosition": "termBaseLogPosition"}
"""Names of the agent that 1.53 replaced."""

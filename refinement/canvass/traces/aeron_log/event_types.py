"""The table of events that Aeron's cluster component prints: fields, their order, first releases.

The fields are those of `records`.

The table follows the source of the agent in all releases from 1.43 to 1.52
(``ClusterEventDissector``, ``ClusterEventCode``, ``ClusterComponentLogger``) and of the logger that
is built into 1.53 (``ClusterEventLogger``). The order of the fields is that of the agent. 1.53
prints the same names in nearly the same order; a line in another order is read by the names.

Two events of the agent are not here, as no release prints them: ``ADD_PASSIVE_MEMBER`` and
``DYNAMIC_JOIN_STATE_CHANGE_UNUSED``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, get_args, get_type_hints

from canvass.cluster.member import ElectionState, Role
from canvass.cluster.messages import wire_name
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import (
    NULL_NAME,
    ClusterEvent,
    LogRecord,
    Notation,
    ProcessStart,
    Start,
)

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
"""The oldest release whose lines can be read."""

NEWEST: Final = Release(1, 53)
"""The newest release that the table follows. Later releases are assumed to print the same."""

NAMED: Final = Release(1, 49, 2)
"""The first release whose agent writes its release into the header of the log."""

BUILT_IN: Final = Release(1, 53)
"""The first release that logs without the agent: without lengths, and with each text quoted. Its
header does not name the release; the event ``START`` does.
"""


def parse_release(text: str) -> Release | None:
    """The release that a version begins with (``1.53.0-SNAPSHOT``), or None if it is no version."""
    found = _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch = (int(number or 0) for number in found.groups())
    return Release(major, minor, patch)


def release_of(record: LogRecord) -> Release | None:
    """The release that a header or the event ``START`` names; None for any other record."""
    if isinstance(record, Start):
        return parse_release(record.version) or BUILT_IN
    if not isinstance(record, ProcessStart):
        return None
    versions = dict(record.loggers)
    return parse_release(versions["CLUSTER"]) if "CLUSTER" in versions else None


CONSTANTS: Final = {
    Notation.ELECTION_STATES: frozenset([*(state.value for state in ElectionState), NULL_NAME]),
    Notation.ROLES: frozenset([*(role.value for role in Role), NULL_NAME]),
    Notation.MODULE_STATES: frozenset(
        ["INIT", "ACTIVE", "SUSPENDED", "SNAPSHOT", "QUITTING", "TERMINATING", "CLOSED", NULL_NAME]
    ),
}
"""The known constants of each notation. A line with another constant is damaged."""

PAIRS: Final = frozenset({*CONSTANTS, Notation.NAMES})
"""The notations that fill two fields of the record, the old and the new one."""


class Field(NamedTuple):
    """One value of a line.

    Parameters
    ----------
    log_name
        Its name in the log.
    kind
        How it is written.
    since
        The first release that prints it. In the record of an older line, the field is None.
    """

    log_name: str
    kind: Notation
    since: Release = OLDEST


class EventType(NamedTuple):
    """One event.

    Parameters
    ----------
    name
        Its name in the log.
    record
        The class of the record that a line of the event becomes.
    fields
        The values of a line after ``memberId``.
    since
        The first release that prints the event.
    switch
        Up to 1.52, the name of the event that enables this one. If empty, its own name does.
    """

    name: str
    record: type[ClusterEvent]
    fields: tuple[Field, ...]
    since: Release = OLDEST
    switch: str = ""


_LOG_NAMES: Final = {
    "candidate_member_id": "candidateId",
    "leader_member_id": "leaderId",
    "cluster_session_id": "sessionId",
    "catchup_join_position": "catchupPosition",
    "election_state": "state",
}
"""The fields whose name in the log differs from the name in SBE (or of the election's variable), in
every event.
"""
_LOG_NAMES_OF: Final[dict[type[ClusterEvent], dict[str, str]]] = {
    records.Vote: {"follower_member_id": "voterId"},
    records.TerminationPosition: {"leadership_term_id": "logLeadershipTermId"},
    records.TerminationAck: {"leadership_term_id": "logLeadershipTermId"},
}
"""The fields whose name in the log differs in one event only."""

_SINCE: Final[dict[type[ClusterEvent], Release]] = {
    records.Vote: Release(1, 50),
    records.AppendSessionOpen: Release(1, 49),
    records.ClusterSessionStateChange: Release(1, 49),
    records.NewElection: Release(1, 44),
    records.SnapshotEntryInvalidation: Release(1, 51),
    records.Start: BUILT_IN,
}
"""Events that the oldest release does not print."""
_SWITCHES: Final[dict[type[ClusterEvent], str]] = {
    records.Vote: "REQUEST_VOTE",
    records.AppendSessionOpen: "APPEND_SESSION_CLOSE",
}
LATER_FIELDS: Final[dict[type[ClusterEvent], dict[str, Release]]] = {
    records.ElectionStateChange: {"reason": Release(1, 45)},
    records.NewLeadershipTerm: {"commit_position": Release(1, 50)},
    records.StateChange: {"reason": Release(1, 50)},
    records.RoleChange: {"reason": Release(1, 50)},
    records.ClusterBackupStateChange: {"reason": Release(1, 50)},
}
"""Fields that the first release of an event does not print, each with the first release that does.
"""


def _kind(hint: object) -> Notation:
    """The notation of a value, from the type of its field."""
    for part in (hint, *get_args(hint)):
        if hasattr(part, "__metadata__"):
            return Notation(part.__metadata__[0])
    return Notation.BOOL if hint is bool else Notation.INT


def _row(record: type[ClusterEvent]) -> EventType:
    """The row of an event, made from the fields of its record."""
    hints = get_type_hints(record, include_extras=True)
    log_names = _LOG_NAMES | _LOG_NAMES_OF.get(record, {})
    later = LATER_FIELDS.get(record, {})
    fields = tuple(
        Field(log_names.get(name) or wire_name(name), _kind(hints[name]), later.get(name, OLDEST))
        for name in record.__struct_fields__[len(ClusterEvent.__struct_fields__) :]
        if name != "old_state"
    )
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).upper()
    since, switch = _SINCE.get(record, OLDEST), _SWITCHES.get(record, "")
    return EventType(name, record, fields, since, switch)


EVENT_TYPES: Final = {row.name: row for row in map(_row, ClusterEvent.__subclasses__())}
"""The events by name. A new one is a class in `records`, with its first release in ``_SINCE``."""
ROW_OF: Final = {row.record: row for row in EVENT_TYPES.values()}
"""The events by the classes of their records."""

ALIASES: Final = {"termBaseLeadershipPosition": "termBaseLogPosition"}
"""Names of the agent that 1.53 replaced."""

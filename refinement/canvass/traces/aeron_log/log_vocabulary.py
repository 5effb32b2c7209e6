"""The vocabulary of a log: the events that it prints, and their fields.

A step whose event is not in the vocabulary prints nothing. A field that is not in the vocabulary is
unknown. The vocabulary depends on two things:

* The release. A header names it. If none does, the fields of the lines limit which release it can
  be.
* The enabled events. The user names them. If the user does not, the events in the logs count as
  enabled.

The logs of a cluster have one vocabulary, because its members run one release with one setting. If
they run several releases, as in a rolling upgrade, the vocabulary has what all of them print.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from canvass.cluster.messages import MESSAGE_TYPES
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.event_types import (
    BUILT_IN,
    EVENT_TYPES,
    LATER_FIELDS,
    NAMED,
    NEWEST,
    OLDEST,
    EventType,
    Release,
    release_of,
)
from canvass.traces.aeron_log.member_log import ClusterLogs
from canvass.traces.aeron_log.records import (
    ClusterEvent,
    ProcessStart,
    Start,
    StateChange,
)

EventClass: TypeAlias = type[ClusterEvent]

ALL: Final = "all"
"""Aeron's name of the set of all events."""

PRODUCTION: Final = "production"
"""The name of the set that the script ``basic-auction-cluster`` of Aeron's samples enables."""

_DISABLED: Final = frozenset({"CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION"})
"""The events that are not in `PRODUCTION`: the script disables them
(``aeron.event.cluster.log.disable``).
"""

_LINES: Final = tuple(Release(1, minor) for minor in range(NEWEST.minor, OLDEST.minor - 1, -1))
"""The known minor releases, the newest first."""

_NEVER: Final = Release(1 << 30, 0)

RECEIPTS: Final[frozenset[EventClass]] = frozenset(
    getattr(records, message.__name__) for message in MESSAGE_TYPES
)
"""The events that receipts of consensus messages print."""

_ROW_OF: Final[Mapping[EventClass, EventType]] = {row.record: row for row in EVENT_TYPES.values()}


@dataclass(frozen=True, slots=True)
class LogVocabulary:
    """The events that the logs of a cluster print.

    Parameters
    ----------
    release
        The newest release of Aeron that a log names. If none names one, the newest release that can
        have printed the lines.
    oldest
        The oldest release that a log names, but at least `OLDEST`. If none names one, ``release``.
    kinds
        The classes of the records of the events.
    """

    release: Release
    oldest: Release
    kinds: frozenset[EventClass]

    @property
    def silent_messages(self) -> frozenset[str]:
        """The names of the consensus messages whose receipts the logs do not print."""
        return frozenset(kind.__name__ for kind in RECEIPTS - self.kinds)

    @property
    def prints_change_before_role(self) -> bool:
        """Whether ``ELECTION_STATE_CHANGE`` comes before the ``ROLE_CHANGE`` of the same step.

        If so, the line of a change to CANVASS still shows the leader that the member had.

        Notes
        -----
        Aeron: up to 1.44 ``Election.state`` logs at its beginning, from 1.45.0 on at its end.
        """
        return self.oldest < Release(1, 45)

    @property
    def shows_requests(self) -> bool:
        """Whether the reason of a ``STATE_CHANGE`` shows what an operator has requested."""
        return self.prints(StateChange) and self.oldest >= LATER_FIELDS[StateChange]["reason"]

    def prints(self, kind: EventClass) -> bool:
        """Whether the logs have lines of an event."""
        return kind in self.kinds


def events_named(text: str) -> frozenset[str]:
    """The events that a list names: names of events, `ALL` or `PRODUCTION`, separated by commas.

    Raises
    ------
    ValueError
        If a name is unknown, or the list is empty.
    """
    found: set[str] = set()
    for word in text.split(","):
        name = word.strip()
        if name.lower() in (ALL, PRODUCTION):
            found |= EVENT_TYPES.keys() - (_DISABLED if name.lower() == PRODUCTION else ())
        elif name.upper() in EVENT_TYPES:
            found.add(name.upper())
        else:
            known = ", ".join([ALL, PRODUCTION, *sorted(EVENT_TYPES)])
            raise ValueError(f"no event is called {name!a}; there are {known}")
    return frozenset(found)


def log_vocabulary(logs: ClusterLogs, events: Collection[str] | None = None) -> LogVocabulary:
    """The vocabulary of a cluster's logs.

    Parameters
    ----------
    logs
        The logs.
    events
        The names of the enabled events, as `events_named` returns them. By default, each event that
        is in the log of any member counts as enabled.

    Notes
    -----
    A field may be missing, as in an older release, while an event of a newer release is there. Then
    the field decides: somebody may have added lines of the event.
    """
    every = [record for log in logs.members.values() for record in log.records]
    lines = [record for record in every if isinstance(record, ClusterEvent)]
    seen = frozenset(map(type, lines))
    named = [release for record in every if (release := release_of(record)) is not None]
    earliest, before = OLDEST, _NEVER
    for record in lines:
        for name, since in LATER_FIELDS.get(type(record), {}).items():
            if getattr(record, name) is None:
                before = min(before, since)
            else:
                earliest = max(earliest, since)
    if seen and earliest < NAMED and any(isinstance(record, ProcessStart) for record in every):
        before = min(before, NAMED)  # Newer releases name themselves, in the header or in `Start`.
    release = max(named, default=next((one for one in _LINES if one < before), OLDEST))
    earliest = max([earliest, *(_ROW_OF[kind].since for kind in seen)])
    certain = release if named else min(release, earliest)
    kinds = {
        kind
        for kind, row in _ROW_OF.items()
        if row.since <= certain and _is_enabled(kind, release, seen, events)
    }
    # A header with a false digit can name a release that is older than `OLDEST`.
    oldest = max(OLDEST, min(named, default=release))
    later = {kind for kind, row in _ROW_OF.items() if oldest < row.since <= release}
    return LogVocabulary(release, oldest, (seen | kinds) - later)


def _is_enabled(
    kind: EventClass, release: Release, seen: frozenset[EventClass], events: Collection[str] | None
) -> bool:
    """Whether an event is enabled: by the user, or as lines of events with the same switch show."""
    if kind is Start:
        return True
    if events is None:
        return _switch(kind, release) in {_switch(one, release) for one in seen}
    return _switch(kind, release) in events


def _switch(kind: EventClass, release: Release) -> str:
    """The name of the event that enables a kind of record."""
    row = _ROW_OF[kind]
    return row.switch if row.switch and release < BUILT_IN else row.name

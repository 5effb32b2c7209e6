"""The vocabulary of a log: the events that it prints, and their fields.

A step whose event is not in the vocabulary prints nothing. A field that is not in it is unknown.
The vocabulary depends on the release and on the enabled events. The header names the release, or
the fields of the lines limit it. The user names the enabled events; else those in the logs count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from canvass.traces.aeron_log.event_types import (
    BUILT_IN,
    EVENT_TYPES,
    LATER_FIELDS,
    NAMED,
    NEWEST,
    OLDEST,
    EventType,
    Release,
    parse_release,
    release_of,
)
from canvass.traces.aeron_log.logs import ClusterLogs
from canvass.traces.aeron_log.records import ClusterEvent, LogRecord, ProcessStart, Start

EventClass: TypeAlias = type[ClusterEvent]

ALL: Final = "all"
"""Aeron's name of the set of all events."""

PRODUCTION: Final = "production"
"""The name of the set that the script ``basic-auction-cluster`` of Aeron's samples enables."""

_DISABLED: Final = frozenset({"CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION"})
"""The events that this script disables (``aeron.event.cluster.log.disable``)."""

_LINES: Final = tuple(Release(1, minor) for minor in range(NEWEST.minor, OLDEST.minor - 1, -1))
"""The lines of releases, the newest first."""

_NEVER: Final = Release(1 << 30, 0)

_ROW_OF: Final[Mapping[EventClass, EventType]] = {row.record: row for row in EVENT_TYPES.values()}


@dataclass(frozen=True, slots=True)
class LogVocabulary:
    """The events that one process incarnation of a member prints.

    Parameters
    ----------
    release
        The release of Aeron. If the log does not name it, the newest that fits the text.
    kinds
        The classes of the records.
    """

    release: Release
    kinds: frozenset[EventClass]

    @property
    def prints_change_before_role(self) -> bool:
        """Whether ``ELECTION_STATE_CHANGE`` comes before the ``ROLE_CHANGE`` of the same step. A
        change to CANVASS then still shows the leader that the member had.

        Notes
        -----
        Aeron: ``Election.state`` logs first up to 1.44; from 1.45.0 it logs last.
        """
        return self.release < Release(1, 45)


def events_named(text: str) -> frozenset[str]:
    """The events in a list of names, separated by commas: events, `ALL` or `PRODUCTION`.

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


def vocabularies_of(
    logs: ClusterLogs, events: Collection[str] | None = None
) -> dict[int, tuple[LogVocabulary, ...]]:
    """The vocabularies of a cluster's logs.

    Parameters
    ----------
    logs
        The logs.
    events
        The names of the enabled events, as `events_named` returns them. By default, each event in a
        log of some member counts as enabled.

    Returns
    -------
    dict
        For each member one vocabulary for each process incarnation, in the order of the log.
    """
    texts = {
        member_id: [_read(part) for part in _incarnations(log.records)]
        for member_id, log in logs.members.items()
    }
    every = [text for found in texts.values() for text in found]
    logged = sorted({text.release for text in every if text.release is not None}, reverse=True)
    seen = frozenset[EventClass]().union(*(text.kinds for text in every))
    unnamed = [text for text in every if text.release is None]
    others = _Text(
        None,
        max([text.earliest for text in unnamed], default=OLDEST),
        min([text.before for text in unnamed], default=_NEVER),
        seen,
    )
    return {
        member_id: tuple(_vocabulary(text, logged, others, events) for text in found)
        for member_id, found in texts.items()
    }


def revision_of(vocabularies: Mapping[int, Iterable[LogVocabulary]]) -> str:
    """The revision of the spec that has the rules of the newest release."""
    releases = [one.release for found in vocabularies.values() for one in found]
    return max(releases, default=NEWEST).revision


@dataclass(frozen=True, slots=True)
class _Text:
    """The release and the events that the text of one incarnation shows.

    Parameters
    ----------
    release
        The release in the header or the event ``START``, or None.
    earliest
        The first release that has all events and fields of the text.
    before
        The first release that has a field which the text lacks.
    kinds
        The classes of its records.
    """

    release: Release | None
    earliest: Release
    before: Release
    kinds: frozenset[EventClass]

    def fits(self, release: Release) -> bool:
        """Whether a release can have written the text."""
        return self.earliest <= release < self.before

    @property
    def newest(self) -> Release:
        """The newest line of releases that can have written the text.

        If a field is missing, and an event of a later release is there, the field decides: somebody
        may have added lines of the event.
        """
        return next((one for one in _LINES if one < self.before), OLDEST)


def _incarnations(records: Iterable[LogRecord]) -> list[list[LogRecord]]:
    """The records of each process incarnation; each but the first begins with its header."""
    parts: list[list[LogRecord]] = [[]]
    for record in records:
        if isinstance(record, ProcessStart) and parts[-1]:
            parts.append([])
        parts[-1].append(record)
    return parts


def _read(records: list[LogRecord]) -> _Text:
    """Release and events of an incarnation. All its lines of one event have the same fields."""
    first: dict[type[LogRecord], LogRecord] = {}
    for record in reversed(records):
        first[type(record)] = record
    header, start = first.get(ProcessStart), first.get(Start)
    release = None
    if isinstance(header, ProcessStart):
        release = release_of(header)
    if isinstance(start, Start):
        release = parse_release(start.version) or BUILT_IN
    kinds = frozenset(kind for kind in first if issubclass(kind, ClusterEvent))
    there, before = OLDEST, _NEVER
    for kind in kinds & LATER_FIELDS.keys():
        for name, since in LATER_FIELDS[kind].items():
            if getattr(first[kind], name) is None:
                before = min(before, since)
            else:
                there = max(there, since)
    if header is not None and release is None and kinds and there < NAMED:
        before = min(before, NAMED)  # From 1.53 on the first event says which release it is.
    earliest = max([there, *(_ROW_OF[kind].since for kind in kinds)])
    return _Text(release, earliest, before, kinds)


def _vocabulary(
    text: _Text, logged: Iterable[Release], others: _Text, events: Collection[str] | None
) -> LogVocabulary:
    """The vocabulary of an incarnation. ``others`` joins all texts that name no release."""
    known = text.release or next(filter(text.fits, logged), None)
    release = known or (others.newest if others.newest < text.before else text.newest)
    certain = known or min(release, others.earliest)
    kinds = {
        kind
        for kind, row in _ROW_OF.items()
        if row.since <= certain and _is_enabled(kind, release, others.kinds, events)
    }
    return LogVocabulary(release, text.kinds | kinds)


def _is_enabled(
    kind: EventClass, release: Release, seen: frozenset[EventClass], events: Collection[str] | None
) -> bool:
    """Whether an event is enabled, according to the user, or to lines of events with its switch."""
    if kind is Start:
        return True
    if events is None:
        return _switch(kind, release) in {_switch(one, release) for one in seen}
    return _switch(kind, release) in events


def _switch(kind: EventClass, release: Release) -> str:
    """The event whose name enables a kind of record."""
    row = _ROW_OF[kind]
    return row.switch if row.switch and release < BUILT_IN else row.name

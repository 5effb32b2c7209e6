"""What a log can say: the kinds of events that it prints, with the fields that each has in its
release.

A step whose event is not in the vocabulary prints nothing, and a field that is not in it is
unknown. The vocabulary comes from the release, which the log names or which its text narrows down,
and from the events that the operator has enabled: as the user says, else as the lines show.

Nothing here reads a line, or says what a log without an event means.
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
"""The name of the set of all events, as Aeron has it."""

PRODUCTION: Final = "production"
"""The name of the set that the script ``basic-auction-cluster`` of Aeron's samples enables."""

_DISABLED: Final = frozenset({"CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION"})
"""What that script disables (``aeron.event.cluster.log.disable``)."""

_LINES: Final = tuple(Release(1, minor) for minor in range(NEWEST.minor, OLDEST.minor - 1, -1))
"""The lines of releases, the newest first."""

_NEVER: Final = Release(1 << 30, 0)

_ROW_OF: Final[Mapping[EventClass, EventType]] = {row.record: row for row in EVENT_TYPES.values()}


@dataclass(frozen=True, slots=True)
class LogVocabulary:
    """What one process incarnation of a member prints.

    Parameters
    ----------
    release
        Of Aeron; if the log does not name it, the newest that the text may be of.
    kinds
        Classes of the records that can be there.
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
    """The events that a list names: their names in the log, `ALL` or `PRODUCTION`, with commas.

    Raises
    ------
    ValueError
        If a name is none of them, or there is none.
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
        As they were read.
    events
        Names of the enabled events, as `events_named` gives them; None if it is not known. Then
        those are enabled of which some member's log has a line.

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
    """What the text of one incarnation shows of its release.

    Parameters
    ----------
    release
        As the header or the event ``START`` names it, or None.
    earliest
        Events and fields that are there are not older.
    before
        A field that is not there is of this release.
    kinds
        Of which there is a line.
    """

    release: Release | None
    earliest: Release
    before: Release
    kinds: frozenset[EventClass]

    def fits(self, release: Release) -> bool:
        """Whether the text may be of a release."""
        return self.earliest <= release < self.before

    @property
    def newest(self) -> Release:
        """The newest line of releases that it may be of.

        A field that all lines lack shows more than a kind of a later release: somebody may have
        added lines of the kind.
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
    """What the records of an incarnation show; all its lines of one kind have the same fields."""
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
    """The vocabulary of an incarnation; ``others`` is what all show that do not name a release."""
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
    """Whether the operator has enabled a kind, as the user says or as lines of its switch show."""
    if kind is Start:
        return True
    if events is None:
        return _switch(kind, release) in {_switch(one, release) for one in seen}
    return _switch(kind, release) in events


def _switch(kind: EventClass, release: Release) -> str:
    """The event by whose name a kind is enabled."""
    row = _ROW_OF[kind]
    return row.switch if row.switch and release < BUILT_IN else row.name

"""The releases of Aeron that wrote the logs of a cluster: the events that their lines can have, and
the revision of the spec that is chosen for them.

The core and the spec have one revision for a whole cluster. ``source.releases`` of ``run.json`` has
the releases of an imported run, for people: no check reads it.

A log has a vocabulary: the events that it prints, and their fields. A step whose event is not in
the vocabulary prints nothing. A field that is not in the vocabulary is unknown. The vocabulary
depends on two things:

* The release. A header names it. If none does, the fields of the lines limit which release it can
  be.
* The enabled events. The user names them. If the user does not, the events in the logs count as
  enabled.

The logs of a cluster have one vocabulary, because its members run one release with one setting. If
they run several releases, as in a rolling upgrade, the vocabulary has what all of them print.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from canvass.cluster.messages import MESSAGE_TYPES, wire_name
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.event_types import (
    BUILT_IN,
    EVENT_TYPES,
    LATER_FIELDS,
    NAMED,
    NEWEST,
    OLDEST,
    ROW_OF,
    Release,
    parse_release,
    release_of,
)
from canvass.traces.aeron_log.incarnations import ClusterLogs
from canvass.traces.aeron_log.records import ClusterEvent, ProcessStart, Start, StateChange
from canvass.traces.errors import member_names
from canvass.traces.schema import MemberId, Run

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
    earliest = max([earliest, *(ROW_OF[kind].since for kind in seen)])
    certain = release if named else min(release, earliest)
    kinds = {
        kind
        for kind, row in ROW_OF.items()
        if row.since <= certain and _is_enabled(kind, release, seen, events)
    }
    # A header with a false digit can name a release that is older than `OLDEST`.
    oldest = max(OLDEST, min(named, default=release))
    later = {kind for kind, row in ROW_OF.items() if oldest < row.since <= release}
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
    row = ROW_OF[kind]
    return row.switch if row.switch and release < BUILT_IN else row.name


RELEASES: Final = "releases"
"""The key of the releases in ``source`` of ``run.json``."""
MAX_NAMED: Final = 16
"""The most releases that are kept for one log, the first ones. A log with more was altered."""

ReleaseText: TypeAlias = Annotated[
    str, Meta(pattern=r"^(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}$(?!\n)")
]


class RevisionChoice(str, Enum):
    """How the revision of the spec was chosen."""

    RELEASE = "RELEASE"
    """The revision is that of the newest release that a log names."""
    LINES = "LINES"
    """No log names a release. The revision is that of the newest release that prints such lines."""
    OPTION = "OPTION"
    """The user chose it (``--revision``)."""


class NotedReleases(
    Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name, omit_defaults=True
):
    """The releases of Aeron that wrote the logs of a cluster, as ``run.json`` has them.

    Parameters
    ----------
    members
        For each member with a log, the releases that the log names, in the order of its lines;
        empty if the log names none.
    choice
        How the revision was chosen.
    forms
        The forms in which the lines were delivered, if they differ from what Aeron writes.
    real_ids
        For each member whose number in the run differs from its id in the logs, that id.
    """

    members: dict[MemberId, Annotated[tuple[ReleaseText, ...], Meta(max_length=MAX_NAMED)]]
    choice: RevisionChoice
    forms: tuple[str, ...] = ()
    real_ids: dict[MemberId, int] = {}


class LogReleases(NotedReleases, frozen=True, kw_only=True):
    """The releases of Aeron that wrote the logs of a cluster, and the revision of the spec.

    Parameters
    ----------
    revision
        The revision with which the logs are aligned.
    remarks
        The limits of the choice of this revision, one text for each, without a full stop.
    """

    revision: str
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, noted: NotedReleases, revision: str) -> LogReleases:
        """Make it from what ``run.json`` has, with the revision and the limits of its choice."""
        remarks = tuple(_remarks(noted.members, revision))
        return cls(**asdict(noted), revision=revision, remarks=remarks)

    def __str__(self) -> str:
        """Say which release wrote the logs, which revision is used, and why."""
        several = len({*chain(*self.members.values())}) > 1
        how = {
            RevisionChoice.RELEASE: f"chosen by the {'newest ' if several else ''}release",
            RevisionChoice.LINES: "assumed from the fields of the lines",
            RevisionChoice.OPTION: "chosen by --revision",
        }
        return f"{self._writers()}; revision {self.revision} of the spec, {how[self.choice]}"

    def _writers(self) -> str:
        """The releases, each with the members that ran it."""
        by_release: dict[tuple[str, ...], list[int]] = {}
        for member_id, named in sorted(self.members.items()):
            by_release.setdefault(named, []).append(member_id)
        unknown = by_release.pop((), [])
        parts = [
            f"{', then '.join(named)} ({member_names(ids)})" for named, ids in by_release.items()
        ]
        known = f"Aeron {', '.join(parts)}" if parts else "Aeron"
        return f"{known}, release unknown ({member_names(unknown)})" if unknown else known

    def lines(self) -> list[str]:
        """Give the lines that a command prints: this object as text, and a note for each remark."""
        forms = (f"lines are unwrapped: {form}" for form in self.forms)
        ids = (f"member {k} has id {i} in the logs" for k, i in self.real_ids.items())
        return [str(self), *forms, *ids, *(f"note: {remark}" for remark in self.remarks)]


def _remarks(members: Mapping[int, tuple[str, ...]], revision: str) -> Iterator[str]:
    """The limits of the choice of a revision."""
    by_release = {
        release: {i for i, named in members.items() if str(release) in named}
        for release in sorted(filter(None, map(parse_release, chain(*members.values()))))
    }
    for release, ids in by_release.items():
        if not OLDEST[:2] <= release[:2] <= NEWEST[:2]:
            yield (
                f"release {release} ({member_names(ids)}) has not been tried, only"
                f" {_line(OLDEST)} to {_line(NEWEST)}; revision {revision} is used for it:"
                " read the verdict with this in mind"
            )
    unknown = [i for i, named in members.items() if not named]
    if unknown and not by_release:
        yield (
            f"no log names its release; if that has other rules than revision {revision},"
            " correct steps can be refused: select its revision with"
            " `canvass import aeron --revision`"
        )
    elif unknown:
        yield f"the release of {member_names(unknown)} is taken to be that of the other members"
    others = [one for one in by_release if one.revision != revision]
    for release in others:
        yield (
            f"release {release} ({member_names(by_release[release])}) has the rules of revision"
            f" {release.revision}; its steps are checked by those of revision {revision},"
            " and correct ones can be refused"
        )


def _line(release: Release) -> str:
    return f"{release.major}.{release.minor}"


def releases_of(logs: ClusterLogs, revision: str = "") -> LogReleases:
    """The releases that the logs of a cluster name, and the revision that is chosen for them.

    Parameters
    ----------
    logs
        The logs.
    revision
        The revision that the user chose; empty if the releases decide.
    """
    named = {
        i: list(dict.fromkeys(filter(None, map(release_of, log.records))))[:MAX_NAMED]
        for i, log in sorted(logs.members.items())
        if i >= 0 and log.records
    }
    newest = max(chain.from_iterable(named.values()), default=None)
    choice = RevisionChoice.RELEASE if newest else RevisionChoice.LINES
    choice = RevisionChoice.OPTION if revision else choice
    revision = revision or (newest or log_vocabulary(logs).release).revision
    members = {i: tuple(map(str, several)) for i, several in named.items()}
    forms = set().union(*(log.counts.framings for log in logs.members.values()))
    noted = NotedReleases(members, choice, tuple(sorted(forms)), dict(logs.real_ids))
    return LogReleases.of(noted, revision)


def releases_of_run(run: Run) -> LogReleases | None:
    """The releases that wrote the logs of an imported run; None if ``run.json`` has none.

    The revision is that of the run. If ``source.releases`` has another form, it counts as missing.
    """
    try:
        noted = msgspec.convert(run.source.get(RELEASES), NotedReleases, str_keys=True)
    except msgspec.ValidationError:
        return None
    return LogReleases.of(noted, run.revision)


def noted_releases(releases: LogReleases) -> NotedReleases:
    """Return releases in the form of ``run.json``, without the revision: it has its own field."""
    return msgspec.convert(releases, NotedReleases, from_attributes=True)

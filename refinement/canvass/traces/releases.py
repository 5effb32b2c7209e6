"""The releases of Aeron that wrote the logs of a cluster, and the revision that is chosen for them.

The core and the spec have one revision for a whole cluster. ``source.releases`` of ``run.json`` has
the releases of an imported run. No verdict depends on these releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from canvass.cluster.messages import wire_name
from canvass.traces.aeron_log.event_types import NEWEST, OLDEST, Release, parse_release, release_of
from canvass.traces.counts import member_names
from canvass.traces.schema import MemberId, Run

if TYPE_CHECKING:
    from canvass.traces.aeron_log.member_log import ClusterLogs

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
    from canvass.traces.aeron_log.log_vocabulary import log_vocabulary

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

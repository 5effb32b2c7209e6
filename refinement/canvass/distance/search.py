"""The cluster at one moment, and the search for the nearest violation from it, with its report.

A `Moment` has the members, the messages under way, the logs and the committed log. `MCFrom.tla`
starts from it, and TLC searches. Positions of a moment are bytes. The model reads only their order,
so `Moment.small` replaces each position by its rank among all positions of the moment. A
`DistanceReport` is the document of ``canvass distance --format json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from canvass.cluster.member import Member
from canvass.cluster.messages import (
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
)
from canvass.cluster.rules import Rules
from canvass.simulation.world import Log, length
from canvass.steps.oracle import constants_of
from canvass.steps.step import ranks
from canvass.steps.step import renamed as with_numbers
from canvass.tlc.config import given, parse_config
from canvass.tlc.errors import TlcError
from canvass.tlc.results import Outcome, Violation
from canvass.tlc.runner import check
from canvass.traces.errors import counted
from canvass.traces.schema import NumberKind, kind

Count = Annotated[int, Meta(ge=0)]
UnderWay = tuple[int, int, Message]
"""Sender, receiver and message."""
_REPORTS: Final = (AppendPosition, CanvassPosition, CatchupPosition, CommitPosition)


@dataclass(frozen=True, slots=True)
class Moment:
    """A cluster at one moment.

    Parameters
    ----------
    rules
        Revision and member count.
    members
        The state of each member; a member without an event is stopped and has an empty disk.
    under_way
        Messages that were sent and arrive later, in the order of sending. A message that never
        arrives in the run counts as lost, and is not among them.
    logs
        The recorded log of each member.
    committed
        The longest prefix that any member has ever committed.
    leaders
        Pairs of a term and the member that led it.
    label
        Name of the moment in messages.
    """

    rules: Rules
    members: tuple[Member, ...]
    under_way: tuple[UnderWay, ...]
    logs: tuple[Log, ...]
    committed: Log
    leaders: frozenset[tuple[int, int]]
    label: str

    def without_repeats(self) -> Moment:
        """Give the moment without messages that a later message in their channel replaces.

        Members repeat reports of positions. A later message replaces an earlier one if the two are
        equal, or if they are reports that differ only in the position and the later position is
        greater. An imported run has hundreds of reports under way, because an inferred send is
        placed at the earliest step that can have sent it.
        """
        kept: list[UnderWay] = []
        greatest: dict[Hashable, int] = {}
        for one in reversed(self.under_way):
            sender, receiver, message = one
            position = message.log_position if isinstance(message, _REPORTS) else 0
            same = msgspec.structs.replace(message, log_position=0) if position else message
            if position > greatest.get((sender, receiver, same), -2):
                greatest[sender, receiver, same] = position
                kept.append(one)
        return replace(self, under_way=tuple(reversed(kept)))

    def small(self) -> tuple[Moment, dict[int, int]]:
        """Give the moment with ranks for positions and terms, and the position of each rank."""
        (small,), ranked = together([self])
        return small, {rank: position for position, rank in ranked.items()}

    def renamed(self, rename: Callable[[str, int], int]) -> Moment:
        """Give the moment with other numbers.

        ``rename`` takes the name of a field and its number, and gives the new number.
        """

        def log_of(log: Log) -> Log:
            return tuple(
                replace(
                    one,
                    term=rename("leadership_term_id", one.term),
                    base=rename("log_position", one.base),
                    start=rename("log_position", one.start),
                    end=rename("log_position", one.end),
                )
                for one in log
            )

        return replace(
            self,
            members=with_numbers(self.members, rename),
            under_way=with_numbers(self.under_way, rename),
            logs=tuple(map(log_of, self.logs)),
            committed=log_of(self.committed),
            leaders=frozenset((rename("leadership_term_id", term), i) for term, i in self.leaders),
        )

    @property
    def last_term(self) -> int:
        """The newest term that any member knows."""
        terms = [term for term, _ in self.leaders]
        for one in self.members:
            terms += one.candidate_term_id, one.persisted_candidate_term_id, one.leadership_term_id
        return max(terms)

    @property
    def end(self) -> int:
        """The end of the longest log, written or recorded."""
        written = (one.publication_position for one in self.members)
        return max((*map(length, self.logs), *written, 0))

    def value(self) -> dict[str, Any]:
        """Give the cluster as a value of the spec. The moment must be made by `small`."""
        count = range(self.rules.member_count)
        channel = {i: {j: tuple[Any, ...]() for j in count} for i in count}
        for sender, receiver, message in self.under_way:
            channel[sender][receiver] += (msgspec.to_builtins(message),)
        return {
            "member": {i: _state_value(one) for i, one in enumerate(self.members)},
            "channel": channel,
            "log": {i: _entries(log) for i, log in enumerate(self.logs)},
            "hist": {
                "leaders": frozenset(self.leaders),
                "votes": frozenset[Any](),
                "committed": _entries(self.committed),
            },
        }


def together(
    moments: Sequence[Moment], positions: Iterable[int] = ()
) -> tuple[list[Moment], dict[int, int]]:
    """Replace the positions and terms of all moments by ranks, and give the rank of each position.

    ``positions`` are further positions to rank.
    """
    found: dict[NumberKind, set[int]] = {NumberKind.TERM: set(), NumberKind.POSITION: {*positions}}

    def collect(name: str, value: int) -> int:
        found.get(kind(name), set()).add(value)
        return value

    for one in moments:
        one.renamed(collect)
    forth = {one: ranks(values, terms=one is NumberKind.TERM) for one, values in found.items()}

    def rename(name: str, value: int) -> int:
        table = forth.get(kind(name))
        return value if table is None else table[value]

    return [one.renamed(rename) for one in moments], forth[NumberKind.POSITION]


def _state_value(state: Member) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(state)
    value["members"] = dict(enumerate(value["members"]))
    value["recordingLog"] = tuple(value["recordingLog"])
    return value


def _entries(log: Iterable[Any]) -> tuple[int, ...]:
    """Give a log with ranks in the form of the model: the term of each entry."""
    return tuple(one.term for one in log for _ in range(one.start, one.end))


# --- the search -----------------------------------------------------------------------------------

MODULE: Final = "MCFrom"
MAX_CRASHES: Final = 1
"""Most crashes in a behaviour."""
MAX_UNDER_WAY: Final = 1
"""Most messages under way at once, besides those under way at the start."""


class Distance(Struct, frozen=True, rename="camel"):
    """The result of a search.

    Attributes
    ----------
    steps
        Length of the shortest violating behaviour that was found; None without one.
    faults
        Number of faults among these steps, by kind.
    searched
        Length up to which all behaviours were searched.
    complete
        Whether all behaviours within the bounds were searched.
    states, seconds
        Number of distinct states, and the elapsed time, with the start of Java.
    """

    steps: Count | None
    faults: dict[str, int]
    searched: Count
    complete: bool
    states: int
    seconds: float


FAULTS: Final = {"RestartMember": "crash", "TETakeEnterElection": "lost leader"}
"""Names of the actions that are faults of the environment."""


def search(
    root: Path, moment: Moment, steps: int, seconds: float
) -> tuple[Distance, Violation | None]:
    """Search from a moment for the nearest violation, and give TLC's behaviour to it.

    Parameters
    ----------
    root, moment
        The spec folder, and the cluster to start from.
    steps
        Maximum length of a behaviour.
    seconds
        Time limit, with the start of Java.

    Raises
    ------
    TlcError
        If TLC cannot run, or cannot read the moment.
    """
    small, _ = moment.small()
    everybody = frozenset(range(moment.rules.member_count))
    constants = {
        "Candidates": everybody,
        "Impatient": everybody,
        "Fragile": everybody,
        "MaxTerm": small.last_term + 1,
        "MaxPosition": small.end + 1,
        "From": small.value(),
        "MaxSteps": steps + 1,
        "MaxFaults": MAX_CRASHES,
        "MaxUnderWay": MAX_UNDER_WAY + len(small.under_way),
    }
    config = parse_config((root / f"{MODULE}.cfg").read_text(encoding="utf-8"))
    config = replace(config, constants={**config.constants, **constants_of(moment.rules, root)})
    with TemporaryDirectory(prefix="canvass-distance-") as folder:
        result = check(
            *given(root / f"{MODULE}.tla", config, constants, Path(folder)),
            workers=1,  # With several workers, the behaviour may not be a shortest one.
            heap_mib=512,
            stack_mib=64,
            timeout_s=seconds,
            check_deadlock=False,
            library=(root,),
        )
    complete = result.outcome is Outcome.SUCCESS
    if not (complete or result.outcome.is_violation or result.outcome is Outcome.TIMEOUT):
        raise TlcError(f"{moment.label}: {result.message}")
    violation = result.violations[0] if result.violations else None
    states = violation.states if violation else ()
    faults = Counter(FAULTS[state.action] for state in states if state.action in FAULTS)
    distance = Distance(
        steps=len(states) - 1 if violation else None,
        faults=dict(faults),
        searched=steps if complete else max((result.depth or 0) - 2, 0),
        complete=complete,
        states=result.distinct or 0,
        seconds=round(result.seconds, 3),
    )
    return distance, violation


# --- the report -----------------------------------------------------------------------------------

PROPERTY: Final = "CommittedIsDurable"
"""The property whose violation is searched for: a loss of committed entries."""


class MomentReport(Distance, frozen=True, rename="camel"):
    """The distance from one moment: an element of ``canvass distance --format json``.

    ``event`` is a place in the order of causes of the run; ``timeNs`` is the time since the first
    event of the run.
    ``steps`` is null if no violation was found within ``searched`` steps.
    ``underWay`` counts the messages under way at the moment. ``repeats`` counts further messages
    that a later message in the same channel replaces; the search leaves them out.
    ``countedTooFar`` is `Exposure.counted_too_far` in bytes; null without ``--every``.
    """

    moment: str
    event: Count
    time_ns: int
    positions: list[int]
    under_way: int
    repeats: int
    counted_too_far: int | None


class DistanceReport(Struct, frozen=True, rename="camel"):
    """The document of ``canvass distance --format json``."""

    source: str
    property: str
    bounds: dict[str, float]
    moments: list[MomentReport]


def found_text(report: Distance) -> str:
    """Write the distance from a moment to a violation of `PROPERTY`, in words."""
    if report.steps == 0:
        return f"{PROPERTY} is violated here already"
    if report.steps is not None:
        steps = counted(report.steps, "step")
        return f"{steps} to a violation of {PROPERTY}{faults_text(report)}"
    stopped = "" if report.complete else ", stopped by the time limit"
    return f"no violation of {PROPERTY} within {counted(report.searched, 'step')}{stopped}"


def faults_text(report: Distance) -> str:
    """Count the faults among the steps to a violation; empty if there are none."""
    named = {"crash": "crashes", "lost leader": "lost leaders"}
    parts = [f"{n} {kind if n == 1 else named[kind]}" for kind, n in sorted(report.faults.items())]
    return f" ({', '.join(parts)} among them)" if parts else ""


def counted_text(report: MomentReport) -> str:
    """Write by how many bytes reports are counted too far; empty if they are not."""
    if not report.counted_too_far:
        return ""
    return f"; reports are counted {report.counted_too_far:,} bytes too far"

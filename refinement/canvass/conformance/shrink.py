"""Delta debugging of a run: the smallest run that still diverges in the same way.

A candidate is accepted if its first divergence has the same class and name and is at the same
event. Candidates leave out, in this order, as long as it helps:

1. the ends of streams: all events that did not lead to the divergence;
2. whole members, and more of the ends;
3. steps that do not change their member's state, with the receipts of the messages they sent.

Each remaining stream has its beginning, and each message that is received in the result is sent in
it. The result has no step that was not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from canvass.conformance.check import Checker
from canvass.conformance.diagnose import RunColumns
from canvass.conformance.findings import Divergence, Findings, RunVerdict
from canvass.conformance.verify import decide
from canvass.lanes.drawing import RunLanes
from canvass.steps.answers import Answers, StepLookup
from canvass.traces.columns import from_events
from canvass.traces.parquet import RunEntry
from canvass.traces.schema import Event, FactKind, Run

Streams = Mapping[int, Sequence[Event]]
"""The events of each member."""
Kept = dict[int, list[int]]
"""For each member that is kept: the places of the kept events in its stream, in ascending order."""


class NothingToShrink(Exception):
    """The run does not diverge."""


@dataclass(slots=True)
class Shrunk:
    """The result of shrinking a run."""

    run: Run
    events: Streams
    divergence: Divergence
    """The first divergence of the remaining run."""
    original: Divergence
    before: int
    """Events of the run that was given."""
    checks: int
    """Candidates that were checked."""
    dropped: tuple[int, ...] = ()
    """Members without remaining events."""

    @property
    def after(self) -> int:
        """Count the events that remain."""
        return sum(map(len, self.events.values()))


def shrink(
    loaded: RunColumns,
    found: RunVerdict,
    lookup: StepLookup,
    on_progress: Callable[[int], object] = lambda _: None,
) -> Shrunk:
    """Find the smallest run.

    Parameters
    ----------
    loaded
        The run.
    found
        The verdict on it.
    lookup
        Decides steps. Candidates have steps of the run only, so the oracle is not asked again.
    on_progress
        Called with the number of events after each success.

    Raises
    ------
    NothingToShrink
        If the run does not diverge.
    """
    if not found.divergences:
        raise NothingToShrink(f"the run is {found.verdict.value}: it does not diverge")
    streams = loaded.events()
    search = _Search(loaded.run, streams, found, lookup, on_progress)
    search.cut_after(loaded)
    size = -1
    while size != _size(search.kept):
        size = _size(search.kept)
        search.cut_ends()
        search.remove_idle()
    return Shrunk(
        run=loaded.run,
        events=_events(streams, search.kept),
        divergence=search.last,
        original=search.target,
        before=sum(map(len, streams.values())),
        checks=search.checks,
        dropped=tuple(sorted(set(streams) - set(search.kept))),
    )


class _Search:
    """The smallest candidate so far; the parameters are those of `shrink`."""

    def __init__(
        self,
        run: Run,
        streams: Streams,
        found: RunVerdict,
        lookup: StepLookup,
        on_progress: Callable[[int], object],
    ) -> None:
        self._run, self._streams, self._lookup = run, streams, lookup
        self._on_progress = on_progress
        self._facts = {(fact.kind, fact.member_id) for fact in found.facts}
        self.target = self.last = found.divergences[0]
        steps = [event.step for event in streams[self.target.member]]
        self._place = steps.index(self.target.step)
        counts = {member: len(events) for member, events in streams.items()}
        self.kept: Kept = {member: list(range(count)) for member, count in counts.items() if count}
        self.checks = 0

    # --- what is tried ----------------------------------------------------------------------------

    def cut_after(self, loaded: RunColumns) -> None:
        """Leave out the events that did not lead to the divergence, or at least those after it."""
        lanes = RunLanes(loaded.columns)
        row = loaded.row_of(self.target.member, self.target.step)
        up_to_it = lanes.rows[: lanes.place[row] + 1]
        for rows in (lanes.leading_to(row, len(lanes.rows)), up_to_it):
            counts = dict.fromkeys(self._streams, 0)
            for one in rows:
                counts[int(loaded.columns.member[one])] += 1
            if self._try({member: list(range(count)) for member, count in counts.items()}):
                return

    def cut_ends(self) -> None:
        """Leave out other members, or the ends of their streams; the longest stream comes first."""
        others = [member for member in self.kept if member != self.target.member]
        for member in sorted(others, key=lambda member: -len(self.kept[member])):
            by = len(self.kept[member])
            while by:
                if not self._try({**self.kept, member: self.kept.get(member, [])[:-by]}):
                    by //= 2

    def remove_idle(self) -> None:
        """Remove steps that change nothing: many at once, then fewer."""
        groups = self._idle_groups()
        size = len(groups)
        while size:
            start = 0
            while start < len(groups):
                chosen = set().union(*groups[start : start + size])
                kept = {
                    member: [place for place in places if (member, place) not in chosen]
                    for member, places in self.kept.items()
                }
                if self._try(kept):
                    del groups[start : start + size]
                else:
                    start += size
            size //= 2

    def _idle_groups(self) -> list[set[tuple[int, int]]]:
        """Give steps that change nothing, each with the receipts of what it sent."""
        idle: dict[tuple[int, int], Event] = {}
        receipts: dict[str, tuple[int, int]] = {}
        for member, places in self.kept.items():
            stream = self._streams[member]
            received = {stream[place].input.id: (member, place) for place in places}
            receipts |= {name: event for name, event in received.items() if name}
            for before, place in pairwise(places):
                if stream[before].state == stream[place].state:
                    idle[member, place] = stream[place]
        idle.pop((self.target.member, self._place), None)
        groups = []
        for name in idle:
            group, waiting = set[tuple[int, int]](), [name]
            while waiting:
                group.add(one := waiting.pop())
                sends = idle[one].sends if one in idle else ()
                waiting += [receipts[send.id] for send in sends if send.id in receipts]
            if group <= idle.keys():
                groups.append(group)
        return groups

    # --- one candidate ----------------------------------------------------------------------------

    def _try(self, candidate: Kept) -> bool:
        """Accept a candidate if it is smaller and diverges in the same way."""
        kept = {member: places for member, places in candidate.items() if places}
        own = kept.get(self.target.member, [])
        if _size(kept) >= _size(self.kept) or self._place not in own:
            return False
        events = _events(self._streams, kept)
        found = decide(partial(_checked, self._run, events), self._lookup).runs[0].verdict
        self.checks += 1
        wanted = replace(self.target, step=events[self.target.member][own.index(self._place)].step)
        if not found.divergences or _what(found.divergences[0]) != _what(wanted):
            return False
        for fact in found.facts:
            missing = fact.kind is FactKind.MISSING_STREAM and fact.member_id not in kept
            if not missing and (fact.kind, fact.member_id) not in self._facts:
                return False
        self.kept, self.last = kept, found.divergences[0]
        self._on_progress(_size(kept))
        return True


def _checked(run: Run, events: Streams, answers: Answers) -> Findings:
    """Check a run whose events are in memory."""
    checker = Checker(answers)
    checker.begin("", {run.run_id: RunEntry(run)})
    for member, stream in sorted(events.items()):
        checker.take(from_events(run.run_id, member, stream))
    checker.end()
    return checker.findings()


def _what(divergence: Divergence) -> tuple[object, ...]:
    return divergence.kind, divergence.name, divergence.member, divergence.step


def _size(kept: Kept) -> int:
    return sum(map(len, kept.values()))


def _events(streams: Streams, kept: Kept) -> dict[int, list[Event]]:
    """Give the events of a candidate, numbered anew where steps between them were removed.

    Gaps of the run stay: a step without a predecessor gets none.
    """
    found = {}
    for member, places in kept.items():
        stream, shift, last = streams[member], 0, places[0]
        events: list[Event] = []
        for place in places:
            removed = range(last + 1, place)
            shift += sum(stream[k].step == stream[k - 1].step + 1 for k in removed)
            events.append(replace(stream[place], step=stream[place].step - shift))
            last = place
        found[member] = events
    return found

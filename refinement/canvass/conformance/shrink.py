"""Delta debugging of a run: the smallest run that still diverges in the same way.

Each candidate is checked by `check_events`. It is accepted if its first
divergence has the same class and name and is at the same event. Candidates leave out, in this
order, as long as it helps:

1. the ends of streams: all events that the divergence does not rest on;
2. whole members, and more of the ends;
3. steps that do not change their member's state, with the receipts of the messages they sent.

Each remaining stream has its beginning, and each message that is received in the result is sent in
it. The result has no step that was not recorded.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec

from canvass.conformance.check import check_events
from canvass.conformance.diagnose import RunColumns
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import Divergence, RunVerdict
from canvass.conformance.verify import decide
from canvass.lanes.of_run import RunLanes
from canvass.traces.ndjson import EventWriter
from canvass.traces.run import RUN_FILE
from canvass.traces.schema import Event, FactKind, Run, encode

Kept = dict[int, list[int]]
"""For each member whose stream is kept the places of its events in it, in ascending order."""


class NothingToShrink(Exception):
    """The run does not diverge."""


@dataclass(slots=True)
class Shrunk:
    """The result of shrinking a run."""

    run: Run
    events: Mapping[int, Sequence[Event]]
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


@dataclass(slots=True)
class Shrinker:
    """Shrinks one run.

    Parameters
    ----------
    run, streams
        The run: the contents of ``run.json``, and the events of each member.
    loaded
        The same run in columns.
    found
        The verdict on it.
    lookup
        Decides steps. Candidates have steps of the run only, so the oracle is not asked again.
    on_progress
        Called with the number of events after each success.
    """

    run: Run
    streams: Mapping[int, Sequence[Event]]
    loaded: RunColumns
    found: RunVerdict
    lookup: StepLookup
    on_progress: Callable[[int], object] = lambda _: None
    checks: int = 0
    _last: Divergence | None = None
    _kept: Kept = field(default_factory=dict)

    def shrink(self) -> Shrunk:
        """Find the smallest run.

        Raises
        ------
        NothingToShrink
            If the run does not diverge.
        """
        if not self.found.divergences:
            raise NothingToShrink(f"the run is {self.found.verdict.value}: it does not diverge")
        self._kept = {member: list(range(len(events))) for member, events in self.streams.items()}
        self._last = self.found.divergences[0]
        self._cut_after()
        size = -1
        while size != _size(self._kept):
            size = _size(self._kept)
            self._drop_members()
            self._cut_ends()
            self._remove_idle()
        events = _events(self.streams, self._kept)
        assert self._last is not None
        return Shrunk(
            run=self.run,
            events=events,
            divergence=self._last,
            original=self.found.divergences[0],
            before=sum(map(len, self.streams.values())),
            checks=self.checks,
            dropped=tuple(sorted(set(self.streams) - set(self._kept))),
        )

    @property
    def _target(self) -> Divergence:
        return self.found.divergences[0]

    @property
    def _place(self) -> int:
        """The place of the event that diverges in its stream."""
        steps = [event.step for event in self.streams[self._target.member]]
        return steps.index(self._target.step)

    # --- what is tried ----------------------------------------------------------------------------

    def _cut_after(self) -> None:
        """Leave out the events that the divergence does not rest on, or at least those after it."""
        lanes = RunLanes(self.loaded.columns)
        row = self.loaded.row_of(self._target.member, self._target.step)
        up_to_it = lanes.rows[: lanes.place[row] + 1]
        for rows in (lanes.leading_to(row, len(lanes.rows)), up_to_it):
            counts = dict.fromkeys(self.streams, 0)
            for one in rows:
                counts[int(self.loaded.columns.member[one])] += 1
            kept = {member: list(range(count)) for member, count in counts.items() if count}
            if self._try(kept):
                return

    def _cut_ends(self) -> None:
        for member in self._others():
            count = len(self._kept[member])
            by = count // 2
            while by:
                if by < count and self._try({**self._kept, member: self._kept[member][:-by]}):
                    count -= by
                else:
                    by //= 2

    def _drop_members(self) -> None:
        for member in self._others():
            self._try({other: kept for other, kept in self._kept.items() if other != member})

    def _others(self) -> list[int]:
        """Give the members but that of the divergence, the one with most events first."""
        others = (member for member in self._kept if member != self._target.member)
        return sorted(others, key=lambda member: -len(self._kept[member]))

    def _remove_idle(self) -> None:
        """Remove steps that change nothing: many at once, then fewer."""
        groups = self._idle_groups()
        size = len(groups)
        while size:
            start = 0
            while start < len(groups):
                chosen = set().union(*groups[start : start + size])
                kept = {
                    member: [place for place in places if (member, place) not in chosen]
                    for member, places in self._kept.items()
                }
                if self._try({member: places for member, places in kept.items() if places}):
                    del groups[start : start + size]
                else:
                    start += size
            size //= 2

    def _idle_groups(self) -> list[set[tuple[int, int]]]:
        """Give steps that change nothing, each with the receipts of what it sent."""
        idle: dict[tuple[int, int], Event] = {}
        receipts: dict[str, tuple[int, int]] = {}
        for member, places in self._kept.items():
            stream = self.streams[member]
            for place in places:
                if stream[place].input.id:
                    receipts[stream[place].input.id] = (member, place)
            for before, place in pairwise(places):
                if stream[before].state == stream[place].state:
                    idle[member, place] = stream[place]
        idle.pop((self._target.member, self._place), None)
        groups = []
        for name in idle:
            group, waiting = set[tuple[int, int]](), [name]
            while waiting:
                one = waiting.pop()
                group.add(one)
                if one in idle:
                    waiting += [
                        receipts[send.id] for send in idle[one].sends if send.id in receipts
                    ]
            if group <= idle.keys():
                groups.append(group)
        return groups

    # --- one candidate ----------------------------------------------------------------------------

    def _try(self, kept: Kept) -> bool:
        """Accept a candidate if it is smaller and diverges in the same way."""
        if _size(kept) >= _size(self._kept) or self._target.member not in kept:
            return False
        if self._place not in kept[self._target.member]:
            return False
        events = _events(self.streams, kept)
        found = decide(partial(check_events, self.run, events), self.lookup).runs[0].verdict
        self.checks += 1
        if not self._diverges_alike(found, kept, events):
            return False
        self._kept, self._last = kept, found.divergences[0]
        self.on_progress(_size(kept))
        return True

    def _diverges_alike(
        self, found: RunVerdict, kept: Kept, events: Mapping[int, Sequence[Event]]
    ) -> bool:
        if not found.divergences:
            return False
        first, target = found.divergences[0], self._target
        step = events[target.member][kept[target.member].index(self._place)].step
        if (first.kind, first.name, first.member, first.step) != (
            target.kind,
            target.name,
            target.member,
            step,
        ):
            return False
        known = {(fact.kind, fact.member_id) for fact in self.found.facts}
        for fact in found.facts:
            missing = fact.kind is FactKind.MISSING_STREAM and fact.member_id not in kept
            if not missing and (fact.kind, fact.member_id) not in known:
                return False
        return True


def _size(kept: Kept) -> int:
    return sum(map(len, kept.values()))


def _events(streams: Mapping[int, Sequence[Event]], kept: Kept) -> dict[int, list[Event]]:
    """Give the events of a candidate, numbered anew where steps between them were removed.

    Gaps of the run stay: a step without a predecessor gets none.
    """
    found = {}
    for member, places in kept.items():
        stream = streams[member]
        events: list[Event] = []
        shift = 0
        for number, place in enumerate(places):
            if number:
                for k in range(places[number - 1] + 1, place):
                    if stream[k].step == stream[k - 1].step + 1:
                        shift += 1
            event = stream[place]
            events.append(msgspec.structs.replace(event, step=event.step - shift))
        found[member] = events
    return found


def write_run(run: Run, events: Mapping[int, Sequence[Event]], folder: Path) -> None:
    """Write a run folder.

    Raises
    ------
    FileExistsError
        If there is one already.
    """
    folder.mkdir(parents=True)
    try:
        (folder / RUN_FILE).write_bytes(encode(run) + b"\n")
        for member, stream in events.items():
            # The events came from a reader, so that they need no check.
            with EventWriter(folder / f"member-{member}.ndjson", member) as writer:
                writer.write(stream)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

"""A run, opened: its events in an order of causes, windows of them, and the lines that show them.

Whether it conforms is found out in `canvass.browser.verdicts`; here nothing is checked. A run that
was not imported has no lines. The logs are not part of a run: they are looked for where the page
imported them from, else in the run's folder and beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.limits import LANE_EVENTS, bounded
from canvass.browser.tracks import Track, seconds_text, since_text
from canvass.cluster.messages import Message
from canvass.conformance.diagnose import LoadedRun, load
from canvass.lanes.model import Diagram
from canvass.lanes.of_run import RunLanes, state_changes
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.aeron_log.source import LogSource
from canvass.traces.arrow import sources_of
from canvass.traces.errors import Code, TraceError
from canvass.traces.layout import ACTION_NAMES, MEMBER_INDEX, STATE_ENUMS, STATE_INDEX
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import Run, Source
from canvass.traces.streams import StreamFile

PIECE_BYTES: Final = 1 << 18
MAX_LINES: Final = 8
"""Of one event: more are counted."""


class _Line(msgspec.Struct):
    step: int
    source: Source | None = None


class EventSources:
    """The sources of a run's events, by member and step.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Which run of it.
    logs
        Where the logs are that the run was imported from, if that is known.
    """

    def __init__(self, path: Path, run_id: str, logs: Path | None = None) -> None:
        found = _of_folder(path) if path.is_dir() else _of_data_set(path, run_id)
        self._sources = {(member, step): source for member, step, source in found}
        self._folders = (path, path.parent) if logs is None else (logs, logs.parent)

    def __bool__(self) -> bool:
        """Say whether the run was imported from logs."""
        return bool(self._sources)

    def of(self, member: int, step: int) -> Source | None:
        """Give the source of a step; None if no line shows it."""
        return self._sources.get((member, step))

    def lines(self, source: Source) -> tuple[str, ...]:
        """Give the lines themselves; none if the log is not found."""
        log = self._log(source.file)
        if log is None:
            return ()
        try:
            return tuple(_lines_of(log, source.lines[:MAX_LINES]))
        except AeronLogError:
            return ()

    def _log(self, name: str) -> Path | None:
        # A run may come from elsewhere: no other file than a log with a plain name is read.
        if Path(name).name != name or ".log" not in name:
            return None
        for folder in self._folders:
            found = folder / name
            if found.is_file() and not found.is_symlink():
                return found
        return None


def place_text(source: Source) -> str:
    """Write where a source is: the file without its packing, and the first and last line."""
    name = source.file.removesuffix(".gz").removesuffix(".zst")
    first, last = source.lines[0], source.lines[-1]
    return f"{name}:{first}" if first == last else f"{name}:{first}-{last}"


def _of_folder(path: Path) -> Iterator[tuple[int, int, Source]]:
    decoder = msgspec.json.Decoder(_Line)
    for member, stream in RunFolder(path).streams.items():
        with StreamFile(stream) as opened:
            rest = b""
            while piece := opened.read(PIECE_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if b'"source"' in line:
                        found = decoder.decode(line)
                        if found.source is not None and found.source.lines:
                            yield member, found.step, found.source


def _of_data_set(path: Path, run_id: str) -> Iterator[tuple[int, int, Source]]:
    with DatasetFile(path) as file:
        for number in file.groups_of(run_id):
            table = file.table(number)
            columns = (table.column(name).to_pylist() for name in ("run", "member", "step"))
            for run, member, step, source in zip(*columns, sources_of(table), strict=True):
                if run == run_id and source is not None and source.lines:
                    yield member, step, source


def _lines_of(log: Path, wanted: tuple[int, ...]) -> Iterator[str]:
    """Read some lines of a log, in ascending order."""
    number, rest, waiting = 0, b"", list(wanted)
    for piece in LogSource(log).pieces():
        *lines, rest = (rest + piece).split(b"\n")
        while waiting and waiting[0] <= number + len(lines):
            yield lines[waiting.pop(0) - number - 1].decode("utf-8", "replace")
        number += len(lines)
        if not waiting:
            return
    if waiting and waiting[0] == number + 1 and rest:
        yield rest.decode("utf-8", "replace")


_ELECTION: Final = STATE_ENUMS["election_state"]
_CLOSED: Final = [state.value for state in _ELECTION].index("CLOSED")
ROUTINE: Final = (
    "RecordLog",
    "AppendEntry",
    "UpdateLeaderPosition",
    "UpdateFollowerPosition",
    "OnAppendPosition",
    "OnCommitPosition",
)
"""What members do all the time while nobody is elected."""
_ROUTINE: Final = [ACTION_NAMES.index(name) for name in ROUTINE]
_KEPT: Final = [place for name, place in STATE_INDEX.items() if not name.endswith("position")]
_KEPT_OF_MEMBER: Final = [
    place for name, place in MEMBER_INDEX.items() if not name.endswith("position")
]
"""What distinguishes steps of one action: all of the state but positions."""
FOLDS: Final = ("alike", "events")
"""Fewer events: one for several of a member that are alike; or no routine at all."""


class When(NamedTuple):
    """When an event happened, and what shows it; as texts for the page."""

    time: str
    since: str
    place: str
    origin: str


class Shown(NamedTuple):
    """Which events of a run are drawn.

    Parameters
    ----------
    places
        Their places in the causal order.
    owner
        For each event the number of the drawn one that stands for it.
    last
        For each drawn event the place of the last event that it stands for.
    """

    places: NDArray[np.int64]
    owner: NDArray[np.int64]
    last: NDArray[np.int64]


class OpenRun:
    """One run of a folder or of a data set, read whole.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Which run of it.
    logs
        Where the logs are that the run was imported from, if that is known.

    Raises
    ------
    TraceError
        If it is no trace.
    KeyError
        If it has no events.
    """

    def __init__(self, path: Path, run_id: str, logs: Path | None = None) -> None:
        self.path = path
        self.loaded: LoadedRun = load(path, run_id)
        self.lanes = RunLanes(self.loaded.columns)
        rows = np.array(self.lanes.rows, dtype=np.int64)
        member = self.loaded.columns.member[rows]
        self.places: list[NDArray[np.int64]] = [
            np.flatnonzero(member == k) for k in range(self.run.member_count)
        ]
        self.member_rows = [rows[places] for places in self.places]
        try:
            closings = self.run.closings()
        except msgspec.ValidationError as fault:
            raise TraceError(Code.BAD_VALUE, str(path), 0, 0, str(fault)) from None
        several = zip(self.member_rows, self.places, strict=True)
        self.tracks = [
            Track(self.loaded.columns, its_rows, places, len(rows), closings.get(k, ()))
            for k, (its_rows, places) in enumerate(several)
        ]
        self._logs = logs
        self._sources: EventSources | None = None
        self._shown_before: dict[tuple[str, frozenset[int]], Shown] = {}

    @property
    def run(self) -> Run:
        """What ``run.json`` says."""
        return self.loaded.run

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self.lanes.rows)

    def members(self) -> tuple[api.MemberInfo, ...]:
        """Say how far each member went."""
        steps = self.loaded.columns.step
        return tuple(
            api.MemberInfo(
                id=member,
                steps=int(steps[self.lanes.rows[int(places[-1])]]) + 1 if len(places) else 0,
                events=len(places),
            )
            for member, places in enumerate(self.places)
        )

    def number_of(self, member: int, step: int) -> int | None:
        """Give the place of a step in the order of causes."""
        row = self.lanes.row_of(member, step)
        return None if row is None else self.lanes.place[row]

    def members_at(self, number: int) -> api.MembersAt:
        """Say where each member is after an event."""
        steps = self.loaded.columns.step
        found = [
            track.at(member, number, steps[rows])
            for member, (track, rows) in enumerate(zip(self.tracks, self.member_rows, strict=True))
        ]
        return api.MembersAt(at=number, total=self.total, members=tuple(found))

    def last_row(self, member: int, number: int) -> int | None:
        """Give the row of a member's last event up to a place in the causal order."""
        k = int(np.searchsorted(self.places[member], number, side="right")) - 1
        return None if k < 0 else int(self.member_rows[member][k])

    def window(
        self,
        count: int,
        marks: dict[int, str],
        *,
        show: str = "",
        start: int | None = None,
        around: int | None = None,
    ) -> api.Lanes:
        """Draw some events.

        Parameters
        ----------
        count
            How many, at most.
        marks
            What is wrong, by rows.
        show
            Which events: empty for all, else one of `FOLDS`.
        start
            The first event to draw, counted among the drawn ones.
        around
            A place among all events. The answer names the drawn event that stands for it. Without
            ``start``, half of the events come before that one.
        """
        shown = self._shown(show, frozenset(marks))
        chosen = -1 if around is None or not self.total else int(shown.owner[around])
        first = max(0, chosen - count // 2) if start is None else min(start, len(shown.places))
        places = shown.places[first : first + min(count, LANE_EVENTS)].tolist()
        rows = [self.lanes.rows[place] for place in places]
        drawn = lanes_of(self.lanes.diagram(rows, marks=marks), first, len(shown.places))
        state = self.loaded.columns.state[rows, STATE_INDEX["election_state"]].tolist()
        events = tuple(
            msgspec.structs.replace(
                event,
                election_state=_ELECTION[code].value,
                event=place,
                alike=self._alike(place, shown) if show else "",
                **self.when(row)._asdict(),
            )
            for event, code, row, place in zip(drawn.events, state, rows, places, strict=True)
        )
        # The diagram counts what is around its own events; of none, everything would come after.
        return msgspec.structs.replace(
            drawn,
            events=events,
            before=first,
            after=len(shown.places) - first - len(rows),
            chosen=chosen,
            hidden=self.total - len(shown.places),
        )

    def _shown(self, show: str, marked: frozenset[int]) -> Shown:
        """Choose the events to draw; an event with a mark is always among them."""
        if (show, marked) not in self._shown_before:
            self._shown_before[show, marked] = self._choose(show, marked)
        return self._shown_before[show, marked]

    def _choose(self, show: str, marked: frozenset[int]) -> Shown:
        every = np.arange(self.total)
        if not show:
            return Shown(every, every, every)
        columns = self.loaded.columns
        rows = np.array(self.lanes.rows, dtype=np.int64)
        state = columns.state[rows, STATE_INDEX["election_state"]]
        routine = np.isin(columns.action[rows], _ROUTINE) & (state == _CLOSED)
        keep = np.isin(rows, list(marked))
        if show == "events":
            places = np.flatnonzero(~routine | keep)
            owner = np.maximum(0, np.searchsorted(places, every, side="right") - 1)
            return Shown(places, owner, every)
        kind = np.where(routine, -1, columns.action[rows].astype(np.int64))
        leader, last = every.copy(), every.copy()
        for own in self.places:
            begins = np.diff(kind[own], prepend=-2) != 0
            begins[1:] |= self._distinct(rows[own]) & (kind[own[1:]] >= 0)
            begins |= np.diff(state[own], prepend=-1) != 0
            begins |= keep[own] | np.concatenate([[False], keep[own][:-1]])
            first = np.flatnonzero(begins)
            sizes = np.diff(first, append=len(own))
            leader[own] = np.repeat(own[first], sizes)
            last[own[first]] = own[first + sizes - 1]
        places = np.flatnonzero(leader == every)
        return Shown(places, np.searchsorted(places, leader), last)

    def _distinct(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each row but the first whether more than positions differ from the row before."""
        columns = self.loaded.columns
        before, after = rows[:-1], rows[1:]
        lengths = np.diff(columns.log_offsets)
        found: NDArray[np.bool_] = lengths[after] != lengths[before]
        # One field after the other: all fields of a long run at once take hundreds of megabytes.
        for field in _KEPT:
            found |= columns.state[after, field] != columns.state[before, field]
        for field in _KEPT_OF_MEMBER:
            records = columns.members[:, :, field]
            found |= (records[after] != records[before]).any(axis=1)
        return found

    def _alike(self, place: int, shown: Shown) -> str:
        """Say how many events of the member an event stands for besides itself."""
        member = int(self.loaded.columns.member[self.lanes.rows[place]])
        own, last = self.places[member], int(shown.last[place])
        first, end = np.searchsorted(own, [place, last]).tolist()
        if first == end:
            return ""
        rows = self.member_rows[member]
        actions = np.unique(self.loaded.columns.action[rows[first : end + 1]]).tolist()
        among = "alike" if len(actions) == 1 else f"more of {len(actions)} routine actions"
        return f"{end - first:,} {among}, until {self.when(int(rows[end])).time}"

    @property
    def sources(self) -> EventSources:
        """The lines of logs that the events account for."""
        if self._sources is None:
            self._sources = EventSources(self.path, self.run.run_id, self._logs)
        return self._sources

    def when(self, row: int) -> When:
        """Say when an event happened, and what shows it."""
        columns = self.loaded.columns
        time, before = int(columns.time_ns[row]), int(columns.predecessor[row])
        since = "" if before < 0 else since_text(time - int(columns.time_ns[before]))
        if not self.sources:
            return When(seconds_text(time), since, "", "")
        source = self.sources.of(int(columns.member[row]), int(columns.step[row]))
        if source is None:
            return When(seconds_text(time), since, "", "INFERRED")
        return When(seconds_text(time), since, place_text(source), "OBSERVED")

    def _source(self, row: int) -> api.SourceLine | None:
        columns = self.loaded.columns
        source = self.sources.of(int(columns.member[row]), int(columns.step[row]))
        if source is None:
            return None
        lines = self.sources.lines(source)
        return api.SourceLine(
            place=place_text(source),
            lines=lines,
            left_out=len(source.lines) - len(lines) if lines else 0,
            observed=source.observed,
            reason=source.reason,
        )

    def step(self, row: int, divergence: str) -> api.StepView:
        """Give everything of one step but where it lies in a graph."""
        columns = self.loaded.columns
        event = columns.event(row)
        before = None
        if int(self.loaded.states.before[row]) >= 0:
            before = self.loaded.step(row).before
        changes = () if before is None else state_changes(before, event.state)
        when = self.when(row)
        return api.StepView(
            member=int(columns.member[row]),
            step=event.step,
            event_number=self.lanes.place[row],
            action=ACTION_NAMES[int(columns.action[row])],
            time=when.time,
            since=when.since,
            origin=when.origin,
            source=self._source(row),
            input=tree_of(event.input),
            sends=tree_of(event.sends),
            before=None if before is None else tree_of(before),
            after=tree_of(event.state),
            changes=changes,
            graph=None,
            graph_pending=False,
            divergence=divergence,
        )


def tree_of(value: Any) -> Any:
    """Give a part of a trace as a tree of plain JSON values; messages have their types."""
    if isinstance(value, Message):
        return {"type": type(value).__name__, **bounded(msgspec.to_builtins(value))}
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {one.encode_name: tree_of(getattr(value, one.name)) for one in fields}
    if isinstance(value, tuple):
        return [tree_of(one) for one in value]
    return bounded(msgspec.to_builtins(value))


def lanes_of(diagram: Diagram, start: int, total: int) -> api.Lanes:
    """Give a diagram in the form of the page; its events have the numbers from ``start`` on."""
    return api.Lanes(
        lanes=diagram.lanes,
        events=tuple(
            api.LaneEvent(number=number, **msgspec.structs.asdict(event))
            for number, event in enumerate(diagram.events, start)
        ),
        messages=diagram.messages,
        before=diagram.before,
        after=diagram.after,
        total=total,
    )

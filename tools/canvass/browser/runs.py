"""An opened run: its events in a causal order, windows of them, and the log lines that show them.

`canvass.browser.verdicts` checks the run. Only a run that was imported has log lines. The logs are
not part of the run: they are read from the folder from which the page imported them, else from the
run's folder or the folder around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.limits import bounded
from canvass.browser.memory import mapped
from canvass.browser.tracks import Track, bands_of, seconds_text, since_text, times_of
from canvass.cluster.messages import Message
from canvass.conformance.diagnose import RunColumns, load
from canvass.lanes.model import MARKED, Diagram, Mark
from canvass.lanes.of_run import RunLanes, state_changes
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.aeron_log.source import LogSource
from canvass.traces.errors import Code, TraceError
from canvass.traces.layout import ACTION_NAMES, MEMBER_INDEX, STATE_ENUMS, STATE_INDEX
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import Run, Source
from canvass.traces.streams import StreamFile

PIECE_BYTES: Final = 1 << 18
MAX_LINES: Final = 8
"""Most lines of one event in an answer; further lines are counted."""


class _Line(msgspec.Struct):
    step: int
    source: Source | None = None


class EventSources:
    """The log lines of a run's events, by member and step.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Id of the run.
    logs
        Folder of the logs from which the run was imported; None if unknown.
    """

    def __init__(self, path: Path, run_id: str, logs: Path | None = None) -> None:
        found = _of_folder(path) if path.is_dir() else _of_data_set(path, run_id)
        self._sources = {(member, step): source for member, step, source in found}
        self._given = logs is not None
        self._folders = (path, path.parent) if logs is None else (logs, logs.parent)

    def __bool__(self) -> bool:
        """Tell whether the run was imported from logs."""
        return bool(self._sources)

    def of(self, member: int, step: int) -> Source | None:
        """Give the file and lines of a step; None if no line shows the step."""
        return self._sources.get((member, step))

    def lines(self, source: Source) -> tuple[str, ...]:
        """Read the first `MAX_LINES` lines; none if the log is not found or damaged."""
        log = self._log(source.file)
        if log is None:
            return ()
        try:
            return tuple(_lines_of(log, source.lines[:MAX_LINES]))
        except AeronLogError:
            return ()

    def _log(self, name: str) -> Path | None:
        # The run may come from somebody else, so only a log with a plain name is read, and no other
        # file. The user has named the folder ``logs``: links in it are followed, as by the import.
        if Path(name).name != name or ".log" not in name:
            return None
        for folder in self._folders:
            found = folder / name
            if found.is_file() and (self._given or not found.is_symlink()):
                return found
        return None


def place_text(source: Source) -> str:
    """Write file and line numbers of a source, such as ``member-0.log:14-16``."""
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
        for table in file.tables([run_id]):
            columns = (table.column(name).to_pylist() for name in ("member", "step"))
            for member, step, source in zip(*columns, file.sources(table), strict=True):
                if source is not None and source.lines:
                    yield member, step, source


def _lines_of(log: Path, wanted: tuple[int, ...]) -> Iterator[str]:
    """Read lines of a log by their numbers, which ascend."""
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
"""Actions that members take again and again between elections."""
_ROUTINE: Final = [ACTION_NAMES.index(name) for name in ROUTINE]
_KEPT: Final = [place for name, place in STATE_INDEX.items() if not name.endswith("position")]
_KEPT_OF_MEMBER: Final = [
    place for name, place in MEMBER_INDEX.items() if not name.endswith("position")
]
"""The fields that decide whether two steps of one action are alike: all but positions."""
MAX_PARTS: Final = 5000
"""Most segments, and most marks: more would each be narrower than a pixel."""
FOLDS: Final = ("alike", "events")
"""Ways to draw fewer events: one box for similar steps in a row, or no routine steps."""


class When(NamedTuple):
    """Time and log lines of an event, as texts for the page."""

    time: str
    since: str
    place: str
    origin: str


class Shown(NamedTuple):
    """The drawn events of a run.

    Parameters
    ----------
    places
        Their places in the causal order.
    owner
        For each event, the number of the drawn event that stands for it.
    last
        For the place of a drawn event, the place of the last event that its box stands for.
    """

    places: NDArray[np.int64]
    owner: NDArray[np.int64]
    last: NDArray[np.int64]


class OpenRun:
    """A run of a folder or of a data set, with all its events, which `mapped` keeps.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Id of the run.
    logs
        Folder of the logs from which the run was imported; None if unknown.

    Raises
    ------
    TraceError
        If the input is not a trace.
    KeyError
        If the run has no events.
    """

    def __init__(self, path: Path, run_id: str, logs: Path | None = None) -> None:
        self.path = path
        self.loaded: RunColumns = mapped(lambda: load(path, run_id))
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
        """The run's header, ``run.json``."""
        return self.loaded.run

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self.lanes.rows)

    def number_of(self, member: int, step: int) -> int | None:
        """Give the place of a step in the causal order; None without that step."""
        row = self.lanes.row_of(member, step)
        return None if row is None else self.lanes.place[row]

    def members_at(self, number: int) -> api.MembersAt:
        """Give the state of each member after the event at a place."""
        steps = self.loaded.columns.step
        found = [
            track.at(member, number, steps[rows])
            for member, (track, rows) in enumerate(zip(self.tracks, self.member_rows, strict=True))
        ]
        return api.MembersAt(tuple(found))

    def window(
        self,
        count: int,
        marks: dict[int, str],
        *,
        show: str = "",
        start: int | None = None,
        around: int | None = None,
        part: range | None = None,
    ) -> api.Lanes:
        """Draw a window of the events.

        Parameters
        ----------
        count
            The most events to draw.
        marks
            Names of divergences, by rows.
        show
            Empty to draw all events, else one of `FOLDS`.
        start
            The first event to draw, counted among the drawn ones.
        around
            A place among all events. The answer names the drawn event that stands for it. Without
            ``start``, half of the window comes before that event.
        part
            Places to which the drawing is limited; ``around`` must be one of them. None for all
            places. Each member's first event in a part has its own box.
        """
        part = range(self.total) if part is None else part
        shown = self._shown(show, frozenset(marks).union(*self._first_rows(part.start)))
        low, high = np.searchsorted(shown.places, (part.start, part.stop)).tolist()
        drawable = shown.places[low:high]
        chosen = -1 if around is None or not part else int(shown.owner[around]) - low
        first = max(0, chosen - count // 2) if start is None else min(start, len(drawable))
        places = drawable[first : first + count].tolist()
        rows = [self.lanes.rows[place] for place in places]
        drawn = lanes_of(self.lanes.diagram(rows, marks=marks), first, len(drawable))
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
        # The diagram counts the events before and after those that it shows; if it shows none, it
        # would count all events as later.
        return msgspec.structs.replace(
            drawn,
            events=events,
            before=first,
            after=len(drawable) - first - len(rows),
            chosen=chosen,
            hidden=len(part) - len(drawable),
        )

    def _first_rows(self, start: int) -> list[list[int]]:
        """Give each member's first row from place ``start`` on, if any; no rows for place 0."""
        several = zip(self.member_rows, self.places, strict=True) if start else ()
        return [rows[places >= start][:1].tolist() for rows, places in several]

    def _shown(self, show: str, marked: frozenset[int]) -> Shown:
        """Give the drawn events; they are chosen once for each ``show`` and set of marked rows."""
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
        """Tell for each row but the first whether a field besides positions has changed."""
        columns = self.loaded.columns
        before, after = rows[:-1], rows[1:]
        lengths = np.diff(columns.log_offsets)
        found: NDArray[np.bool_] = lengths[after] != lengths[before]
        # Field by field: all fields of a long run at once would take hundreds of megabytes.
        for field in _KEPT:
            found |= columns.state[after, field] != columns.state[before, field]
        for field in _KEPT_OF_MEMBER:
            records = columns.members[:, :, field]
            found |= (records[after] != records[before]).any(axis=1)
        return found

    def _alike(self, place: int, shown: Shown) -> str:
        """Describe the further events for which the box of an event stands."""
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
        """The log lines of the events, read at the first use."""
        if self._sources is None:
            self._sources = EventSources(self.path, self.run.run_id, self._logs)
        return self._sources

    def when(self, row: int) -> When:
        """Give time and log lines of an event."""
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
        """Give everything about a step except its place in a graph."""
        columns = self.loaded.columns
        event = columns.event(row)
        before = None
        if int(self.loaded.steps.before[row]) >= 0:
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
    """Make plain JSON values of a part of a trace; a message gets the field ``type``."""
    if isinstance(value, Message):
        return {"type": type(value).__name__, **bounded(msgspec.to_builtins(value))}
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {encoded: tree_of(getattr(value, name)) for encoded, name in names}
    if isinstance(value, tuple):
        return [tree_of(one) for one in value]
    return bounded(msgspec.to_builtins(value))


def lanes_of(diagram: Diagram, start: int, total: int) -> api.Lanes:
    """Convert a diagram for the page; its events get numbers from ``start`` on."""
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


def timeline_of(opened: OpenRun, wrong: Mapping[int, str]) -> api.RunTimeline:
    """Give election states, leaderships and marks of a run.

    ``wrong`` has the names of divergences, by rows.
    """
    rows = np.array(opened.lanes.rows, dtype=np.int64)
    members = [list(track.segments()) for track in opened.tracks]
    marks = list(_marks(opened, rows, wrong))
    left_out, kept = max(0, len(marks) - MAX_PARTS), []
    room = MAX_PARTS
    for member, segments in enumerate(members):
        kept.append(api.MemberTimeline(id=member, segments=tuple(segments[:room])))
        left_out += len(segments) - len(kept[-1].segments)
        room -= len(kept[-1].segments)
    return api.RunTimeline(
        total=opened.total,
        members=tuple(kept),
        marks=tuple(marks[:MAX_PARTS]),
        bands=bands_of(opened.tracks, opened.total),
        times=times_of(opened.loaded.columns, opened.lanes.rows),
        levels=tuple(track.levels(member) for member, track in enumerate(opened.tracks)),
        left_out=left_out,
    )


def _marks(
    opened: OpenRun, rows: NDArray[np.int64], wrong: Mapping[int, str]
) -> Iterator[api.TimelineMark]:
    columns = opened.loaded.columns
    action = columns.action[rows]
    codes = [ACTION_NAMES.index(name) for name in MARKED]
    marked = np.isin(action, codes)
    gap = (columns.predecessor[rows] < 0) & (columns.step[rows] > 0)
    first = (columns.step[rows] == 0) & (action == ACTION_NAMES.index("Restart"))
    is_wrong = np.isin(rows, np.array(list(wrong), dtype=np.int64))
    for place in np.flatnonzero((marked & ~first) | gap | is_wrong).tolist():
        row = int(rows[place])
        if row in wrong:
            kind, text = Mark.DIVERGES, wrong[row]
        elif gap[place]:
            kind, text = Mark.GAP, f"steps before {int(columns.step[row])} are missing"
        else:
            kind, text = MARKED[ACTION_NAMES[int(columns.action[row])]]
        yield api.TimelineMark(place, int(columns.member[row]), kind.value, text)

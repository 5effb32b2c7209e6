"""An opened run: its events in a causal order, windows of them, its members, and its log lines.

The track of a member has its election states, leaderships, and times when it was down. A member
leads while its role is leader and its election is closed. It is down between its last event and the
restart that follows. Arrays hold all events; only changes become objects, up to a limit.

Only a run that was imported has log lines. The logs are not part of the run: they are read from the
folder from which the page imported them, else from the run's folder or the folder around it.
`canvass.browser.verdicts` checks the run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.memory import mapped
from canvass.browser.questions import bounded
from canvass.cluster.messages import Message
from canvass.conformance.diagnose import RunColumns, load
from canvass.explanation.timeline import shown_ns
from canvass.lanes.diagram import MARKED, Diagram, Mark
from canvass.lanes.drawing import RunLanes, state_changes
from canvass.traces.aeron_log.source import AeronLogError, LogSource
from canvass.traces.columns import EventColumns
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import ACTION_NAMES, MEMBER_INDEX, STATE_ENUMS, STATE_INDEX, Run, Source
from canvass.traces.streams import StreamFile

DOWN: Final = "DOWN"
ENDED: Final = "ENDED"
_MAX_TIMES: Final = 600
"""Most samples of the clock: an axis has no room for more."""
_LEAST_SPAN_NS: Final = 1_000_000
_MAX_BANDS: Final = 1000
_MAX_LEVELS: Final = 1000
"""Most changes of a member's levels: more would each be narrower than a pixel."""
_LEVELS: Final = [
    STATE_INDEX[name]
    for name in ("module_leadership_term_id", "commit_position", "recorded_position")
]
_QUIET_EVENTS: Final = 20
"""A member is shown as ended if none of this many last events of the run is one of its events."""
_ELECTION: Final = STATE_ENUMS["election_state"]
_ROLE: Final = STATE_ENUMS["role"]
_CLOSED: Final = [state.value for state in _ELECTION].index("CLOSED")
_LEADER: Final = [role.value for role in _ROLE].index("LEADER")
_RESTART: Final = ACTION_NAMES.index("Restart")
_TERMINATE: Final = ACTION_NAMES.index("Terminate")


class _Track:
    """The events of one member.

    Parameters
    ----------
    member
        Id of the member.
    columns
        All events of the run.
    rows
        Rows of the member's events, in their order.
    places
        Their places in the causal order.
    total
        The number of events of the run.
    closings
        Times at which the member closed without a step that records it.
    """

    def __init__(
        self,
        member: int,
        columns: EventColumns,
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
        total: int,
        closings: Sequence[int],
    ) -> None:
        self._member, self._columns, self._rows, self._total = member, columns, rows, total
        self._closed = sorted(closings)
        self.places = places
        self.state = columns.state[rows, STATE_INDEX["election_state"]]
        self.role = columns.state[rows, STATE_INDEX["role"]]
        self._levels = columns.state[rows][:, _LEVELS]
        self._time = columns.time_ns[rows]
        self._restart = columns.action[rows] == _RESTART
        term = self._levels[:, 0]
        self.leads = np.where((self.state == _CLOSED) & (self.role == _LEADER), term, -1)
        """The term that the member leads after each event, -1 if it leads none."""
        ended = len(rows) > 0 and columns.action[rows[-1]] == _TERMINATE
        quiet = len(rows) > 0 and total - int(places[-1]) > _QUIET_EVENTS
        self._ends = ended or quiet

    def at(self, number: int) -> api.MemberAt:
        """Give the member's state after the event at place ``number``."""
        k = int(np.searchsorted(self.places, number, side="right")) - 1
        if k < 0:
            return api.MemberAt(self._member, "", "", step=-1, status="", leads=None)
        status = self._status_after(k) if number > int(self.places[k]) else ""
        return api.MemberAt(
            member=self._member,
            election_state=_ELECTION[int(self.state[k])].value,
            role=_ROLE[int(self.role[k])].value,
            step=int(self._columns.step[self._rows[k]]),
            status=status,
            leads=None if status or self.leads[k] < 0 else int(self.leads[k]),
        )

    def _status_after(self, k: int) -> str:
        """Give the member's status between its event ``k`` and its next event."""
        if k + 1 == len(self.places):
            return ENDED if self._ends else ""
        return DOWN if self._restart[k + 1] else ""

    def segments(self) -> Iterator[api.Segment]:
        """Give the segments in which election state and role are equal, or the member is down."""
        if not len(self.places) or self.places[0]:
            yield api.Segment(start=0, election_state="")
        code = self.state * len(_ROLE) + self.role
        changed = np.diff(code, prepend=-1) != 0
        for k in np.flatnonzero(changed | self._restart).tolist():
            if k and self._restart[k]:
                yield api.Segment(start=int(self.places[k - 1]) + 1, election_state="", status=DOWN)
            yield api.Segment(
                start=int(self.places[k]),
                election_state=_ELECTION[int(self.state[k])].value,
                role=_ROLE[int(self.role[k])].value,
            )
        if self._ends:
            yield api.Segment(start=int(self.places[-1]) + 1, election_state="", status=ENDED)

    def levels(self) -> api.MemberLevels:
        """Give the changes of the member's term, commit position and end of the log."""
        changes = np.flatnonzero((np.diff(self._levels, axis=0, prepend=-2) != 0).any(axis=1))
        kept = changes[:: -(-len(changes) // _MAX_LEVELS) or 1]
        columns = map(tuple, [self.places[kept].tolist(), *self._levels[kept].T.tolist()])
        return api.MemberLevels(self._member, *columns)

    def bands(self) -> Iterator[api.LeaderBand]:
        """Give the member's leaderships."""
        edges = np.flatnonzero((np.diff(self.leads, prepend=-1) != 0) | self._restart).tolist()
        for start, end in zip(edges, [*edges[1:], len(self.leads)], strict=True):
            if self.leads[start] < 0:
                continue
            last = end - 1
            goes_on = end < len(self.leads) and not self._restart[end]
            stop = int(self.places[end]) if goes_on else int(self.places[last]) + 1
            if end == len(self.leads) and not self._ends:
                stop = self._total
            began = self._election_start(start)
            until = self._time[end] if goes_on else self._closed_after(last)
            yield api.LeaderBand(
                member=self._member,
                term=int(self.leads[start]),
                start=int(self.places[start]),
                end=stop,
                lasted=shown_ns(int(until - self._time[start])),
                election_start=int(self.places[began]),
                election=shown_ns(int(self._time[start] - self._time[began])),
            )

    def _closed_after(self, k: int) -> int:
        """Give the time at which the member closed between its event ``k`` and the next event.

        Without a closing, that is the time of event ``k``.
        """
        began = int(self._time[k])
        at = bisect_left(self._closed, began)
        if at == len(self._closed) or (
            k + 1 < len(self._time) and self._closed[at] > int(self._time[k + 1])
        ):
            return began
        return self._closed[at]

    def _election_start(self, k: int) -> int:
        """Give the first event of the election that event ``k`` closed."""
        before = np.flatnonzero((self.state[:k] == _CLOSED) | self._restart[1 : k + 1])
        first = int(before[-1]) + 1 if len(before) else 0
        return min(first, k)


def _bands_of(tracks: list[_Track]) -> tuple[api.LeaderBand, ...]:
    """List the first `_MAX_BANDS` leaderships, ordered by their beginnings."""
    found = [band for one in tracks for band in one.bands()]
    return tuple(sorted(found, key=lambda band: (band.start, band.member))[:_MAX_BANDS])


def _times_of(columns: EventColumns, rows: list[int]) -> tuple[api.TimeMark, ...]:
    """Sample the clocks evenly over the causal order; nothing if the clock is only a counter."""
    if not len(columns) or int(np.ptp(columns.time_ns)) < _LEAST_SPAN_NS:
        return ()  # The clock is only a counter.
    count = min(len(rows), _MAX_TIMES)
    numbers = sorted({round(k * (len(rows) - 1) / max(1, count - 1)) for k in range(count)})
    times = columns.time_ns[[rows[number] for number in numbers]].tolist() if numbers else []
    return tuple(map(api.TimeMark, numbers, map(seconds_text, times)))


def seconds_text(time_ns: int) -> str:
    """Write a time, such as ``12.345 s``."""
    ms = time_ns // 1_000_000
    return f"{'-' if ms < 0 else ''}{abs(ms) // 1000}.{abs(ms) % 1000:03d} s"


def _since_text(duration_ns: int) -> str:
    """Write a difference of times, such as ``+1.2 ms``."""
    if abs(duration_ns) < 50_000:
        return "+0 ms"
    return f"{'-' if duration_ns < 0 else '+'}{shown_ns(abs(duration_ns))}"


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


def _place_text(source: Source) -> str:
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


_ROUTINE: Final = [
    ACTION_NAMES.index(name)
    for name in (
        "RecordLog",
        "AppendEntry",
        "UpdateLeaderPosition",
        "UpdateFollowerPosition",
        "OnAppendPosition",
        "OnCommitPosition",
    )
]
"""Actions that members take again and again between elections."""
_KEPT: Final = [place for name, place in STATE_INDEX.items() if not name.endswith("position")]
_KEPT_OF_MEMBER: Final = [
    place for name, place in MEMBER_INDEX.items() if not name.endswith("position")
]
"""The fields that decide whether two steps of one action are alike: all but positions."""
MAX_PARTS: Final = 5000
"""Most segments, and most marks: more would each be narrower than a pixel."""
Fold = Literal["", "alike", "events"]
"""Which events to draw: all; one box for similar steps in a row; no routine steps."""


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
            closed = self.run.closings().items()
            closings = {k: [one.time_ns for one in several] for k, several in closed}
        except msgspec.ValidationError as fault:
            raise TraceError(Code.BAD_VALUE, str(path), 0, 0, str(fault)) from None
        several = zip(self.member_rows, self.places, strict=True)
        self.tracks = [
            _Track(k, self.loaded.columns, its_rows, places, len(rows), closings.get(k, ()))
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
        return api.MembersAt(tuple(track.at(number) for track in self.tracks))

    def window(
        self,
        count: int,
        marks: dict[int, str],
        *,
        show: Fold = "",
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
            Which events to draw.
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
        several = zip(self.member_rows, self.places, strict=True) if part.start else ()
        firsts = (rows[places >= part.start][:1].tolist() for rows, places in several)
        shown = self._shown(show, frozenset(marks).union(*firsts))
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
        since = "" if before < 0 else _since_text(time - int(columns.time_ns[before]))
        if not self.sources:
            return When(seconds_text(time), since, "", "")
        source = self.sources.of(int(columns.member[row]), int(columns.step[row]))
        if source is None:
            return When(seconds_text(time), since, "", "INFERRED")
        return When(seconds_text(time), since, _place_text(source), "OBSERVED")

    def _source(self, row: int) -> api.SourceLine | None:
        columns = self.loaded.columns
        source = self.sources.of(int(columns.member[row]), int(columns.step[row]))
        if source is None:
            return None
        lines = self.sources.lines(source)
        return api.SourceLine(
            place=_place_text(source),
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
        bands=_bands_of(opened.tracks),
        times=_times_of(opened.loaded.columns, opened.lanes.rows),
        levels=tuple(track.levels() for track in opened.tracks),
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

"""Runs that are split between tasks: each task screens its part, and one task joins the parts.

A step is checked alone, with the state before it. So a part needs only the one event before it.
Checks of whole runs need few fields of each event (`canvass.conformance.sequence`); these are
stored and joined. The same functions check a split run and a whole run, with the same verdict.

The file of a part holds a `PartOfRun` and the sequence of its events as compressed columns. The
join reads a column when a check needs it, so that memory does not grow with the length of the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from itertools import count
from math import prod
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.conformance.batch import Batch, join, rows_of_run
from canvass.conformance.diagnose import divergences_of, has_changed, known_codes, wrong_rows
from canvass.conformance.long_arrays import long_array
from canvass.conformance.screen import RunState, Screening, check_whole, with_limits
from canvass.conformance.sequence import Sequence as RunSequence
from canvass.conformance.sequence import Spans, wide
from canvass.conformance.step_checker import StepChecker, step_at
from canvass.conformance.step_lookup import REFUSED, UNKNOWN, StepLookup
from canvass.conformance.verdict import Divergence, RunVerdict, Verdict, verdict_on
from canvass.corpus.plan import Part, Unit, UnitKind, on_this_machine
from canvass.corpus.rows import key_of
from canvass.corpus.split import RangeReader
from canvass.corpus.storage import Place, writing
from canvass.steps.step import Step
from canvass.traces.columns import Ints
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import MAX_GAPS
from canvass.traces.parquet import DatasetFile, FactFinder, StreamOrder, streams_of_rows
from canvass.traces.run import RunFolder
from canvass.traces.schema import Fact, FactKind, Run

_CODEC: Final = "lz4"
_RUN: Final = "run"
"""The field that is not stored: all events of a part belong to the same run."""
_HELD: Final = "member"
"""The field that is kept in memory: nearly every check reads it."""
_STEP: Final = "step"
"""The field that is widened to 64 bits, as callers add to step numbers."""
_CHECKSUMS: Final = "checksums"
_LENGTH_BYTES: Final = 8


class _Column(Struct, frozen=True, array_like=True):
    kind: str
    shape: tuple[int, ...]
    start: int
    """Its offset in bytes from the end of the head."""
    size: int


class PartOfRun(Struct, frozen=True, kw_only=True):
    """The results of one part of a run, from the events of the part alone."""

    run_id: str
    malformed: str = ""
    """Why the run cannot be checked, such as unknown rules; empty if it can."""
    events: int = 0
    unchecked: int = 0
    wrong: bool = False
    """Whether a step is known to be forbidden."""
    pending: tuple[bytes, ...] = ()
    """Keys of the open steps."""
    facts: tuple[Fact, ...] = ()
    members: tuple[int, ...] = ()
    """Members that have events in the part."""
    lines: int = 0
    """Lines of the part, if it is a part of a stream."""
    actions: tuple[int, ...] = ()
    """Number of events by the code of their action."""


class _Head(Struct, frozen=True):
    part: PartOfRun
    columns: dict[str, _Column]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Head)
_STREAMS: Final = msgspec.msgpack.Decoder(list[tuple[str, int]])


def store(path: Place, part: PartOfRun, sequence: RunSequence | None) -> None:
    """Write a part; a reader finds the file whole or not at all."""
    codec = pa.Codec(_CODEC)
    columns: dict[str, _Column] = {}
    packed: list[bytes] = []
    start = 0
    for name, cells in () if sequence is None else _columns_of(sequence):
        packed.append(codec.compress(cells.tobytes(), asbytes=True))
        columns[name] = _Column(cells.dtype.str, cells.shape, start, len(packed[-1]))
        start += len(packed[-1])
    head = _ENCODER.encode(_Head(part, columns))
    with writing(path) as aside, aside.open("wb") as file:
        file.write(len(head).to_bytes(_LENGTH_BYTES, "big"))
        file.writelines([head, *packed])


def _columns_of(sequence: RunSequence) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield name and cells of each column; a field with two dimensions has several columns."""
    for name in (each.name for each in fields(RunSequence)):
        cells: NDArray[Any] = getattr(sequence, name)
        if name == _RUN:
            continue
        if cells.ndim == 1:
            yield name, cells if cells.dtype == np.bool_ else _narrow(cells)
            continue
        for place in range(cells.shape[1]):
            yield _name_of(name, place), _narrow(cells[:, place])


def _name_of(name: str, place: int | None) -> str:
    return name if place is None else f"{name}.{place}"


def _narrow(cells: Ints) -> NDArray[Any]:
    """Return whole numbers in the smallest type that holds them, which compresses faster."""
    if not cells.size:
        return cells
    low, high = int(cells.min()), int(cells.max())
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return cells.astype(kind)
    return cells


def stored_part(path: Place) -> PartOfRun:
    """Read a part without its events."""
    return _head(path)[0].part


def _head(path: Place) -> tuple[_Head, int]:
    """Read the head of a file; return it with the offset of the first column."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "big")
        return _DECODER.decode(file.read(length)), _LENGTH_BYTES + length


class StoredSequence(RunSequence):
    """The events of one run from the files of its parts; each column is read when it is used."""

    __slots__ = ("_count", "_held", "_parts")

    _count: int
    _held: dict[str, NDArray[Any]]
    _parts: list[tuple[Place, dict[str, _Column], int]]

    def __init__(self, paths: Iterable[Place]) -> None:
        # The fields of `RunSequence` stay unset, so that Python calls `__getattr__` for them.
        found = [(path, *_head(path)) for path in paths]
        parts = [(path, head.columns, base) for path, head, base in found if head.part.events]
        set_once = object.__setattr__
        set_once(self, "_count", sum(head.part.events for _, head, _ in found))
        set_once(self, "_held", {})
        set_once(self, "_parts", parts)

    def __len__(self) -> int:
        """Count the events."""
        return self._count

    def __getattr__(self, name: str) -> NDArray[Any]:
        """Read a field."""
        if name == _RUN:
            return np.zeros(self._count, dtype=np.int64)
        if name in self._parts[0][1]:
            return self.column(name)
        places = self._places_of(name)
        if not places:
            raise AttributeError(name)
        return np.column_stack([self.column(name, place).astype(np.int64) for place in places])

    def column(self, name: str, place: int | None = None, spans: Spans | None = None) -> Ints:
        """Read a field, or one column of it; only the rows of ``spans`` if given."""
        if spans is not None:
            return self._read(_name_of(name, place), spans)
        if name in self._held:
            return self._held[name]
        cells = self._read(_name_of(name, place), None)
        if name == _STEP:
            cells = wide(cells)
        if name == _HELD:
            self._held[name] = cells
        return cells

    def checksum_parts(self) -> Iterator[Ints]:
        """Yield the checksums of each part."""
        names = [_name_of(_CHECKSUMS, place) for place in self._places_of(_CHECKSUMS)]
        for path, columns, base in self._parts:
            read = [_unpacked(path, base, columns[name]).astype(np.int64) for name in names]
            yield np.column_stack(read)

    def _places_of(self, name: str) -> range:
        """Return the numbers of a field's columns."""
        columns = self._parts[0][1]
        return range(next(n for n in count() if _name_of(name, n) not in columns))

    def _read(self, name: str, spans: Spans | None) -> NDArray[Any]:
        """Concatenate a column of all parts, or the rows of ``spans``."""
        places = [columns[name] for _, columns, _ in self._parts]
        bounds = np.cumsum([0, *(place.shape[0] for place in places)]).tolist()
        if spans is None:
            spans = [(0, bounds[-1])]
        kind = np.result_type(*{np.dtype(place.kind) for place in places})
        cells = long_array(sum(end - first for first, end in spans), kind)
        starts = np.cumsum([0, *(end - first for first, end in spans)]).tolist()
        at = 0
        for (path, _, base), place, low, high in zip(
            self._parts, places, bounds, bounds[1:], strict=False
        ):
            read: NDArray[Any] | None = None
            while at < len(spans):
                first, end = max(spans[at][0], low), min(spans[at][1], high)
                if first < end:
                    read = _unpacked(path, base, place) if read is None else read
                    goal = starts[at] + first - spans[at][0]
                    cells[goal : goal + end - first] = read[first - low : end - low]
                if spans[at][1] > high:
                    break  # The next part has the rest of this span.
                at += 1
        return cells


def _unpacked(path: Place, base: int, column: _Column) -> NDArray[Any]:
    """Read a column of a part."""
    kind = np.dtype(column.kind)
    with path.open("rb") as file:
        file.seek(base + column.start)
        packed = file.read(column.size)
    size = prod(column.shape) * kind.itemsize
    unpacked = pa.Codec(_CODEC).decompress(packed, size)
    return np.frombuffer(unpacked, dtype=kind).reshape(column.shape)


def joined(paths: Iterable[Place]) -> RunSequence | None:
    """Return the sequence of all parts; None if there are no events."""
    sequence = StoredSequence(paths)
    return sequence if len(sequence) else None


def part_file(folder: Place, unit: Unit, number: int, run_id: str) -> Place:
    """Return the file of a part of a run."""
    name = hashlib.sha256(f"{unit.path}\0{run_id}".encode()).hexdigest()[:24]
    return folder / f"{name}-{number}.part"


def _streams_file(folder: Place, unit: Unit, number: int) -> Place:
    """Return the file that lists the streams with events in a part of a unit."""
    name = hashlib.sha256(unit.path.encode()).hexdigest()[:24]
    return folder / f"{name}-{number}.streams"


def store_streams(
    folder: Place, unit: Unit, number: int, streams: Sequence[tuple[str, int]]
) -> None:
    """Write run and member of the streams with events in a part of a unit."""
    _streams_file(folder, unit, number).write_bytes(_ENCODER.encode(streams))


# --- a part ---------------------------------------------------------------------------------------


@dataclass
class ScreenedPart:
    """The runs in a part of a unit."""

    whole: list[RunState] = field(default_factory=list)
    """Runs with all their events in this part; they are finished."""
    split: list[RunState] = field(default_factory=list)
    """Runs that may have events in other parts."""
    facts: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    """The facts of the split runs in this part, by run id."""
    lines: int = 0
    """Lines of the part, if it is a part of a stream."""
    streams: list[tuple[str, int]] = field(default_factory=list)
    """Run and member of each stream with events in this part, in order."""


def screen_part(unit: Unit, part: Part, screening: Screening) -> ScreenedPart:
    """Screen a part of a unit.

    Raises
    ------
    TraceError
        If the part is malformed. Only a reader of the whole unit can name the line.
    """
    found = _screen_stream if part.member >= 0 else _screen_rows
    return found(unit, part, screening)


def _screen_rows(unit: Unit, part: Part, screening: Screening) -> ScreenedPart:
    states: dict[str, RunState] = {}
    finder = FactFinder()
    split: set[str] = set()
    streams: list[tuple[str, int]] = []
    last = ""
    with DatasetFile(unit.location) as file:
        if part.first:
            split.add(file.last_run(part.first - 1))
        for columns in file.batches(range(part.first, part.end)):
            finder.look(columns)
            for run_id in columns.runs:
                if run_id not in states:
                    states[run_id] = _new_state(unit, file.runs[run_id].run)
            screening.take(states, columns)
            streams += streams_of_rows(columns)
            last = columns.runs[int(columns.run[-1])]
        if not part.last:
            split.add(last)
        seen = {run_id for run_id, _ in streams}
        split &= seen
        for run_id in seen - split:
            states[run_id].facts = tuple(finder.facts_of(file.runs[run_id]))
            screening.end(states[run_id])
    screening.flush()
    return ScreenedPart(
        whole=[states[run_id] for run_id in sorted(seen - split)],
        split=[states[run_id] for run_id in sorted(split)],
        facts={run: tuple(f for f in finder.facts if f.run_id == run) for run in split},
        streams=streams,
    )


def _new_state(unit: Unit, run: Run) -> RunState:
    state = RunState(unit.location, run.run_id, run)
    try:
        _ = run.rules
    except ValueError as error:
        state.malformed = str(error)
    return state


def _screen_stream(unit: Unit, part: Part, screening: Screening) -> ScreenedPart:
    folder = RunFolder(unit.location)
    state = _new_state(unit, folder.run)
    with closing(_range(folder, part)) as opened:
        for columns in opened.batches():
            screening.take({state.run_id: state}, columns)
    screening.flush()
    reader = opened.reader
    lines = reader.lines - opened.context
    folder.check_steps(part.member, lines)
    return ScreenedPart(
        split=[state],
        facts={state.run_id: tuple(_stream_facts(opened, state.run_id))},
        lines=lines,
        streams=[(state.run_id, part.member)],
    )


def _range(folder: RunFolder, part: Part) -> RangeReader:
    run = folder.run
    path = folder.streams[part.member]
    return RangeReader(path, part.first, part.end, run.run_id, part.member, run.member_count)


def _stream_facts(opened: RangeReader, run_id: str) -> Iterator[Fact]:
    """Yield what is missing from a part of a stream; its first line is line 1."""
    reader, member = opened.reader, opened.reader.member_id
    for gap in reader.gaps:
        line = gap.line - opened.context
        if not line:
            continue  # The gap before the context line belongs to another part.
        late = line == 1 and not opened.context
        kind = FactKind.LATE_START if late else FactKind.GAP
        yield Fact(kind, run_id, member, gap.step, line)
    truncated = reader.truncated
    if truncated is not None:
        line = truncated.line - opened.context
        yield Fact(FactKind.TRUNCATED, run_id, member, line=line, detail=truncated.reason)


def part_of_run(
    state: RunState, found: ScreenedPart, keys: Mapping[int, bytes]
) -> tuple[PartOfRun, RunSequence | None]:
    """Return the results and the sequence of a part of a run, to be stored."""
    parts, state.parts = state.parts, []
    sequence = RunSequence.joined(parts) if parts else None
    part = PartOfRun(
        run_id=state.run_id,
        malformed=state.malformed,
        events=state.events,
        unchecked=state.unchecked,
        wrong=state.wrong,
        pending=tuple(keys[number] for number in sorted(state.pending)),
        facts=found.facts[state.run_id],
        members=() if sequence is None else tuple(np.unique(sequence.member).tolist()),
        lines=found.lines,
        actions=tuple(state.actions.tolist()),
    )
    return part, sequence


# --- all parts ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JoinedRun:
    """The verdict on a split run, and how many events have each action."""

    run: Run
    verdict: RunVerdict
    actions: tuple[int, ...]


def join_parts(unit: Unit, folder: Place, lookup: StepLookup) -> JoinedRun:
    """Return the verdict on a run from its stored parts. The lookup knows all its steps.

    Raises
    ------
    TraceError
        If the run has changed since its parts were stored.
    TlcError
        If the explanation of a wrong step needs the oracle, and the oracle cannot run.
    """
    (run_id,) = unit.runs
    paths = [part_file(folder, unit, part.number, run_id) for part in unit.joined]
    parts = [stored_part(path) for path in paths]
    run, facts = _facts(unit, run_id, parts)
    actions = tuple(map(sum, zip(*(part.actions for part in parts), strict=True)))
    verdict = _verdict(unit, run, facts, parts, joined(paths), lookup)
    return JoinedRun(run, verdict, actions)


def _verdict(
    unit: Unit,
    run: Run,
    facts: tuple[Fact, ...],
    parts: Sequence[PartOfRun],
    sequence: RunSequence | None,
    lookup: StepLookup,
) -> RunVerdict:
    malformed = next((part.malformed for part in parts if part.malformed), "")
    if malformed:
        return RunVerdict(run.run_id, unit.path, Verdict.MALFORMED, reason=malformed)
    if sequence is None:
        reason = "the run has no events: nothing was checked"
        return RunVerdict(run.run_id, unit.path, Verdict.MALFORMED, facts=facts, reason=reason)
    whole = check_whole(run, sequence, facts)
    suspect = [
        part
        for part, found in zip(unit.joined, parts, strict=True)
        if found.wrong or _suspect(found, lookup)
    ]
    unchecked = sum(part.unchecked for part in parts)
    divergences: tuple[Divergence, ...] = ()
    diverges = any(part.wrong for part in parts)
    if suspect or whole.order.found.any() or whole.broken:
        steps = _wrong_steps(unit, run, suspect, sequence, lookup)
        wrong = np.array(sorted(steps), dtype=np.int64)
        divergences = divergences_of(run, sequence, whole, wrong, steps.__getitem__, lookup)
        diverges |= bool(divergences)
    if diverges and not divergences:
        raise has_changed(unit.path, run.run_id)
    verdict = RunVerdict(
        run_id=run.run_id,
        path=unit.path,
        verdict=verdict_on(diverges=diverges, facts=whole.facts, unchecked=unchecked),
        events=len(sequence),
        unchecked=unchecked,
        divergences=divergences,
        facts=whole.facts,
    )
    return with_limits(verdict, run)


def _suspect(part: PartOfRun, lookup: StepLookup) -> bool:
    """Tell whether an open step of a part is refused, or has no answer yet."""
    keys = np.array([key_of(key) for key in part.pending], dtype=np.uint64).reshape(-1, 2)
    codes = lookup.look_up(keys)
    return bool(((codes == REFUSED) | (codes == UNKNOWN)).any())


def _facts(unit: Unit, run_id: str, parts: Sequence[PartOfRun]) -> tuple[Run, tuple[Fact, ...]]:
    """Return a run and what is missing from it, as a reader of the whole run would."""
    if unit.joined[0].member < 0:
        finder = FactFinder()
        with DatasetFile(unit.location) as file:
            entry = file.runs[run_id]
        for part in parts:
            finder.take_over(run_id, part.members, part.facts)
        return entry.run, tuple(finder.facts_of(entry))
    folder = RunFolder(unit.location)
    facts = list(folder.facts)
    for member in folder.streams:
        facts += _facts_of_stream(
            folder.run,
            member,
            [p for place, p in zip(unit.joined, parts, strict=True) if place.member == member],
        )
    return folder.run, tuple(facts)


def _facts_of_stream(run: Run, member: int, parts: Sequence[PartOfRun]) -> list[Fact]:
    """Return the facts of a stream, with line numbers counted from its beginning."""
    run_id = run.run_id
    facts: list[Fact] = []
    before = 0
    for part in parts:
        for fact in part.facts:
            moved = Fact(fact.kind, run_id, member, fact.step, fact.line + before, fact.detail)
            if fact.kind is FactKind.TRUNCATED or len(facts) < MAX_GAPS:
                facts.append(moved)
        before += part.lines
    if not before and member not in run.without_steps:
        facts.append(Fact(FactKind.EMPTY_STREAM, run_id, member))
    return facts


def _wrong_steps(
    unit: Unit, run: Run, suspect: Sequence[Part], sequence: RunSequence, lookup: StepLookup
) -> dict[int, Step]:
    """Check parts with wrong steps again; return two steps of each member and action, by row."""
    starts = np.searchsorted(sequence.member, np.arange(run.member_count + 1))
    step = sequence.step
    taken: dict[tuple[int, int], int] = {}
    found: dict[int, Step] = {}
    for part in suspect:
        for batch in _batches(unit, run, part):
            checker = StepChecker()
            results = checker.check(batch)
            columns = batch.columns
            for row in wrong_rows(results, known_codes(checker, results, lookup)).tolist():
                member, action = int(columns.member[row]), int(columns.action[row])
                taken[member, action] = taken.get((member, action), 0) + 1
                if taken[member, action] <= 2:
                    steps = step[starts[member] : starts[member + 1]]
                    at = int(starts[member] + np.searchsorted(steps, columns.step[row]))
                    found[at] = step_at(columns, results.states, row)
    return found


def _batches(unit: Unit, run: Run, part: Part) -> Iterator[Batch]:
    """Yield the events of a run in a part."""
    kind = UnitKind.RUN if part.member >= 0 else UnitKind.FILE
    with on_this_machine([replace(unit, kind=kind, part=part, copy="")]) as (here,):
        if part.member >= 0:
            with closing(_range(RunFolder(here.location), part)) as opened:
                for columns in opened.batches():
                    yield join([({run.run_id: run}, columns)])
            return
        with DatasetFile(here.location) as file:
            for columns in file.batches(range(part.first, part.end)):
                for own in rows_of_run(columns, run.run_id):
                    yield join([({run.run_id: run}, own)])


def runs_without_events(unit: Unit, folder: Place) -> list[RunState]:
    """Return the runs of a file without an event in any of its parts.

    Raises
    ------
    TraceError
        If the streams are not in the order of runs and members.
    """
    order = StreamOrder()
    for part in unit.joined:
        data = _streams_file(folder, unit, part.number).read_bytes()
        if not order.keeps(_STREAMS.decode(data)):
            raise TraceError(Code.BAD_EVENT, unit.path, 0, 0, order.NOT_KEPT)
    states = []
    with DatasetFile(unit.location) as file:
        for run_id, entry in file.runs.items():
            if run_id not in order.runs:
                state = _new_state(unit, entry.run)
                state.facts = tuple(FactFinder().facts_of(entry))
                states.append(state)
    return states

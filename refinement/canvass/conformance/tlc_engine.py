"""The second engine: TLC searches for a behaviour of ``Cluster.tla`` that matches a run.

`check_with_tlc` gives whole runs to `TraceSpec.tla`, many in one run of TLC, and gives the same
verdicts as the first engine. It uses neither the canonical form nor state graphs, oracle, causality
or monitors, so that the engines can be compared; it shares the reader of traces, and the search for
streams that were cut short. It says where TLC's longest explanation of a run ends; the first engine
says more.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.conformance.check import verdict_of, with_cuts
from canvass.conformance.findings import (
    LOG_STREAM,
    MESSAGE_CAUSALITY,
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
)
from canvass.conformance.run_arrays import RESTART, RunArrays, rows_before, to_arrays
from canvass.conformance.verify import Unit, path_of
from canvass.steps.oracle import constants_of, printed_by, to_digits
from canvass.tlc.config import TlcConfig
from canvass.tlc.errors import TlcError
from canvass.tlc.results import Outcome
from canvass.tlc.runner import SHORT_RUN
from canvass.tlc.values import Value
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.errors import TraceError
from canvass.traces.parquet import RunEntry, read_runs
from canvass.traces.schema import (
    ACTION_NAMES,
    CHECKSUM_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    NONE,
    STATE_COLUMNS,
    Fact,
    NumberKind,
    Run,
    kind,
)


class EngineError(TlcError):
    """TLC gave no complete answer about a run; the message is one line."""


# --- runs, renumbered and written as strings of digits --------------------------------------------


TABLES: Final = (
    ("inputs", INPUT_COLUMNS),
    ("message", MESSAGE_COLUMNS),
    ("state", STATE_COLUMNS),
    ("members", MEMBER_COLUMNS),
    ("log", LOG_COLUMNS),
    ("sends", MESSAGE_COLUMNS),
    ("checksums", CHECKSUM_COLUMNS),
)


def places_of(columns: Sequence[str], wanted: NumberKind) -> list[int]:
    """Give the places of the columns of a kind."""
    return [place for place, name in enumerate(columns) if kind(name) is wanted]


def make_small(columns: EventColumns) -> EventColumns:
    """Replace positions by their ranks; numbers up to 0 stay.

    Then each entry of a log lies between two recorded positions. This changes no answer, because
    the spec compares and copies positions and never computes with them.
    """
    places = {name: places_of(names, NumberKind.POSITION) for name, names in TABLES}
    tables = {name: getattr(columns, name).copy() for name, _ in TABLES}
    cells = [tables[name][..., own].reshape(-1) for name, own in places.items()]
    known = np.unique(np.maximum(np.concatenate(cells), 0))
    for name, own in places.items():
        cell = tables[name][..., own]
        tables[name][..., own] = np.where(cell > 0, np.searchsorted(known, cell), cell)
    return with_changes(columns, **tables)


ORDINARY, AFTER_GAP, ABSURD = 0, 1, 2
NEVER_RECEIVED, NEVER_SENT = -1, -2
"""As in ``TraceSpec.tla``."""

_PEER, _ID = MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream of one member, for TLC and for reports."""

    steps: tuple[int, ...]
    actions: tuple[str, ...]
    texts: tuple[str, ...]
    """The events as ``TraceSpec.tla`` reads them."""


@dataclass(frozen=True, slots=True)
class TraceRun:
    """One run, ready for TLC."""

    run: Run
    path: Path
    facts: tuple[Fact, ...]
    whole: bool
    unchecked: int
    streams: tuple[Stream, ...]

    @property
    def events(self) -> int:
        """Count the events."""
        return sum(len(stream.steps) for stream in self.streams)


def prepare(entry: RunEntry, rows: EventColumns | None, path: Path) -> TraceRun:
    """Lay out a run for TLC."""
    run, facts = entry.run, entry.facts
    if rows is None:
        return TraceRun(run, path, facts, False, 0, (Stream((), (), ()),) * run.member_count)
    arrays = to_arrays(rows)
    facts = with_cuts(run, arrays, facts)
    how = _event_kind(run, rows, arrays)
    checked = (rows.action == RESTART) & (run.member_count > 1)
    return TraceRun(
        run=run,
        path=path,
        facts=facts,
        whole=not facts and run.initial == "empty" and not run.disk_replaced,
        unchecked=int(np.count_nonzero((how == AFTER_GAP) & ~checked)),
        streams=_streams(make_small(rows), how),
    )


def _event_kind(run: Run, rows: EventColumns, arrays: RunArrays) -> Ints:
    """Give for each event ``ORDINARY``, ``AFTER_GAP`` or ``ABSURD``."""
    count = len(rows.step)
    replaced = [(disk.member_id, disk.step) for disk in run.disk_replaced]
    before = rows_before(arrays, empty=run.initial == "empty", replaced=replaced)
    how = np.where(before < -1, AFTER_GAP, ORDINARY)
    owners: dict[str, NDArray[np.bool_]] = {}
    tables = {"message": np.arange(count), "state": np.arange(count), "inputs": np.arange(count)}
    tables["sends"] = np.repeat(np.arange(count), np.diff(rows.send_offsets))
    for name, columns in TABLES:
        if name in tables:
            cells = getattr(rows, name)[:, places_of(columns, NumberKind.MEMBER)]
            wrong = ((cells < NULL_VALUE) | (cells >= run.member_count)).any(axis=1)
            owners[name] = tables[name][wrong]
            how[owners[name]] = ABSURD
    for name in ("message", "sends"):
        table = getattr(rows, name)
        for code, places in enumerate(MESSAGE_PLACES):
            own = [place for place in places if kind(MESSAGE_COLUMNS[place]) is NumberKind.MEMBER]
            if own:
                nobody = (table[:, 0] == code) & (table[:, own] < 0).any(axis=1)
                how[tables[name][nobody]] = ABSURD
    _, first = np.unique(rows.sends[:, _ID], return_index=True)
    how[np.delete(tables["sends"], first)] = ABSURD
    return how


def _streams(rows: EventColumns, how: Ints) -> tuple[Stream, ...]:
    """Write the events of each member as strings."""
    send_at, sum_at = rows.send_offsets, rows.checksum_offsets
    ids = _numbers(np.concatenate([rows.message[:, _ID], rows.sends[:, _ID]]))
    sums = _numbers(rows.checksums[:, 1])
    sent = set(rows.sends[:, _ID].tolist())
    received = set(zip(rows.message[:, _ID].tolist(), rows.member.tolist(), strict=True))
    messages = [_contents(cells) for cells in rows.message.tolist()]
    sends = [(cells[_PEER], cells[_ID], _contents(cells)) for cells in rows.sends.tolist()]

    def text(row: int) -> str:
        identity = int(rows.message[row, _ID])
        cells = [
            int(how[row]),
            int(rows.action[row]),
            int(rows.message[row, _PEER]) if identity >= 0 else NONE,
            NONE if identity < 0 else ids[identity] if identity in sent else NEVER_SENT,
        ]
        log = rows.log[rows.log_offsets[row] : rows.log_offsets[row + 1]]
        cells += [*rows.state[row].tolist(), *rows.members[row].reshape(-1).tolist()]
        cells += [len(log), *log.reshape(-1).tolist()]
        cells += [*rows.inputs[row].tolist(), *messages[row]]
        cells.append(int(send_at[row + 1] - send_at[row]))
        for to, number, content in sends[send_at[row] : send_at[row + 1]]:
            cells += [to, ids[number] if (number, to) in received else NEVER_RECEIVED, *content]
        own = rows.checksums[sum_at[row] : sum_at[row + 1]].tolist()
        cells.append(len(own))
        for position, checksum in own:
            cells += [position, sums[checksum]]
        return to_digits(cells)

    streams = []
    for member in range(rows.member_count):
        own = np.flatnonzero(rows.member == member)
        actions = tuple(ACTION_NAMES[code] for code in rows.action[own].tolist())
        texts = tuple(map(text, own.tolist()))
        streams.append(Stream(tuple(rows.step[own].tolist()), actions, texts))
    return tuple(streams)


def _numbers(values: Ints) -> dict[int, int]:
    """Number distinct values."""
    return {value: number for number, value in enumerate(np.unique(values).tolist())}


def _contents(cells: list[int]) -> tuple[int, ...]:
    """Give the type and the fields of a message as ``Encoding.tla`` has them."""
    code = cells[0]
    return (NONE,) if code < 0 else (code, *(cells[place] for place in MESSAGE_PLACES[code]))


# --- answers --------------------------------------------------------------------------------------


@dataclass(slots=True)
class DeadEnd:
    """A state of the search in which no event can be explained."""

    standing: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    """For each member with an event left: whether step, message and log contents are right."""
    broken: set[tuple[int, str]] = field(default_factory=set)
    """Members and the properties that their next events would violate."""


@dataclass(slots=True)
class Answer:
    """TLC's answer about one run."""

    conforms: bool = False
    dead_ends: defaultdict[tuple[int, ...], DeadEnd] = field(
        default_factory=lambda: defaultdict(DeadEnd)
    )
    """By the number of explained events of each stream."""


def read_answers(values: Iterable[Value], runs: int) -> list[Answer]:
    """Give the answer about each run.

    Raises
    ------
    EngineError
        If TLC printed anything else.
    """
    answers = [Answer() for _ in range(runs)]
    for value in values:
        printed: Any = value
        match printed:
            case ["end", run]:
                answers[run - 1].conforms = True
            case ["stuck", run, at, standing]:
                answers[run - 1].dead_ends[tuple(at)].standing |= {
                    member: (step == 1, message == 1, log == 1)
                    for member, (some, step, message, log) in enumerate(standing)
                    if some
                }
            case ["broken", run, at, member, names]:
                answers[run - 1].dead_ends[tuple(at)].broken |= {(member, name) for name in names}
            case _:
                raise EngineError(f"TLC printed what the trace specification does not: {value!a}")
    return answers


# --- divergences ----------------------------------------------------------------------------------


def divergences_of(trace: TraceRun, answer: Answer) -> tuple[Divergence, ...]:
    """Give the divergences at which the longest explained prefix stops.

    These are the properties that are violated there, and the wrong steps. If there are none, they
    are the next events of all members that lack a message or a log: some of these may only wait
    for an event of another member.
    """
    most = max(map(sum, answer.dead_ends))
    ends = [(at, end) for at, end in answer.dead_ends.items() if sum(at) == most]
    at, end = next((one for one in ends if one[1].broken), ends[0])
    stuck = sorted(end.standing.items())
    found = [
        (member, _CAUSALITY if name == LOG_STREAM else _SAFETY, name, "is violated")
        for member, name in sorted(end.broken)
    ] + [
        (member, _STEP, trace.streams[member].actions[at[member]], _WRONG_STEP)
        for member, (step, _, _) in stuck
        if not step
    ]
    lacking = [one for one in stuck if not all(one[1])] or stuck
    found = found or [
        (member, _CAUSALITY, *(_NO_LOG if message else _NO_MESSAGE))
        for member, (_, message, _) in lacking
    ]
    return tuple(
        Divergence(kind, name, member, trace.streams[member].steps[at[member]], text, most)
        for member, kind, name, text in found
    )


_STEP: Final = DivergenceClass.IMPLEMENTATION_STEP
_CAUSALITY: Final = DivergenceClass.CAUSALITY
_SAFETY: Final = DivergenceClass.SAFETY_PROPERTY
_WRONG_STEP: Final = "by the spec this step does not lead from the state before it to the next one"
_NO_MESSAGE: Final = (
    MESSAGE_CAUSALITY,
    "no behaviour before this step has the message that it receives",
)
_NO_LOG: Final = (
    LOG_STREAM,
    "no behaviour before this step has the log that it records, reads or joins",
)

BATCH_EVENTS: Final = 10_000
"""Events in one run of TLC, if they belong to more than one recorded run."""
_ROOT_MODULE: Final = "TraceSpecRuns"
_NEXT: Final = ",\n"
_UNBOUNDED: Final = 1_000_000
"""A bound for messages under way: more than the events of any batch."""

Progress = Callable[[int, int, int], object]
"""Called after each run of TLC: runs done, runs in all, events done."""


def check_with_tlc(units: Iterable[Unit], progress: Progress = lambda *_: None) -> CorpusVerdict:
    """Check run folders and files of data sets.

    Parameters
    ----------
    units
        As `canvass.conformance.verify.units_of` gives them.
    progress
        Called after each run of TLC.

    Raises
    ------
    TlcError
        If TLC cannot run, or does not finish a batch.
    """
    started = time.perf_counter()
    found = [one for unit in units for one in _read(unit)]
    traces = [(place, one) for place, one in enumerate(found) if isinstance(one, TraceRun)]
    verdicts = {place: one for place, one in enumerate(found) if isinstance(one, RunVerdict)}
    done = events = 0
    for batch in _batches(traces):
        answers = _ask([trace for _, trace in batch])
        for (place, trace), answer in zip(batch, answers, strict=True):
            verdicts[place] = _settle(trace, answer)
            done, events = done + 1, events + trace.events
        progress(done, len(traces), events)
    counts = Counts(len(found), events, seconds=time.perf_counter() - started, by_tlc=True)
    return CorpusVerdict(tuple(verdicts[place] for place in range(len(found))), counts)


def _read(unit: Unit) -> Iterator[TraceRun | RunVerdict]:
    """Read the runs of a folder or file; a run that TLC cannot check is malformed."""
    path = path_of(unit)
    malformed = RunVerdict(path.name, str(path), Verdict.MALFORMED)
    try:
        if isinstance(unit, TraceError):
            raise unit
        for trace in [prepare(entry, rows, path) for entry, rows in read_runs(path)]:
            reason = "" if trace.events else "the run has no events: nothing was checked"
            try:
                _ = trace.run.rules
            except ValueError as error:
                reason = str(error)
            own = replace(malformed, run_id=trace.run.run_id, facts=trace.facts, reason=reason)
            yield own if reason else trace
    except TraceError as error:
        yield replace(malformed, reason=str(error))


def _batches(traces: Iterable[tuple[int, TraceRun]]) -> Iterator[list[tuple[int, TraceRun]]]:
    """Put runs under the same rules together, up to `BATCH_EVENTS`."""
    waiting: dict[Rules, list[tuple[int, TraceRun]]] = {}
    for place, trace in traces:
        batch = waiting.setdefault(trace.run.rules, [])
        if batch and sum(each.events for _, each in batch) + trace.events > BATCH_EVENTS:
            yield batch
            batch = waiting[trace.run.rules] = []
        batch.append((place, trace))
    yield from waiting.values()


def _settle(trace: TraceRun, answer: Answer) -> RunVerdict:
    return verdict_of(
        *(trace.run, str(trace.path)),
        events=trace.events,
        unchecked=trace.unchecked,
        facts=trace.facts,
        divergences=() if answer.conforms else divergences_of(trace, answer),
    )


# --- TLC ------------------------------------------------------------------------------------------


def _ask(traces: Sequence[TraceRun]) -> list[Answer]:
    text, config = module_text(traces), config_of(traces[0].run.rules)
    limits = {"heap_mib": 2048, "stack_mib": 512, "check_deadlock": False, "jvm_args": SHORT_RUN}
    printed, result, _ = printed_by(_ROOT_MODULE, text, config, **limits)
    answers = read_answers(printed, len(traces))
    if result.outcome is not Outcome.SUCCESS:
        about = f"{len(traces)} runs" if len(traces) > 1 else f"run {traces[0].run.run_id}"
        raise EngineError(f"TLC did not come to an end with {about}: {result.message}")
    for trace, answer in zip(traces, answers, strict=True):
        if not answer.conforms and not answer.dead_ends:
            raise EngineError(f"TLC said nothing about run {trace.run.run_id}")
    return answers


def config_of(rules: Rules) -> TlcConfig:
    """Give the configuration of a run of TLC."""
    return TlcConfig(
        init="TraceInit",
        next="TraceNext",
        view="TraceView",
        constants={
            **constants_of(rules),
            "ChannelCapacity": f"= {_UNBOUNDED}",
            "NetworkCapacity": f"= {_UNBOUNDED}",
            "Runs": "<- GivenRuns",
        },
    )


def module_text(traces: Iterable[TraceRun]) -> str:
    """Give the module that holds runs as data: strings of digits and numbers of members."""
    runs = ",\n".join(map(_run_text, traces))
    return (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS TraceSpec\nGivenRuns == <<\n{runs}\n>>\n====\n"
    )


def _run_text(trace: TraceRun) -> str:
    streams = (_tuple(f'"{text}"' for text in stream.texts) for stream in trace.streams)
    missing = ", ".join(map(str, sorted({fact.member_id for fact in trace.facts})))
    return (
        f"[whole |-> {str(trace.whole).upper()},"
        f" empty |-> {str(trace.run.initial == 'empty').upper()},"
        f" missing |-> {{{missing}}}, streams |-> {_tuple(streams)}]"
    )


def _tuple(items: Iterable[str]) -> str:
    """Write a tuple, an item in each line: SANY's time is quadratic in the length of a line."""
    return f"<<{_NEXT.join(items)}>>"

"""Runs as `TraceSpec.tla` reads them: read whole, renumbered, written as strings of digits.

Nothing is decided here. The second engine shares with the first one the reader of traces, the
joining of batches, and the search for streams that were cut short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import NULL_VALUE
from canvass.conformance.batch import join, split_runs
from canvass.conformance.sequence import digest
from canvass.conformance.whole_run import with_cuts
from canvass.steps.oracle import to_digits
from canvass.tlc.errors import TlcError
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import (
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
    NumberKind,
    kind,
)
from canvass.traces.parquet import DatasetFile, FactFinder
from canvass.traces.run import RunFolder
from canvass.traces.schema import Fact, Run

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


def _positions_in(columns: Sequence[str]) -> list[int]:
    return places_of(columns, NumberKind.POSITION)


def make_small(columns: EventColumns) -> EventColumns:
    """Replace positions by their ranks; numbers up to 0 stay.

    So each entry of a log lies between two recorded positions: the spec compares and copies
    positions and never computes with them.
    """
    places = {name: _positions_in(names) for name, names in TABLES}
    tables = {name: getattr(columns, name).copy() for name, _ in TABLES}
    cells = [tables[name][..., own].reshape(-1) for name, own in places.items()]
    known = np.unique(np.maximum(np.concatenate(cells), 0))
    for name, own in places.items():
        cell = tables[name][..., own]
        tables[name][..., own] = np.where(cell > 0, np.searchsorted(known, cell), cell)
    return replace(columns, **tables)


ORDINARY, AFTER_GAP, ABSURD = 0, 1, 2
NEVER_RECEIVED, NEVER_SENT = -1, -2
"""As in ``TraceSpec.tla``."""

_RESTART: Final = ACTION_NAMES.index("Restart")
_PEER, _ID = MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]


class EngineError(TlcError):
    """TLC gave no complete answer about a run; the message is one line."""


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
    missing: frozenset[int]
    """Members of which steps are missing."""
    whole: bool
    unchecked: int
    streams: tuple[Stream, ...]

    @property
    def events(self) -> int:
        """Count the events."""
        return sum(len(stream.steps) for stream in self.streams)


# --- reading --------------------------------------------------------------------------------------


def read_unit(path: Path) -> Iterator[TraceRun]:
    """Read a run folder, or all runs of a file of a data set.

    Raises
    ------
    TraceError
        If it is neither.
    """
    if path.suffix != ".parquet" or path.is_dir():
        folder = RunFolder(path)
        yield _prepare(folder.run, path, list(folder.columns()), folder.facts)
        return
    finder = FactFinder()
    parts: dict[str, list[EventColumns]] = {}
    with DatasetFile(path) as file:
        for columns in file.batches():
            finder.look(columns)
            for part in split_runs(columns):
                parts.setdefault(part.runs[0], []).append(part)
        for run_id, entry in file.runs.items():
            yield _prepare(entry.run, path, parts.get(run_id, []), finder.facts_of(entry))


# --- writing --------------------------------------------------------------------------------------


def _prepare(
    run: Run, path: Path, parts: Sequence[EventColumns], facts: Iterable[Fact]
) -> TraceRun:
    known = tuple(facts)
    if not parts:
        empty = Stream((), (), ())
        return TraceRun(run, path, known, frozenset(), False, 0, (empty,) * run.member_count)
    rows = join(parts)
    known = with_cuts(run, digest(rows), known)
    missing = frozenset(fact.member_id for fact in known)
    how = _how(run, rows)
    checked = (rows.action == _RESTART) & (run.member_count > 1)
    return TraceRun(
        run=run,
        path=path,
        facts=known,
        missing=missing,
        whole=not missing and run.initial == "empty" and not run.disk_replaced,
        unchecked=int(np.count_nonzero((how == AFTER_GAP) & ~checked)),
        streams=_streams(make_small(rows), how),
    )


def _how(run: Run, rows: EventColumns) -> Ints:
    """Give for each event ``ORDINARY``, ``AFTER_GAP`` or ``ABSURD``."""
    count = len(rows.step)
    how = np.full(count, ORDINARY, dtype=np.int64)
    follows = np.zeros(count, dtype=np.bool_)
    follows[1:] = (rows.member[1:] == rows.member[:-1]) & (rows.step[1:] == rows.step[:-1] + 1)
    fresh = (rows.step == 0) & (run.initial == "empty")
    for disk in run.disk_replaced:
        own = (rows.member == disk.member_id) & (rows.step == disk.step)
        follows[own] = fresh[own] = False
    how[~follows & ~fresh] = AFTER_GAP
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

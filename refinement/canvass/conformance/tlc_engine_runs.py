"""Runs as `TraceSpec.tla` reads them: read whole, renumbered, written as strings of digits.

Nothing is decided here. The second engine shares with the first one only the reader of traces and
the joining of batches.
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
from canvass.steps import oracle
from canvass.steps.oracle import DIGITS
from canvass.tlc import TlcError
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import (
    ACTION_NAMES,
    CHECKSUM_COLUMNS,
    ID_BITS,
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
from canvass.traces.schema import Fact, FactKind, Run

SMALL_OFFSET: Final = 8
TWO_DIGITS: Final = 64 * 64 - SMALL_OFFSET
"""The smallest number that does not fit into two digits."""


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
    received: tuple[int, ...]
    """The id of the message that each event consumes; -1 for none."""
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
    sent: dict[int, tuple[int, int, int]]
    """By the id of each message its sender, the place of the event that sends it, and its receiver.
    """

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
        empty = Stream((), (), (), ())
        return TraceRun(run, path, known, frozenset(), False, 0, (empty,) * run.member_count, {})
    rows = join(parts)
    ids = np.unique(np.concatenate([rows.message[:, _ID], rows.sends[:, _ID]]))
    sums = np.unique(rows.checksums[:, 1])
    known += _cuts(run, rows, known)
    missing = frozenset(fact.member_id for fact in known)
    how = _how(run, rows)
    events = _Events(make_small(rows), how, ids, sums)
    streams, sent = events.write(run.member_count)
    return TraceRun(
        run=run,
        path=path,
        facts=known,
        missing=missing,
        whole=not missing and run.initial == "empty" and not run.disk_replaced,
        unchecked=int(np.count_nonzero(events.unknown)),
        streams=streams,
        sent=sent,
    )


def _cuts(run: Run, rows: EventColumns, known: Iterable[Fact]) -> tuple[Fact, ...]:
    """Give the truncated streams: others received messages with numbers beyond those sent."""
    members = {fact.member_id for fact in known}
    senders = np.repeat(rows.member, np.diff(rows.send_offsets))
    numbers = rows.sends[:, _ID] & ((1 << ID_BITS) - 1)
    got = rows.message[rows.message[:, _ID] >= 0]
    found = []
    for member in sorted(set(range(run.member_count)) - members):
        received = got[got[:, _PEER] == member, _ID] & ((1 << ID_BITS) - 1)
        last = int(numbers[senders == member].max(initial=-1))
        if int(received.max(initial=-1)) > last:
            detail = "others received messages that come after its end"
            found.append(Fact(FactKind.TRUNCATED, run.run_id, member, detail=detail))
    return tuple(found)


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


class _Events:
    """Writes the events of a run as strings."""

    def __init__(self, rows: EventColumns, how: Ints, ids: Ints, sums: Ints) -> None:
        self.rows, self.how = rows, how
        self.ids = {identity: number for number, identity in enumerate(ids.tolist())}
        self.sums = {checksum: number for number, checksum in enumerate(sums.tolist())}
        checked = (rows.action == _RESTART) & (rows.member_count > 1)
        self.unknown = (how == AFTER_GAP) & ~checked

    def write(self, members: int) -> tuple[tuple[Stream, ...], dict[int, tuple[int, int, int]]]:
        """Give the streams, and where each message was sent."""
        rows, send_at, sum_at = self.rows, self.rows.send_offsets, self.rows.checksum_offsets
        order = [np.flatnonzero(rows.member == member).tolist() for member in range(members)]
        messages = [_contents(cells) for cells in rows.message.tolist()]
        sends = [(cells[_PEER], cells[_ID], _contents(cells)) for cells in rows.sends.tolist()]
        sent: dict[int, tuple[int, int, int]] = {}
        for member, own in enumerate(order):
            for place, row in enumerate(own):
                for to, identity, _ in sends[send_at[row] : send_at[row + 1]]:
                    sent.setdefault(identity, (member, place, to))
        received = {
            (int(identity), member)
            for member, own in enumerate(order)
            for identity in rows.message[own, _ID].tolist()
            if identity >= 0
        }
        streams = []
        for own in order:
            texts = []
            for row in own:
                identity = int(rows.message[row, _ID])
                known = identity in sent
                head = [
                    int(self.how[row]),
                    int(rows.action[row]),
                    int(rows.message[row, _PEER]) if identity >= 0 else NONE,
                    NONE if identity < 0 else self.ids[identity] if known else NEVER_SENT,
                ]
                log = rows.log[rows.log_offsets[row] : rows.log_offsets[row + 1]]
                state = [
                    *rows.state[row].tolist(),
                    *rows.members[row].reshape(-1).tolist(),
                    len(log),
                    *log.reshape(-1).tolist(),
                ]
                out = [int(send_at[row + 1] - send_at[row])]
                for to, number, content in sends[send_at[row] : send_at[row + 1]]:
                    got = (number, to) in received
                    out += [to, self.ids[number] if got else NEVER_RECEIVED, *content]
                own_sums = rows.checksums[sum_at[row] : sum_at[row + 1]].tolist()
                seen = [len(own_sums)]
                for position, checksum in own_sums:
                    seen += [position, self.sums[checksum]]
                cells = [*head, *state, *rows.inputs[row].tolist(), *messages[row], *out, *seen]
                texts.append(to_digits(cells))
            streams.append(
                Stream(
                    steps=tuple(rows.step[own].tolist()),
                    actions=tuple(ACTION_NAMES[code] for code in rows.action[own].tolist()),
                    received=tuple(rows.message[own, _ID].tolist()),
                    texts=tuple(texts),
                )
            )
        return tuple(streams), sent


def _contents(cells: list[int]) -> tuple[int, ...]:
    """Give the type and the fields of a message as ``Encoding.tla`` has them."""
    code = cells[0]
    return (NONE,) if code < 0 else (code, *(cells[place] for place in MESSAGE_PLACES[code]))


def to_digits(cells: Sequence[int]) -> str:
    """Write integers as ``Numbers`` of ``TraceSpec.tla`` reads them.

    Raises
    ------
    OracleError
        If one has more than 31 bits.
    """
    if min(cells) < -SMALL_OFFSET or max(cells) >= TWO_DIGITS:
        return oracle.to_digits(cells)
    raised = [cell + SMALL_OFFSET for cell in cells]
    return "2" + "".join([DIGITS[cell >> 6] + DIGITS[cell & 63] for cell in raised])

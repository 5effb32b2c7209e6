"""Parts of runs as files: what a task found in its part of a run, for the task that joins them.

A file holds a `PartOfRun` and the `Sequence` of its events, column by column, each compressed. The
join reads one column at a time, when a check asks for it. So of a run of any length only what is
being looked at is in memory. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import count
from math import prod
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from canvass.conformance.long_arrays import long_array
from canvass.conformance.sequence import Sequence, Spans, wide
from canvass.corpus.storage import Place, writing
from canvass.traces.columns import Ints
from canvass.traces.schema import Fact

_CODEC: Final = "lz4"
_RUN: Final = "run"
"""This one is not stored: there is one run."""
_HELD: Final = "member"
"""What nearly every check reads is read once and kept."""
_STEP: Final = "step"
"""Steps are counted on from by who reads them: they have 64 bits, as all fields with columns when
they are read whole. Other numbers are given in as few bytes as they need.
"""
_CHECKSUMS: Final = "checksums"
_LENGTH_BYTES: Final = 8


class _Column(Struct, frozen=True, array_like=True):
    kind: str
    shape: tuple[int, ...]
    start: int
    """Where it begins, counted from the end of the head."""
    size: int


class PartOfRun(Struct, frozen=True, kw_only=True):
    """What is known of a part of a run from its own events."""

    run_id: str
    malformed: str = ""
    """Why the run cannot be checked whatever its events are."""
    events: int = 0
    unchecked: int = 0
    wrong: bool = False
    """Whether a step is known to be wrong."""
    pending: tuple[bytes, ...] = ()
    """Keys of steps that were still to be decided."""
    facts: tuple[Fact, ...] = ()
    members: tuple[int, ...] = ()
    """Members of which it has events."""
    lines: int = 0
    """Of a stream: lines in the part."""
    actions: tuple[int, ...] = ()
    """How many events have each action."""


class _Head(Struct, frozen=True):
    part: PartOfRun
    columns: dict[str, _Column]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Head)


def store(path: Place, part: PartOfRun, sequence: Sequence | None) -> None:
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


def _columns_of(sequence: Sequence) -> Iterator[tuple[str, NDArray[Any]]]:
    """Give the columns of all fields: like numbers side by side, and columns are what is read."""
    for field in fields(Sequence):
        cells: NDArray[Any] = getattr(sequence, field.name)
        if field.name == _RUN:
            continue
        if cells.ndim == 1:
            yield field.name, cells if cells.dtype == np.bool_ else _narrow(cells)
            continue
        for place in range(cells.shape[1]):
            yield _name_of(field.name, place), _narrow(cells[:, place])


def _name_of(name: str, place: int | None) -> str:
    return name if place is None else f"{name}.{place}"


def _narrow(cells: Ints) -> NDArray[Any]:
    """Give whole numbers in as few bytes as they need: there is less to pack and to unpack."""
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
    """Read what a file begins with; give where its columns begin, too."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "big")
        return _DECODER.decode(file.read(length)), _LENGTH_BYTES + length


class StoredSequence(Sequence):
    """The events of one run, in files that hold a part each; a column is read when asked for."""

    __slots__ = ("_count", "_held", "_parts")

    _count: int
    _held: dict[str, NDArray[Any]]
    _parts: list[tuple[Place, dict[str, _Column], int]]

    def __init__(self, paths: Iterable[Place]) -> None:
        # The fields of a `Sequence` are left unset: `__getattr__` is then asked for them.
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
        """Read a field, or the column of it at a place; of some rows, if that is said."""
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
        """Read the checksums of one part after the other."""
        names = [_name_of(_CHECKSUMS, place) for place in self._places_of(_CHECKSUMS)]
        for path, columns, base in self._parts:
            read = [_unpacked(path, base, columns[name]).astype(np.int64) for name in names]
            yield np.column_stack(read)

    def _places_of(self, name: str) -> range:
        """Give the places of a field's columns."""
        columns = self._parts[0][1]
        return range(next(n for n in count() if _name_of(name, n) not in columns))

    def _read(self, name: str, spans: Spans | None) -> NDArray[Any]:
        """Bring together what the parts have of a column."""
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
                    break  # The next part goes on with it.
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


def joined(paths: Iterable[Place]) -> Sequence | None:
    """Bring the sequences of parts together; None if there are no events."""
    sequence = StoredSequence(paths)
    return sequence if len(sequence) else None

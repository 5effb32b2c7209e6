"""Parts of runs as files: what a task found in its part of a run, for the task that joins them.

A file holds a `PartOfRun` and the `Sequence` of its events, column by column, each compressed. A
run that was cut is read from them one column at a time, when a check asks for it, so that of a run
of any length only what is being looked at is in memory. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from canvass.conformance.sequence import KEPT, Sequence
from canvass.traces.columns import Ints
from canvass.traces.facts import Fact

_CODEC: Final = "lz4"
_STATE: Final = "state"
"""This array is stored column by column: like numbers side by side, and columns are what is read.
"""
_RUN: Final = "run"
"""This one is not stored: there is one run."""
_HELD: Final = "member"
"""What nearly every check reads is read once and kept."""
_AS_STORED: Final = ("replays", "sends_of", "checksums_of")
"""These, and the state, are given in as few bytes as they need; other numbers have 64 bits."""
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
    """Keys of steps that were still to be judged."""
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


def store(path: Path, part: PartOfRun, sequence: Sequence | None) -> None:
    """Write a part; whoever finds the file finds it whole."""
    codec = pa.Codec(_CODEC)
    columns: dict[str, _Column] = {}
    packed: list[bytes] = []
    start = 0
    for name, cells in () if sequence is None else _columns_of(sequence):
        packed.append(codec.compress(cells.tobytes(), asbytes=True))
        columns[name] = _Column(cells.dtype.str, cells.shape, start, len(packed[-1]))
        start += len(packed[-1])
    head = _ENCODER.encode(_Head(part, columns))
    aside = path.with_name(f".{path.name}")
    with aside.open("wb") as file:
        file.write(len(head).to_bytes(_LENGTH_BYTES, "big"))
        file.writelines([head, *packed])
    aside.replace(path)


def _columns_of(sequence: Sequence) -> Iterator[tuple[str, NDArray[Any]]]:
    for field in fields(Sequence):
        if field.name == _STATE:
            for name in KEPT:
                yield _name_of_state(name), _narrow(sequence.kept(name))
        elif field.name != _RUN:
            cells: NDArray[Any] = getattr(sequence, field.name)
            yield field.name, cells if cells.dtype == np.bool_ else _narrow(cells)


def _name_of_state(name: str) -> str:
    return f"{_STATE}.{name}"


def _narrow(cells: Ints) -> NDArray[Any]:
    """Give whole numbers in as few bytes as they need: there is less to pack and to unpack."""
    if not cells.size:
        return cells
    low, high = int(cells.min()), int(cells.max())
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return cells.astype(kind)
    return cells


def stored_part(path: Path) -> PartOfRun:
    """Read a part without its events."""
    return _head(path)[0].part


def _head(path: Path) -> tuple[_Head, int]:
    """Read what a file begins with; give where its columns begin, too."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "big")
        return _DECODER.decode(file.read(length)), _LENGTH_BYTES + length


class StoredSequence(Sequence):
    """The events of one run, in files that hold a part each; a column is read when asked for."""

    __slots__ = ("_count", "_held", "_parts")

    _count: int
    _held: dict[str, NDArray[Any]]
    _parts: list[tuple[Path, dict[str, _Column], int]]

    def __init__(self, paths: Iterable[Path]) -> None:
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
        if name == _STATE:
            return np.column_stack([self.kept(column).astype(np.int64) for column in KEPT])
        if name not in self._parts[0][1]:
            raise AttributeError(name)
        if name in self._held:
            return self._held[name]
        cells = self._read(name, as_stored=name in _AS_STORED)
        if name == _HELD:
            self._held[name] = cells
        return cells

    def kept(self, name: str) -> Ints:
        """Read a state column."""
        return self._read(_name_of_state(name), as_stored=True)

    def _read(self, name: str, *, as_stored: bool) -> NDArray[Any]:
        """Bring the parts of a column together."""
        places = [columns[name] for _, columns, _ in self._parts]
        rows = sum(place.shape[0] for place in places)
        kind = np.result_type(*{np.dtype(place.kind) for place in places})
        if not as_stored and kind != np.bool_:
            kind = np.dtype(np.int64)
        cells: NDArray[Any] = np.empty((rows, *places[0].shape[1:]), dtype=kind)
        codec = pa.Codec(_CODEC)
        end = 0
        for (path, _, base), place in zip(self._parts, places, strict=True):
            begin, end = end, end + place.shape[0]
            if begin < end:
                cells[begin:end] = _unpacked(codec, path, base + place.start, place)
        return cells


def _unpacked(codec: Any, path: Path, start: int, column: _Column) -> NDArray[Any]:
    kind = np.dtype(column.kind)
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        packed = file.read(column.size)
    size = prod(column.shape) * kind.itemsize
    return np.frombuffer(codec.decompress(packed, size), dtype=kind).reshape(column.shape)


def joined(paths: Iterable[Path]) -> Sequence | None:
    """Bring the sequences of parts together; None if there are no events."""
    sequence = StoredSequence(paths)
    return sequence if len(sequence) else None

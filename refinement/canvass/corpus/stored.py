"""Parts of runs as files: what a task found in its part of a run, for the task that joins them.

A file holds a `PartOfRun` and the `Sequence` of its events, each array compressed. Several are
brought together in arrays on disk, so that a run need not fit into memory; the operating system
keeps of them there what it can. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Parts
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from canvass.conformance.sequence import Sequence
from canvass.traces.facts import Fact

_CODEC: Final = "lz4"
_SIDEWAYS: Final = "state"
"""This array is stored column by column: like numbers side by side, and columns are what is read.
"""


class _Array(Struct, frozen=True):
    kind: str
    shape: tuple[int, ...]
    data: bytes


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


class _Stored(Struct, frozen=True):
    part: PartOfRun
    arrays: dict[str, _Array]


class _OnlyPart(Struct, frozen=True):
    part: PartOfRun


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Stored)
_PART_DECODER: Final = msgspec.msgpack.Decoder(_OnlyPart)


def store(path: Path, part: PartOfRun, sequence: Sequence | None) -> None:
    """Write a part; whoever finds the file finds it whole."""
    arrays = {}
    if sequence is not None:
        codec = pa.Codec(_CODEC)
        for field in fields(Sequence):
            array = getattr(sequence, field.name)
            array = np.ascontiguousarray(array.T if field.name == _SIDEWAYS else array)
            data = codec.compress(array.tobytes(), asbytes=True)
            arrays[field.name] = _Array(array.dtype.str, array.shape, data)
    aside = path.with_name(f".{path.name}")
    aside.write_bytes(_ENCODER.encode(_Stored(part, arrays)))
    aside.replace(path)


def stored_part(path: Path) -> PartOfRun:
    """Read a part without its arrays."""
    return _PART_DECODER.decode(path.read_bytes()).part


def joined_on_disk(paths: Iterable[Path], scratch: Path) -> Sequence | None:
    """Bring the sequences of parts together, in files of a folder; None if there are no events."""
    found = [path for path in paths if stored_part(path).events]
    if not found:
        return None
    shapes: dict[str, list[tuple[int, ...]]] = {field.name: [] for field in fields(Sequence)}
    kinds: dict[str, str] = {}
    for path in found:
        for name, array in _DECODER.decode(path.read_bytes()).arrays.items():
            shapes[name].append(array.shape)
            kinds[name] = array.kind
    arrays = {name: _on_disk(scratch / name, kinds[name], each) for name, each in shapes.items()}
    filled = dict.fromkeys(arrays, 0)
    codec = pa.Codec(_CODEC)
    for path in found:
        for name, array in _DECODER.decode(path.read_bytes()).arrays.items():
            cells = _cells(codec, array)
            axis = cells.ndim - 1 if name == _SIDEWAYS else 0
            start, stop = filled[name], filled[name] + cells.shape[axis]
            target = arrays[name][:, start:stop] if axis else arrays[name][start:stop]
            target[...] = cells
            filled[name] = stop
    arrays[_SIDEWAYS] = arrays[_SIDEWAYS].T
    return Sequence(**arrays)


def _cells(codec: Any, array: _Array) -> NDArray[Any]:
    kind = np.dtype(array.kind)
    size = int(np.prod(array.shape)) * kind.itemsize
    data = codec.decompress(array.data, decompressed_size=size, asbytes=True) if size else b""
    return np.frombuffer(data, dtype=kind).reshape(array.shape)


def _on_disk(path: Path, kind: str, shapes: Parts[tuple[int, ...]]) -> NDArray[Any]:
    """Make an array for all parts of one field."""
    if path.name == _SIDEWAYS:
        shape: tuple[int, ...] = (shapes[0][0], sum(each[1] for each in shapes))
    else:
        shape = (sum(each[0] for each in shapes), *shapes[0][1:])
    if not all(shape):
        return np.empty(shape, dtype=kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="w+", shape=shape))

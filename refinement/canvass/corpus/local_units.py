"""Units on this machine: what a store has of them is copied for as long as they are read.

Readers of traces take files of this machine. Of a unit that is split into parts only the bytes of a
part are copied; the rest of the copy is a gap in a file of the same size.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from canvass.corpus.plan import Part, Unit, UnitKind
from canvass.corpus.storage import (
    Entry,
    UrlPath,
    download,
    entries,
    files_below,
    storage_errors,
)
from canvass.traces.limits import MAX_LINE_BYTES, MAX_METADATA_BYTES, MAX_RUNS
from canvass.traces.run import RUN_FILE

_MAGIC_BYTES: Final = 8
"""What follows the metadata of a Parquet file: their length and ``PAR1``."""
_MARGIN: Final = MAX_LINE_BYTES + 2
"""How far around a range its reader looks for the ends of lines."""

_PIECE: Final = 1 << 22

_Range = tuple[int, int]


@contextmanager
def on_this_machine(units: Sequence[Unit], *, outline: bool = False) -> Iterator[list[Unit]]:
    """Give units whose `location` is on this machine.

    Parameters
    ----------
    units
        Any units.
    outline
        Whether names, sizes, ``run.json`` and the metadata of Parquet files are enough. They are
        for a unit that joins parts.
    """
    if not any(isinstance(unit.place, UrlPath) for unit in units):
        yield list(units)
        return
    with tempfile.TemporaryDirectory(prefix="canvass-units-") as scratch:
        yield [_copied(unit, Path(scratch, str(at)), outline) for at, unit in enumerate(units)]


def _copied(unit: Unit, scratch: Path, outline: bool) -> Unit:
    place = unit.place
    if not isinstance(place, UrlPath) or unit.kind is UnitKind.REFUSED:
        return unit
    copy = scratch / place.name
    outline = outline or unit.kind is UnitKind.JOIN
    if place.suffix == ".parquet":
        copy.parent.mkdir(parents=True)
        _copy_parquet(place, copy, unit.part, outline)
    else:
        copy.mkdir(parents=True)
        _copy_folder(unit, place, copy, outline)
    return replace(unit, copy=str(copy))


def _copy_folder(unit: Unit, place: UrlPath, copy: Path, outline: bool) -> None:
    files = files_below(place) if unit.kind is UnitKind.AERON_LOGS else entries(place)
    for file in files:
        target = copy / file.name
        if file.folder:
            continue
        if file.name == RUN_FILE or not (outline or unit.part):
            target.parent.mkdir(parents=True, exist_ok=True)
            download(place / file.name, target)
        else:
            _copy_ranges(place / file.name, target, file.size, _ranges_of(file, unit.part))


def _ranges_of(file: Entry, part: Part | None) -> list[_Range]:
    """Give what a part needs of a member's stream."""
    if part is None or not file.name.startswith(f"member-{part.member}."):
        return []
    if not file.name.endswith(".ndjson"):
        return [(0, file.size)]
    return [(max(0, part.first - _MARGIN), min(file.size, part.end + _MARGIN))]


def _copy_parquet(place: UrlPath, copy: Path, part: Part | None, outline: bool) -> None:
    if part is None and not outline:
        download(place, copy)
        return
    entry = place.entry()
    size = 0 if entry is None else entry.size
    try:
        with place.open() as file:
            metadata = pq.ParquetFile(
                file,
                thrift_string_size_limit=MAX_METADATA_BYTES,
                thrift_container_size_limit=MAX_RUNS,
            ).metadata
            file.seek(size - _MAGIC_BYTES)
            length = int.from_bytes(file.read(4), "little") + _MAGIC_BYTES
    except (pa.ArrowException, OSError, ValueError):
        download(place, copy)  # Its reader says what is wrong with it.
        return
    ranges = [(0, 4), (size - length, size)]
    if part is not None:  # The row group before it has the event before its first one.
        groups = range(max(0, part.first - 1), part.end)
        ranges += [_bytes_of(metadata.row_group(number)) for number in groups]
    _copy_ranges(place, copy, size, ranges)


def _bytes_of(row_group: Any) -> _Range:
    columns = [row_group.column(at) for at in range(row_group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    ends = [at + column.total_compressed_size for at, column in zip(starts, columns, strict=True)]
    return min(starts), max(ends)


def _copy_ranges(place: UrlPath, target: Path, size: int, ranges: Iterable[_Range]) -> None:
    """Copy some bytes of a file to their places in a file of the same size."""
    with target.open("wb") as file:
        file.truncate(size)
        wanted = list(ranges)
        if not wanted:
            return
        with storage_errors(place), place.open() as source:
            for first, end in wanted:
                source.seek(first)
                file.seek(first)
                while first < end:
                    first += file.write(source.read(min(_PIECE, end - first)))

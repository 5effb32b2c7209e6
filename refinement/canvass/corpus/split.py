"""Units that are too large for one task, split into parts: row groups of a file, bytes of streams.

The driver does this, for large units only; it reads no events, just a file's footer or
``run.json``. What cannot be opened stays whole: its reader says what is wrong with it. Compressed
streams cannot be entered in the middle, and Aeron's logs make sense only from their beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from canvass.corpus.local_units import on_this_machine
from canvass.corpus.plan import TASK_COST, Part, Unit, UnitKind, cost_of
from canvass.traces.errors import TraceError
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder


def split_large(units: Iterable[Unit], cost: int = TASK_COST) -> list[Unit]:
    """Replace each unit that costs more than two tasks should by parts that cost about as much."""
    return [part for unit in units for part in _parts(unit, cost)]


def _parts(unit: Unit, cost: int) -> list[Unit]:
    if unit.cost <= 2 * cost or unit.kind not in (UnitKind.FILE, UnitKind.RUN):
        return [unit]
    places = _row_groups if unit.kind is UnitKind.FILE else _byte_ranges
    try:
        with on_this_machine([unit], outline=True) as (here,):
            found = list(places(here, cost))
    except (TraceError, OSError):
        return [unit]
    if len(found) < 2:
        return [unit]
    return [
        replace(unit, cost=share, part=replace(part, number=number))
        for number, (part, share) in enumerate(found)
    ]


def _row_groups(unit: Unit, cost: int) -> Iterator[tuple[Part, int]]:
    with DatasetFile(unit.location) as file:
        count = file.row_groups
    pieces = min(count, -(-unit.cost // cost))
    for piece in range(pieces):
        first, end = piece * count // pieces, (piece + 1) * count // pieces
        yield Part(0, first, end, end == count), unit.cost // pieces


def _byte_ranges(unit: Unit, cost: int) -> Iterator[tuple[Part, int]]:
    for member, path in RunFolder(unit.location).streams.items():
        size = path.lstat().st_size
        whole = cost_of(path.name, size)
        pieces = 1 if path.suffix != ".ndjson" else max(1, -(-whole // cost))
        for piece in range(pieces):
            first, end = piece * size // pieces, (piece + 1) * size // pieces
            yield Part(0, first, end, end == size, member), whole // pieces

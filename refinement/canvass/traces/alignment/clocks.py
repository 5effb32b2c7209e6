"""When lines were written: no evidence, only the order in which possible choices are tried.

Clocks of hosts may be apart. So nothing that a clock says makes a choice impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from canvass.traces.aeron_log.records import LifeStart, Line

FOREVER: Final = 1 << 62


def wall_times(records: Sequence[Line], offset: int | None = None) -> list[int]:
    """The wall time of each line in ns, by the header of its process incarnation.

    Lines before the first header have the clock of the lines before them, of which ``offset`` is
    the distance to the wall clock; without such lines that of the header.
    """
    if offset is None:
        starts = (record for record in records if isinstance(record, LifeStart))
        first = next(starts, None)
        offset = 0 if first is None else first.wall_time_ms * 1_000_000 - first.time_ns
    times = []
    for record in records:
        if isinstance(record, LifeStart):
            offset = record.wall_time_ms * 1_000_000 - record.time_ns
        times.append(record.time_ns + offset)
    return times

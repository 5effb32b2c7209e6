"""When lines were written: no evidence, only the order in which possible choices are tried.

Clocks of hosts may be apart. So nothing that a clock says makes a choice impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from canvass.traces.aeron_log.records import LifeStart, Line

FOREVER: Final = 1 << 62


def wall_times(records: Sequence[Line]) -> list[int]:
    """The wall time of each line in ns, by the header of its process incarnation.

    Lines before the first header are taken to have its clock.
    """
    offset = next(
        (
            record.wall_time_ms * 1_000_000 - record.time_ns
            for record in records
            if isinstance(record, LifeStart)
        ),
        0,
    )
    times = []
    for record in records:
        if isinstance(record, LifeStart):
            offset = record.wall_time_ms * 1_000_000 - record.time_ns
        times.append(record.time_ns + offset)
    return times

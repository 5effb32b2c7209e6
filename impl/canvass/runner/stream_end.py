"""The end of a member's recorded stream: its last states, and how its last step is forgotten.

Used before a process goes on with a stream that another one has left.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

import msgspec

from canvass.cluster.member import Member
from canvass.traces.limits import MAX_LINE_BYTES
from canvass.traces.schema import Event

_STATES: Final = 2


def last_states(path: Path) -> tuple[Member | None, Member | None]:
    """Give the states after the last step and after the one before, None where there is none.

    An incomplete last line is passed over: its process died in writing it.
    """
    found = [msgspec.json.decode(line, type=Event).state for line in _last_lines(path, _STATES)]
    last = found[-1] if found else None
    return last, found[-2] if len(found) > 1 else None


def next_numbers(path: Path) -> tuple[int, int] | None:
    """Give the numbers of the next step and of the next message, or None if there is no step."""
    lines = _last_lines(path, 1)
    if not lines:
        return None
    step = msgspec.json.decode(lines[0], type=Event).step + 1
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = data.rfind(b"\n")
        while end >= 0:
            start = data.rfind(b"\n", 0, end) + 1
            line = data[start:end]
            # Most steps send nothing: those are not decoded.
            if b'"sends":[]' not in line:
                sends = msgspec.json.decode(line, type=Event).sends
                if sends:
                    return step, int(sends[-1].id.split(":")[1]) + 1
            end = start - 1
    return step, 0


def forget_last_step(path: Path) -> None:
    """Cut the last complete line off."""
    with path.open("r+b") as file:
        data, start = _tail(path)
        end = data.rfind(b"\n")
        file.truncate(start + data.rfind(b"\n", 0, end) + 1)


def _tail(path: Path) -> tuple[bytes, int]:
    size = path.stat().st_size
    start = max(0, size - (_STATES + 1) * MAX_LINE_BYTES)
    with path.open("rb") as file:
        file.seek(start, os.SEEK_SET)
        return file.read(), start


def _last_lines(path: Path, count: int) -> list[bytes]:
    if not path.exists():
        return []
    data, start = _tail(path)
    lines = data.split(b"\n")[:-1]
    return (lines[1:] if start else lines)[-count:]

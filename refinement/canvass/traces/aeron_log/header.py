"""The header line that a process writes when it begins to log, and the agent again when it has
rolled the file.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from canvass.traces.aeron_log.errors import LineProblem, LogCode, shown
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.records import LifeStart

_MARK: Final = "] log started "
_START: Final = re.compile(r"\[-?[0-9]{1,10}\.-?[0-9]{1,9}\] log started ")
_TEXT: Final = re.compile(
    r"log started ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}[+-][0-9]{4})"
    r"(?:, (.*))?"
)
_LOGGERS: Final = re.compile(r"enabled loggers: \{([^}]*)\}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def find_header(line: str) -> int:
    """Index at which a header begins, -1 if the line holds none.

    A line that a crash has cut has no end of its own: the header of the next life stands behind it.
    """
    if _MARK not in line:
        return -1
    found = _START.search(line)
    return found.start() if found else -1


def parse_header(file: int, number: int, text: str) -> LifeStart:
    """Make the record of a header.

    Raises
    ------
    LineProblem
        If the stamp is followed by something other than a time of the wall clock.
    """
    stamp = stamp_of(text)
    found = _TEXT.fullmatch(text, stamp[1]) if stamp else None
    try:
        if stamp is None or found is None:
            raise ValueError
        moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S.%f%z")
        wall_time_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise LineProblem(
            LogCode.BAD_HEADER, 1, f"not the header of a log: {shown(text)}"
        ) from None
    offset = moment.utcoffset() or timedelta(0)
    loggers = _LOGGERS.fullmatch(found[2] or "")
    parts = (
        [part.partition(": ") for part in loggers[1].split(", ")] if loggers and loggers[1] else []
    )
    return LifeStart(
        file,
        number,
        stamp[0],
        wall_time_ms,
        offset // timedelta(minutes=1),
        tuple((component, version) for component, _, version in parts),
    )

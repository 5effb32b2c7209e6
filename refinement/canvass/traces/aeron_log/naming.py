"""How the files of members' logs are named in a folder. No file is opened here."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"member-([0-9]{1,18})\.log(?:\.([0-9]{1,9}))?(?:\.gz|\.zst)?")


_SIMILAR: Final = re.compile(r"member.*log.*", re.IGNORECASE)


class LogName(NamedTuple):
    """What the name of a log says."""

    member_id: int
    part: int | None
    """The number of a file that was rolled."""


def parse_log_name(name: str) -> LogName | None:
    """Read the name of a file; None if it is not that of a member's log."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return LogName(int(match[1]), None if match[2] is None else int(match[2]))


def is_log_name(name: str) -> bool:
    """Tell whether a file has the name of a member's log."""
    return _NAME.fullmatch(name) is not None


def is_similar_name(name: str) -> bool:
    """Tell whether the name of a file is almost that of a member's log: somebody may mean one."""
    return _NAME.fullmatch(name) is None and _SIMILAR.fullmatch(name) is not None

"""Releases of Aeron: their numbers, and what is said of them where.

Nothing here reads a line of an event.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from canvass.traces.aeron_log.records import LifeStart

_VERSION: Final = re.compile(
    r"(?:version=)?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9.])"
)


class Release(NamedTuple):
    """A release of Aeron; releases are ordered."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def revision(self) -> str:
        """The revision of the spec that has the release's rules."""
        return "1.49" if self < Release(1, 50) else "1.50"


OLDEST: Final = Release(1, 43)
"""The oldest release whose text is read."""

NAMED: Final = Release(1, 49, 2)
"""The first release whose agent writes releases into the header of the log."""

BUILT_IN: Final = Release(1, 53)
"""The first release that logs without the agent: without lengths, and with each text quoted. Its
header does not name it; the event ``START`` does.
"""


def parse_release(text: str) -> Release | None:
    """The release that a version begins with (``1.53.0-SNAPSHOT``), or None if it is no version."""
    found = _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch = (int(number or 0) for number in found.groups())
    return Release(major, minor, patch)


def release_of(header: LifeStart) -> Release | None:
    """The release of the cluster component that a header names, or None."""
    versions = dict(header.loggers)
    return parse_release(versions["CLUSTER"]) if "CLUSTER" in versions else None

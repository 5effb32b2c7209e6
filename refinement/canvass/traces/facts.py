"""What is missing from a run, as facts: an incomplete run is no fault of its reader.

A fact says what is not there; whether what is there conforms is another question.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.names import wire_name


class FactKind(str, Enum):
    """What is missing."""

    MISSING_STREAM = "MISSING_STREAM"
    """A member has no stream."""
    EMPTY_STREAM = "EMPTY_STREAM"
    """A member's stream has no event."""
    LATE_START = "LATE_START"
    """A member's stream does not begin with step 0."""
    GAP = "GAP"
    """Steps are missing before ``step``."""
    TRUNCATED = "TRUNCATED"
    """A stream stops within a line or within its compressed file."""


class Fact(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name):
    """One thing that is missing from a run."""

    kind: FactKind
    run_id: str
    member_id: int
    step: int = NULL_VALUE
    """The first step after what is missing, -1 if there is none."""
    line: int = NULL_VALUE
    """The line of the stream at which it was noticed, -1 if there is none."""
    detail: str = ""

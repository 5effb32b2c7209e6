"""The verdict on a run, with the reference core as its oracle: fast, and without Java."""

from __future__ import annotations

from pathlib import Path

from canvass.conformance.verdict import RunVerdict
from canvass.conformance.verify import check_run
from support.core_lookup import core_lookup


def checked(run: Path) -> RunVerdict:
    """Check a run; each step is looked up in the core."""
    return check_run(run, core_lookup())

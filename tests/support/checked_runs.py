"""The verdict on a run, with the reference core as its oracle: fast, and without Java."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from canvass.conformance.findings import CorpusVerdict, RunVerdict
from canvass.conformance.verify import check_run, check_units, units_of
from canvass.steps.answers import StepLookup
from support.core_lookup import core_lookup


def checked(run: Path) -> RunVerdict:
    """Check a run; each step is looked up in the core."""
    return check_run(run, core_lookup())


def check_corpus(paths: Iterable[Path], lookup: StepLookup) -> CorpusVerdict:
    """Check all runs of some corpora."""
    return check_units(units_of(paths), lookup)

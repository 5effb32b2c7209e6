"""Which units of a corpus that grows are due: quiet for a while, and not looked at before.

A unit that lacks streams is waited for longer. Times are those of its files, so that a watch that
is started again goes on where the last one was. What has been verified is known from the tables
(`canvass.corpus.history`), which also make each verification appear once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from canvass.corpus.local_units import on_this_machine
from canvass.corpus.plan import Unit, UnitKind, list_units
from canvass.corpus.storage import Place
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import FactKind


class Patience(Struct, frozen=True):
    """For how many seconds a unit must not have changed before it is verified."""

    settle_s: float = 5.0
    """If all its streams are there."""
    patience_s: float = 600.0
    """If streams are missing, or nobody can tell: then it is verified as it is."""


class Arrivals:
    """Finds what has come since the last look.

    Parameters
    ----------
    corpora
        Folders in which units arrive, by path or URL. They may be empty at first.
    patience
        How long a unit is waited for.
    """

    def __init__(self, corpora: Iterable[Place], patience: Patience) -> None:
        self._corpora = tuple(corpora)
        self._patience = patience
        self._seen: dict[str, str] = {}

    def listed(self) -> list[Unit]:
        """List all units.

        Raises
        ------
        TraceError
            As `list_units`, but for a folder in which there is nothing yet.
        """
        return [unit for corpus in self._corpora for unit in _units_of(corpus)]

    def due(self, units: Iterable[Unit]) -> list[Unit]:
        """Give the units that are settled and were not `seen` as they are now."""
        now_ns = time.time_ns()
        return [
            unit
            for unit in units
            if self._seen.get(unit.path) != unit.stat and is_settled(unit, self._patience, now_ns)
        ]

    def seen(self, units: Iterable[Unit]) -> None:
        """Note units as done."""
        self._seen.update((unit.path, unit.stat) for unit in units)


def _units_of(corpus: Place) -> list[Unit]:
    try:
        return list_units([corpus])
    except TraceError as error:
        # A store has no empty folders.
        if error.code is Code.NOT_FOUND and (not isinstance(corpus, Path) or corpus.is_dir()):
            return []
        raise


def is_settled(unit: Unit, patience: Patience, now_ns: int) -> bool:
    """Tell whether a unit has been as it is for long enough."""
    quiet_s = (now_ns - unit.changed_ns) / 1e9
    if quiet_s >= patience.patience_s:
        return True
    return quiet_s >= patience.settle_s and _has_all_streams(unit)


def _has_all_streams(unit: Unit) -> bool:
    """Tell whether nothing of a unit is missing; of logs of Aeron nobody can tell."""
    if unit.kind is not UnitKind.RUN:
        return unit.kind is not UnitKind.AERON_LOGS
    try:
        with on_this_machine([unit], outline=True) as (here,):
            facts = RunFolder(here.location).facts
    except (TraceError, OSError):
        return False
    return all(fact.kind is not FactKind.MISSING_STREAM for fact in facts)

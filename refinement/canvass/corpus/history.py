"""Tables that grow with each verification, and the units of a growing corpus that are due.

The tables record what was verified, when, and against which spec. A verification replaces the
folder ``date=DAY/verification_id=ID`` of each table. ``inputs`` has a row for each unit and is
written last: a verification counts if its id is there. The next verification leaves out the units
whose latest row has the same digests of files, spec and canvass.

Tables: ``verdicts``, ``divergences``, ``coverage``, ``quarantine`` (malformed units with the
reason) and ``inputs``.

``canvass batch watch`` verifies a unit when its files have not changed for a while; longer if the
unit lacks streams.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from canvass.conformance.verdict import Verdict
from canvass.corpus.job import TABLES, CorpusJob
from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.storage import (
    Place,
    clear,
    files_below,
    on_this_machine,
    read_table,
    store,
)
from canvass.corpus.summary import EarlierUnit
from canvass.traces.errors import TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import FactKind
from canvass.version import VERSION

CAUSES: Final = {
    "new": "new",
    "changed": "changed",
    "spec": "verified under another spec",
    "canvass": "verified by another canvass",
    "again": "to be verified again",
    "": "unchanged",
}
"""Why a unit is due, and in words; empty if it is not due."""
_COMPARED: Final = {"changed": "digest", "spec": "spec_digest", "canvass": "canvass_version"}
"""The column that differs from the latest verification, by the cause."""


class Stamp(Struct, frozen=True):
    """A description of a verification."""

    verification_id: str
    verified_at: datetime
    """In UTC."""
    canvass_version: str
    spec_digest: str

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of each row; the id is that of the partition."""
        names = ("verified_at", "canvass_version", "spec_digest")
        return {name: getattr(self, name) for name in names}


class Inputs(Struct, frozen=True):
    """All units of a corpus, compared with their latest verifications."""

    units: tuple[Unit, ...]
    """Each with the cause why it is due, if it is."""
    known: Mapping[str, Mapping[str, Any]]
    """The latest row of ``inputs`` of each unit that was verified before, by its path."""

    @property
    def due(self) -> list[Unit]:
        """The units to be verified."""
        return [unit for unit in self.units if unit.cause]

    def causes(self) -> str:
        """Count the units by cause, in words."""
        counts = Counter(unit.cause for unit in self.units)
        parts = (f"{counts[name]:,} {text}" for name, text in CAUSES.items() if counts[name])
        return "units: " + ", ".join(parts)

    def earlier_units(self) -> list[EarlierUnit]:
        """Count the runs by verdict of each unit that is not due."""
        return [
            EarlierUnit(
                unit.path, {v.value: self.known[unit.path][v.value.lower()] for v in Verdict}
            )
            for unit in self.units
            if not unit.cause
        ]


class History:
    """Tables of verifications in a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    def inputs(
        self, units: Sequence[Unit], spec_digest: str, version: str, *, again: bool = False
    ) -> Inputs:
        """Compare the units with their latest verification.

        Parameters
        ----------
        units
            All units of the corpus.
        spec_digest
            Digest of the current spec.
        version
            The current `checker_version`.
        again
            Whether all units are due.
        """
        known = {
            row["source"]: row for row in self._rows("inputs").sort_by("verified_at").to_pylist()
        }

        def cause(unit: Unit) -> str:
            if unit.path not in known:
                return "new"
            now = {"changed": unit.digest, "spec": spec_digest, "canvass": version}
            before = known[unit.path]
            other = (name for name, value in now.items() if before[_COMPARED[name]] != value)
            return next(other, "again" if again else "")

        return Inputs(tuple(replace(unit, cause=cause(unit)) for unit in units), known)

    def divergences(self) -> set[tuple[str, str]]:
        """Return the classes of divergence in the tables: class, and action or property."""
        found = self._rows("divergences")
        counted = pc.unique(self._rows("inputs")["verification_id"])
        found = found.filter(pc.is_in(found["verification_id"], counted))
        return set(zip(*(found[n].to_pylist() for n in ("divergence_class", "name")), strict=True))

    def _rows(self, table: str) -> Any:
        folder = self._folder / table
        # Files whose names begin with a dot or underscore are being written, or never were whole.
        found = read_table(folder) if any(files_below(folder)) else None
        if found is None or not found.files:
            names = ["source", "verified_at", "verification_id", "divergence_class", "name"]
            return pa.table({name: pa.array([], pa.string()) for name in names})
        with store(folder):
            return found.to_table()

    def append(self, job: CorpusJob, stamp: Stamp) -> dict[str, Place]:
        """Write the tables of a job, ``inputs`` last; return their folders.

        Rows of an earlier verification with the same id are replaced.
        """
        day = f"date={stamp.verified_at:%Y-%m-%d}"
        own = f"verification_id={stamp.verification_id}"
        folders = {name: self._folder / name / day / own for name in TABLES}
        clear(folders["inputs"])  # Until it is there again, the verification does not count.
        job.write(folders, stamp.columns)
        return folders


DECIDING: Final = ("cluster", "traces", "graph", "steps", "conformance", "corpus", "spec", "tlc")
"""The packages whose code decides verdicts, also on logs of Aeron."""


def checker_version() -> str:
    """Return the version of canvass, and a digest of the code that decides verdicts."""
    found = hashlib.blake2b(digest_size=6)
    for name in DECIDING:
        folder = Path(str(import_module(f"canvass.{name}").__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
            found.update(file.read_bytes())
    return f"{VERSION}+{found.hexdigest()}"


def make_stamp(units: Iterable[Unit], version: str, spec_digest: str, now: datetime) -> Stamp:
    """Make the stamp of a verification. Its id is the same for the same units on the same day."""
    found = hashlib.blake2b(f"{version}\n{spec_digest}\n{now:%Y-%m-%d}\n".encode(), digest_size=16)
    for each in sorted(units, key=lambda each: each.path):
        found.update(f"{each.path}\0{each.digest}\n".encode())
    # The letter keeps readers from taking the name of a partition for a number.
    return Stamp(f"v{found.hexdigest()}", now, version, spec_digest)


class Patience(Struct, frozen=True):
    """Seconds without a change after which a unit is verified."""

    settle_s: float = 5.0
    """For a unit with all its streams."""
    patience_s: float = 600.0
    """For a unit that lacks streams, and for logs of Aeron, which may always get more lines."""


def is_settled(unit: Unit, patience: Patience, now_ns: int | None = None) -> bool:
    """Tell whether a unit has not changed for long enough."""
    now_ns = time.time_ns() if now_ns is None else now_ns
    quiet_s = (now_ns - unit.changed_ns) / 1e9
    if quiet_s >= patience.patience_s:
        return True
    return quiet_s >= patience.settle_s and _has_all_streams(unit)


def _has_all_streams(unit: Unit) -> bool:
    """Tell whether a unit has all its streams; False for logs of Aeron, as nothing shows it."""
    if unit.kind is not UnitKind.RUN:
        return unit.kind is not UnitKind.AERON_LOGS
    try:
        with on_this_machine(unit.place) as folder:
            facts = RunFolder(folder).facts
    except TraceError:
        return False
    return all(fact.kind is not FactKind.MISSING_STREAM for fact in facts)

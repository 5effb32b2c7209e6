"""Tables that grow with each verification, and the units of a growing corpus that are due.

The tables record what was verified, when, and against which spec. A verification replaces the
folder ``date=DAY/verification_id=ID`` of each table. ``inputs`` has a row for each unit and is
written last: a verification counts if its id is there. The next verification leaves out the units
whose latest row has the same digests of files, spec and canvass.

Tables: ``verdicts``, ``divergences``, ``coverage``, ``quarantine`` (malformed units with the
reason) and ``inputs``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from canvass.conformance.verdict import Verdict
from canvass.corpus.job import TABLES, CorpusJob
from canvass.corpus.plan import Unit
from canvass.corpus.storage import Place, clear, files_below, read_table, store
from canvass.corpus.summary import EarlierUnit
from canvass.version import VERSION


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


class History:
    """Tables of verifications in a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    def split(
        self, units: Sequence[Unit], spec_digest: str, version: str
    ) -> tuple[list[Unit], list[EarlierUnit]]:
        """Give the units to verify now, and the earlier results that are still valid.

        Parameters
        ----------
        units
            The units.
        spec_digest
            Digest of the current spec.
        version
            The current `checker_version`.
        """
        latest = {
            row["source"]: row for row in self._rows("inputs").sort_by("verified_at").to_pylist()
        }
        due, earlier = [], []
        for unit in units:
            row = latest.get(unit.path, {})
            named = tuple(map(row.get, ("digest", "spec_digest", "canvass_version")))
            if named == (unit.digest, spec_digest, version):
                counts = {verdict.value: row[verdict.value.lower()] for verdict in Verdict}
                earlier.append(EarlierUnit(unit.path, counts))
            else:
                due.append(unit)
        return due, earlier

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

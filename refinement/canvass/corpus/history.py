"""Tables that grow with each verification, and the units of a growing corpus that are due.

The tables record what was verified, when, and against which spec. A verification replaces the
folder ``date=DAY/verification_id=ID`` of each table. ``verdicts`` is written last: a verification
counts if its id is there. The next verification leaves out the units whose latest rows have the
same digests of files, spec and canvass.

Tables: ``quarantine`` (malformed units with the reason), ``divergences``, ``coverage`` and
``verdicts``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from canvass.conformance.findings import Verdict
from canvass.corpus.job import TABLES, CorpusJob
from canvass.corpus.plan import Unit
from canvass.corpus.report import EarlierUnit
from canvass.corpus.storage import Place, clear, files_below, read_table, store
from canvass.version import VERSION

_ID: Final = "verification_id"
_CLASS: Final = ["divergence_class", "name"]
_VERIFIED: Final = ["source", "verified_at", "digest", "spec_digest", "canvass_version"]


class Stamp(NamedTuple):
    """A description of a verification."""

    verification_id: str
    columns: dict[str, Any]
    """Columns that each row has: ``verified_at`` in UTC, ``canvass_version``, ``spec_digest``."""


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
        rows = self._rows("verdicts", [*_VERIFIED, "verdict"]).group_by([*_VERIFIED, "verdict"])
        latest: dict[str, tuple[tuple[Any, ...], dict[str, int]]] = {}
        for row in rows.aggregate([([], "count_all")]).sort_by("verified_at").to_pylist():
            source, *named = map(row.get, _VERIFIED)
            if latest.get(source, ((), {}))[0] != tuple(named):
                latest[source] = tuple(named), dict.fromkeys((v.value for v in Verdict), 0)
            latest[source][1][row["verdict"]] = row["count_all"]
        due, earlier = [], []
        for unit in units:
            (_, *named), counts = latest.get(unit.path, ((None,), {}))
            if named == [unit.digest, spec_digest, version]:
                earlier.append(EarlierUnit(unit.path, counts))
            else:
                due.append(unit)
        return due, earlier

    def divergences(self) -> set[tuple[str, str]]:
        """Return the classes of divergence in the tables: class, and action or property."""
        found = self._rows("divergences", [*_CLASS, _ID])
        counted = self._rows("verdicts", [_ID])[_ID].unique()
        found = found.filter(pc.is_in(found[_ID], counted))
        return set(zip(*(found[name].to_pylist() for name in _CLASS), strict=True))

    def _rows(self, table: str, columns: list[str]) -> Any:
        folder = self._folder / table
        # Files whose names begin with a dot or underscore are being written, or never were whole.
        found = read_table(folder) if any(files_below(folder)) else None
        if found is None or not found.files:
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        with store(folder):
            return found.to_table(columns)

    def append(self, job: CorpusJob, stamp: Stamp) -> None:
        """Write the tables of a job.

        Rows of an earlier verification with the same id are replaced.
        """
        day = f"date={stamp.columns['verified_at']:%Y-%m-%d}"
        own = f"verification_id={stamp.verification_id}"
        folders = {name: self._folder / name / day / own for name in TABLES}
        clear(folders["verdicts"])  # Until it is there again, the verification does not count.
        job.write(folders, stamp.columns)


DECIDING: Final = ("cluster", "traces", "graph", "steps", "conformance", "corpus", "spec", "tlc")
"""The packages whose code decides verdicts, including those on Aeron's logs."""


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
    columns = {"verified_at": now, "canvass_version": version, "spec_digest": spec_digest}
    return Stamp(f"v{found.hexdigest()}", columns)

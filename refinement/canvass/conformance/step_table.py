"""Step tables: the canonical steps that TLC has allowed, as a file that travels with the spec.

A table is grown: TLC is asked about each distinct step of some runs, and the content keys of the
allowed ones are added. It is part of the state graph of a member, without the steps that no run has
taken. ``spec/known-steps.npz`` ships with canvass.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.check import Asking, Progress, check_units
from canvass.conformance.screen import Unit
from canvass.conformance.step_lookup import ALLOWED, NO_STEPS, Ask, StepLookup, ask_tlc, spec_digest
from canvass.conformance.verdict import CorpusVerdict
from canvass.graph.lookup import KeyTable
from canvass.spec.files import spec_root

SHIPPED: Final = "known-steps.npz"


class StepTableError(Exception):
    """A file is no step table, or one of another spec; the message is one line."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """The steps that TLC allows.

    Attributes
    ----------
    digest
        Names the spec, as `canvass.conformance.step_lookup.spec_digest` does.
    keys
        The content keys of the steps, ascending, one for each row of two numbers.
    """

    digest: str
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, digest: str, keys: NDArray[np.uint64]) -> StepTable:
        """Make a table of keys in any order."""
        return cls(digest, np.unique(keys.reshape(-1, 2), axis=0))

    @classmethod
    def read(cls, path: Path) -> StepTable:
        """Read a table.

        Raises
        ------
        StepTableError
            If the file cannot be read or holds something else.
        """
        try:
            with path.open("rb") as file, np.load(file) as found:
                keys, digest = found["keys"], str(found["digest"])
        except OSError as error:
            raise StepTableError(f"{path}: {error.strerror or error}") from None
        except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            raise StepTableError(f"{path}: this is no step table") from None
        if keys.dtype != np.uint64 or keys.ndim != 2 or keys.shape[1] != 2:
            raise StepTableError(f"{path}: this is no step table")
        return cls(digest, keys)

    def write(self, path: Path) -> None:
        """Write the table; equal tables are equal files."""
        aside = path.with_name(f".{path.name}.part")
        with aside.open("wb") as file:
            np.savez_compressed(file, keys=self.keys, digest=np.array(self.digest))
        aside.replace(path)

    def index(self) -> KeyTable:
        """Give the keys in the form in which they are looked up."""
        return KeyTable.build(self.keys, np.zeros(len(self.keys), dtype=np.int64))


def grown(
    base: StepTable | None,
    units: Iterable[Unit],
    progress: Progress | None = None,
    asking: Asking | None = None,
    *,
    oracle: Ask = ask_tlc,
) -> tuple[CorpusVerdict, StepTable]:
    """Check runs, with TLC for each step that a table lacks; give the table with what TLC allows.

    Raises
    ------
    StepTableError
        If the table is one of another spec.
    TlcError
        If TLC cannot run.
    """
    digest = spec_digest()
    if base is not None and base.digest != digest:
        raise StepTableError("the step table was made of another spec; make it anew")
    lookup = StepLookup(oracle, digest=digest, shipped=NO_STEPS if base is None else base.index())
    found = check_units(units, lookup, progress, asking)
    answers = lookup.cached()
    keys = [lookup.shipped.keys, answers.keys[answers.edges == ALLOWED]]
    return found, StepTable.of(digest, np.concatenate(keys))


@cache
def shipped_steps(digest: str) -> KeyTable:
    """Give the steps that ship with canvass: none if they are those of another spec."""
    try:
        table = StepTable.read(spec_root() / SHIPPED)
    except StepTableError:
        table = StepTable("", np.empty((0, 2), dtype=np.uint64))
    if table.digest != digest:
        table = StepTable(digest, np.empty((0, 2), dtype=np.uint64))
    return table.index()

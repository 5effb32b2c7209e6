"""Known steps: the canonical steps that TLC has allowed, as a file that travels with the spec.

TLC is asked about each distinct step of some runs, and the content keys of the allowed ones are
added to the table. It is a part of a member's state graph: the steps that some run has taken.
``spec/known-steps.npz`` ships with canvass.
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
from canvass.spec.files import spec_root
from canvass.steps.lookup import KeyTable

SHIPPED: Final = "known-steps.npz"


class KnownStepsError(Exception):
    """A file holds no known steps, or those of another spec; the message is one line."""


@dataclass(frozen=True, slots=True)
class KnownSteps:
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
    def of(cls, digest: str, keys: NDArray[np.uint64]) -> KnownSteps:
        """Make a table of keys in any order."""
        return cls(digest, np.unique(keys.reshape(-1, 2), axis=0))

    @classmethod
    def read(cls, path: Path) -> KnownSteps:
        """Read a table.

        Raises
        ------
        KnownStepsError
            If the file cannot be read or holds something else.
        """
        try:
            with path.open("rb") as file, np.load(file) as found:
                keys, digest = found["keys"], str(found["digest"])
        except OSError as error:
            raise KnownStepsError(f"{path}: {error.strerror or error}") from None
        except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
            raise KnownStepsError(f"{path}: this is no table of known steps") from None
        if keys.dtype != np.uint64 or keys.ndim != 2 or keys.shape[1] != 2:
            raise KnownStepsError(f"{path}: this is no table of known steps")
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
    base: KnownSteps | None,
    units: Iterable[Unit],
    progress: Progress | None = None,
    asking: Asking | None = None,
    *,
    oracle: Ask = ask_tlc,
) -> tuple[CorpusVerdict, KnownSteps]:
    """Check runs, with TLC for each step that a table lacks; give the table with what TLC allows.

    Raises
    ------
    KnownStepsError
        If the table is one of another spec.
    TlcError
        If TLC cannot run.
    """
    digest = spec_digest()
    if base is not None and base.digest != digest:
        raise KnownStepsError("the table was made of another spec; remove it, and make a new one")
    lookup = StepLookup(oracle, digest=digest, shipped=NO_STEPS if base is None else base.index())
    found = check_units(units, lookup, progress, asking)
    answers = lookup.cached()
    keys = [lookup.shipped.keys, answers.keys[answers.edges == ALLOWED]]
    return found, KnownSteps.of(digest, np.concatenate(keys))


@cache
def shipped_steps(digest: str) -> KeyTable:
    """Give the steps that ship with canvass: none if they are those of another spec."""
    try:
        table = KnownSteps.read(spec_root() / SHIPPED)
    except KnownStepsError:
        return NO_STEPS
    return table.index() if table.digest == digest else NO_STEPS

"""Known steps: the canonical steps that TLC has allowed, as a table that travels with the spec.

``make known-steps`` (``tools/known_steps.py``) fills the table that ships with canvass.
`StepLookup` looks a step up in the table first.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.step_lookup import NO_STEPS
from canvass.spec.files import spec_root
from canvass.steps.distinct import KeyTable

SHIPPED: Final = "known-steps.npz"


class KnownStepsError(Exception):
    """A file is no table of known steps; the message is one line."""


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


@cache
def shipped_steps(digest: str) -> KeyTable:
    """Give the steps that ship with canvass; none if they were made of another spec."""
    try:
        table = KnownSteps.read(spec_root() / SHIPPED)
    except KnownStepsError:
        return NO_STEPS
    return table.index() if table.digest == digest else NO_STEPS

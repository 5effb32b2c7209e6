"""What verification asks about steps: state graphs, the known steps, a cache and TLC put together.

Known steps are the canonical steps that TLC has allowed, as a file that travels with the spec.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.conformance.check import Asking, Progress, check_units
from canvass.conformance.screen import Unit
from canvass.conformance.step_lookup import (
    ALLOWED,
    NO_STEPS,
    RULE_MODULES,
    Ask,
    StepLookup,
    default_cache,
    spec_digest,
)
from canvass.conformance.steps import example_of
from canvass.conformance.verdict import CorpusVerdict
from canvass.graph import GraphError
from canvass.graph.artifact import open_keys, read_manifest
from canvass.graph.folders import file_digest
from canvass.spec.files import spec_root
from canvass.steps.key_table import KeyTable
from canvass.steps.oracle import Answer, ask
from canvass.steps.reduction import reduced
from canvass.steps.step import Step

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
    oracle: Ask = ask,
) -> tuple[CorpusVerdict, KnownSteps]:
    """Check runs, with TLC for each step that a table lacks; give the table with what TLC allows.

    TLC is also asked about the reduced forms of these steps.

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
    asked: dict[Rules, list[Step]] = {}

    def noting(rules: Rules, steps: Sequence[Step]) -> Sequence[Answer]:
        asked.setdefault(rules, []).extend(steps)
        return oracle(rules, steps)

    lookup = StepLookup(noting, digest=digest, shipped=NO_STEPS if base is None else base.index())
    found = check_units(units, lookup, progress, asking)
    for rules, steps in list(asked.items()):
        forms = [example_of(reduced(step, rules), rules) for step in steps]
        lookup.allowed([form for form in forms if form is not None])
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


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """Put together what answers for steps.

    Parameters
    ----------
    graphs
        Folders of state-graph artifacts with a table of keys.
    cache
        Where answers are kept; None for the user's cache folder.
    keep
        Whether answers are kept, and the shipped ones are used.

    Raises
    ------
    GraphError
        If a graph cannot be opened, or is of another state of the spec.
    """
    folder = (cache or default_cache()) if keep else None
    return StepLookup(
        graphs={str(path): _open_keys(path) for path in graphs},
        cache=folder,
        shipped=shipped_steps(spec_digest()) if keep else NO_STEPS,
        reduces=keep,
    )


def _open_keys(path: Path) -> KeyTable:
    """Open the keys of a graph whose edges are what today's spec allows."""
    made_of = read_manifest(path).modules
    for name in RULE_MODULES:
        file = f"{name}.tla"
        if made_of.get(file) != file_digest(spec_root() / file):
            raise GraphError(f"{path}: the graph was made of another {file}; build it again")
    return open_keys(path)

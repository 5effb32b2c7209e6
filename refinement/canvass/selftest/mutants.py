"""The mutants of the protocol core, by name.

`mutated_core` loads one: a core with one rule broken. What kills it is not said here.
"""

from __future__ import annotations

from typing import Final

from canvass.selftest.election_edits import ELECTION_EDITS
from canvass.selftest.log_edits import LOG_EDITS
from canvass.selftest.mutation import Core, Mutant, load

__all__ = ["MUTANTS", "Core", "Mutant", "mutated_core"]

MUTANTS: Final = {mutant.name: mutant for mutant in (*ELECTION_EDITS, *LOG_EDITS)}
"""Every mutant by its name."""


def mutated_core(name: str) -> Core:
    """Load the core with one mutant's edit, beside the real one.

    Raises
    ------
    KeyError
        If no mutant has that name.
    """
    return load(MUTANTS[name])

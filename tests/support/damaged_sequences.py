"""Runs whose events are damaged at random, as the checks of whole runs see them.

A damage puts into an event what another one has there, or a number next to it, or takes events
away. So the checks meet what no recorder writes: logs that fork, receipts without sends, checksums
that contradict each other, streams with gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Choices
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from canvass.conformance.sequence import Sequence, digest
from canvass.traces.run import RunFolder
from canvass.traces.schema import Fact, FactKind, Run

_CELLS: Final = (
    "state",
    "received",
    "sends",
    "votes",
    "commit_sent",
    "checksums",
    "action",
    "replays",
)
_OF_SENDS: Final = ("sends", "votes", "commit_sent")


def sequence_of_folder(path: Path) -> tuple[Run, Sequence]:
    """Give a recorded run and all its events."""
    folder = RunFolder(path)
    parts = [digest(columns, np.zeros(1, dtype=np.int64)) for columns in folder.columns()]
    return folder.run, Sequence.joined(parts)


def without(sequence: Sequence, keep: Any) -> Sequence:
    """Give the events that are to be kept, with what belongs to them."""
    rows = np.arange(len(sequence))
    sends = keep[np.repeat(rows, sequence.sends_of)]
    checksums = keep[np.repeat(rows, sequence.checksums_of)]
    changed: dict[str, Any] = {}
    for field in fields(Sequence):
        chosen = sends if field.name in _OF_SENDS else keep
        chosen = checksums if field.name == "checksums" else chosen
        changed[field.name] = getattr(sequence, field.name)[chosen]
    return Sequence(**changed)


def _put(sequence: Sequence, random: Random) -> Sequence:
    """Put into a cell what another one of its column has, or a number next to what it has."""
    name = random.choice(_CELLS)
    cells = getattr(sequence, name).copy()
    if not len(cells):
        return sequence
    place: tuple[int, ...] = (random.randrange(len(cells)),)
    other: tuple[int, ...] = (random.randrange(len(cells)),)
    if cells.ndim == 2 and random.random() < 0.7:
        column = random.randrange(cells.shape[1])
        place, other = (*place, column), (*other, column)
    # No reader gives a member that is none of any cluster, or an action that there is not.
    is_open = name in ("state", "votes", "commit_sent", "checksums") or place[1:] in ((0,), (2,))
    near = is_open and len(place) == cells.ndim and random.random() < 0.3
    cells[place] = cells[place] + random.choice((1, 32, -32)) if near else cells[other]
    cells = np.maximum(cells, -1) if name in ("state", "commit_sent", "votes") else cells
    return replace(sequence, **{name: cells})


def _break(sequence: Sequence, random: Random) -> Sequence:
    """Break the recording log of a state."""
    coherent = sequence.coherent.copy()
    coherent[random.randrange(len(coherent))] = False
    return replace(sequence, coherent=coherent)


def damaged(run: Run, sequence: Sequence, random: Random) -> tuple[Sequence, tuple[Fact, ...]]:
    """Damage a run in some places; tell what is missing then."""
    facts: tuple[Fact, ...] = ()
    if random.random() < 0.4:
        keep = np.ones(len(sequence), dtype=np.bool_)
        first = random.randrange(len(keep))
        keep[first : first + random.randint(1, 8)] = False
        gone = np.unique(sequence.member[~keep]).tolist()
        facts = tuple(Fact(FactKind.GAP, run.run_id, member, 0, 0) for member in gone)
        sequence = without(sequence, keep)
    kinds: Choices[Callable[[Sequence, Random], Sequence]] = [_put] * 6 + [_break]
    for _ in range(random.choice((0, 1, 1, 2, 5, 20))):
        sequence = random.choice(kinds)(sequence, random)
    return sequence, facts

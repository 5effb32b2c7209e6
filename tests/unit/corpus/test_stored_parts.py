"""The stored parts of a run have the content of the run, whichever column is asked for."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from canvass.conformance.sequence import KEPT, Sequence, digest
from canvass.corpus.parts import PartOfRun, StoredSequence, joined, store, stored_part
from canvass.traces.run import RunFolder
from support.corpora import record_runs


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> list[Sequence]:
    """The events of one run, in pieces."""
    folder = RunFolder(record_runs(tmp_path_factory.mktemp("stored") / "runs", 1, 120) / "run-0")
    pieces = [digest(columns, np.zeros(1, dtype=np.int64)) for columns in folder.columns()]
    return [part for piece in pieces for part in piece.split([0, 7, 7, len(piece)])]


def stored(folder: Path, sequences: list[Sequence]) -> list[Path]:
    """Store parts, and one without events that nothing is known of."""
    paths = []
    for number, sequence in enumerate([None, *sequences]):
        part = PartOfRun(run_id="run-0", events=0 if sequence is None else len(sequence))
        paths.append(folder / f"{number}.part")
        store(paths[-1], part, sequence)
        assert stored_part(paths[-1]) == part
    return paths


def test_a_stored_sequence_is_that_of_its_parts(streams: list[Sequence], tmp_path: Path) -> None:
    expected = Sequence.joined(streams)

    found = joined(stored(tmp_path, streams))

    assert found is not None
    assert len(found) == len(expected) > 100
    for field in fields(Sequence):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(ours, theirs), field.name
    for name in KEPT:
        assert np.array_equal(found.kept(name), expected.kept(name)), name


@pytest.mark.parametrize(
    "value", [0, -1, 127, 128, -129, 32768, -(2**31), 2**31, 2**63 - 1, -(2**63)]
)
def test_numbers_of_any_size_are_stored(
    streams: list[Sequence], tmp_path: Path, value: int
) -> None:
    """Each part has the narrowest kind that holds its own numbers."""
    steps = np.full(len(streams[0]), value, dtype=np.int64)
    changed = [replace(streams[0], step=steps), *streams[1:]]

    found = joined(stored(tmp_path, changed))

    assert found is not None
    assert np.array_equal(found.step, Sequence.joined(changed).step)


def test_parts_without_events_are_no_sequence(tmp_path: Path) -> None:
    assert joined(stored(tmp_path, [])) is None


def test_a_stored_sequence_has_the_fields_of_a_sequence_only(
    streams: list[Sequence], tmp_path: Path
) -> None:
    found = StoredSequence(stored(tmp_path, streams))

    with pytest.raises(AttributeError, match="no_such"):
        found.no_such  # noqa: B018

"""A whole run gets the same verdict whether its events are in memory or in stored parts.

Runs are damaged in many ways by random, so that every check has something to find. They are joined
from parts that begin anywhere, and looked at in windows much shorter than the run, in arrays that
are files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from canvass.conformance import long_arrays
from canvass.conformance.diagnose import divergences_of
from canvass.conformance.safety_monitors import PROPERTIES
from canvass.conformance.screen import WholeRun, check_whole
from canvass.conformance.sequence import Sequence
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.parts import PartOfRun, StoredSequence, joined, store
from canvass.steps.step import Step
from canvass.traces.schema import Run
from support.corpora import record_runs
from support.damaged_sequences import damaged, sequence_of_folder

RUNS = 6


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Run, Sequence]]:
    """Good runs, with restarts and several leaders."""
    corpus = record_runs(tmp_path_factory.mktemp("joined") / "runs", RUNS, 250)
    return [sequence_of_folder(path) for path in sorted(corpus.iterdir())]


def in_parts(sequence: Sequence, inner: list[int], folder: Path) -> Sequence:
    """Store a run in parts, and give it as it is joined."""
    paths = []
    bounds = [0, *sorted(inner), len(sequence)]
    for number, part in enumerate(sequence.split(bounds)):
        paths.append(folder / f"{number}.part")
        store(paths[-1], PartOfRun(run_id="run", events=len(part)), part)
    found = joined(paths)
    assert found is not None
    return found


def results_of(found: WholeRun) -> tuple[object, ...]:
    """All that is found, as values that can be compared."""
    order = found.order
    arrays = (order.order, order.found, order.source, order.before, order.rank, order.starts)
    led = order.leaderships
    return (
        found.facts,
        found.broken,
        *(cells.tolist() for cells in arrays),
        *(cells.tolist() for cells in (led.row, led.end, led.member, led.term, led.base)),
    )


def compare(
    recorded: list[tuple[Run, Sequence]], seeds: range, folder: Path, patch: pytest.MonkeyPatch
) -> Counter[str]:
    """Damage runs, check each in both ways; count what was found."""
    names: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        run, sound = recorded[seed % len(recorded)]
        sequence, facts = damaged(run, sound, random)
        patch.setattr(long_arrays, "WINDOW", 1 << 20)
        patch.setattr(long_arrays, "FILE_BYTES", 1 << 26)
        whole = check_whole(run, sequence, facts)
        inner = [random.randrange(len(sequence)) for _ in range(random.randrange(1, 9))]
        patch.setattr(long_arrays, "WINDOW", random.choice((3, 20, 100, 400)))
        patch.setattr(long_arrays, "FILE_BYTES", random.choice((0, 400)))

        found = check_whole(run, in_parts(sequence, inner, folder), facts)

        assert results_of(found) == results_of(whole), f"seed {seed}"
        names.update(one.name for one in whole.broken)
        names.update(f"problem {n}" for n in np.unique(whole.order.found).tolist())
    return names


def test_damaged_runs_are_reported_alike_whole_and_in_parts(
    recorded: list[tuple[Run, Sequence]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = compare(recorded, range(60), tmp_path, monkeypatch)

    assert len(names) > 10, names


@pytest.mark.night
def test_many_damaged_runs_are_reported_alike_whole_and_in_parts(
    recorded: list[tuple[Run, Sequence]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = compare(recorded, range(1000, 2000), tmp_path, monkeypatch)

    # What such damages lead to seldom or, as with LogMatching, never is left to stories.
    seldom = {"LogMatching", "ElectionSafety", "AppliedWithinCommitted"}
    assert {*PROPERTIES, "LogStream"} - seldom <= names.keys(), names
    assert {f"problem {number}" for number in range(1, 10)} <= names.keys(), names


def test_very_many_faults_of_a_run_are_not_looked_at_one_by_one(
    recorded: list[tuple[Run, Sequence]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at one of them reads columns of the whole run, and places it in its order."""
    run, sound = recorded[0]
    received = sound.received.copy()
    received[received[:, 0] >= 0, 2] += 1
    sequence = in_parts(replace(sound, received=received), [9, 99], tmp_path)
    whole = check_whole(run, sequence, ())
    assert np.count_nonzero(whole.order.found) > 50
    reads: list[str] = []
    read = StoredSequence.column

    def counted(own: StoredSequence, name: str, *words: Any) -> Any:
        reads.append(name)
        return read(own, name, *words)

    monkeypatch.setattr(StoredSequence, "column", counted)

    found = divergences_of(
        run, sequence, whole, np.empty(0, dtype=np.int64), _no_step, StepLookup()
    )

    assert [one.name for one in found] == ["MessageCausality"]
    assert found[0].rank == whole.order.rank[np.flatnonzero(whole.order.found)].min()
    assert len(reads) < 10, reads


def _no_step(row: int) -> Step:
    raise AssertionError(f"no step is wrong, nor that in row {row}")


def test_the_events_of_damaged_runs_come_back_in_any_spans(
    recorded: list[tuple[Run, Sequence]], tmp_path: Path
) -> None:
    run, sound = recorded[0]
    for seed in range(20):
        random = Random(seed)
        sequence, _ = damaged(run, sound, random)
        count = len(sequence)
        found = in_parts(sequence, [random.randrange(count) for _ in range(5)], tmp_path)
        bounds = sorted(random.randrange(count + 1) for _ in range(8))
        spans = list(zip(bounds[::2], bounds[1::2], strict=True))
        expected = np.concatenate([sequence.step[first:end] for first, end in spans])

        assert np.array_equal(found.column("step", None, spans), expected)
        assert np.array_equal(sequence.column("step", None, spans), expected)
        for name in ("commit_position", "election_state"):
            assert np.array_equal(found.kept(name, spans), sequence.kept(name, spans))
        checksums = np.concatenate(list(found.checksum_parts()))
        assert np.array_equal(checksums, sequence.checksums)

"""The self-test's corrupted runs are rejected for the right reason; the core answers for TLC."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from canvass.cli.doctor import RUNS
from canvass.cluster.rules import Rules
from canvass.conformance.findings import Verdict
from canvass.conformance.verify import check_units
from canvass.selftest import corruptions
from canvass.selftest.corruptions import CORRUPTIONS, Corrupted, Corruption, RecordedRun
from canvass.selftest.runs import check_runs, record_run
from support.core_lookup import ask_core, core_lookup

NIGHTLY = [pytest.param(seed, RUNS, marks=pytest.mark.night) for seed in range(5)]


@pytest.mark.parametrize(("seed", "runs"), [(0, 10 * len(CORRUPTIONS)), *NIGHTLY])
def test_corrupted_runs_are_rejected_for_the_right_reason(
    tmp_path: Path, seed: int, runs: int
) -> None:
    found = check_runs(tmp_path, good=0, corrupted=runs, seed=seed, oracle=ask_core)

    assert found.wrong == []
    each = runs // len(CORRUPTIONS)
    assert found.corrupted == {corruption.__name__: each for corruption in CORRUPTIONS}


class Chosen(random.Random):
    """Draws a given member and step instead of random ones."""

    def __init__(self, member: int, step: int) -> None:
        super().__init__(0)
        self._numbers = [step, member]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Give the member, then the step."""
        return self._numbers.pop()


@pytest.mark.parametrize(
    "corruption", [corruptions.event_dropped_unseen, corruptions.message_from_nowhere]
)
def test_the_last_message_of_a_stream_is_missed_as_well(
    tmp_path: Path, corruption: Corruption
) -> None:
    """Each step of a run is corrupted. A stream without its last sends may have ended early."""
    record_run(tmp_path / "good", Rules.of("1.50"), seed=0, steps=70)
    good = RecordedRun.read(tmp_path / "good")
    expected: dict[str, Corrupted] = {}
    for member, stream in good.streams.items():
        for step in range(len(stream)):
            drawn = corruption(good, Chosen(member, step))
            if isinstance(drawn, Corrupted):
                name = f"{member}-{step}"
                good.write(tmp_path / name, name, drawn.streams)
                expected[name] = drawn

    verdicts = check_units([tmp_path / name for name in expected], core_lookup()).runs

    assert [each.run_id for each in verdicts if not expected[each.run_id].is_found(each)] == []
    ends = [each for each in expected.values() if each.verdict is Verdict.INCOMPLETE]
    assert bool(ends) == (corruption is corruptions.event_dropped_unseen)

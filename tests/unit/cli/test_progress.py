"""Progress messages of commands on stderr, on a terminal and elsewhere."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path

import pytest

from canvass.cli.output import Stages
from canvass.cluster.rules import Rules
from canvass.conformance.verify import check_units
from canvass.selftest.runs import record_run
from canvass.traces.alignment import importer
from canvass.traces.alignment.alignment import align
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import SAMPLES
from support.core_lookup import core_lookup


class Clock:
    """A clock that goes on by a second whenever somebody waits, and ends the wait at last."""

    def __init__(self, seconds: int) -> None:
        self.now = 0.0
        self._left = seconds

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        self._left -= 1
        return self._left < 0

    def is_set(self) -> bool:
        return self._left < 0


def shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: int,
    *stages: str,
) -> list[str]:
    """The text written while a command is in the last stage for this many seconds."""
    clock = Clock(seconds)
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    progress = Stages()
    for stage in stages:
        progress.stage(stage)
        if stage == "reading":
            progress.detail(lambda so_far: f"after {so_far:.0f} seconds")
    monkeypatch.setattr(progress._ended, "wait", clock.wait)
    progress._look()
    return capsys.readouterr().err.splitlines()


def test_a_short_command_writes_nothing_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, capsys, 9, "reading") == []


def test_a_long_stage_is_shown_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, capsys, 25, "reading") == [
        "canvass: [ 10.0 s] reading: after 10 seconds",
        "canvass: [ 20.0 s] reading: after 20 seconds",
    ]


def test_a_stage_does_not_show_the_detail_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, capsys, 15, "reading", "checking") == ["canvass: [ 10.0 s] checking"]


def test_checking_tells_how_far_it_is_and_what_tlc_is_asked(tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("a", "b")]
    for seed, folder in enumerate(runs):
        record_run(folder, Rules.of("1.50"), seed, 100, faults=0.0, run_id=folder.name)
    read: list[tuple[int, int, int]] = []
    asked: list[int] = []

    found = check_units(runs, core_lookup(), lambda *far: read.append(far), asked.append)

    assert {each[:2] for each in read} >= {(1, 2), (2, 2)}
    assert read[-1] == (2, 2, found.counts.events)
    assert asked == [found.counts.asked_of_oracle]


def test_an_import_names_what_it_reads_and_aligns(tmp_path: Path) -> None:
    said: list[str] = []

    import_logs([SAMPLES[0]], tmp_path / "run", say=said.append)

    assert said[:3] == [f"reading the log of member {k} ({k + 1} of 3)" for k in range(3)]
    assert said[3] == "aligning the logs and writing the run"


def test_a_long_import_tells_after_each_segment_how_many_lines_are_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "KEPT_LINES", 100)
    monkeypatch.setattr(importer, "align", partial(align, segment_lines=100))
    said: list[str] = []

    summary = import_logs([SAMPLES[0]], tmp_path / "run", say=said.append)

    total = sum(member.lines for member in summary.members)
    numbers = [re.findall(r"([\d,]+) of ([\d,]+) lines", one) for one in said[4:]]
    met, of = zip(
        *(tuple(int(n.replace(",", "")) for n in pair) for (pair,) in numbers), strict=True
    )
    assert len(set(met)) > 6
    assert list(met) == sorted(met)
    assert met[-1] == sum(member.accounted for member in summary.members)
    assert set(of) == {total}

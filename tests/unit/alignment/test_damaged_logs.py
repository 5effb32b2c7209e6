"""Logs with other ends of lines, clocks, copies and gaps: no line of them is accused.

What chance does to log files is in `test_hostile_clusters`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from canvass.conformance.findings import Verdict
from canvass.traces.alignment.importer import EXPLAINED, INCOMPLETE, import_logs
from support.aeron_hostile_clusters import Files, write_files
from support.aeron_runs import SAMPLES, captures, lines_by_member
from support.checked_runs import checked


def files_of(path: Path) -> Files:
    return {
        f"member-{i}.log": ("\n".join(lines) + "\n").encode()
        for i, lines in lines_by_member(path).items()
    }


@pytest.mark.night
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
@pytest.mark.parametrize("member_id", range(3))
def test_a_host_with_another_clock_contradicts_nothing(
    path: Path, member_id: int, tmp_path: Path
) -> None:
    """Each log is on its own clock, and how the clocks stand to each other is known but roughly."""
    files = files_of(path)
    name = f"member-{member_id}.log"
    files[name] = re.sub(
        rb"(?m)^\[(\d+)\.", lambda stamp: b"[%d." % (int(stamp[1]) + 3), files[name]
    )
    summary = import_logs([write_files(tmp_path / "logs", files)], tmp_path / "run")
    verdict = checked(tmp_path / "run")

    assert summary.outcome in (EXPLAINED, INCOMPLETE), summary.contradiction
    assert verdict.verdict is not Verdict.DIVERGES, verdict


LOST = 60
"""Lines of a gap."""
STOPPED = ("b-leader-killed", 0, 3)
"""A gap that the run does not reach: its members wait for each other before. Others have received
messages of the missing lines.
"""


def gaps_of_samples() -> Iterator[ParameterSet]:
    for path, member_id, begin in product(SAMPLES, range(3), (1, 3, 5)):
        fast = path == SAMPLES[0] or (path.name, member_id, begin) == STOPPED
        name = f"{path.name}-{member_id}-{begin}"
        marks = () if fast else pytest.mark.night
        yield pytest.param(path, member_id, begin, marks=marks, id=name)


@pytest.mark.parametrize(("path", "member_id", "begin"), list(gaps_of_samples()))
def test_lines_that_are_cut_out_contradict_nothing(
    path: Path, member_id: int, begin: int, tmp_path: Path
) -> None:
    """The gap may lie where no other line shows its contents: then all is explained."""
    files = files_of(path)
    name = f"member-{member_id}.log"
    lines = files[name].split(b"\n")
    at = len(lines) * begin // 6
    files[name] = b"\n".join(lines[:at] + lines[at + LOST :])
    summary = import_logs([write_files(tmp_path / "logs", files)], tmp_path / "run")
    verdict = checked(tmp_path / "run")

    assert summary.outcome in (INCOMPLETE, EXPLAINED), summary.contradiction
    assert verdict.verdict is not Verdict.DIVERGES, verdict

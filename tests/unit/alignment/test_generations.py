"""Logs of the agent of 1.52 and of the built-in logger of 1.53 are imported as one run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.traces.aeron_log.records import LogRecord, ProcessStart
from canvass.traces.aeron_log.releases import RELEASES
from canvass.traces.alignment.importer import import_logs
from canvass.traces.run import RUN_FILE
from support.aeron_runs import SAMPLES, lines_of, read_cluster, write_logs
from support.aeron_simulated import options_of, simulate
from support.aeron_text import line_of_1_52, line_of_1_53, texts_of

Printed = Callable[[LogRecord], str]
Lines = dict[int, list[LogRecord]]


def run_of(lines: Lines, printed: Printed, folder: Path) -> dict[str, object]:
    """The files of the run that is imported of a printed log, without the releases.

    The header of 1.53 names no release, and simulated members print no ``START``.
    """
    logs = write_logs(folder / "logs", texts_of(lines, printed))
    import_logs([logs], folder / "run")
    files = {path.name: path.read_bytes() for path in sorted((folder / "run").iterdir())}
    run = json.loads(files[RUN_FILE])
    del run["source"][RELEASES]
    return {**files, RUN_FILE: run}


@pytest.mark.parametrize("story", ["kills", "operators"])
def test_a_simulated_run_in_both_forms(story: str, tmp_path: Path) -> None:
    lines = simulate(options_of(story, 1, 3, 1_500)).lines
    agent, built_in = (
        run_of(lines, printed, tmp_path / printed.__name__)
        for printed in (line_of_1_52, line_of_1_53)
    )

    assert agent.keys() == {"run.json", "member-0.ndjson", "member-1.ndjson", "member-2.ndjson"}
    assert agent == built_in


@pytest.mark.parametrize("path", SAMPLES[:1], ids=lambda path: path.name)
def test_a_captured_run_in_both_forms(path: Path, tmp_path: Path) -> None:
    """The lines of the cluster component only; no other is known how 1.53 would print it."""
    logs = read_cluster([path])
    lines: Lines = {
        member_id: [
            line
            for line in log.records
            if isinstance(line, ProcessStart) or hasattr(line, "member_id")
        ]
        for member_id, log in logs.members.items()
    }
    agent, built_in = (
        run_of(lines, printed, tmp_path / printed.__name__)
        for printed in (line_of_1_52, line_of_1_53)
    )

    assert agent == built_in


def test_the_lines_are_those_that_aeron_prints() -> None:
    """A captured line, read and printed, is the same line, but for the lengths in brackets."""
    for path in SAMPLES:
        for member_id, log in read_cluster([path]).members.items():
            text = lines_of(path, member_id)
            for record in log.records:
                if hasattr(record, "member_id"):
                    line = re.sub(r" \[\d+/\d+\]:", " [99/99]:", text[record.line - 1])
                    assert line == line_of_1_52(record)

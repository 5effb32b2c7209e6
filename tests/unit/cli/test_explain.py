"""``canvass explain``: what it prints, and how it ends."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from canvass.cli import explain
from canvass.explanation.explanation import explain as explain_timeline
from canvass.explanation.reading import read
from support.aeron_runs import SAMPLES
from support.aeron_story import StoryLog, lead, write_story

Command = Callable[..., tuple[int, str, str]]
SAMPLE = SAMPLES[-1]


def test_rows_that_are_left_out_are_counted(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "_ROWS", 2)
    _, out, _ = command("explain", SAMPLE)

    assert "  and 1 earlier leadership (--format json)\n" in out
    assert "  and 1 earlier election; --election N shows each\n" in out


def test_a_page_has_the_tables_and_escapes_what_logs_say(command: Command, tmp_path: Path) -> None:
    log = StoryLog(0)
    lead(log, (), 100.0, 101.0)
    log.module(102.0, "ACTIVE CLOSED", "<script>alert(1)</script>")
    page = tmp_path / "page.html"
    command("verify", write_story(tmp_path / "logs", [log]), "--html", page)

    assert "Who led when" in page.read_text()
    assert "&lt;script&gt;" in page.read_text()
    assert "<script" not in page.read_text()


@pytest.mark.parametrize("name", ["aeron-hz1", "aeron-hz2", "aeron-hz3", "aeron-hz6", "aeron-la"])
@pytest.mark.parametrize("width", [80, 100])
def test_a_terminal_breaks_rows_between_words_and_shows_evidence_beside_them(
    name: str, width: int
) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, markup=False, highlight=False)
    found = explain_timeline(read(SAMPLE.parents[1] / name))
    explain.show(console, found)
    rows = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    places = re.findall(r"\bmember-\d\.log\.gz:\d+", " ".join(rows))
    words = {word for row in rows for word in row.split()}
    first = found.elections[0].sentence

    assert max(map(len, rows)) <= width
    assert {str(one) for one in first.evidence} <= {*places}
    assert {*first.text.split()} <= words
    assert not any(row.endswith(("[membe", "member-")) for row in rows)

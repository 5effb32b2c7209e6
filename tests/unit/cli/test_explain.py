"""``canvass explain``: what it prints, and how it ends."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from canvass.cli import explain
from canvass.explanation.explanation import explain as explain_timeline
from canvass.explanation.reading import read
from support.aeron_runs import SAMPLES, release_logs
from support.aeron_story import StoryLog, lead, write_story

Command = Callable[..., tuple[int, str, str]]
SAMPLE = SAMPLES[-1]
_SYSTEM = Path(__file__).parents[2] / "captures" / "system"
RESTARTED = _SYSTEM / "ClusterTest.shouldStopLeaderAndRestartAsFollower.log.gz"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (["1.52.2", "1.52.2"], ["Aeron 1.52.2 (members 0, 1); revision 1.50 of the spec, chosen"]),
        (
            ["1.49.3", "1.52.2"],
            [
                "Aeron 1.49.3 (member 0), 1.52.2 (member 1); revision 1.50 of the spec, chosen by",
                "note: release 1.49.3 (member 0) has the rules of revision 1.49;",
            ],
        ),
        (
            ["1.60.0", "1.60.0"],
            ["Aeron 1.60.0 (members 0, 1)", "note: release 1.60.0 (members 0, 1) has not been"],
        ),
        (["", ""], ["Aeron, release unknown (members 0, 1); revision", "note: no log names its"]),
    ],
    ids=["one", "two", "newer", "none"],
)
def test_the_releases_are_named(
    headers: list[str], said: list[str], command: Command, tmp_path: Path
) -> None:
    """The answer about logs and that about the run imported from them name them."""
    stories = [StoryLog(0), StoryLog(1)]
    lead(stories[0], stories[1:], 100.0, 103.0)
    for story, release in zip(stories, headers, strict=True):
        lines = [line.replace("version=1.52.2", f"version={release}") for line in story.lines]
        story.lines = [line for line in lines if release or "log started" not in line]
    logs = write_story(tmp_path / "logs", stories)
    command("import", "aeron", logs, "--out", tmp_path / "run")

    for source in (logs, tmp_path / "run"):
        _, out, _ = command("explain", source)
        shown = out.splitlines()[1 : 1 + len(said)]
        assert all(line.startswith(words) for line, words in zip(shown, said, strict=True))


def test_a_run_with_a_request_to_terminate_is_explained(command: Command, tmp_path: Path) -> None:
    """All members take a snapshot and terminate; the run has these steps but not their lines."""
    logs = release_logs("1.50.4-kills")
    command("import", "aeron", logs, "--out", tmp_path / "run")
    streams = (tmp_path / "run").glob("*.ndjson")
    actions = {
        json.loads(line)["action"] for one in streams for line in one.read_text().splitlines()
    }
    code, out, _ = command("explain", tmp_path / "run")

    assert {"InitiateTermination", "TakeSnapshot", "Terminate"} <= actions
    assert code == 0
    assert "Election 1: member" in out


def test_rows_that_are_left_out_are_counted(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "_ROWS", 2)
    _, out, _ = command("explain", SAMPLE)

    assert "  and 1 earlier leadership (--format json)\n" in out
    assert "  and 1 earlier election; --election N shows each\n" in out


def test_members_that_never_ran_are_counted_if_config_json_says_so(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "all.log").write_text(gzip.decompress(RESTARTED.read_bytes()).decode())
    (tmp_path / "config.json").write_text('{"members": 4}')
    code, out, _ = command("explain", tmp_path / "all.log")

    assert (code, out.splitlines()[0].split(",")[0]) == (0, "4 members")


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

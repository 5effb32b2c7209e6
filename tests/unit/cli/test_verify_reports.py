"""The reports of ``canvass verify`` that are files for others."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from canvass.cli import output
from canvass.cluster.rules import Rules
from canvass.conformance import verify
from canvass.selftest.runs import record_run
from support import corruptions
from support.aeron_runs import SAMPLES
from support.core_lookup import core_lookup
from support.corruptions import corrupted

Command = Callable[..., Any]
HAZARD = Path(__file__).parents[3] / "samples" / "aeron-hz3-acknowledged"


@pytest.fixture(autouse=True)
def without_tlc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core answers in place of TLC."""
    monkeypatch.setattr(verify, "make_lookup", lambda *_, **__: core_lookup())


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reports")
    record_run(root / "good", Rules.of("1.50"), 0, 300, faults=0.0, run_id="good")
    return corrupted(root / "good", root / "bad", corruptions.commit_too_far)


def test_the_page_is_written_beside_the_verdicts(
    command: Command, bad: Path, tmp_path: Path
) -> None:
    beside = command("verify", bad, "--html", tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text()
    assert beside.code == 1
    assert beside.out.startswith("DIVERGES    good ")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert page.count('<pre class="lanes"') == 1


def shown_again(out: str) -> list[str]:
    """The words of the command that shows a divergence again."""
    (line,) = (one for one in out.splitlines() if "See it again: " in one)
    return line.partition("See it again: canvass ")[2].split()


@pytest.mark.parametrize("form", ["folder", "data set"])
def test_a_person_is_reported_the_command_that_shows_it_again(
    form: str, command: Command, bad: Path, tmp_path: Path
) -> None:
    """A run of a data set is named by its id, too."""
    if form == "data set":
        shutil.copytree(bad, tmp_path / "runs" / "good")
        record_run(tmp_path / "runs" / "fine", Rules.of("1.50"), 0, 50, faults=0.0, run_id="fine")
        bad = tmp_path / "set"
        command("trace", "convert", tmp_path / "runs", bad)
    words = shown_again(command("verify", bad).out)

    shown = command(*words)
    assert shown.code == 0
    assert f"● {words[-1].split(':')[1]} ConsumeLog" in shown.out


def test_what_shows_a_run_of_logs_again_names_the_logs(command: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = command("verify", HAZARD, "--html", page)
    report = json.loads(command("verify", HAZARD, "--format", "json").out)
    words = shown_again(ended.out)

    assert words[:3] == ["trace", "show", str(HAZARD)]
    assert command(*words).code == 0
    assert [run["path"] for run in report["runs"]] == [str(HAZARD)]
    assert f"canvass {' '.join(words)}" in page.read_text()


def test_no_row_of_a_terminal_ends_within_a_word() -> None:
    said = (
        "  [bold]HZ1[/]: " + " ".join(f"{'position':>{k % 11}}{k}" for k in range(60)) + "\n\nend\n"
    )
    for width in (40, 57, 80):
        file = io.StringIO()
        console = Console(file=file, force_terminal=True, color_system=None, width=width)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(output, "rendered", lambda _: said)
            output.show("verify", console)
        rows = file.getvalue().split("\n")
        assert max(map(len, rows)) <= width
        assert " ".join(rows).split() == said.replace("[bold]", "").replace("[/]", "").split()
        assert rows[-4:] == [rows[-4], "", "end", ""]


def test_a_page_that_cannot_be_written_is_reported_in_one_line(command: Command, bad: Path) -> None:
    ended = command("verify", bad, "--html", bad / "no" / "page.html")

    assert ended.code == 2
    assert "page.html: there is no such folder" in ended.err
    assert ended.err.count("\n") == 1


def test_a_divergence_of_an_imported_run_names_the_lines_of_the_logs(
    command: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    command("import", "aeron", SAMPLES[-1], "--out", run)
    stream = run / "member-0.ndjson"
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    shown = next(k for k, event in enumerate(events) if k > 20 and "source" in event)
    inferred = next(k for k in range(shown + 1, len(events)) if "source" not in events[k])
    for step, what in ((shown, "the step"), (inferred, "the last line before the step")):
        changed = [{**event, "sends": []} if k == step else event for k, event in enumerate(events)]
        changed[step]["state"] = {**changed[step].get("state", {}), "commitPosition": 7}
        stream.write_text("".join(f"{json.dumps(event)}\n" for event in changed))
        line = next(e["source"]["lines"] for e in reversed(events[: step + 1]) if "source" in e)
        said = f"{what} in Aeron's event log: member-0.log.gz:{line[0 if step == shown else -1]}"
        code, out, _ = command("verify", run)
        page = tmp_path / "page.html"
        _, junit, _ = command("verify", run, "--format", "junit", "--html", page)

        assert code == 1
        assert said in out
        assert said in unescape(junit)
        assert f"member-0.log.gz:{line[0 if step == shown else -1]}" in page.read_text()

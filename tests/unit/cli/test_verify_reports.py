"""The reports of ``canvass verify`` that are files for others."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from canvass.cli import output
from support.aeron_runs import SAMPLES

Command = Callable[..., Any]


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


def test_a_divergence_of_an_imported_run_names_the_lines_of_the_logs(
    command: Command, without_tlc: None, tmp_path: Path
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

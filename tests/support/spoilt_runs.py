"""Corpora with one damaged run of each kind, made of good runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lines = list[str]


def edit(stream: Path, change: Callable[[Lines], Lines]) -> None:
    """Change the lines of a stream."""
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(change(lines)))


def edit_event(stream: Path, place: int, change: Callable[[Any], None]) -> None:
    """Change one event of a stream."""

    def changed(lines: Lines) -> Lines:
        event = json.loads(lines[place])
        change(event)
        lines[place] = json.dumps(event, separators=(",", ":")) + "\n"
        return lines

    edit(stream, changed)


def _other_state(event: Any) -> None:
    state = event["state"]
    state["electionState"] = "CANVASS" if state["electionState"] != "CANVASS" else "NOMINATE"


def forged_commit(event: Any) -> None:
    event["state"]["commitPosition"] += 1 << 20


def _first_send(stream: Path) -> int:
    lines = stream.read_text().splitlines()
    return next(place for place, line in enumerate(lines) if '"sends":[{' in line)


def corrupt(corpus: Path) -> dict[str, str]:
    """Damage the first runs of a corpus, each in its own way; give the right verdict on each.

    The corpus needs at least eight runs. Each kind of damage is chosen so that the run cannot
    conform afterwards.
    """
    runs = sorted(folder for folder in corpus.iterdir() if folder.is_dir())
    stream = "member-0.ndjson"
    (runs[0] / "member-2.ndjson").unlink()
    edit(runs[1] / stream, lambda lines: [*lines[:9], *lines[10:]])
    edit(runs[2] / stream, lambda lines: [*lines[:-1], lines[-1][:50]])
    edit(runs[3] / stream, lambda lines: [*lines[:9], "{nonsense\n", *lines[10:]])
    (runs[4] / "run.json").unlink()
    edit_event(runs[5] / stream, -1, _other_state)
    edit_event(runs[6] / stream, -1, forged_commit)
    place = _first_send(runs[7] / stream)
    edit_event(runs[7] / stream, place, lambda event: event["sends"].pop())
    due = ["INCOMPLETE"] * 3 + ["MALFORMED"] * 2 + ["DIVERGES"] * 3
    return {run.name: verdict for run, verdict in zip(runs, due, strict=False)}

"""Import and check captured clusters, and print the result of each.

Run with `python benchmarks/aeron_captures.py [DIR...] [-- OPTION...]`. Each DIR is a captured
cluster or a folder of captures; without one, the script takes the captures that tests use. Options
after `--` go to `canvass import aeron`. The import runs as its own process, so a traceback or a
hang is an outcome like any other. The run is then checked step by step against the reference core,
or with `--tlc` by `canvass verify`.

`--drop NAMES` leaves out the lines of events, as if the events had been disabled; `production`
stands for the events that Aeron's basic-auction-cluster script disables. With `--declare` the
import is given the events that remain. If a capture has two sets of logs, the script takes those
that the release wrote; `--votes` selects those in which the harness has added the votes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.aeron_log.event_types import EVENT_TYPES
from canvass.traces.aeron_log.releases import ALL, events_named
from support.aeron_runs import captures
from support.checked_runs import checked

CANVASS = str(Path(sys.executable).with_name("canvass"))


class Result(NamedTuple):
    """The result of one capture."""

    outcome: str
    lines: int
    accounted: int
    seconds: float
    verdict: str
    note: str


def folders(given: list[Path]) -> Iterator[Path]:
    """The captures among the given folders and inside them."""
    for path in given:
        if any(path.glob("member-*.log*")):
            yield path
        else:
            yield from (one for one in sorted(path.iterdir()) if any(one.glob("member-*.log*")))


def prepared(capture: Path, folder: Path, dropped: frozenset[str], votes: bool) -> Path:
    """The logs to import: those of the capture, or copies without some events."""
    completed = "with-votes" if votes else "without-votes"
    logs = sorted(capture.glob(f"{completed}-*.log.gz")) or sorted(capture.glob("member-*.log*"))
    folder.mkdir()
    marks = tuple(f" CLUSTER: {event} ".encode() for event in dropped)
    for log in logs:
        name = log.name.replace(completed, "member")
        if not dropped:
            shutil.copy(log, folder / name)
            continue
        data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
        kept = [
            line for line in data.splitlines(keepends=True) if not any(m in line for m in marks)
        ]
        (folder / name.removesuffix(".gz")).write_bytes(b"".join(kept))
    return folder


def imported(logs: Path, run: Path, options: list[str], timeout: float) -> tuple[str, Any]:
    """The outcome of the import, and its summary if there is one."""
    command = [CANVASS, "import", "aeron", str(logs), "--out", str(run), "--format", "json"]
    try:
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return "TIMEOUT", None
    try:
        summary = json.loads(done.stdout)
    except ValueError:
        return f"EXIT {done.returncode}", done.stderr.strip().splitlines()[-1:]
    return summary["outcome"], summary


def verdict_of(run: Path, tlc: bool) -> str:
    """The verdict on a run, with the first safety property that it breaks."""
    if not tlc:
        result = checked(run)
        names = [one.name for one in result.divergences]
        return " ".join([result.verdict.value, *names[:1]])
    command = [CANVASS, "verify", str(run), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        (found,) = json.loads(done.stdout)["runs"]
    except ValueError:
        return f"EXIT {done.returncode}"
    return " ".join([found["verdict"], *[one["name"] for one in found["divergences"][:1]]])


def measure(capture: Path, given: argparse.Namespace, options: list[str]) -> Result:
    """Import and check one capture."""
    dropped: frozenset[str] = given.drop
    if given.declare:
        options = [*options, "--events", ",".join(sorted(EVENT_TYPES.keys() - dropped))]
    with tempfile.TemporaryDirectory() as scratch:
        logs = prepared(capture, Path(scratch) / "logs", dropped, given.votes)
        run = Path(scratch) / "run"
        outcome, summary = imported(logs, run, options, given.timeout)
        if not isinstance(summary, dict):
            return Result(outcome, 0, 0, 0.0, "", "".join(summary or []))
        place = summary["contradiction"] or summary.get("stopped")
        note = summary["missing"][0] if summary["missing"] else ""
        if place:
            note = f"{place['file']}:{place['line']}: {place['reason']}"
        return Result(
            outcome,
            sum(member["lines"] for member in summary["members"]),
            sum(member["accounted"] for member in summary["members"]),
            summary["seconds"],
            verdict_of(run, given.tlc),
            note,
        )


def main() -> None:
    """Print the table."""
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("dirs", nargs="*", type=Path)
    arguments.add_argument("--drop", type=dropped_events, default=frozenset())
    arguments.add_argument("--declare", action="store_true")
    arguments.add_argument("--votes", action="store_true")
    arguments.add_argument("--tlc", action="store_true")
    arguments.add_argument("--timeout", type=float, default=600)
    given = arguments.parse_args(words[:at])
    outcomes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    lines = accounted = 0
    print(f"{'capture':28} {'outcome':13} {'accounted':>15} {'s':>7}  verdict")
    for capture in folders(given.dirs) if given.dirs else captures():
        found = measure(capture, given, words[at + 1 :])
        outcomes[found.outcome] += 1
        verdicts[found.verdict or "none"] += 1
        lines, accounted = lines + found.lines, accounted + found.accounted
        share = f"{found.accounted}/{found.lines}"
        print(
            f"{capture.name:28} {found.outcome:13} {share:>15} {found.seconds:7.2f}"
            f"  {found.verdict}{found.note and '; '}{found.note[:120]}",
            flush=True,
        )
    print(f"{outcomes.total()} captures:", counted(outcomes), "; verdicts:", counted(verdicts))
    print(f"lines accounted for: {accounted} of {lines} ({accounted / max(lines, 1):.1%})")


def dropped_events(text: str) -> frozenset[str]:
    """The events that `--drop` names."""
    if text == "production":
        return events_named(ALL) - events_named(text)
    return events_named(text)


def counted(counts: Counter[str]) -> str:
    """Counts by name, the most frequent first."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


if __name__ == "__main__":
    main()

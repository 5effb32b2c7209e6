"""Captured disks of real members, and the output of Aeron's tools about them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from support.aeron_runs import more_captures

_ROOT = Path(__file__).parents[2]
COMMITTED = _ROOT / "tests" / "captures" / "disks"


def captures() -> list[Path]:
    """The folder of each capture that holds the disks of all members."""
    found: dict[str, Path] = {}
    for path in (*sorted(COMMITTED.iterdir()), *more_captures()):
        if (path / "raw-0").is_dir() and (path / "client.log.gz").is_file():
            found.setdefault(path.name, path)
    return list(found.values())


def log_entries(capture: Path, member: int) -> list[list[str]]:
    """The entries of a member's log as its archive printed them: begin, end, name, fields."""
    with gzip.open(capture / f"log-content-{member}.txt.gz", "rt") as file:
        return [line.split() for line in file if not line.startswith("#")]


def field_of(entry: list[str], name: str) -> int:
    """The number in a field of a printed entry."""
    return int(next(word for word in entry if word.startswith(f"{name}=")).partition("=")[2])


def recording_log_entries(capture: Path, member: int) -> list[dict[str, str]]:
    """The entries of a recording log as Aeron's own tool printed them."""
    text = (capture / f"recording-log-{member}.txt").read_text()
    return [
        dict(pair.split("=", 1) for pair in one.split(", "))
        for one in re.findall(r"Entry\{(.*?)\}", text)
    ]


def write_acknowledgements(capture: Path, path: Path) -> dict[int, int]:
    """Write the client's answers for `canvass disks --client`. Return timestamps by value."""
    session, found, lines = -1, {}, []
    with gzip.open(capture / "client.log.gz", "rt") as file:
        for line in file:
            connected = re.search(r"CONNECTED sessionId=(\d+)", line)
            answered = re.search(r"ACK value=(\d+) timestamp=(\d+)", line)
            if connected:
                session = int(connected[1])
            elif answered:
                value, timestamp = int(answered[1]), int(answered[2])
                found[value] = timestamp
                payload = value.to_bytes(8, "little").hex()
                one = {"clusterSessionId": session, "timestamp": timestamp, "payload": payload}
                lines.append(json.dumps(one))
    path.write_text("\n".join(lines) + "\n")
    return found

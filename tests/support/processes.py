"""Clusters of processes: the command line that runs one, and the members that are there."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def canvass(*words: object) -> list[str]:
    return [sys.executable, "-m", "canvass.cli.main", *map(str, words)]


def members_of(folder: Path) -> list[int]:
    """The processes that were started with a configuration of a cluster in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # It has ended.
            if b"canvass.runner.member_process" in command and os.fsencode(folder) in command:
                found.append(int(entry.name))
    return found

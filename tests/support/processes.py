"""Processes: the command line of `canvass`, and which processes are running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def canvass(*words: object) -> list[str]:
    return [sys.executable, "-m", "canvass.cli.main", *map(str, words)]


def run_cluster(
    folder: Path | str, *words: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``canvass run`` on slow clocks to its end, with nobody at the terminal."""
    return subprocess.run(
        canvass("run", "--out", folder, "--clock", 20, *words),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def processes_with(*texts: str) -> list[int]:
    """The other processes whose command lines have each of some texts."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = os.fsdecode((entry / "cmdline").read_bytes())
            except OSError:
                continue  # It has ended.
            if all(text in command for text in texts):
                found.append(int(entry.name))
    return found


def members_of(folder: Path) -> list[int]:
    """The processes that were started with a configuration of a cluster in a folder."""
    return processes_with("canvass.runner.member_process", str(folder))

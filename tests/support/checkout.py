"""The files of the checkout, for tests that look at its texts."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@cache
def tracked(*patterns: str) -> tuple[Path, ...]:
    """Give the files of some patterns of git: tracked ones and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listed = subprocess.run(
        [*command, *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    paths = (ROOT / name for name in sorted(set(listed.split("\0")) - {""}))
    return tuple(path for path in paths if path.is_file())

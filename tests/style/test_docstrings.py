"""Docstrings begin with the thing or the action that they describe, not with "What" or "Of"."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGINNING = re.compile(
    r'^[ ]*"""(What|Of|Who|Whose|Whom|Those|Such|Whether what|That)\b', re.MULTILINE
)
"""A text that begins a line is a docstring: of a module, a name, or the assignment above."""


def beginnings(source: str) -> Counter[str]:
    """Count the docstrings of a module that have each beginning."""
    return Counter(BEGINNING.findall(source))


def count_files() -> dict[str, Counter[str]]:
    """Beginning → file → count, over all tracked and new Python files."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: dict[str, Counter[str]] = {}
    for name in sorted(set(listed.split("\0")) - {""}):
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            for beginning, count in beginnings(path.read_text()).items():
                found.setdefault(beginning, Counter())[name] = count
    return found


def test_no_docstring_begins_in_a_way_that_is_hard_to_read() -> None:
    found = {beginning: dict(files) for beginning, files in count_files().items()}

    assert found == {}, "say what the thing is or does: 'Timeout of ...', 'Give ...', 'Say whether'"


def test_docstrings_of_attributes_count() -> None:
    source = '''
"""What lives here."""
LIMIT = 3
"""Of one request."""

class Reader:
    """A reader."""

    size: int
    """Whatever its size is."""

    def read(self) -> None:
        """Of the file."""
'''
    assert beginnings(source) == {"What": 1, "Of": 2}

"""Docstrings begin with the thing or the action that they describe, not with "What" or "Of"."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = Path(__file__).with_name("docstring_beginnings.json")
"""For each beginning, the most docstrings that may have it. A bound may only fall.

``python tests/style/test_docstrings.py`` lowers the bounds to the present counts.
"""
BEGINNING = re.compile(r"(What|Of|Who|Whose|Whom|Those|Such|Whether what|That)\b")


def docstrings(source: str) -> Iterator[str]:
    """Give all docstrings of a module: also those of attributes, below their assignments."""
    for node in ast.walk(ast.parse(source)):
        # A text that is a statement of its own is a docstring.
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def beginnings(source: str) -> Counter[str]:
    """Count the docstrings of a module that have each beginning."""
    found = (BEGINNING.match(text.lstrip()) for text in docstrings(source))
    return Counter(match[1] for match in found if match)


def count_files() -> dict[str, Counter[str]]:
    """Beginning → file → count, over all tracked and new Python files."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: dict[str, Counter[str]] = {}
    for name in sorted(set(listed.split("\0")) - {""}):
        path = ROOT / name
        if path.is_file():
            for beginning, count in beginnings(path.read_text()).items():
                found.setdefault(beginning, Counter())[name] = count
    return found


def test_no_more_docstrings_begin_in_a_way_that_is_hard_to_read() -> None:
    bounds: dict[str, int] = json.loads(BOUNDS.read_text())
    rows = [
        f"{beginning}: {files.total()}, at most {bounds.get(beginning, 0)}; most in"
        f" {', '.join(name for name, _ in files.most_common(8))}"
        for beginning, files in count_files().items()
        if files.total() > bounds.get(beginning, 0)
    ]

    assert rows == [], "say what the thing is or does: 'Timeout of ...', 'Give ...', 'Tell whether'"


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


def main() -> None:
    """Lower each bound to the present count; a bound never rises."""
    now = {beginning: files.total() for beginning, files in count_files().items()}
    before = json.loads(BOUNDS.read_text()) if BOUNDS.exists() else now
    bounds = {name: min(count, now.get(name, 0)) for name, count in before.items()}
    left = {name: count for name, count in bounds.items() if count}
    BOUNDS.write_text(json.dumps(left, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

"""Docstrings begin with the thing or the action that they describe, not with "What" or "Of"."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from support.checkout import ROOT, tracked

BEGINNING = re.compile(
    r'^[ ]*"""(What|Of|Who|Whose|Whom|Those|Such|Whether what|That)\b', re.MULTILINE
)
"""A text that begins a line is a docstring: of a module, a name, or the assignment above."""


def beginnings(source: str) -> Counter[str]:
    """Count the docstrings of a module that have each beginning."""
    return Counter(BEGINNING.findall(source))


def test_no_docstring_begins_in_a_way_that_is_hard_to_read() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): dict(counts)
        for path in tracked("*.py")
        if path != Path(__file__) and (counts := beginnings(path.read_text()))
    }

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

"""The examples in the guides, and the lines of an example that a command does not print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
GUIDES: Final = ROOT / "docs" / "guide"
MARK: Final = "..."
"""The mark of omitted lines, or of the omitted rest of a line."""


def block(page: str, first: str) -> list[str]:
    """The example that has a line which begins with ``first``, from that line on."""
    for text in (GUIDES / page).read_text().split("```")[1::2]:
        lines = text.strip("\n").splitlines()[0 if text.startswith("\n") else 1 :]
        for number, line in enumerate(lines):
            if line.startswith(first):
                return lines[number:]
    raise AssertionError(f"{page} has no example that begins with {first}")


def absent(example: list[str], printed: list[str]) -> Iterator[str]:
    """The lines of an example that are not printed in that order."""
    rest = iter(printed)
    for line in example:
        shown, cut, _ = line.partition(MARK)
        if not shown.strip():
            continue
        if not any(one.startswith(shown) if cut else one.rstrip() == shown for one in rest):
            yield line
            rest = iter(printed)

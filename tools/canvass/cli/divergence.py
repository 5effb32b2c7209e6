"""A divergence in a terminal: the lines of `canvass.conformance.report` with their colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.conformance.explain import Explanation

_STYLES: Final = {"": "", "title": "bold", "bad": "bold red", "dim": "dim"}


def show_divergence(console: Console, explanation: Explanation) -> None:
    """Print the report of one divergence."""
    from rich.text import Text

    from canvass.conformance.report import divergence_lines

    for line, style in divergence_lines(explanation):
        console.print(Text(line, _STYLES[style]))

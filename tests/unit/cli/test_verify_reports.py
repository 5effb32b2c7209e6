"""Rows of a terminal end between words."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from canvass.cli import output


def test_no_row_of_a_terminal_ends_within_a_word() -> None:
    said = (
        "  [bold]HZ1[/]: " + " ".join(f"{'position':>{k % 11}}{k}" for k in range(60)) + "\n\nend\n"
    )
    for width in (40, 57, 80):
        file = io.StringIO()
        console = Console(file=file, force_terminal=True, color_system=None, width=width)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(output, "rendered", lambda _: said)
            output.show("verify", console)
        rows = file.getvalue().split("\n")
        assert max(map(len, rows)) <= width
        assert " ".join(rows).split() == said.replace("[bold]", "").replace("[/]", "").split()
        assert rows[-4:] == [rows[-4], "", "end", ""]

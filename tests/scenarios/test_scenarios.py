"""Every scenario prints what its file says. `pytest --rewrite` writes the files again."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.dialogue import replay

HERE = Path(__file__).resolve().parent
SCENARIOS = sorted(HERE.rglob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.relative_to(HERE).as_posix()[:-4])
def test_scenario(path: Path, rewrite: bool) -> None:
    expected = path.read_text(encoding="utf-8")

    printed = replay(expected)
    if rewrite:
        path.write_text(printed, encoding="utf-8")
        return

    assert expected == printed


def test_scenarios_are_many_and_say_what_they_show() -> None:
    without = [path.name for path in SCENARIOS if not path.read_text().startswith("# ")]

    assert without == []
    assert len(SCENARIOS) >= 110

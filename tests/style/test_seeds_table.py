"""The guide that maps documents to code names what is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "seeds.md"
ROW = re.compile(r"^\| (?!paragraph|---)(.+) \|$", re.MULTILINE)


def rows() -> list[list[str]]:
    found = [[cell.strip() for cell in row.split("|")] for row in ROW.findall(GUIDE.read_text())]
    assert len(found) > 50
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_row_has_code_and_tests_unless_it_says_that_it_is_left_out() -> None:
    assert {len(row) for row in rows()} == {4}
    without = [row[0] for row in rows() if not quoted(row[3]) or not quoted(row[1])]

    assert without == ["Backup and standby sessions"]


def test_every_file_and_every_name_of_code_is_there() -> None:
    wrong = []
    for row in rows():
        text = ""
        for name in quoted(row[1]):
            if name.endswith(".py"):
                path = ROOT / (name if name.startswith("tools/") else f"impl/canvass/{name}")
                if not path.is_file():
                    wrong.append(name)
                    continue
                text += path.read_text()
            elif not re.search(rf"\b{name}\b", text):
                wrong.append(f"{name} in {row[1]}")

    assert wrong == []


def test_every_operator_of_the_spec_is_there() -> None:
    spec = "".join(path.read_text() for path in (ROOT / "spec").glob("*.tla"))
    effects = (ROOT / "impl/canvass/cluster/effects.py").read_text()
    monitors = (ROOT / "refinement/canvass/conformance/safety_monitors.py").read_text()
    wrong = []
    for row in rows():
        for name in quoted(row[2]):
            if name.endswith(".tla"):
                known = (ROOT / "spec" / name).is_file()
            else:
                known = bool(re.search(rf"\b{name}\b", spec + effects + monitors))
            if not known:
                wrong.append(name)

    assert wrong == []


def test_every_test_is_there() -> None:
    wrong = [
        name for row in rows() for name in quoted(row[3]) if not (ROOT / "tests" / name).is_file()
    ]

    assert wrong == []

"""Imports between packages go the way that `docs/architecture.md` says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)/` \|.*\| ([^|]*) \|$", re.MULTILINE)


def packages() -> dict[str, Path]:
    """The packages of the three source roots, by name."""
    return {path.parent.name: path.parent for path in ROOT.glob("*/canvass/*/__init__.py")}


def allowed() -> dict[str, set[str]]:
    """Package → packages that it may import, in the order of the page's table."""
    return {
        name: set(re.findall(r"`(\w+)`", others))
        for name, _, others in ROW.findall(PAGE.read_text())
    }


def imported(path: Path) -> Iterator[str]:
    """The packages of canvass that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "canvass":
            names = [f"canvass.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("canvass."))


def test_the_page_lists_each_package_in_its_folder() -> None:
    found = {name: path.parts[-3] for name, path in packages().items()}

    assert {name: root for name, root, _ in ROW.findall(PAGE.read_text())} == found


def test_no_package_imports_one_that_the_page_does_not_allow() -> None:
    may = allowed()
    wrong = {
        f"{path.relative_to(ROOT)} imports canvass.{other}"
        for name, folder in packages().items()
        for path in folder.rglob("*.py")
        for other in imported(path)
        if other != name and other not in may[name]
    }

    assert sorted(wrong) == [], "the table of docs/architecture.md says what a package may import"


def test_arrows_go_to_earlier_rows_so_that_there_is_no_circle() -> None:
    earlier: set[str] = set()
    for name, others in allowed().items():
        assert others <= earlier, f"{name} imports packages of later rows"
        earlier.add(name)

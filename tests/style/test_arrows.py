"""Imports go the way that `docs/architecture.md` says, and no modules import each other."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import networkx as nx

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


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The imports of canvass in a module, at any depth: modules, and names in modules."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(name for name in names if name.startswith("canvass."))


def arrows() -> nx.DiGraph[str]:
    """The modules of canvass and what they import, for types too."""
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root in {folder.parents[1] for folder in packages().values()}
        for path in root.glob("canvass/**/*.py")
    }
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in paths.items():
        for other in imported(path):
            target = other if other in paths else other.rpartition(".")[0]
            graph.add_edge(name, target if target in paths else f"{target}.__init__")
    return graph


def test_the_page_lists_each_package_in_its_folder() -> None:
    found = {name: path.parts[-3] for name, path in packages().items()}

    assert {name: root for name, root, _ in ROW.findall(PAGE.read_text())} == found


def test_no_package_imports_one_that_the_page_does_not_allow() -> None:
    may = allowed()
    wrong = {
        f"{path.relative_to(ROOT)} imports canvass.{other}"
        for name, folder in packages().items()
        for path in folder.rglob("*.py")
        for other in {wanted.split(".")[1] for wanted in imported(path)}
        if other not in {name, "version"} | may[name]
    }

    assert sorted(wrong) == [], "the table of docs/architecture.md says what a package may import"


def test_arrows_go_to_earlier_rows_so_that_there_is_no_circle() -> None:
    earlier: set[str] = set()
    for name, others in allowed().items():
        assert others <= earlier, f"{name} imports packages of later rows"
        earlier.add(name)


def test_no_modules_import_each_other_in_a_circle() -> None:
    circles = [sorted(one) for one in nx.strongly_connected_components(arrows()) if len(one) > 1]

    assert circles == []

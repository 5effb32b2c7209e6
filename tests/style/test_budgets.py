"""The size of the house: code lines of each package, the number of modules, and long functions.

`pytest tests/style/test_budgets.py --rewrite` lowers the numbers of `budgets.txt` to what there is.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = Path(__file__).with_name("budgets.txt")
ROOTS: Final = ("impl", "refinement", "tools", "tests")
STEP: Final = 100
"""Limits are whole hundreds, so that few changes have to touch the table."""
MODULES: Final = 240
"""The most modules outside of tests. It is lowered by hand."""
MAX_FUNCTION: Final = 70
KERNELS: Final = {"canonicalise", "replay_logs"}
"""Compiled loops over rows, whose parts cannot be functions of their own at this speed."""


def measure(source: str) -> tuple[int, dict[str, int]]:
    """Give a module's lines that are neither blank, comment nor docstring, and long functions."""
    strings: set[int] = set()
    docs: set[int] = set()
    functions: dict[str, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                docs.update(lines_of(node))
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            strings.update(lines_of(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = len(lines_of(node))
            if length > MAX_FUNCTION and node.name not in KERNELS:
                functions[node.name] = length
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    code = {number for number, line in lines if line and not line.startswith("#")}
    return len((code | strings) - docs), functions


def lines_of(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def package_of(path: Path) -> str:
    """The name of a package, `scripts` or `tests`; the large parts of `traces` count alone."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "tests":
        return "tests"
    if parts[1] != "canvass" or len(parts) == 3:
        return "scripts"
    return "/".join(parts[2:4]) if parts[2] == "traces" and len(parts) > 4 else parts[2]


def table() -> dict[str, tuple[int, int, list[str]]]:
    """Row → its limit, its target, the packages in it."""
    rows = {}
    for line in TABLE.read_text().splitlines()[1:]:
        name, limit, target, *packages = line.split()
        rows[name] = int(limit), int(target), packages or [name]
    return rows


@cache
def measured() -> tuple[Counter[str], dict[str, int]]:
    """Package → its code lines; function that is too long → its lines."""
    counts: Counter[str] = Counter()
    functions: dict[str, int] = {}
    for path in (each for root in ROOTS for each in sorted((ROOT / root).rglob("*.py"))):
        if "node_modules" not in path.parts:
            code, longest = measure(path.read_text())
            counts[package_of(path)] += code
            where = path.relative_to(ROOT).as_posix()
            functions |= {f"{where}:{name}": length for name, length in longest.items()}
    return counts, functions


def rewritten(counts: Mapping[str, int]) -> str:
    """The table with each number at what there is now, but never above what it was."""
    rows = table()
    text = f"{'row':19} {'limit':>6} {'target':>6}  packages\n"
    for name, (limit, target, packages) in rows.items():
        present = math.ceil(sum(counts[each] for each in packages) / STEP) * STEP
        parts = "" if packages == [name] else "  " + " ".join(packages)
        text += f"{name:19} {min(limit, max(present, target)):6} {target:6}{parts}\n"
    return text


def test_no_package_is_over_its_budget(rewrite: bool) -> None:
    counts, rows = measured()[0], table()
    if rewrite:
        TABLE.write_text(rewritten(counts))
    over = {
        name: f"{count} code lines of {limit}"
        for name, (limit, _, packages) in rows.items()
        if (count := sum(counts[each] for each in packages)) > limit
    }

    assert over == {}


def test_there_are_no_more_modules_than_ideas() -> None:
    modules = [
        path
        for root in ROOTS
        if root != "tests"
        for path in (ROOT / root).rglob("*.py")
        if "node_modules" not in path.parts
    ]

    assert len(modules) <= MODULES


def test_every_package_has_a_budget_and_no_other_has() -> None:
    named = Counter(each for _, _, packages in table().values() for each in packages)

    assert set(named.values()) == {1}
    assert named.keys() == measured()[0].keys()


def test_no_function_is_longer_than_a_screen() -> None:
    assert measured()[1] == {}


def test_rewriting_never_raises_a_number() -> None:
    packages, limits = measured()[0], {name: row[:2] for name, row in table().items()}

    def numbers(size: int) -> list[str]:
        lines = rewritten(dict.fromkeys(packages, size)).splitlines()[1:]
        return [line.split()[1] for line in lines]

    assert numbers(10**6) == [str(limit) for limit, _ in limits.values()]
    assert numbers(0) == [str(min(limit, target)) for limit, target in limits.values()]

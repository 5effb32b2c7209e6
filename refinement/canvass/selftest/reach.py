"""Which actions of the core an edit can make a difference to.

The source of the core is read, not run: whatever mentions the name of a function or constant is
taken to use it. So too many actions are found rather than too few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from canvass.selftest.mutation import SHARED, SOURCES, Mutant, module_source
from canvass.traces.actions import ACTIONS, Action


@cache
def _uses() -> dict[str, frozenset[str]]:
    """Give for each name that the core defines the names of definitions that mention it."""
    users: dict[str, set[str]] = {}
    for path in sorted(SOURCES.glob("*.py")):
        if path.stem in SHARED:
            continue
        for defined, statement in _definitions(module_source(path.stem)):
            for name in _mentioned(statement):
                users.setdefault(name, set()).add(defined)
    return {name: frozenset(found) for name, found in users.items()}


def _definitions(source: str) -> Iterator[tuple[str, ast.stmt]]:
    """Give the functions and constants of a module."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name, statement
        elif isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else []
            for target in targets or getattr(statement, "targets", []):
                if isinstance(target, ast.Name):
                    yield target.id, statement


def _mentioned(statement: ast.stmt) -> set[str]:
    nodes = list(ast.walk(statement))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _edited(mutant: Mutant) -> set[str]:
    """Give the definitions that an edit lies in."""
    source = module_source(mutant.module)
    first = source.count("\n", 0, source.index(mutant.before)) + 1
    last = first + mutant.before.count("\n")
    return {
        name
        for name, statement in _definitions(source)
        if statement.lineno <= last and first <= (statement.end_lineno or 0)
    }


def actions_reached(mutant: Mutant) -> tuple[Action, ...]:
    """Give the actions in which the edited part of the core may have a say.

    All actions, if the edit lies in no definition.
    """
    found = _edited(mutant)
    if not found:
        return ACTIONS
    waiting = list(found)
    while waiting:
        for user in _uses().get(waiting.pop(), frozenset()) - found:
            found.add(user)
            waiting.append(user)
    return tuple(action for action in ACTIONS if action.name.lower() in found)

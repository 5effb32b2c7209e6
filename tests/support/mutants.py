"""The mutants of the protocol core.

A mutant is one edit of the source that breaks one rule; ``mutants.toml`` lists all. `load` loads
the edited copy beside the real core. The two share the data types (members, messages, effects,
rules), so their outcomes can be compared.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, Protocol, cast

import msgspec

import canvass.cluster.core
from canvass.cluster.duty_cycle import DutyCycle
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.traces.actions import ACTIONS, Action

SOURCES: Final = Path(canvass.cluster.core.__file__).resolve().parent

SHARED: Final = frozenset({"effects", "member", "messages", "rules"})
"""The modules with data types and without rules: a mutant shares them with the real core."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One edit of a module: ``after`` replaces ``before``, which must occur exactly once."""

    name: str
    module: str
    before: str
    after: str
    revision: str = "1.50"
    """A revision in which the broken rule is in force."""
    member_count: int = 3
    """A size of cluster in which the mutant differs from the core."""
    shows_in: Literal["outcome", "effects"] = "outcome"
    """``effects`` if the next state and the sends are right, and only other effects differ."""
    unreachable: str = ""
    """Why the mutant equals the core in each state that a member can reach; empty if it differs."""
    masked: str = ""
    """Why whole members do not show it, if only cores alone do (`support.core_clusters`).

    A state graph has every state and every input. In whole members some of these states are
    unreachable, because other parts repeat the guard.
    """
    lemma: str = ""
    """The lemma of Properties.tla by which no behaviour of Cluster.tla shows it; TLC checks it."""
    equal: str = ""
    """The reason in words."""


class _Listed(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of ``mutants.toml``."""

    mutant: list[Mutant]


LISTED: Final = msgspec.toml.decode(
    Path(__file__).with_name("mutants.toml").read_bytes(), type=_Listed
).mutant
MUTANTS: Final = {mutant.name: mutant for mutant in LISTED}
"""Every mutant by its name."""
MASKED: Final = {name: one.masked for name, one in MUTANTS.items() if one.masked}
"""Mutants that only cores alone show, with the reason why whole members do not."""
EQUAL: Final = {name: one for name, one in MUTANTS.items() if one.lemma}
"""Mutants that equal the core in every step that a cluster can reach."""


class Core(Protocol):
    """The interface of `canvass.cluster.core` and of its mutants."""

    ACTIONS: Mapping[str, Callable[[Rules, int, Member, Input], Outcome | None]]
    """The handler of each action."""

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        """Take one step."""


def module_source(name: str) -> str:
    """Read the source of a module of the core."""
    return (SOURCES / f"{name}.py").read_text(encoding="utf-8")


def edited(mutant: Mutant) -> str:
    """Give the source of the mutant's module with the edit.

    Raises
    ------
    ValueError
        If the text to replace does not occur exactly once.
    """
    source = module_source(mutant.module)
    if source.count(mutant.before) != 1:
        places = source.count(mutant.before)
        raise ValueError(f"{mutant.name}: {places} places in {mutant.module} to edit, expected 1")
    return source.replace(mutant.before, mutant.after)


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of one mutant in a package of their own."""

    def __init__(self, package: str, mutant: Mutant) -> None:
        self._package, self._mutant = package, mutant

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._package and not fullname.startswith(f"{self._package}."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == self._package)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        if module.__name__ == self._package:
            return
        source = edited(self._mutant) if name == self._mutant.module else module_source(name)
        for path in SOURCES.glob("*.py"):
            if path.stem not in SHARED:
                source = source.replace(
                    f"from canvass.cluster.{path.stem} import",
                    f"from {self._package}.{path.stem} import",
                )
        source = source.replace("from canvass.cluster import", f"from {self._package} import")
        exec(compile(source, f"{self._mutant.name}/{name}.py", "exec"), module.__dict__)


def load(mutant: Mutant) -> Core:
    """Load the core with one mutant's edit, beside the real one."""
    (core,) = _load(mutant, "core")
    return cast(Core, core)


def load_member(mutant: Mutant) -> tuple[Core, type[DutyCycle]]:
    """Load the core and the duty cycle with one mutant's edit: the duty cycle uses rules, too."""
    core, cycle = _load(mutant, "core", "duty_cycle")
    return cast(Core, core), cycle.DutyCycle


def _load(mutant: Mutant, *names: str) -> list[ModuleType]:
    package = f"mutant_{mutant.name}"
    loader = _Loader(package, mutant)
    sys.meta_path.insert(0, loader)
    try:
        return [importlib.import_module(f"{package}.{name}") for name in names]
    finally:
        sys.meta_path.remove(loader)
        for loaded in [key for key in sys.modules if key.partition(".")[0] == package]:
            del sys.modules[loaded]


@cache
def _uses() -> dict[str, frozenset[str]]:
    """Give for each name the definitions of the core that use it."""
    users: dict[str, set[str]] = {}
    for path in sorted(SOURCES.glob("*.py")):
        if path.stem in SHARED:
            continue
        for defined, statement in _definitions(module_source(path.stem)):
            for name in _mentioned(statement):
                users.setdefault(name, set()).add(defined)
    return {name: frozenset(found) for name, found in users.items()}


def _definitions(source: str) -> Iterator[tuple[str, ast.stmt]]:
    """Give the names and statements of a module's functions, classes and constants."""
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
    """Give the names of the definitions that an edit changes."""
    source = module_source(mutant.module)
    first = source.count("\n", 0, source.index(mutant.before)) + 1
    last = first + mutant.before.count("\n")
    return {
        name
        for name, statement in _definitions(source)
        if statement.lineno <= last and first <= (statement.end_lineno or 0)
    }


def actions_reached(mutant: Mutant) -> tuple[Action, ...]:
    """Give the actions that may use an edited definition; all actions if none is edited."""
    found = _edited(mutant)
    if not found:
        return ACTIONS
    waiting = list(found)
    while waiting:
        for user in _uses().get(waiting.pop(), frozenset()) - found:
            found.add(user)
            waiting.append(user)
    return tuple(action for action in ACTIONS if action.name.lower() in found)

"""What a mutant of the protocol core is, and how one is loaded.

A mutant is one rule broken by an edit of the source; ``mutants.toml`` lists all. `load`
loads the edited copy beside the real core; the data types (members, messages, effects, rules) are
those of the real one, so that what the two yield can be compared. What kills a mutant is the
business of the tests that use it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, Protocol, cast

import msgspec

import canvass.cluster.core
from canvass.cluster.duty_cycle import DutyCycle
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules

SOURCES: Final = Path(canvass.cluster.core.__file__).resolve().parent

SHARED: Final = frozenset({"effects", "member", "messages", "names", "outcome", "rules"})
"""The modules that hold data types and no rule: a mutant has the same as the real core."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One edit: in a module, a text that occurs exactly once is replaced."""

    name: str
    module: str
    before: str
    after: str
    revision: str = "1.50"
    """A revision in which the broken rule is in force."""
    member_count: int = 3
    """A size of cluster in which it makes a difference."""
    shows_in: Literal["outcome", "effects"] = "outcome"
    """Whether the next state or the sends differ, or only other effects and their order."""
    unreachable: str = ""
    """Why no state that a member can reach shows it, if that is so."""


class _Listed(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of ``mutants.toml``."""

    mutant: list[Mutant]


def read_mutants(text: str) -> dict[str, Mutant]:
    """Read a list of mutants.

    Raises
    ------
    msgspec.MsgspecError
        If the text is not such a list.
    ValueError
        If two mutants have the same name.
    """
    listed = msgspec.toml.decode(text, type=_Listed).mutant
    found = {mutant.name: mutant for mutant in listed}
    if len(found) != len(listed):
        raise ValueError("two mutants have the same name")
    return found


MUTANTS: Final = read_mutants(Path(__file__).with_name("mutants.toml").read_text("utf-8"))
"""Every mutant by its name."""


class Core(Protocol):
    """What the tests need of a core."""

    ACTIONS: Mapping[str, Callable[[Rules, int, Member, Input], Outcome | None]]
    """The function of each action."""

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        """Take one step."""


def module_source(name: str) -> str:
    """The source of a module of the core."""
    return (SOURCES / f"{name}.py").read_text(encoding="utf-8")


def edited(mutant: Mutant) -> str:
    """The source of the mutant's module.

    Raises
    ------
    ValueError
        If the text to replace does not occur exactly once.
    """
    source = module_source(mutant.module)
    if source.count(mutant.before) != 1:
        raise ValueError(f"{mutant.name}: {source.count(mutant.before)} places to edit, not one")
    return source.replace(mutant.before, mutant.after)


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of one mutant, in a package of its own."""

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
    """Load the core and the duty cycle with one mutant's edit: the cycle asks the rules, too."""
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

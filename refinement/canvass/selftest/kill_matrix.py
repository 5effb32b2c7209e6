"""Mutants of the protocol core, and all of them against the state graphs: one kill for each.

A mutant is one rule broken by an edit of the source; ``mutants.toml`` lists all. `load` loads the
edited copy beside the real core; the data types (members, messages, effects, rules) are those of
the real one, so that what the two yield can be compared. The graphs are those of the models below,
built by TLC where they are not in the folder of graphs.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, Protocol, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import canvass.cluster.core
from canvass.cluster import core as unbroken
from canvass.cluster.duty_cycle import DutyCycle
from canvass.cluster.member import Input, Member, MemberRecord
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.graph.build import cache_folder, cached_graph, load_model
from canvass.selftest.edges import EdgeKill, Trials, find_kill
from canvass.steps.oracle import ask
from canvass.steps.step import Step
from canvass.traces.actions import ACTIONS, Action

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


STATES: Final = 20_000
"""Changed states that are tried for each action."""
ASKED: Final = 20
"""Steps that the oracle is asked about."""
_NUMBERS: Final = (-1, 0, 1, 2, 3, 4)


def find_unreachable_kill(trials: Trials, core: Any, actions: Iterable[Action]) -> EdgeKill | None:
    """Find a step of a mutant that the oracle refuses.

    Parameters
    ----------
    trials
        Of the graph whose states are changed.
    core
        A module with ``ACTIONS``, as `canvass.cluster.core` has it.
    actions
        The ones to try.
    """
    rng = random.Random(0)
    steps: list[Step] = []
    tried = 0
    for action in actions:
        for before, given in _changed_states(trials, action, rng):
            tried += 1
            broken = core.ACTIONS[action.value](trials.rules, 0, before, given)
            sound = unbroken.ACTIONS[action.value](trials.rules, 0, before, given)
            if isinstance(broken, Outcome) and broken != sound:
                sends = tuple((send.to, send.message) for send in broken.sends)
                steps.append(Step(0, before, action, given, broken.next, sends))
            if len(steps) == ASKED:
                break
    answers = ask(trials.rules, steps)
    refused = [step for step, answer in zip(steps, answers, strict=True) if not answer.allowed]
    if not refused:
        return None
    first = refused[0]
    reason = "the oracle refuses what it does in a state that no member reaches"
    return EdgeKill("StepOracle", first.action, reason, tried, first.before, first.input)


def _changed_states(
    trials: Trials, action: Action, rng: random.Random
) -> Iterator[tuple[Member, Input]]:
    known = trials.of(action)
    for _ in range(STATES):
        source, given, _, _ = rng.choice(known)
        yield _changed(trials.states[source], rng), trials.inputs[given]


def _changed(state: Member, rng: random.Random) -> Member:
    """Give another number to one field of the state or of one record."""
    if rng.random() < 0.5:
        single: dict[str, Any] = {rng.choice(_names(Member)): rng.choice(_NUMBERS)}
        return replace(state, **single)
    j = rng.randrange(len(state.members))
    change: dict[str, Any] = {rng.choice(_names(MemberRecord)): rng.choice(_NUMBERS)}
    record = replace(state.members[j], **change)
    return replace(state, members=(*state.members[:j], record, *state.members[j + 1 :]))


def _names(of: type[Struct]) -> list[str]:
    return [name for name, kind in of.__annotations__.items() if kind == "Int64"]


MODELS: Final = {
    ("1.50", 3): ("MCMemberGraph3", 1),
    ("1.50", 2): ("MCMemberGraph2", 1),
    ("1.49", 3): ("MCMemberGraph3Rev149", 0),
    ("hardened", 3): ("MCMemberGraph3Hardened", 0),
}
"""For a revision and a size of cluster, the model and the steps from its roots."""

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class MutantResult:
    """The result of one mutant."""

    mutant: Mutant
    kill: EdgeKill | None
    tried: int
    """Steps that it took."""


@dataclass(frozen=True, slots=True)
class Control:
    """The core itself on one graph: nothing may give it away."""

    graph: str
    tried: int
    edges: int
    wrong: EdgeKill | None


class Graphs:
    """The graphs that mutants run on, each built or opened when it is first asked for."""

    def __init__(self, cache: Path, progress: Progress | None = None) -> None:
        self._cache, self._progress = cache, progress
        self._known: dict[tuple[str, int], Trials] = {}
        self.folders: list[Path] = []
        """The folders of the graphs that were asked for."""

    def of(self, revision: str, member_count: int) -> Trials:
        """Give the trials for a revision and a size of cluster."""
        key = revision, member_count
        if key not in self._known:
            name, steps = MODELS[key]
            if self._progress is not None:
                self._progress(f"state graph {name}")
            model = load_model(name).with_steps(steps)
            self._known[key] = Trials(cached_graph(model, self._cache))
            self.folders.append(cache_folder(model, self._cache))
        return self._known[key]


def kill_mutants(
    graphs: Graphs,
    mutants: Iterable[Mutant] = tuple(MUTANTS.values()),
    progress: Progress | None = None,
) -> list[MutantResult]:
    """Run mutants on the graph of a revision in which their rule is in force."""
    results = []
    for mutant in mutants:
        trials = graphs.of(mutant.revision, mutant.member_count)
        if progress is not None:
            progress(mutant.name)
        broken, actions = load(mutant), actions_reached(mutant)
        found = find_kill(trials, broken, actions)
        if isinstance(found, EdgeKill):
            results.append(MutantResult(mutant, found, found.tried))
        elif mutant.unreachable:
            stray = find_unreachable_kill(trials, broken, actions)
            results.append(MutantResult(mutant, stray, found + (stray.tried if stray else 0)))
        else:
            results.append(MutantResult(mutant, None, found))
    return results


def control(graphs: Graphs, *, whole: bool) -> list[Control]:
    """Run the core itself: on all graphs, or without the largest."""
    found = []
    for revision, member_count in MODELS:
        if (revision, member_count) == ("1.50", 3) and not whole:
            continue
        trials = graphs.of(revision, member_count)
        result = find_kill(trials, unbroken)
        counts = trials.graph.manifest.counts
        wrong = result if isinstance(result, EdgeKill) else None
        tried = result.tried if isinstance(result, EdgeKill) else result
        found.append(Control(trials.graph.manifest.model, tried, counts.edges, wrong))
    return found

"""Discharge the obligations of an inductive proof, each by itself, in several processes.

For a module with ``Init``, ``Next``, ``Lemmas`` and ``Safety`` there is one obligation for each
lemma in the initial states, for each lemma and action, and for each property of ``Safety``. Z3's
limit is a count of its own steps, not a time, so an outcome does not depend on the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec
import z3

from canvass.proof.sany import Apply, Module, ModuleError, read_module
from canvass.proof.smt import Formula, Function, State, Translation, actions_of

LIMIT: Final = 2_000_000_000
"""Z3's limit of steps for one obligation; the longest proof of the shipped modules needs a tenth.
"""
PROOFS: Final = "proofs.json"
"""The modules that are proved, and the lemmas that their steps use; null: all lemmas."""
SIZES: Final = (2, 3)
"""Elements of each constant set in the instances in which a counterexample is searched."""


class Uses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lemmas that a step of a proof uses besides the lemma itself, as ``BY`` does in TLAPS.

    Fewer hypotheses make Z3 faster and can prove nothing more, so an error here is never unsound.

    Attributes
    ----------
    together : list of str
        Lemmas that are used to prove each other, in every step that ``steps`` does not name.
    steps : dict
        For a lemma or property, and a step, the lemmas that its proof uses.
    """

    together: list[str] = []
    steps: dict[str, dict[str, list[str]]] = {}

    def of(self, step: str, goal: str) -> set[str]:
        """The lemmas that the proof of one obligation uses."""
        named = self.steps.get(goal, {}).get(step)
        if named is not None:
            return {goal, *named}
        return set(self.together) if goal in self.together else {goal}

    def lemmas(self) -> list[str]:
        """Every lemma that is named."""
        return [*self.together, *(x for by in self.steps.values() for u in by.values() for x in u)]


class Counterexample(msgspec.Struct, frozen=True):
    """A step of a small instance: all lemmas hold before it, and one is false after it.

    Values are texts in TLA+; elements are named by their set and their place in its order.
    """

    size: int
    parameters: dict[str, str]
    before: dict[str, str]
    changed: dict[str, str]


class Proof(msgspec.Struct, frozen=True):
    """The outcome of one obligation.

    Attributes
    ----------
    step : str
        ``Init``, the name of an action, or ``Safety``.
    goal : str
        The lemma or the property.
    outcome : str
        ``proved``; ``refuted`` if there is a counterexample to induction; ``unknown`` else.
    counterexample : Counterexample or None
        The counterexample of a refuted obligation.
    """

    step: str
    goal: str
    outcome: str
    counterexample: Counterexample | None = None


class Obligation:
    """One implication: hypotheses about the state before a step, and a goal after it.

    Each has its own translation, so its outcome does not depend on other obligations. With ``size``
    it is about an instance with this number of elements in each constant set. `refute` then gives
    it all lemmas as hypotheses, so that a counterexample is a counterexample to induction.
    """

    def __init__(
        self, module: Module, step: str, goal: str, uses: Uses | None, size: int | None = None
    ) -> None:
        self.translation = Translation(module, size)
        self.before = self.translation.state()
        self.action = None
        formula = self.translation.formula
        if step == "Init":
            self.hypotheses = [formula("Init", self.before)]
        else:
            every = _names(module, "Lemmas")
            used = every if uses is None else [x for x in every if x in uses.of(step, goal)]
            self.hypotheses = [formula(each, self.before) for each in used]
        if step not in ("Init", "Safety"):
            self.action = self.translation.action(step, self.before)
            self.hypotheses += self.action.guards
        self.goal = formula(goal, self.action.after if self.action else self.before)

    def is_proved(self) -> bool:
        """Whether Z3 proves it within its limit."""
        return bool(self.solver(self.goal).check() == z3.unsat)

    def counterexample(self) -> Counterexample | None:
        """A counterexample in an instance."""
        solver = self.solver(self.goal)
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        before = self._shown(self.before, model)
        after = self._shown(self.action.after, model) if self.action else before
        parameters = self.action.parameters if self.action else []
        return Counterexample(
            size=self.translation.size or 0,
            parameters={str(each).rpartition("_")[0]: _text(each, model) for each in parameters},
            before=before,
            changed={name: text for name, text in after.items() if text != before[name]},
        )

    def _shown(self, state: State, model: z3.ModelRef) -> dict[str, str]:
        """A state of Z3's model, as text in TLA+."""
        translation = self.translation
        elements = {translation.sorts[name]: found for name, found in translation.elements.items()}
        shown = {}
        for name, value in state.items():
            if isinstance(value, Function):
                pairs = ((x, value.at(x)) for x in elements[value.sort])
                texts = (f"{_text(x, model)} |-> {_text(y, model)}" for x, y in pairs)
                shown[name] = f"[{', '.join(texts)}]"
            else:
                every = product(*(elements[sort] for sort in value.sorts))
                present = (each for each in every if z3.is_true(model.eval(value.has(each), True)))
                texts = (", ".join(_text(x, model) for x in each) for each in present)
                many = len(value.sorts) > 1
                shown[name] = "{" + ", ".join(f"<<{x}>>" if many else x for x in texts) + "}"
        return shown

    def solver(self, goal: Formula) -> z3.Solver:
        """Z3, which is asked for a state or a step with the hypotheses and without the goal."""
        solver = z3.Solver()
        solver.set("rlimit", LIMIT)
        solver.add(*self.translation.axioms(), *self.hypotheses, z3.Not(goal))
        return solver


def _text(term: z3.ExprRef, model: z3.ModelRef) -> str:
    return str(model.eval(term, model_completion=True))


def obligations_of(module: Module) -> list[tuple[str, str]]:
    """The step and the goal of each obligation, in the order of the proof."""
    lemmas, safety = _names(module, "Lemmas"), _names(module, "Safety")
    steps = ["Init", *actions_of(module)]
    return [*product(steps, lemmas), *(("Safety", each) for each in safety)]


def refute(module: Module, step: str, goal: str) -> Counterexample | None:
    """Search a counterexample to an obligation, in instances of `SIZES`."""
    instances = (Obligation(module, step, goal, None, size) for size in SIZES)
    return next(filter(None, (each.counterexample() for each in instances)), None)


def _names(module: Module, definition: str) -> list[str]:
    found = module.parts(definition, "/\\")
    names = [each.operator for each in found if isinstance(each, Apply) and each.is_defined]
    if len(names) != len(found):
        raise ModuleError(f"{definition} of {module.name}: each conjunct must be a definition")
    return names


def read_uses(path: Path, module: Module) -> Uses | None:
    """The entry of a module in the ``proofs.json`` beside it, if there is one."""
    file = path.with_name(PROOFS)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, Uses | None]).get(module.name)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise ModuleError(f"{file}: {error}") from None
    if found is not None:
        named = {(step, goal) for goal, steps in found.steps.items() for step in steps}
        if unknown := {*found.lemmas()} - {*_names(module, "Lemmas")}:
            raise ModuleError(f"{file}: {module.name} has no lemma {min(unknown)}")
        if wrong := named - {*obligations_of(module)}:
            raise ModuleError(f"{file}: {module.name} has no obligation {'/'.join(min(wrong))}")
    return found


def prove(
    path: Path, only: Sequence[str] = (), processes: int | None = None
) -> tuple[int, Iterator[Proof]]:
    """Prove the module of a file.

    Parameters
    ----------
    path : Path
        The module; ``proofs.json`` beside it may say which lemmas each step uses.
    only : sequence of str, optional
        Steps, goals or ``STEP/GOAL``; the others are left out.
    processes : int, optional
        Default: one for each core.

    Returns
    -------
    int, iterator of Proof
        The number of obligations, and their outcomes in order.

    Raises
    ------
    ModuleError
        If the module is not in the subset of TLA+ that is translated, or ``only`` names nothing.
    """
    module = read_module(path)
    uses = read_uses(path, module)
    chosen = [
        (step, goal)
        for step, goal in obligations_of(module)
        if not only or {step, goal, f"{step}/{goal}"} & set(only)
    ]
    if not chosen:
        raise ModuleError(f"{module.name} has no step, lemma or property {' or '.join(only)}")
    return len(chosen), _outcomes(module, uses, chosen, processes or os.cpu_count() or 1)


def _outcomes(
    module: Module, uses: Uses | None, chosen: list[tuple[str, str]], processes: int
) -> Iterator[Proof]:
    # Z3 searches differently after an earlier proof, so each obligation has a new process.
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(min(processes, len(chosen)), context, max_tasks_per_child=1) as pool:
        yield from pool.map(_prove, *zip(*((module, uses, *x) for x in chosen), strict=True))


def _prove(module: Module, uses: Uses | None, step: str, goal: str) -> Proof:
    is_proved = Obligation(module, step, goal, uses).is_proved()
    found = None if is_proved else refute(module, step, goal)
    outcome = "proved" if is_proved else "refuted" if found else "unknown"
    return Proof(step, goal, outcome, found)

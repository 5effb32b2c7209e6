"""Run one model of the manifest, and compare TLC's result with the manifest."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from canvass.cluster.messages import Record
from canvass.models import ModelError
from canvass.spec.files import HARNESS, find_file, module_folders, names_of, spec_root
from canvass.spec.manifest import (
    Expected,
    Manifest,
    Mode,
    ModelEntry,
    ModelSet,
    Takes,
    load_manifest,
)

if TYPE_CHECKING:
    from canvass.models.counterexample import Counterexample
    from canvass.tlc.config import TlcConfig
    from canvass.tlc.counterexample import CounterexampleDocument
    from canvass.tlc.output import Event
    from canvass.tlc.results import CheckResult


class Standing(Enum):
    """Whether the result of a model agrees with the manifest."""

    AS_EXPECTED = "as expected"
    NOT_AS_EXPECTED = "not as expected"
    NOT_CHECKED = "not checked"
    """TLC could not run, or did not finish."""
    NOT_IN_MANIFEST = "not in the manifest"
    """TLC finished, but the rules of the model were changed, so the manifest has no result."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The standing of a result, and the reason; empty if the standing needs no reason."""

    standing: Standing
    reason: str = ""


NO_STATE = "no state satisfies the initial predicate: nothing was checked"


def compare(
    entry: ModelEntry, result: CheckResult, *, workers: int, changed: bool = False
) -> Comparison:
    """Compare a result with the manifest.

    Parameters
    ----------
    entry
        The expected result.
    result
        TLC's result.
    workers
        Number of TLC's threads. With several threads the depth varies between runs, and so does the
        number of states before a violation.
    changed
        Whether the rules of the model were changed. The manifest has no result for such a model, so
        the comparison only tells whether TLC finished.

    Returns
    -------
    Comparison
        The first difference: outcome, then the violated property, then the counts.
    """
    if not (result.ok or result.outcome.is_violation):
        return Comparison(Standing.NOT_CHECKED, result.message)
    if result.ok and result.generated == 0:
        return Comparison(Standing.NOT_CHECKED, NO_STATE)
    if changed:
        return Comparison(Standing.NOT_IN_MANIFEST)

    found = result.outcome.value
    if found != entry.expected.value:
        named = f"{found} ({result.violated})" if result.violated else found
        return _differs(f"expected {entry.expected.value}, found {named}")
    if entry.violates is not None and result.violated != entry.violates:
        found = result.violated or result.message
        return _differs(f"expected {entry.violates} to be violated, found {found}")

    repeatable = workers == 1
    counts = (
        ("distinct states", entry.distinct_states, result.distinct, repeatable or result.ok),
        ("depth", entry.depth, result.depth, repeatable),
    )
    for name, expected, counted, comparable in counts:
        if comparable and expected is not None and counted != expected:
            shown = "none" if counted is None else f"{counted:,}"
            return _differs(f"expected {expected:,} {name}, found {shown}")
    return Comparison(Standing.AS_EXPECTED)


def _differs(reason: str) -> Comparison:
    return Comparison(Standing.NOT_AS_EXPECTED, reason)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run from the command line.

    Parameters
    ----------
    workers, heap_mib, timeout_s, seed
        As in `canvass.tlc.runner.TlcOptions`; None if the manifest or the default decides.
    rules
        Hardenings or corrections, as in `with_rules`; None for those of the configuration.
    """

    workers: int | None = None
    heap_mib: int | None = None
    timeout_s: float | None = None
    seed: int | None = None
    rules: str | None = None


class ModelReport(Record, frozen=True):
    """The result of a model: one element of ``canvass check --format json``.

    Parameters
    ----------
    name
        The model.
    standing, reason
        ``as expected``, ``not as expected``, ``not checked`` or ``not in the manifest``, and the
        reason.
    outcome, expected
        TLC's outcome, and the outcome that the manifest expects.
    violated, violates
        The violated property, and the property that the manifest expects to be violated.
    generated, distinct_states, queue, depth
        TLC's counts; null if TLC did not report them.
    seconds
        Elapsed time, including the start of Java.
    processor_seconds
        Processor time of all threads of TLC; 0 if the platform does not count it.
    tlc_version
        TLC's version.
    mode, workers, seed
        Settings of the run.
    message
        TLC's message, on one line.
    warnings
        Warnings of TLC and its parser.
    output
        Lines of the parser and of standard error; only if the model could not be checked.
    counterexample
        The behaviour of the first violation, or up to a failed evaluation, in the schema of
        ``--export``; null without one.
    """

    name: str
    standing: str
    reason: str
    outcome: str
    expected: str
    violated: str | None
    violates: str | None
    generated: int | None
    distinct_states: int | None
    queue: int | None
    depth: int | None
    seconds: float
    processor_seconds: float
    tlc_version: str | None
    mode: str
    workers: int
    seed: int | None
    message: str
    warnings: list[str]
    output: list[str]
    counterexample: CounterexampleDocument | None


@dataclass(frozen=True, slots=True)
class ModelRun:
    """A model, its result, and the comparison with the manifest."""

    entry: ModelEntry
    result: CheckResult
    comparison: Comparison
    counterexample: Counterexample | None
    workers: int
    processor_s: float

    def report(self) -> ModelReport:
        """Return the result as a record of the JSON document."""
        result = self.result
        failed = self.comparison.standing is Standing.NOT_CHECKED
        return ModelReport(
            name=self.entry.name,
            standing=self.comparison.standing.value,
            reason=self.comparison.reason,
            outcome=result.outcome.value,
            expected=self.entry.expected.value,
            violated=result.violated,
            violates=self.entry.violates,
            generated=result.generated,
            distinct_states=result.distinct,
            queue=result.queue,
            depth=result.depth,
            seconds=round(result.seconds, 3),
            processor_seconds=round(self.processor_s, 1),
            tlc_version=result.tlc_version,
            mode=self.entry.mode.value,
            workers=self.workers,
            seed=result.seed,
            message=result.message,
            warnings=list(result.warnings),
            output=list(result.output) if failed else [],
            counterexample=self.counterexample.document() if self.counterexample else None,
        )


def choose(
    names: Sequence[str], sets: frozenset[ModelSet], spec: Path | None, *, lists: bool
) -> tuple[Path, tuple[ModelEntry, ...]]:
    """Return the models of a command line, and the folder of their specification.

    Parameters
    ----------
    names
        Models, or the file of a specification of the user, with its configuration beside it.
    sets, lists
        As in `select`.
    spec
        The folder of the option ``--spec``.

    Raises
    ------
    ModelError
        If there is no such file or model, or if a file is given with other names or with
        ``--spec``.
    """
    own = [Path(name) for name in names if name.endswith(".tla")]
    if not own:
        root = spec.absolute() if spec else spec_root()
        return root, select(load_manifest(root), names, sets, lists=lists)
    if spec is not None or len(names) > 1:
        raise ModelError("a specification of your own is checked alone, without --spec")
    if not own[0].is_file():
        raise ModelError(f"{own[0]}: there is no such file")
    outcome, takes, name = Expected.SUCCESS, Takes.MINUTE, own[0].stem
    entry = ModelEntry(name=name, model_set=ModelSet.CI, expected=outcome, takes=takes)
    return own[0].absolute().parent, (entry,)


def select(
    manifest: Manifest, names: Sequence[str], sets: frozenset[ModelSet], *, lists: bool = False
) -> tuple[ModelEntry, ...]:
    """Return the named models; without names, the models of the sets.

    With ``lists``, a part of a model's name is enough; upper and lower case are the same.

    Raises
    ------
    ModelError
        If a name is not in the manifest, or no model is in the sets.
    """
    by_name = {model.name: model for model in manifest.models}
    parts = [name.lower() for name in names]
    found = tuple(one for one in manifest.models if any(part in one.name.lower() for part in parts))
    if lists and found:
        return found
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ModelError(f"there is no model {name!r}{hint} (`canvass check --list`)")
    if names:
        return tuple(by_name[name] for name in dict.fromkeys(names))
    chosen = tuple(model for model in manifest.models if model.model_set in sets)
    if not chosen:
        wanted = " or ".join(sorted(one.value for one in sets))
        raise ModelError(f"nothing to check: the manifest has no model in the set {wanted}")
    return chosen


def config_of(root: Path, entry: ModelEntry) -> TlcConfig:
    """Return TLC's configuration of a model.

    Raises
    ------
    ConfigError
        If the file is not a configuration, or has a name that the module does not have. This is
        checked here because TLC ignores the value of an unknown constant.
    """
    from canvass.graph.syntax import near
    from canvass.tlc.config import read_config
    from canvass.tlc.errors import ConfigError

    config = read_config(find_file(entry.config, root))
    known = names_of(find_file(f"{entry.module}.tla", root), module_folders(root))
    for name in config.names():
        if known and name not in known:
            raise ConfigError(f"{entry.config}: {entry.module} has no {name}{near(name, known)}")
    return config


_OVERRIDE = re.compile(r"<- (HZ\d+|UpstreamFix)_(\w+)")


def with_rules(config: TlcConfig, chosen: str, name: str, root: Path) -> TlcConfig:
    """Put other hardenings in force; in a model of upstream-fix, other corrections.

    Parameters
    ----------
    config
        The configuration.
    chosen
        Names, separated by commas: hardenings such as ``HZ1``, or corrections by the names of the
        rules that they override. ``all`` adds all of them; ``-HZ1`` removes ``HZ1`` from those
        named before it.
    name
        The name of the configuration, for messages.
    root
        The spec folder.

    Raises
    ------
    ConfigError
        If there is no such name.
    """
    from canvass.cluster.rules import HAZARDS
    from canvass.graph.syntax import near
    from canvass.steps.oracle import overrides
    from canvass.tlc.errors import ConfigError

    if "Revision" not in config.constants:
        raise ConfigError(f"{name} has no Revision: --with is for models of the protocol")
    revision = config.constants["Revision"].strip('= "')
    corrections = overrides("upstream-fix", (), root) if revision == "upstream-fix" else {}
    known = frozenset(corrections or HAZARDS)
    names: set[str] = set()
    for each in filter(None, chosen.replace(" ", "").split(",")):
        rule = each.removeprefix("-")
        if rule != "all" and rule not in known:
            raise ConfigError(f"{name}: there is no {rule}{near(rule, known)}")
        meant = known if rule == "all" else {rule}
        names = names - meant if each.startswith("-") else names | meant
    changed = {rule: by for rule, by in corrections.items() if rule in names}
    if not corrections:
        changed = overrides(revision, names, root)
        listed = ", ".join(f'"{hazard}"' for hazard in sorted(names))
        changed["Hardening"] = f"= {{{listed}}}"
    replaced = "UpstreamFix" if corrections else "HZ"
    kept = {
        constant: text
        for constant, text in config.constants.items()
        if not ((found := _OVERRIDE.fullmatch(text)) and found[1].startswith(replaced))
    }
    return replace(config, constants={**kept, **changed})


def run_model(
    root: Path,
    entry: ModelEntry,
    settings: Settings,
    on_event: Callable[[Event], object],
    constants: Mapping[str, str] | None = None,
) -> ModelRun:
    """Run TLC on a model, and compare the result with the manifest.

    A model whose configuration cannot be read is not checked.

    Parameters
    ----------
    root
        The spec folder.
    entry
        The model.
    settings
        The settings of the run.
    on_event
        Called with each event of TLC.
    constants
        Constants to replace in the configuration: for each name, the text that follows it there.

    Raises
    ------
    TlcError
        If TLC cannot be started.
    """
    from canvass.models.counterexample import counterexample
    from canvass.tlc.errors import ConfigError
    from canvass.tlc.results import CheckResult, Outcome
    from canvass.tlc.runner import SHORT_RUN, TlcOptions
    from canvass.tlc.runner import check as check_with_tlc

    simulates = entry.mode is Mode.SIMULATE
    workers = settings.workers or entry.workers or processors()
    try:
        config = config_of(root, entry)
        if settings.rules is not None:
            config = with_rules(config, settings.rules, entry.config, root)
        config = replace(config, constants={**config.constants, **(constants or {})})
    except ConfigError as error:
        result = CheckResult(outcome=Outcome.CONFIG_ERROR, message=str(error))
        return ModelRun(entry, result, compare(entry, result, workers=workers), None, workers, 0.0)
    module = find_file(f"{entry.module}.tla", root)
    options = TlcOptions(
        workers=workers,
        heap_mib=settings.heap_mib or entry.heap_mib or TlcOptions.heap_mib,
        # The model of a member's graph makes sequences of its inputs by a deep recursion.
        stack_mib=64 if module.parent == HARNESS else None,
        timeout_s=settings.timeout_s,
        simulate=simulates,
        traces=entry.traces,
        depth=entry.trace_depth,
        seed=settings.seed,
        library=module_folders(root),
        jvm_args=SHORT_RUN if entry.takes is Takes.SECONDS else (),
    )
    before = _processor_s()
    result = check_with_tlc(module, config, options=options, on_event=on_event)
    taken = _processor_s() - before
    compared = compare(entry, result, workers=workers, changed=settings.rules is not None)
    shown = None
    if result.trace or (result.violations and result.outcome.is_violation):
        shown = counterexample(root, module, entry.name, result.violations[0])
    return ModelRun(entry, result, compared, shown, workers, taken)


def _processor_s() -> float:
    """Return the processor time of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

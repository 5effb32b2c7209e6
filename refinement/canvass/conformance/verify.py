"""`check_run` and `check_corpus`: the checker's public functions, in one process or in several.

    >>> verdict = check_run(Path("runs/seed-7"))          # doctest: +SKIP
    >>> verdict.verdict, verdict.divergences              # doctest: +SKIP

They call screening, lookup and diagnosis, which are in other modules. `make_lookup` combines state
graphs, the known steps, a cache and TLC.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.conformance.diagnose import RunColumns, diagnose, has_changed, load
from canvass.conformance.findings import Findings
from canvass.conformance.run_timing import TimingOptions
from canvass.conformance.screen import ASK_AT, RunState, Screening, Unit, path_of, with_limits
from canvass.conformance.step_checker import Example, example_of, step_at
from canvass.conformance.step_lookup import (
    RULE_MODULES,
    StepLookup,
    default_cache,
    spec_digest,
)
from canvass.conformance.timing import GRACEFUL, Doubt
from canvass.conformance.verdict import (
    CorpusVerdict,
    Counts,
    Divergence,
    RunVerdict,
    TimingWarning,
    Verdict,
    verdict_on,
)
from canvass.spec.files import module_digest, spec_root
from canvass.steps.answers import (
    ALLOWED,
    NO_ANSWERS,
    REFUSED,
    Answers,
    AnswersWarning,
    shipped_answers,
)
from canvass.steps.distinct import KeyTable
from canvass.steps.step import Step
from canvass.steps.tables import form_digest
from canvass.traces.errors import TraceError
from canvass.traces.run import Corpus

Allowed = Callable[[Sequence[Example]], Sequence[bool]]
_DOUBTS: Final = 1_000
"""Doubts about the times of a run for which steps are made, and looked up, at once."""


def _timing_warnings(state: RunState, allowed: Allowed) -> tuple[TimingWarning, ...]:
    """Give the timing warnings of a run, by member and step.

    Parameters
    ----------
    state
        A run that was screened.
    allowed
        Tells of each of some steps whether the spec allows it.

    Raises
    ------
    TraceError
        If the run has to be read again, and has changed.
    TlcError
        If the oracle is needed and cannot run.
    """
    timing = state.timing
    if timing is None:
        return ()
    if not timing.doubts:
        return timing.settled(())
    loaded = _read_again(state)

    def unexplained(doubts: Sequence[Doubt]) -> Iterator[Doubt]:
        others = [_others(loaded, doubt) for doubt in doubts]
        examples = [example for each in others for example in each]
        answers = dict(zip((example.key for example in examples), allowed(examples), strict=True))
        for doubt, each in zip(doubts, others, strict=True):
            if not any(answers[example.key] for example in each):
                yield doubt

    spans = range(0, len(timing.doubts), _DOUBTS)
    return timing.settled(
        doubt for first in spans for doubt in unexplained(timing.doubts[first : first + _DOUBTS])
    )


def _read_again(state: RunState) -> RunColumns:
    """Read a run that was screened.

    Raises
    ------
    TraceError
        If the run is gone, is no trace any more, or has another number of events.
    """
    try:
        loaded = load(state.path, state.run_id)
    except KeyError:
        raise has_changed(str(state.path), state.run_id) from None
    if len(loaded.columns) != state.events:
        raise has_changed(str(state.path), state.run_id)
    return loaded


def _others(loaded: RunColumns, doubt: Doubt) -> Sequence[Example]:
    """Give the step with each input that the times allow."""
    row = loaded.row_of(doubt.member, doubt.step)
    step = step_at(loaded.columns, loaded.states, row)
    rules = loaded.run.rules
    changed = (_changed(step, fields) for fields in doubt.instead)
    return [example for each in changed if (example := example_of(each, rules)) is not None]


def _changed(step: Step, fields: Mapping[str, Any]) -> Step:
    """Give a step with other inputs, or with another member as the leader that closed."""
    given = {name: value for name, value in fields.items() if name != GRACEFUL}
    step = replace(step, input=replace(step.input, **given))
    leader = fields.get(GRACEFUL)
    if leader is None:
        return step
    before = replace(step.before, graceful_closed_leader_id=leader)
    return replace(step, before=before, after=replace(step.after, graceful_closed_leader_id=leader))


Progress = Callable[[int, int, int], object]
"""Called after each batch of events: units read, units in all, events so far."""
Asking = Callable[[int], object]
"""Called before TLC is asked, with the number of steps."""


def check_run(
    path: Path, lookup: StepLookup | None = None, run_id: str | None = None
) -> RunVerdict:
    """Check one run.

    Parameters
    ----------
    path
        A run folder, or a file of a data set.
    lookup
        Decides steps. By default TLC decides them, and its answers are not kept.
    run_id
        The id of the run in the file of a data set.

    Returns
    -------
    RunVerdict
        ``MALFORMED`` for a folder that is no run.

    Raises
    ------
    KeyError
        If the file has no such run.
    TlcError
        If the oracle is needed and cannot run.
    """
    screening = Screening(lookup or StepLookup())
    screening.add(path, run_id)
    screening.ask()
    (state,) = screening.runs
    return settle(state, screening)


def check_corpus(paths: Iterable[Path], lookup: StepLookup | None = None) -> CorpusVerdict:
    """Check all runs of some corpora: run folders, folders of them, data sets or their files.

    Raises
    ------
    TraceError
        If a corpus holds nothing to check, or something that is neither a run nor a data set.
    TlcError
        If the oracle is needed and cannot run.
    """
    return check_units(list(units_of(paths)), lookup or StepLookup())


def units_of(paths: Iterable[Path]) -> Iterator[Unit]:
    """Give the run folders and data set files of some corpora.

    Each is given once, also if it is named twice. A path among them that can be no run is given as
    the error that says why.

    Raises
    ------
    TraceError
        If a path is no corpus.
    """
    given = set[Path]()
    for path in paths:
        for unit in Corpus(path).units:
            place = path_of(unit).absolute()
            if place not in given:
                given.add(place)
                yield unit


def check_units(
    units: Iterable[Unit],
    lookup: StepLookup,
    progress: Progress | None = None,
    asking: Asking | None = None,
    timing: TimingOptions | None = None,
) -> CorpusVerdict:
    """Check run folders and files of data sets; check times and free inputs of run folders only."""
    listed = list(units)
    done = 0

    def report() -> None:
        if progress is not None:
            progress(done, len(listed), screening.read)

    screening = Screening(lookup, on_batch=report, timing=timing)
    for number, unit in enumerate(listed, 1):
        screening.add(unit)
        done = number
        report()
        if len(screening.open_steps) >= ASK_AT:
            _ask(screening, asking)
            report()
    screening.flush()
    _ask(screening, asking)
    return settle_all(screening)


def _ask(screening: Screening, asking: Asking | None) -> None:
    if asking is not None and screening.open_steps:
        asking(len(screening.open_steps))
    screening.ask()


def settle_all(screening: Screening) -> CorpusVerdict:
    """Give the verdicts on all runs that were screened; all their steps must be decided."""
    verdicts = tuple(settle(state, screening) for state in screening.runs)
    counts = Counts(
        runs=len(screening.runs),
        events=sum(state.events for state in screening.runs),
        distinct_steps=screening.distinct,
        found_in_table=screening.found_in_table,
        found_in_cache=screening.found_in_cache,
        asked_of_oracle=screening.asked,
        seconds=time.perf_counter() - screening.started,
    )
    return CorpusVerdict(verdicts, counts)


def settle(state: RunState, screening: Screening) -> RunVerdict:
    """Give the verdict on a run whose steps are decided; diagnose a run that diverges.

    The diagnosis reads the run again. A run that has changed in the meantime is ``MALFORMED``.
    """
    path = str(state.path)
    if state.malformed:
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=state.malformed)
    if not state.events:
        reason = "the run has no events: nothing was checked"
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, facts=state.facts, reason=reason)
    diverges = bool(state.wrong) or screening.refused(state)
    try:
        divergences = _divergences(state, screening.lookup) if diverges else ()
        warnings = _timing_warnings(state, screening.lookup.allowed)
    except TraceError as error:
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=str(error))
    found = RunVerdict(
        run_id=state.run_id,
        path=path,
        verdict=verdict_on(diverges=diverges, facts=state.facts, unchecked=state.unchecked),
        events=state.events,
        unchecked=state.unchecked,
        divergences=divergences,
        facts=state.facts,
        revision="" if state.run is None else state.run.revision,
        timing=warnings,
        choices=() if state.timing is None else state.timing.choices(),
    )
    return with_limits(found, state.run)


def _divergences(state: RunState, lookup: StepLookup) -> tuple[Divergence, ...]:
    """Diagnose a run that diverges.

    Raises
    ------
    TraceError
        If the run has changed since it was screened.
    """
    found = diagnose(_read_again(state), state.facts, lookup)
    if not found:
        raise has_changed(str(state.path), state.run_id)
    return found


def check_in_processes(
    units: Sequence[Unit],
    lookup: StepLookup,
    jobs: int,
    progress: Progress | None = None,
    asking: Asking | None = None,
    timing: TimingOptions | None = None,
) -> CorpusVerdict:
    """Check run folders and files of data sets in several processes.

    First each process screens its share of the units. This process asks the oracle about the
    unknown steps of all shares. Then the shares with unknown steps are checked again. The verdicts
    are those of `check_units`, in the order of the units.
    """
    started = time.perf_counter()
    asked = lookup.asked
    shares = [list(units[start::jobs]) for start in range(min(jobs, len(units)))]
    parts: list[CorpusVerdict | None] = [None] * len(shares)
    lent = before = dataclasses.replace(lookup, answers=lookup.cached())
    keys = []
    done = events = 0
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        screened = {pool.submit(_screen, share, lent, timing): n for n, share in enumerate(shares)}
        for future in as_completed(screened):
            own_keys, examples, settled, count = future.result()
            keys.append(own_keys)
            parts[screened[future]] = settled
            done, events = done + len(shares[screened[future]]), events + count
            if progress is not None:
                progress(done, len(units), events)
            _ask_unknown(lookup, examples, asking)
        lent = dataclasses.replace(lookup, answers=lookup.cached())
        again = {
            n: pool.submit(check_units, shares[n], lent, timing=timing)
            for n, part in enumerate(parts)
            if part is None
        }
        found = [part or again[n].result() for n, part in enumerate(parts)]
    by_path: dict[str, list[int]] = {}
    runs = [run for part in found for run in part.runs]
    for place, run in enumerate(runs):
        by_path.setdefault(run.path, []).append(place)
    ordered = [runs[place] for unit in units for place in by_path.get(str(path_of(unit)), [])]
    # Processes meet the same steps, and find those in the cache that were asked for them.
    distinct = np.unique(np.concatenate(keys), axis=0)
    in_cache = int(np.isin(before.look_up(distinct), (ALLOWED, REFUSED)).sum())
    counts = Counts(
        runs=len(ordered),
        events=sum(part.counts.events for part in found),
        distinct_steps=len(distinct),
        found_in_table=len(distinct) - in_cache - (lookup.asked - asked),
        found_in_cache=in_cache,
        asked_of_oracle=lookup.asked - asked,
        seconds=time.perf_counter() - started,
    )
    return CorpusVerdict(tuple(ordered), counts)


def _screen(
    units: list[Unit], lookup: StepLookup, timing: TimingOptions | None
) -> tuple[NDArray[np.uint64], list[Example], CorpusVerdict | None, int]:
    """Give the distinct keys, the unknown steps, the verdicts if no step is unknown, and the number
    of events.
    """
    screening = Screening(lookup, timing=timing)
    for unit in units:
        screening.add(unit)
    screening.flush()
    examples = list(screening.open_steps.values())
    settled = None if examples else settle_all(screening)
    return screening.keys, examples, settled, screening.events


def _ask_unknown(lookup: StepLookup, examples: list[Example], asking: Asking | None) -> None:
    unknown = lookup.unknown(examples)
    if unknown:
        if asking is not None:
            asking(len(unknown))
        lookup.ask_oracle(unknown)


def decide(checked: Callable[[Answers], Findings], lookup: StepLookup) -> Findings:
    """Check, ask TLC about the open steps, and check again if TLC refuses one of them.

    Parameters
    ----------
    checked
        Gives the findings in some runs from the answers that there are.
    lookup
        Has the answers, and asks TLC.

    Returns
    -------
    Findings
        All steps are decided.
    """
    while True:
        findings = checked(lookup.tables)
        if not findings.open_steps:
            return findings
        steps = list(findings.open_steps.values())
        if (lookup.ask_oracle(steps) != REFUSED).all():
            return findings.closed()


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """Make the lookup of steps from state graphs, the known steps, the cache and TLC.

    Parameters
    ----------
    graphs
        Folders of state-graph artifacts with a table of keys.
    cache
        The folder of the cache; None for the user's cache folder.
    keep
        Whether the cache and the known steps are used.

    Raises
    ------
    GraphError
        If a graph cannot be opened, or is of another state of the spec.
    """
    folder = cache
    try:
        folder = (cache or default_cache()) if keep else None
    except RuntimeError as error:  # There is no home folder.
        warnings.warn(f"no cache of TLC's answers: {error}", AnswersWarning, stacklevel=2)
    return StepLookup(
        graphs={str(path): _open_keys(path) for path in graphs},
        cache=folder,
        shipped=shipped_answers(spec_digest()) if keep else NO_ANSWERS,
    )


def _open_keys(path: Path) -> KeyTable:
    """Open the keys of a graph whose edges are what today's spec allows, under today's keys."""
    from canvass.graph import GraphError
    from canvass.graph.artifact import open_keys, read_manifest

    manifest = read_manifest(path)
    for name in RULE_MODULES:
        file = f"{name}.tla"
        if manifest.modules.get(file) != module_digest(spec_root() / file):
            raise GraphError(f"{path}: the graph was made of another {file}; build it again")
    if manifest.form_sha256 != form_digest():
        raise GraphError(f"{path}: the graph has keys of another canonical form; build it again")
    return open_keys(path)

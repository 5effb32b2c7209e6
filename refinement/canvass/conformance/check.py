"""The checker's public face: `check_run` and `check_corpus`.

    >>> verdict = check_run(Path("runs/seed-7"))          # doctest: +SKIP
    >>> verdict.verdict, verdict.divergences              # doctest: +SKIP

Screening, judging and diagnosis are in the other modules; here is only how they follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from canvass.conformance.diagnose import diagnose, load
from canvass.conformance.doubts import timing_warnings
from canvass.conformance.run_timing import TimingOptions
from canvass.conformance.screen import ASK_AT, RunState, Screening, Unit, path_of
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import CorpusVerdict, Counts, Divergence, RunVerdict, Verdict
from canvass.traces.run import Corpus

Progress = Callable[[int, int, int], object]
"""Called after each batch of events: units read, units in all, events so far."""
Asking = Callable[[int], object]
"""Called before TLC is asked about so many steps."""


def check_run(path: Path, lookup: StepLookup | None = None) -> RunVerdict:
    """Check one run.

    Parameters
    ----------
    path
        A run folder.
    lookup
        Who decides steps; without one, TLC, with answers kept nowhere.

    Returns
    -------
    RunVerdict
        Also for a folder that is no run: its verdict is ``MALFORMED``.

    Raises
    ------
    TlcError
        If the oracle is needed and cannot run.
    """
    (verdict,) = check_units([path], lookup or StepLookup()).runs
    return verdict


def check_corpus(
    paths: Iterable[Path], lookup: StepLookup | None = None, progress: Progress | None = None
) -> CorpusVerdict:
    """Check all runs of some corpora: run folders, folders of them, data sets or their files.

    Raises
    ------
    TraceError
        If a corpus holds nothing to check, or something that is neither a run nor a data set.
    TlcError
        If the oracle is needed and cannot run.
    """
    return check_units(list(units_of(paths)), lookup or StepLookup(), progress)


def units_of(paths: Iterable[Path]) -> Iterator[Unit]:
    """Give the run folders and data set files of some corpora.

    Each is given once, also if it is named twice. What stands among them and can be no run is given
    as the error that says why.

    Raises
    ------
    TraceError
        If a corpus is none.
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
    """Check run folders and files of data sets; of run folders also times and free inputs."""
    listed = list(units)
    done = 0

    def tell() -> None:
        if progress is not None:
            progress(done, len(listed), screening.read)

    screening = Screening(lookup, on_batch=tell, timing=timing)
    for number, unit in enumerate(listed, 1):
        screening.add(unit)
        done = number
        tell()
        if len(screening.open_steps) >= ASK_AT:
            _ask(screening, asking)
            tell()
    screening.flush()
    _ask(screening, asking)
    return settle_all(screening)


def _ask(screening: Screening, asking: Asking | None) -> None:
    if asking is not None and screening.open_steps:
        asking(len(screening.open_steps))
    screening.ask()


def settle_all(screening: Screening) -> CorpusVerdict:
    """Give the verdicts on all runs that were screened, of which all steps are decided."""
    verdicts = tuple(settle(state, screening) for state in screening.runs)
    counts = Counts(
        runs=len(screening.runs),
        events=sum(state.events for state in screening.runs),
        distinct_steps=screening.distinct,
        found_in_graph=screening.found_in_graph,
        found_in_cache=screening.found_in_cache,
        asked_of_oracle=screening.asked,
        seconds=time.perf_counter() - screening.started,
    )
    return CorpusVerdict(verdicts, counts)


def settle(state: RunState, screening: Screening) -> RunVerdict:
    """Give the verdict on a run whose steps are decided; find out what is wrong."""
    path = str(state.path)
    if state.malformed:
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, reason=state.malformed)
    if not state.events:
        reason = "the run has no events: nothing was checked"
        return RunVerdict(state.run_id, path, Verdict.MALFORMED, facts=state.facts, reason=reason)
    divergences: tuple[Divergence, ...] = ()
    verdict = Verdict.CONFORMS
    if state.wrong or screening.refused(state):
        divergences = diagnose(load(state.path, state.run_id), state.facts, screening.lookup)
        verdict = Verdict.DIVERGES
    elif state.facts or state.unchecked:
        verdict = Verdict.INCOMPLETE
    timing = state.timing
    return RunVerdict(
        run_id=state.run_id,
        path=path,
        verdict=verdict,
        events=state.events,
        unchecked=state.unchecked,
        divergences=divergences,
        facts=state.facts,
        revision="" if state.run is None else state.run.revision,
        timing=()
        if timing is None
        else timing_warnings(timing, state.path, state.run_id, screening.lookup.allowed),
        choices=() if timing is None else timing.choices(),
    )

"""Checking in several processes: each screens some units; the steps nobody knows are asked once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.check import Asking, Progress, check_units, settle_all
from canvass.conformance.run_timing import TimingOptions
from canvass.conformance.screen import Screening, Unit, path_of
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.steps import Example
from canvass.conformance.verdict import CorpusVerdict, Counts


def check_in_processes(
    units: Sequence[Unit],
    lookup: StepLookup,
    jobs: int,
    progress: Progress | None = None,
    asking: Asking | None = None,
    timing: TimingOptions | None = None,
) -> CorpusVerdict:
    """Check run folders and files of data sets in several processes.

    First all processes screen their units; steps that nobody knows are asked of the oracle
    once, here. Then the shares that had such steps are checked again on what is known. Verdicts
    come in the order of the units, and are those of `canvass.conformance.check.check_units`.
    """
    started = time.perf_counter()
    asked = lookup.asked
    shares = [list(units[start::jobs]) for start in range(min(jobs, len(units)))]
    parts: list[CorpusVerdict | None] = [None] * len(shares)
    lent = replace(lookup, answers=lookup.cached())
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
            _ask(lookup, examples, asking)
        lent = replace(lookup, answers=lookup.cached())
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
    counts = Counts(
        runs=len(ordered),
        events=sum(part.counts.events for part in found),
        distinct_steps=len(np.unique(np.concatenate(keys), axis=0)),
        found_in_graph=sum(part.counts.found_in_graph for part in found),
        found_in_cache=sum(part.counts.found_in_cache for part in found),
        asked_of_oracle=lookup.asked - asked,
        seconds=time.perf_counter() - started,
    )
    return CorpusVerdict(tuple(ordered), counts)


def _screen(
    units: list[Unit], lookup: StepLookup, timing: TimingOptions | None
) -> tuple[NDArray[np.uint64], list[Example], CorpusVerdict | None, int]:
    """Give the distinct keys, the steps that nobody knows, without any the verdicts, and how many
    events there are.
    """
    screening = Screening(lookup, timing=timing)
    for unit in units:
        screening.add(unit)
    screening.flush()
    examples = list(screening.open_steps.values())
    settled = None if examples else settle_all(screening)
    return screening.keys, examples, settled, screening.events


def _ask(lookup: StepLookup, examples: list[Example], asking: Asking | None) -> None:
    unknown = lookup.unknown(examples)
    if unknown:
        if asking is not None:
            asking(len(unknown))
        lookup.ask(unknown)

"""Results as rows: verdicts on runs, divergences, and how often each action was taken.

Nothing is checked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from canvass.conformance.screen import RunState
from canvass.conformance.verdict import (
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
    verdict_on,
)
from canvass.corpus.plan import Unit
from canvass.corpus.rows import Row, RowKind
from canvass.traces.alignment.importer import ImportSummary
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.schema import Run


def open_verdict(unit: Unit, state: RunState) -> RunVerdict:
    """Give the verdict on a run with open steps for the case that they are all allowed."""
    verdict = verdict_on(diverges=bool(state.wrong), facts=state.facts, unchecked=state.unchecked)
    return RunVerdict(
        state.run_id,
        unit.path,
        verdict,
        events=state.events,
        unchecked=state.unchecked,
        facts=state.facts,
    )


def with_import(found: RunVerdict, imported: ImportSummary) -> RunVerdict:
    """Take into account which lines the importer could not explain, and which are missing."""
    place = imported.contradiction
    if place is not None and found.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        text = f"{place.file}:{place.line}: {place.reason}"
        kind = DivergenceClass.IMPLEMENTATION_STEP
        wrong = Divergence(kind, "AeronLog", place.member_id, -1, text)
        return replace(found, verdict=Verdict.DIVERGES, divergences=(wrong,))
    open_verdicts = (Verdict.CONFORMS, Verdict.INCOMPLETE)
    if imported.missing and found.verdict in open_verdicts and not found.reason:
        return replace(found, verdict=Verdict.INCOMPLETE, reason="; ".join(imported.missing))
    return found


def verdict_rows(
    unit: Unit, run: Run | None, found: RunVerdict, pending: tuple[bytes, ...] = ()
) -> Iterator[Row]:
    """Give rows for a verdict and each divergence."""
    part = None if unit.part is None else unit.part.number
    yield Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        part=part,
        run_id=None if run is None else run.run_id,
        revision=None if run is None else run.revision,
        member_count=None if run is None else run.member_count,
        verdict=found.verdict.value,
        events=found.events,
        unchecked=found.unchecked,
        reason=_reason(found),
        pending=pending,
    )
    for divergence in found.divergences:
        yield Row(
            kind=RowKind.DIVERGENCE,
            source=unit.path,
            part=part,
            run_id=found.run_id,
            revision=None if run is None else run.revision,
            member_count=None if run is None else run.member_count,
            divergence_class=divergence.kind.value,
            name=divergence.name,
            member_id=divergence.member,
            step=divergence.step,
            rank=divergence.rank,
            reason=divergence.text,
        )


def _reason(found: RunVerdict) -> str:
    """Say in one line why a run does not simply conform."""
    if found.divergences:
        first = found.divergences[0]
        return f"member {first.member}, step {first.step}: {first.name}: {first.text}"
    facts = [
        f"{fact.kind.value} member {fact.member_id}"
        + (f" step {fact.step}" if fact.step > 0 else "")
        for fact in found.facts
    ]
    return found.reason or "; ".join(facts[:5] + ["..."] * (len(facts) > 5))


def malformed_row(unit: Unit, reason: str) -> Row:
    """Give the row of a unit that is no run."""
    return Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        verdict=Verdict.MALFORMED.value,
        events=0,
        unchecked=0,
        reason=reason,
    )


def coverage_rows(
    found: Iterable[tuple[Run, Sequence[int]]], unit: Unit | None = None
) -> Iterator[Row]:
    """Give rows for how often some runs, all of one unit if it is given, took each action."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for run, actions in found:
        for code in np.flatnonzero(actions).tolist():
            counts[run.revision, run.member_count, ACTION_NAMES[code]] += int(actions[code])
    for (revision, member_count, name), count in sorted(counts.items()):
        yield Row(
            kind=RowKind.COVERAGE,
            source=None if unit is None else unit.path,
            part=None if unit is None or unit.part is None else unit.part.number,
            revision=revision,
            member_count=member_count,
            name=name,
            events=count,
        )

"""The report of a verification as data: what ``canvass verify --format json`` writes."""

from __future__ import annotations

from collections.abc import Sequence

from canvass.conformance.explain import Explanation
from canvass.conformance.verdict import VERDICT_SCHEMA, CorpusVerdict, Counts, Record, RunVerdict


class Report(Record, frozen=True):
    """Verdicts on all runs, and what explains the first divergences."""

    schema: str
    ok: bool
    exit_code: int
    counts: Counts
    runs: tuple[RunVerdict, ...]
    explanations: tuple[Explanation, ...]


def to_report(found: CorpusVerdict, explained: Sequence[Explanation]) -> Report:
    """Put a report together."""
    return Report(
        schema=VERDICT_SCHEMA,
        ok=found.exit_code == 0,
        exit_code=found.exit_code,
        counts=found.counts,
        runs=found.runs,
        explanations=tuple(explained),
    )

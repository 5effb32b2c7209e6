"""The report of a verification: what is said of runs in a few words, and the whole report as data.

``canvass verify --format json`` writes a `Report`; the other forms are in `html`, `sarif` and
`junit`, what they need to know of one divergence in `report_case`.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Final

from canvass.conformance.explain import Explanation
from canvass.conformance.verdict import (
    VERDICT_SCHEMA,
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    Record,
    RunVerdict,
    SharedId,
    TimeoutSource,
    TimingWarning,
    Verdict,
    shared_ids,
)
from canvass.lanes.model import visible
from canvass.traces.timeouts import duration_text

CLASS_TEXTS: Final = {
    DivergenceClass.IMPLEMENTATION_STEP: "a step that the spec does not allow",
    DivergenceClass.CAUSALITY: "something that nobody caused",
    DivergenceClass.SAFETY_PROPERTY: "a violated safety property",
    DivergenceClass.INSTRUMENTATION_GAP: "something that was not recorded",
}
"""What each class means to a person."""
_MAX_FACTS: Final = 3
_MAX_PATHS: Final = 3


class Report(Record, frozen=True):
    """Verdicts on all runs, and what explains the first divergences."""

    schema: str
    ok: bool
    exit_code: int
    counts: Counts
    runs: tuple[RunVerdict, ...]
    shared_ids: tuple[SharedId, ...]
    explanations: tuple[Explanation, ...]


def to_report(found: CorpusVerdict, explained: Sequence[Explanation]) -> Report:
    """Put a report together."""
    return Report(
        schema=VERDICT_SCHEMA,
        ok=found.exit_code == 0,
        exit_code=found.exit_code,
        counts=found.counts,
        runs=found.runs,
        shared_ids=shared_ids(found.runs),
        explanations=tuple(explained),
    )


def run_names(runs: Sequence[RunVerdict]) -> list[str]:
    """Name runs for a list of them: by the id, and by the path too if several runs have the id."""
    shared = {one.run_id for one in shared_ids(runs)}
    return [
        visible(f"{run.run_id} ({run.path})" if run.run_id in shared else run.run_id)
        for run in runs
    ]


def shared_id_remark(run_id: str, count: int, paths: Sequence[str]) -> str:
    """Say that several runs have one id, with the first of their paths."""
    shown = ", ".join(paths[:_MAX_PATHS]) + (", ..." if count > _MAX_PATHS else "")
    return visible(f"remark: {count:,} runs have the id {run_id}: {shown}")


def about(run: RunVerdict) -> str:
    """Say in a few words what is wrong with a run; nothing if nothing is."""
    if run.divergences:
        first = run.divergences[0]
        more = f" (+{len(run.divergences) - 1})" if len(run.divergences) > 1 else ""
        return f"{first.name} at member {first.member}, step {first.step}{more}"
    if run.reason:
        return run.reason
    parts = [f"{fact.kind.value} of member {fact.member_id}" for fact in run.facts[:_MAX_FACTS]]
    if run.unchecked:
        parts.append(f"{run.unchecked} steps from an unknown state")
    if run.timing:
        count = sum(warning.count for warning in run.timing)
        parts.append("1 timing warning" if count == 1 else f"{count:,} timing warnings")
    return ", ".join(parts)


_SOURCES: Final = {
    TimeoutSource.GIVEN: "given",
    TimeoutSource.RUN: "of the run",
    TimeoutSource.DEFAULT: "Aeron's default",
}


def timing_lines(warning: TimingWarning) -> tuple[str, str]:
    """Say what a timing warning is about, and what was compared."""
    more = f" (and {warning.count - 1:,} more)" if warning.count > 1 else ""
    step = f"member {warning.member}, step {warning.step}, {warning.action}"
    if not warning.setting:
        return f"{step}: {warning.text}{more}", f"[{warning.rule.value}]"
    timeout = f"{warning.setting} is {duration_text(warning.timeout_ns)}"
    source = _SOURCES[warning.timeout_source]
    return f"{step}: {warning.text}{more}", f"{timeout}, {source} [{warning.rule.value}]"


def meaning(runs: Sequence[RunVerdict]) -> str:
    """Say what it means that runs conform, and which inputs that rests on; nothing if none does."""
    sound = [run for run in runs if run.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE)]
    revisions = sorted({run.revision for run in sound} - {""})
    if not revisions:
        return ""
    counts: dict[str, list[int]] = {}
    for run in sound:
        for choice in run.choices:
            sums = counts.setdefault(choice.name, [0, 0])
            sums[0] += choice.shown
            sums[1] += choice.inferred
    parts = [
        f"{name} {shown + inferred:,}" + (f" ({inferred:,} inferred)" if inferred else "")
        for name, (shown, inferred) in counts.items()
    ]
    taken = f". It has no clock and takes these as they are: {', '.join(parts)}" if parts else ""
    return f"CONFORMS: revision {' and '.join(revisions)} of the spec allows every step{taken}"


def show_command(path: str, divergence: Divergence) -> str:
    """Give the command that shows what led to a divergence."""
    return f"canvass trace show {quote(path)} --around {divergence.member}:{divergence.step}"


def summary(counts: Counts) -> str:
    """Say in a few words how much was checked, and how."""
    rate = counts.events / counts.seconds if counts.seconds else 0.0
    runs = "1 run" if counts.runs == 1 else f"{counts.runs:,} runs"
    done = f"{runs}, {counts.events:,} events in {counts.seconds:.1f} s ({rate:,.0f} events/s)"
    if counts.by_tlc:
        return f"{done}; behaviours looked for by TLC"
    return (
        f"{done}; {counts.distinct_steps:,} distinct steps:"
        f" {counts.found_in_graph:,} in the graph, {counts.found_in_cache:,} in the cache,"
        f" {counts.asked_of_oracle:,} asked of TLC"
    )

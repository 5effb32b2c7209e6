"""The checks of a whole run: causality, then the safety monitors; and what limits the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from canvass.conformance.causality import Order, cut_short, order_causes
from canvass.conformance.safety_monitors import Violation, asked_in_part, not_asked, violations
from canvass.conformance.sequence import Sequence
from canvass.conformance.verdict import Divergence, RunVerdict, Verdict, verdict_on
from canvass.traces.releases import releases_of_run
from canvass.traces.schema import Fact, FactKind, Run


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The results of the checks of a whole run."""

    facts: tuple[Fact, ...]
    order: Order
    broken: list[Violation]


def check_whole(run: Run, sequence: Sequence, facts: tuple[Fact, ...]) -> WholeRun:
    """Check causality and the safety monitors of a run."""
    facts = with_cuts(run, sequence, facts)
    complete = complete_members(run, facts)
    empty = run.initial == "empty"
    replaced = [(disk.member_id, disk.step) for disk in run.disk_replaced]
    order = order_causes(
        sequence, run.member_count, empty=empty, complete=complete, replaced=replaced
    )
    broken = violations(
        sequence, order, revision=run.revision, unknown=not empty, complete=complete
    )
    return WholeRun(facts, order, broken)


def verdict_of(
    run: Run,
    path: str,
    *,
    events: int,
    unchecked: int,
    facts: tuple[Fact, ...],
    diverges: bool,
    divergences: tuple[Divergence, ...] = (),
) -> RunVerdict:
    """Give the verdict on a run that could be read, with what limits it.

    These are the names of the safety properties that were not checked in full, and the releases
    that wrote the logs of an imported run. An imported run that lacks something is incomplete.
    """
    verdict, reason = verdict_on(diverges=diverges, facts=facts, unchecked=unchecked), ""
    if run.missing and not diverges:
        verdict, reason = Verdict.INCOMPLETE, "; ".join(run.missing)
    elif run.disk_replaced and not diverges:
        reason = "remark: " + "; ".join(map(str, run.disk_replaced))
    unknown, whole = run.initial != "empty", all(complete_members(run, facts))
    return RunVerdict(
        run_id=run.run_id,
        path=path,
        verdict=verdict,
        events=events,
        unchecked=unchecked,
        divergences=divergences,
        facts=facts,
        reason=reason,
        revision=run.revision,
        not_asked=not_asked(revision=run.revision, unknown=unknown, whole=whole),
        asked_in_part=asked_in_part(revision=run.revision, unknown=unknown, whole=whole),
        releases=releases_of_run(run),
    )


def with_cuts(run: Run, sequence: Sequence, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Add to the facts of a run the streams that are truncated between two lines."""
    known = {fact.member_id for fact in facts}
    detail = "others received messages that come after its end"
    return facts + tuple(
        Fact(FactKind.TRUNCATED, run.run_id, member, detail=detail)
        for member in cut_short(sequence, run.member_count)
        if member not in known
    )


def complete_members(run: Run, facts: Iterable[Fact]) -> list[bool]:
    """Tell for each member whether no step of it is missing."""
    missing = {fact.member_id for fact in facts}
    return [member not in missing for member in range(run.member_count)]

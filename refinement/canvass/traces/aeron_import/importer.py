"""Import of a cluster's logs: read, plan, drive each member, cut at what nothing explains, write.

The run that is written is complete in itself; nothing of the importer's judgement is needed to
check it.
"""

from __future__ import annotations

import gc
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

from canvass.cluster import member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces.actions import Action
from canvass.traces.aeron_import.clocks import align
from canvass.traces.aeron_import.deliveries import Delivery, Plan, make_plan
from canvass.traces.aeron_import.driver import Failure, drive, find_begin
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    evidence_of,
    is_message,
    sender_of,
    set_segments,
    set_times,
)
from canvass.traces.aeron_import.proposal import Proposal, Step
from canvass.traces.aeron_import.summary import (
    CONTRADICTED,
    EXPLAINED,
    INCOMPLETE,
    ImportSummary,
    MemberSummary,
    Place,
    add_counts,
)
from canvass.traces.aeron_import.wire_form import WireForm
from canvass.traces.aeron_log.logs import ClusterLogs, read_cluster
from canvass.traces.aeron_log.records import NewElection
from canvass.traces.limits import MAX_MEMBERS
from canvass.traces.ndjson import EventWriter
from canvass.traces.schema import (
    Event,
    Input,
    Run,
    Send,
    Source,
    encode,
)

REVISION: Final = "1.50"
"""The revision whose rules current releases follow."""

_UNSENT: Final = 10**14
"""Running numbers from here on are of messages that nobody sent: no member sends so many."""

_SLACK_NS: Final = 2_000_000
"""How well the clocks of two hosts are put on one: half the time of the fastest round trip."""

_CUT_OFF_COUNT: Final = 3
"""So many messages heard of a member after the end of its log say that the log goes on elsewhere;
fewer may be false.
"""

_NEVER: Final = 1 << 62
_UNDER_WAY_NS: Final = 15_000_000_000
"""A message may have been under way so long: after 10 s without a sign Aeron gives a stream up."""

_FACTS: Final = attrgetter(
    *(name for name in member.Input.__dataclass_fields__ if name != "message")
)
"""The fields of an input besides the message, in the order of the format."""

_BATCH: Final = 512


class ImportFault(Exception):
    """The logs cannot be made into a run; the message is one line."""


@dataclass(slots=True)
class Imported:
    """Logs, made into proposals.

    Parameters
    ----------
    rules, logs, plan
        The rules of the run, what was read, and what was planned.
    proposals
        Of each member that has a log.
    failure
        The first record that nothing explains, if there is one; the proposals end there.
    """

    rules: Rules
    logs: ClusterLogs
    plan: Plan
    proposals: dict[int, Proposal]
    failure: Failure | None


def propose(logs: ClusterLogs) -> Imported:
    """Propose a run that explains the logs.

    Raises
    ------
    ImportFault
        If the logs name members that no cluster can have.
    """
    members = {
        member_id: evidence_of(log) for member_id, log in logs.members.items() if member_id >= 0
    }
    highest = max([*members, *logs.missing], default=NULL_VALUE)
    if not members:
        raise ImportFault("no line of the logs is a cluster's")
    if highest >= MAX_MEMBERS:
        raise ImportFault(f"member {highest} is named; a run has at most {MAX_MEMBERS} members")
    offsets = set()
    for evidence, offset in align(members):
        offsets.add(offset)
        set_times(evidence, offset)
        set_segments(evidence)
    rules = Rules(highest + 1, REVISION)
    slack_ns = _SLACK_NS if len(offsets) > 1 else 0
    spans = {
        member_id: (evidence.times[begin] if begin < len(evidence.times) else _NEVER, _NEVER)
        for member_id, evidence in members.items()
        if (begin := find_begin(evidence)) > 0
    }
    for member_id in _lacking_lives(members):
        members[member_id].lacks_lives = True
        spans.setdefault(member_id, (members[member_id].times[0], _NEVER))
    proposals, failures, plan = _drive_all(rules, members, spans, slack_ns)
    if failures:
        ends = _ends(members, plan)
        if ends:
            for member_id, end in ends.items():
                spans[member_id] = (spans.get(member_id, (-_NEVER, 0))[0], end)
            again = _drive_all(rules, members, spans, slack_ns)
            if not again[1]:
                proposals, failures, plan = again
                for member_id in ends:
                    _mark_cut_off(proposals[member_id])
    first = min(failures, key=lambda failure: failure.time, default=None)
    if first is not None:
        _cut(proposals, first)
    return Imported(rules, logs, plan, proposals, first)


def _lacking_lives(members: Mapping[int, MemberEvidence]) -> set[int]:
    """Members that start on something, and of which others have heard before."""
    begins = {}
    for member_id, evidence in members.items():
        place = evidence.elections[0] if evidence.elections else 0
        record = evidence.records[place] if evidence.records else None
        if isinstance(record, NewElection) and record.append_position > 0:
            begins[member_id] = evidence.times[0]
    return {
        sender
        for evidence in members.values()
        for record, time_ns in zip(evidence.records, evidence.times, strict=True)
        if is_message(record) and time_ns < begins.get(sender := sender_of(record), -_NEVER)
    }


def _drive_all(
    rules: Rules,
    members: Mapping[int, MemberEvidence],
    spans: Mapping[int, tuple[int, int]],
    slack_ns: int,
) -> tuple[dict[int, Proposal], list[Failure], Plan]:
    """Plan and drive all members; give what failed as well."""
    plan = make_plan(members, spans)
    plan.slack_ns = slack_ns
    proposals: dict[int, Proposal] = {}
    failures: list[Failure] = []
    for member_id, evidence in members.items():
        proposals[member_id], failure = drive(rules, plan, evidence)
        if failure is not None:
            failures.append(failure)
    for sender, proposal in proposals.items():
        first, last = spans.get(sender, (-_NEVER, _NEVER))
        for delivery in proposal.unsent:
            late = proposal.late and delivery.time < first + _UNDER_WAY_NS
            if first <= delivery.time <= last and not late and delivery.receiver in members:
                kind = type(delivery.message).__name__
                reason = f"member {sender} did not send this {kind}"
                failures.append(Failure(delivery.receiver, delivery.index, delivery.time, reason))
    return proposals, failures, plan


def _ends(members: Mapping[int, MemberEvidence], plan: Plan) -> dict[int, int]:
    """When the logs end that seem to have lost their ends: others have heard more of the member."""
    ends = {}
    for member_id, evidence in members.items():
        end = evidence.times[-1] if evidence.times else -_NEVER
        after = sum(
            delivery.time > end
            for (sender, _), queue in plan.queues.items()
            if sender == member_id
            for delivery in queue
        )
        if after >= _CUT_OFF_COUNT:
            ends[member_id] = end
    return ends


def _mark_cut_off(proposal: Proposal) -> None:
    """Leave a number out before the last event: what follows is missing."""
    proposal.cut_off = True
    if proposal.steps:
        proposal.steps[-1].gap = True


def _cut(proposals: Mapping[int, Proposal], failure: Failure) -> None:
    """Let the run end with the first record that nothing explains."""
    for proposal in proposals.values():
        kept = [step for step in proposal.steps if step.time <= failure.time]
        if proposal.member_id == failure.member_id:
            last = next(
                (k for k, step in enumerate(proposal.steps) if failure.index in step.lines), None
            )
            if last is not None:
                kept = proposal.steps[: last + 1]
        proposal.steps = kept


def events_of(proposal: Proposal) -> list[Event]:
    """The events of a proposal, in order; a number is left out where something is missing."""
    member_id, evidence = proposal.member_id, proposal.evidence
    form = WireForm()
    events = []
    number, latest = -1, NULL_VALUE
    for place, step in enumerate(proposal.steps):
        number += 2 if step.gap else 1
        latest = max(latest, step.time) if place else step.time
        events.append(
            Event(
                step=number,
                time_ns=latest - evidence.offset_ns,
                action=Action(step.action),
                input=_input_of(step, form),
                sends=tuple(
                    Send(to, f"{member_id}:{step.first + k}", form.message(message))
                    for k, (to, message) in enumerate(step.sends)
                ),
                state=form.member(step.state),
                source=_source_of(step, evidence),
            )
        )
    return events


def _input_of(step: Step, form: WireForm) -> Input:
    """The input of a step, with the id of the message that it consumes."""
    given, delivery = step.given, step.delivery
    interval, commit_interval, timeout, active, accepted, *rest = _FACTS(given)
    facts = (
        interval,
        commit_interval,
        timeout,
        tuple(sorted(active)),
        tuple(sorted(accepted)),
        *rest,
    )
    if given.message is None:
        return Input(NULL_VALUE, "", None, *facts)
    sender, name = (NULL_VALUE, "") if delivery is None else (delivery.sender, message_id(delivery))
    return Input(sender, name, form.message(given.message), *facts)


def message_id(delivery: Delivery) -> str:
    """The id of the message that was received."""
    number = delivery.number if delivery.number >= 0 else _UNSENT + delivery.index
    return f"{delivery.sender}:{number}"


def _source_of(step: Step, evidence: MemberEvidence) -> Source | None:
    if not step.lines:
        return None
    found = evidence.records
    file = evidence.files[found[step.lines[0]].file]
    lines = tuple(found[index].line for index in sorted(step.lines))
    return Source(file, lines, tuple(dict.fromkeys(step.observed)))


def import_logs(paths: Sequence[Path], out: Path, *, run_id: str = "") -> ImportSummary:
    """Import the logs of a cluster into a new run folder.

    Parameters
    ----------
    paths
        As for `read_cluster`.
    out
        The run folder; it must not be there, or be empty.
    run_id
        Of the run; made from the name of ``out`` if it is not given.

    Raises
    ------
    AeronLogError
        If the logs cannot be read.
    ImportFault
        If they cannot be made into a run.
    OSError
        As the file system says; also if ``out`` holds something.
    """
    begun = time.perf_counter()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ImportFault(f"{out} is there already")
    run_id = run_id or _run_id(out.name)
    collecting = gc.isenabled()
    # Nothing here forms cycles; looking for them takes a third of the time.
    gc.disable()
    try:
        imported = propose(read_cluster(paths))
        write_run(imported, out, run_id)
    finally:
        if collecting:
            gc.enable()
    return summarise(imported, run_id, time.perf_counter() - begun)


def _run_id(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_.-]", "-", name.lower()).strip("-._")[:64]
    return plain or "aeron"


def write_run(imported: Imported, out: Path, run_id: str) -> None:
    """Write the proposals as a run."""
    out.mkdir(parents=True, exist_ok=True)
    unknown = any(proposal.unknown_past for proposal in imported.proposals.values())
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision="1.50",
        member_count=imported.rules.member_count,
        initial="unknown" if unknown else "empty",
        source={
            "kind": "aeron-log",
            "files": {str(k): list(p.evidence.files) for k, p in imported.proposals.items()},
        },
    )
    for member_id, proposal in imported.proposals.items():
        # The events are made of values of the core and of parsed lines: no need to read them back.
        with EventWriter(out / f"member-{member_id}.ndjson", member_id, check=False) as writer:
            events = events_of(proposal)
            for place in range(0, len(events), _BATCH):
                writer.write(events[place : place + _BATCH])
    (out / "run.json").write_bytes(encode(run) + b"\n")


def summarise(imported: Imported, run_id: str, seconds: float) -> ImportSummary:
    """Count what became of the logs."""
    events: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    foreign = 0
    missing = [f"the log of member {k} is not there" for k in imported.logs.missing]
    members = []
    for member_id, log in imported.logs.members.items():
        lines = damaged = 0
        for life in log.lives:
            add_counts(events, life.events)
            add_counts(unknown, life.unknown_events)
            foreign += life.foreign
            lines += sum(life.events.values())
            damaged += life.damaged + life.truncated
        add_counts(fields, log.unknown_fields)
        if damaged:
            missing.append(f"{damaged} lines of member {member_id} cannot be read")
        proposal = imported.proposals.get(member_id)
        if proposal is None:
            continue
        if proposal.late:
            missing.append(f"the log of member {member_id} lacks its beginning")
        if proposal.cut_off:
            missing.append(f"the log of member {member_id} lacks its end")
        members.append(_summarise_member(proposal, lines))
    failure = imported.failure
    outcome = CONTRADICTED if failure else INCOMPLETE if missing else EXPLAINED
    total = sum(one.lines for one in members)
    return ImportSummary(
        outcome,
        run_id,
        imported.rules.member_count,
        members,
        dict(sorted(events.items())),
        dict(sorted(unknown.items())),
        dict(sorted(fields.items())),
        foreign,
        missing,
        None if failure is None else _place(imported, failure),
        round(seconds, 3),
        round(total / seconds) if seconds else 0,
    )


def _place(imported: Imported, failure: Failure) -> Place:
    evidence = imported.proposals[failure.member_id].evidence
    record = evidence.records[failure.index]
    return Place(failure.member_id, evidence.files[record.file], record.line, failure.reason)


def _summarise_member(proposal: Proposal, lines: int) -> MemberSummary:
    steps = proposal.steps
    observed = sum(bool(step.lines) for step in steps)
    return MemberSummary(
        proposal.member_id,
        proposal.evidence.files,
        lines,
        sum(len(step.lines) for step in steps),
        len(steps),
        observed,
        len(steps) - observed,
        sum(len(step.sends) for step in steps),
        proposal.received,
    )

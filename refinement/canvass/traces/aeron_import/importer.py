"""Import of a cluster's logs: read, plan, drive each member, cut at what nothing explains, write.

The run that is written is complete in itself; nothing of the importer's judgement is needed to
check it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces import wire
from canvass.traces.actions import Action
from canvass.traces.aeron_import.clocks import align
from canvass.traces.aeron_import.deliveries import Delivery, Plan, make_plan
from canvass.traces.aeron_import.driver import Failure, drive
from canvass.traces.aeron_import.evidence import (
    MemberEvidence,
    evidence_of,
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
from canvass.traces.aeron_log.logs import ClusterLogs, read_cluster
from canvass.traces.limits import MAX_MEMBERS
from canvass.traces.ndjson import EventWriter
from canvass.traces.schema import (
    Event,
    Input,
    Run,
    Send,
    Source,
    encode,
    to_wire_input,
    to_wire_member,
    to_wire_message,
)

REVISION: Final = "1.50"
"""The revision whose rules current releases follow."""

_UNSENT: Final = 10**14
"""Running numbers from here on are of messages that nobody sent: no member sends so many."""

_SLACK_NS: Final = 2_000_000
"""How well the clocks of two hosts are put on one: half the time of the fastest round trip."""

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
    plan = make_plan(members)
    if len(offsets) > 1:
        plan.slack_ns = _SLACK_NS
    rules = Rules(highest + 1, REVISION)
    proposals: dict[int, Proposal] = {}
    failures: list[Failure] = []
    for member_id, evidence in members.items():
        proposals[member_id], failure = drive(rules, plan, evidence)
        if failure is not None:
            failures.append(failure)
    failures += _unsent(proposals)
    first = min(failures, key=lambda failure: failure.time, default=None)
    if first is not None:
        _cut(proposals, first)
    return Imported(rules, logs, plan, proposals, first)


def _unsent(proposals: Mapping[int, Proposal]) -> list[Failure]:
    """Receipts of messages that their senders, whose logs are there, did not send."""
    failures = []
    for proposal in proposals.values():
        for delivery in proposal.unsent:
            kind = type(delivery.message).__name__
            reason = f"member {delivery.sender} did not send this {kind}"
            failures.append(Failure(delivery.receiver, delivery.index, delivery.time, reason))
    return [failure for failure in failures if failure.member_id in proposals]


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


class _Wire:
    """Members and messages in the form of the format; a state that did not change is made once."""

    def __init__(self) -> None:
        self._state: Member | None = None
        self._wire: wire.Member | None = None

    def member(self, state: Member) -> wire.Member:
        """The wire form of a state."""
        if state is not self._state or self._wire is None:
            self._state, self._wire = state, to_wire_member(state)
        return self._wire


def events_of(proposal: Proposal) -> list[Event]:
    """The events of a proposal, in order; a number is left out where something is missing."""
    member_id, evidence = proposal.member_id, proposal.evidence
    form = _Wire()
    events = []
    number, latest = -1, NULL_VALUE
    for place, step in enumerate(proposal.steps):
        number += 2 if step.gap and place else 1
        latest = max(latest, step.time) if place else step.time
        events.append(
            Event(
                step=number,
                time_ns=latest - evidence.offset_ns,
                action=Action(step.action),
                input=_input_of(step),
                sends=tuple(
                    Send(to, f"{member_id}:{step.first + k}", to_wire_message(message))
                    for k, (to, message) in enumerate(step.sends)
                ),
                state=form.member(step.state),
                source=_source_of(step, evidence),
            )
        )
    return events


def _input_of(step: Step) -> Input:
    delivery = step.delivery
    if delivery is None:
        return to_wire_input(step.given)
    return to_wire_input(step.given, delivery.sender, message_id(delivery))


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
    logs = read_cluster(paths)
    imported = propose(logs)
    run_id = run_id or _run_id(out.name)
    write_run(imported, out, run_id)
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
        members.append(_summarise_member(proposal, lines))
    failure = imported.failure
    outcome = CONTRADICTED if failure else INCOMPLETE if missing else EXPLAINED
    total = sum(member.lines for member in members)
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

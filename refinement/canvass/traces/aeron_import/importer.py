"""Import of a cluster's logs: read, propose, write a run, count.

The run that is written is complete in itself; nothing of the importer's judgement is needed to
check it.
"""

from __future__ import annotations

import gc
import re
import time
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from canvass.traces.aeron_import.attempt import Say, no_words
from canvass.traces.aeron_import.driver import Failure
from canvass.traces.aeron_import.events import iter_events
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.proposing import Imported, ImportFault, propose
from canvass.traces.aeron_import.search import EFFORT
from canvass.traces.aeron_import.summary import (
    CONTRADICTED,
    EXPLAINED,
    INCOMPLETE,
    ImportSummary,
    MemberSummary,
    Place,
    add_counts,
)
from canvass.traces.aeron_import.unheard import Unheard
from canvass.traces.aeron_log.logs import MemberLog, read_cluster
from canvass.traces.aeron_log.records import TruncatedLine
from canvass.traces.ndjson import EventWriter
from canvass.traces.schema import Run, encode

__all__ = ["ImportFault", "import_logs", "summarise", "write_run"]

_BATCH: Final = 64
"""Events written at once: as many bytes as the allocator has at hand without asking the system for
new memory, which takes longer than to write them.
"""


def import_logs(
    paths: Sequence[Path],
    out: Path,
    *,
    run_id: str = "",
    effort: int = EFFORT,
    events: Collection[str] | None = None,
    revision: str = "",
    say: Say = no_words,
) -> ImportSummary:
    """Import the logs of a cluster into a new run folder.

    Parameters
    ----------
    paths
        As for `read_cluster`.
    out
        The run folder; it must not be there, or be empty.
    run_id
        Of the run; made from the name of ``out`` if it is not given.
    effort
        How much is searched for an explanation, as a factor of the ordinary bounds.
    events, revision
        As for `propose`.
    say
        Called with what begins, in a few words.

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
        logs = read_cluster(paths, say=say)
        imported = propose(logs, effort=effort, events=events, revision=revision, say=say)
        say("writing the run")
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
        revision=imported.rules.revision,  # type: ignore[arg-type]  # `Rules` has checked it.
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
            events = iter_events(proposal)
            while batch := list(islice(events, _BATCH)):
                writer.write(batch)
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
        lines = 0
        for life in log.lives:
            add_counts(events, life.events)
            add_counts(unknown, life.unknown_events)
            foreign += life.foreign
            lines += sum(life.events.values())
        add_counts(fields, log.unknown_fields)
        missing += [_unread(log, line) for line in log.records if isinstance(line, TruncatedLine)]
        proposal = imported.proposals.get(member_id)
        if proposal is None:
            continue
        if proposal.late:
            missing.append(f"the log of member {member_id} lacks its beginning")
        if proposal.lost_lines:
            missing.append(f"member {member_id} was killed before it wrote its last lines")
        evidence = proposal.evidence
        count = len(evidence.records)
        for index in sorted({*evidence.holes, *imported.cuts.get(member_id, ())}):
            line = evidence.records[min(index, count - 1)]
            missing.append(f"lines are missing before {evidence.files[line.file]}:{line.line}")
        missing += [
            _unheard(imported, member_id, one) for one in imported.unheard.get(member_id, ())
        ]
        missing += _single_lines(imported, member_id)
        if proposal.cut_off:
            missing.append(f"the log of member {member_id} lacks its end")
        members.append(_summarise_member(proposal, lines))
    failure, stopped = imported.failure, imported.stopped
    missing += [
        f"the log of member {member_id} does not print {event}"
        if event in imported.silent.get(member_id, ())
        else f"the log of member {member_id} has no {event} at all: it was not turned on"
        for member_id, events_off in imported.turned_off.items()
        for event in events_off
        if stopped is not None
        or imported.proposals[member_id].evidence.holes
        or any(event == lacking for _, lacking in imported.missing.get(member_id, ()))
    ]
    if stopped is not None:
        place = _place(imported, stopped)
        why = "the search met its bound"
        if not stopped.is_bound_met:
            why = "lines that are missing before it may tell why"
        missing.append(
            f"an explanation of {place.file}:{place.line}: {place.reason}, as far as is known;"
            f" {why}, and the run ends before the line"
        )
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
        list(imported.logs.ignored),
        missing,
        None if failure is None else _place(imported, failure),
        None if stopped is None else _place(imported, stopped),
        round(seconds, 3),
        round(total / seconds) if seconds else 0,
    )


def _unread(log: MemberLog, line: TruncatedLine) -> str:
    return f"{log.files[line.file]}:{line.line}:{line.column}: {line.reason} ({line.code})"


def _unheard(imported: Imported, member_id: int, place: Unheard) -> str:
    evidence = imported.proposals[member_id].evidence
    where = "after" if place.index == len(evidence.records) else "before"
    line = evidence.records[min(place.index, len(evidence.records) - 1)]
    return f"lines are missing {where} {evidence.files[line.file]}:{line.line}: {place.reason}"


def _single_lines(imported: Imported, member_id: int) -> list[str]:
    """What is said of single lines that are missing; of events turned off it is said at once."""
    evidence = imported.proposals[member_id].evidence
    told = []
    for index, event in imported.missing.get(member_id, ()):
        if event not in imported.turned_off.get(member_id, ()):
            line = evidence.records[min(index, len(evidence.records) - 1)]
            told.append(f"a line {event} is missing before {evidence.files[line.file]}:{line.line}")
    return told


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

"""Import of a cluster's logs: from logs to an alignment, a run and a summary.

The summary says what the alignment means: the outcome, counts, and sentences about what is missing.
Whether a run conforms the checker decides.
"""

from __future__ import annotations

import gc
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name
from canvass.traces.aeron_log.logs import MemberLog, read_cluster
from canvass.traces.aeron_log.records import TruncatedLine
from canvass.traces.alignment.alignment import Alignment, ImportFault, Place, align
from canvass.traces.alignment.run_events import RunWriter, Share, add_up
from canvass.traces.rewrite import written_aside

__all__ = [
    "CONTRADICTED",
    "EXPLAINED",
    "INCOMPLETE",
    "ImportFault",
    "ImportSummary",
    "import_logs",
    "summarise",
]

KEPT_LINES: Final = 20_000
"""Lines of one log up to which it is aligned at once. Longer ones are read twice, in pieces."""


def import_logs(
    paths: Sequence[Path],
    out: Path,
    *,
    run_id: str = "",
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
    say: Callable[[str], object] = lambda _: None,
) -> ImportSummary:
    """Import the logs of a cluster into a new run folder, which is there when it is complete.

    Parameters
    ----------
    paths
        As for `read_cluster`.
    out
        The run folder; it must not be there, or be empty.
    run_id
        Of the run; made from the name of ``out`` if it is not given.
    effort
        Factor of the bounds of the search.
    events, revision
        As for `align`.
    say
        Called with what begins, in a few words.

    Raises
    ------
    AeronLogError
        If the logs cannot be read.
    ImportFault
        If they cannot be made into a run.
    OSError
        As the file system says.
    """
    begun = time.perf_counter()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ImportFault(f"{out} is there already")
    run_id = run_id or _run_id(out.name)
    collecting = gc.isenabled()
    # Nothing here forms cycles; looking for them takes a third of the time.
    gc.disable()
    try:
        logs = read_cluster(paths, say=say, kept=KEPT_LINES)
        say("aligning the logs and writing the run")
        with written_aside(out) as folder, closing(RunWriter(folder)) as run:
            found = align(logs, run.write, effort=effort, events=events, revision=revision)
            run.finish(
                run_id=run_id,
                revision=found.rules.revision,
                member_count=found.rules.member_count,
                without_steps=found.without_steps,
            )
    finally:
        if collecting:
            gc.enable()
    return summarise(found, run_id, time.perf_counter() - begun)


def _run_id(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_.-]", "-", name.lower()).strip("-._")[:64]
    return plain or "aeron"


EXPLAINED: Final = "EXPLAINED"
"""Every line is met by a step of the spec."""
INCOMPLETE: Final = "INCOMPLETE"
"""So it is, but lines or logs are missing."""
CONTRADICTED: Final = "CONTRADICTED"
"""The run ends with a line that no step explains."""


class MemberSummary(Struct, rename=wire_name):
    """What became of one member's log."""

    member_id: int
    files: tuple[str, ...]
    lines: int
    """Lines of the cluster component."""
    accounted: int
    """Lines of the cluster component that the run accounts for."""
    steps: int
    observed: int
    """Steps that lines show."""
    inferred: int
    """Steps that no line shows."""
    sends: int
    """Messages sent."""
    received_sends: int
    """Messages sent that a member has received."""


class ImportSummary(Struct, rename=wire_name):
    """What became of the logs of a cluster."""

    outcome: str
    run_id: str
    member_count: int
    members: list[MemberSummary]
    events: dict[str, int]
    """Lines for each event of the cluster component."""
    unknown_events: dict[str, int]
    """Lines for each event that the reader does not know."""
    unknown_fields: dict[str, int]
    foreign_lines: int
    """Lines that are not the log's."""
    ignored: list[str]
    """Names of files that are almost those of logs, and that are not read."""
    missing: list[str]
    """What is not there, one sentence each."""
    contradiction: Place | None
    """What ends the run, as nothing explains it."""
    stopped: Place | None
    """Where a search that met its bound found no explanation; the run ends before it."""
    seconds: float
    lines_per_second: int
    observed: dict[str, Share]
    """Of the run's steps, of the messages sent, and of the positions that members reached."""


def summarise(found: Alignment, run_id: str, seconds: float) -> ImportSummary:
    """Count what became of the logs."""
    counts = [log.counts for log in found.logs.members.values()]
    events = sum((Counter(one.events) for one in counts), Counter[str]())
    unknown = sum((Counter(one.unknown_events) for one in counts), Counter[str]())
    fields: Counter[str] = Counter()
    missing = [f"the log of member {k} is not there" for k in found.logs.missing]
    members = []
    for member_id, log in found.logs.members.items():
        fields.update(log.unknown_fields)
        missing += _unread(member_id, log)
        if member_id in found.members:
            one, lines = found.members[member_id], sum(log.counts.events.values())
            own = (one.files, lines, one.accounted, one.steps, one.observed)
            rest = (one.steps - one.observed, one.sends, one.received)
            members.append(MemberSummary(member_id, *own, *rest))
    missing += found.gaps
    missing += [f"an explanation of {one}; the run ends before the line" for one in found.stopped]
    contradiction = next(iter(found.false_lines), None)
    stopped = next(iter(found.stopped), None)
    outcome = CONTRADICTED if contradiction else INCOMPLETE if missing else EXPLAINED
    total, several = sum(one.lines for one in members), found.members.values()
    return ImportSummary(
        outcome,
        run_id,
        found.rules.member_count,
        members,
        dict(sorted(events.items())),
        dict(sorted(unknown.items())),
        dict(sorted(fields.items())),
        sum(one.foreign for one in counts),
        list(found.logs.ignored),
        missing,
        contradiction,
        stopped,
        round(seconds, 3),
        round(total / seconds) if seconds else 0,
        {
            "steps": add_up(Share(one.observed, one.steps) for one in several),
            "messages": add_up(Share(one.shown.sends, one.sends) for one in several),
            "positions": add_up(one.shown.positions for one in several),
        },
    )


def _unread(member_id: int, log: MemberLog) -> Iterator[str]:
    """Where and why lines cannot be read; of lines that are not in memory how many."""
    count = log.counts.unreadable
    for line in log.records:
        if isinstance(line, TruncatedLine):
            count -= 1
            yield f"{log.files[line.file]}:{line.line}:{line.column}: {line.reason}"
    if count > 0:
        yield f"{count} more lines of member {member_id} cannot be read"

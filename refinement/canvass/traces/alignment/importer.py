"""Import of a cluster's logs: it makes an alignment, writes the run, and returns a summary.

The summary has the outcome, counts, and a sentence for each gap. The import does not decide whether
the run conforms: the checker does.
"""

from __future__ import annotations

import gc
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from canvass.cluster.messages import wire_name
from canvass.traces.aeron_log.clusters import noted_beside
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog
from canvass.traces.aeron_log.logs import read_clusters
from canvass.traces.aeron_log.records import TruncatedLine
from canvass.traces.aeron_log.releases import LogReleases, releases_of
from canvass.traces.alignment.alignment import Alignment, ImportFault, LineReason, align
from canvass.traces.alignment.driven_member import DrivenMember
from canvass.traces.alignment.run_events import MemberCounts, RunWriter, Share
from canvass.traces.schema import DiskReplaced
from canvass.traces.streams import written_aside

ALIGNING: Final = "aligning the logs and writing the run"
"""The longest stage of an import."""
KEPT_LINES: Final = 20_000
"""The number of lines up to which a log is kept in memory. A longer log is read twice, in segments.
"""


def import_logs(paths: Sequence[Path], out: Path, **options: Any) -> ImportSummary:
    """Import the logs of one cluster; parameters and errors as for `import_clusters`.

    Raises
    ------
    ImportFault
        Also if the logs are those of several clusters. The runs of all of them have been written
        then.
    """
    first, *others = import_clusters(paths, out, **options).values()
    if others:
        raise ImportFault(f"{paths[0]}: {1 + len(others)} clusters run one after the other")
    return first


def import_clusters(
    paths: Sequence[Path],
    out: Path,
    *,
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
    members: int = 0,
    say: Callable[[str], object] = lambda _: None,
) -> dict[Path, ImportSummary]:
    """Import logs into a new folder, which appears only when it is complete.

    Parameters
    ----------
    paths
        As for `read_clusters`.
    out
        The run folder. It must not exist, or be empty. If the logs are those of several clusters,
        it becomes a folder of run folders, which have its name with ``~1``, ``~2``...
    effort
        Factor of the limits of the search.
    events, revision
        As for `align`.
    members
        The number of members; by default that of ``config.json`` beside the logs, or in the lines.
    say
        Called with a short description of each stage when it begins, and with the number of lines
        that are matched whenever steps of a member have been written. If a log is read in segments,
        its steps are written after each segment.

    Returns
    -------
    dict
        The summary of each run, by its folder. The name of the folder gives the run its id.

    Raises
    ------
    AeronLogError
        If the logs cannot be read.
    ImportFault
        If the logs cannot be made into a run, or ``out`` is not empty.
    OSError
        If the run cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ImportFault(f"{out} is there already; name a new folder")
    collecting = gc.isenabled()
    # The import makes no reference cycles, and looking for them takes a third of the time.
    gc.disable()
    try:
        clusters = read_clusters(paths, say=say, kept=KEPT_LINES, count=members)
        beside = noted_beside(next(iter(clusters[0].members.values())).files[0])
        several = len(clusters) > 1
        names = [f"{out.name}~{k}" if several else "" for k in range(1, len(clusters) + 1)]
        with written_aside(out) as folder:
            options = effort, events, revision, beside.expect_disk_replaced, say
            return {
                out / name: _import(logs, folder / name, out / name, *options)
                for name, logs in zip(names, clusters, strict=True)
            }
    finally:
        if collecting:
            gc.enable()


def _import(
    logs: ClusterLogs,
    folder: Path,
    out: Path,
    effort: int,
    events: Collection[str] | None,
    revision: str,
    expects_replaced: bool,
    say: Callable[[str], object],
) -> ImportSummary:
    """Import the logs of one cluster into a folder."""
    begun = time.perf_counter()
    logs.need_lines()
    releases, run_id = releases_of(logs, revision), run_id_of(out.name)
    say(ALIGNING)
    with closing(RunWriter(folder)) as run:
        total = sum(sum(log.counts.events.values()) for log in logs.members.values())
        matched = dict[int, int]()

        def write(member: DrivenMember) -> MemberCounts:
            counts = run.write(member)
            matched[member.member_id] = counts.accounted
            say(f"{ALIGNING}: {sum(matched.values()):,} of {total:,} lines")
            return counts

        found = align(logs, write, effort=effort, events=events, revision=releases.revision)
        missing = missing_in(found, [] if expects_replaced else run.replaced)
        count = found.rules.member_count
        run.finish(run_id, releases, count, found.without_steps, _lacks(found, missing))
    return summarise(found, run, missing, releases, run_id, time.perf_counter() - begun)


RUN_ID_LENGTH: Final = 64


def run_id_of(name: str) -> str:
    """Make a run's id from a folder's name.

    A long name is cut, and a digest replaces the part that is cut. The number of the cluster
    (``~2``) is kept.
    """
    clean = re.sub(r"[^a-z0-9_.~-]", "-", name.lower()).strip("-._~") or "aeron"
    found = re.search(r"~\d{1,9}$", clean)
    number = found[0] if found else ""
    plain = clean.removesuffix(number)
    if len(clean) > RUN_ID_LENGTH:
        digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
        plain = f"{plain[: RUN_ID_LENGTH - len(number) - 9]}-{digest}"
    return plain + number


MAX_KEPT: Final = 20
"""The most sentences about what is missing that ``run.json`` keeps."""

EXPLAINED: Final = "EXPLAINED"
"""Each line is matched with a step of the spec, and no line is missing."""
INCOMPLETE: Final = "INCOMPLETE"
"""No line is false. Lines or logs are missing, or the search reached its limit."""
CONTRADICTED: Final = "CONTRADICTED"
"""The run ends with a line that no step of the spec prints."""


class ImportSummary(Struct, rename=wire_name):
    """The result of an import."""

    outcome: str
    run_id: str
    member_count: int
    releases: LogReleases
    """The releases that wrote the logs, and the revision of the spec."""
    members: list[MemberCounts]
    events: dict[str, int]
    """Lines for each event of the cluster component."""
    unknown_events: dict[str, int]
    """Lines for each event that the reader does not know."""
    unknown_fields: dict[str, int]
    foreign_lines: int
    """Lines that the logging did not write."""
    ignored: list[str]
    """Names of files that resemble names of logs. These files are not read."""
    missing: list[str]
    """One sentence for each gap, missing log and place where the search stopped."""
    disk_replaced: list[DiskReplaced]
    """The disks that were changed from outside."""
    contradiction: LineReason | None
    """The false line with which the run ends."""
    stopped: LineReason | None
    """The line before which the run ends, because the search reached its limit there."""
    seconds: float
    lines_per_second: int
    observed: dict[str, Share]
    """The shares of steps, sent messages and reached positions that lines show."""


def summarise(
    found: Alignment,
    run: RunWriter,
    missing: list[str],
    releases: LogReleases,
    run_id: str,
    seconds: float,
) -> ImportSummary:
    """Summarise an alignment that took some seconds, and the run that was written of it."""
    logs = found.logs.members
    counts = [log.counts for log in logs.values()]
    events = sum((Counter(one.events) for one in counts), Counter[str]())
    unknown = sum((Counter(one.unknown_events) for one in counts), Counter[str]())
    fields = sum((Counter(log.unknown_fields) for log in logs.values()), Counter[str]())
    members = [found.members[i] for i in logs if i in found.members]
    for one in members:
        one.lines = sum(logs[one.member_id].counts.events.values())
    contradiction = next(iter(found.false_lines), None)
    outcome = CONTRADICTED if contradiction else INCOMPLETE if missing else EXPLAINED
    total = sum(one.lines for one in members)
    counted = [dict(sorted(one.items())) for one in (events, unknown, fields)]
    return ImportSummary(
        *(outcome, run_id, found.rules.member_count, releases, members),
        *(counted[0], counted[1], counted[2], sum(one.foreign for one in counts)),
        list(found.logs.ignored),
        missing,
        run.replaced,
        *(contradiction, next(iter(found.stopped), None), round(seconds, 3)),
        *(round(total / seconds) if seconds else 0, run.shares()),
    )


def missing_in(found: Alignment, replaced: Sequence[DiskReplaced]) -> list[str]:
    """A sentence for each unexpected disk, missing log, gap and place where the search stopped."""
    missing = [str(one) for one in replaced]
    missing += [f"the log of member {k} is not there" for k in found.logs.missing]
    for member_id, log in found.logs.members.items():
        missing += _unread(member_id, log)
    missing += found.gaps
    return [
        *missing,
        *(f"an explanation of {one}; the run ends before the line" for one in found.stopped),
    ]


def _lacks(found: Alignment, missing: list[str]) -> list[str]:
    """The sentences that the run keeps: the false line with which it ends, and what is missing."""
    missing = [f"no step explains {one}" for one in found.false_lines[:1]] + missing
    more = len(missing) - MAX_KEPT
    return missing[:MAX_KEPT] + ([f"and {more:,} more"] if more > 0 else [])


def _unread(member_id: int, log: MemberLog) -> Iterator[str]:
    """A sentence for each unreadable line, and one for those that are not in memory."""
    count = log.counts.unreadable
    for line in log.records:
        if isinstance(line, TruncatedLine):
            count -= 1
            yield f"{log.files[line.file]}:{line.line}:{line.column}: {line.reason}"
    if count > 0:
        yield f"{count} more lines of member {member_id} cannot be read"

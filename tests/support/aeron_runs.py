"""Captured logs that tests import, and a check of alignments that does not use the checker.

The check compares each step with the core, and each receipt with its send.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from canvass.cluster import messages
from canvass.cluster.core import step as core_step
from canvass.traces.aeron_log.event_types import NEWEST
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog, members_named
from canvass.traces.aeron_log.logs import read_clusters
from canvass.traces.aeron_log.records import AppendPosition, LogRecord
from canvass.traces.aeron_log.releases import RECEIPTS, LogVocabulary, releases_of
from canvass.traces.alignment.alignment import Alignment, align
from canvass.traces.alignment.driven_member import LOST, DrivenMember
from canvass.traces.alignment.importer import ImportSummary, missing_in, summarise
from canvass.traces.alignment.member_lines import PRINTED_STEPS, MemberLines, member_lines
from canvass.traces.alignment.run_events import MemberCounts, RunWriter

ALL_EVENTS = LogVocabulary(NEWEST, NEWEST, PRINTED_STEPS | RECEIPTS)
"""The vocabulary of a log of the newest release with all events."""

_ROOT = Path(__file__).parents[2]
OTHERS = _ROOT.parent / "shared" / "aeron-traces"
"""More captured scenarios, on machines that have them."""
_FOLDERS = (_ROOT / "samples" / "aeron", _ROOT / "tests" / "captures", OTHERS)


SAMPLES = sorted(path for path in _FOLDERS[0].iterdir() if path.is_dir())
"""The captured scenarios that are part of the project."""


RELEASES = sorted((_ROOT / "tests" / "captures" / "releases").iterdir())
"""One or two captured clusters of each release line; two have the events of production."""

MOMENTS = sorted((_ROOT / "tests" / "captures" / "moments").iterdir())
"""Parts of captured clusters up to a moment that is hard to explain."""

OUTSIDE = sorted((_ROOT / "tests" / "captures" / "outside").iterdir())
"""Captured clusters in which something outside the cluster changed disks."""

HOSTS = sorted((_ROOT / "tests" / "captures" / "hosts").iterdir())
"""The beginnings of captured clusters whose hosts' clocks differ by hours."""

_LOST = _ROOT / "tests" / "captures" / "lost"
LOST_REPORT = _LOST / "1.51.0-last-report-before-a-kill"
"""The beginning of a capture in which a killed leader's last line is missing."""

KILLED_WITHIN_A_STEP = _LOST / "1.53-killed-within-a-step"
"""The beginning of a capture: one member is killed within a step, and another never starts."""

PAUSED = _ROOT / "tests" / "captures" / "hazards" / "1.53-two-leaders-after-pauses"
REPLAYED = _ROOT / "tests" / "captures" / "hazards" / "1.52.2-replay-in-an-older-term"
"""A leader of an older term replays entries that the next term lacks. The capture has only the
events that production enables.
"""

OLD_LOG = _ROOT / "tests" / "captures" / "hazards" / "1.51.0-commit-by-an-old-log"
"""The beginning of a capture without the events that production disables, up to hazard HZ1."""

BOUND_WITHIN = _ROOT / "tests" / "captures" / "hazards" / "1.52.2-bound-within-an-entry"
"""The beginning of a capture in which hazard HZ1 lets a replay end within an entry."""

FINDING = _ROOT / "samples" / "aeron-hz6"
"""The captured cluster in which a safety property was violated."""

MORE_RELEASES = OTHERS.parent / "aeron-captures"
"""More captured clusters of several releases, on machines that have them."""


def release_logs(name: str) -> Path:
    """The folder of a captured cluster in `RELEASES`, by its name."""
    (found,) = (path for path in RELEASES if path.name == name)
    return found


def captures() -> list[Path]:
    """The folder of each captured scenario: the committed ones, and more on some machines."""
    found: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (path / "config.json").is_file():
                found.setdefault(path.name, path)
    return list(found.values())


def more_captures() -> list[Path]:
    """Captured clusters that are in no checkout: beside it, and in the folders that the variable
    CANVASS_CAPTURES names, as PATH does.
    """
    named = os.environ.get("CANVASS_CAPTURES", "").split(os.pathsep)
    folders = [MORE_RELEASES, *(Path(name) for name in named if name)]
    return [
        path
        for folder in folders
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if (path / "config.json").is_file()
    ]


def with_truth(name: str) -> list[Path]:
    """Captured scenarios that have a file ``name`` with the true state of the cluster."""
    return [path for path in captures() if truth_of(path, name).is_file()]


def truth_of(path: Path, name: str) -> Path:
    """The path of the file with the true state of a captured scenario, which need not exist."""
    places = [folder / path.name / name for folder in _FOLDERS]
    return next((place for place in places if place.is_file()), places[-1])


@dataclass(frozen=True)
class Aligned:
    """An alignment, and the steps of each member in it."""

    found: Alignment
    members: dict[int, DrivenMember]


def align_logs(logs: ClusterLogs) -> Aligned:
    """Align logs that are in memory, and keep the steps."""
    members: dict[int, DrivenMember] = {}

    def keep(live: DrivenMember) -> MemberCounts:
        members[live.member_id] = live
        return MemberCounts(live.member_id, live.windows.trajectory.lines.files)

    return Aligned(align(logs, keep), members)


def read_cluster(paths: Sequence[Path], **options: Any) -> ClusterLogs:
    """The logs of one cluster; parameters and errors as for `read_clusters`."""
    [only] = read_clusters(paths, **options)
    return only


@cache
def aligned(path: Path) -> Aligned:
    """The alignment of the logs in a folder; once for all tests that look at it."""
    return align_logs(read_cluster([path]))


@cache
def lines_of_logs(path: Path) -> dict[int, MemberLines]:
    """The lines of each member, as the alignment reads them."""
    logs = read_cluster([path])
    return {i: member_lines(log, ALL_EVENTS) for i, log in logs.members.items()}


def import_records(logs: ClusterLogs, out: Path) -> ImportSummary:
    """Import logs that are in memory: write the run, and give the summary."""
    with closing(RunWriter(out)) as run:
        found = align(logs, run.write)
        releases = releases_of(logs)
        run.finish("records", releases, found.rules.member_count, found.without_steps)
    return summarise(found, run, missing_in(found, run.replaced), releases, "records", 1)


def times_of(live: DrivenMember) -> list[int]:
    """The time of the last line up to each step of a member."""
    records = live.windows.trajectory.lines.records
    latest = records[0].time_ns
    times = []
    for step in live.emitted:
        if step.lines:
            latest = max(latest, records[step.lines.stop - 1].time_ns)
        times.append(latest)
    return times


@cache
def lines_of(path: Path, member_id: int) -> tuple[str, ...]:
    """The lines of a member's log."""
    with gzip.open(path / f"member-{member_id}.log.gz", "rt") as file:
        return tuple(file.read().splitlines())


def lines_by_member(path: Path) -> dict[int, list[str]]:
    """The lines of each member's log in a folder."""
    count = len(list(path.glob("member-*.log.gz")))
    return {i: list(lines_of(path, i)) for i in range(count)}


def write_logs(folder: Path, logs: Mapping[int, list[str]]) -> Path:
    """Write logs in a folder as a cluster does."""
    folder.mkdir(parents=True)
    for member_id, lines in logs.items():
        (folder / f"member-{member_id}.log").write_text("\n".join(lines) + "\n")
    return folder


def logs_of_nodes(lines: Mapping[int, list[LogRecord]]) -> ClusterLogs:
    """The logs of an invented cluster."""
    members = {
        i: MemberLog(i, (Path(f"member-{i}.log"),), list(found), named=members_named(found))
        for i, found in lines.items()
    }
    return ClusterLogs(members, (), ())


def wrong_steps(found: Aligned, taken: Collection[LogRecord] = ()) -> list[str]:
    """The steps of an alignment that the core does not take, and receipts without a send.

    ``taken`` are the lines that the test removed from logs. If one of them is a report of a
    position, the leader may have sent a commit position after it. A receipt of this commit position
    needs no send if the alignment attributes it to a gap.
    """
    reports = {
        (one.member_id, one.leadership_term_id, one.log_position)
        for one in taken
        if isinstance(one, AppendPosition)
    }
    return [
        problem
        for live in found.members.values()
        for problem in (*_steps_not_of_core(found, live), *_receipts_not_sent(found, live, reports))
    ]


def _steps_not_of_core(found: Aligned, live: DrivenMember) -> Iterator[str]:
    before = live.windows.trajectory.before
    for number, step in enumerate(live.emitted):
        outcome = core_step(found.found.rules, live.member_id, before, step.action, step.given)
        if outcome is None or (outcome.next, outcome.sends) != (step.state, step.outcome.sends):
            yield f"member {live.member_id}, step {number}: {step.action}"
        before = step.state


def _receipts_not_sent(
    found: Aligned, live: DrivenMember, reports: Collection[tuple[int, int, int]]
) -> Iterator[str]:
    sent = {
        (i, step.first + place): (send.to, send.message)
        for i, sender in found.members.items()
        for step in sender.emitted
        for place, send in enumerate(step.outcome.sends)
    }
    latest: dict[int, int] = {}
    for number, step in enumerate(live.emitted):
        if (message := step.given.message) is None:
            continue
        if step.number == LOST and isinstance(message, messages.CommitPosition):
            reported = step.sender, message.leadership_term_id, message.log_position
            if reported in reports:
                continue
        in_order = step.number > latest.get(step.sender, -1)
        latest[step.sender] = step.number
        if sent.get((step.sender, step.number)) != (live.member_id, message) or not in_order:
            yield f"member {live.member_id}, step {number}: nobody sent {message}"

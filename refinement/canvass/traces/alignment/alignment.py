"""The alignment of the logs of a cluster with its gaps and false lines.

Short logs are aligned at once, long logs segment by segment.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from canvass.cluster.messages import NULL_VALUE, wire_name
from canvass.cluster.rules import Rules
from canvass.traces.aeron_log.clocks import ClockedLog, align_clocks
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog, members_named
from canvass.traces.aeron_log.records import ClusterEvent, ElectionStateChange, StateChange
from canvass.traces.aeron_log.releases import RECEIPTS, log_vocabulary
from canvass.traces.alignment.cluster_facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.completeness import (
    missing_causes,
    missing_ends,
    missing_links,
    missing_receipts,
)
from canvass.traces.alignment.driven_member import DrivenMember
from canvass.traces.alignment.member_lines import (
    PRINTED_STEPS,
    LineReader,
    MemberLines,
    member_lines,
    with_rare_events,
)
from canvass.traces.alignment.replay import Replay
from canvass.traces.alignment.run_events import MemberCounts
from canvass.traces.alignment.schedule import SegmentEnd
from canvass.traces.alignment.segment_search import Segment, Solution, solve
from canvass.traces.schema import MAX_MEMBERS

SEGMENT: Final = 16_000
"""The number of lines of a segment, in the log that has the most lines in the segment's time."""
AHEAD: Final = 4
"""For every ``AHEAD`` lines of a segment one more line after the segment is read. These lines show
which messages are on their way, and bound positions."""
STUCK: Final = 4
"""If less than one in ``STUCK`` lines of a segment is matched, a longer segment is tried."""
LARGEST: Final = 8
"""The longest segment has ``LARGEST`` times as many lines as the first one that is tried."""


class ImportFault(Exception):
    """The logs cannot be made into a run; the message is one line."""


class NoMember(ImportFault):
    """No line of the logs was written by a member of a cluster."""


class LineReason(Struct, frozen=True, rename=wire_name):
    """A line of a log, and a reason."""

    member_id: int
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(slots=True)
class Alignment:
    """The cheapest alignment that was found.

    Parameters
    ----------
    rules, logs
        The rules of the spec, and the logs.
    members
        For each member with a log, its counts in the run.
    gaps
        One sentence for each gap.
    false_lines
        The lines that no step prints. The run ends with the first one.
    stopped
        The lines at which the search reached its limit. The run ends before them.
    """

    rules: Rules
    logs: ClusterLogs
    members: dict[int, MemberCounts]
    gaps: list[str] = field(default_factory=list)
    false_lines: list[LineReason] = field(default_factory=list)
    stopped: list[LineReason] = field(default_factory=list)

    @property
    def without_steps(self) -> tuple[int, ...]:
        """The members that never reached an election: no log shows a step of one, or names one."""
        heard = frozenset[int]().union(*(log.named for log in self.logs.members.values()))
        logs = sorted(self.logs.members.items())
        return tuple(i for i, log in logs if i >= 0 and i not in heard and _shows_nothing(log))


def align(
    logs: ClusterLogs,
    write: Callable[[DrivenMember], MemberCounts],
    *,
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
    segment_lines: int = SEGMENT,
) -> Alignment:
    """Align the logs of a cluster with the core.

    Logs that are in memory are aligned at once. Longer logs are aligned segment by segment.

    Parameters
    ----------
    logs
        The logs.
    write
        Writes the next steps of a member into the run, and returns the member's counts.
    effort
        Factor of the limits of the search.
    events
        The names of the enabled events; by default the events in the logs.
    revision
        The revision of the spec; by default that of the logs' release.
    segment_lines
        The lines of a segment, for logs that are not in memory.

    Raises
    ------
    ImportFault
        If no line shows an election, if no line shows a step, or if a line names a member that no
        cluster can have.
    """
    highest = _highest_member(logs)
    known = _members_with_elections(logs)
    vocabulary = log_vocabulary(logs, events)
    rules = Rules(highest + 1, revision or vocabulary.release.revision)
    if events is None:
        reached = {state for i in known for state in _reached(logs.members[i])}
        vocabulary = with_rare_events(vocabulary, reached)
    readers = {i: LineReader(logs.members[i], vocabulary) for i in known}
    whole = all(logs.members[i].reread is None for i in known)
    if whole:
        for reader in readers.values():
            reader.read(sys.maxsize)
    lines = {
        i: reader.lines if whole else member_lines(logs.members[i], vocabulary)
        for i, reader in readers.items()
    }
    clocked = {i: ClockedLog(one.records, one.times) for i, one in lines.items()}
    for i, shift in align_clocks(clocked).items():
        readers[i].shift = shift
        if shift:
            lines[i].times[:] = [time_ns + shift for time_ns in lines[i].times]
    facts = cluster_facts(lines)
    found = Alignment(rules, logs, {})
    for i in sorted(logs.members.keys() - {NULL_VALUE, *known}):
        log = logs.members[i]
        found.members[i] = MemberCounts(i, tuple(path.name for path in log.files))
        reason = "no line of the log is an ELECTION_STATE_CHANGE: it is not used"
        found.gaps.append(f"{log.files[0]}:1: {reason}")
    aligner = _Aligner(found, facts, readers, effort, write)
    aligner.run(sys.maxsize if whole else segment_lines)
    return found


def _members_with_elections(logs: ClusterLogs) -> list[int]:
    """List the members whose logs are used. A log that lacks its election lines is not used.

    Raises
    ------
    ImportFault
        If there is no such log, or no log shows a step.
    """
    known = [i for i, log in logs.members.items() if i >= 0 and not _lacks_elections(log)]
    if not known:
        file = next(iter(logs.members.values())).files[0]
        reason = "no line of the logs is an ELECTION_STATE_CHANGE: enable that event"
        raise ImportFault(f"{file}: {reason}")
    if all(_shows_nothing(log) for log in logs.members.values()):
        file = logs.members[known[0]].files[0]
        raise ImportFault(f"{file}: no member came to an election: no log shows a step")
    return known


@dataclass(slots=True)
class _Aligner:
    """Aligns logs segment by segment, and adds the results to ``found``."""

    found: Alignment
    facts: ClusterFacts
    readers: dict[int, LineReader]
    effort: int
    write: Callable[[DrivenMember], MemberCounts]

    def run(self, lines: int) -> None:
        """Align all segments, of ``lines`` lines each.

        If members wait for each other, a longer segment is tried. If that does not help, the run
        ends.
        """
        carried: SegmentEnd | None = None
        size = lines
        while True:
            segment = self._read(size, carried)
            is_last = not segment.ends or size >= LARGEST * lines
            reached, solution = self._solve(segment)
            advanced = sum(reached.values())
            is_stuck = STUCK * advanced < size
            if is_stuck and not is_last:
                size *= 2
                continue
            self._finish(segment, solution, reached, is_last=not segment.ends or is_stuck)
            if not segment.ends or is_stuck or self.found.false_lines or self.found.stopped:
                return
            carried, size = solution.schedule.carried(), lines
            # Members and schedule refer to each other. Without this, neither is freed.
            solution.schedule.members.clear()
            for i, reader in self.readers.items():
                reader.drop(reached[i])

    def _read(self, size: int, carried: SegmentEnd | None) -> Segment:
        """Read the lines of a segment, and the lines after it."""
        for reader in self.readers.values():
            reader.read(size + size // AHEAD)
        lines = {i: reader.lines for i, reader in self.readers.items()}
        ended = [reader.is_ended for reader in self.readers.values()]
        if all(ended):
            return Segment(lines, carried)
        several = zip(self.readers.values(), ended, strict=True)
        end = min(one.lines.times[size - 1] for one, is_ended in several if not is_ended)
        ends = {i: min(bisect_right(one.times, end), size) for i, one in lines.items()}
        unread = frozenset(i for i, reader in self.readers.items() if not reader.is_ended)
        return Segment(lines, carried, ends, unread)

    def _solve(self, segment: Segment) -> tuple[dict[int, int], Solution]:
        """Align a segment, and return the solution with the line index that each member reaches."""
        starts = segment.carried.states if segment.carried is not None else {}
        replays = {
            i: Replay(self.found.rules, lines, self.facts, self.effort, starts.get(i))
            for i, lines in segment.lines.items()
        }
        solution = solve(replays, segment)
        members = solution.schedule.members.items()
        return {i: solution.line_at(i, live.frontier + 1) for i, live in members}, solution

    def _finish(
        self, segment: Segment, solution: Solution, reached: dict[int, int], *, is_last: bool
    ) -> None:
        """Collect the gaps and the false lines of a segment, and write its steps.

        Completeness is checked only if all lines are matched. A gap at a line that its member has
        not reached is collected in the next segment.
        """
        found, lines, windows = self.found, segment.lines, solution.windows
        gaps: list[tuple[int, int, str]] = []
        for i, one in windows.items():
            trajectory = one.trajectory
            end = segment.ends.get(i, len(lines[i].records))
            gaps += [(i, *gap) for gap in trajectory.gaps]
            false_line = trajectory.false_line
            if false_line is not None:
                if not segment.ends or false_line[0] < end:
                    found.false_lines.append(_place(lines[i], *false_line))
                    solution.schedule.end_with_false_line(i)
            elif trajectory.stopped < end:
                reason = "no step of the member makes this line possible"
                found.stopped.append(_place(lines[i], trajectory.stopped, reason))
        if not found.false_lines and not found.stopped:
            gaps += [*missing_receipts(lines), *missing_links(lines)]
            gaps += missing_causes(windows, solution.matching.channels)
            if not segment.ends:
                gaps += missing_ends(lines)
            for conflict in solution.schedule.conflicts if is_last else ():
                i = conflict.member_id
                steps = windows[i].steps[conflict.step :]
                line = next((step.lines.start for step in steps if step.lines), None)
                if line is not None:
                    found.stopped.append(_place(lines[i], line, conflict.reason))
        found.gaps += [
            _sentence(lines[i], index, reason)
            for i, index, reason in gaps
            if not segment.ends or index < reached[i]
        ]
        for i, live in solution.schedule.members.items():
            live.dropped = 0 if is_last else reached[i]
            found.members[i] = self.write(live)


def _place(lines: MemberLines, index: int, reason: str) -> LineReason:
    # A log may consist of lines of services and sessions only.
    several = lines.records or [record for _, record in lines.beside]
    record = several[min(index, len(several) - 1)]
    return LineReason(lines.member_id, lines.files[record.file], record.line, reason)


def _sentence(lines: MemberLines, index: int, reason: str) -> str:
    if index >= len(lines.records):
        return f"after the end of the log of member {lines.member_id}: {reason}"
    return str(_place(lines, index, reason))


def _reached(log: MemberLog) -> Iterator[str]:
    """The election states that a member has reached, and its module's states while not leading."""
    leads = False
    for record in log.records:
        if isinstance(record, ElectionStateChange):
            leads = record.leader_member_id == log.member_id
            yield record.new_state
        elif isinstance(record, StateChange) and not leads:
            yield record.new_state


def _lacks_elections(log: MemberLog) -> bool:
    """Whether a log shows steps, but no change of an election state.

    Such a log cannot be used: only the lines of these changes show the state of a member.
    """
    changes = any(isinstance(record, ElectionStateChange) for record in log.records)
    return _shows_steps(log) and not changes


def _shows_nothing(log: MemberLog) -> bool:
    """Whether a log has no unreadable line, and shows no step."""
    return not log.counts.unreadable and not _shows_steps(log)


def _shows_steps(log: MemberLog) -> bool:
    """Whether a log has a line that a step of the model prints.

    The line of a module that closes in INIT does not count: such a module never reached its
    election.
    Source: ``ConsensusModuleAgent.onStart``, ``onClose``.
    """
    return any(
        type(record) in PRINTED_STEPS | RECEIPTS
        and not (
            isinstance(record, StateChange)
            and (record.old_state, record.new_state) == ("INIT", "CLOSED")
        )
        for record in log.records
    )


def _highest_member(logs: ClusterLogs) -> int:
    """The highest member id.

    It follows from the number of members, if that is known. Else it is the highest id in a line, or
    in the name of a file without a line of the cluster.

    Raises
    ------
    ImportFault
        If there is no line of a member, or the ids do not go from 0 to the highest one.
    """
    known = [member_id for member_id in logs.members if member_id >= 0]
    records = (one for i in known for one in logs.members[i].records)
    if not any(isinstance(one, ClusterEvent) for one in records):
        file = next(iter(logs.members.values())).files[0]
        raise NoMember(f"{file}: no line of the logs is an event of a cluster's member")
    if logs.member_count:
        return logs.member_count - 1
    named = {*known, *logs.missing}
    absent = next(i for i in range(MAX_MEMBERS + 1) if i not in named)
    wrong = next((i for i in sorted(named) if not 0 <= i < min(absent, MAX_MEMBERS)), None)
    if wrong is None:
        return absent - 1
    places = (
        f"{log.files[record.file]}:{record.line}"
        for log in logs.members.values()
        for record in log.every_record()
        if wrong in members_named([record]) or getattr(record, "member_id", None) == wrong
    )
    reason = f"member {wrong} is named; members are numbered from 0 to {MAX_MEMBERS - 1}"
    if absent < wrong < MAX_MEMBERS:
        reason = (
            f"member {wrong} is named, and no line names member {absent}: how many members there"
            " are is not known, --members says it"
        )
    # If no line names the member, the name of its file does.
    place = next(places, "") or logs.members[wrong].files[0]
    raise ImportFault(f"{place}: {reason}")

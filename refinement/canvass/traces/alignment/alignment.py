"""The alignment of a cluster's logs: the stages one after the other, and what they leave open."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.names import wire_name
from canvass.cluster.rules import Rules
from canvass.traces.aeron_log.clocks import ClockedLog, align_clocks
from canvass.traces.aeron_log.log_vocabulary import revision_of, vocabularies_of
from canvass.traces.aeron_log.logs import ClusterLogs, MemberLog, members_named
from canvass.traces.aeron_log.records import ClusterEvent, ElectionStateChange, StateChange
from canvass.traces.alignment.channel_matching import Carried
from canvass.traces.alignment.completeness import (
    missing_causes,
    missing_ends,
    missing_links,
    missing_receipts,
)
from canvass.traces.alignment.facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.live import LiveMember
from canvass.traces.alignment.member_lines import (
    PRINTED_STEPS,
    RECEIPTS,
    LineReader,
    MemberLines,
    Vocabulary,
    member_lines,
    vocabulary_of,
)
from canvass.traces.alignment.replay import Replay
from canvass.traces.alignment.run_events import MemberCounts
from canvass.traces.alignment.solving import Segment, Solution, solve
from canvass.traces.limits import MAX_MEMBERS

SEGMENT: Final = 16_000
"""Lines of the fastest log that are aligned together in logs that are read in pieces."""
AHEAD: Final = 4
"""One line more for so many lines of a segment is looked at: what is on its way there, and what
bounds positions."""
STUCK: Final = 4
"""A segment of whose lines less than one in so many are met is tried again with more lines."""
LARGEST: Final = 8
"""So many times more lines are tried at most."""


class ImportFault(Exception):
    """The logs cannot be made into a run; the message is one line."""


class Place(Struct, frozen=True, rename=wire_name):
    """A line of a log, and what is to be said of it."""

    member_id: int
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(slots=True)
class Alignment:
    """What the cheapest alignment that was found says of the logs.

    Parameters
    ----------
    members
        Of each member that has a log: what the run has.
    gaps
        What must be missing, one sentence each.
    false_lines
        Lines that no step prints, or that stand in another's place; the run ends with the first.
    stopped
        Where the search limit was reached; the run ends there.
    """

    rules: Rules
    logs: ClusterLogs
    members: dict[int, MemberCounts]
    vocabulary: Vocabulary
    gaps: list[str] = field(default_factory=list)
    false_lines: list[Place] = field(default_factory=list)
    stopped: list[Place] = field(default_factory=list)

    @property
    def without_steps(self) -> tuple[int, ...]:
        """The members that never came to an election, as nobody's lines show anything of them."""
        heard = frozenset[int]().union(*(log.named for log in self.logs.members.values()))
        logs = sorted(self.logs.members.items())
        return tuple(i for i, log in logs if i >= 0 and i not in heard and _shows_nothing(log))


def align(
    logs: ClusterLogs,
    write: Callable[[LiveMember], MemberCounts],
    *,
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
    segment_lines: int = SEGMENT,
) -> Alignment:
    """Align the logs of a cluster with the core.

    Logs that are in memory are aligned at once, others in segments, one after the other.

    Parameters
    ----------
    logs
        As they were read.
    write
        Is called with each member and the steps that it takes next; gives what the run has of it.
    effort
        Factor of the bounds of the search.
    events
        The events that are enabled; by default those that are there.
    revision
        Of the protocol; by default that of the logs' release.
    segment_lines
        How many lines of a log are aligned at once, of logs that are not in memory.

    Raises
    ------
    ImportFault
        If the logs name members that no cluster can have.
    """
    highest = _highest_member(logs)
    known = [i for i, log in logs.members.items() if i >= 0 and not _lacks_elections(log)]
    if not known:
        file = next(iter(logs.members.values())).files[0]
        reason = "no line of the logs is an ELECTION_STATE_CHANGE: enable that event"
        raise ImportFault(f"{file}: {reason}")
    enabled = None if events is None else frozenset(events)
    vocabularies = vocabularies_of(logs, enabled)
    rules = Rules(highest + 1, revision or revision_of(vocabularies))
    printed = [one for several in vocabularies.values() for one in several]
    vocabulary = vocabulary_of(
        (one.kinds for one in printed),
        rare=events is None,
        reached={state for i in known for state in _reached(logs.members[i])},
        change_before_role=all(one.prints_change_before_role for one in printed),
    )
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
    found = Alignment(rules, logs, {}, vocabulary)
    for i in sorted(logs.members.keys() - {NULL_VALUE, *known}):
        log = logs.members[i]
        found.members[i] = MemberCounts(tuple(path.name for path in log.files))
        reason = "no line of the log is an ELECTION_STATE_CHANGE: it is not used"
        found.gaps.append(f"{log.files[0]}:1: {reason}")
    aligner = _Aligner(found, facts, readers, effort, write)
    aligner.run(sys.maxsize if whole else segment_lines)
    return found


@dataclass(slots=True)
class _Aligner:
    """Aligns logs segment after segment, and adds to ``found`` what is said of them."""

    found: Alignment
    facts: ClusterFacts
    readers: dict[int, LineReader]
    effort: int
    write: Callable[[LiveMember], MemberCounts]

    def run(self, lines: int) -> None:
        """Align all, so many lines of a log at once.

        Where members wait for each other more lines are taken; if that does not help, the run ends.
        """
        carried: Carried | None = None
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
            # Members know their schedule: what is done with does not wait for a search for cycles.
            solution.schedule.members.clear()
            for i, reader in self.readers.items():
                reader.drop(reached[i])

    def _read(self, size: int, carried: Carried | None) -> Segment:
        """Read the lines of a segment, and what is looked at after it."""
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
        """Align a segment; the line that each member reaches, and how."""
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
        """Collect the gaps and the false lines of a segment, and write it.

        If a line cannot be met nothing more is collected. The next segment collects what is said of
        lines that members have not reached.
        """
        found, lines, windows = self.found, segment.lines, solution.windows
        gaps: list[tuple[int, int, str]] = []
        for i, one in windows.items():
            trajectory = one.trajectory
            end = segment.ends.get(i, len(lines[i].records))
            gaps += [(i, *gap) for gap in trajectory.gaps]
            for index, reason in trajectory.false_lines:
                if not segment.ends or index < end:
                    found.false_lines.append(_place(lines[i], index, reason))
            if trajectory.stopped < end and not trajectory.false_lines:
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
            found.members[i] = self.write(live)


def _place(lines: MemberLines, index: int, reason: str) -> Place:
    # A log may have lines of services and sessions alone.
    several = lines.records or [record for _, record in lines.beside]
    record = several[min(index, len(several) - 1)]
    return Place(lines.member_id, lines.files[record.file], record.line, reason)


def _sentence(lines: MemberLines, index: int, reason: str) -> str:
    if index >= len(lines.records):
        return f"after the end of the log of member {lines.member_id}: {reason}"
    return str(_place(lines, index, reason))


def _reached(log: MemberLog) -> Iterator[str]:
    """The states that a member has reached: those of elections, and of its module as a follower."""
    leads = False
    for record in log.records:
        if isinstance(record, ElectionStateChange):
            leads = record.leader_member_id == log.member_id
            yield record.new_state
        elif isinstance(record, StateChange) and not leads:
            yield record.new_state


def _lacks_elections(log: MemberLog) -> bool:
    """Whether a log shows steps, and no line says how an election went.

    Nothing but these lines says what became of a member after most of its steps.
    """
    changes = any(isinstance(record, ElectionStateChange) for record in log.records)
    return _shows_steps(log) and not changes


def _shows_nothing(log: MemberLog) -> bool:
    """Whether a log was read, and shows no step."""
    return not log.counts.unreadable and not _shows_steps(log)


def _shows_steps(log: MemberLog) -> bool:
    """Whether a log has a line of the model.

    A module that closes in INIT has not come to its election: that line shows no step. Source:
    ``ConsensusModuleAgent.onStart``, ``onClose``.
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
    """The highest id that a line names, or a file without a line of the cluster."""
    known = [member_id for member_id in logs.members if member_id >= 0]
    records = (one for i in known for one in logs.members[i].records)
    if not any(isinstance(one, ClusterEvent) for one in records):
        file = next(iter(logs.members.values())).files[0]
        raise ImportFault(f"{file}: no line of the logs is an event of a cluster's member")
    highest = max([*known, *logs.missing])
    wrong = next((i for i in logs.missing if i < 0), highest)
    if 0 <= wrong < MAX_MEMBERS:
        return highest
    place = next(
        f"{log.files[record.file]}:{record.line}"
        for log in logs.members.values()
        for record in log.every_record()
        if wrong in members_named([record])
    )
    reason = f"member {wrong} is named; members are numbered from 0 to {MAX_MEMBERS - 1}"
    raise ImportFault(f"{place}: {reason}")

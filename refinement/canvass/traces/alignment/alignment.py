"""The alignment of a cluster's logs: the stages one after the other, and what they leave open."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.traces.aeron_log.event_types import EVENT_TYPES
from canvass.traces.aeron_log.log_vocabulary import revision_of, vocabularies_of
from canvass.traces.aeron_log.logs import ClusterLogs, MemberLog, members_named
from canvass.traces.aeron_log.records import ElectionStateChange, StateChange
from canvass.traces.alignment.channel_matching import Carried
from canvass.traces.alignment.completeness import (
    missing_causes,
    missing_ends,
    missing_links,
    missing_receipts,
)
from canvass.traces.alignment.facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.gaps import Repairs
from canvass.traces.alignment.live import LiveMember
from canvass.traces.alignment.member_lines import LineReader, clock_shifts, member_lines
from canvass.traces.alignment.replay import Replay, Trajectory
from canvass.traces.alignment.run_events import MemberCounts
from canvass.traces.alignment.solving import Segment, Solution, solve
from canvass.traces.alignment.vocabulary import (
    PRINTED_STEPS,
    RECEIPTS,
    Vocabulary,
    vocabulary_of,
)
from canvass.traces.limits import MAX_MEMBERS

SEGMENT: Final = 16_000
"""Lines of the fastest log that are aligned together in logs that are read in pieces."""
AHEAD: Final = 8
"""One line more for so many lines of a segment is looked at: what is on its way there, and what
bounds positions."""
STUCK: Final = 4
"""A segment of whose lines less than one in so many are met is tried again with more lines."""
LARGEST: Final = 8
"""So many times more lines are tried at most."""


class ImportFault(Exception):
    """The logs cannot be made into a run; the message is one line."""


@dataclass(slots=True)
class Remark:
    """A line of which something is to be said.

    Parameters
    ----------
    member_id, file, line
        The member and the line, or the last line.
    reason
        What, in words.
    is_after
        It is said of what comes after the last line.
    """

    member_id: int
    file: str
    line: int
    reason: str
    is_after: bool = False


@dataclass(slots=True)
class Alignment:
    """What the cheapest alignment that was found says of the logs.

    Parameters
    ----------
    rules, logs
        Of the cluster.
    members
        Of each member that has a log: what the run has.
    vocabulary
        The events that the logs print.
    gaps
        Lines that must be missing.
    false_lines
        Lines that no step prints, or that stand in another's place; the run ends with the first.
    stopped
        Where the search limit was reached; the run ends there.
    """

    rules: Rules
    logs: ClusterLogs
    members: dict[int, MemberCounts]
    vocabulary: Vocabulary
    gaps: list[Remark] = field(default_factory=list)
    false_lines: list[Remark] = field(default_factory=list)
    stopped: list[Remark] = field(default_factory=list)


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
    for i, shift in clock_shifts(lines).items():
        readers[i].shift = shift
        if shift:
            lines[i].times[:] = [time_ns + shift for time_ns in lines[i].times]
    facts = cluster_facts(lines)
    found = Alignment(rules, logs, {}, vocabulary)
    for i in sorted(logs.members.keys() - {NULL_VALUE, *known}):
        log = logs.members[i]
        found.members[i] = MemberCounts(tuple(path.name for path in log.files))
        reason = "no line of the log is an ELECTION_STATE_CHANGE: it is not used"
        found.gaps.append(Remark(i, str(log.files[0]), 1, reason))
    aligner = _Aligner(found, facts, readers, effort, write)
    aligner.run(sys.maxsize if whole else segment_lines)
    return found


@dataclass(slots=True)
class _Aligner:
    """Aligns logs segment after segment.

    Parameters
    ----------
    found
        What is said of the logs is added to it.
    facts, readers
        Of the cluster, and of the logs of its members.
    effort, write
        As for `align`.
    """

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
        repairs = {i: Repairs(one, self.facts) for i, one in replays.items()}
        solution = solve(replays, repairs, segment)
        members = solution.schedule.members.items()
        return {i: solution.line_at(i, live.frontier + 1) for i, live in members}, solution

    def _finish(
        self, segment: Segment, solution: Solution, reached: dict[int, int], *, is_last: bool
    ) -> None:
        """Say what is to be said of a segment, and write it."""
        _Remarks(self.found, solution, segment, reached, is_last).collect()
        for i, live in solution.schedule.members.items():
            self.found.members[i] = self.write(live)


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
    """Whether a log has lines of the model, and none says how an election went.

    Nothing but these lines says what became of a member after most of its steps.
    """
    kinds = {EVENT_TYPES[name].record for name in log.counts.events}
    return bool(kinds & (PRINTED_STEPS | RECEIPTS)) and ElectionStateChange not in kinds


def _highest_member(logs: ClusterLogs) -> int:
    """The highest id that a line names."""
    known = [member_id for member_id in logs.members if member_id >= 0]
    if not known:
        file = logs.members[NULL_VALUE].files[0]
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


@dataclass(slots=True)
class _Remarks:
    """Collects what the stages have to say of the lines of a segment.

    Parameters
    ----------
    found
        What is said is added to it.
    solution
        Of the segment.
    segment, reached
        The line before which each member's part ends, if lines follow, and the line that it has
        reached. Of lines after it the next segment has to say something.
    is_last
        No segment follows.
    """

    found: Alignment
    solution: Solution
    segment: Segment
    reached: Mapping[int, int]
    is_last: bool

    def collect(self) -> None:
        """Collect everything; if a line cannot be met the rest is not worth saying."""
        for i, one in self.solution.windows.items():
            self._of_replay(i, one.trajectory)
        if self.found.false_lines or self.found.stopped:
            return
        for missing in (missing_receipts, missing_links):
            for i, index, reason in missing(self.segment.lines):
                self._gap(i, index, reason)
        channels = self.solution.matching.channels
        for i, index, reason in missing_causes(self.solution.windows, channels):
            self._gap(i, index, reason)
        if not self.segment.ends:
            for i, index, reason in missing_ends(self.segment.lines):
                self._gap(i, index, reason)
        for conflict in self.solution.schedule.conflicts if self.is_last else ():
            steps = self.solution.windows[conflict.member_id].steps[conflict.step :]
            line = next((step.lines.start for step in steps if step.lines), None)
            if line is not None:
                self.found.stopped.append(self._remark(conflict.member_id, line, conflict.reason))

    def _of_replay(self, i: int, trajectory: Trajectory) -> None:
        end = self.segment.ends.get(i, len(self.segment.lines[i].records))
        for index, reason in trajectory.gaps:
            self._gap(i, index, reason)
        for index, reason in trajectory.false_lines:
            if not self.segment.ends or index < end:
                self.found.false_lines.append(self._remark(i, index, reason))
        if trajectory.stopped < end and not trajectory.false_lines:
            reason = "no step of the member makes this line possible"
            self.found.stopped.append(self._remark(i, trajectory.stopped, reason))

    def _gap(self, i: int, index: int, reason: str) -> None:
        if not self.segment.ends or index < self.reached[i]:
            self.found.gaps.append(self._remark(i, index, reason))

    def _remark(self, i: int, index: int, reason: str) -> Remark:
        one = self.segment.lines[i]
        # A log may have lines of services and sessions alone.
        several = one.records or [record for _, record in one.beside]
        record = several[min(index, len(several) - 1)]
        return Remark(i, one.files[record.file], record.line, reason, index >= len(one.records))

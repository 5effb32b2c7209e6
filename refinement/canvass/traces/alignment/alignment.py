"""The alignment of a cluster's logs: the stages one after the other, and what they leave open."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.member import NO_INPUT
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log.logs import ClusterLogs, members_named
from canvass.traces.aeron_log.vocabulary import revision_of, vocabularies_of
from canvass.traces.alignment.channel_matching import NOTHING_SENT, Matching, Receipt, match
from canvass.traces.alignment.channels import Carried
from canvass.traces.alignment.commuting import begun_at_once, move_left, moved_before
from canvass.traces.alignment.completeness import missing_commits, missing_ends
from canvass.traces.alignment.facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.gaps import Repairs
from canvass.traces.alignment.live import LiveMember
from canvass.traces.alignment.member_lines import LineReader, MemberLines, member_lines
from canvass.traces.alignment.moves import RESUME
from canvass.traces.alignment.replay import Replay, Step, Trajectory
from canvass.traces.alignment.run_events import MemberCounts
from canvass.traces.alignment.schedule import Schedule
from canvass.traces.alignment.unsent import settle_unsent
from canvass.traces.alignment.vocabulary import Vocabulary, vocabulary_of
from canvass.traces.alignment.windows import Windows
from canvass.traces.limits import MAX_MEMBERS

ROUNDS: Final = 60
"""Rounds in which impossible receipts without a line are inferred otherwise."""
SUSPECTS: Final = 60
"""Solutions that are tried with other receipts than those before a conflict."""
BEFORE: Final = 40
"""Steps before a conflict in which a receipt without a line may have caused it."""
SEARCH: Final = 1_000_000
"""Steps that the core is asked for after the first solution, until the best one so far is taken."""
CHOICES: Final = 3
"""Other receipts that are tried in the place of one."""
SEGMENT: Final = 8_000
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


@dataclass(slots=True)
class Segment:
    """The part of the logs that is aligned at once.

    Parameters
    ----------
    carried
        What the segment before has left; None at the beginning.
    ends
        For each member the line before which the segment ends; empty if the logs end with it.
    unread
        The members of whose logs more follows.
    lines
        Of each member: the lines of the segment, and those that are looked at after it.
    """

    lines: dict[int, MemberLines]
    carried: Carried | None = None
    ends: dict[int, int] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()

    def steps(self, windows: Mapping[int, Windows]) -> dict[int, int]:
        """For each member the step before which the segment ends."""
        found = {}
        for i, end in self.ends.items():
            steps = windows[i].steps
            at = (t for t, one in enumerate(steps) if one.lines and one.lines.start >= end)
            found[i] = next(at, len(steps))
        return found


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
    known = [member_id for member_id in logs.members if member_id >= 0]
    highest = _highest_member(logs)
    enabled = None if events is None else frozenset(events)
    vocabularies = vocabularies_of(logs, enabled)
    rules = Rules(highest + 1, revision or revision_of(vocabularies))
    printed = [one for several in vocabularies.values() for one in several]
    vocabulary = vocabulary_of(
        (one.kinds for one in printed),
        rare=events is None,
        change_before_role=all(one.prints_change_before_role for one in printed),
    )
    readers = {i: LineReader(logs.members[i], vocabulary) for i in known}
    whole = all(logs.members[i].reread is None for i in known)
    if whole:
        for reader in readers.values():
            reader.read(sys.maxsize)
    facts = cluster_facts(
        {i: member_lines(logs.members[i], vocabulary) for i in known}
        if not whole
        else {i: reader.lines for i, reader in readers.items()}
    )
    found = Alignment(rules, logs, {}, vocabulary)
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


def _highest_member(logs: ClusterLogs) -> int:
    """The highest id that a line names."""
    known = [member_id for member_id in logs.members if member_id >= 0]
    if not known:
        file = logs.members[NULL_VALUE].files[0]
        raise ImportFault(f"{file}: no line of the logs is an event of a cluster's member")
    highest = max([*known, *logs.missing])
    if highest < MAX_MEMBERS:
        return highest
    place = next(
        f"{log.files[record.file]}:{record.line}"
        for log in logs.members.values()
        for record in log.records
        if highest in members_named([record])
    )
    reason = f"member {highest} is named; a run has at most {MAX_MEMBERS} members"
    raise ImportFault(f"{place}: {reason}")


@dataclass(slots=True)
class Solution:
    """The stages' results, of one choice of the receipts that no line shows."""

    windows: dict[int, Windows]
    matching: Matching
    schedule: Schedule

    @property
    def quality(self) -> tuple[int, int]:
        """How much of the logs is met: receipts with a window, and lines of the steps taken."""
        met = sum(
            len(step.lines)
            for live in self.schedule.members.values()
            for step in live.windows.steps[: live.frontier + 1]
        )
        return -len(self.matching.unmatched), met

    def line_at(self, j: int, step: int) -> int:
        """The index of the line that comes at a step of a member, or after it."""
        trajectory = self.windows[j].trajectory
        following = (one.lines.start for one in trajectory.steps[step:] if one.lines)
        return next(following, len(trajectory.lines.records))

    def suspects(self) -> list[tuple[int, int]]:
        """The receipts without a line that come before a conflict: member and step, last first."""
        found = [
            (self.windows[conflict.member_id].due[at], conflict.member_id, at)
            for conflict in self.schedule.conflicts
            for at in range(max(conflict.step - BEFORE, 0), conflict.step + 1)
            if self.windows[conflict.member_id].steps[at].is_inferred_receipt
        ]
        return [(j, step) for _, j, step in sorted(found, reverse=True)]

    def impossible(self) -> Iterator[tuple[int, Receipt]]:
        """Receipts without a line that nobody can have sent, or not in time."""
        for i, j, receipt in self.matching.unmatched:
            if receipt.hidden:
                yield j, receipt
            elif i in self.windows:
                yield from self._hindered(i, j, receipt)
        yield from self.schedule.circular()

    def _hindered(self, i: int, j: int, receipt: Receipt) -> Iterator[tuple[int, Receipt]]:
        """The receipt without a line that leaves no window to one that has a line."""
        alone = self.windows[i].first(0, j, receipt.message)
        before = [one for one in self.matching.channels[i, j] if one.step < receipt.step]
        hidden = [one for one in before if one.hidden]
        if alone is not None and hidden and before[-1].earliest > alone:
            yield j, hidden[-1]


def solve(replays: dict[int, Replay], repairs: dict[int, Repairs], segment: Segment) -> Solution:
    """Replay, match and drive; what turns out impossible is not inferred again."""
    search = _Search(replays, repairs, segment)
    best = search.run()
    best = _begun_at_once(best, segment)
    for number in range(ROUNDS):
        if (number and search.is_spent()) or not settle_unsent(best.windows, best.matching):
            break
        best = _driven({i: again(one) for i, one in best.windows.items()}, segment)
    return best


def _driven(windows: dict[int, Windows], segment: Segment) -> Solution:
    """Match the receipts of trajectories, and drive the members."""
    carried, ends = segment.carried, segment.steps(windows)
    matching = match(windows, carried.sent if carried is not None else NOTHING_SENT)
    if ends:
        matching.postpone(ends, segment.unread)
    if carried is not None:
        matching.postpone_first()
    found = Solution(dict(windows), matching, Schedule(windows, matching, carried))
    found.schedule.run(ends)
    return found


@dataclass(slots=True)
class _Search:
    """The search for receipts without a line that go together.

    Parameters
    ----------
    replays, repairs
        Of each member.
    segment
        What is aligned.
    """

    replays: dict[int, Replay]
    repairs: dict[int, Repairs]
    segment: Segment
    _rounds: int = 0
    _limit: int = sys.maxsize

    def run(self) -> Solution:
        """The best solution: impossible receipts are replaced, then those before a conflict."""
        windows = {i: replayed(one, self.repairs[i]) for i, one in self.replays.items()}
        first = _driven(windows, self.segment)
        effort = max(one.effort for one in self.replays.values())
        self._limit = _asked(self.replays) + SEARCH * effort
        best = self._without_impossible(first)
        tried: set[tuple[int, int, Message | None]] = set()
        improved = True
        while improved and not self.is_spent() and best.schedule.conflicts:
            improved = False
            for j, step in best.suspects():
                message = best.windows[j].steps[step].given.message
                key = (j, best.line_at(j, step), message)
                if key in tried or self._rounds > SUSPECTS or self.is_spent():
                    continue
                tried.add(key)
                found = self._replaced(best, j, step)
                if found is not None:
                    best = self._without_impossible(found)
                    improved = True
                    break
        return best

    def is_spent(self) -> bool:
        """Whether the search has met its bound."""
        return _asked(self.replays) > self._limit

    def _without_impossible(self, found: Solution) -> Solution:
        """Replace receipts that nobody can have sent, or not in time."""
        best = found
        for _ in range(ROUNDS):
            windows = None if self.is_spent() else self._possible(found)
            if windows is None:
                break
            found = _driven(windows, self.segment)
            if found.quality > best.quality:
                best = found
        return best

    def _possible(self, found: Solution) -> dict[int, Windows] | None:
        """Trajectories without one of the receipts that are impossible; None if there is none."""
        windows = _received_in_order(found)
        if windows is not None:
            return windows
        for j, receipt in found.impossible():
            windows = self._otherwise(found, j, receipt.step)
            if windows is not None:
                return windows
        return None

    def _replaced(self, best: Solution, j: int, step: int) -> Solution | None:
        """A better solution with another receipt in the place of one, or None."""
        banned = self.replays[j].moves.banned
        before = set(banned)
        found = best
        for _ in range(CHOICES):
            if step >= len(found.windows[j].steps):
                break
            windows = self._otherwise(found, j, step)
            if windows is None:
                break
            self._rounds += 1
            found = _driven(windows, self.segment)
            while (windows := _received_in_order(found)) is not None:
                found = _driven(windows, self.segment)
            if found.quality > best.quality:
                return found
        banned.clear()
        banned.update(before)
        return None

    def _otherwise(self, found: Solution, j: int, step: int) -> dict[int, Windows] | None:
        """Replay a member without a receipt; None if its lines are not met as well without."""
        replay, inferred = self.replays[j], found.windows[j].steps[step]
        key = (found.line_at(j, step), inferred.given.message)
        if not inferred.is_inferred_receipt or key in replay.moves.banned:
            return None
        replay.moves.banned.add(key)
        other = replayed(replay, self.repairs[j])
        if not _is_as_good(other.trajectory, found.windows[j].trajectory):
            return None
        return found.windows | {j: other}


def _asked(replays: Mapping[int, Replay]) -> int:
    return sum(one.moves.asked for one in replays.values())


def _received_in_order(found: Solution) -> dict[int, Windows] | None:
    """Let a member receive a message without a line before those that were sent after it."""
    for i, j, receipt in found.matching.unmatched:
        if not receipt.hidden or i not in found.windows:
            continue
        one, place = found.windows[j], found.windows[i].first(0, j, receipt.message)
        late = [
            other.step
            for other in found.matching.channels[i, j]
            if other.step < receipt.step and place is not None and other.earliest > place
        ]
        if late:
            trajectory = moved_before(
                one.trajectory, receipt.step, min(late), one.moves, one.before
            )
            if trajectory is not None:
                return found.windows | {j: Windows(trajectory, one.moves, one.before)}
    return None


def _begun_at_once(best: Solution, segment: Segment) -> Solution:
    """Let senders of unmatched receipts take their duty cycles at once, if that is better."""
    for i in sorted({i for i, _, _ in best.matching.unmatched if i in best.windows}):
        one = best.windows[i]
        trajectory = begun_at_once(one.trajectory, one.moves, one.before)
        if trajectory is None:
            continue
        windows = {j: again(other) for j, other in best.windows.items()}
        windows[i] = Windows(trajectory, one.moves, one.before)
        found = _driven(windows, segment)
        if found.quality > best.quality:
            best = found
    return best


def again(one: Windows) -> Windows:
    """The windows of a trajectory that has changed."""
    return Windows(one.trajectory, one.moves, one.before)


def _is_as_good(other: Trajectory, one: Trajectory) -> bool:
    """Whether a trajectory meets as many lines with as few repairs."""
    repairs = len(other.gaps) + len(other.false_lines)
    return other.stopped >= one.stopped and repairs <= len(one.gaps) + len(one.false_lines)


def replayed(replay: Replay, repairs: Repairs) -> Windows:
    """Replay one member, and prepare where it can have sent what."""
    before = persistent_member(replay.rules) if replay.start is None else replay.start
    trajectory = replay.run(before, repair=repairs.cheapest)
    if replay.start is not None:
        trajectory.steps.insert(0, Step(RESUME, NO_INPUT, Outcome(before)))
    move_left(trajectory, replay.moves, before)
    return Windows(trajectory, replay.moves, before)


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
        for i, index, reason in missing_commits(self.segment.lines):
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
        record = one.records[min(index, len(one.records) - 1)]
        return Remark(i, one.files[record.file], record.line, reason, index >= len(one.records))

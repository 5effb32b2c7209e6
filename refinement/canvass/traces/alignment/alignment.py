"""The alignment of a cluster's logs: the stages one after the other, and what they leave open."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_import.proposing import ImportFault
from canvass.traces.aeron_log.logs import ClusterLogs, members_named
from canvass.traces.aeron_log.vocabulary import revision_of, vocabularies_of
from canvass.traces.alignment.channel_matching import Matching, Receipt, match
from canvass.traces.alignment.commuting import begun_at_once, move_left, moved_before
from canvass.traces.alignment.completeness import missing_commits, missing_ends
from canvass.traces.alignment.facts import cluster_facts
from canvass.traces.alignment.gaps import Repairs
from canvass.traces.alignment.live import LiveMember
from canvass.traces.alignment.member_lines import MemberLines, member_lines
from canvass.traces.alignment.replay import Replay, Trajectory
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
CHOICES: Final = 3
"""Other receipts that are tried in the place of one."""


@dataclass(slots=True)
class Remark:
    """A line of which something is to be said.

    Parameters
    ----------
    member_id, index
        The member, and the index among its `MemberLines`.
    reason
        What, in words.
    """

    member_id: int
    index: int
    reason: str


@dataclass(slots=True)
class Alignment:
    """What the cheapest alignment that was found says of the logs.

    Parameters
    ----------
    rules, logs
        Of the cluster.
    lines, members
        Of each member that has a log: what was aligned, and the run.
    vocabulary
        The events that the logs print.
    gaps
        Lines that must be missing.
    false_lines
        Lines that no step prints, or that stand in another's place; the run ends with the first.
    stopped
        Where the search limit was reached; the run ends there.
    begins_within
        A log begins within the life of its member.
    """

    rules: Rules
    logs: ClusterLogs
    lines: dict[int, MemberLines]
    members: dict[int, LiveMember]
    vocabulary: Vocabulary
    gaps: list[Remark] = field(default_factory=list)
    false_lines: list[Remark] = field(default_factory=list)
    stopped: list[Remark] = field(default_factory=list)
    begins_within: bool = False


def align(
    logs: ClusterLogs,
    *,
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
) -> Alignment:
    """Align the logs of a cluster with the core.

    Parameters
    ----------
    logs
        As they were read.
    effort
        Factor of the bounds of the search.
    events
        The events that are enabled; by default those that are there.
    revision
        Of the protocol; by default that of the logs' release.

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
    lines = {i: member_lines(logs.members[i], vocabulary) for i in known}
    facts = cluster_facts(lines)
    replays = {i: Replay(rules, one, facts, effort) for i, one in lines.items()}
    repairs = {i: Repairs(one, facts) for i, one in replays.items()}
    solution = solve(replays, repairs)
    found = Alignment(rules, logs, lines, solution.schedule.members, vocabulary)
    _remark(found, solution)
    return found


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


def solve(replays: dict[int, Replay], repairs: dict[int, Repairs]) -> Solution:
    """Replay, match and drive; what turns out impossible is not inferred again."""
    search = _Search(replays, repairs)
    best = search.run()
    best = _begun_at_once(best)
    for _ in range(ROUNDS):
        if not settle_unsent(best.windows, best.matching):
            break
        best = _driven({i: again(one) for i, one in best.windows.items()})
    return best


def _driven(windows: dict[int, Windows]) -> Solution:
    """Match the receipts of trajectories, and drive the members."""
    matching = match(windows)
    found = Solution(dict(windows), matching, Schedule(windows, matching))
    found.schedule.run()
    return found


@dataclass(slots=True)
class _Search:
    """The search for receipts without a line that go together.

    Parameters
    ----------
    replays, repairs
        Of each member.
    """

    replays: dict[int, Replay]
    repairs: dict[int, Repairs]
    _rounds: int = 0

    def run(self) -> Solution:
        """The best solution: impossible receipts are replaced, then those before a conflict."""
        best = self._without_impossible(
            _driven({i: replayed(one, self.repairs[i]) for i, one in self.replays.items()})
        )
        tried: set[tuple[int, int, Message | None]] = set()
        improved = True
        while improved and best.schedule.conflicts:
            improved = False
            for j, step in best.suspects():
                message = best.windows[j].steps[step].given.message
                key = (j, best.line_at(j, step), message)
                if key in tried or self._rounds > SUSPECTS:
                    continue
                tried.add(key)
                found = self._replaced(best, j, step)
                if found is not None:
                    best = self._without_impossible(found)
                    improved = True
                    break
        return best

    def _without_impossible(self, found: Solution) -> Solution:
        """Replace receipts that nobody can have sent, or not in time."""
        best = found
        for _ in range(ROUNDS):
            windows = self._possible(found)
            if windows is None:
                break
            found = _driven(windows)
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
            found = _driven(windows)
            while (windows := _received_in_order(found)) is not None:
                found = _driven(windows)
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


def _begun_at_once(best: Solution) -> Solution:
    """Let senders of unmatched receipts take their duty cycles at once, if that is better."""
    for i in sorted({i for i, _, _ in best.matching.unmatched if i in best.windows}):
        one = best.windows[i]
        trajectory = begun_at_once(one.trajectory, one.moves, one.before)
        if trajectory is None:
            continue
        windows = {j: again(other) for j, other in best.windows.items()}
        windows[i] = Windows(trajectory, one.moves, one.before)
        found = _driven(windows)
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
    before = persistent_member(replay.rules)
    trajectory = replay.run(before, repair=repairs.cheapest)
    move_left(trajectory, replay.moves, before)
    return Windows(trajectory, replay.moves, before)


def _remark(found: Alignment, solution: Solution) -> None:
    """Collect what the stages have to say of lines."""
    for i, one in solution.windows.items():
        trajectory = one.trajectory
        found.gaps += [Remark(i, index, reason) for index, reason in trajectory.gaps]
        found.false_lines += [Remark(i, index, reason) for index, reason in trajectory.false_lines]
        whole = trajectory.stopped >= len(found.lines[i].records)
        if not whole and not trajectory.false_lines:
            reason = "no step of the member makes this line possible"
            found.stopped.append(Remark(i, trajectory.stopped, reason))
    if found.false_lines or found.stopped:
        return
    found.gaps += [Remark(*one) for one in missing_commits(found.lines)]
    found.gaps += [Remark(*one) for one in missing_ends(found.lines)]
    for conflict in solution.schedule.conflicts:
        steps = solution.windows[conflict.member_id].steps[conflict.step :]
        line = next((step.lines.start for step in steps if step.lines), None)
        if line is not None:
            found.stopped.append(Remark(conflict.member_id, line, conflict.reason))

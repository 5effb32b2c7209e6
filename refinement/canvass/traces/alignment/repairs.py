"""Repairs of a replay that cannot match a line: lines are missing or false.

After each possible repair the next lines are replayed, and the repair with the lowest cost is
taken. The costs decide between missing lines and a false line. A synchronous move and a silent move
cost nothing. The cheapest alignment decides the outcome: `EXPLAINED` without any of the moves
below, `INCOMPLETE` with gaps only, `CONTRADICTED` with a false line.

A repair can also be a start with another disk than the member left: something outside the cluster
changed it. The lines of the start show this: they name smaller positions or terms than the member
had on disk. No step of the protocol lowers these, whatever lines are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec.structs import replace

from canvass.cluster.effects import Outcome
from canvass.cluster.member import (
    NO_INPUT,
    NULL_RECORD,
    ElectionState,
    Member,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import last_term
from canvass.cluster.transitions import begin_election, disk, election_complete, persistent_member
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    NewElection,
    ProcessStart,
    RoleChange,
)
from canvass.traces.alignment.member_lines import INFERRED, is_start
from canvass.traces.alignment.possible_steps import PROCESS_END
from canvass.traces.alignment.printing import count_logged, logged_lines
from canvass.traces.alignment.replay import Path, PathStep, Repair, Replay, Trajectory

GAP: Final = 6
"""The cost to open a gap. Lines are lost in blocks, so a further line of a gap costs less."""

MISSING_LINE: Final = 2
"""The cost of each missing line in an open gap. Two gaps cost more than one false line. One gap of
three lines costs less than a false line: lines are lost more often than they are changed."""

UNKNOWN_LINES: Final = 10
"""The cost of a gap whose lines cannot be named, on top of `GAP`: the member's state is taken from
a later line. Both costs together are more than that of a false line after which all lines are
matched, and less than that of a false line after which some lines are not matched."""

DISK_REPLACED: Final = 8
"""The cost of a start with another disk than the member left. It is less than that of a false line,
because two lines show what the member starts with."""

UNALIGNED_LINE: Final = 1
"""The cost of each line between a gap and the line from which the member's state is taken."""

FALSE_LINE: Final = 14
"""The cost of a line that no step prints, or that says other numbers than the step. A gap of a few
lines costs less: no line is called false where lines may have been lost."""

OTHER_FIELD: Final = 2
"""The cost of each further field in which a false line differs from what the step prints."""

HORIZON: Final = 40
"""The number of lines after a repair that must be matched."""

CHANGES: Final = 4
"""The number of lines after a repair that must be matched, if only the lines that steps print are
counted. Receipts show little, because most receipts are possible in any state."""

FURTHEST: Final = 1_000
"""The largest number of lines after a repair that are replayed."""

UNMATCHED_LINE: Final = 1
"""The cost of each unmatched line within `HORIZON` after a repair. All such lines together cost no
more than another gap whose lines cannot be named."""

BACK: Final = 4
"""The number of lines before the unmatched one at which a repair is tried, too."""
_BEFORE_CHANGE: Final = (NewElection, RoleChange)
"""The lines that come before the first `ElectionStateChange` of an election."""
_CANDIDATE: Final = "candidate term"
_SUBSCRIBED: Final = frozenset(
    {
        ElectionState.FOLLOWER_CATCHUP_AWAIT,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_LOG_AWAIT,
        ElectionState.FOLLOWER_READY,
        ElectionState.CLOSED,
    }
)


class Repairs:
    """Finds the cheapest repair of a replay."""

    def __init__(self, replay: Replay) -> None:
        self._replay, self._lines = replay, replay.lines

    def cheapest(self, steps: list[PathStep], k: int) -> Repair | None:
        """The cheapest repair of a trajectory that cannot match line ``k``, or None.

        A line is called false only if the lines after it are matched without it: those within
        `HORIZON`, and further ones until `CHANGES` of the matched lines are printed by
        steps, at most `FURTHEST`.
        No line is called false if the state before it is not certain. That is so if lines of the
        same process are missing, if the member was silent for long, or if a silent message cannot
        be inferred.
        """
        best: tuple[int, Repair] | None = None
        # Of two repairs with equal costs, the one with a gap comes first.
        candidates = self._candidates(steps, k)
        for repair in sorted(candidates, key=lambda one: (one.cost, one.false_line >= 0)):
            if best is not None and repair.cost >= best[0]:
                break
            unmatched = UNMATCHED_LINE * self._unmatched(repair)
            if unmatched and repair.false_line >= 0:
                continue
            total = repair.cost + min(unmatched, GAP + UNKNOWN_LINES)
            if best is None or total < best[0]:
                best = total, repair
        if best is None:
            return None
        silent_messages = self._lines.vocabulary.silent_messages
        unsure = not silent_messages <= INFERRED or _has_gap(steps, best[1].length)
        closed = bool(steps) and steps[-1].state.election_state is ElectionState.CLOSED
        received = closed and self._lines.messages[k] is not None
        unsure |= received and self._lines.is_silent_before(k)
        return None if best[1].false_line >= 0 and unsure else best[1]

    def _unmatched(self, repair: Repair) -> int:
        """The number of lines after a repair that are not matched, of those within `HORIZON`; at
        least 1 if a later line that is tried is not matched.

        If the repair skips a line, and no later line of the process shows the member's state, all
        lines count as not matched.
        """
        is_passed = repair.false_line >= 0 and not any(
            step.false and step.action for step in repair.path
        )
        state, k = repair.path[-1].state, repair.path[-1].lines.stop
        count, changes = len(self._lines.records), 0
        end = min(k + HORIZON, count)
        last = min(k + FURTHEST, count)
        while k < end or (changes < CHANGES and k < last):
            if isinstance(self._lines.records[k], ProcessStart):
                if is_passed and not changes:
                    break
                k += 1
                continue
            path = next(self._replay.match_line(state, k), None)
            if path is None:
                return max(end - k, 1)
            state, k = path[-1].state, path[-1].lines.stop
            changes += self._lines.messages[path[-1].lines.start] is None
        return HORIZON if is_passed and not changes else 0

    def _candidates(self, steps: list[PathStep], k: int) -> Iterator[Repair]:
        places = list(_places(steps, k))
        for length, line in places:
            state = steps[length - 1].state if length else self._replay.before
            yield from self._false(state, length, line, k)
            yield from self._missing(state, length, line, k)
        yield from self._resynchronised(steps, k)

    def _false(self, state: Member, length: int, line: int, k: int) -> Iterator[Repair]:
        """The repairs in which the line is false: no step prints it, or with other numbers."""
        reason = "no step prints this line after the lines before it"
        count = len(self._lines.records)
        if line + 1 == count or isinstance(self._lines.records[line + 1], ProcessStart):
            ended = Trajectory(self._lines, state)
            ended.end_with(line, reason)
            yield Repair(FALSE_LINE, length, tuple(ended.steps), line, reason)
        if line + 1 < count:
            for path in islice(self._replay.match_line(state, line + 1, depth=4), 3):
                if path[-1].lines.stop > k:
                    yield Repair(FALSE_LINE, length, path, line, reason)
        for path, at, fields in self._replay.match_but_one(state, line):
            if line < k and self._match_up_to(path[-1].state, path[-1].lines.stop, k) is None:
                continue
            yield Repair(
                FALSE_LINE + OTHER_FIELD * (fields - 1),
                length,
                path,
                at,
                "the step that is possible here prints other numbers",
            )
        if self._lines.messages[line] is not None and line + 1 < count:
            for path in self._replay.match_after_missing(state, line + 1):
                if path[-1].lines.stop > k and sum(bool(step.gap) for step in path) == 1:
                    yield Repair(
                        FALSE_LINE + 1,
                        length,
                        path,
                        line,
                        "what follows needs a message with other contents",
                    )

    def _match_up_to(self, state: Member, line: int, last: int) -> Path | None:
        """The steps that match the lines from ``line`` to ``last``, or None."""
        found: Path = ()
        while line <= last:
            path = next(self._replay.match_line(state, line, depth=4), None)
            if path is None:
                return None
            found = (*found, *path)
            state, line = path[-1].state, path[-1].lines.stop
        return found

    def _missing(self, state: Member, length: int, line: int, k: int) -> Iterator[Repair]:
        """The repairs in which lines are missing before the line. They also match line ``k``."""
        found = (
            *self._replay.match_in_part(state, line),
            *self._replay.match_after_missing(state, line),
        )
        for path in found:
            if line < k and self._match_up_to(path[-1].state, path[-1].lines.stop, k) is None:
                continue
            missing = sum(bool(step.gap) for step in path)
            yield Repair(GAP + MISSING_LINE * missing, length, path)

    def _resynchronised(self, steps: list[PathStep], k: int) -> Iterator[Repair]:
        """The repairs in which the member's state is taken from the next line that describes it.

        There is no such repair if a `NewElection` contradicts the change that follows it. A member
        that starts with less than it had on disk has found another disk.
        """
        lines, length = self._lines.records, len(steps)
        state = steps[-1].state if steps else self._replay.before
        for lost, index in enumerate(range(k, len(lines))):
            begun = record = lines[index]
            taken = index + 1
            if isinstance(record, ProcessStart) or is_start(record):
                state = disk(self._replay.rules, state)
            while isinstance(record, _BEFORE_CHANGE) and taken < len(lines):
                record = lines[taken]
                taken += 1
            if isinstance(record, ElectionStateChange):
                if isinstance(begun, NewElection) and not _begins(begun, record):
                    return
                if is_start(begun):
                    gap = "lines are missing before it" if lost else ""
                    others = _other_disks(self._replay, steps, record, index, gap)
                    yield from others
                    if others:
                        return
                known = described_state(self._replay, state, record)
                reason = f"lines are missing; the state is known again with {record.new_state}"
                step = PathStep(
                    "ElectionInit" if record.new_state == "CANVASS" else "ElectionError",
                    NO_INPUT,
                    Outcome(known),
                    range(index, taken),
                    gap=reason,
                    resynchronised=True,
                )
                cost = GAP + UNKNOWN_LINES + UNALIGNED_LINE * lost
                yield Repair(cost, length, (step,))
                return


def _has_gap(steps: list[PathStep], length: int) -> bool:
    """Whether the process of step ``length`` has a gap before that step."""
    for step in reversed(steps[:length]):
        if step.gap or step.action == PROCESS_END:
            return bool(step.gap)
    return False


def _begins(begun: NewElection, change: ElectionStateChange) -> bool:
    """Whether a `NewElection` and the first change of its election agree."""
    said = begun.leadership_term_id, begun.log_position
    is_alike = said == (change.log_leadership_term_id, change.log_position)
    return is_alike and begun.append_position <= change.append_position


def _places(steps: list[PathStep], k: int) -> Iterator[tuple[int, int]]:
    """The places where a repair is tried, each as the number of steps kept and the next line."""
    yield len(steps), k
    found = 0
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step.action == PROCESS_END or step.resynchronised or step.false:
            return
        if step.lines:
            found += 1
            first = index
            while first > 0 and not steps[first - 1].lines:
                first -= 1
            yield first, step.lines.start
            if found >= BACK:
                return


def described_state(replay: Replay, s: Member, record: ElectionStateChange) -> Member:
    """The state of a member after a line that describes it.

    Fields that the line does not show are those of ``s``.
    """
    rules, i = replay.rules, replay.lines.member_id
    at = ElectionState(record.new_state)
    term, position = record.log_leadership_term_id, record.append_position
    log = s.recording_log
    if term >= 0 and (not log or last_term(log) < term):
        base = replay.moves.facts.term_entries.get(term, (min(position, s.recorded_position), 0))[0]
        closed = tuple(
            TermEntry(e.leadership_term_id, e.term_base_log_position, base)
            if e.log_position == NULL_VALUE
            else e
            for e in log
        )
        log = (*closed, TermEntry(term, base, NULL_VALUE))
    known = replace(
        s,
        persisted_candidate_term_id=max(s.persisted_candidate_term_id, record.candidate_term_id),
        recording_log=log,
        recorded_position=position,
        module_state=ModuleState.ACTIVE,
        module_leadership_term_id=record.leadership_term_id,
        commit_position=record.log_position,
        log_leadership_term_id=term,
        leadership_term_id=record.leadership_term_id,
    )
    begun = begin_election(rules, i, known).next
    canvassing = replace(begun, candidate_term_id=record.candidate_term_id)
    if at is ElectionState.CANVASS:
        return canvassing
    leads = record.leader_member_id == i
    candidate = at is ElectionState.CANDIDATE_BALLOT
    role = Role.CANDIDATE if candidate else Role.LEADER if leads else Role.FOLLOWER
    leadership = (record.leader_member_id, record.leadership_term_id)
    known_before = (s.leader_member_id, s.leadership_term_id) == leadership
    heard = s.notified_commit_position if known_before else NULL_VALUE
    notified = max(heard, record.log_position)
    # If FOLLOWER_LOG_INIT follows a catch-up, the member keeps the subscription of the catch-up.
    joined = record.old_state == ElectionState.FOLLOWER_CATCHUP
    records_of = tuple(NULL_RECORD for _ in range(rules.member_count))
    reached = replace(
        canvassing,
        election_state=at,
        role=role,
        leader_member_id=record.leader_member_id,
        publication_position=position if role is Role.LEADER else NULL_VALUE,
        log_subscription=role is Role.FOLLOWER and (at in _SUBSCRIBED or joined),
        members=records_of,
        notified_commit_position=notified,
        catchup_join_position=record.catchup_join_position,
    )
    return election_complete(rules, reached).next if at is ElectionState.CLOSED else reached


def _other_disks(
    replay: Replay, steps: list[PathStep], change: ElectionStateChange, index: int, gap: str
) -> list[Repair]:
    """The starts with another disk, one for each disk that the member can have found.

    The lines from ``index`` on are those of the start. ``change`` is the first change of the
    election state among them. The list is empty if they show no less than the state after ``steps``
    has on disk. The only member of a cluster may also have a disk at the beginning of its log, such
    as the disk of a backup. ``gap`` is the reason if lines are missing before the start.
    """
    s, lines = steps[-1].state if steps else replay.before, replay.lines
    # The only member of a cluster begins the next term at once.
    candidate = change.candidate_term_id - (replay.rules.member_count == 1)
    pairs = {
        "log position": (change.append_position, s.recorded_position),
        "log term": (change.log_leadership_term_id, last_term(s.recording_log)),
        "snapshot": (change.log_position, s.snapshot_log_position),
        _CANDIDATE: (candidate, s.persisted_candidate_term_id),
    }
    is_first = replay.start is None and all(step.action == PROCESS_END for step in steps)
    begins = is_first and replay.rules.member_count == 1
    fallen = {n: p for n, p in pairs.items() if p[0] < p[1] or (begins and p[0] != p[1])}
    # Only one line of the start shows the candidate term, so that line may be false.
    cost = FALSE_LINE + 1 if [*fallen] == [_CANDIDATE] else DISK_REPLACED
    said = ", ".join(f"{name} {now} after {before}" for name, (now, before) in fallen.items())
    replaced, repairs = f"member {lines.member_id} starts with {said}", []
    for found in _disks(replay, steps, s, change, candidate) if fallen else ():
        outcome = replay.moves.take(found, "Restart", NO_INPUT)
        assert outcome is not None
        printed = logged_lines(lines.vocabulary, "Restart", found, outcome)
        matched = range(index, index + count_logged(lines, printed, index))
        step = PathStep("Restart", NO_INPUT, outcome, matched, gap, replaced=replaced)
        repairs += [Repair(cost, len(steps), (step,))] if matched else []
    return repairs


def _disks(
    replay: Replay, steps: list[PathStep], s: Member, change: ElectionStateChange, candidate: int
) -> list[Member]:
    """The disks that a member can have found, the likeliest first.

    The recording log of such a disk has the entries up to the term of ``change``, or none. If it
    has none, the snapshot has that term.
    """
    term, end, at = change.log_leadership_term_id, change.append_position, change.log_position
    base = replay.moves.facts.term_entries.get(term, (at, 0))[0]
    log = tuple(e for e in s.recording_log if e.leadership_term_id <= term)
    if term > last_term(log):
        log = (*log, TermEntry(term, base, NULL_VALUE))
    elif len(log) < len(s.recording_log):
        # The last term was open when the disk was copied.
        log = (*log[:-1], replace(log[-1], log_position=NULL_VALUE)) if log else log
    states = (step.state for step in reversed(steps) if step.state.snapshot_log_position == at)
    old = next(states, None)
    known = (term, base)
    if old is not None:
        known = old.snapshot_leadership_term_id, old.snapshot_term_base_log_position
    disks = [
        persistent_member(replay.rules, candidate, log, end, *known, at),
        persistent_member(replay.rules, candidate, (), end, term, min(base, at), at),
    ]
    return disks[::-1] if end == at and term >= 0 else disks

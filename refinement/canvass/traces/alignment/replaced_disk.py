"""A member that starts with another disk than it left: something outside the cluster changed it.

The lines of the start show this: they name smaller positions or terms than the member had on disk.
No step of the protocol lowers these, whatever lines are missing.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, Member, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import last_term
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log.records import ElectionStateChange
from canvass.traces.alignment import costs
from canvass.traces.alignment.possible_steps import PROCESS_END
from canvass.traces.alignment.printing import count_logged, logged_lines
from canvass.traces.alignment.replay import PathStep, Repair, Replay

_CANDIDATE: Final = "candidate term"


def other_disks(
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
    cost = costs.FALSE_LINE + 1 if [*fallen] == [_CANDIDATE] else costs.DISK_REPLACED
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

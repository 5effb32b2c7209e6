"""How a member's recording of its steps goes on after its process has died.

A step is recorded before its effects are done, and an archive records on its own. So what is on
disk can be one step behind the recording of steps, and entries of the log ahead of it. Here is
decided what to make of that; nothing is read or written.
"""

from __future__ import annotations

from dataclasses import dataclass

from canvass.archive.storage import ArchiveError
from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member


@dataclass(frozen=True, slots=True)
class Resumption:
    """What is to be done before a member is started."""

    drop_last: bool
    """The last step's effects were not done, so that it was not taken: it is to be forgotten."""
    noted: tuple[Input, Outcome] | None
    """A ``RecordLog`` to be recorded: the archive had recorded more than the module had noted."""
    truncate_position: int | None
    """Where to cut the recording off: the last step had asked for that."""


def _durable(s: Member) -> tuple[object, ...]:
    return (
        s.persisted_candidate_term_id,
        s.recording_log,
        s.snapshot_leadership_term_id,
        s.snapshot_term_base_log_position,
        s.snapshot_log_position,
    )


def _look_at_cut(found: Member, last: Member, previous: Member) -> None:
    """Refuse a log that goes on where the recording log, which is on disk, says that it was cut.

    Both are changed in one piece, and nothing is recorded between a cut and the next step: whoever
    cuts its log is in an election and records from nobody.
    """
    cut = last.recorded_position < previous.recorded_position
    done = cut and _durable(last) != _durable(previous)
    if done and found.recorded_position > last.recorded_position:
        raise ArchiveError(
            f"the log was cut off at {last.recorded_position}, as the recording log says, and the "
            f"recording goes on to {found.recorded_position}"
        )


def resumption(
    rules: Rules, i: int, found: Member, last: Member | None, previous: Member | None
) -> Resumption:
    """Compare what is on disk with the last two recorded states.

    Parameters
    ----------
    rules, i
        Of the cluster, and the member.
    found
        The state that a restart finds.
    last, previous
        The state after the last recorded step and after the one before, if there are any.

    Raises
    ------
    ArchiveError
        If disk and recording are not of the same member's same life.
    """
    drop = False
    if last is not None and _durable(found) != _durable(last):
        drop, last = True, previous
    elif last is not None and previous is not None:
        _look_at_cut(found, last, previous)
    if last is None:
        if _durable(found) == _durable(persistent_member(rules)) and (
            drop or not found.recorded_position
        ):
            return Resumption(drop, None, None)
        raise ArchiveError("the disk holds a log, and no step of its member was recorded")
    if _durable(found) != _durable(last) or found.recorded_position < last.recorded_position:
        raise ArchiveError("what is on disk and what was recorded of the member disagree")
    if found.recorded_position == last.recorded_position:
        return Resumption(drop, None, None)
    x = Input(position=found.recorded_position)
    noted = core.step(rules, i, last, "RecordLog", x)
    if noted is None:
        return Resumption(drop, None, last.recorded_position)
    return Resumption(drop, (x, noted), None)

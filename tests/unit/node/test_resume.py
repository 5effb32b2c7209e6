"""Corrections of the disk and the recorded run of a member whose process has died."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from canvass.archive.storage import ArchiveError
from canvass.cluster import core
from canvass.cluster.member import NO_INPUT, ElectionState, Member, Role, TermEntry
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import disk, persistent_member
from canvass.node.node import Resumption, resumption

RULES = Rules.of("hardened")
TERMS = (TermEntry(0, 0, -1),)
NOTHING = persistent_member(RULES)


def following(recorded_position: int) -> Member:
    """A follower whose archive records the log of member 1."""
    outcome = core.step(RULES, 0, persistent_member(RULES, 0, TERMS), "Restart", NO_INPUT)
    assert outcome is not None
    return replace(
        outcome.next,
        election_state=ElectionState.CLOSED,
        role=Role.FOLLOWER,
        leader_member_id=1,
        module_leadership_term_id=0,
        log_subscription=True,
        recorded_position=recorded_position,
    )


def test_the_first_start_needs_no_correction() -> None:
    assert resumption(RULES, 0, NOTHING, None, None) == Resumption(False, None, None)


def test_a_disk_equal_to_the_recorded_state_needs_no_correction() -> None:
    last = following(96)

    assert resumption(RULES, 0, disk(RULES, last), last, None) == Resumption(False, None, None)


def test_a_step_whose_effects_are_not_on_disk_was_not_taken() -> None:
    previous = following(96)
    last = replace(previous, persisted_candidate_term_id=4)
    found = resumption(RULES, 0, disk(RULES, previous), last, previous)

    assert found == Resumption(True, None, None)


def test_the_first_step_of_all_may_not_have_been_taken() -> None:
    last = replace(NOTHING, persisted_candidate_term_id=0)

    assert resumption(RULES, 0, NOTHING, last, None) == Resumption(True, None, None)


def test_entries_that_only_the_archive_recorded_become_a_step() -> None:
    last = following(96)
    found = resumption(RULES, 0, disk(RULES, following(192)), last, None)

    assert found.noted is not None
    x, outcome = found.noted
    assert (x.position, outcome.next) == (192, following(192))
    assert (found.drop_last, found.truncate_position) == (False, None)


def test_a_truncation_that_an_election_requested_is_carried_out() -> None:
    canvassing = replace(
        following(96), election_state=ElectionState.CANVASS, log_subscription=False
    )
    found = resumption(RULES, 0, disk(RULES, following(192)), canvassing, None)

    assert found == Resumption(False, None, 96)


def cut_off(previous: Member, position: int) -> Member:
    """The state after a step that cuts a log off, and closes its term there."""
    return replace(
        previous,
        election_state=ElectionState.INIT,
        recording_log=(TermEntry(0, 0, position),),
        recorded_position=position,
    )


def test_a_truncation_is_on_disk_completely_or_not_at_all() -> None:
    previous = replace(following(192), election_state=ElectionState.CANVASS)
    last = cut_off(previous, 96)
    on_disk = [disk(RULES, last), disk(RULES, previous)]

    assert [resumption(RULES, 0, found, last, previous) for found in on_disk] == [
        Resumption(False, None, None),
        Resumption(True, None, None),
    ]


def test_a_log_that_continues_beyond_its_truncation_is_refused() -> None:
    previous = replace(following(192), election_state=ElectionState.CANVASS)
    last = cut_off(previous, 96)
    found = replace(disk(RULES, last), recorded_position=192)

    with pytest.raises(ArchiveError, match=r"truncated at 96, and the recording ends at 192"):
        resumption(RULES, 0, found, last, previous)


@pytest.mark.parametrize(
    ("found", "last", "previous"),
    [
        (disk(RULES, following(96)), None, None),
        (disk(RULES, following(64)), following(96), following(64)),
        (replace(NOTHING, persisted_candidate_term_id=7), following(96), following(96)),
    ],
    ids=["a log that nobody recorded", "a log that has shrunk", "another member's disk"],
)
def test_disk_and_recorded_run_of_different_histories_are_refused(
    found: Member, last: Member | None, previous: Member | None
) -> None:
    with pytest.raises(ArchiveError):
        resumption(RULES, 0, found, last, previous)

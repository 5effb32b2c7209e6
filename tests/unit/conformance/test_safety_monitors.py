"""Each safety monitor fails on a run that breaks its property, and on no other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from canvass.conformance.causality import order_causes
from canvass.conformance.safety_monitors import PROPERTIES, violations
from support.sequences import CLOSED, LEADER, Happening, sequence_of


@dataclass
class Story:
    """The steps of three members, and the property that they break."""

    name: str
    happenings: list[Happening]
    broken: set[str] = field(default_factory=set)
    revision: str = "1.50"


def elected(member: int, term: int, *, at: int = 0) -> list[Happening]:
    """A member becomes the leader of a term with a log that ends at a position."""
    return [
        Happening(
            member,
            "CandidateBallot",
            state="LEADER_LOG_REPLICATION",
            role=LEADER,
            leadership_term_id=term,
            publication_position=at,
            append_position=at,
            recorded_position=at,
        )
    ]


def leads(member: int, term: int, recorded: int, commit: int) -> Happening:
    """A leader outside elections has recorded and committed up to somewhere."""
    return Happening(
        member,
        "UpdateLeaderPosition",
        state=CLOSED,
        role=LEADER,
        module_leadership_term_id=term,
        publication_position=recorded,
        recorded_position=recorded,
        commit_position=commit,
        leader_member_id=member,
    )


def follows(member: int, leader: int, term: int, recorded: int, commit: int = 0) -> Happening:
    """A follower outside elections has recorded and processed up to somewhere."""
    return Happening(
        member,
        "RecordLog",
        state=CLOSED,
        module_leadership_term_id=term,
        leader_member_id=leader,
        recorded_position=recorded,
        commit_position=commit,
    )


GOOD = [
    Happening(2, "Restart"),
    *elected(0, 1),
    leads(0, 1, 0, 0),
    leads(0, 1, 64, 0),
    follows(1, 0, 1, 0),
    follows(1, 0, 1, 64),
    leads(0, 1, 64, 64),
]

STORIES = [
    Story("nothing wrong", GOOD),
    Story("two leaders of a term", [*GOOD, *elected(2, 1)], {"ElectionSafety"}),
    Story(
        "two votes in a term",
        [
            *GOOD,
            Happening(2, "OnRequestVote", vote=(7, 0)),
            Happening(2, "Restart"),
            Happening(2, "OnRequestVote", vote=(7, 1)),
        ],
        {"OneVotePerTerm"},
    ),
    Story(
        "a vote for another after standing",
        [
            Happening(2, "Canvass", state="NOMINATE"),
            Happening(2, "Nominate", state="CANDIDATE_BALLOT", candidate_term_id=3),
            Happening(2, "OnRequestVote", state="FOLLOWER_BALLOT", vote=(3, 1)),
        ],
        {"OneVotePerTerm"},
    ),
    Story(
        "a candidate term forgotten",
        [
            Happening(2, "OnRequestVote", persisted_candidate_term_id=4),
            Happening(2, "Restart", persisted_candidate_term_id=3),
        ],
        {"CandidateTermMonotonic"},
    ),
    Story(
        "a commit position that falls",
        [*GOOD, leads(0, 1, 64, 32)],
        {"CommitMonotonic"},
    ),
    Story(
        "a leader's commit position that falls in 1.49",
        [*GOOD, leads(0, 1, 64, 32)],
        revision="1.49",
    ),
    Story(
        "a follower's commit position that falls in 1.49",
        [*GOOD, follows(1, 0, 1, 64, 64), follows(1, 0, 1, 64, 32)],
        {"CommitMonotonic"},
        revision="1.49",
    ),
    Story(
        "a member that has ended has processed nothing",
        [
            *GOOD,
            follows(1, 0, 1, 64, 64),
            Happening(1, "Terminate", recorded_position=64),
            Happening(1, "Restart", recorded_position=64),
        ],
    ),
    Story(
        "a commit beyond the log",
        [*GOOD, follows(1, 0, 1, 64, 96)],
        {"CommitBounded", "AppliedWithinCommitted"},
    ),
    Story(
        "a recording log in disorder",
        [Happening(2, "LeaderInit", coherent=False)],
        {"RecordingLogCoherent"},
    ),
    Story(
        "a commit that only the leader has",
        [*GOOD[:-1], leads(0, 1, 96, 96)],
        {"CommittedIsDurable"},
    ),
    Story(
        "a log cut below the commit",
        [*GOOD, follows(1, 0, 1, 64, 64), follows(1, 0, 1, 32, 64)],
        {"NoTruncationBelowCommit", "CommitBounded", "CommittedIsDurable"},
    ),
    Story(
        "a leader that lacks what is committed",
        [*GOOD, *elected(2, 2, at=0), leads(2, 2, 32, 0)],
        {"LeaderCompleteness"},
    ),
    Story(
        "bytes on top of another log",
        [
            *GOOD,
            *elected(2, 2, at=0),
            leads(2, 2, 0, 0),
            leads(2, 2, 96, 0),
            follows(1, 2, 2, 64),
            follows(1, 2, 2, 96),
        ],
        {"LogMatching", "LeaderCompleteness"},
    ),
    Story(
        "two histories committed",
        [
            *GOOD,
            *elected(2, 2, at=0),
            leads(2, 2, 0, 0),
            leads(2, 2, 64, 64),
        ],
        {"StateMachineSafety", "LeaderCompleteness"},
    ),
    Story(
        "what is committed against another history is committed too",
        [
            *elected(2, 1),
            *elected(0, 2),
            leads(0, 2, 64, 0),
            follows(1, 0, 2, 0),
            follows(1, 0, 2, 64),
            leads(0, 2, 64, 64),
            leads(2, 1, 96, 0),
            leads(2, 1, 96, 96),
        ],
        {"StateMachineSafety", "LeaderCompleteness", "CommittedIsDurable"},
    ),
    Story(
        "a leader whose log is cut below where its term began",
        [
            *elected(0, 1),
            leads(0, 1, 64, 0),
            *elected(0, 2, at=64),
            leads(0, 2, 32, 0),
            leads(0, 2, 64, 0),
            *elected(1, 2),
            leads(1, 2, 64, 0),
        ],
        {"ElectionSafety", "LogMatching"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_monitor_fails_on_what_breaks_its_property(story: Story) -> None:
    sequence = sequence_of(story.happenings, members=3)
    order = order_causes(sequence, 3, empty=True, complete=[True] * 3)

    found = violations(sequence, order, revision=story.revision, unknown=False, complete=[True] * 3)

    assert {each.name for each in found} == story.broken


def test_monitor_every_property_has_a_story() -> None:
    assert set().union(*(story.broken for story in STORIES)) == set(PROPERTIES)


def test_monitor_what_is_not_known_is_not_held_against_anybody() -> None:
    story = [*elected(2, 2, at=64), leads(2, 2, 64, 64), follows(1, 2, 2, 96, 64)]
    sequence = sequence_of(story, members=3)
    order = order_causes(sequence, 3, empty=False, complete=[False, True, True])

    found = violations(sequence, order, revision="1.50", unknown=True, complete=[False, True, True])

    assert found == []
    assert np.array_equal(np.sort(order.order), np.arange(len(sequence)))


def reports(member: int, recorded: int, commit: int, *checksums: tuple[int, int]) -> Happening:
    """A follower outside elections that reports checksums of its log."""
    return replace(follows(member, 0, 1, recorded, commit), checksums=checksums)


@pytest.mark.parametrize(
    ("later", "is_broken"),
    [
        ([reports(1, 96, 96)], True),
        ([reports(1, 96, 0), reports(1, 96, 64)], True),
        ([reports(1, 96, 32)], False),
        ([reports(1, 32, 0), reports(1, 96, 96)], False),
        ([Happening(1, "Restart", recorded_position=96), reports(1, 96, 96)], True),
    ],
)
def test_monitor_a_commit_position_that_passes_a_checksum_commits_its_log(
    later: list[Happening], is_broken: bool
) -> None:
    """Nothing else is known of the logs: another step reports the checksum than commits it."""
    story = [reports(1, 64, 0, (64, 5)), *later, reports(2, 64, 64, (64, 6))]
    sequence = sequence_of(story, members=3)
    order = order_causes(sequence, 3, empty=False, complete=[True] * 3)

    found = violations(sequence, order, revision="1.50", unknown=True, complete=[True] * 3)

    assert {each.name for each in found} == ({"StateMachineSafety"} if is_broken else set())


def test_monitor_a_missing_step_parts_a_checksum_from_a_later_commit_position() -> None:
    """The member may have recorded another log in the steps that are missing."""
    story = [reports(1, 64, 0, (64, 5)), reports(1, 96, 96), reports(2, 64, 64, (64, 6))]
    whole = sequence_of(story, members=3)
    sequence = replace(whole, step=whole.step + np.array([0, 7, 0]))
    order = order_causes(sequence, 3, empty=False, complete=[True, False, True])

    found = violations(sequence, order, revision="1.50", unknown=True, complete=[True, False, True])

    assert found == []

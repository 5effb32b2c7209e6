"""Each safety monitor fails on a run that breaks its property, and on no other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from canvass.conformance.causality import order_causes
from canvass.conformance.findings import LOG_STREAM
from canvass.conformance.safety_monitors import PROPERTIES, _row_of_commit, violations
from support.run_arrays import CLOSED, LEADER, StepSketch, arrays_of


@dataclass
class Story:
    """The steps of three members, and the property that they break."""

    name: str
    happenings: list[StepSketch]
    broken: set[str] = field(default_factory=set)
    revision: str = "1.50"


def elected(member: int, term: int, *, at: int = 0) -> list[StepSketch]:
    """A member becomes the leader of a term with a log that ends at a position."""
    return [
        StepSketch(
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


def leads(member: int, term: int, recorded: int, commit: int) -> StepSketch:
    """A leader outside elections has recorded and committed up to somewhere."""
    return StepSketch(
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


def follows(member: int, leader: int, term: int, recorded: int, commit: int = 0) -> StepSketch:
    """A follower outside elections has recorded and processed up to somewhere."""
    return StepSketch(
        member,
        "RecordLog",
        state=CLOSED,
        module_leadership_term_id=term,
        leader_member_id=leader,
        recorded_position=recorded,
        commit_position=commit,
    )


GOOD = [
    StepSketch(2, "Restart"),
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
            StepSketch(2, "OnRequestVote", vote=(7, 0)),
            StepSketch(2, "Restart"),
            StepSketch(2, "OnRequestVote", vote=(7, 1)),
        ],
        {"OneVotePerTerm"},
    ),
    Story(
        "a vote for another after standing",
        [
            StepSketch(2, "Canvass", state="NOMINATE"),
            StepSketch(2, "Nominate", state="CANDIDATE_BALLOT", candidate_term_id=3),
            StepSketch(2, "OnRequestVote", state="FOLLOWER_BALLOT", vote=(3, 1)),
        ],
        {"OneVotePerTerm"},
    ),
    Story(
        "a candidate term forgotten",
        [
            StepSketch(2, "OnRequestVote", persisted_candidate_term_id=4),
            StepSketch(2, "Restart", persisted_candidate_term_id=3),
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
            StepSketch(1, "Terminate", recorded_position=64),
            StepSketch(1, "Restart", recorded_position=64),
        ],
    ),
    Story(
        "a commit beyond the log",
        [*GOOD, follows(1, 0, 1, 64, 96)],
        {"CommitBounded", "AppliedWithinCommitted"},
    ),
    Story(
        "a recording log in disorder",
        [StepSketch(2, "LeaderInit", coherent=False)],
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
        "a leader that lacks the end of the term that is committed",
        [
            *elected(0, 1),
            leads(0, 1, 64, 0),
            *(follows(j, 0, 1, at) for j in (1, 2) for at in (0, 32)),
            follows(1, 0, 1, 64),
            leads(0, 1, 64, 64),
            *elected(2, 2, at=32),
            leads(2, 2, 32, 0),
        ],
        {"LeaderCompleteness"},
    ),
    Story(
        "two leaders of a term write the same entries",
        [
            *elected(0, 1),
            leads(0, 1, 64, 0),
            *(follows(1, 0, 1, at) for at in (0, 64)),
            *elected(1, 1, at=64),
            *(leads(j, 1, 96, commit) for j in (1, 0) for commit in (0, 96)),
        ],
        {"ElectionSafety"},
    ),
    Story(
        "a leader whose log is cut below what is committed",
        [*GOOD, *elected(0, 2, at=64), leads(0, 2, 64, 0), leads(0, 2, 32, 0)],
        {"LeaderCompleteness", "CommittedIsDurable", "CommitMonotonic"},
    ),
    Story(
        "a term consumed beyond the log",
        [
            *GOOD,
            follows(1, 0, 1, 64, 64),
            replace(follows(1, 0, 2, 64, 96), action="OnReplayNewLeadershipTermEvent"),
        ],
        {"CommitBounded", "AppliedWithinCommitted"},
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
        "entries of an older term are committed when the leader that lacks them has ended",
        [
            *elected(2, 1),
            *elected(0, 2),
            leads(0, 2, 0, 0),
            replace(leads(0, 2, 0, 0), action="Terminate", module_state="CLOSED"),
            leads(2, 1, 64, 0),
            follows(1, 2, 1, 0),
            follows(1, 2, 1, 64),
            leads(2, 1, 64, 64),
        ],
    ),
    Story(
        "entries of one term are committed on top of different logs",
        [
            *elected(2, 1),
            leads(2, 1, 64, 0),
            *elected(0, 2),
            leads(0, 2, 64, 0),
            follows(1, 0, 2, 0),
            follows(1, 0, 2, 64),
            *elected(2, 3, at=64),
            leads(2, 3, 96, 0),
            follows(1, 2, 3, 64),
            follows(1, 2, 3, 96),
            leads(2, 3, 96, 96),
            follows(1, 2, 3, 96, 96),
        ],
        {"LogMatching", "StateMachineSafety", "CommittedIsDurable", "LeaderCompleteness"},
    ),
    Story(
        "a leader with entries that were committed second",
        [
            *elected(0, 2),
            leads(0, 2, 64, 0),
            leads(0, 2, 64, 64),
            StepSketch(0, "Restart", recorded_position=64),
            *elected(1, 1),
            leads(1, 1, 96, 0),
            leads(1, 1, 96, 96),
            StepSketch(1, "Restart", recorded_position=96),
            *elected(1, 3, at=96),
            leads(1, 3, 96, 96),
        ],
        {"StateMachineSafety", "CommittedIsDurable", "LeaderCompleteness"},
    ),
    Story(
        "a leader that lacks committed entries of no older term",
        [
            StepSketch(2, "Restart"),
            *elected(1, 2),
            leads(1, 2, 64, 0),
            *elected(1, 0, at=64),
            leads(1, 0, 96, 0),
            *elected(0, 3),
            leads(0, 3, 64, 0),
            leads(0, 3, 64, 64),
            StepSketch(0, "Restart", recorded_position=64),
            *elected(0, 0, at=64),
            leads(0, 0, 96, 0),
            leads(0, 0, 96, 96),
            *elected(1, 3, at=96),
            leads(1, 3, 96, 0),
        ],
        {"ElectionSafety", "LogMatching", "CommittedIsDurable"},
    ),
]


def other_disk(member: int, recorded: int = 0, **values: int) -> StepSketch:
    """A member starts with another disk than it left."""
    return StepSketch(member, "Restart", recorded_position=recorded, **values)  # type: ignore[arg-type]


def elected_again(term: int) -> list[StepSketch]:
    """Member 1 votes for member 2, which becomes the leader of a term with an empty log."""
    vote = StepSketch(1, "OnRequestVote", vote=(term, 2))
    return [vote, StepSketch(2, "OnVote", hears=1, vote=(term, 2)), *elected(2, term)]


def led_by_another() -> list[StepSketch]:
    """Member 2 leads term 2, and commits with member 1."""
    return [
        *elected_again(2),
        leads(2, 2, 0, 0),
        leads(2, 2, 128, 0),
        follows(1, 2, 2, 0),
        follows(1, 2, 2, 128),
        leads(2, 2, 128, 128),
    ]


REPLACED = [
    Story("what no quorum has any more is replaced", led_by_another()),
    Story(
        "its last owner removes it",
        [
            *led_by_another(),
            StepSketch(0, "Restart", recorded_position=64),
            replace(follows(0, 2, 2, 0), hears=2),
            follows(0, 2, 2, 128),
        ],
    ),
    Story("its owner goes on to lead", [leads(0, 1, 96, 64)]),
    Story("its owner commits more, alone", [leads(0, 1, 96, 96)], {"CommittedIsDurable"}),
    Story(
        "the owner of what was committed since removes it",
        [*led_by_another(), follows(1, 2, 2, 128, 128), follows(1, 2, 2, 96, 96)],
        {"CommittedIsDurable", "CommitMonotonic", "NoTruncationBelowCommit"},
    ),
    Story(
        "a candidate term forgotten, and two votes", [StepSketch(1, "OnRequestVote", vote=(7, 2))]
    ),
    Story(
        "two votes since",
        [StepSketch(1, "OnRequestVote", vote=(7, j)) for j in (0, 2)],
        {"OneVotePerTerm"},
    ),
    Story("a second leader of a term in which it voted", elected_again(1)),
    Story("two leaders of a later term", [*elected(2, 8), *elected(1, 8)], {"ElectionSafety"}),
]
"""Steps after a start of member 1 with an empty disk; members 0 and 1 have committed up to 64."""


@pytest.mark.parametrize("story", REPLACED, ids=lambda story: story.name)
def test_monitor_a_member_with_another_disk_is_a_new_one(story: Story) -> None:
    """Only what the members did counts: neither what the disk lacks, nor what follows from it."""
    before = [*GOOD, StepSketch(1, "OnRequestVote", vote=(7, 0), persisted_candidate_term_id=7)]
    before[-1] = replace(before[-1], recorded_position=64)
    happenings = [*before, other_disk(1), *story.happenings]
    step = sum(each.member == 1 for each in before)
    arrays = arrays_of(happenings, members=3)
    complete = [True] * 3
    order = order_causes(arrays, 3, empty=True, complete=complete, replaced=[(1, step)])

    found = violations(arrays, order, revision="1.50", unknown=False, complete=complete)

    assert {each.name for each in found} == story.broken


def test_monitor_what_a_quorum_still_has_must_stay() -> None:
    """The disk of member 1 is replaced; members 0 and 2 have what is committed, until 2 cuts it."""
    before = [*GOOD, follows(2, 0, 1, 0), follows(2, 0, 1, 64, 64)]
    vote = StepSketch(1, "OnRequestVote", vote=(7, 2), persisted_candidate_term_id=7)
    cut = replace(follows(2, 0, 1, 32, 64), hears=1)
    happenings = [*before, other_disk(1), vote, cut]
    arrays = arrays_of(happenings, members=3)
    complete = [True] * 3
    order = order_causes(arrays, 3, empty=True, complete=complete, replaced=[(1, 2)])

    found = violations(arrays, order, revision="1.50", unknown=False, complete=complete)

    broken = {"CommitBounded", "CommittedIsDurable", "NoTruncationBelowCommit"}
    assert {each.name for each in found} == broken


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_monitor_fails_on_what_breaks_its_property(story: Story) -> None:
    arrays = arrays_of(story.happenings, members=3)
    order = order_causes(arrays, 3, empty=True, complete=[True] * 3)

    found = violations(arrays, order, revision=story.revision, unknown=False, complete=[True] * 3)

    assert {each.name for each in found} == story.broken


def test_monitor_every_property_has_a_story() -> None:
    assert set().union(*(story.broken for story in STORIES)) == set(PROPERTIES)


def test_the_properties_are_those_of_the_spec() -> None:
    spec = (Path(__file__).parents[3] / "spec" / "Properties.tla").read_text(encoding="utf-8")

    assert {name for name in PROPERTIES if f"\n{name} ==" not in spec} == {"AppliedWithinCommitted"}


def test_monitor_names_the_first_step_that_breaks_each_property_of_logs_and_the_position() -> None:
    """Each property is broken twice."""
    story = [
        *GOOD,
        follows(1, 0, 1, 64, 64),
        *(follows(1, 0, 1, at, 64) for at in (48, 32)),
        *elected(2, 2),
        leads(2, 2, 0, 0),
        leads(2, 2, 64, 64),
        leads(2, 2, 96, 96),
        *elected(2, 3),
        leads(2, 3, 0, 0),
    ]
    arrays = arrays_of(story, members=3)
    order = order_causes(arrays, 3, empty=True, complete=[True] * 3)

    found = violations(arrays, order, revision="1.50", unknown=False, complete=[True] * 3)

    texts = {(each.name, each.row): each.text for each in found}
    assert (
        texts.items()
        >= {
            (
                "NoTruncationBelowCommit",
                7,
            ): "truncates the log at 48, below its own commit position",
            ("CommittedIsDurable", 7): "no quorum has recorded what is committed up to 64",
            ("LeaderCompleteness", 11): "a leader lacks committed entries of older terms up to 64",
            ("StateMachineSafety", 12): "commits other entries up to 64 than were committed before",
        }.items()
    )


def test_monitor_a_log_that_began_empty_is_known_if_nothing_else_is() -> None:
    story = [*elected(0, 1), leads(0, 1, 64, 64), *elected(2, 2), leads(2, 2, 64, 64)]
    arrays = arrays_of(story, members=3)
    order = order_causes(arrays, 3, empty=False, complete=[True] * 3)

    found = violations(arrays, order, revision="1.50", unknown=True, complete=[True] * 3)

    assert "StateMachineSafety" in {each.name for each in found}


def test_monitor_what_is_not_known_is_not_held_against_anybody() -> None:
    story = [
        follows(1, 0, 3, 128, 64),
        *(
            replace(each, persisted_candidate_term_id=3)
            for each in (
                *elected(0, 2, at=64),
                leads(0, 2, 96, 0),
                *elected(0, 3, at=96),
                leads(0, 3, 128, 64),
            )
        ),
        *(follows(2, 1, 3, at) for at in (64, 128)),
    ]
    arrays = arrays_of(story, members=3)
    complete = [True, False, True]
    order = order_causes(arrays, 3, empty=False, complete=complete)

    found = violations(arrays, order, revision="1.50", unknown=True, complete=complete)

    assert found == []
    assert np.array_equal(np.sort(order.order), np.arange(len(arrays)))


def reports(member: int, recorded: int, commit: int, *checksums: tuple[int, int]) -> StepSketch:
    """A follower outside elections that reports checksums of its log."""
    return replace(follows(member, 0, 1, recorded, commit), checksums=checksums)


def test_monitor_names_the_step_whose_checksum_contradicts_an_equal_log() -> None:
    story = [*GOOD, reports(1, 64, 0, (32, 1)), reports(1, 64, 0, (64, 5)), reports(1, 64, 0)]
    arrays = arrays_of([*story, replace(GOOD[-1], checksums=((64, 6),))], members=3)
    order = order_causes(arrays, 3, empty=True, complete=[True] * 3)

    found = violations(arrays, order, revision="1.50", unknown=False, complete=[True] * 3)

    (broken,) = found
    assert broken.name == LOG_STREAM
    assert (arrays.member[broken.row], arrays.checksums_of[broken.row]) == (0, 1)


@pytest.mark.parametrize(
    ("later", "is_broken"),
    [
        ([reports(1, 96, 96)], True),
        ([reports(1, 96, 0), reports(1, 96, 64)], True),
        ([reports(1, 96, 32)], False),
        ([reports(1, 32, 0), reports(1, 96, 96)], False),
        ([StepSketch(1, "Restart", recorded_position=96), reports(1, 96, 96)], True),
    ],
)
def test_monitor_a_commit_position_that_passes_a_checksum_commits_its_log(
    later: list[StepSketch], is_broken: bool
) -> None:
    """Nothing else is known of the logs: another step reports the checksum than commits it."""
    story = [reports(1, 64, 0, (64, 5)), *later, reports(2, 64, 64, (64, 6))]
    arrays = arrays_of(story, members=3)
    order = order_causes(arrays, 3, empty=False, complete=[True] * 3)

    found = violations(arrays, order, revision="1.50", unknown=True, complete=[True] * 3)

    assert {each.name for each in found} == ({"StateMachineSafety"} if is_broken else set())


def test_monitor_a_missing_step_parts_a_checksum_from_a_later_commit_position() -> None:
    """The member may have recorded another log in the steps that are missing."""
    story = [reports(1, 64, 0, (64, 5)), reports(1, 96, 96), reports(2, 64, 64, (64, 6))]
    whole = arrays_of(story, members=3)
    arrays = replace(whole, step=whole.step + np.array([0, 7, 0]))
    order = order_causes(arrays, 3, empty=False, complete=[True, False, True])

    found = violations(arrays, order, revision="1.50", unknown=True, complete=[True, False, True])

    assert found == []


def test_monitor_a_committed_log_is_remembered_when_an_unknown_log_commits_more() -> None:
    """Steps of a leader are missing, so that the contents of its log are not known any more."""
    other = [*elected(2, 2), leads(2, 2, 0, 0), leads(2, 2, 64, 64)]
    whole = arrays_of([*GOOD, leads(0, 1, 128, 128), *other], members=3)
    missing = np.zeros(len(whole), dtype=np.int64)
    missing[np.flatnonzero(whole.member == 0)[-1]] = 7
    arrays = replace(whole, step=whole.step + missing)
    order = order_causes(arrays, 3, empty=True, complete=[False, True, True])

    found = violations(arrays, order, revision="1.50", unknown=False, complete=[False, True, True])

    assert [(each.name, each.row) for each in found] == [("StateMachineSafety", len(whole) - 1)]


def test_monitor_a_log_is_unknown_after_missing_steps() -> None:
    """The member may have recorded the log of the second leader in the steps that are missing."""
    first = [*elected(0, 1), leads(0, 1, 64, 0), follows(1, 0, 1, 0), follows(1, 0, 1, 64)]
    second = [*elected(2, 2), leads(2, 2, 0, 0), leads(2, 2, 96, 0), leads(2, 2, 96, 64)]
    whole = arrays_of([*first, *second, follows(1, 2, 2, 96, 64)], members=3)
    missing = np.zeros(len(whole), dtype=np.int64)
    missing[np.flatnonzero(whole.member == 1)[-1]] = 7
    arrays = replace(whole, step=whole.step + missing)
    complete = [True, False, True]
    order = order_causes(arrays, 3, empty=True, complete=complete)

    assert not order.found.any()
    assert violations(arrays, order, revision="1.50", unknown=False, complete=complete) == []


@pytest.mark.parametrize("others", [[], [follows(1, 2, 6, 96, 96)]], ids=["one step", "leader"])
def test_monitor_a_member_with_an_unknown_log_lacks_nothing(others: list[StepSketch]) -> None:
    """The entries that another member has committed may be of a later term."""
    arrays = arrays_of([leads(0, 5, 64, 64), *others], members=3)
    order = order_causes(arrays, 3, empty=False, complete=[True] * 3)

    found = violations(arrays, order, revision="1.50", unknown=True, complete=[True] * 3)

    assert found == []


@pytest.mark.parametrize(
    ("term", "start", "end", "is_misread"),
    [
        (1, 0, 32, False),
        (1, 0, 96, True),
        (2, 0, 32, True),
        (None, 0, 32, True),
        (None, 32, 64, False),
        (1, 32, 64, True),
        (None, 32, 96, True),
        (None, 64, 96, True),
        (2, 64, 96, False),
        (1, 64, 96, True),
        (None, 96, 128, False),
        (2, 96, 128, True),
    ],
)
@pytest.mark.parametrize("known", ["all", "second term", "nothing"])
def test_monitor_terms_begin_where_the_log_is_consumed_so(
    term: int | None, start: int, end: int, is_misread: bool, known: str
) -> None:
    """The first term ends at 64; a step consumes entries, or the beginning of a term."""
    before = follows(1, 0, 2, 128, start)
    consumes = replace(
        before,
        action="ConsumeLog" if term is None else "OnReplayNewLeadershipTermEvent",
        module_leadership_term_id=2 if term is None else term,
        commit_position=end,
    )
    first = [*elected(0, 1), leads(0, 1, 64, 0)] if known == "all" else []
    leader = [*first, *elected(0, 2, at=64), leads(0, 2, 64, 0), leads(0, 2, 128, 128)]
    recorded = [follows(1, 0, 1, at) for at in (0, 64)] if known == "all" else []
    recorded += [follows(1, 0, 2, 64)] if known != "nothing" else []
    arrays = arrays_of([*leader, *recorded, before, consumes], members=2)
    empty = known == "all"
    order = order_causes(arrays, 2, empty=empty, complete=[empty, empty])

    found = violations(arrays, order, revision="1.50", unknown=not empty, complete=[empty, empty])

    misread = [(each.row, each.text) for each in found if each.name == LOG_STREAM]
    text = f"consumes the log up to {end} as if a term began at another position"
    is_seen = known == "all" or (
        known == "second term" and (start > 64 or (term == 1 and end > 64))
    )
    expected = is_misread and is_seen
    assert misread == ([(len(arrays) - 1, text)] if expected else [])


def test_the_row_that_commits_a_checksum_is_the_first_before_a_cut_or_a_gap() -> None:
    """Against a reader that goes forward from the row."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        count = int(rng.integers(1, 300))
        commit, recorded = (np.sort(rng.integers(0, 40, count)) for _ in range(2))
        recorded[rng.random(count) < 0.01] = 0
        before = np.where(rng.random(count) < 0.02, -2, np.arange(-1, count - 1))
        row, position = int(rng.integers(count)), int(rng.integers(40))

        def naive(risen: Any, held: Any, previous: Any, at: int, wanted: int) -> int:
            for here in range(at, len(risen)):
                if held[here] < wanted or (here > at and previous[here] < 0):
                    return -1
                if risen[here] >= wanted:
                    return here
            return -1

        arrays: Any = SimpleNamespace(commit_position=commit, recorded_position=recorded)

        found = _row_of_commit(arrays, before, row, position)

        assert found == naive(commit, recorded, before, row, position)

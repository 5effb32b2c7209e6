"""Swim lanes of counterexamples: columns, arrows, and behaviours without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.models import ModelError
from canvass.models.counterexample import Counterexample, counterexample, swim_lanes
from canvass.tlc.output import TraceState
from canvass.tlc.results import Outcome, Violation

ASKED = (
    '[type |-> "RequestVote", logLeadershipTermId |-> 0, logPosition |-> 1, candidateTermId |-> 1,'
    " candidateMemberId |-> 0]"
)


def member(state: str, term: int = -1) -> str:
    return (
        f'[electionState |-> "{state}", role |-> "FOLLOWER", moduleLeadershipTermId |-> 0,'
        f" persistedCandidateTermId |-> {term}, leadershipTermId |-> -1,"
        " logLeadershipTermId |-> -1, commitPosition |-> 0, recordingLog |-> <<>>]"
    )


def state(number: int, action: str | None, first: str, second: str, queue: str) -> TraceState:
    text = (
        f"/\\ member = (0 :> {first} @@ 1 :> {second})\n"
        f"/\\ channel = (0 :> (0 :> <<>> @@ 1 :> {queue}) @@ 1 :> (0 :> <<>> @@ 1 :> <<>>))\n"
        "/\\ log = (0 :> <<0>> @@ 1 :> <<>>)\n"
        "/\\ hist = [committed |-> <<>>]\n"
    )
    return TraceState(number, action, None, None, text)


def counterexample_of(
    *states: TraceState, loop: int | None = None, stuttering: bool = False
) -> Counterexample:
    violation = Violation(Outcome.SAFETY, None, "nothing holds", states, loop, stuttering)
    return counterexample(Path(), Path("MC.tla"), "MC", violation)


def ballot(last: str) -> list[str]:
    canvass, candidate = member("CANVASS"), member("CANDIDATE_BALLOT", 1)
    voted = member("FOLLOWER_BALLOT", 1) if last != "Lose" else canvass
    shown = counterexample_of(
        state(1, None, canvass, canvass, "<<>>"),
        state(2, "TakeCandidateBallot", candidate, canvass, f"<<{ASKED}>>"),
        state(3, last, candidate, voted, "<<>>"),
        loop=1,
    )
    return ["".join(text for text, _ in line) for line in swim_lanes(shown, 80)]


def test_a_step_is_in_the_lane_of_its_member() -> None:
    lines = ballot("TakeOnRequestVote")

    assert lines[:3] == [
        "member 0 starts as CANVASS FOLLOWER, commitPosition 0, log [0], recordingLog []",
        "member 1 starts as CANVASS FOLLOWER, commitPosition 0, log [], recordingLog []",
        "committed at the start: []",
    ]
    assert [line[:40].rstrip() for line in lines[4:9]] == [
        "● 2 CandidateBallot",
        "│   → 1 RequestVote",
        "│   electionState: CANVASS →",
        "│     CANDIDATE_BALLOT",
        "│   persistedCandidateTermId: -1 → 1",
    ]


def test_a_text_without_lanes_begins_in_the_same_way() -> None:
    canvass = member("CANVASS")
    lines = list(counterexample_of(state(1, None, canvass, canvass, "<<>>")).lines(80))

    assert lines[1:6] == [
        "   1  initial state",
        "      member 0 starts as CANVASS FOLLOWER, commitPosition 0, log [0],",
        "          recordingLog []",
        "      member 1 starts as CANVASS FOLLOWER, commitPosition 0, log [],",
        "          recordingLog []",
    ]


def test_the_contents_of_a_message_are_at_its_receipt() -> None:
    lines = ballot("TakeOnRequestVote")
    at = next(place for place, line in enumerate(lines) if "─ RequestVote ─" in line)

    assert (lines[at][0], lines[at][-1]) == ("├", "▶")
    assert lines[at + 1 : at + 4] == [
        "│                                       ✖ 3 OnRequestVote",
        "│                                       │   DIVERGES: nothing holds",
        "│                                       │   ← candidateMemberId=0,",
    ]


def test_a_lost_message_has_no_arrow() -> None:
    lines = ballot("Lose")

    assert any("→ 1 RequestVote, never received" in line for line in lines)
    assert any("│   RequestVote of member 0 is lost" in line for line in lines)
    assert not any("─ RequestVote ─" in line for line in lines)


def test_the_end_names_the_violation_and_the_step_to_which_a_lasso_returns() -> None:
    assert ballot("Lose")[-2:] == ["and so on for ever from step 2", "nothing holds"]


def test_a_behaviour_without_a_cluster_has_no_lanes() -> None:
    other = counterexample_of(TraceState(1, None, None, None, "/\\ x = 1\n"))

    with pytest.raises(ModelError, match=r"only models of Cluster\.tla have swim lanes"):
        list(swim_lanes(other, 80))


def test_messages_under_way_at_the_start_are_listed() -> None:
    canvass = member("CANVASS")
    shown = counterexample_of(state(1, None, canvass, canvass, f"<<{ASKED}, {ASKED}>>"))
    lines = ["".join(text for text, _ in line) for line in swim_lanes(shown, 80)]

    assert lines[3] == "under way at the start from member 0 to member 1: RequestVote, RequestVote"

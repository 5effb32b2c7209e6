"""Rules for the reduced form of steps from the start of an election to its ballot."""

from __future__ import annotations

from canvass.cluster.member import ElectionState, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.predicates import (
    BALLOT_OPEN,
    is_quorum_candidate,
    is_quorum_leader,
    is_unanimous_candidate,
    is_unanimous_leader,
)
from canvass.steps.draft import (
    ENTER_CANVASS,
    ENTER_INIT,
    POSITION,
    SELF,
    VOTE,
    Draft,
    canvassing,
    must,
    new_election,
    newer,
)
from canvass.traces.layout import MEMBER_COLUMNS


def enter_election(draft: Draft) -> None:
    """Start an election: nearly all is overwritten."""
    draft.at(ElectionState.CLOSED)
    new_election(draft, "" if draft.input["graceful_closed_leader_id"] < 0 else "leader_member_id")


def election_init(draft: Draft) -> None:
    """Begin to canvass after an error."""
    draft.terms_by_order = True
    draft.at(ElectionState.INIT)
    draft.fields(
        "recorded_position persisted_candidate_term_id leadership_term_id",
        f"{ENTER_CANVASS} publication_position log_subscription catchup_destination"
        " append_position notified_commit_position candidate_term_id",
    )
    draft.records("", " ".join(MEMBER_COLUMNS))
    draft.log()


def election_error(draft: Draft) -> None:
    """Give up the election and forget its results."""
    must(draft.state not in (ElectionState.CLOSED, ElectionState.INIT))
    must(draft.input["position"] == NULL_VALUE)
    draft.given()
    draft.fields("", ENTER_INIT)
    draft.records("", f"{POSITION} {VOTE}")
    draft.log()


def canvass(draft: Draft) -> None:
    """Canvass: keep whether the reports make the member a candidate, not the reports."""
    draft.at(ElectionState.CANVASS)
    rules, s = draft.rules, draft.step.before
    is_candidate = is_unanimous_candidate(rules, SELF, s) or (
        draft.input["timeout"] and is_quorum_candidate(rules, SELF, s)
    )
    read = "log_leadership_term_id append_position leadership_term_id"
    draft.fields(read if draft.input["interval"] else "")
    draft.records()
    draft.log()
    draft.given("interval")
    for each in (draft.records_before, draft.records_after):
        for member, record in enumerate(each):
            if is_candidate or member == SELF:
                record["log_position"] = 0


def nominate(draft: Draft) -> None:
    """Wait, or open a ballot in the next candidate term."""
    draft.at(ElectionState.NOMINATE)
    if draft.input["timeout"]:
        terms = "candidate_term_id persisted_candidate_term_id"
        draft.fields(terms, terms)
        draft.records("", VOTE)
        draft.given("timeout")
    else:
        read = "log_leadership_term_id append_position leadership_term_id"
        draft.fields(read if draft.input["interval"] else "")
        draft.records()
    draft.log()


def candidate_ballot(draft: Draft) -> None:
    """Ask for votes: keep whether the votes win, not the votes."""
    draft.terms_by_order = True
    draft.at(ElectionState.CANDIDATE_BALLOT)
    rules, s, timeout = draft.rules, draft.step.before, draft.input["timeout"]
    term = s.candidate_term_id
    must(term >= 0)
    wins = is_unanimous_leader(rules, s) or (timeout and is_quorum_leader(rules, s))
    if wins:
        draft.fields(
            "candidate_term_id append_position",
            "leader_member_id leadership_term_id publication_position",
        )
        draft.records()
        draft.log()
        draft.given()
        for each in (draft.records_before, draft.records_after):
            for record in each:
                record["candidate_term_id"], record["vote"] = term, 1
    elif timeout:
        canvassing(draft, "candidate_term_id")
        draft.given("timeout")
    else:
        accepted = {j for j in draft.input["accepted"] if not s.members[j].ballot_sent}
        read = "log_leadership_term_id append_position" if accepted else ""
        draft.fields(f"candidate_term_id {read}")
        draft.records("ballot_sent", "ballot_sent")
        draft.log()
        draft.input["accepted"] = frozenset(accepted)


def follower_ballot(draft: Draft) -> None:
    """Wait for the result of a ballot."""
    draft.terms_by_order = True
    draft.at(ElectionState.FOLLOWER_BALLOT)
    if draft.input["timeout"]:
        canvassing(draft)
    else:
        draft.fields()
        draft.records()
        draft.log()


def on_request_vote(draft: Draft) -> None:
    """Answer a ballot request: keep which of the two logs is longer."""
    s, m = draft.before, draft.message
    state = draft.state
    draft.terms_by_order = True
    must(m["candidate_member_id"] != SELF)
    if state is ElectionState.CLOSED:
        if not newer(draft, "candidate_term_id"):
            draft.nothing()
        return
    if state is ElectionState.INIT:
        draft.nothing()
        return
    own = (s["log_leadership_term_id"], s["append_position"])
    terms = "candidate_term_id persisted_candidate_term_id"
    logs = "log_leadership_term_id append_position"
    longer = own > (m["log_leadership_term_id"], m["log_position"])
    if m["candidate_term_id"] <= s["candidate_term_id"]:
        draft.fields(f"candidate_term_id {logs}")
        draft.records()
        draft.log()
        draft.given("", "candidate_term_id")
        _log_apart(draft)
        return
    if longer:
        must(s["role"] is not Role.LEADER and own[1] >= 0)
        draft.fields(f"{terms} {logs}", terms)
        draft.records()
        draft.log()
        draft.given("", terms)
        m["log_leadership_term_id"], m["log_position"] = s["log_leadership_term_id"], NULL_VALUE
    elif state in BALLOT_OPEN:
        draft.fields(f"{terms} {logs}", terms)
        draft.records("", f"{POSITION} {VOTE}")
        draft.log()
        draft.given("", terms)
        m["log_leadership_term_id"], m["log_position"] = own
    else:
        draft.nothing()
        m["candidate_term_id"] = 0
        return
    _log_apart(draft)


def _log_apart(draft: Draft) -> None:
    """Put the term that the own log ends with apart from the terms of candidates."""
    name = "log_leadership_term_id"
    cells = [(draft.before, name), (draft.after, name), (draft.message, name)]
    draft.apart([*cells, *((values, name) for _, _, values in draft.sends if name in values)])


def on_vote(draft: Draft) -> None:
    """Note a vote in the own ballot, and where the log of the voter ends."""
    draft.terms_by_order = True
    s, m = draft.before, draft.message
    voter = m["follower_member_id"]
    ours = m["candidate_member_id"] == SELF and m["candidate_term_id"] == s["candidate_term_id"]
    if draft.state is not ElectionState.CANDIDATE_BALLOT:
        draft.nothing()
        return
    must(ours)
    draft.fields("candidate_term_id")
    draft.one_record(voter, f"{POSITION} candidate_term_id vote")
    draft.log()
    noted = draft.records_after[voter]
    draft.apart([(m, "log_leadership_term_id"), (noted, "leadership_term_id")])

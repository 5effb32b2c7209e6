"""Rules for the reduced form of steps of a member that follows a leader."""

from __future__ import annotations

from typing import Final

from canvass.cluster.member import ElectionState, Role, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.steps.draft import (
    ENTER_INIT,
    LARGE,
    POSITION,
    REPLICATION,
    SELF,
    VOTE,
    Cells,
    Draft,
    canvassing,
    must,
    newer,
)


def on_new_leadership_term(draft: Draft) -> None:
    """Ignore a leader, or follow it: keep the fields that are compared with the own log."""
    s, m = draft.before, draft.message
    state, leader = draft.state, m["leader_member_id"]
    must(leader != SELF)
    if state is ElectionState.CLOSED:
        _notice_leader(draft, leader)
        return
    must(s["graceful_closed_leader_id"] != leader)
    ballot = state in (ElectionState.FOLLOWER_BALLOT, ElectionState.CANDIDATE_BALLOT)
    same_ballot = ballot and m["leadership_term_id"] == s["candidate_term_id"]
    if state is not ElectionState.CANVASS and not same_ballot:
        draft.nothing()
        m["leadership_term_id"] = 0
        return
    if m["log_leadership_term_id"] != s["log_leadership_term_id"]:
        must(m["leadership_term_id"] >= 0)
        if ballot:
            canvassing(draft, "log_leadership_term_id candidate_term_id")
        else:
            draft.fields("log_leadership_term_id")
            draft.records()
            draft.log()
        draft.given("", "leadership_term_id")
        s["log_leadership_term_id"] = draft.after["log_leadership_term_id"] = NULL_VALUE
        m["log_leadership_term_id"] = 0
        if not ballot:
            m["leadership_term_id"] = NULL_VALUE
        return
    if NULL_VALUE < m["next_term_base_log_position"] < s["append_position"]:
        _truncate(draft, ballot=ballot)
    else:
        _follow(draft)


def _notice_leader(draft: Draft, leader: int) -> None:
    """Take note of a leader outside elections."""
    s, m = draft.before, draft.message
    same = m["leadership_term_id"] == s["module_leadership_term_id"]
    if s["role"] is Role.FOLLOWER and same and leader == s["leader_member_id"]:
        noted = "module_notified_commit_position"
        draft.fields(f"module_leadership_term_id leader_member_id {noted}", noted)
        draft.records()
        draft.log()
        read = "log_position" if draft.is_149 else "commit_position"
        draft.given("", f"leadership_term_id {read}")
    elif not newer(draft, "leadership_term_id"):
        draft.nothing()


_FOLLOWED: Final = (
    "leader_member_id leadership_term_id candidate_term_id catchup_join_position"
    " notified_commit_position"
)


_NEXT_TERM: Final = (
    "next_leadership_term_id",
    "next_term_base_log_position",
    "next_log_position",
    "term_base_log_position",
)


def _follow(draft: Draft) -> None:
    """Follow a leader whose message is about the term that the own log ends with."""
    s, m, after = draft.before, draft.message, draft.after
    own, base = s["append_position"], m["next_term_base_log_position"]
    log_terms = [(cells, "log_leadership_term_id") for cells in (s, after, m)]
    must(own >= 0 and (base == NULL_VALUE or base >= own))
    draft.terms_by_order = True
    ends = [(s, "append_position"), (after, "append_position")]
    joins = own >= m["term_base_log_position"]
    draft.fields(
        "candidate_term_id notified_commit_position append_position log_leadership_term_id",
        _FOLLOWED if joins else f"{_FOLLOWED} {REPLICATION}",
    )
    draft.records("", f"{POSITION} {VOTE}")
    draft.log()
    if joins:
        draft.same(*log_terms)
        for name in _NEXT_TERM:
            m[name] = NULL_VALUE
        draft.put(0, *log_terms, *ends)
    else:
        _replicate_older_terms(draft, log_terms, ends)
    # The end of the leader's log counts only if it is beyond the end of the own log.
    if own < m["log_position"]:
        draft.same((m, "log_position"), (after, "catchup_join_position"))
        draft.put(LARGE * 9, (m, "log_position"), (after, "catchup_join_position"))
    else:
        m["log_position"] = NULL_VALUE
    name = "notified_commit_position"
    draft.apart([(s, name), (after, name), (m, "commit_position")])


def _replicate_older_terms(
    draft: Draft, log_terms: list[tuple[Cells, str]], ends: list[tuple[Cells, str]]
) -> None:
    """Begin to copy a term: keep the term and its first and last position."""
    m, after = draft.message, draft.after
    own, base = draft.before["append_position"], m["next_term_base_log_position"]
    must(NULL_VALUE not in (m["next_leadership_term_id"], base))
    must(own < base or m["next_log_position"] != NULL_VALUE)
    stops = [(after, "replication_stop_position")]
    next_terms = [(m, "next_leadership_term_id")]
    if own < base:
        stops.append((m, "next_term_base_log_position"))
        log_terms.append((after, "replication_leadership_term_id"))
        m["next_log_position"] = NULL_VALUE
    else:
        stops.append((m, "next_log_position"))
        ends.append((after, "replication_term_base_log_position"))
        ends.append((m, "next_term_base_log_position"))
        next_terms.append((after, "replication_leadership_term_id"))
    for cells in (stops, ends, log_terms, next_terms):
        draft.same(*cells)
    draft.put(LARGE * 8, *stops)
    draft.put(0, *ends, *log_terms, *next_terms)
    m["term_base_log_position"] = LARGE * 10


def _truncate(draft: Draft, *, ballot: bool) -> None:
    """Truncate the log where the leader's next term begins."""
    s, m, after = draft.before, draft.message, draft.after
    term, base = s["log_leadership_term_id"], m["next_term_base_log_position"]
    draft.terms_by_order = True
    ends = "recorded_position" if draft.is_149 else "recorded_position append_position"
    voted = "candidate_term_id" if ballot else ""
    draft.fields(f"log_leadership_term_id append_position {voted}", f"{ENTER_INIT} {ends}")
    draft.records("", f"{POSITION} {VOTE}")
    others = [
        [entry for entry in log if entry.leadership_term_id != term]
        for log in (draft.log_before, draft.log_after)
    ]
    must(others[0] == others[1] and base >= 0)
    draft.log_before, draft.log_after = (
        tuple(entry for entry in log if entry.leadership_term_id == term)
        for log in (draft.log_before, draft.log_after)
    )
    draft.given("", f"log_leadership_term_id {voted} next_term_base_log_position")
    if ballot:
        m["leadership_term_id"] = s["candidate_term_id"]
    s["append_position"] = LARGE
    if draft.is_149:
        after["append_position"] = LARGE


def on_commit_position(draft: Draft) -> None:
    """Note a commit position if it comes from the own leader."""
    draft.terms_by_order = True
    s, m = draft.before, draft.message
    state, leader = draft.state, m["leader_member_id"]
    ours = leader == s["leader_member_id"]
    must(leader != SELF)
    if state is ElectionState.CLOSED:
        same = m["leadership_term_id"] == s["module_leadership_term_id"]
        if newer(draft, "leadership_term_id"):
            return
        if not (ours and same and s["role"] is Role.FOLLOWER):
            draft.nothing()
            return
        noted, term = "module_notified_commit_position", "module_leadership_term_id"
        draft.fields(f"{term} leader_member_id {'' if draft.is_149 else noted}", noted)
    else:
        must(state is not ElectionState.LEADER_READY or ours)
        copies = state is ElectionState.FOLLOWER_LOG_REPLICATION
        catches_up = (
            state is ElectionState.FOLLOWER_CATCHUP
            and m["leadership_term_id"] == s["leadership_term_id"]
        )
        ignored = draft.is_149 and not copies and not catches_up
        if not ours or state is ElectionState.INIT or ignored:
            draft.nothing()
            return
        noted, term = "notified_commit_position", "leadership_term_id"
        draft.fields(f"{term} leader_member_id {noted}", noted)
    draft.records()
    draft.log()
    draft.put(0, (m, "leadership_term_id"), (s, term), (draft.after, term))


def follower_ready(draft: Draft) -> None:
    """Close the election: its results are taken over or dropped."""
    draft.terms_by_order = True
    draft.at(ElectionState.FOLLOWER_READY)
    must(draft.before["role"] is not Role.LEADER)
    noted = "module_notified_commit_position"
    draft.fields(
        f"leader_member_id leadership_term_id commit_position {'' if draft.is_149 else noted}",
        f"module_leadership_term_id {noted} log_leadership_term_id leadership_term_id"
        " candidate_term_id append_position notified_commit_position catchup_join_position"
        " graceful_closed_leader_id",
    )
    draft.records()
    draft.log()


def follower_log_replication(draft: Draft) -> None:
    """Copy an older term from the leader's archive."""
    draft.at(ElectionState.FOLLOWER_LOG_REPLICATION)
    s, x, after = draft.before, draft.input, draft.after
    copied, stop = s["recorded_position"], s["replication_stop_position"]
    waits = s["log_replication"] and copied == stop and x["position"] == copied
    must(waits or x["position"] == NULL_VALUE)
    name = "replication_stop_position"
    if not s["log_replication"]:
        must(s["append_position"] < stop)
        draft.fields("", "log_replication")
        draft.records()
        draft.log()
        draft.given()
        draft.put(LARGE, (s, name), (after, name))
        return
    reported = copied if x["interval"] else s["append_position"]
    reads = "leadership_term_id leader_member_id" if x["interval"] else ""
    notified = "notified_commit_position"
    if waits or copied != stop or s[notified] < reported:
        # The member waits for more to be copied or committed, or for the archive.
        x["position"] = NULL_VALUE
        reads += " recorded_position" if x["interval"] else ""
        draft.fields(f"log_replication {reads}", "append_position" if x["interval"] else "")
        draft.records()
        draft.log()
        draft.put(LARGE, (s, name), (after, name))
        return
    must(bool(draft.log_before))
    canvassing(
        draft,
        f"leader_member_id log_replication recorded_position {REPLICATION} {reads}",
        f"append_position log_leadership_term_id {notified if draft.is_149 else ''}",
        log=True,
    )
    s["append_position"] = NULL_VALUE
    if draft.is_149:
        s[notified] = LARGE
    else:
        draft.put(LARGE, (s, notified), (after, notified))


def on_replay_new_leadership_term_event(draft: Draft) -> None:
    """Consume the first entry of a term, and open the term."""
    s, x, after = draft.before, draft.input, draft.after
    state, term = draft.state, x["leadership_term_id"]
    must(state in (ElectionState.FOLLOWER_REPLAY, ElectionState.FOLLOWER_CATCHUP))
    must(bool(draft.log_before) and term >= 0)
    replays = state is ElectionState.FOLLOWER_REPLAY
    bounds = (
        ["replay_stop_position"] if replays else ["notified_commit_position", "recorded_position"]
    )
    bound = min(s[name] for name in bounds)
    must(s["commit_position"] == x["term_base_log_position"] < x["position"] <= bound)
    last = draft.log_before[-1].leadership_term_id
    draft.fields(
        f"commit_position {' '.join(bounds)}",
        "commit_position module_leadership_term_id log_leadership_term_id",
    )
    draft.records()
    if last >= term:
        draft.log(last)
        entry = TermEntry(LARGE, 0, NULL_VALUE)
        draft.log_before = draft.log_after = (entry,)
        draft.terms_by_order = True
    elif draft.log_before[:-1] == draft.log_after[: len(draft.log_before) - 1]:
        draft.log_after = draft.log_after[len(draft.log_before) - 1 :]
        draft.log_before = draft.log_before[-1:]
        draft.terms_by_order = True
    for name in bounds:
        draft.put(LARGE, (s, name), (after, name))

"""Rules for the reduced form of steps of a leader: the quorum position counts, not each report."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from canvass.cluster.member import ElectionState, Role, TermEntry
from canvass.cluster.messages import NULL_VALUE, CommitPosition, NewLeadershipTerm
from canvass.cluster.predicates import (
    BALLOT_OPEN,
    RECORDS_READ,
    has_quorum_at_position,
    has_voters_at_position,
)
from canvass.cluster.quorum import quorum_position, quorum_size
from canvass.steps.canonical import LEADER_STATES
from canvass.steps.draft import LARGE, POSITION, SELF, VOTE, Cells, Draft, must


def _counted(draft: Draft, own: int | None, active: Iterable[int], bound: int | None) -> int:
    """Give the quorum position of the records before, with the own position if it is renewed."""
    positions = [record["log_position"] for record in draft.records_before]
    if own is not None:
        positions[SELF] = own
    members = range(draft.count) if draft.is_149 else active
    found = quorum_position((positions[member] for member in members), draft.count)
    return found if bound is None else min(found, bound)


def _reach(draft: Draft, position: int, *, own: bool, but: int = NULL_VALUE) -> None:
    """Give all peers one position in the records; with ``own`` the member, too."""
    for member in range(draft.count):
        if member != but and (own or member != SELF):
            draft.records_before[member]["log_position"] = position
            draft.records_after[member]["log_position"] = position


def _announced(draft: Draft, log_term: int, announces: bool) -> str:
    """Keep of the recording log the entry for an announcement of the term after ``log_term``."""
    draft.log(*([log_term + 1] if announces else []))
    return "log_leadership_term_id" if announces else ""


def _announcements_apart(
    draft: Draft, quorum: int, log_term: int, *, compared: bool = False
) -> None:
    """Put the numbers of a leader's announcements apart: they are read, hardly compared.

    With ``compared`` it matters whether a quorum has reached the end of the own log.
    """
    s, after, last = draft.before, draft.after, "log_position"
    own = s["append_position"]
    must(own >= 0)
    entry = draft.log_before[0] if draft.log_before else None
    implied = entry is not None and entry.leadership_term_id != log_term + 1
    ends = [(s, "append_position"), (after, "append_position")]
    quorums: list[tuple[Cells, str]] = []
    bases: list[tuple[Cells, str]] = []
    stops: list[tuple[Cells, str]] = []
    for sent in draft.sends_of(NewLeadershipTerm):
        ends += [(sent, last), (sent, "term_base_log_position")]
        if not draft.is_149:
            quorums.append((sent, "commit_position"))
        (ends if entry is None else bases).append((sent, "next_term_base_log_position"))
        if entry is not None:
            goes_on = not implied and entry.log_position == NULL_VALUE
            (ends if goes_on else bases if implied else stops).append((sent, "next_log_position"))
    quorums += [(sent, last) for sent in draft.sends_of(CommitPosition)]
    must({draft.same(*ends), own} == {own})
    must({quorum, *(cells[name] for cells, name in quorums)} == {quorum})
    for records in (draft.records_before, draft.records_after):
        quorums += [(record, last) for record in records if record[last] == quorum]
    if entry is not None:
        base, stop = entry.term_base_log_position, entry.log_position
        must({base, *(cells[name] for cells, name in bases)} == {base})
        must({stop, *(cells[name] for cells, name in stops)} == {stop})
        base, stop = (LARGE if base > 0 else base), (2 * LARGE if stop > 0 else stop)
        draft.put(base, *bases)
        draft.put(stop, *stops)
        draft.log_before = draft.log_after = (TermEntry(entry.leadership_term_id, base, stop),)
    if compared and quorum >= own:
        draft.put((4 + (quorum > own)) * LARGE, *quorums)
    elif quorum > 0:
        draft.put(3 * LARGE, *quorums)
    draft.put(4 * LARGE, *ends)


def leader_log_replication(draft: Draft) -> None:
    """Wait for a quorum: keep the quorum position, not the reports."""
    draft.at(ElectionState.LEADER_LOG_REPLICATION)
    s, x = draft.before, draft.input
    own = s["append_position"]
    quorum = _counted(draft, own, x["active"] | {SELF}, None if draft.is_149 else own)
    announces = x["interval"]
    term = _announced(draft, s["log_leadership_term_id"], announces)
    if announces or x["commit_interval"]:
        term += " leadership_term_id"
    if draft.is_149 and x["commit_interval"]:
        term += " module_leadership_term_id"
    draft.fields(f"append_position {term}")
    draft.one_record(SELF, "log_position")
    x["active"] = frozenset(range(draft.count))
    renewed = draft.records_after[SELF]
    draft.same((s, "append_position"), (renewed, "log_position"))
    _reach(draft, quorum, own=False)
    renewed["log_position"] = NULL_VALUE
    _announcements_apart(draft, quorum, s["log_leadership_term_id"], compared=True)
    renewed["log_position"] = s["append_position"]


def update_leader_position(draft: Draft) -> None:
    """Commit up to the quorum position."""
    draft.terms_by_order = True
    s, x = draft.before, draft.input
    must(draft.state is ElectionState.CLOSED and s["role"] is Role.LEADER)
    own = s["recorded_position"]
    quorum = _counted(draft, own if draft.is_149 else None, x["active"], own)
    must(quorum >= 0)
    due = quorum > s["commit_position"] or x["commit_interval"]
    term = "module_leadership_term_id" if due else ""
    draft.fields(f"recorded_position commit_position {term}", "commit_position")
    draft.one_record(SELF, "log_position")
    draft.log()
    cells = (
        (draft.before, "recorded_position"),
        (draft.after, "recorded_position"),
        (draft.records_after[SELF], "log_position"),
    )
    draft.same(*cells)
    _reach(draft, quorum, own=False)
    draft.records_before[SELF]["log_position"] = quorum
    draft.put(LARGE, *cells)
    x["active"] = frozenset(range(draft.count))


def leader_replay(draft: Draft) -> None:
    """Replay the own log, and announce the new term."""
    draft.at(ElectionState.LEADER_REPLAY)
    s, x = draft.before, draft.input
    own = s["append_position"]
    starts = s["replay_stop_position"] == NULL_VALUE
    announces = x["interval"] or s["commit_position"] >= own
    publishes = announces or x["commit_interval"]
    forgets = starts and draft.is_149
    quorum = 0
    if publishes and not forgets:
        active = x["active"] | {SELF} if starts else x["active"]
        quorum = _counted(draft, own if starts else None, active, None if draft.is_149 else own)
    term = _announced(draft, s["log_leadership_term_id"], announces)
    if starts or publishes:
        term += " leadership_term_id"
    if draft.is_149 and x["commit_interval"]:
        term += " module_leadership_term_id"
    draft.fields(
        f"append_position commit_position replay_stop_position {term}", "replay_stop_position"
    )
    for member in range(draft.count):
        if starts and member == SELF:
            draft.record(member, "", POSITION)
        else:
            draft.record(member, "", "log_position" if forgets else "")
    x["active"] = frozenset(range(draft.count))
    if not forgets:
        _reach(draft, quorum, own=not starts)
    _replay_apart(draft, quorum, starts=starts)


def _replay_apart(draft: Draft, quorum: int, *, starts: bool) -> None:
    """Keep whether a leader's replay starts and whether it is done."""
    s, after, own_record = draft.before, draft.after, draft.records_after[SELF]
    own = s["append_position"]
    done = s["commit_position"] >= own
    stop = "replay_stop_position"
    follows: list[tuple[Cells, str]] = []
    if starts:
        follows.append((own_record, "log_position"))
        if not done:
            follows.append((after, stop))
        draft.same((s, "append_position"), *follows)
        draft.put(NULL_VALUE, *follows)
    else:
        draft.put(0, (s, stop))
        if not done:
            must(after[stop] != NULL_VALUE)
            must(after[stop] == draft.step.before.replay_stop_position)
            after[stop] = 0
    _announcements_apart(draft, quorum, s["log_leadership_term_id"])
    draft.put(s["append_position"], *follows)
    commit = 9 * LARGE if done else NULL_VALUE
    draft.put(commit, (s, "commit_position"), (after, "commit_position"))


def _is_ready(draft: Draft) -> bool:
    """Whether enough members are at the leader's position in its term."""
    rules, s, x = draft.rules, draft.step.before, draft.step.input
    own, term = s.append_position, s.leadership_term_id
    noted = replace(s, members=(replace(s.members[SELF], log_position=own), *s.members[1:]))
    ready = has_quorum_at_position(rules, noted, term, own, x.active | {SELF})
    if draft.is_149:
        return has_voters_at_position(noted, term, own) or (x.timeout and ready)
    return ready


def leader_ready(draft: Draft) -> None:
    """Wait for a quorum in the new term: keep whether there is one, not the reports."""
    draft.at(ElectionState.LEADER_READY)
    s, x = draft.before, draft.input
    own, term = s["append_position"], s["leadership_term_id"]
    must(own >= 0 and term >= 0 and s["role"] is Role.LEADER)
    quorum = _counted(draft, own if draft.is_149 else None, x["active"], own)
    ready = _is_ready(draft)
    opens = ready and x["position"] > s["publication_position"]
    must(opens or x["position"] == NULL_VALUE)
    reads = "append_position commit_position publication_position leadership_term_id"
    if not draft.is_149 or x["commit_interval"] or quorum > s["commit_position"]:
        reads += " module_leadership_term_id"
    reads += " " + _announced(draft, s["log_leadership_term_id"], x["interval"])
    writes = "commit_position"
    if opens:
        writes += (
            " publication_position module_leadership_term_id module_notified_commit_position"
            " log_leadership_term_id leadership_term_id candidate_term_id append_position"
            " notified_commit_position catchup_join_position graceful_closed_leader_id"
        )
        reads += " module_notified_commit_position"
    draft.fields(reads, writes)
    votes = VOTE if opens else ""
    for member in range(draft.count):
        draft.record(member, "", f"log_position {votes}" if member == SELF else votes)
    x["active"] = frozenset(range(draft.count))
    x["timeout"] = False
    before, after = draft.records_before, draft.records_after
    _reach(draft, quorum, own=False)
    before[SELF]["log_position"] = quorum
    if draft.is_149:
        # A vote of a member that has not reached the term keeps the leader waiting.
        if not ready:
            for member in range(draft.count):
                before[member]["vote"] = 1
                after[member]["vote"] = NULL_VALUE if opens else 1
    elif ready:
        enough = quorum_size(draft.count)
        for member in range(draft.count):
            if member < enough:
                before[member]["leadership_term_id"] = after[member]["leadership_term_id"] = term
            if 0 < member < enough:
                before[member]["log_position"] = after[member]["log_position"] = own


def on_canvass_position(draft: Draft) -> None:
    """Note the end of a member's log; a leader answers."""
    s, m = draft.before, draft.message
    sender = m["follower_member_id"]
    state, leads = draft.state, s["role"] is Role.LEADER
    must(sender != SELF)
    if state is ElectionState.CLOSED:
        if leads and m["log_leadership_term_id"] <= s["module_leadership_term_id"]:
            _answer_as_leader(draft, sender)
        else:
            draft.nothing()
            m["log_leadership_term_id"] = 0
        return
    if state is ElectionState.INIT:
        draft.nothing()
        return
    forgets = s["graceful_closed_leader_id"] == sender
    gracefully = "graceful_closed_leader_id" if forgets else ""
    if leads and m["log_leadership_term_id"] < s["leadership_term_id"]:
        must(state in RECORDS_READ and state not in BALLOT_OPEN)
        positions = [record["log_position"] for record in draft.records_before]
        positions[sender] = m["log_position"]
        members = range(draft.count) if draft.is_149 else draft.input["active"] | {sender}
        quorum = quorum_position((positions[member] for member in members), draft.count)
        if not draft.is_149:
            quorum = min(quorum, s["append_position"])
        draft.log(m["log_leadership_term_id"] + 1)
        draft.fields(f"append_position leadership_term_id {gracefully}", gracefully)
        draft.one_record(sender, POSITION)
        draft.input["active"] = frozenset() if draft.is_149 else frozenset(range(draft.count))
        _reach(draft, quorum, own=True, but=sender)
        noted = draft.records_after[sender]
        log_term = m["log_leadership_term_id"]
        position = draft.same((m, "log_position"), (noted, "log_position"))
        noted["log_position"] = NULL_VALUE
        _announcements_apart(draft, quorum, log_term)
        draft.put(min(position, 1), (m, "log_position"), (noted, "log_position"))
        return
    must(not leads and state not in LEADER_STATES)
    draft.fields(gracefully, gracefully)
    noted = state in RECORDS_READ
    draft.one_record(sender, POSITION if noted else "")
    draft.log()
    draft.given("", "log_leadership_term_id log_position" if noted else "")


def _answer_as_leader(draft: Draft, sender: int) -> None:
    """Answer a member that canvasses, outside elections: numbers are read, not compared."""
    s, m = draft.before, draft.message
    own, asked = s["module_leadership_term_id"], m["log_leadership_term_id"]
    known = [asked + 1] if asked < own else []
    draft.log(own, *known)
    draft.fields("module_leadership_term_id publication_position commit_position")
    draft.one_record(sender, "catchup_replay" if draft.is_149 else f"{POSITION} catchup_replay")
    answers = draft.sends_of(NewLeadershipTerm)
    must(len(answers) == len(draft.sends) == 1)
    sent = answers[0]
    draft.given("", "log_leadership_term_id log_position")
    noted = draft.records_after[sender]
    groups = [
        [
            (s, "publication_position"),
            (draft.after, "publication_position"),
            (sent, "log_position"),
        ],
        [(m, "log_position"), (noted, "log_position")],
    ]
    if not draft.is_149:
        commits = [(s, "commit_position"), (draft.after, "commit_position")]
        groups.append([*commits, (sent, "commit_position")])
    else:
        draft.fields("module_leadership_term_id publication_position")
    draft.apart(*groups)


def on_append_position(draft: Draft) -> None:
    """Note the recorded position of a follower, and whether it has caught up."""
    draft.terms_by_order = True
    s, m = draft.before, draft.message
    sender, state = m["follower_member_id"], draft.state
    must(sender != SELF)
    closed = state is ElectionState.CLOSED
    current = "module_leadership_term_id" if closed else "leadership_term_id"
    ignored = state is ElectionState.INIT or m["leadership_term_id"] > s[current]
    leads = s["role"] is Role.LEADER
    if ignored or (closed and not leads):
        must(closed or state is ElectionState.INIT)
        draft.nothing()
        if closed and leads:
            m["leadership_term_id"] = 0
        return
    record = draft.records_before[sender]
    catches_up = record["catchup_replay"] or m["flags"] == 1
    caught = catches_up and m["log_position"] >= s["publication_position"]
    noted = "log_position" if closed and draft.is_149 else POSITION
    if not closed and state not in RECORDS_READ:
        noted = ""
    draft.fields(f"{current} publication_position")
    draft.one_record(sender, f"{noted} catchup_replay" if caught else noted)
    draft.log()
    m["flags"] = int(caught)
    draft.put(m["leadership_term_id"], (s, current), (draft.after, current))
    name = "publication_position"
    draft.put(NULL_VALUE if caught else LARGE, (s, name), (draft.after, name))

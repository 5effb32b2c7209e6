"""Edits that break a rule of following, of the log, or of the order of effects."""

from __future__ import annotations

from typing import Final

from canvass.selftest.mutation import Mutant

_ELECTION: Final = "election"
_LEADER: Final = "election_leader"
_FOLLOWER: Final = "election_follower"
_MESSAGES: Final = "election_messages"
_TERM: Final = "new_leadership_term"

LOG_EDITS: Final = (
    # Following.
    Mutant(
        "follow_a_leader_of_another_ballot",
        _TERM,
        "        and m.leadership_term_id == s.candidate_term_id\n",
        "        and m.leadership_term_id >= s.candidate_term_id\n",
    ),
    Mutant(
        "follow_whatever_the_log_term",
        _TERM,
        "return m.log_leadership_term_id != s.log_leadership_term_id",
        "return m.log_leadership_term_id > s.log_leadership_term_id",
    ),
    Mutant(
        "follow_from_nomination",
        _TERM,
        "if s.election_state is ElectionState.CANVASS:\n        return not",
        "if s.election_state in (ElectionState.CANVASS, ElectionState.NOMINATE):\n"
        "        return not",
    ),
    Mutant(
        "do_not_truncate",
        _TERM,
        "return NULL_VALUE != m.next_term_base_log_position < s.append_position",
        "return NULL_VALUE != m.next_term_base_log_position < 0",
    ),
    Mutant(
        "truncate_at_the_commit_position",
        _TERM,
        "_truncate_log(rules, s, m.next_term_base_log_position)",
        "_truncate_log(rules, s, min(s.commit_position, s.append_position))",
    ),
    Mutant(
        "truncate_also_at_the_end",
        _TERM,
        "m.next_term_base_log_position < s.append_position",
        "m.next_term_base_log_position <= s.append_position",
    ),
    Mutant(
        "truncation_leaves_the_term_open",
        _TERM,
        "        log = commit_log_position(s.recording_log, s.log_leadership_term_id, position)\n",
        "        log = s.recording_log\n",
    ),
    Mutant(
        "replicate_up_to_the_leaders_position",
        _TERM,
        "return _replicate(s, s.log_leadership_term_id, NULL_VALUE, next_base)",
        "return _replicate(s, s.log_leadership_term_id, NULL_VALUE, m.log_position)",
    ),
    Mutant(
        "announcement_lowers_what_is_notified",
        _TERM,
        "        notified_commit_position=max(s.notified_commit_position, m.commit_position),\n",
        "        notified_commit_position=m.commit_position,\n",
    ),
    Mutant(
        "announcement_of_the_own_term_starts_an_election",
        _TERM,
        "if is_from_newer_term(s, m):",
        "if is_from_newer_term(s, replace(m, leadership_term_id=m.leadership_term_id + 1)):",
    ),
    Mutant(
        "older_leaders_are_followed_despite_a_vote",
        _TERM,
        'return not rules.is_hardened("HZ3") or m.leadership_term_id >= s.candidate_term_id',
        "return True",
        revision="hardened",
    ),
    Mutant(
        "replication_ends_without_a_commit",
        _FOLLOWER,
        """_copy_ended(s, x) and (
        rules.is_hardened("HZ5") or reported.notified_commit_position >= reported.append_position
    )""",
        "_copy_ended(s, x)",
    ),
    Mutant(
        "short_copy_is_awaited",
        _FOLLOWER,
        "s.recorded_position == s.replication_stop_position or x.position != NULL_VALUE\n",
        "s.recorded_position == s.replication_stop_position\n",
    ),
    Mutant(
        "short_copy_is_taken_for_whole",
        _FOLLOWER,
        'if rules.is_hardened("HZ10") and s.log_replication:',
        "if False:",
        revision="hardened",
    ),
    Mutant(
        "replicated_term_is_left_open",
        _FOLLOWER,
        "            end,\n",
        "            NULL_VALUE,\n",
    ),
    Mutant(
        "replicated_term_is_not_the_log_term",
        _FOLLOWER,
        "        recording_log=log,\n        log_leadership_term_id=term,\n",
        "        recording_log=log,\n",
    ),
    Mutant(
        "replicated_bytes_are_not_reported",
        _FOLLOWER,
        "    if x.interval:\n        term = _reported_term(",
        "    if x.interval and not done:\n        term = _reported_term(",
    ),
    Mutant(
        "replay_beyond_what_is_committed",
        _FOLLOWER,
        "        target = min(target, s.notified_commit_position)\n",
        "        target = s.append_position\n",
    ),
    Mutant(
        "replay_starts_without_a_commit_position",
        _FOLLOWER,
        "s.notified_commit_position == 0:",
        "s.notified_commit_position < 0:",
    ),
    Mutant(
        "catch_up_ends_before_the_leader_says_so",
        _FOLLOWER,
        "        and s.commit_position >= s.notified_commit_position\n"
        "        and not s.catchup_destination\n",
        "        and s.commit_position >= s.notified_commit_position\n",
    ),
    Mutant(
        "catch_up_ends_before_all_is_processed",
        _FOLLOWER,
        "        s.commit_position >= s.catchup_join_position\n"
        "        and s.commit_position >= s.notified_commit_position\n",
        "        s.commit_position >= s.catchup_join_position\n",
    ),
    Mutant(
        "catch_up_reports_without_the_flag",
        _FOLLOWER,
        "_append_position(i, s, term, s.recorded_position, CATCHUP_FLAG)",
        "_append_position(i, s, term, s.recorded_position)",
    ),
    Mutant(
        "catch_up_acknowledges_before_the_term_is_open",
        _FOLLOWER,
        '    if rules.is_hardened("HZ2"):\n        after = replace(',
        '    if rules.is_hardened("HZ2") and s.catchup_join_position < 0:\n'
        "        after = replace(",
        revision="hardened",
    ),
    Mutant(
        "live_log_is_joined_without_opening_the_term",
        _FOLLOWER,
        "        recording_log=open_term(s, s.leadership_term_id, s.commit_position),\n"
        "        log_leadership_term_id=s.leadership_term_id,\n"
        "    )\n    joined",
        "        log_leadership_term_id=s.leadership_term_id,\n    )\n    joined",
    ),
    Mutant(
        "commit_position_of_any_leader_counts",
        _MESSAGES,
        "    ours = m.leader_member_id == s.leader_member_id\n",
        "    ours = True\n",
    ),
    Mutant(
        "commit_position_lowers_what_is_notified",
        _MESSAGES,
        "            notified = max(s.module_notified_commit_position, notified)\n",
        "            pass\n",
    ),
    Mutant(
        "reports_of_newer_terms_count",
        _MESSAGES,
        "    if is_closed(s, Role.LEADER) and term <= s.module_leadership_term_id:\n",
        "    if is_closed(s, Role.LEADER):\n",
    ),
    Mutant(
        "stop_catchup_once_only",
        _MESSAGES,
        "    catches_up = s.members[j].catchup_replay or m.flags == CATCHUP_FLAG\n",
        "    catches_up = s.members[j].catchup_replay\n",
    ),
    Mutant(
        "stop_catchup_before_the_end",
        _MESSAGES,
        "if not catches_up or m.log_position < s.publication_position:",
        "if not catches_up:",
    ),
    Mutant(
        "stop_catchup_in_another_term",
        "replication",
        "        or m.leadership_term_id != s.module_leadership_term_id\n"
        "        or not s.catchup_destination\n",
        "        or not s.catchup_destination\n",
    ),
    # The log.
    Mutant(
        "follower_processes_what_is_not_committed",
        "replication",
        "        return min(s.module_notified_commit_position, s.recorded_position)\n",
        "        return s.recorded_position\n",
    ),
    Mutant(
        "follower_processes_what_is_not_recorded",
        "replication",
        "        return min(s.module_notified_commit_position, s.recorded_position)\n",
        "        return s.module_notified_commit_position\n",
    ),
    Mutant(
        "replayed_term_is_not_the_log_term",
        "replication",
        "            log_leadership_term_id=log_term,\n",
        "",
    ),
    Mutant(
        "replay_lowers_the_log_term",
        "replication",
        '        if rules.is_hardened("HZ6"):\n',
        '        if rules.is_hardened("HZ6") and log_term < 0:\n',
        revision="hardened",
    ),
    Mutant(
        "replayed_term_is_not_opened",
        "replication",
        "            recording_log=open_term(s, x.leadership_term_id, x.term_base_log_position),\n",
        "",
    ),
    Mutant(
        "last_term_is_not_closed",
        "recording_log",
        "return (*log[:-1], replace(last, log_position=closed), TermEntry(term, closed, end))",
        "return (*log, TermEntry(term, closed, end))",
    ),
    Mutant(
        "new_term_begins_where_announced",
        "recording_log",
        "        closed = last.log_position\n        if closed == NULL_VALUE:",
        "        closed = NULL_VALUE\n        if closed == NULL_VALUE:",
    ),
    Mutant(
        "implied_terms_are_not_found",
        "recording_log",
        "                return TermEntry(term, base, base)\n",
        "                return NO_TERM_ENTRY if base >= 0 else entry\n",
    ),
    Mutant(
        "termination_leaves_the_term_open",
        "replication",
        "closed = replace(s, recording_log=commit_log_position(s.recording_log, term, end))",
        "closed = s",
    ),
    Mutant(
        "terminate_before_the_position_is_reached",
        "replication",
        "else _is_terminating(s))\n",
        "else s.termination_position != NULL_VALUE)\n",
    ),
    Mutant(
        "acknowledge_a_termination_nobody_asked_for",
        "replication",
        "    if follows and s.termination_leadership_term_id == term:\n",
        "    if follows:\n",
    ),
    Mutant(
        "snapshot_of_the_term_of_the_election",
        "replication",
        "    term, position = s.module_leadership_term_id, s.commit_position\n",
        "    term, position = s.leadership_term_id, s.commit_position\n",
    ),
    Mutant(
        "record_beyond_what_the_leader_wrote",
        "replication",
        "        bound = s.publication_position\n",
        "        bound = x.position\n",
    ),
    Mutant(
        "append_after_the_end_was_named",
        "replication",
        "    if _has_initiated_termination(s):\n",
        "    if _has_initiated_termination(s) and s.termination_position < 0:\n",
    ),
    Mutant(
        "report_what_is_committed",
        "replication",
        "AppendPosition(s.module_leadership_term_id, s.recorded_position, i, 0)",
        "AppendPosition(s.module_leadership_term_id, s.commit_position, i, 0)",
    ),
    Mutant(
        "catch_up_is_asked_for_in_the_old_term",
        _FOLLOWER,
        "request = CatchupPosition(s.leadership_term_id, s.commit_position, i)",
        "request = CatchupPosition(s.module_leadership_term_id, s.commit_position, i)",
    ),
    Mutant(
        "catch_up_is_served_in_any_role",
        "replication",
        "        or s.role is not Role.LEADER\n        or m.leadership_term_id > ",
        "        or m.leadership_term_id > ",
    ),
    Mutant(
        "joining_member_does_not_report",
        _FOLLOWER,
        "        *_append_position(i, s, s.leadership_term_id, s.commit_position)\n",
        "",
    ),
    Mutant(
        "live_log_is_awaited_twice",
        _FOLLOWER,
        "    if s.log_subscription:\n"
        "        return Outcome(replace(s, election_state=ElectionState.FOLLOWER_READY))\n",
        "",
    ),
    Mutant(
        "end_is_named_where_the_log_is_committed",
        "replication",
        "    term, position = s.module_leadership_term_id, s.publication_position\n",
        "    term, position = s.module_leadership_term_id, s.commit_position\n",
    ),
    Mutant(
        "leader_obeys_a_termination",
        "replication",
        "        or s.role is not Role.FOLLOWER\n        or m.leadership_term_id != ",
        "        or m.leadership_term_id != ",
    ),
    # Hardening.
    Mutant(
        "term_is_not_opened_where_it_is_joined",
        _TERM,
        'if rules.is_hardened("HZ5") and s.append_position == m.term_base_log_position:',
        'if rules.is_hardened("HZ5") and s.append_position < 0:',
        revision="hardened",
    ),
    Mutant(
        "term_beyond_the_cut_is_kept",
        _TERM,
        "        log = cut_terms(s.recording_log, position)\n",
        "        log = commit_log_position(\n"
        "            s.recording_log, s.log_leadership_term_id, position\n"
        "        )\n",
        revision="hardened",
    ),
    Mutant(
        "reports_carry_a_term_that_is_not_open",
        _FOLLOWER,
        'return s.log_leadership_term_id if rules.is_hardened("HZ7") else term',
        "return term",
        revision="hardened",
    ),
    Mutant(
        "termination_outlives_its_term",
        "transitions",
        'if not rules.is_hardened("HZ9"):',
        "if rules.member_count > 0:",
        revision="hardened",
    ),
    Mutant(
        "replication_waits_for_a_commit_that_waits_for_it",
        _FOLLOWER,
        'rules.is_hardened("HZ5") or reported.notified_commit_position',
        "reported.notified_commit_position",
        revision="hardened",
    ),
    # What shows in effects alone.
    Mutant(
        "vote_leaves_before_the_term_is_on_disk",
        _MESSAGES,
        "return Outcome(after, (PersistCandidateTerm(term), answer(vote=True)))",
        "return Outcome(after, (answer(vote=True), PersistCandidateTerm(term)))",
        shows_in="effects",
    ),
    Mutant(
        "candidate_term_is_not_written",
        _ELECTION,
        "    return Outcome(after, (PersistCandidateTerm(term),))\n",
        "    return Outcome(after)\n",
        shows_in="effects",
    ),
    Mutant(
        "term_is_opened_in_memory_only",
        _LEADER,
        "    return Outcome(after, record_terms(s, after) + joined)\n",
        "    return Outcome(after, joined)\n",
        shows_in="effects",
    ),
    Mutant(
        "log_is_not_cut",
        _TERM,
        "return enter_init(after).also(TruncateLog(position), *record_terms(s, after))",
        "return enter_init(after).also(*record_terms(s, after))",
        shows_in="effects",
    ),
    Mutant(
        "services_do_not_receive_the_commit",
        "leader_position",
        "advance_commit(s.commit_position, commit) + sends",
        "sends",
        shows_in="effects",
    ),
    Mutant(
        "replication_goes_on_after_an_error",
        "transitions",
        "    effects: Effects = ()\n    if s.log_replication:\n",
        "    effects: Effects = ()\n    if s.log_replication and s.append_position < 0:\n",
        shows_in="effects",
    ),
    Mutant(
        "recording_goes_on_into_the_next_election",
        "transitions",
        "return (*effects, StopRecording(), RollBack(s.commit_position))",
        "return (*effects, RollBack(s.commit_position))",
        shows_in="effects",
    ),
)

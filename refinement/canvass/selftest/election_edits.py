"""Edits that break a rule of standing, voting and leading."""

from __future__ import annotations

from typing import Final

from canvass.selftest.mutation import Mutant

_ELECTION: Final = "election"
_LEADER: Final = "election_leader"
_MESSAGES: Final = "election_messages"
_POSITION: Final = "leader_position"
_COMMITTED: Final = (
    "    return replace(after, commit_position=commit),"
    " advance_commit(s.commit_position, commit) + sends"
)

ELECTION_EDITS: Final = (
    # Votes.
    Mutant(
        "vote_twice_in_a_term",
        _MESSAGES,
        "return m.candidate_term_id <= s.candidate_term_id",
        "return m.candidate_term_id < s.candidate_term_id",
    ),
    Mutant(
        "vote_without_persisting",
        _MESSAGES,
        "raised = replace(s, candidate_term_id=term, persisted_candidate_term_id=term)",
        "raised = replace(s, candidate_term_id=term)",
    ),
    Mutant(
        "vote_lowers_the_candidate_term_on_disk",
        _MESSAGES,
        "term = max(s.persisted_candidate_term_id, candidate_term)",
        "term = candidate_term",
        unreachable="in an election no term on disk is above the candidate term, and the request's "
        "is above that: an election begins with the greater of the two, and what raises the one on "
        "disk raises the other",
    ),
    Mutant(
        "vote_for_a_shorter_log",
        _MESSAGES,
        "longer = compare_log(s.log_leadership_term_id, s.append_position, log_term, "
        "m.log_position) > 0",
        "longer = s.log_leadership_term_id > log_term",
    ),
    Mutant(
        "vote_against_an_equal_log",
        _MESSAGES,
        "s.append_position, log_term, m.log_position) > 0",
        "s.append_position, log_term, m.log_position) >= 0",
    ),
    Mutant(
        "vote_compares_the_commit_position",
        _MESSAGES,
        "compare_log(s.log_leadership_term_id, s.append_position, log_term,",
        "compare_log(s.log_leadership_term_id, s.commit_position, log_term,",
    ),
    Mutant(
        "vote_in_any_state",
        _MESSAGES,
        "if not longer and s.election_state not in BALLOT_OPEN:",
        "if not longer and s.election_state is ElectionState.INIT:",
    ),
    Mutant(
        "vote_only_before_a_ballot",
        "predicates",
        """        ElectionState.NOMINATE,
        ElectionState.CANDIDATE_BALLOT,
        ElectionState.FOLLOWER_BALLOT,
    }""",
        """        ElectionState.NOMINATE,
    }""",
    ),
    Mutant(
        "refusal_does_not_use_the_term_up",
        _MESSAGES,
        "outcome = Outcome(raised, (PersistCandidateTerm(term), answer(vote=False)))",
        "outcome = Outcome(s, (answer(vote=False),))",
    ),
    Mutant(
        "vote_tells_the_leadership_term",
        _MESSAGES,
        "own_log = (s.log_leadership_term_id, s.append_position)",
        "own_log = (s.leadership_term_id, s.append_position)",
    ),
    Mutant(
        "granting_a_vote_keeps_the_records",
        _MESSAGES,
        """            election_state=ElectionState.FOLLOWER_BALLOT,
            members=forget_records(s.members),""",
        """            election_state=ElectionState.FOLLOWER_BALLOT,
            members=s.members,""",
    ),
    Mutant(
        "leader_gives_a_short_candidate_no_hint",
        _MESSAGES,
        "if s.role is not Role.LEADER:\n        return outcome",
        "if s.role is not None:\n        return outcome",
    ),
    Mutant(
        "request_of_the_own_term_starts_an_election",
        _MESSAGES,
        "m.candidate_term_id > s.module_leadership_term_id:",
        "m.candidate_term_id >= s.module_leadership_term_id:",
    ),
    Mutant(
        "count_votes_of_other_ballots",
        _MESSAGES,
        "or m.candidate_term_id != s.candidate_term_id",
        "or m.candidate_term_id > s.candidate_term_id",
    ),
    Mutant(
        "count_votes_for_others",
        _MESSAGES,
        "        or m.candidate_member_id != i\n",
        "",
    ),
    Mutant(
        "count_every_vote_in_favour",
        _MESSAGES,
        "vote=1 if m.vote else 0,",
        "vote=1,",
    ),
    Mutant(
        "vote_does_not_tell_the_voters_log",
        _MESSAGES,
        """        leadership_term_id=m.log_leadership_term_id,
        log_position=m.log_position,
        candidate_term_id=m.candidate_term_id,""",
        "        candidate_term_id=m.candidate_term_id,",
    ),
    # Candidacy and ballots.
    Mutant(
        "quorum_of_half",
        "quorum",
        "return count // 2 + 1",
        "return max(1, count // 2)",
    ),
    Mutant(
        "stand_with_a_quorum_at_once",
        _ELECTION,
        "(x.timeout and is_quorum_candidate(rules, i, s))",
        "is_quorum_candidate(rules, i, s)",
    ),
    Mutant(
        "stand_without_a_quorum",
        _ELECTION,
        "(x.timeout and is_quorum_candidate(rules, i, s))",
        "x.timeout",
    ),
    Mutant(
        "silent_members_would_vote",
        "predicates",
        "        voter.log_position != NULL_VALUE\n        and compare_log(",
        "        compare_log(",
    ),
    Mutant(
        "nominate_without_raising_the_term",
        _ELECTION,
        "term = max(s.persisted_candidate_term_id, s.candidate_term_id + 1)",
        "term = max(s.persisted_candidate_term_id, s.candidate_term_id)",
    ),
    Mutant(
        "nominate_without_persisting",
        _ELECTION,
        "        persisted_candidate_term_id=term,\n        members=members,",
        "        members=members,",
    ),
    Mutant(
        "nominee_is_silent",
        _ELECTION,
        """        return _become_candidate(i, s, term)
    return Outcome(s, _publish_canvass_position(rules, i, s) if x.interval else ())""",
        """        return _become_candidate(i, s, term)
    return Outcome(s)""",
    ),
    Mutant(
        "votes_of_an_earlier_ballot_are_kept",
        _ELECTION,
        "vote=1 if j == i else NULL_VALUE,",
        "vote=1 if j == i else record.vote,",
        unreachable="NOMINATE follows CANVASS, which forgets all votes, and votes are noted in "
        "CANDIDATE_BALLOT alone",
    ),
    Mutant(
        "request_vote_tells_the_leadership_term",
        _ELECTION,
        "ballot = RequestVote(s.log_leadership_term_id, s.append_position,",
        "ballot = RequestVote(s.leadership_term_id, s.append_position,",
    ),
    Mutant(
        "request_vote_tells_the_commit_position",
        _ELECTION,
        "ballot = RequestVote(s.log_leadership_term_id, s.append_position,",
        "ballot = RequestVote(s.log_leadership_term_id, s.commit_position,",
    ),
    Mutant(
        "ballots_are_sent_again",
        _ELECTION,
        "unsent = {j for j in x.accepted if not s.members[j].ballot_sent}",
        "unsent = set(x.accepted)",
    ),
    Mutant(
        "win_as_soon_as_a_quorum_has_voted",
        _ELECTION,
        "(x.timeout and is_quorum_leader(rules, s))",
        "is_quorum_leader(rules, s)",
    ),
    Mutant(
        "win_despite_a_vote_against",
        "predicates",
        "return all(voter.vote != 0 for voter in ballot) and is_quorum(",
        "return is_quorum(",
    ),
    Mutant(
        "win_without_votes",
        _ELECTION,
        "(x.timeout and is_quorum_leader(rules, s))",
        "x.timeout",
    ),
    Mutant(
        "graceful_leader_leaves_the_quorum_too",
        "predicates",
        "voter.vote == 1 for voter in voters\n    ) and is_quorum(len(voters), rules.member_count)",
        "voter.vote == 1 for voter in voters\n    )",
        member_count=2,
    ),
    Mutant(
        "follower_ballot_never_ends",
        _ELECTION,
        "return enter_canvass(i, s) if x.timeout else Outcome(s)",
        "return Outcome(s)",
    ),
    Mutant(
        "error_does_not_reset_the_state",
        "transitions",
        "        election_state=ElectionState.INIT,\n",
        "",
    ),
    Mutant(
        "canvass_keeps_the_role",
        "transitions",
        "        election_state=ElectionState.CANVASS,\n        role=Role.FOLLOWER,\n",
        "        election_state=ElectionState.CANVASS,\n",
    ),
    Mutant(
        "canvass_keeps_the_records",
        "transitions",
        "            forget_records(s.members), i, s.leadership_term_id, s.append_position\n",
        "            s.members, i, s.leadership_term_id, s.append_position\n",
    ),
    Mutant(
        "candidate_term_is_not_read_back",
        "transitions",
        "candidate_term_id=max(s.persisted_candidate_term_id, s.leadership_term_id),",
        "candidate_term_id=s.leadership_term_id,",
    ),
    Mutant(
        "notified_commit_position_outlives_init",
        "transitions",
        "        notified_commit_position=0,\n        catchup_join_position=NULL_VALUE,\n",
        "        catchup_join_position=NULL_VALUE,\n",
    ),
    Mutant(
        "restart_forgets_the_candidate_term",
        "transitions",
        "        rules,\n        s.persisted_candidate_term_id,\n",
        "        rules,\n        NULL_VALUE,\n",
    ),
    Mutant(
        "restart_keeps_the_commit_position",
        _ELECTION,
        "        commit_position=s.snapshot_log_position,\n",
        "        commit_position=s.commit_position,\n",
    ),
    Mutant(
        "init_handles_messages",
        _MESSAGES,
        "if is_electing(s) and term <= s.leadership_term_id:",
        "if (is_electing(s) or s.election_state is ElectionState.INIT)"
        " and term <= s.leadership_term_id:",
    ),
    # Leading.
    Mutant(
        "lead_before_a_quorum_has_the_log",
        _LEADER,
        "    return _quorum_position(rules, s, active) >= s.append_position\n",
        "    return _quorum_position(rules, s, active) >= 0\n",
    ),
    Mutant(
        "quorum_over_silent_members",
        "predicates",
        """        else counted_position(rules, s, term, own, record)
        for j, record in enumerate(s.members)
        if rules.is_149 or j in active""",
        """        else counted_position(rules, s, term, own, record)
        for j, record in enumerate(s.members)""",
    ),
    Mutant(
        "quorum_position_is_not_bounded",
        "predicates",
        "return reached if rules.is_149 else min(reached, own)",
        "return reached",
    ),
    Mutant(
        "quorum_position_of_one_member_less",
        "quorum",
        "return descending[size - 1] if len(descending) >= size else 0",
        "return descending[size - 2] if len(descending) >= size - 1 > 0 else 0",
    ),
    Mutant(
        "leader_closes_on_reports_of_older_terms",
        "predicates",
        """        record.leadership_term_id == term and record.log_position >= position
        for j, record in enumerate(s.members)""",
        """        record.leadership_term_id <= term and record.log_position >= position
        for j, record in enumerate(s.members)""",
    ),
    Mutant(
        "leader_closes_without_a_quorum",
        _LEADER,
        "    return quorum\n",
        "    return True\n",
    ),
    Mutant(
        "leader_init_does_not_open_the_term",
        _LEADER,
        "        recording_log=open_term(s, s.leadership_term_id, s.commit_position),\n",
        "",
    ),
    Mutant(
        "commit_position_in_the_old_term",
        _LEADER,
        "term = s.module_leadership_term_id if rules.is_149 else s.leadership_term_id",
        "term = s.module_leadership_term_id",
    ),
    Mutant(
        "announcement_without_a_commit_position",
        "predicates",
        "commit_position=NULL_VALUE if rules.is_149 else reached,",
        "commit_position=NULL_VALUE,",
    ),
    Mutant(
        "announcement_is_about_the_new_term",
        _LEADER,
        "election_new_leadership_term(rules, i, s, s.log_leadership_term_id, reached)",
        "election_new_leadership_term(rules, i, s, s.leadership_term_id, reached)",
    ),
    Mutant(
        "leader_answers_with_the_term_itself",
        "predicates",
        "        following = find_term_entry(s.recording_log, log_term + 1)\n    return",
        "        following = find_term_entry(s.recording_log, log_term)\n    return",
    ),
    Mutant(
        "leader_stays_when_a_newer_one_has_been",
        _MESSAGES,
        "        return enter_init(noted)\n    return Outcome(noted)",
        "        return Outcome(noted)\n    return Outcome(noted)",
    ),
    Mutant(
        "leader_commits_what_it_has_alone",
        _POSITION,
        _COMMITTED,
        _COMMITTED.replace("=commit)", "=own)"),
    ),
    Mutant(
        "commit_position_of_a_leader_falls",
        _POSITION,
        "commit = reached if rules.is_149 else max(s.commit_position, reached)",
        "commit = reached",
    ),
    Mutant(
        "followers_positions_are_kept_at_leader_replay",
        _LEADER,
        "        if rules.is_149:\n",
        "        if rules.is_149 and not members:\n",
        revision="1.49",
    ),
    Mutant(
        "leader_counts_its_newest_position",
        _POSITION,
        "    if rules.is_149:\n        noted",
        "    if rules.member_count:\n        noted",
    ),
    Mutant(
        "leader_ends_its_replay_in_silence",
        _LEADER,
        "_publish_leadership(rules, i, noted, x, x.interval or done, reached)",
        "_publish_leadership(rules, i, noted, x, x.interval, reached)",
    ),
    Mutant(
        "restart_keeps_a_recording_without_a_term",
        _ELECTION,
        "            found = replace(found, recorded_position=s.snapshot_log_position)\n"
        "            truncated = (TruncateLog(s.snapshot_log_position),)\n",
        "            truncated = ()\n",
    ),
    Mutant(
        "commit_position_in_the_term_of_the_election",
        _LEADER,
        "term = s.module_leadership_term_id if rules.is_149 else s.leadership_term_id",
        "term = s.leadership_term_id",
        revision="1.49",
    ),
    # Hardening.
    Mutant(
        "term_is_opened_late",
        "transitions",
        "            recording_log=open_term(s, term, end),\n",
        "",
        revision="hardened",
    ),
    Mutant(
        "lead_before_a_quorum_has_opened_the_term",
        _LEADER,
        '    if rules.is_hardened("HZ5"):\n        return has_quorum_at_position(',
        '    if rules.is_hardened("HZ5") and s.append_position < 0:\n'
        "        return has_quorum_at_position(",
        revision="hardened",
    ),
    Mutant(
        "commit_before_a_quorum_has_opened_the_term",
        "predicates",
        'if rules.is_hardened("HZ5") and s.election_state is ElectionState.LEADER_LOG_REPLICATION:',
        'if rules.is_hardened("HZ5") and s.election_state is ElectionState.INIT:',
        revision="hardened",
    ),
    Mutant(
        "own_term_is_named_as_the_next",
        "predicates",
        'known = found or (rules.is_hardened("HZ8") and log_term >= s.leadership_term_id)',
        "known = found",
        revision="hardened",
    ),
    Mutant(
        "failed_leader_forgets_that_it_opened_its_term",
        _ELECTION,
        '    if rules.is_hardened("HZ5") and s.recording_log:\n',
        '    if rules.is_hardened("HZ5") and not s.recording_log and s.members == ():\n',
        revision="hardened",
    ),
)

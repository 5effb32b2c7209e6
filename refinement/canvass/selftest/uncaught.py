"""Why simulated clusters give some mutants of the core away in no run, or in too few.

The state graphs kill them all but two: there a member is in any state and hears anything. In whole
members and clusters some of that cannot be, which is argued here; what is too rare is told, too.
"""

from __future__ import annotations

from typing import Final

EQUAL: Final = {
    "announcement_of_the_own_term_starts_an_election": "only the leader of a term announces it, "
    "never to itself, and whoever serves in that term follows it",
    "append_after_the_end_was_named": "a module that is asked to end the cluster offers nothing "
    "more in that term: it is in SNAPSHOT or TERMINATING, not ACTIVE",
    "ballots_are_sent_again": "the duty cycle asks the transport only about members that have not "
    "been sent the ballot",
    "catch_up_acknowledges_before_the_term_is_open": "hardened against HZ5, too, whoever joins "
    "a term where it begins has opened it, and one that stands beyond has it from before or is cut "
    "off: none catches up in a term that is not open",
    "count_votes_for_others": "a vote is sent to the candidate that it names",
    "follower_processes_what_is_not_recorded": "a member syncs and notes what it has received "
    "before anything else in a cycle, so its recording never holds more than it has noted when it "
    "reads from it",
    "graceful_leader_leaves_the_quorum_too": "to stand, a member of two needs the other's "
    "position, and hears it only in a CanvassPosition, which ends the other's absence",
    "log_is_not_cut": "the election that the cut begins stops the recording in its next step, "
    "which cuts it where the state says, and so does a restart before that step",
    "record_beyond_what_the_leader_wrote": "a leader's archive records what that leader has "
    "written, and nothing else",
    "reports_of_newer_terms_count": "a report goes to the leader of its term, which has that term "
    "on disk as its candidate term and never leads an older one again",
    "vote_lowers_the_candidate_term_on_disk": "no state that a member can reach shows it",
    "votes_of_an_earlier_ballot_are_kept": "no state that a member can reach shows it",
}
"""Mutants that do what the core does in every member that runs as a whole, and why."""

RARE: Final[dict[str, str]] = {}
"""Mutants that would show in a simulated cluster, and what it would have to come to: none is known
that the seeds of `canvass.selftest.hunting` do not come to."""

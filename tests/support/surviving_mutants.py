"""The reasons for which simulated clusters of whole members do not show some mutants.

The state graphs kill all mutants except two: a graph has every state and every input. In whole
members some of these states are unreachable, because other parts repeat the guard. Clusters of
cores show these mutants (`support.core_clusters`). Other mutants are equivalent: TLC checks that no
behaviour of Cluster.tla reaches their states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MASKED: Final = {
    "append_after_the_end_was_named": "a module that is asked to end the cluster offers nothing "
    "more in that term: it is in SNAPSHOT or TERMINATING, not ACTIVE",
    "ballots_are_sent_again": "the duty cycle asks the transport only about members that have not "
    "been sent the ballot",
    "catch_up_acknowledges_before_the_term_is_open": "hardened against HZ5, too, whoever joins "
    "a term where it begins has opened it, and one that stands beyond has it from before or is cut "
    "off; the clusters of cores are not hardened against HZ5",
    "copy_ends_with_its_last_byte": "the archive of a simulated member says that a copy has ended "
    "as soon as it has the last byte",
    "graceful_leader_leaves_the_quorum_too": "the leader that closes in good order is never the "
    "member itself, and the other one of two is heard only in a CanvassPosition, which ends its "
    "absence; in the spec a leader may take itself for the one that has closed",
    "short_copy_is_awaited": "the archive of a simulated member copies a term whole or not at all; "
    "the clusters of cores are hardened, so that a copy does not wait for a commit position",
    "short_copy_is_taken_for_whole": "the archive of a simulated member copies a term whole or not "
    "at all",
}
"""Mutants that only cores alone show, with the reason why whole members do not."""


@dataclass(frozen=True, slots=True)
class Equal:
    """The reason why no behaviour shows a mutant."""

    fact: str
    """The lemma of Properties.tla that is the reason; TLC checks it."""
    reason: str
    """The reason in words."""


EQUAL: Final = {
    "announcement_of_the_own_term_starts_an_election": Equal(
        "OwnTermIsAnnouncedByItsLeader",
        "only the leader of a term announces it, never to itself, and whoever serves in that term "
        "follows it",
    ),
    "count_votes_for_others": Equal(
        "VotesReachTheirCandidate", "a vote is sent to the candidate that it names"
    ),
    "follower_processes_what_is_not_recorded": Equal(
        "OnlyTheRecordedIsProcessed", "what a module reads is its own archive's recording"
    ),
    "record_beyond_what_the_leader_wrote": Equal(
        "OnlyTheWrittenIsRecorded",
        "a leader's archive records what that leader has written, and nothing else",
    ),
    "reports_of_newer_terms_count": Equal(
        "NoNewerTermIsReported",
        "a report goes to the leader of its term, which has that term on disk as its candidate "
        "term and never leads an older one again",
    ),
    "vote_lowers_the_candidate_term_on_disk": Equal(
        "PromisesAreKnown",
        "in an election no term on disk is above the one in memory, and the request's is above "
        "that",
    ),
    "votes_of_an_earlier_ballot_are_kept": Equal(
        "NomineesHaveNoVotes",
        "a member that is about to become a candidate has forgotten all votes",
    ),
}
"""Mutants that equal the core in every step that a cluster can reach."""

RARE: Final[dict[str, str]] = {}
"""Mutants that would show in a simulated cluster, and what it would have to come to: none is known
that the seeds of `support.mutant_search` do not come to."""

"""What several actions read and write: records, votes, and the start of an election."""

from __future__ import annotations

from typing import Final

from canvass.steps.draft import LARGE, Draft

POSITION: Final = "leadership_term_id log_position"
VOTE: Final = "candidate_term_id vote ballot_sent"
REPLICATION: Final = (
    "replication_leadership_term_id replication_term_base_log_position replication_stop_position"
)
ENTER_INIT: Final = f"log_replication {REPLICATION} catchup_join_position replay_stop_position"
ENTER_CANVASS: Final = f"{ENTER_INIT} leader_member_id"


def canvassing(draft: Draft, reads: str = "", writes: str = "", *, log: bool = False) -> None:
    """Enter CANVASS: only where the own log ends counts."""
    draft.fields(f"leadership_term_id append_position {reads}", f"{ENTER_CANVASS} {writes}")
    draft.records("", f"{POSITION} {VOTE}")
    if not log:
        draft.log()


def new_election(draft: Draft, reads: str = "") -> None:
    """Begin an election: nearly all is overwritten."""
    draft.terms_by_order = True
    draft.fields(
        f"recorded_position module_leadership_term_id persisted_candidate_term_id {reads}",
        f"{ENTER_CANVASS} publication_position log_subscription catchup_destination"
        " append_position notified_commit_position candidate_term_id log_leadership_term_id"
        " leadership_term_id graceful_closed_leader_id",
    )
    draft.records("", f"{POSITION} {VOTE}")
    draft.log()


def newer(draft: Draft, name: str) -> bool:
    """Begin an election if a message is of a newer term than the module's."""
    if draft.message[name] <= draft.before["module_leadership_term_id"]:
        return False
    new_election(draft)
    draft.given("", name)
    draft.message[name] = LARGE
    return True

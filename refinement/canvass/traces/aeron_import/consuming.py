"""The steps that process a member's log where its log lines do not show which entries: those that
begin terms are processed one by one, even if the event that shows them is turned off.
"""

from __future__ import annotations

from canvass.cluster.member import Input
from canvass.traces.aeron_import.proposal import Proposal


def consume(proposal: Proposal, position: int) -> None:
    """Let a member process its log up to a position, as far as that is possible now."""
    for base, end, term in proposal.plan.unlogged_terms.get(proposal.member_id, ()):
        if not proposal.state.commit_position <= base < end <= position:
            continue
        if proposal.state.commit_position < base:
            proposal.take("ConsumeLog", Input(position=base))
        given = Input(position=end, leadership_term_id=term, term_base_log_position=base)
        proposal.take("OnReplayNewLeadershipTermEvent", given)
    if proposal.state.commit_position < position:
        proposal.take("ConsumeLog", Input(position=position))

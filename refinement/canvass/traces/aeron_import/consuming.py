"""The steps that process a member's log where its log lines do not show which entries: those that
begin terms are processed one by one, even if the lines that show them are missing.
"""

from __future__ import annotations

from bisect import bisect_left

from canvass.cluster.member import Input
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.records import ReplayNewLeadershipTerm


def consume(proposal: Proposal, position: int) -> None:
    """Let a member process its log up to a position, as far as that is possible now.

    Notes
    -----
    Where all lines are there none of a term's first entries lies before the position: its own line
    lets it be processed.
    """
    entries = proposal.plan.first_entries
    place = bisect_left(entries, (proposal.state.commit_position,))
    while place < len(entries) and entries[place][1] <= position:
        base, end, term = entries[place]
        if proposal.state.commit_position < base:
            proposal.take("ConsumeLog", Input(position=base))
        given = Input(position=end, leadership_term_id=term, term_base_log_position=base)
        proposal.take("OnReplayNewLeadershipTermEvent", given)
        place = bisect_left(entries, (end,), place + 1)
    if proposal.state.commit_position < position:
        proposal.take("ConsumeLog", Input(position=position))


def consume_unlogged(proposal: Proposal, term: int) -> None:
    """Let a member process the first entry of a term, as others have heard that it did, if its log
    has no line of that farther on.
    """
    if term <= proposal.state.module_leadership_term_id:
        return
    found = proposal.evidence.records
    follows = any(
        isinstance(record, ReplayNewLeadershipTerm) and record.leadership_term_id == term
        for record in found[proposal.index : proposal.segment_end()]
    )
    end = next((end for _, end, known in proposal.plan.first_entries if known == term), None)
    if end is not None and not follows and end <= proposal.state.recorded_position:
        consume(proposal, end)

"""The members of a cluster that is driven, and what is on its way between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import (
    AppendPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    StopCatchup,
)
from canvass.traces.alignment.bounds import UNBOUNDED, Upper, leads_closed
from canvass.traces.alignment.channel_matching import ChannelKey, Matching, Receipt, accepts
from canvass.traces.alignment.channels import Carried, Channel, Conflict, may_be_missing
from canvass.traces.alignment.live import (
    LiveMember,
    streams_from,
    term_of,
)
from canvass.traces.alignment.windows import SLOTS, Windows

_CLOSED: Final = ElectionState.CLOSED


class DrivenCluster:
    """Members with real numbers, and their channels.

    Parameters
    ----------
    windows
        Of each member.
    matching
        Of the receipts.
    carried
        What the segment before has left; None at the beginning.
    """

    def __init__(
        self,
        windows: Mapping[int, Windows],
        matching: Matching,
        carried: Carried | None = None,
    ) -> None:
        self.windows = windows
        self.members = {
            i: LiveMember(one, one.before, self._on_send, self._limit) for i, one in windows.items()
        }
        self._channels: dict[ChannelKey, Channel] = {
            (i, j): Channel() for i in windows for j in windows if i != j
        }
        self._wanted: dict[tuple[int, int], tuple[ChannelKey, int]] = {}
        for key, receipts in matching.channels.items():
            on_way = matching.on_way.get(key, [])
            every = [*(receipt for receipt, _, _ in on_way), *receipts]
            self._channels[key] = Channel(every, [(number, m) for _, number, m in on_way])
            for number, receipt in enumerate(every):
                self._wanted[key[1], receipt.step] = key, number
        self._outgoing = {
            i: [(j, channel) for (sender, j), channel in self._channels.items() if sender == i]
            for i in windows
        }
        self._starts = {
            i: [t for t, step in enumerate(one.steps) if step.action == "Restart"]
            for i, one in windows.items()
        }
        self._held = {
            (j, receipt.step)
            for i, j, receipt in matching.unmatched
            if i in windows and (receipt.hidden or not may_be_missing(windows[i]))
        }
        self._held |= {(j, receipt.step) for _, j, receipt in matching.later}
        self._unsent = {(j, r.step): i for i, j, r in matching.unmatched}
        self._hidden = frozenset().union(*(one.hidden for one in windows.values()))
        self._needs = self._needed_publications()
        self.conflicts: list[Conflict] = []
        self._waits_for_reports = True
        if carried is not None:
            self._carry(carried)

    def _carry(self, carried: Carried) -> None:
        """Go on where the segment before has ended."""
        for i, live in self.members.items():
            live.go_on(carried.published[i], carried.received[i], carried.numbers[i])
        for key, last in carried.last.items():
            channel = self._channels[key]
            channel.last = last
            unclaimed = carried.sent[key][len(channel.sent) :]
            channel.unclaimed += [one for one in unclaimed if type(one[1]).__name__ in self._hidden]

    def carried(self) -> Carried:
        """What the next segment begins with."""
        members = self.members.items()
        channels = self._channels.items()
        return Carried(
            {i: live.state for i, live in members},
            {i: live.published for i, live in members},
            {i: live.received for i, live in members},
            {i: live.number for i, live in members},
            {key: channel.sent[channel.consumed :] for key, channel in channels},
            {key: channel.last for key, channel in channels},
        )

    def _needed_publications(self) -> dict[tuple[int, int], int]:
        """How far leaders must have written in each term, by what others recorded of it."""
        needs: dict[tuple[int, int], int] = {}
        for i, one in self.windows.items():
            for step in one.steps:
                leader = streams_from(i, step.state)
                if leader >= 0:
                    key = leader, term_of(step.state)
                    needs[key] = max(needs.get(key, -1), step.state.recorded_position)
        for (i, j), channel in self._channels.items():
            for receipt in channel.receipts:
                m = receipt.message
                if isinstance(m, AppendPosition) and receipt.earliest >= 0:
                    s = self.windows[i].steps[receipt.earliest // SLOTS].state
                    if streams_from(i, s) == j:
                        key = j, term_of(s)
                        needs[key] = max(needs.get(key, -1), m.log_position)
        return needs

    def _on_send(self, i: int, to: int, m: Message, number: int) -> None:
        """Match a message that leaves with the next receipt of its channel."""
        channel = self._channels.get((i, to))
        if channel is None:
            return
        head = channel.head
        if head is None:
            if type(m).__name__ in self._hidden:
                channel.unclaimed.append((number, m))
            return
        if accepts(head)(m) and not self._comes_later(i, to, head):
            channel.send(number, m)
            self.members[i].received += 1
        elif type(m).__name__ in self._hidden:
            channel.unclaimed.append((number, m))

    def _comes_later(self, i: int, to: int, head: Receipt) -> bool:
        """Whether a message should leave later: its receiver has not started the process that
        received it, and the sender has another chance. Of positions that rise it has none.
        """
        m = head.message
        closed = isinstance(m, CommitPosition) and leads_closed(
            self.members[i].state, m.leadership_term_id
        )
        if closed or isinstance(m, AppendPosition):
            return False
        starts = self._starts[to]
        before = bisect_right(starts, self.members[to].frontier)
        return (
            bisect_right(starts, head.step) > before
            and head.latest // SLOTS > self.members[i].frontier + 1
        )

    def _in_flight(self, i: int, j: int) -> bool:
        """Whether messages of ``j`` that lines show are on their way to ``i``."""
        channel = self._channels[j, i]
        return len(channel.sent) > channel.consumed

    def _available(self, i: int, j: int) -> list[tuple[int, Message]]:
        """Messages of ``j`` that ``i`` can receive next without a line."""
        channel = self._channels[j, i]
        before = channel.sent[channel.consumed][0] if self._in_flight(i, j) else UNBOUNDED
        return [one for one in channel.unclaimed if channel.last < one[0] < before]

    def _limit(self, live: LiveMember, upper: Upper) -> Upper:
        """Upper bounds of a leader with what it has still to say of its position."""
        s = live.state
        term = s.module_leadership_term_id
        if not leads_closed(s, term):
            return upper
        published, committed = upper.published, upper.committed
        outgoing = self._outgoing[live.member_id]
        if upper.recorded <= published and not any(one.bounds_sender for _, one in outgoing):
            return upper
        for j, channel in outgoing:
            stop = channel.pending(StopCatchup) if "AppendPosition" in self._hidden else None
            asked = stop.message if stop is not None else None
            if (
                stop is not None
                and isinstance(asked, StopCatchup)
                and (asked.leadership_term_id == term)
            ):
                reported = self.windows[j].bounds[stop.step].recorded
                published = min(published, max(reported, s.publication_position))
            hidden = "CommitPosition" in self._hidden
            noted = channel.pending(CommitPosition, exact=True) if hidden else None
            known = noted.message if noted is not None else None
            if isinstance(known, CommitPosition) and known.leadership_term_id == term:
                committed = min(committed, max(known.log_position, s.commit_position))
            announced = channel.pending(NewLeadershipTerm)
            m = announced.message if announced is not None else None
            if isinstance(m, NewLeadershipTerm) and m.leadership_term_id == term:
                published = min(published, max(m.log_position, s.publication_position))
                if m.commit_position >= 0:
                    committed = min(committed, max(m.commit_position, s.commit_position))
        return Upper(min(upper.recorded, published), committed, published)

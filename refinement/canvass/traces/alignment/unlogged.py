"""Messages that logs do not print, which members must have sent each other all the same.

A report is sent when somebody needs it, or before what it says is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    Message,
    NewLeadershipTerm,
)
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.bounds import leads_closed
from canvass.traces.alignment.driven_cluster import DrivenCluster
from canvass.traces.alignment.live import (
    LiveMember,
    Steps,
    streams_from,
    term_of,
)
from canvass.traces.alignment.moves import END_OF_LIFE
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import positions_in, sender_of

_CLOSED: Final = ElectionState.CLOSED


class UnloggedMessages(DrivenCluster):
    """Sends and receives messages of which no line is printed."""

    def _adopt(self, live: LiveMember, path: Steps) -> None:
        """Make silent steps the next ones of a member, with what others have to do before."""
        for action, given, outcome in path:
            if action == "RecordLog":
                self._write_first(live, given.position)
            sender = number = -1
            if given.message is not None:
                sender = sender_of(given.message)
                number = self._obtain(live.member_id, sender, given.message)
            live.adopt(action, given, outcome, sender=sender, number=number)

    def _obtainable(self, live: LiveMember, m: Message) -> Iterator[Input]:
        """Receipts without a line that a leader can have now: others' reports."""
        if not self._hidden or live.state.role is not Role.LEADER:
            return
        positions = positions_in(m) or [live.state.publication_position]
        closed = live.state.election_state is _CLOSED
        heard = [live.windows.moves.all] if closed else live.windows.subsets
        for j, other in self.members.items():
            if j == live.member_id:
                continue
            for _, sent in self._available(live.member_id, j):
                for active in heard:
                    yield Input(message=sent, active=active)
            if self._in_flight(live.member_id, j):
                continue
            for found in self._reportable(live.member_id, other, positions):
                for active in heard:
                    yield Input(message=found, active=active)

    def _reportable(self, to: int, other: LiveMember, positions: list[int]) -> Iterator[Message]:
        """What a member can report to a leader now, where logs do not print it."""
        for kind in (CanvassPosition, AppendPosition):
            if kind.__name__ not in self._hidden:
                continue
            for position in positions:
                if self._can_record(other, position):
                    found = other.reports(to, kind, position)
                    if found is not None:
                        yield found[1]

    def _obtain(self, i: int, j: int, m: Message) -> int:
        """The number of a message that ``i`` receives without a line, sent now if need be."""
        for _ in range(2):
            for number, sent in self._available(i, j):
                if sent == m:
                    self._channels[j, i].last = number
                    self.members[j].received += 1
                    return number
            position = getattr(m, "log_position", -1)
            found = self.members[j].reports(i, type(m), position)
            if found is None or found[1] != m:
                break
            self._adopt(self.members[j], found[0])
        return -1

    def _serves(self, live: LiveMember) -> bool:
        """Whether its leader replays the log to a follower that catches up; it has to have heard
        the follower's question, where logs do not print that.
        """
        i, leader = live.member_id, self.members.get(live.state.leader_member_id)
        if leader is None or leader.state.members[i].catchup_replay:
            return True
        asked = [m for _, m in self._available(leader.member_id, i)]
        again = live.reports(leader.member_id, CatchupPosition, NULL_VALUE)
        for m in [*asked, *([again[1]] if again is not None else [])]:
            if not isinstance(m, CatchupPosition):
                continue
            outcome = leader.take("OnCatchupPosition", given := Input(message=m))
            if outcome is not None and outcome.next.members[i].catchup_replay:
                self._adopt(leader, [("OnCatchupPosition", given, outcome)])
                return True
        return False

    def _report_before_leaving(self, live: LiveMember, step: Step) -> None:
        """Send what a member's state says before it is over, where logs do not print it."""
        s, n = live.state, step.state
        if step.action == END_OF_LIFE or n.election_state is not s.election_state:
            if s.election_state is ElectionState.CANVASS and "CanvassPosition" in self._hidden:
                for _ in range(self._canvass_copies(live)):
                    live.try_step("Canvass", Input(interval=True))
            if "AppendPosition" in self._hidden and streams_from(live.member_id, s) >= 0:
                live.try_step("UpdateFollowerPosition")
            if "CommitPosition" in self._hidden and s.role is Role.LEADER:
                everybody = live.windows.moves.all
                live.try_step("UpdateLeaderPosition", Input(active=everybody, commit_interval=True))

    def _canvass_copies(self, live: LiveMember) -> int:
        """How many announcements a member receives before it canvasses again."""
        count = 0
        for step in live.windows.steps[live.frontier + 1 :]:
            if step.action == END_OF_LIFE:
                break
            if count and step.state.election_state is ElectionState.CANVASS:
                break
            count += isinstance(step.given.message, NewLeadershipTerm)
        return count

    def _report_on_entering(self, live: LiveMember, before: Member) -> None:
        at = live.state.election_state
        entered = at is not before.election_state and at is ElectionState.CANVASS
        if entered and "CanvassPosition" in self._hidden:
            live.try_step("Canvass", Input(interval=True))

    def _can_record(self, live: LiveMember, position: int) -> bool:
        """Whether the leader that a member records from has written so far, or can do it now."""
        s = live.state
        leader = self.members.get(streams_from(live.member_id, s))
        if position <= s.recorded_position or leader is None:
            return True
        term = term_of(s)
        if leader.published.get(term, -1) >= position:
            return True
        upper = max(leader.upper.published, leader.state.publication_position)
        return leads_closed(leader.state, term) and position <= upper

    def _write_first(self, live: LiveMember, position: int) -> None:
        """Let the leader write what a member is about to record."""
        leader = self.members.get(streams_from(live.member_id, live.state))
        term = term_of(live.state)
        behind = leader is not None and leader.published.get(term, -1) < position
        if leader is not None and behind and leads_closed(leader.state, term):
            leader.try_step("AppendEntry", Input(position=position))

    def _record_elsewhere(self, live: LiveMember, position: int) -> None:
        """Let others record what a member is about to process, if no quorum is seen to have it.

        A follower of 1.49 replays what it has recorded, committed or not. How far the others have
        recorded then no line says: it is taken to be as much, where that is possible.
        """
        log = live.state.recording_log
        behind = [one for one in self.members.values() if one.state.recorded_position < position]
        if not log or is_quorum(len(self.members) - len(behind), len(self.members)):
            return
        for one in behind:
            s = one.state
            if s.module_leadership_term_id != log[-1].leadership_term_id:
                continue
            if one.upper.recorded < position or not self._can_record(one, position):
                continue
            if leads_closed(s, s.module_leadership_term_id):
                if one.upper.published >= position:
                    one.try_step("AppendEntry", Input(position=position))
            else:
                self._write_first(one, position)
            one.try_step("RecordLog", Input(position=position))

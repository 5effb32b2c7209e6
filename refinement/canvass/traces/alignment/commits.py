"""What leaders write, record and commit before they say so."""

from __future__ import annotations

from operator import itemgetter
from typing import Final, NamedTuple

from msgspec.structs import replace

from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import (
    CommitPosition,
    Message,
    NewLeadershipTerm,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import counted_position
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.bounds import UNBOUNDED, leads_closed
from canvass.traces.alignment.driven_cluster import DrivenCluster
from canvass.traces.alignment.live import (
    LiveMember,
    term_of,
)
from canvass.traces.alignment.moves import END_OF_LIFE, receive
from canvass.traces.alignment.replay import Step
from canvass.traces.alignment.windows import SLOTS, Windows

_CLOSED: Final = ElectionState.CLOSED


class Report(NamedTuple):
    """How a leader can learn that a member has recorded a position.

    Parameters
    ----------
    is_older, is_new
        It is of a term before the leader's; the leader has not received it yet.
    log_position, member_id
        Up to where the member says that it has recorded; the member.
    message
        None if the leader has it already.
    """

    is_older: bool
    is_new: bool
    log_position: int
    member_id: int
    message: Message | None


_RANK: Final = itemgetter(slice(0, 4))
"""What a leader counts first: messages have no order."""


class Commits(DrivenCluster):
    """Lets leaders reach the positions that they announce."""

    def _reach(self, live: LiveMember, m: NewLeadershipTerm | CommitPosition) -> None:
        """Let a closed leader reach what a message says, where reports are not in its log."""
        s = live.state
        if not leads_closed(s, m.leadership_term_id):
            return
        answers = isinstance(m, NewLeadershipTerm)
        committed = m.commit_position if isinstance(m, NewLeadershipTerm) else m.log_position
        if committed > s.commit_position:
            self._commit(live, committed)
        if answers and live.state.publication_position < m.log_position <= live.upper.published:
            live.try_step("AppendEntry", Input(position=m.log_position))

    def _is_next_everywhere(self, live: LiveMember, m: Message) -> bool:
        """Whether a message that is sent to all at once, and once only, is next in each channel."""
        for j in self.members:
            if j == live.member_id:
                continue
            channel = self._channels[live.member_id, j]
            receipt = channel.pending(type(m))
            if receipt is not None and receipt.message == m and receipt is not channel.head:
                return False
        return True

    def _commit(self, live: LiveMember, target: int = -1) -> bool:
        """Let a closed leader commit: as far as it may, or exactly up to a target."""
        if "AppendPosition" in self._hidden:
            return target >= 0 and self._commit_unlogged(live, target)
        s, windows = live.state, live.windows
        others = (r.log_position for j, r in enumerate(s.members) if j != live.member_id)
        if max(others, default=UNBOUNDED) <= s.commit_position:
            return False  # In every quorum there is another member, if there is one.
        if windows.greatest_quorum_position(s) <= s.commit_position:
            return False
        upper = live.upper
        high_recorded, high_committed = upper.recorded, upper.committed
        for position in self.pending_commits(live):
            high_recorded = min(high_recorded, max(position, s.recorded_position))
            if target < 0:
                high_committed = min(high_committed, position)
        reported = max((r.log_position for r in s.members), default=0)
        best: list[tuple[str, Input, Outcome]] = []
        reached = s.commit_position
        wanted = min(reported, high_recorded, max(upper.published, s.publication_position))
        options = {s.recorded_position, wanted, *((target,) if target >= 0 else ())}
        for recorded in sorted(options):
            if recorded < s.recorded_position or recorded > high_recorded or recorded <= reached:
                continue  # A leader commits no more than it has recorded itself.
            path = self._record_own(live, recorded)
            if path is None:
                continue
            at = path[-1][2].next if path else s
            note = Input(active=frozenset({live.member_id}))
            noted = windows.moves.take(at, "UpdateLeaderPosition", note)
            if noted is not None and noted.next.commit_position == at.commit_position:
                path.append(("UpdateLeaderPosition", note, noted))
                at = noted.next
            limit = high_committed if target < 0 else min(high_committed, target)
            likely = windows.likely(at)
            updated = _greatest_commit(
                windows, at, reached, limit, likely[:1] if target < 0 else likely
            )
            if updated is not None and target in (-1, updated[1].next.commit_position):
                reached = updated[1].next.commit_position
                best = [*path, ("UpdateLeaderPosition", *updated)]
            if reached >= high_committed:
                break
        self._adopt(live, best)
        return bool(best)

    def _commit_unlogged(self, live: LiveMember, target: int) -> bool:
        """Let a closed leader commit up to a target by reports that no line shows."""
        own = self._record_own(live, target)
        if own is None or target > live.upper.committed:
            return False
        counted = {live.member_id}
        reports: list[Message] = []
        others = self.members.keys() - {live.member_id}
        found = (self._report_of(live, j, target) for j in sorted(others))
        for report in sorted(filter(None, found), key=_RANK):
            if is_quorum(len(counted), len(live.state.members)):
                break
            counted.add(report.member_id)
            if report.message is not None:
                reports.append(report.message)
        if not is_quorum(len(counted), len(live.state.members)):
            return False
        self._adopt(live, own)
        for m in reports:
            action, given = receive(m)
            outcome = live.take(action, given)
            if outcome is not None:
                self._adopt(live, [(action, given, outcome)])
        live.try_step("UpdateLeaderPosition", Input(active=frozenset({live.member_id})))
        return live.try_step("UpdateLeaderPosition", Input(active=frozenset(counted)))

    def _report_of(self, live: LiveMember, j: int, position: int) -> Report | None:
        """The report by which a leader counts a member as having recorded a position.

        The core says what counts. One of the leader's term comes before one of an older term, then
        what the leader knows already, then the least.
        """
        i, s = live.member_id, live.state
        term, rules = term_of(s), live.windows.moves.rules
        found = []
        for m in (None, *self._reported(i, j, [position])):
            outcome = Outcome(s) if m is None else live.take(*receive(m))
            if outcome is None:
                continue
            record = outcome.next.members[j]
            if counted_position(rules, outcome.next, term, position, record) >= position:
                is_older = record.leadership_term_id != term
                found.append(Report(is_older, m is not None, record.log_position, j, m))
        return min(found, key=_RANK, default=None)

    def _record_own(
        self, live: LiveMember, recorded: int
    ) -> list[tuple[str, Input, Outcome]] | None:
        """The steps by which a leader writes and records up to a position."""
        path: list[tuple[str, Input, Outcome]] = []
        s = live.state
        given = Input(position=recorded)
        for action, now in (
            ("AppendEntry", s.publication_position),
            ("RecordLog", s.recorded_position),
        ):
            if recorded <= now:
                continue
            outcome = live.windows.moves.take(s, action, given)
            if outcome is None:
                return None
            path.append((action, given, outcome))
            s = outcome.next
        return path

    def pending_commits(self, live: LiveMember) -> list[int]:
        """The next commit position of each channel, if it is still to be sent in this term.

        One of an election can give the term before, too.
        """
        term = live.state.module_leadership_term_id
        found = []
        for j in self.members:
            if j != live.member_id:
                receipt = self._channels[live.member_id, j].pending(CommitPosition)
                m = receipt.message if receipt is not None else None
                if receipt is None or not isinstance(m, CommitPosition):
                    continue
                at = live.windows.steps[receipt.earliest // SLOTS].state
                if m.leadership_term_id == term and leads_closed(at, term):
                    found.append(m.log_position)
        return found

    def _reach_answers(self, live: LiveMember) -> None:
        """Commit up to what a closed leader's next answers say, if this step sends them."""
        t = live.frontier + 1
        for j in self.members:
            head = self._channels[live.member_id, j].head if j != live.member_id else None
            if head is None or not isinstance(head.message, NewLeadershipTerm):
                continue
            m = head.message
            answered = head.earliest // SLOTS <= t and live.windows.slot(t, j, m) >= 0
            if answered and m.commit_position > live.state.commit_position:
                self._commit(live, m.commit_position)
            behind = answered and m.log_position > live.state.publication_position
            if behind and self._answers(live, live.windows.steps[t], j, m, m.log_position):
                live.try_step("AppendEntry", Input(position=m.log_position))

    def _answers(self, live: LiveMember, step: Step, j: int, m: Message, position: int) -> bool:
        """Whether a step sends a message once so much is written."""
        grown = replace(live.state, publication_position=position)
        outcome = live.windows.moves.take(grown, step.action, step.given)
        return outcome is not None and any(
            send.to == j and send.message == m for send in outcome.sends
        )

    def _prepare(self, live: LiveMember, step: Step) -> None:
        """Write what must be written before a leader leaves its term, or records it."""
        s = live.state
        if s.role is not Role.LEADER or s.election_state is not _CLOSED:
            if step.action == "RecordLog":
                self._write_first(live, step.given.position)
            return
        leaves = step.state.election_state is not _CLOSED or step.action in (
            END_OF_LIFE,
            "Terminate",
        )
        need = self._needs.get((live.member_id, term_of(s)), -1) if leaves else -1
        if step.action == "RecordLog":
            need = max(need, step.given.position)
        if need > s.publication_position:
            live.try_step("AppendEntry", Input(position=need))
        m = step.given.message
        if m is not None and not leaves:
            self._reach_answers(live)


def _greatest_commit(
    windows: Windows, s: Member, reached: int, limit: int, sets: list[frozenset[int]]
) -> tuple[Input, Outcome] | None:
    """The duty cycle of a closed leader that commits most, beyond a position and up to another."""
    found: tuple[Input, Outcome] | None = None
    for active in sets:
        given = Input(active=active)
        outcome = windows.moves.take(s, "UpdateLeaderPosition", given)
        if outcome is None:
            continue
        commit = outcome.next.commit_position
        if reached < commit <= limit:
            reached, found = commit, (given, outcome)
        if reached == limit:
            break
    return found

"""Matching of receipts to send windows, channel by channel, in the order of each channel.

A channel is one sender and one receiver; messages of it are received in the order in which they
were sent, and any may be lost. The earliest feasible place of each receipt is exact without clocks:
a send that moves earlier in its sender only weakens the order. The latest place is the deadline up
to which the sender has to wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    StopCatchup,
    Vote,
    sender_of,
)
from canvass.traces.alignment.moves import TICKS
from canvass.traces.alignment.replay import UNBOUNDED, Step, Upper, leads_closed
from canvass.traces.alignment.windows import AFTER, SLOTS, Windows

ROUNDS: Final = 400
"""Receipts that are moved to a later place because two contradict each other."""

_PROCESSES: Final = frozenset({ElectionState.FOLLOWER_REPLAY, ElectionState.FOLLOWER_CATCHUP})
"""The states in which a follower processes the log as far as it is known to be committed."""

SCANS: Final = 20
"""So many times the steps of a sender are looked through for the receipts of one channel, that is
for as many without a window; what comes after them in the channel is not looked for.
"""

ChannelKey: TypeAlias = tuple[int, int]


class Receipt(Struct):
    """A message that a member received.

    Parameters
    ----------
    step
        Of the receiver's trajectory.
    message
        What was received.
    hidden
        No line shows it.
    at_least
        Of its position only a lower bound is known.
    floor
        The sender cannot have sent it before this place.
    earliest, latest
        Places in the sender's trajectory; the earliest is -1 where there is none.
    """

    step: int
    message: Message
    hidden: bool = False
    at_least: bool = False
    floor: int = 0
    earliest: int = -1
    latest: int = -1

    def accepts(self, other: Message) -> bool:
        """Whether it can be the receipt of a message."""
        m = self.message
        if self.at_least and isinstance(other, AppendPosition | CommitPosition):
            least = getattr(m, "log_position", UNBOUNDED)
            if other.log_position >= least:
                other = replace(other, log_position=least)
        return other == m


@dataclass(slots=True)
class Matching:
    """The receipts of each channel, matched.

    Parameters
    ----------
    channels
        Receipts that have a window, by sender and receiver.
    unmatched
        Receipts without one, as sender, receiver, receipt.
    on_way
        Receipts of messages that were sent before, with number and message.
    later
        Receipts that are perhaps sent after what is known of the sender.
    """

    channels: dict[ChannelKey, list[Receipt]] = field(default_factory=dict)
    unmatched: list[tuple[int, int, Receipt]] = field(default_factory=list)
    on_way: dict[ChannelKey, list[tuple[Receipt, int, Message]]] = field(default_factory=dict)
    later: list[tuple[int, int, Receipt]] = field(default_factory=list)

    def postpone(self, ends: Mapping[int, int], unread: Collection[int], *, is_first: bool) -> None:
        """Leave receipts without a window for later that may be sent after what is known so far,
        or were perhaps sent long before.

        Parameters
        ----------
        ends
            For each member the step before which what is known is enough, if more follows.
        unread
            Members of which more is to be read. Of the messages of these the last ones are left.
        is_first
            What comes before all others of its channel that have a window is left, too.
        """
        found, self.unmatched = self.unmatched, []
        for i, j, receipt in found:
            matched = self.channels.get((i, j), [])
            is_later = j in ends and receipt.step >= ends[j]
            if i in unread:
                is_later |= all(one.step < receipt.step for one in matched[-1:])
            if is_first:
                is_later |= all(receipt.step < one.step for one in matched[:1])
            (self.later if is_later else self.unmatched).append((i, j, receipt))


def collect(windows: Mapping[int, Windows]) -> dict[ChannelKey, list[Receipt]]:
    """The receipts of each channel, in order."""
    leaders = {
        s.leadership_term_id: i
        for i, one in windows.items()
        for s in (step.state for step in one.steps)
        if s.role is Role.LEADER and s.leadership_term_id >= 0
    }
    channels: defaultdict[ChannelKey, list[Receipt]] = defaultdict(list)
    for j, one in windows.items():
        served = NULL_VALUE
        for index, step in enumerate(one.steps):
            m, s = step.given.message, step.state
            if s.election_state is ElectionState.FOLLOWER_CATCHUP:
                served = s.leader_member_id
            if m is None or step.false:
                continue
            i = sender_of(m)
            if i < 0:
                asked = served if isinstance(m, StopCatchup) else NULL_VALUE
                led = leaders.get(getattr(m, "leadership_term_id", -1), -1)
                i = _unnamed_sender(windows, (asked, s.leader_member_id, led), j, m)
            channels[i, j].append(
                Receipt(index, m, not step.lines, not step.lines and _is_open(one.steps, index))
            )
    return dict(channels)


def _is_open(steps: list[Step], index: int) -> bool:
    """Whether a greater position in a message without a line would do as well.

    A follower that has replayed or caught up has processed all that it knows to be committed.
    """
    s, m = steps[index].state, steps[index].given.message
    if not isinstance(m, CommitPosition) or s.election_state not in _PROCESSES:
        return True
    for step in steps[index + 1 :]:
        if step.state.election_state is not s.election_state:
            return step.action != TICKS[s.election_state]
        if step.state.notified_commit_position > m.log_position:
            return True
    return True


def _unnamed_sender(
    windows: Mapping[int, Windows], likely: tuple[int, ...], j: int, m: Message
) -> int:
    """The sender of a message that does not name it: who can have sent it.

    First comes the leader with which the receiver caught up last, if the message ends a catch-up,
    then the one that it follows, then that of the message's term. A follower that catches up
    reports in the term of its log: so does the answer.
    """
    for i in sorted(windows, key=lambda i: [i != one for one in likely]):
        if i != j and windows[i].first(0, j, m) is not None:
            return i
    return next((i for i in likely if i not in (NULL_VALUE, j)), NULL_VALUE)


def _on_way(
    receipts: list[Receipt], sent: list[tuple[int, Message]]
) -> list[tuple[Receipt, int, Message]]:
    """The first receipts of a channel, as far as they are of messages that have been sent."""
    found = []
    for receipt, (number, m) in zip(receipts, sent, strict=False):
        if not receipt.accepts(m):
            break
        found.append((receipt, number, m))
    return found


def match(
    windows: Mapping[int, Windows],
    sent: Mapping[ChannelKey, list[tuple[int, Message]]] | None = None,
) -> Matching:
    """Match all channels, and bound what leaders wrote by what they said.

    ``sent`` has for each channel the messages, with their numbers, that are on their way before.
    """
    matching = Matching()
    for key, receipts in collect(windows).items():
        if key[0] in windows:
            on_way = _on_way(receipts, sent.get(key, []) if sent is not None else [])
            matching.on_way[key] = on_way
            matching.channels[key] = receipts[len(on_way) :]
        else:
            matching.unmatched += [(*key, receipt) for receipt in receipts]
    for (i, j), receipts in matching.channels.items():
        match_earliest(windows[i], j, receipts)
    _settle_publications(windows, matching)
    for (i, j), receipts in matching.channels.items():
        matching.unmatched += [(i, j, r) for r in receipts if r.earliest < 0]
        kept = [receipt for receipt in receipts if receipt.earliest >= 0]
        _match_latest(windows[i], j, kept)
        matching.channels[i, j] = kept
    return matching


def _after(place: int) -> int:
    """The next place that can hold another message."""
    return place if place % SLOTS == AFTER else place + 1


def match_earliest(windows: Windows, to: int, receipts: list[Receipt]) -> None:
    """Find the earliest place of each receipt of a channel in its order, -1 where there is none."""
    place, count = 0, len(windows.steps)
    left = SCANS * (count + len(receipts))
    for receipt in receipts:
        receipt.earliest = -1
        if left < 0:
            continue
        start = max(place, receipt.floor)
        found = windows.first(start, to, receipt.message)
        left -= (count if found is None else found // SLOTS) - start // SLOTS
        if found is not None:
            receipt.earliest = found
            place = _after(found)


def _match_latest(windows: Windows, to: int, receipts: list[Receipt]) -> None:
    place = SLOTS * len(windows.steps)
    for receipt in reversed(receipts):
        found = windows.last(place, to, receipt.message)
        receipt.latest = receipt.earliest if found is None else max(found, receipt.earliest)
        place = receipt.latest if receipt.latest % SLOTS == AFTER else receipt.latest - 1


@dataclass(slots=True)
class _Observed:
    """What a receipt says of how far its leader had written at a place of its trajectory: exactly,
    or at most. Its commit position then is -1 if the receipt does not say it.
    """

    place: int
    published: int
    exact: bool
    committed: int
    channel: ChannelKey
    index: int


def _settle_publications(windows: Mapping[int, Windows], matching: Matching) -> None:
    """Move receipts to later places until what leaders had written rises with their steps.

    Notes
    -----
    The one real choice of a matching is which receipt an answer answers.
    """
    for _ in range(ROUNDS):
        observed = _observed(windows, matching)
        moved = False
        for found in observed.values():
            late = _inverted(found)
            if late is None:
                continue
            first, second = late
            early = first if second.exact else second
            receipts = matching.channels[early.channel]
            step = max(early.place // SLOTS + 1, second.place // SLOTS if second.exact else 0)
            receipts[early.index].floor = SLOTS * step
            match_earliest(windows[early.channel[0]], early.channel[1], receipts)
            moved = True
        if not moved:
            break
    for (i, _), found in _observed(windows, matching).items():
        for one in found:
            _bound(windows[i], one)
    for (i, _), receipts in matching.channels.items():
        for receipt in receipts:
            if isinstance(receipt.message, Vote) and receipt.earliest >= 0:
                _bound_noted(windows[i], receipt.earliest // SLOTS, receipt.message.log_position)
    for one_windows in windows.values():
        one_windows.forget()


def _inverted(found: list[_Observed]) -> tuple[_Observed, _Observed] | None:
    """An observation, and a later one that says less."""
    highest: _Observed | None = None
    for one in sorted(found, key=lambda o: (o.place // SLOTS, o.published)):
        if highest is not None and one.published < highest.published:
            return highest, one
        if one.exact and (highest is None or one.published > highest.published):
            highest = one
    return None


def _observed(
    windows: Mapping[int, Windows], matching: Matching
) -> dict[tuple[int, int], list[_Observed]]:
    """For each leader and term what receipts say of how far it had written."""
    found: defaultdict[tuple[int, int], list[_Observed]] = defaultdict(list)
    for (i, j), receipts in matching.channels.items():
        for index, receipt in enumerate(receipts):
            m, place = receipt.message, receipt.earliest
            if place < 0 or not isinstance(m, NewLeadershipTerm | StopCatchup):
                continue
            step = windows[i].steps[place // SLOTS]
            term = step.state.module_leadership_term_id
            if not leads_closed(step.state, term):
                continue
            if isinstance(m, NewLeadershipTerm):
                one = _Observed(place, m.log_position, True, m.commit_position, (i, j), index)
                found[i, term].append(one)
            elif isinstance(step.given.message, AppendPosition):
                end = step.given.message.log_position
                found[i, term].append(_Observed(place, end, False, -1, (i, j), index))
    return found


def _bound(windows: Windows, one: _Observed) -> None:
    """Bound what a leader had written, recorded and committed before a step, in the same term."""
    step = one.place // SLOTS
    term = windows.steps[step].state.module_leadership_term_id
    for upper, s in _back(windows, step, lambda s: leads_closed(s, term)):
        upper.published = min(upper.published, max(one.published, s.publication_position))
        if one.exact:
            upper.recorded = min(upper.recorded, max(one.published, s.recorded_position))
        if one.committed >= 0:
            upper.committed = min(upper.committed, max(one.committed, s.commit_position))


def _bound_noted(windows: Windows, vote: int, position: int) -> None:
    """Bound what a member that copies its leader's log had noted of it when it sent a vote."""
    copies = ElectionState.FOLLOWER_LOG_REPLICATION
    for upper, s in _back(windows, vote, lambda s: s.election_state is copies):
        upper.reported = min(upper.reported, max(position, s.append_position))


def _back(
    windows: Windows, step: int, holds: Callable[[Member], bool]
) -> Iterator[tuple[Upper, Member]]:
    """The states before a step, and their upper bounds, as far back as a condition holds."""
    for at in range(step - 1, -1, -1):
        if not holds(windows.steps[at].state):
            return
        yield windows.bounds[at], windows.steps[at].state


@dataclass(slots=True)
class Conflict:
    """The step of a trajectory that cannot be taken, and what it waits for."""

    member_id: int
    step: int
    reason: str


@dataclass(slots=True)
class Carried:
    """What a segment of the run leaves to the next one.

    Parameters
    ----------
    states
        Of each member, where the segment ended.
    published, received, numbers
        Of each member how far it has written in each term, how many of its messages have been
        received, and the number of its next one.
    sent
        For each channel the messages that are on their way.
    last
        For each channel the number of the last message that was received.
    """

    states: dict[int, Member]
    published: dict[int, dict[int, int]] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    sent: dict[ChannelKey, list[tuple[int, Message]]] = field(default_factory=dict)
    last: dict[ChannelKey, int] = field(default_factory=dict)


@dataclass(slots=True)
class Channel:
    """The receipts of one channel, with how many of them have been sent and consumed.

    Parameters
    ----------
    receipts, sent
        What is received, and of as many as have been sent the number and the message.
    consumed
        How many of them have been received.
    unclaimed
        Messages of kinds that logs do not print, which are not received yet.
    last
        The number of the last message that was received.

    Attributes
    ----------
    head
        The next receipt that is to be sent.
    earliest, latest
        The steps of the sender between which it can send that; without it they are never reached.
    """

    receipts: list[Receipt] = field(default_factory=list)
    sent: list[tuple[int, Message]] = field(default_factory=list)
    consumed: int = 0
    unclaimed: list[tuple[int, Message]] = field(default_factory=list)
    last: int = 0
    head: Receipt | None = field(init=False)
    earliest: int = field(init=False)
    latest: int = field(init=False)
    _bounding: int = field(init=False)
    _next: dict[tuple[type[Message], bool], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the next receipt, and the last one that says how far its sender had written."""
        found = enumerate(self.receipts, 1)
        bounding = [k for k, r in found if isinstance(r.message, NewLeadershipTerm | StopCatchup)]
        self._bounding = max(bounding, default=0)
        self._next_head()

    @property
    def bounds_sender(self) -> bool:
        """Whether a receipt that is to be sent says how far its sender had written."""
        return len(self.sent) < self._bounding

    def _next_head(self) -> None:
        sent = len(self.sent)
        if sent < len(self.receipts):
            head = self.head = self.receipts[sent]
            self.earliest, self.latest = head.earliest // SLOTS, head.latest // SLOTS
        else:
            self.head, self.earliest, self.latest = None, UNBOUNDED, UNBOUNDED

    def send(self, number: int, m: Message) -> None:
        """Match a message that is sent with the next receipt."""
        self.sent.append((number, m))
        self._next_head()

    def pending(
        self, kind: type[Message], term: int | None = None, *, exact: bool = False
    ) -> Receipt | None:
        """The next receipt of a kind that is still to be sent; with known positions, if exact.

        None if it is of another term than a given one.
        """
        following = self._next.get((kind, exact))
        if following is None:
            following = [len(self.receipts)] * (len(self.receipts) + 1)
            self._next[kind, exact] = following
            for index in range(len(self.receipts) - 1, -1, -1):
                one = self.receipts[index]
                same = isinstance(one.message, kind) and not (exact and one.at_least)
                following[index] = index if same else following[index + 1]
        at = following[len(self.sent)]
        found = self.receipts[at] if at < len(self.receipts) else None
        if found is None or term is None:
            return found
        return found if getattr(found.message, "leadership_term_id", term) == term else None

    def put_off(self) -> None:
        """Let receipts without a line be of the last copies of their messages: what was sent before
        these can then be received first.
        """
        before = UNBOUNDED
        for place in range(len(self.sent) - 1, self.consumed - 1, -1):
            number, m = self.sent[place]
            if self.receipts[place].hidden:
                copies = (one for one in self.unclaimed if number < one[0] < before and one[1] == m)
                last = max(copies, key=itemgetter(0), default=None)
                if last is not None:
                    self.sent[place] = last
                    self.unclaimed[self.unclaimed.index(last)] = number, m
                    self.unclaimed.sort(key=itemgetter(0))
            before = self.sent[place][0]


def may_be_missing(one: Windows) -> bool:
    """Whether steps of a member are known to be missing."""
    return any(step.gap for step in one.steps)

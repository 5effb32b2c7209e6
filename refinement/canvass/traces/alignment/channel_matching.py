"""Matching of receipts to send windows, channel by channel.

A channel has one sender and one receiver. The messages of one process of the sender are received in
the order in which they were sent (FIFO), and any of them may be lost. Each process has its own
connections. So a receiver that was paused may receive messages of the sender's new process before
the rest of the old process's messages.

Each receipt gets the earliest possible place, because sending a message earlier makes no other
message impossible. Each receipt also gets a latest place. The latest place is the deadline of the
sender: until then it waits for other members. A matched channel has its receipts in the order of
their earliest places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
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
from canvass.traces.alignment.possible_steps import TICKS
from canvass.traces.alignment.replay import UNBOUNDED, PathStep, leads_closed
from canvass.traces.alignment.send_windows import AFTER, SLOTS, Windows

ROUNDS: Final = 400
"""The most rounds in which contradicting receipts are moved to later places."""

_PROCESSES: Final = frozenset({ElectionState.FOLLOWER_REPLAY, ElectionState.FOLLOWER_CATCHUP})
"""The states in which a follower processes the log up to its notified commit position."""

SCANS: Final = 20
"""The most searches through all steps of a sender for the receipts of one channel. Each receipt
without a window takes a whole search. After that number of searches, the windows of the channel's
later receipts are not searched for.
"""

ChannelKey: TypeAlias = tuple[int, int]


class Receipt(Struct):
    """A message that a member received.

    Parameters
    ----------
    step
        The index of the step that receives the message in the receiver's trajectory.
    message
        The message.
    is_inferred
        Whether the receipt is inferred: no line shows it.
    is_lower_bound
        Whether the position of its message is a lower bound.
    floor
        The place before which the sender cannot have sent the message.
    earliest, latest
        The first and the last place in the sender's trajectory at which the message can have been
        sent. The earliest is -1 if there is no place.
    """

    step: int
    message: Message
    is_inferred: bool = False
    is_lower_bound: bool = False
    floor: int = 0
    earliest: int = -1
    latest: int = -1

    def accepts(self, other: Message) -> bool:
        """Whether this can be the receipt of a message that was sent."""
        m = self.message
        if self.is_lower_bound and isinstance(other, AppendPosition | CommitPosition):
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
        The receipts that have a window, by sender and receiver.
    unmatched
        The receipts without a window: sender, receiver and receipt.
    on_way
        By sender and receiver: the receipts of messages that were sent in an earlier segment, each
        with the number of the message and the message.
    later
        The receipts whose messages may have been sent outside the lines of the sender that are in
        this segment: sender, receiver and receipt.
    """

    channels: dict[ChannelKey, list[Receipt]] = field(default_factory=dict)
    unmatched: list[tuple[int, int, Receipt]] = field(default_factory=list)
    on_way: dict[ChannelKey, list[tuple[Receipt, int, Message]]] = field(default_factory=dict)
    later: list[tuple[int, int, Receipt]] = field(default_factory=list)

    def postpone(self, ends: Mapping[int, int], unread: Collection[int], *, is_first: bool) -> None:
        """Move receipts from ``unmatched`` to ``later`` that another segment may explain.

        Parameters
        ----------
        ends
            For each member the step before which the segment ends. Its receipts from that step on
            move.
        unread
            The members whose logs have not been read to the end. Of the channels in which they are
            the senders, the receipts after the last matched one move.
        is_first
            Whether the receipts before the first matched one of each channel move, too: their
            messages may have been sent in an earlier segment.
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


def _is_open(steps: list[PathStep], index: int) -> bool:
    """Whether an inferred receipt can also have a greater position.

    A commit position cannot, if the follower then ends its replay or catch-up: the follower has
    processed the log up to exactly this position.
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
    """A member that can have sent a message, if the message does not name its sender.

    The ``likely`` senders are tried first, in their order: the leader with which the receiver last
    caught up, if the message ends a catch-up; the receiver's present leader; the leader of the
    message's term.
    """
    for i in sorted(windows, key=lambda i: [i != one for one in likely]):
        if i != j and windows[i].first(0, j, m) is not None:
            return i
    return next((i for i in likely if i not in (NULL_VALUE, j)), NULL_VALUE)


def _on_way(
    receipts: list[Receipt], sent: list[tuple[int, Message]]
) -> list[tuple[Receipt, int, Message]]:
    """The first receipts of a channel whose messages were sent in an earlier segment."""
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
    """Match the receipts of all channels, and lower the upper bounds of their senders' positions.

    ``sent`` has, for each channel, the messages of an earlier segment that are still on their way,
    with their numbers.
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
    _order_publications(windows, matching)
    for (i, j), receipts in matching.channels.items():
        matching.unmatched += [(i, j, r) for r in receipts if r.earliest < 0]
        kept = [receipt for receipt in receipts if receipt.earliest >= 0]
        kept.sort(key=lambda receipt: receipt.earliest)
        _match_latest(windows[i], j, kept)
        matching.channels[i, j] = kept
    return matching


def _after(place: int) -> int:
    """The first place at or after ``place`` that can hold another message."""
    return place if place % SLOTS == AFTER else place + 1


def match_earliest(windows: Windows, to: int, receipts: list[Receipt]) -> None:
    """Find the earliest place of each receipt of a channel, in order; -1 if a receipt has none.

    If a receipt has no place after the places of earlier receipts, its message may come from the
    sender's process before. In that process it comes after the messages that were received earlier.
    """
    place, count = 0, len(windows.steps)
    left = SCANS * (count + len(receipts))
    following: dict[int, int] = {}

    def first(receipt: Receipt, start: int, stop: int) -> int | None:
        nonlocal left
        start = max(start, receipt.floor)
        found = windows.first(start, to, receipt.message, stop)
        left -= max((stop if found is None else found // SLOTS) - start // SLOTS, 0)
        return found

    for receipt in receipts:
        receipt.earliest = -1
        if left < 0:
            continue
        found = first(receipt, place, count)
        before = windows.process_at(place // SLOTS) - 1
        if found is None and not receipt.is_inferred and before >= 0:
            steps = windows.steps_of_process(before)
            found = first(receipt, following.get(before, SLOTS * steps.start), steps.stop)
        if found is not None:
            receipt.earliest = found
            place = max(place, _after(found))
            following[windows.process_at(found // SLOTS)] = _after(found)


def _match_latest(windows: Windows, to: int, receipts: list[Receipt]) -> None:
    """Find the latest place of each receipt of a channel, in the order of their earliest places."""
    place, last = SLOTS * len(windows.steps), UNBOUNDED
    for receipt in reversed(receipts):
        if receipt.step > last:
            # It was received after messages of the next process, but its own process sends it.
            process = windows.process_at(receipt.earliest // SLOTS)
            place = min(place, SLOTS * windows.steps_of_process(process).stop - 1)
        last = min(last, receipt.step)
        found = windows.last(place, to, receipt.message)
        receipt.latest = receipt.earliest if found is None else max(found, receipt.earliest)
        place = receipt.latest if receipt.latest % SLOTS == AFTER else receipt.latest - 1


@dataclass(slots=True)
class _Observed:
    """The position up to which a leader had written at a place, as the message of a receipt shows.

    Parameters
    ----------
    place
        The place at which the leader sent the message.
    published
        The position.
    exact
        Whether the position is exact. If not, it is an upper bound.
    committed
        The leader's commit position at the place, or -1 if the message does not contain it.
    channel, index
        The channel of the receipt, and its index there.
    """

    place: int
    published: int
    exact: bool
    committed: int
    channel: ChannelKey
    index: int


def _order_publications(windows: Mapping[int, Windows], matching: Matching) -> None:
    """Move receipts to later places until the positions that leaders had written only rise.

    Notes
    -----
    A leader may have received a question several times, and may have sent an answer at each of
    these receipts. This is the only choice of a matching that matters, because the answer shows how
    far the leader had written.
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
    _bound_positions(windows, matching)


def _bound_positions(windows: Mapping[int, Windows], matching: Matching) -> None:
    """Lower the upper bounds of what leaders had written, and of what voters had copied.

    Announcements and ends of catch-ups bound the leaders' positions, votes bound the voters'.
    """
    for (i, term), found in _observed(windows, matching).items():
        for one in found:
            limits = {"publication_position": one.published}
            if one.exact:
                limits["recorded_position"] = one.published
            if one.committed >= 0:
                limits["commit_position"] = one.committed
            _bound_before(windows[i], one.place, partial(leads_closed, term=term), limits)
    for (i, _), receipts in matching.channels.items():
        for receipt in receipts:
            if isinstance(receipt.message, Vote) and receipt.earliest >= 0:
                limits = {"append_position": receipt.message.log_position}
                _bound_before(windows[i], receipt.earliest, _copies_log, limits)


def _inverted(found: list[_Observed]) -> tuple[_Observed, _Observed] | None:
    """An exact observation and a later one with a smaller position, if there is such a pair."""
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
    """For each leader and term, the positions up to which it had written, as receipts show."""
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


def _copies_log(s: Member) -> bool:
    """Whether a member copies its leader's log: it reports its append position, which grows."""
    return s.election_state is ElectionState.FOLLOWER_LOG_REPLICATION


def _bound_before(
    windows: Windows, place: int, holds: Callable[[Member], bool], limits: Mapping[str, int]
) -> None:
    """Lower the upper bounds of positions in the states before a place, as far back as ``holds``.

    In these states positions only grow, and a message that was sent at the place shows how far each
    had grown.
    """
    for at in range(place // SLOTS - 1, -1, -1):
        s, bounds = windows.steps[at].state, windows.bounds[at]
        if not holds(s):
            return
        for name, limit in limits.items():
            setattr(bounds, name, min(getattr(bounds, name), max(limit, getattr(s, name))))

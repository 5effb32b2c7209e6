"""Diagrams of runs: all events in an order of causes, and diagrams of some of them.

The order is computed from columns; only drawn events become objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, Final

import numpy as np
from msgspec import to_builtins as tree

from canvass.cluster.member import Member
from canvass.cluster.messages import Message, Record, wire_name
from canvass.lanes.model import MARKED, Diagram, Fate, LaneEvent, LaneMessage, Mark
from canvass.lanes.of_counterexample import field_changes, value_text
from canvass.traces.columns import EventColumns
from canvass.traces.schema import ACTION_NAMES, MESSAGE_INDEX, NONE, Event


def causal_order(
    starts: Sequence[int],
    time: Sequence[int],
    receives: Sequence[Hashable | None],
    sends: Sequence[Sequence[Hashable]],
) -> list[int]:
    """Put the events of several lanes in an order of causes.

    Parameters
    ----------
    starts
        The row at which each lane begins, and the number of rows.
    time
        Time of each row by its lane's own clock.
    receives
        The message that each row receives; None if it receives none.
    sends
        The messages that each row sends.

    Returns
    -------
    list of int
        All rows. An event comes after the event that sends its message, if there is one. Events
        that wait for each other in a circle are ordered by their clocks.

    Notes
    -----
    The time is that of sorting all events.
    """
    sendable = {sent for sending in sends for sent in sending}
    sent: set[Hashable] = set()
    waiting: dict[Hashable, list[int]] = {}
    blocked: set[int] = set()
    following, ends = list(starts[:-1]), starts[1:]
    ready: list[tuple[int, int, int]] = []
    order: list[int] = []

    def offer(lane: int, *, force: bool = False) -> None:
        """Make the next event of a lane ready, or let it wait for its message."""
        row = following[lane]
        if row == ends[lane]:
            return
        wanted = receives[row]
        if wanted is None or wanted in sent or wanted not in sendable or force:
            blocked.discard(lane)
            # If times are equal, lanes alternate, so lanes without clocks advance together.
            heappush(ready, (time[row], row - starts[lane], lane))
        else:
            blocked.add(lane)
            waiting.setdefault(wanted, []).append(lane)

    for lane in range(len(ends)):
        offer(lane)
    while ready or blocked:
        if not ready:
            first = min(blocked, key=lambda lane: (time[following[lane]], lane))
            offer(first, force=True)
            continue
        _, _, lane = heappop(ready)
        row = following[lane]
        order.append(row)
        following[lane] += 1
        for message in sends[row]:
            sent.add(message)
            for other in waiting.pop(message, ()):
                if other in blocked:
                    offer(other)
        offer(lane)
    return order


_FIRST_SHOWN: Final = (
    "electionState",
    "role",
    "moduleState",
    "leaderMemberId",
    "leadershipTermId",
    "candidateTermId",
    "commitPosition",
    "appendPosition",
    "recordedPosition",
)
"""The most important fields; the others follow in the order of the format."""


class FieldChange(Record, frozen=True):
    """A field whose value differs before and after a step."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        """Write the change on one line."""
        return f"{self.field}: {self.before} → {self.after}"


def state_changes(before: Member, after: Member) -> tuple[FieldChange, ...]:
    """Give the fields in which two states differ, the most important ones first."""
    if before == after:
        return ()
    pairs = field_changes(tree(before), tree(after))
    found = {path: FieldChange(path, was, now) for path, was, now in pairs}
    return tuple(found[path] for path in dict.fromkeys((*_FIRST_SHOWN, *found)) if path in found)


def _message_text(message: Message) -> str:
    fields = {name: value for name, value in tree(message).items() if name != "type"}
    return ", ".join(f"{name}={value_text(value)}" for name, value in fields.items())


_ID: Final = MESSAGE_INDEX["id"]
_PEER: Final = MESSAGE_INDEX["peer"]


class RunLanes:
    """The events of one run in an order of causes.

    Parameters
    ----------
    columns
        All events of one run, without a context row.

    Attributes
    ----------
    rows
        Rows of the columns in an order of causes.
    place
        The place of each row in that order.
    """

    def __init__(self, columns: EventColumns) -> None:
        self.columns = columns
        member = columns.member
        self._starts = np.searchsorted(member, np.arange(columns.member_count + 1)).tolist()
        self._received: list[int] = columns.message[:, _ID].tolist()
        offsets: list[int] = columns.send_offsets.tolist()
        sent: list[int] = columns.sends[:, _ID].tolist()
        sends = [sent[a:b] for a, b in pairwise(offsets)]
        steps = columns.step
        self._whole = [
            end > start and int(steps[start]) == 0 and int(steps[end - 1]) == end - start - 1
            for start, end in pairwise(self._starts)
        ]
        wanted = [None if one == NONE else one for one in self._received]
        self.rows = causal_order(self._starts, columns.time_ns.tolist(), wanted, sends)
        self.place = [0] * len(self.rows)
        for place, row in enumerate(self.rows):
            self.place[row] = place
        self._sender = {one: row for row, sending in enumerate(sends) for one in sending}
        self._receiver: dict[int, int] = {}
        for row, one in enumerate(self._received):
            if one != NONE:
                self._receiver.setdefault(one, row)

    def row_of(self, member: int, step: int) -> int | None:
        """Give the row of a member's step; None if the run does not have the step."""
        if not 0 <= member < self.columns.member_count:
            return None
        start, end = self._starts[member], self._starts[member + 1]
        row = start + int(np.searchsorted(self.columns.step[start:end], step))
        return row if row < end and int(self.columns.step[row]) == step else None

    def _is_whole(self, member: int) -> bool:
        """Tell whether a stream begins at step 0 and has no gap."""
        return 0 <= member < len(self._whole) and self._whole[member]

    def sender_of(self, row: int) -> int | None:
        """Give the row of the event that sent the message that an event receives, or None."""
        return self._sender.get(self._received[row])

    def leading_to(self, row: int, count: int) -> list[int]:
        """Give the rows of the last ``count`` causes of an event, and its own row, in order."""
        first = self.place[row]
        heap, seen = [-first], {first}
        found: list[int] = []
        while heap and len(found) <= count:
            place = -heappop(heap)
            found.append(self.rows[place])
            for cause in self._causes(self.rows[place]):
                # In a circle, a cause may come after its effect. It is left out.
                if self.place[cause] < place and self.place[cause] not in seen:
                    seen.add(self.place[cause])
                    heappush(heap, -self.place[cause])
        return found[::-1]

    def _causes(self, row: int) -> list[int]:
        before = int(self.columns.predecessor[row])
        sender = self.sender_of(row)
        return [one for one in (before, sender) if one is not None and one >= 0]

    def diagram(
        self,
        rows: Sequence[int],
        *,
        marks: Mapping[int, str] | None = None,
    ) -> Diagram:
        """Draw some events.

        Parameters
        ----------
        rows
            Rows of the columns, in the order of the diagram.
        marks
            Rows at which the run diverges, with the remark for each.
        """
        number = {row: place for place, row in enumerate(rows)}
        events = []
        messages: list[LaneMessage] = []
        before = self.place[rows[0]] if len(rows) else 0
        last = before - 1
        for row in rows:
            event = self.columns.event(row)
            skipped = max(0, self.place[row] - last - 1)
            last = self.place[row]
            events.append(self._event(row, event, skipped, marks or {}))
            messages += self._messages(row, event, number)
        return Diagram(
            lanes=tuple(f"member {member}" for member in range(self.columns.member_count)),
            events=tuple(events),
            messages=tuple(messages),
            before=before,
            after=len(self.rows) - 1 - last,
        )

    def _event(self, row: int, event: Event, skipped: int, marks: Mapping[int, str]) -> LaneEvent:
        member = int(self.columns.member[row])
        before = int(self.columns.predecessor[row])
        changes: tuple[str, ...]
        if before >= 0:
            found = state_changes(self.columns.event(before).state, event.state)
            changes = tuple(str(change) for change in found)
        else:
            changes = (f"electionState: {event.state.election_state.value}",)
        mark, remark = self._mark(row, event, before)
        if row in marks:
            mark, remark = Mark.DIVERGES, marks[row]
        return LaneEvent(
            lane=member,
            title=ACTION_NAMES[int(self.columns.action[row])],
            reference=f"{member}:{event.step}",
            given=_given(event),
            changes=changes,
            mark=mark,
            remark=remark,
            skipped=skipped,
        )

    def _mark(self, row: int, event: Event, before: int) -> tuple[Mark | None, str]:
        if before < 0 and event.step:
            starts = row == self._starts[int(self.columns.member[row])]
            due = 0 if starts else int(self.columns.step[row - 1]) + 1
            if due + 1 == event.step:
                return Mark.GAP, f"step {due} is missing"
            return Mark.GAP, f"steps {due} to {event.step - 1} are missing"
        if event.action.value == "Restart" and not event.step:
            return None, ""
        return MARKED.get(event.action.value, (None, ""))

    def _messages(self, row: int, event: Event, number: Mapping[int, int]) -> list[LaneMessage]:
        """Give the messages that an event sends, and a received one that no drawn event sends."""
        member = int(self.columns.member[row])
        found: list[LaneMessage] = []

        def draw(message: Message, sender: int, receiver: int, **more: Any) -> None:
            found.append(
                LaneMessage(
                    name=type(message).__name__,
                    sender=sender,
                    receiver=receiver,
                    text=_message_text(message),
                    **more,
                )
            )

        first = int(self.columns.send_offsets[row])
        for place, send in enumerate(event.sends):
            receiver = self._receiver.get(int(self.columns.sends[first + place, _ID]))
            if receiver is not None and int(self.columns.member[receiver]) != send.to:
                receiver = None
            fate = Fate.LOST if receiver is None and self._is_whole(send.to) else Fate.DELIVERED
            taken = None if receiver is None else number.get(receiver)
            draw(send.message, member, send.to, sent=number[row], received=taken, fate=fate)
        given = event.input
        sender = self.sender_of(row)
        again = self._receiver.get(self._received[row]) != row
        is_sent = sender in number and self._goes_to(sender, self._received[row]) == member
        is_sent &= not again
        if given.message is not None and not is_sent:
            unsent = again or (sender is None and self._is_whole(given.from_))
            fate = Fate.UNSENT if unsent else Fate.DELIVERED
            draw(given.message, given.from_, member, received=number[row], fate=fate)
        return found

    def _goes_to(self, row: int | None, identity: int) -> int:
        """Give the receiver of the message ``identity`` in the sends of an event."""
        if row is None:
            return NONE
        start, end = (int(self.columns.send_offsets[row + k]) for k in (0, 1))
        for send in self.columns.sends[start:end].tolist():
            if send[_ID] == identity:
                return int(send[_PEER])
        return NONE


def _given(event: Event) -> str:
    """Write the input of an event, without its message."""
    given = event.input
    names = ("position", "leadership_term_id", "term_base_log_position")
    values = ((wire_name(name), getattr(given, name)) for name in names)
    found = [f"{name}={value}" for name, value in values if value != NONE]
    found += [name for name in ("timeout", "interval") if getattr(given, name)]
    return ", ".join(found)

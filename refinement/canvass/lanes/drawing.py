"""Diagrams of behaviours of `Cluster.tla`, and of runs: steps of members, and messages.

In a behaviour, states are trees of JSON values with the variables ``member`` and ``channel``, and
perhaps ``log`` and ``hist``. Channels are queues: the oldest message leaves first.

A diagram of a run has all its events in an order of causes, or some of them. The order is computed
from columns; only drawn events become objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, Final

import numpy as np
from msgspec import to_builtins as tree
from msgspec.structs import replace

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE, Message, Record, wire_name
from canvass.lanes.diagram import ABSENT, MARKED, Diagram, Fate, LaneEvent, LaneMessage, Mark
from canvass.traces.columns import EventColumns
from canvass.traces.schema import ACTION_NAMES, MESSAGE_INDEX, NONE, Event

Tree = dict[str, Any]
_PREFIXES: Final = ("RE", "TE", "Take")
"""Prefixes of action names in `MCReduction`, `MCTwoElections` and `Cluster`."""
LOSE: Final = "Lose"
"""Prefix of the actions that lose a message."""
_MARKS: Final = {**MARKED, "RestartMember": MARKED["Restart"]}
_FIRST_OF_BEHAVIOUR: Final = (
    "electionState",
    "role",
    "log",
    "committed",
    "commitPosition",
    "persistedCandidateTermId",
    "leadershipTermId",
    "logLeadershipTermId",
)
"""The most important fields; the others follow in the order of the state."""
_MAX_CHANGES: Final = 3
"""Maximum number of changes of a step in lanes. The counterexample without lanes has all."""


# --- behaviours -----------------------------------------------------------------------------------


class FieldChange(Record, frozen=True):
    """A field whose value differs before and after a step."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        """Write the change on one line."""
        return f"{self.field}: {self.before} → {self.after}"


def _in_order(found: dict[str, tuple[str, str]], first: Sequence[str]) -> Iterator[FieldChange]:
    """Give changes by their paths: those of the ``first`` paths, then the others."""
    for path in dict.fromkeys((*first, *found)):
        if path in found:
            yield FieldChange(path, *found[path])


def _contents(message: Tree) -> str:
    """Write the fields of a message beside its type."""
    fields = (f"{name}={value_text(one)}" for name, one in message.items() if name != "type")
    return ", ".join(fields)


def cluster_diagram(
    states: Sequence[Tree], actions: Sequence[str], claim: str = ""
) -> Diagram | None:
    """Draw a behaviour; None if its states are not states of a cluster.

    Event ``k`` leads to ``states[k + 1]``.
    """
    if not states or not all(map(is_cluster, states)):
        return None
    lanes = list(states[0]["member"])
    if any(list(state["member"]) != lanes for state in states):
        return None
    drawing = _Drawing({name: lane for lane, name in enumerate(lanes)}, states[0])
    for (before, after), action in zip(pairwise(states), actions[1:], strict=True):
        drawing.step(before, after, action)
    drawing.end()
    if claim and drawing.events:
        drawing.events[-1] = replace(
            drawing.events[-1], mark=Mark.DIVERGES, remark=_violates(claim)
        )
    return Diagram(
        lanes=tuple(f"member {name}" for name in lanes),
        events=tuple(drawing.events),
        messages=tuple(drawing.messages),
    )


class _Drawing:
    """The events and messages so far, and the messages under way."""

    def __init__(self, lane_of: dict[str, int], first: Tree) -> None:
        self.events: list[LaneEvent] = []
        self.messages: list[LaneMessage] = []
        self._lane_of = lane_of
        self._waiting: dict[tuple[str, str], list[LaneMessage]] = {
            (i, j): [self._message(i, j, one, None) for one in queue]
            for i, queues in first["channel"].items()
            for j, queue in queues.items()
        }

    def _message(self, i: str, j: str, content: Any, sent: int | None) -> LaneMessage:
        fields = content if isinstance(content, dict) else {"value": content}
        return LaneMessage(
            name=str(fields.get("type", "message")),
            sender=self._lane_of[i],
            receiver=self._lane_of[j],
            sent=sent,
            text=_contents(fields),
        )

    def step(self, before: Tree, after: Tree, action: str) -> None:
        """Draw one step."""
        number = len(self.events)
        moves = list(moved(before["channel"], after["channel"]))
        aside: list[str] = []
        for i, j, gone, _ in moves:
            waiting = self._waiting.setdefault((i, j), [])
            left, waiting[:gone] = waiting[:gone], []
            if is_received(action, gone):
                self.messages.append(replace(left.pop(), received=number))
            self.messages += [replace(message, fate=Fate.LOST) for message in left]
            if not _is_restart(action):
                aside += [f"{message.name} of member {i} is lost" for message in left]
        for i, j, _, new in moves:
            self._waiting[i, j] += [self._message(i, j, one, number) for one in new]
        self.events.append(replace(self._event(before, after, action), aside=tuple(aside)))

    def end(self) -> None:
        """Draw the messages that are under way at the end."""
        for waiting in self._waiting.values():
            self.messages += [one for one in waiting if one.sent is not None]

    def _event(self, before: Tree, after: Tree, action: str) -> LaneEvent:
        member = acting_member(before, after, action)
        changes = list(_changes(before, after, member))
        if len(changes) > _MAX_CHANGES:
            changes[_MAX_CHANGES:] = [f"and {len(changes) - _MAX_CHANGES} more"]
        mark, remark = _MARKS.get(action_name(action), (None, ""))
        return LaneEvent(
            lane=self._lane_of[member],
            title=action_title(action) or "step",
            reference=str(len(self.events) + 2),
            changes=tuple(changes),
            mark=mark,
            remark=remark,
        )


def _changes(before: Tree, after: Tree, member: str) -> Iterator[str]:
    """Give the changes of the member, of its log and of the committed log."""
    old, new = (dict(state["member"].get(member, {})) for state in (before, after))
    found = {path: (was, now) for path, was, now in field_changes(old, new)}
    for path, variable, part in (("log", "log", member), ("committed", "hist", "committed")):
        was, now = (_state_part(state, variable, part) for state in (before, after))
        if was != now:
            found[path] = (value_text(was), value_text(now))
    yield from map(str, _in_order(found, _FIRST_OF_BEHAVIOUR))


def _state_part(state: Tree, variable: str, name: str) -> Any:
    """Give one field or argument of a variable; None if there is none."""
    value = state.get(variable)
    return value.get(name) if isinstance(value, dict) else None


def _violates(claim: str) -> str:
    """Write the violation with the verb first: a narrow lane breaks the line after the verb."""
    name = claim.removesuffix(" is violated")
    return claim if name == claim else f"violates {name}"


def is_cluster(state: Tree) -> bool:
    """Tell whether a state has members, and queues of messages between them."""
    members, channels = state.get("member"), state.get("channel")
    return (
        isinstance(members, dict)
        and len(members) > 0
        and isinstance(channels, dict)
        and all(isinstance(one, dict) for one in members.values())
        and channels.keys() <= members.keys()
        and all(
            isinstance(queues, dict)
            and queues.keys() <= members.keys()
            and all(isinstance(queue, list) for queue in queues.values())
            for queues in channels.values()
        )
    )


def action_name(action: str) -> str:
    """Name the action of the member in an action of the cluster, without arguments."""
    return action_title(action).partition("(")[0]


def action_title(action: str) -> str:
    """Give an action of the cluster without its prefixes."""
    for prefix in _PREFIXES:
        action = action.removeprefix(prefix)
    return action


def _is_restart(action: str) -> bool:
    return _MARKS.get(action_name(action)) == MARKED["Restart"]


def is_received(action: str, gone: int) -> bool:
    """Tell whether a step received the last of the ``gone`` messages that left a channel.

    The other messages that left were lost. A restart and a loss receive no message.
    """
    return gone > 0 and not _is_restart(action) and not action.startswith(LOSE)


def moved(before: Tree, after: Tree) -> Iterator[tuple[str, str, int, list[Any]]]:
    """Give sender, receiver, number of removed messages and added messages of changed channels."""
    for i, queues in after.items():
        for j, new in queues.items():
            old = before.get(i, {}).get(j, [])
            if old == new:
                continue
            gone = next(
                gone for gone in range(len(old) + 1) if old[gone:] == new[: len(old) - gone]
            )
            yield i, j, gone, new[len(old) - gone :]


def acting_member(before: Tree, after: Tree, action: str) -> str:
    """Name the member that took a step: the receiver, else a changed member, else a sender."""
    members: Tree = after["member"]
    moves = list(moved(before["channel"], after["channel"]))
    changed = [name for name, one in members.items() if before["member"].get(name) != one]
    taken = [j for _, j, gone, _ in moves if gone]
    if taken and (action.startswith(LOSE) or not changed or taken[0] in changed):
        return taken[0]
    sent = [i for i, _, _, new in moves if new]
    return next(iter([*changed, *sent, *taken, *members]))


def value_text(value: Any) -> str:
    """Write a value of a tree on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return str(value)


def part_path(path: str, name: str) -> str:
    """Give the path of a part of a value: ``members[0]`` of a function, ``role`` of a record."""
    if not name.isidentifier():
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Give path, value before and value after of each difference of two trees of JSON values."""
    old, new = _parts(before), _parts(after)
    if old is None or new is None or isinstance(before, dict) != isinstance(after, dict):
        if before != after or type(before) is not type(after):
            yield path, value_text(before), value_text(after)
        return
    for key in dict.fromkeys((*old, *new)):
        name = part_path(path, str(key))
        if key in old and key in new:
            yield from field_changes(old[key], new[key], name)
        else:
            was, now = (value_text(one[key]) if key in one else ABSENT for one in (old, new))
            yield name, was, now


def _parts(value: Any) -> dict[Any, Any] | None:
    """The parts of a function, record or sequence by their names; None of another value."""
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else None


def message_text(content: object) -> str:
    """Write a message: its type, then its fields."""
    if not isinstance(content, dict) or "type" not in content:
        return value_text(content)
    fields = (f"{name} {value_text(one)}" for name, one in content.items() if name != "type")
    return f"{content['type']}({', '.join(fields)})"


def beginning(first: Tree) -> Iterator[str]:
    """Describe the initial state of a cluster: members, committed log, messages under way."""
    for i, member in first["member"].items():
        yield f"member {i} starts as {_member(member, _state_part(first, 'log', i) or [])}"
    committed = _state_part(first, "hist", "committed")
    if committed is not None:
        yield f"committed at the start: {value_text(committed)}"
    for i, queues in first["channel"].items():
        for j, queue in queues.items():
            if queue:
                named = ", ".join(str(one.get("type")) for one in queue)
                yield f"under way at the start from member {i} to member {j}: {named}"


def _member(member: Tree, log: list[int]) -> str:
    """Describe the initial state of a member: its terms as ``id[base, end)``."""
    terms = [
        f"{entry['leadershipTermId']}[{entry['termBaseLogPosition']},"
        f"{'-' if entry['logPosition'] == NULL_VALUE else entry['logPosition']})"
        for entry in member.get("recordingLog", ())
    ]
    parts = [f"{member.get('electionState')} {member.get('role')}"]
    parts += [f"commitPosition {member.get('commitPosition')}", f"log {value_text(log)}"]
    return ", ".join([*parts, f"recordingLog {' '.join(terms) or '[]'}"])


# --- runs -----------------------------------------------------------------------------------------


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


_FIRST_OF_RUN: Final = (
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


def state_changes(before: Member, after: Member) -> tuple[FieldChange, ...]:
    """Give the fields in which two states differ, the most important ones first."""
    if before == after:
        return ()
    pairs = field_changes(tree(before), tree(after))
    return tuple(_in_order({path: (was, now) for path, was, now in pairs}, _FIRST_OF_RUN))


_ID: Final = MESSAGE_INDEX["id"]
_PEER: Final = MESSAGE_INDEX["peer"]
_UNSENT: Final[tuple[int | None, int]] = (None, NONE)
"""The sending row and the receiver of a message that no event sends."""


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
        # The members whose streams begin at step 0 and have no gap.
        self._whole = {
            lane
            for lane, (start, end) in enumerate(pairwise(self._starts))
            if end > start and int(steps[start]) == 0 and int(steps[end - 1]) == end - start - 1
        }
        wanted = [None if one == NONE else one for one in self._received]
        self.rows = causal_order(self._starts, columns.time_ns.tolist(), wanted, sends)
        self.place = [0] * len(self.rows)
        for place, row in enumerate(self.rows):
            self.place[row] = place
        peers: list[int] = columns.sends[:, _PEER].tolist()
        sending = [row for row, (a, b) in enumerate(pairwise(offsets)) for _ in range(a, b)]
        self._sender = dict(zip(sent, zip(sending, peers, strict=True), strict=True))
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
        sender, _ = self._sender.get(self._received[row], _UNSENT)
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
                    text=_contents(tree(message)),
                    **more,
                )
            )

        first = int(self.columns.send_offsets[row])
        for place, send in enumerate(event.sends):
            receiver = self._receiver.get(int(self.columns.sends[first + place, _ID]))
            if receiver is not None and int(self.columns.member[receiver]) != send.to:
                receiver = None
            fate = Fate.LOST if receiver is None and send.to in self._whole else Fate.DELIVERED
            taken = None if receiver is None else number.get(receiver)
            draw(send.message, member, send.to, sent=number[row], received=taken, fate=fate)
        given = event.input
        sender, to = self._sender.get(self._received[row], _UNSENT)
        again = self._receiver.get(self._received[row]) != row
        is_sent = sender in number and to == member and not again
        if given.message is not None and not is_sent:
            unsent = again or (sender is None and given.from_ in self._whole)
            fate = Fate.UNSENT if unsent else Fate.DELIVERED
            draw(given.message, given.from_, member, received=number[row], fate=fate)
        return found


def _given(event: Event) -> str:
    """Write the input of an event, without its message."""
    given = event.input
    names = ("position", "leadership_term_id", "term_base_log_position")
    values = ((wire_name(name), getattr(given, name)) for name in names)
    found = [f"{name}={value}" for name, value in values if value != NONE]
    found += [name for name in ("timeout", "interval") if getattr(given, name)]
    return ", ".join(found)

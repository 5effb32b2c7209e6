"""What explains a divergence that is no single step: the message that nobody sent, beside the
nearest one that was sent; and of a broken promise, where each member stood.

Nothing is decided here: what is wrong was found by `canvass.conformance`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from canvass.browser import api
from canvass.browser.runs import OpenRun
from canvass.browser.tracks import DOWN, ENDED
from canvass.cluster.messages import Message, Vote
from canvass.cluster.names import wire_name
from canvass.conformance.differences import Difference
from canvass.conformance.verdict import MESSAGE_CAUSALITY, Divergence, DivergenceClass
from canvass.lanes.of_run import value_text
from canvass.traces.layout import MESSAGE_INDEX

MAX_LEVELS: Final = 9


def receipt_of(opened: OpenRun, divergence: Divergence) -> api.Receipt | None:
    """Set a message that nobody sent beside the nearest one that its sender did send."""
    if divergence.name != MESSAGE_CAUSALITY:
        return None
    row = opened.loaded.row_of(divergence.member, divergence.step)
    event = opened.loaded.columns.event(row)
    message, sender = event.input.message, event.input.from_
    if message is None:
        return None
    who = f"member {divergence.member}"
    kind = _named(message)
    nearest = _nearest(opened, sender, divergence.member, message)
    rows: tuple[Difference, ...] = ()
    if nearest is None:
        text = f"Member {sender} never sent {who} a {kind[0]}."
    else:
        near, at = nearest
        rows = tuple(_compared(message, near))
        what = "the same" if not rows else " ".join(_named(near))
        text = (
            f"Nearest that member {sender} did send to {who}: {what}, at {_place(opened, at)}."
            if rows
            else f"Member {sender} sent a message with the same contents at {_place(opened, at)},"
            f" under another id or at another time."
        )
    return api.Receipt(
        received=f"Member {divergence.member} received {' '.join(kind)} from member {sender}"
        f" at {_place(opened, row)}, as message {event.input.id or '?'}.",
        nearest=text,
        nearest_event=None if nearest is None else opened.lanes.place[nearest[1]],
        rows=rows,
    )


def _named(message: Message) -> tuple[str, ...]:
    """Name a message as people do: its kind, a vote's answer, its term."""
    name = type(message).__name__
    if isinstance(message, Vote):
        name = f"Vote({'yes' if message.vote else 'no'})"
    for field in ("candidate_term_id", "leadership_term_id"):
        if hasattr(message, field):
            return name, f"in term {getattr(message, field)}"
    return (name,)


def _place(opened: OpenRun, row: int) -> str:
    when = opened.when(row)
    columns = opened.loaded.columns
    step = f"step {int(columns.step[row])}"
    return f"{when.time} ({', '.join(one for one in (step, when.place) if one)})"


def _nearest(
    opened: OpenRun, sender: int, receiver: int, message: Message
) -> tuple[Message, int] | None:
    """Find the send that differs in the fewest fields, the last of them."""
    columns = opened.loaded.columns
    events = np.flatnonzero(columns.member == sender)
    best: tuple[int, int, Message] | None = None
    for row in events.tolist():
        first, last = int(columns.send_offsets[row]), int(columns.send_offsets[row + 1])
        if first == last:
            continue
        if not (columns.sends[first:last, MESSAGE_INDEX["peer"]] == receiver).any():
            continue
        for send in columns.event(row).sends:
            if send.to != receiver or type(send.message) is not type(message):
                continue
            differing = len(list(_compared(message, send.message)))
            if best is None or differing <= best[0]:
                best = differing, row, send.message
    return None if best is None else (best[2], best[1])


def _compared(received: Message, sent: Message) -> Iterator[Difference]:
    for name in received.__struct_fields__:
        seen, there = getattr(received, name), getattr(sent, name)
        if seen != there:
            yield Difference(
                field=wire_name(name),
                before="",
                observed=value_text(seen),
                allowed=value_text(there),
            )


def levels_of(opened: OpenRun, divergence: Divergence) -> tuple[api.MemberLevel, ...]:
    """Say where each member stood after the step that breaks a promise."""
    if divergence.kind is not DivergenceClass.SAFETY_PROPERTY:
        return ()
    number = opened.number_of(divergence.member, divergence.step) or 0
    found = []
    for place in opened.members_at(number).members[:MAX_LEVELS]:
        row = opened.last_row(place.member, number)
        if row is None:
            continue
        state = opened.loaded.columns.event(row).state
        terms = [
            f"{one.leadership_term_id} from {one.term_base_log_position}"
            for one in state.recording_log
        ]
        doing = {DOWN: "down", ENDED: "no further events"}.get(place.status)
        if doing is None and place.leads is not None:
            doing = f"leads term {place.leads}"
        found.append(
            api.MemberLevel(
                member=place.member,
                state=doing or f"{place.election_state} {place.role}",
                log_end=str(state.recorded_position),
                terms=", ".join(terms) or "none",
                committed=str(state.commit_position),
                event=opened.lanes.place[row],
            )
        )
    return tuple(found)

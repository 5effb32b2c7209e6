"""A run, opened: its events in an order of causes, and windows of them for the page.

Whether it conforms is found out in `canvass.browser.verdicts`; here nothing is checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.limits import LANE_EVENTS, bounded, shortened
from canvass.cluster.member import Member
from canvass.cluster.messages import Message
from canvass.conformance.diagnose import LoadedRun, load
from canvass.lanes.changes import state_changes
from canvass.lanes.model import Diagram
from canvass.lanes.of_run import RunLanes
from canvass.traces.layout import ACTION_NAMES, STATE_ENUMS, STATE_INDEX
from canvass.traces.schema import Run

_ELECTION: Final = STATE_ENUMS["election_state"]
_ROLE: Final = STATE_ENUMS["role"]


class OpenRun:
    """One run of a folder or of a data set, read whole.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Which run of it.

    Raises
    ------
    TraceError
        If it is no trace.
    KeyError
        If it has no events.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self.loaded: LoadedRun = load(path, run_id)
        self.lanes = RunLanes(self.loaded.columns)
        rows = np.array(self.lanes.rows, dtype=np.int64)
        member = self.loaded.columns.member[rows]
        self.places: list[NDArray[np.int64]] = [
            np.flatnonzero(member == k) for k in range(self.run.member_count)
        ]

    @property
    def run(self) -> Run:
        """What ``run.json`` says."""
        return self.loaded.run

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self.lanes.rows)

    def members(self) -> tuple[api.MemberInfo, ...]:
        """Tell how far each member went."""
        steps = self.loaded.columns.step
        return tuple(
            api.MemberInfo(
                id=member,
                steps=int(steps[self.lanes.rows[int(places[-1])]]) + 1 if len(places) else 0,
                events=len(places),
            )
            for member, places in enumerate(self.places)
        )

    def number_of(self, member: int, step: int) -> int | None:
        """Give the place of a step in the order of causes."""
        row = self.lanes.row_of(member, step)
        return None if row is None else self.lanes.place[row]

    def members_at(self, number: int) -> api.MembersAt:
        """Tell where each member is after an event."""
        columns = self.loaded.columns
        found = []
        for member, places in enumerate(self.places):
            last = int(np.searchsorted(places, number, side="right")) - 1
            if last < 0:
                found.append(api.MemberAt(member=member, election_state="", role="", step=-1))
                continue
            row = self.lanes.rows[int(places[last])]
            state = columns.state[row]
            found.append(
                api.MemberAt(
                    member=member,
                    election_state=_ELECTION[int(state[STATE_INDEX["election_state"]])].value,
                    role=_ROLE[int(state[STATE_INDEX["role"]])].value,
                    step=int(columns.step[row]),
                )
            )
        return api.MembersAt(at=number, total=self.total, members=tuple(found))

    def window(self, start: int, count: int, marks: dict[int, str]) -> api.Lanes:
        """Draw some events; ``marks`` says of rows what is wrong there."""
        rows = self.lanes.rows[start : start + min(count, LANE_EVENTS)]
        drawn = lanes_of(self.lanes.diagram(rows, marks=marks), start, self.total)
        state = self.loaded.columns.state[rows, STATE_INDEX["election_state"]].tolist()
        events = tuple(
            msgspec.structs.replace(event, election_state=_ELECTION[code].value)
            for event, code in zip(drawn.events, state, strict=True)
        )
        # The diagram counts what is around its own events; of none, everything would come after.
        end = start + len(rows)
        return msgspec.structs.replace(
            drawn, events=events, before=min(start, self.total), after=max(0, self.total - end)
        )

    def step(self, row: int, divergence: str) -> api.StepView:
        """Tell everything of one step but where it lies in a graph."""
        columns = self.loaded.columns
        event = columns.event(row)
        before = None
        if int(self.loaded.states.before[row]) >= 0:
            before = self.loaded.step(row).before
        changes = () if before is None else changes_of(before, event.state)
        return api.StepView(
            member=int(columns.member[row]),
            step=event.step,
            event_number=self.lanes.place[row],
            action=ACTION_NAMES[int(columns.action[row])],
            time_ns=str(event.time_ns),
            input=tree_of(event.input),
            sends=tree_of(event.sends),
            before=None if before is None else tree_of(before),
            after=tree_of(event.state),
            changes=changes,
            graph=None,
            graph_pending=False,
            divergence=divergence,
        )


def tree_of(value: Any) -> Any:
    """Give a part of a trace as a tree of plain JSON values; messages have their types."""
    if isinstance(value, Message):
        return {"type": type(value).__name__, **bounded(msgspec.to_builtins(value))}
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {one.encode_name: tree_of(getattr(value, one.name)) for one in fields}
    if isinstance(value, tuple):
        return [tree_of(one) for one in value]
    return bounded(msgspec.to_builtins(value))


def changes_of(before: Member, after: Member) -> tuple[api.FieldChange, ...]:
    """Tell what a step changed."""
    return tuple(
        api.FieldChange(path=one.field, before=shortened(one.before), after=shortened(one.after))
        for one in state_changes(before, after)
    )


def lanes_of(diagram: Diagram, start: int, total: int) -> api.Lanes:
    """Give a diagram in the form of the page; its events have the numbers from ``start`` on."""
    return api.Lanes(
        lanes=tuple(shortened(name) for name in diagram.lanes),
        events=tuple(
            api.LaneEvent(
                number=start + place,
                lane=event.lane,
                title=shortened(event.title),
                reference=shortened(event.reference),
                given=shortened(event.given),
                aside=tuple(map(shortened, event.aside)),
                changes=tuple(map(shortened, event.changes)),
                mark=None if event.mark is None else event.mark.value,
                remark=shortened(event.remark),
                skipped=event.skipped,
            )
            for place, event in enumerate(diagram.events)
        ),
        messages=tuple(
            api.LaneMessage(
                name=shortened(one.name),
                sender=one.sender,
                receiver=one.receiver,
                sent=one.sent,
                received=one.received,
                fate=one.fate.value,
                text=shortened(one.text),
            )
            for one in diagram.messages
        ),
        before=diagram.before,
        after=diagram.after,
        total=total,
    )

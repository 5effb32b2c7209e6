"""Hypothesis strategies of trace events, and small steps for tests of traces."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from canvass.cluster.member import (
    NULL_RECORD,
    ElectionState,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import MESSAGE_TYPES
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.schema import (
    MAX_ID_DIGITS,
    MAX_INT,
    MIN_INT,
    Event,
    Input,
    LogChecksum,
    Run,
    Send,
    Source,
)

INT64 = st.one_of(
    st.integers(-1, 3),
    st.integers(MIN_INT, MAX_INT),
    st.sampled_from((MIN_INT, MAX_INT, 1 << 32, -(1 << 31) - 1)),
)
TEXT = st.text(max_size=20).map(lambda text: text.replace("\0", "?"))
OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "Int64": INT64,
    "bool": st.booleans(),
    "ModuleState": st.sampled_from(ModuleState),
    "Role": st.sampled_from(Role),
    "ElectionState": st.sampled_from(ElectionState),
}


def structs(kind: type[Any], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a Struct, its fields by their annotated types or as given."""
    fields = {
        name: given[name] if name in given else OF_TYPE[kind.__annotations__[name]]
        for name in kind.__struct_fields__
    }
    return st.builds(kind, **fields)


def message_ids(sender: int) -> st.SearchStrategy[str]:
    """Ids of messages of one member."""
    return st.integers(0, 10**MAX_ID_DIGITS - 1).map(lambda number: f"{sender}:{number}")


MESSAGES = st.one_of([structs(kind) for kind in MESSAGE_TYPES])


def states(member_count: int) -> st.SearchStrategy[Member]:
    """Member states of any content."""
    return structs(
        Member,
        members=st.lists(structs(MemberRecord), min_size=member_count, max_size=member_count).map(
            tuple
        ),
        recording_log=st.lists(structs(TermEntry), max_size=3).map(tuple),
    )


@st.composite
def inputs(draw: st.DrawFn, action: Action, member_count: int) -> Input:
    """Inputs that an action may consume."""
    members = st.integers(0, member_count - 1)
    sets = st.sets(members).map(lambda chosen: tuple(sorted(chosen)))
    facts: dict[str, Any] = {
        "interval": draw(st.booleans()),
        "commit_interval": draw(st.booleans()),
        "timeout": draw(st.booleans()),
        "active": draw(sets),
        "accepted": draw(sets),
        "position": draw(INT64),
        "leadership_term_id": draw(INT64),
        "term_base_log_position": draw(INT64),
        "graceful_closed_leader_id": draw(INT64),
    }
    if (kind := ACTION_INPUTS[action].message) is not None:
        sender = draw(members)
        facts |= {"from_": sender, "id": draw(message_ids(sender)), "message": draw(structs(kind))}
    return Input(**facts)


SOURCES = st.builds(
    Source,
    file=TEXT,
    lines=st.lists(st.integers(1, MAX_INT), max_size=3).map(tuple),
    observed=st.lists(TEXT, max_size=3).map(tuple),
)


@st.composite
def events(
    draw: st.DrawFn, member_id: int = 0, member_count: int = 3, step: int | None = None
) -> Event:
    """Events of any content that a reader accepts."""
    action = draw(st.sampled_from(Action))
    sends = st.builds(
        Send,
        to=st.integers(0, member_count - 1),
        id=message_ids(member_id),
        message=MESSAGES,
    )
    checksums = st.builds(
        LogChecksum,
        position=INT64,
        checksum=st.integers(0, (1 << 64) - 1).map(lambda value: f"{value:016x}"),
    )
    return Event(
        step=draw(st.integers(0, MAX_INT)) if step is None else step,
        time_ns=draw(INT64),
        action=action,
        input=draw(inputs(action, member_count)),
        sends=draw(st.lists(sends, max_size=3).map(tuple)),
        state=draw(states(member_count)),
        log_checksums=draw(st.lists(checksums, max_size=2).map(tuple)),
        source=draw(st.none() | SOURCES),
    )


@st.composite
def streams(
    draw: st.DrawFn, member_id: int = 0, member_count: int = 3, max_size: int = 6
) -> list[Event]:
    """Streams of events with ascending steps and, now and then, a gap."""
    step, found = draw(st.integers(0, 1)), []
    for _ in range(draw(st.integers(1, max_size))):
        found.append(draw(events(member_id, member_count, step)))
        step += draw(st.sampled_from((1, 1, 1, 2)))
    return found


def run_of(run_id: str = "run-1", member_count: int = 3, **fields: Any) -> Run:
    """The header of a run."""
    return Run("canvass.run/1", run_id, "1.50", member_count, **fields)


def initial_member(member_count: int = 3) -> Member:
    """A member at its first start."""
    numbers = {name: -1 for name, kept in Member.__annotations__.items() if kept == "Int64"}
    flags = {name: False for name, kept in Member.__annotations__.items() if kept == "bool"}
    return Member(
        **numbers,  # type: ignore[arg-type]
        **flags,
        recording_log=(),
        module_state=ModuleState.ACTIVE,
        role=Role.FOLLOWER,
        members=(NULL_RECORD,) * member_count,
        election_state=ElectionState.INIT,
    )


def plain_event(step: int, **fields: Any) -> Event:
    """An event with the least content."""
    given: dict[str, Any] = {
        "step": step,
        "time_ns": 1_000 + step,
        "action": Action.RESTART if step == 0 else Action.ELECTION_INIT,
        "input": Input(),
        "sends": (),
        "state": initial_member(),
    }
    return Event(**(given | fields))

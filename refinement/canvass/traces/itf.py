"""A run as a sequence of states in the Informal Trace Format, for tools that show those.

A state has the variables ``member``, from each member that has begun to its state, and ``step``,
which tells the member, its running number and the action that led here. Integers are written as the
format wants them, whatever their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Final

import msgspec

from canvass.cluster.names import wire_name
from canvass.traces.schema import Event, Run

FORMAT: Final = "ITF"


def itf_document(run: Run, events: Iterable[tuple[int, Event]]) -> Iterator[bytes]:
    """Give the document in pieces, as a long run need not fit in memory twice.

    Parameters
    ----------
    run
        The run.
    events
        Member and event, in an order of causes.
    """
    head = {
        "#meta": {"format": FORMAT, "description": f"canvass run {run.run_id}, {run.revision}"},
        "vars": ["member", "step"],
    }
    yield msgspec.json.encode(head)[:-1] + b',"states":['
    members: dict[int, Any] = {}
    for index, (member, event) in enumerate(events):
        members[member] = itf_value(event.state)
        state = {
            "#meta": {"index": index},
            "member": {"#map": [[_number(k), members[k]] for k in sorted(members)]},
            "step": {
                "member": _number(member),
                "number": _number(event.step),
                "action": event.action.value,
            },
        }
        yield (b",\n" if index else b"\n") + msgspec.json.encode(state)
    yield b"\n]}\n"


def itf_value(value: object) -> Any:
    """Give a value of a state in the encoding of the format."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, tuple):
        return [itf_value(one) for one in value]
    assert isinstance(value, msgspec.Struct)
    return {wire_name(name): itf_value(getattr(value, name)) for name in value.__struct_fields__}


def _number(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}

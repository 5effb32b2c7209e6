"""Renaming: other numbers and names in a step, each number by the name of its field.

`ranks` gives the renaming to the smallest numbers in the same order. What a renaming may change is
said by `canvass.traces.layout.kind`; why it keeps a step allowed, in `canvass.steps.canonical`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.steps.step import Step

_T = TypeVar("_T", bound=Struct)


def map_message(message: Message, rename: Callable[[str, int], int]) -> Message:
    """Rename the numbers of a message, each by the name of its field."""
    given = {name: getattr(message, name) for name in message.__struct_fields__}
    values: list[Any] = [
        value if isinstance(value, bool) else rename(name, value) for name, value in given.items()
    ]
    return type(message)(*values)


def _map_fields(value: _T, rename: Callable[[str, int], int]) -> _T:
    """Rename the numbers among the fields of a state, record, entry or input."""
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        given = getattr(value, name)
        if type(given) is int:
            changes[name] = rename(name, given)
    return replace(value, **changes)


def map_state(state: Member, rename: Callable[[str, int], int]) -> Member:
    """Rename the numbers of a state, each by the name of its field; records stay in place."""
    return replace(
        _map_fields(state, rename),
        members=tuple(_map_fields(record, rename) for record in state.members),
        recording_log=tuple(_map_fields(entry, rename) for entry in state.recording_log),
    )


def map_step(step: Step, rename: Callable[[str, int], int]) -> Step:
    """Rename all numbers of a step, each by the name of its field; records stay where they are."""
    given = _map_fields(step.input, rename)
    if given.message is not None:
        given = replace(given, message=map_message(given.message, rename))
    return replace(
        step,
        before=map_state(step.before, rename),
        after=map_state(step.after, rename),
        input=given,
        sends=tuple((to, map_message(message, rename)) for to, message in step.sends),
    )


def ranks(values: Iterable[int], *, terms: bool) -> dict[int, int]:
    """Give the smallest renaming that keeps the order, and -1 and 0.

    Of terms it keeps which ones follow each other; 0 then stays by itself.
    """
    fixed = {NULL_VALUE: NULL_VALUE} if terms else {NULL_VALUE: NULL_VALUE, 0: 0}
    renamed = dict(fixed)
    distinct = sorted(set(values) - set(fixed))
    place = previous = NULL_VALUE if terms else 0
    for value in (value for value in distinct if value > NULL_VALUE):
        place += 1 if not terms or value == previous + 1 else 2
        previous, renamed[value] = value, place
    place = previous = NULL_VALUE
    for value in (value for value in reversed(distinct) if value < NULL_VALUE):
        place -= 1 if not terms or value == previous - 1 else 2
        previous, renamed[value] = value, place
    return renamed

"""Steps with other numbers: terms, positions and members, each by the name of its field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.steps.kernel_parts import impossible, rank
from canvass.steps.step import Step
from canvass.traces.layout import NumberKind
from canvass.traces.layout import kind as kind_of

_Fields = TypeVar("_Fields", bound=Struct)


def map_message(message: Message, rename: Callable[[str, int], int]) -> Message:
    """Rename the numbers of a message, each by the name of its field."""
    given = {name: getattr(message, name) for name in message.__struct_fields__}
    values: list[Any] = [
        value if isinstance(value, bool) else rename(name, value) for name, value in given.items()
    ]
    return type(message)(*values)


def _map_fields(value: _Fields, rename: Callable[[str, int], int]) -> _Fields:
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
    """Give the renaming to the smallest numbers that keeps the order, and -1 and 0.

    A renaming of terms also keeps which terms are consecutive, and need not keep 0.
    """
    fixed = {NULL_VALUE: NULL_VALUE} if terms else {NULL_VALUE: NULL_VALUE, 0: 0}
    others = sorted(set(values) - set(fixed))
    places = [0] * len(others)
    rank(others, places, len(others), terms)
    return fixed | dict(zip(others, places, strict=True))


def renumbered(step: Step) -> tuple[Step, dict[NumberKind, dict[int, int]]]:
    """Replace terms and positions by their ranks; give the rank of each number, too.

    A field that holds what no member of the cluster can have there becomes -1.
    """
    count = len(step.before.members)
    found: dict[NumberKind, set[int]] = {NumberKind.TERM: set(), NumberKind.POSITION: set()}

    def collect(name: str, value: int) -> int:
        found.get(kind_of(name), set()).add(value)
        return value

    map_step(step, collect)
    tables = {kind: ranks(values, terms=kind is NumberKind.TERM) for kind, values in found.items()}

    def rename(name: str, value: int) -> int:
        kind = kind_of(name)
        if kind in tables:
            return tables[kind][value]
        return NULL_VALUE if impossible(kind, value, NULL_VALUE, count) else value

    return map_step(step, rename), tables


def impossible_field(step: Step, fields: Collection[str] | None = None) -> str:
    """Name a field that holds what no member of the cluster can have there; "" if there is none.

    Parameters
    ----------
    step
        Any step.
    fields
        The fields of states and input to look at; None for all. All of messages are looked at.
    """
    count = len(step.before.members)
    found: list[str] = []

    def visit(name: str, value: int, lowest: int = NULL_VALUE) -> int:
        if impossible(kind_of(name), value, lowest, count):
            found.append(name)
        return value

    if step.input.message is not None:
        map_message(step.input.message, partial(visit, lowest=0))
    for to, message in step.sends:
        if not 0 <= to < count:
            found.append("to")
        map_message(message, visit)

    def visit_chosen(name: str, value: int) -> int:
        chosen = fields is None or name in fields or f"members.{name}" in fields
        return visit(name, value) if chosen else value

    map_step(replace(step, input=replace(step.input, message=None), sends=()), visit_chosen)
    votes = [record.vote for record in (*step.before.members, *step.after.members)]
    if max(votes) > 1 and (fields is None or "members.vote" in fields):
        found.append("vote")
    sets = ("active", "accepted")
    found += [name for name in sets if max(getattr(step.input, name), default=0) >= count]
    return found[0] if found else ""

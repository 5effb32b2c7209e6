"""Cells of outcomes as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from canvass.aeron_driver.comparison import RECORDING_LOG, field_names
from canvass.aeron_driver.stream import StreamLayout
from canvass.cluster.messages import MESSAGE_TYPES
from canvass.cluster.names import wire_name
from canvass.traces.layout import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MESSAGE_FIELDS,
    NONE,
    STATE_ENUMS,
    members_of,
)

_MASKS: Final = ("active", "accepted")


def value_of(field: str, cell: int) -> str:
    """Show one cell of a state or an input."""
    if field in STATE_ENUMS:
        enum = STATE_ENUMS[field]
        return str(enum[cell].value) if 0 <= cell < len(enum) else f"code {cell}"
    if field.rpartition(".")[2] in FLAG_COLUMNS:
        return str(bool(cell)).lower()
    if field in _MASKS:
        return "{" + ", ".join(map(str, sorted(members_of(cell)))) + "}"
    return str(cell)


def fields_of(layout: StreamLayout, cells: Sequence[int]) -> dict[str, str]:
    """Show the fields of a state by their names."""
    names = field_names(layout)
    shown = {
        name: value_of(name, int(cell))
        for name, cell in zip(names[: layout.log], cells[: layout.log], strict=True)
    }
    width = len(LOG_COLUMNS)
    start = layout.log + 1
    entries = [cells[start + width * k : start + width * (k + 1)] for k in range(cells[layout.log])]
    shown[RECORDING_LOG] = " ".join(
        f"(term {term}, {base} to {end if end != NONE else 'open'})" for term, base, end in entries
    )
    return shown


def short_state(layout: StreamLayout, cells: Sequence[int]) -> str:
    """Show what of a state is not null, in one line."""
    kept = {
        name: value
        for name, value in fields_of(layout, cells).items()
        if value not in ("-1", "false", "") and not (value == "0" and name.startswith("snapshot"))
    }
    return " ".join(f"{name}={value}" for name, value in kept.items())


def message_of(cells: Sequence[int]) -> str:
    """Show a message: its type and its fields."""
    message = MESSAGE_TYPES[int(cells[0])]
    fields = ", ".join(
        f"{wire_name(name)} {cells[1 + MESSAGE_FIELDS.index(name)]}"
        for name in message.__struct_fields__
    )
    return f"{message.__name__}({fields})"


def sends_of(layout: StreamLayout, cells: Sequence[int]) -> list[str]:
    """Show the sends of an outcome."""
    width = 1 + layout.message_width
    return [
        f"to {cells[at]}: {message_of(cells[at + 1 : at + width])}"
        for at in range(1, 1 + width * int(cells[0]), width)
    ]


def input_of(request: Sequence[int]) -> str:
    """Show the input of a request."""
    return " ".join(_input_parts(request)) or "nothing"


def _input_parts(request: Sequence[int]) -> Iterator[str]:
    for name, cell in zip(INPUT_COLUMNS, request[2:], strict=False):
        if int(cell) not in (0, NONE):
            yield f"{name}={value_of(name, int(cell))}"
    message: Sequence[Any] = request[2 + len(INPUT_COLUMNS) :]
    if int(message[0]) != NONE:
        yield message_of(message)

"""Values of TLA+ from plain Python data, and a module that gives a constant one of them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Any

from canvass.tlc import TlcConfig, Value, format_value, function


def from_python(data: Any) -> Value:
    """Give the value of nested tuples, lists, sets, mappings and plain values."""
    match data:
        case tuple() | list():
            return tuple(map(from_python, data))
        case AbstractSet():
            return frozenset(map(from_python, data))
        case Mapping():
            return function({from_python(key): from_python(one) for key, one in data.items()})
        case _:
            format_value(data)  # Raises an error if it is no value.
            plain: Value = data
            return plain


def bound(
    module: Path, config: TlcConfig, name: str, data: Any, folder: Path
) -> tuple[Path, TlcConfig]:
    """Write a module that extends another one and defines a constant's value; give both for a run.

    The run needs the other module's folder as a library.
    """
    written = folder / f"Given{module.stem}.tla"
    written.write_text(
        f"---- MODULE {written.stem} ----\nEXTENDS {module.stem}, Integers, TLC\n"
        f"Given{name} == {format_value(from_python(data))}\n====\n"
    )
    return written, replace(config, constants={**config.constants, name: f"<- Given{name}"})

"""Write a module that defines values of constants that a configuration cannot express."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Any

from canvass.tlc.config import TlcConfig
from canvass.tlc.values import Value, format_value, function


def from_python(data: Any) -> Value:
    """Give the value of nested tuples, lists, sets, mappings and plain values.

    Raises
    ------
    TlaValueError
        If a part is no value of TLA+.
    """
    match data:
        case tuple() | list():
            return tuple(map(from_python, data))
        case AbstractSet():
            return frozenset(map(from_python, data))
        case Mapping():
            return function({from_python(key): from_python(one) for key, one in data.items()})
        case _:
            format_value(data)  # Raises an error if the data is not a value.
            plain: Value = data
            return plain


def given(
    module: Path, config: TlcConfig, constants: Mapping[str, Any], folder: Path
) -> tuple[Path, TlcConfig]:
    """Write a module that defines values of constants; give its path and its configuration.

    Parameters
    ----------
    module, config
        The module that the new one extends, and the configuration whose constants are replaced. A
        run of the new module needs the folder of ``module`` as a library.
    constants
        Python data by name of the constant. Names of fields must not be reserved words of TLA+.
    folder
        The folder to which the new module is written.
    """
    written = folder / f"Given{module.stem}.tla"
    lines = [f"---- MODULE {written.stem} ----", f"EXTENDS {module.stem}, Integers, TLC"]
    values = {name: format_value(from_python(data)) for name, data in constants.items()}
    lines += [f"Given{name} == {text}" for name, text in values.items()]
    written.write_text("\n".join([*lines, "====", ""]), encoding="utf-8")
    named = {name: f"<- Given{name}" for name in constants}
    return written, replace(config, constants={**config.constants, **named})

"""Convert ITF to values: the inverse of `canvass.tlc.values`, for comparison."""

from __future__ import annotations

from typing import Any

from canvass.tlc.config import from_python
from canvass.tlc.errors import TlaValueError
from canvass.tlc.values import ModelValue, Value, check_integer, function


def from_itf_value(data: Any) -> Value:
    """Return the value that ITF data stands for; the inverse of `to_itf_value`.

    JSON integers and JSON arrays (ITF's sequences) are read as well.

    Raises
    ------
    TlaValueError
        When the data is not ITF or its value has no place in TLC.
    """
    if isinstance(data, list):
        return tuple(map(from_itf_value, data))
    if not isinstance(data, dict):
        return from_python(data)
    if (special := next((key for key in data if key.startswith("#")), None)) is None:
        return function({name: from_itf_value(part) for name, part in data.items()})
    body = data[special]
    match special, body:
        case "#bigint", str() if len(body) < 30 and body.removeprefix("-").isdecimal():
            return check_integer(int(body))
        case "#unserializable", str():
            return ModelValue(body)
        case "#tup", list():
            return tuple(map(from_itf_value, body))
        case "#set", list():
            return frozenset(map(from_itf_value, body))
        case "#map", list() if all(isinstance(pair, list) and len(pair) == 2 for pair in body):
            return function({from_itf_value(one): from_itf_value(two) for one, two in body})
        case _:
            raise TlaValueError(f"not an ITF value: {ascii(data)[:60]}")

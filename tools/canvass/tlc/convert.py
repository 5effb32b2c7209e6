"""Convert values to the Informal Trace Format (ITF) of TLA+ tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from canvass.tlc.errors import TlaValueError
from canvass.tlc.values import Function, ModelValue, Value, check_integer, ordered


def to_itf_value(value: Value) -> Any:
    """Return a value in ITF: ``#bigint``, ``#tup``, ``#set``, ``#map``, records as objects.

    A model value becomes ``{"#unserializable": name}``: it is not a string.
    """
    match value:
        case bool() | str():
            return value
        case int():
            return {"#bigint": str(check_integer(value))}
        case ModelValue(name=name):
            return {"#unserializable": name}
        case tuple():
            return {"#tup": [to_itf_value(item) for item in value]}
        case frozenset():
            return {"#set": [to_itf_value(element) for element in ordered(value)]}
        case Function() if value.is_record:
            return {name: to_itf_value(part) for name, part in value.items()}
        case _:
            return {
                "#map": [[to_itf_value(key), to_itf_value(part)] for key, part in value.items()]
            }


def to_itf_trace(
    states: Sequence[Mapping[str, Value]],
    *,
    actions: Sequence[str | None] = (),
    loop: int | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """Return a behaviour as an ITF document, ready for ``json.dumps``.

    Parameters
    ----------
    states
        Value by variable, one mapping per state, with the same variables in each.
    actions
        The action that led to each state, for ``#meta``; empty, or as long as ``states``.
    loop
        Zero-based index of the state that follows the last one, for a lasso.
    source
        The specification's name.

    Raises
    ------
    TlaValueError
        When two states have different variables.
    """
    names = list(states[0]) if states else []
    rows = []
    for index, state in enumerate(states):
        if set(state) != set(names):
            raise TlaValueError(f"state {index} of the trace has other variables than state 0")
        meta: dict[str, Any] = {"index": index}
        if index < len(actions) and actions[index] is not None:
            meta["action"] = actions[index]
        rows.append({"#meta": meta, **{name: to_itf_value(state[name]) for name in names}})
    about = {"format": "ITF"} | ({} if source is None else {"source": source})
    end = {} if loop is None else {"loop": loop}
    return {"#meta": about, "vars": names, "states": rows, **end}

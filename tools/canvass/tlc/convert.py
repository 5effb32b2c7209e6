"""Convert values from and to plain Python, and to the Informal Trace Format (ITF) of TLA+ tools.

Data from outside becomes text of a module only through :func:`to_tla`: it escapes strings, checks
identifiers and integers, and can express nothing but data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from canvass.tlc.errors import TlaValueError
from canvass.tlc.values import (
    INTEGER_MIN,
    Function,
    ModelValue,
    Value,
    check_integer,
    format_string,
    function,
    ordered,
    written,
)

# Words that TLA+ reserves: TLC prints them as field names, its parser refuses them there.
RESERVED: Final = frozenset(
    {
        *("ACTION", "ASSUME", "ASSUMPTION", "AXIOM", "BY", "CASE", "CHOOSE", "CONSTANT"),
        *("CONSTANTS", "COROLLARY", "DEF", "DEFINE", "DEFS", "DOMAIN", "ELSE", "ENABLED"),
        *("EXCEPT", "EXTENDS", "HAVE", "HIDE", "IF", "IN", "INSTANCE", "LAMBDA", "LEMMA", "LET"),
        *("LOCAL", "MODULE", "NEW", "OBVIOUS", "OMITTED", "OTHER", "PICK", "PROOF"),
        *("PROPOSITION", "PROVE", "QED", "RECURSIVE", "SF_", "STATE", "SUBSET", "SUFFICES"),
        *("TAKE", "TEMPORAL", "THEN", "THEOREM", "UNCHANGED", "UNION", "USE", "VARIABLE"),
        *("VARIABLES", "WF_", "WITH", "WITNESS", "TRUE", "FALSE", "BOOLEAN", "STRING"),
    }
)


def from_python(data: Any) -> Value:
    """Return the TLA+ value of plain Python data.

    Parameters
    ----------
    data
        ``bool``, ``int``, ``str``; ``tuple`` or ``list`` (sequence); ``set`` or ``frozenset``;
        a mapping (a function, which is a record if its arguments are field names); model values;
        and all of these nested.

    Raises
    ------
    TlaValueError
        For ``None``, ``float``, ``bytes`` and every other type, an integer beyond 32 bits, or a
        string that TLA+ cannot hold.
    """
    match data:
        case bool() | ModelValue():
            return data
        case int():
            return check_integer(int(data))
        case str():
            format_string(data)
            return str(data)
        case tuple() | list():
            return tuple(map(from_python, data))
        case AbstractSet():
            return frozenset(map(from_python, data))
        case Mapping():
            return function({from_python(key): from_python(one) for key, one in data.items()})
        case _:
            kind = type(data).__name__
            raise TlaValueError(f"a Python {kind} has no TLA+ value: {ascii(data)[:60]}")


def to_tla(data: Any) -> str:
    """Return the TLA+ expression for Python data or a value, for the text of a module.

    The module must extend ``Integers`` for negative numbers and ``TLC`` for functions.

    Raises
    ------
    TlaValueError
        As :func:`from_python`, and for a string with a character outside ASCII, which TLA+'s parser
        cannot read.
    """
    return _source(from_python(data))


def _source(value: Value) -> str:
    if type(value) is int and value == INTEGER_MIN:
        # 2147483648 is not an integer of TLC, so its negation cannot be written directly.
        return f"({value + 1} - 1)"
    if isinstance(value, str) and not value.isascii():
        raise TlaValueError(f"a string in a TLA+ module must be ASCII: {ascii(value)[:60]}")
    return written(value, _source, _writable_field)


def _writable_field(name: str) -> bool:
    return name[:1].isalpha() and name not in RESERVED and not name.startswith(("WF_", "SF_"))


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

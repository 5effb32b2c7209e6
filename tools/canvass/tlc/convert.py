"""Convert values from and to plain Python, and to the Informal Trace Format (ITF) of TLA+ tools.

Data from outside becomes text of a module only through :func:`to_tla`: it escapes strings, checks
identifiers and integers, and can express nothing but data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from canvass.tlc.errors import TlaValueError
from canvass.tlc.values import (
    IDENTIFIER,
    INTEGER_MIN,
    Function,
    ModelValue,
    Record,
    Seq,
    Set,
    Value,
    check_integer,
    format_string,
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
        a mapping (a record if it has keys and all are strings that are identifiers, else a
        function); values; and all of these nested.

    Raises
    ------
    TlaValueError
        For ``None``, ``float``, ``bytes`` and every other type, an integer beyond 32 bits, or a
        string that TLA+ cannot hold.
    """
    kind = type(data)
    if kind is bool or isinstance(data, (ModelValue, Set, Seq, Record, Function)):
        return data  # type: ignore[no-any-return]
    if isinstance(data, int):
        return check_integer(int(data))
    if isinstance(data, str):
        format_string(data)
        return str(data)
    if isinstance(data, (tuple, list)):
        return Seq(map(from_python, data))
    if isinstance(data, AbstractSet):
        return Set(map(from_python, data))
    if isinstance(data, Mapping):
        if data and all(isinstance(key, str) and IDENTIFIER.match(key) for key in data):
            return Record({name: from_python(value) for name, value in data.items()})
        return Function((from_python(key), from_python(value)) for key, value in data.items())
    raise TlaValueError(f"a Python {kind.__name__} has no TLA+ value: {ascii(data)[:60]}")


def to_python(value: Value) -> Any:
    """Return a value as plain Python data.

    Returns
    -------
    object
        ``bool``, ``int``, ``str``; model values as their name; sequences as ``tuple``; records and
        functions as ``dict``; sets as ``frozenset``. A record or function in a set or as an
        argument stays a value, because Python cannot hash a ``dict``; the value is a mapping.
    """
    if isinstance(value, ModelValue):
        return value.name
    if isinstance(value, Seq):
        return tuple(map(to_python, value.items))
    if isinstance(value, Set):
        return frozenset(map(_hashable, value.elements))
    if isinstance(value, Record):
        return {name: to_python(part) for name, part in value.items()}
    if isinstance(value, Function):
        return {_hashable(argument): to_python(part) for argument, part in value.pairs}
    return value


def _hashable(value: Value) -> Any:
    plain = to_python(value)
    try:
        hash(plain)
    except TypeError:
        return value
    return plain


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
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        # 2147483648 is not an integer of TLC, so its negation cannot be written directly.
        number = check_integer(value)
        return f"({number + 1} - 1)" if number == INTEGER_MIN else str(number)
    if isinstance(value, str):
        if not value.isascii():
            raise TlaValueError(f"a string in a TLA+ module must be ASCII: {ascii(value)[:60]}")
        return format_string(value)
    if isinstance(value, ModelValue):
        return value.name
    if isinstance(value, Set):
        return "{" + ", ".join(map(_source, value.elements)) + "}"
    if isinstance(value, Seq):
        return "<<" + ", ".join(map(_source, value.items)) + ">>"
    pairs: Iterable[tuple[Any, Value]] = value.items() if isinstance(value, Record) else value.pairs
    listed = list(pairs)
    if not listed:
        return "<<>>"
    names = [name for name, _ in listed]
    if isinstance(value, Record) and all(map(_writable_field, names)):
        return "[" + ", ".join(f"{name} |-> {_source(part)}" for name, part in listed) + "]"
    return "(" + " @@ ".join(f"{_source(name)} :> {_source(part)}" for name, part in listed) + ")"


def _writable_field(name: str) -> bool:
    return name[:1].isalpha() and name not in RESERVED and not name.startswith(("WF_", "SF_"))


def to_itf_value(value: Value) -> Any:
    """Return a value in ITF: ``#bigint``, ``#tup``, ``#set``, ``#map``, records as objects.

    A model value becomes ``{"#unserializable": name}``: it is not a string.
    """
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"#bigint": str(check_integer(value))}
    if isinstance(value, ModelValue):
        return {"#unserializable": value.name}
    if isinstance(value, Seq):
        return {"#tup": [to_itf_value(item) for item in value.items]}
    if isinstance(value, Set):
        return {"#set": [to_itf_value(element) for element in value.elements]}
    if isinstance(value, Record) and value:
        return {name: to_itf_value(part) for name, part in value.items()}
    pairs = () if isinstance(value, Record) else value.pairs
    return {"#map": [[to_itf_value(argument), to_itf_value(part)] for argument, part in pairs]}


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

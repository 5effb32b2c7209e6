"""Write the page's TypeScript types from the Structs of `canvass.browser.api`.

Usage: ``python tools/generate_api_types.py``. To change an answer of the server, change its Struct
and run the script again.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from canvass.browser import api
from canvass.cluster.messages import Record

TARGET: Final = Path(__file__).resolve().parents[1] / "tools/canvass/browser/ui/src/api/types.ts"
_HEAD: Final = """\
// The server's answers: one interface for each Struct of canvass.browser.api, with the same name.
// Written by tools/generate_api_types.py; change the Structs instead.

/** A plain JSON value: states, inputs and messages come as trees of these. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };
"""
_PLAIN: Final[dict[Any, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "Json",
}
_ALIASES: Final = {"Kind": api.Kind}


def render() -> str:
    """Give the file's text."""
    aliases = [f"export type {name} = {_union(kind)};\n" for name, kind in _ALIASES.items()]
    return "\n".join([_HEAD, *aliases, *("\n".join(_interface(one)) for one in structs())])


def structs() -> Iterator[type[msgspec.Struct]]:
    """Give the Structs in the order of their definitions or first imports."""
    classes = filter(inspect.isclass, vars(api).values())
    found = dict.fromkeys(one for one in classes if issubclass(one, msgspec.Struct))
    del found[Record]
    yield from found


def _interface(struct: type[msgspec.Struct]) -> Iterator[str]:
    text = inspect.cleandoc(struct.__doc__ or "").partition("\n\nParameters\n")[0]
    yield f"/** {' '.join(text.splitlines())} */"
    yield f"export interface {struct.__name__} {{"
    for one in msgspec.structs.fields(struct):
        kinds = [kind for kind in _parts(one.type) if kind is not msgspec.UnsetType]
        optional = "?" if len(kinds) < len(_parts(one.type)) else ""
        union = " | ".join(_type(kind) for kind in kinds)
        yield f"  readonly {one.encode_name}{optional}: {union};"
    yield "}\n"


def _parts(kind: Any) -> list[Any]:
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return list(typing.get_args(kind))
    return [kind]


def _type(kind: Any) -> str:
    for alias, meant in _ALIASES.items():
        if kind == meant:
            return alias
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return _union(kind)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return " | ".join(f'"{one.value}"' for one in kind)
    if origin in (tuple, list):
        assert inside[1:] in ((), (...,)), f"{kind}: only tuples of any length"
        element = " | ".join(_type(one) for one in _parts(inside[0]))
        return f"readonly ({element})[]" if " " in element else f"readonly {element}[]"
    if origin is dict:
        assert inside[0] is str, f"{kind}: JSON has names of text"
        return f"{{ readonly [name: string]: {_type(inside[1])} }}"
    assert kind in tuple(structs()), f"{kind} has no form here"
    name: str = kind.__name__
    return name


def _union(kind: Any) -> str:
    return " | ".join(f'"{one}"' for one in typing.get_args(kind))


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")

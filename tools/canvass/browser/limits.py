"""How much of anything the server takes and gives, each number with its reason.

Numbers, and how an answer is written within them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

HEAD_BYTES: Final = 16 * 1024
"""Of a request: browsers send less than 2 KiB, and a predicate in the query is at most 4 KiB."""
CONNECTIONS: Final = 32
"""At once: a browser opens six, and several tabs share them."""
BACKLOG: Final = 1024
"""Connections that the system holds until the server takes them, so that a rush refuses nobody."""
SECONDS: Final = 10.0
"""For a whole request to come in, for an idle connection, and for an answer to be taken."""
WORKERS: Final = 4
"""Requests answered at once: more would only wait for the same two cores."""

QUERY_CHARS: Final = 4096
"""Of an expression: the longest that a person writes is a few hundred."""
VALUE_CHARS: Final = 512
"""Of any other value in a request: the longest is a state's id or a list of all actions."""

TEXT_CHARS: Final = 4096
"""Of a text in an answer: a line of the spec or a message has fewer; what is longer is no text for
a person."""
LABEL_CHARS: Final = 120
TREE_ITEMS: Final = 2000
"""Of one list or mapping in a tree: more cannot be looked through."""
TREE_DEPTH: Final = 48

DRAWN_STATES: Final = 1000
"""At most, around a state: a browser draws ten times as many, a person sees nothing in them."""
DRAWN_EDGES: Final = 5000
EXPORTED_STATES: Final = 5000
"""Of a file that is saved from the page: what a browser takes at once."""
LANE_EVENTS: Final = 1000
LISTED: Final = 1000
CHOICES: Final = 100
"""Runs of a corpus that are listed one by one; of more, there are pages."""
QUOTIENT_NODES: Final = 500
DEPTH: Final = 16


def shortened(text: str, limit: int = TEXT_CHARS) -> str:
    """Give a text of at most about ``limit`` characters that says how much was cut off.

    Lone surrogates, which JSON in UTF-8 cannot hold, become question marks.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (shortened: {len(text) - limit:,} more characters)"


def bounded(value: Any, depth: int = TREE_DEPTH) -> Any:
    """Give a tree of plain JSON values whose lists and depth have bounds; `encoded` bounds texts.

    What was cut off is said where it was. Integers that JavaScript cannot hold become texts.
    """
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if depth == 0:
        return "… (shortened: nested too deep to be shown)"
    if isinstance(value, dict):
        items = list(value.items())
        found = {str(key): bounded(one, depth - 1) for key, one in items[:TREE_ITEMS]}
        if len(items) > TREE_ITEMS:
            found["…"] = f"(shortened: {len(items) - TREE_ITEMS:,} more)"
        return found
    if isinstance(value, (list, tuple, set, frozenset)):
        listed = list(value)
        shown = [bounded(one, depth - 1) for one in listed[:TREE_ITEMS]]
        if len(listed) > TREE_ITEMS:
            shown.append(f"… (shortened: {len(listed) - TREE_ITEMS:,} more)")
        return shown
    return str(value)


def encoded(answer: msgspec.Struct) -> bytes:
    """Write an answer; of a text that is too long, the beginning and how much is missing."""
    try:
        found = msgspec.json.encode(answer)
    except UnicodeEncodeError:
        pass  # A lone surrogate.
    else:
        # Few answers have a long text; only these are written twice.
        if max(map(len, found.replace(rb"\"", b"__").split(b'"'))) <= TEXT_CHARS:
            return found
    return msgspec.json.encode(_shortened(msgspec.to_builtins(answer)))


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, dict):
        return {shortened(str(key)): _shortened(one) for key, one in value.items()}
    return list(map(_shortened, value)) if isinstance(value, (list, tuple)) else value

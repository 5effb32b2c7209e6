"""Limits of requests and answers, each with its reason; and answers written within them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

WORKERS: Final = 4
"""Requests answered in parallel: more would only compete for the same cores."""

QUERY_CHARS: Final = 4096
"""Longest expression: people write a few hundred characters at most."""
VALUE_CHARS: Final = 512
"""Longest other value in a request: the longest that the page sends is a list of all actions."""

TEXT_CHARS: Final = 4096
"""Longest text in an answer: lines of the spec and messages have fewer characters."""
LABEL_CHARS: Final = 120
TREE_ITEMS: Final = 2000
"""Most items of one list or mapping in a tree: a person looks through no more."""
TREE_DEPTH: Final = 48

DRAWN_STATES: Final = 1000
"""Most states drawn around a state: a browser can draw ten times as many, but nobody could read
them."""
DRAWN_EDGES: Final = 5000
LANE_EVENTS: Final = 1000
LISTED: Final = 1000
CHECKED_RUNS: Final = 100
"""Most runs of a corpus that is checked as a whole: each of its runs then is its own source."""
QUOTIENT_NODES: Final = 500
DEPTH: Final = 16


def shortened(text: str, limit: int = TEXT_CHARS) -> str:
    """Shorten a text to about ``limit`` characters; its end says how many are left out.

    Lone surrogates, which JSON in UTF-8 cannot hold, become question marks.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (shortened: {len(text) - limit:,} more characters)"


def bounded(value: Any, depth: int = TREE_DEPTH) -> Any:
    """Make plain JSON values of a tree, with at most `TREE_ITEMS` items in each list and mapping.

    A text replaces the further items, and values below ``depth`` levels. Integers that JavaScript
    cannot represent become texts. `encoded` shortens long texts.
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
    """Write an answer as JSON; each text is shortened to `TEXT_CHARS` characters."""
    try:
        found = msgspec.json.encode(answer)
    except UnicodeEncodeError:
        pass  # A lone surrogate.
    else:
        # Few answers have a long text; only these are encoded twice.
        if max(map(len, found.replace(rb"\"", b"__").split(b'"'))) <= TEXT_CHARS:
            return found
    return msgspec.json.encode(_shortened(msgspec.to_builtins(answer)))


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, dict):
        return {shortened(str(key)): _shortened(one) for key, one in value.items()}
    return list(map(_shortened, value)) if isinstance(value, (list, tuple)) else value

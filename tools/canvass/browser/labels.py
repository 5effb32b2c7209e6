"""What a state is called in a drawing, and in what two states differ.

Texts of trees of plain JSON values; nothing here knows where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from canvass.browser import api
from canvass.browser.limits import LABEL_CHARS, shortened

ABSENT: Final = "absent"
MAX_CHANGES: Final = 200
"""Of one step: a member's state has some 60 fields."""
_PARTS: Final = 3


def label_of(tree: dict[str, Any]) -> str:
    """Name a state by what tells most about it: of a member its election state, term and log."""
    if "electionState" in tree:
        name = tree["electionState"]
        if name == "CLOSED":
            name = f"CLOSED {tree.get('role', '')}".rstrip()
        if tree.get("moduleState") == "CLOSED":
            name = "not running"
        term, position = tree.get("leadershipTermId"), tree.get("appendPosition")
        return shortened(f"{name} t{term} p{position}", LABEL_CHARS)
    parts = [f"{key}={value_text(value)}" for key, value in list(tree.items())[:_PARTS]]
    more = " …" if len(tree) > _PARTS else ""
    return shortened(", ".join(parts) + more, LABEL_CHARS)


def value_text(value: Any) -> str:
    """Write a value of a tree in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return str(value)


def tree_changes(before: Any, after: Any) -> tuple[api.FieldChange, ...]:
    """Tell in which fields two trees differ."""
    found: list[api.FieldChange] = []
    for path, old, new in _changes("", before, after):
        if len(found) == MAX_CHANGES:
            found.append(api.FieldChange(path="…", before="", after="(shortened: more changes)"))
            break
        found.append(
            api.FieldChange(path=shortened(path), before=shortened(old), after=shortened(new))
        )
    return tuple(found)


def _changes(path: str, before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            name = f"{path}.{key}" if path else str(key)
            if key not in before:
                yield name, ABSENT, value_text(after[key])
            elif key not in after:
                yield name, value_text(before[key]), ABSENT
            else:
                yield from _changes(name, before[key], after[key])
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for place in range(max(len(before), len(after))):
            name = f"{path}[{place}]"
            if place >= len(before):
                yield name, ABSENT, value_text(after[place])
            elif place >= len(after):
                yield name, value_text(before[place]), ABSENT
            else:
                yield from _changes(name, before[place], after[place])
    else:
        yield path, value_text(before), value_text(after)

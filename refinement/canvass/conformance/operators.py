"""Where the spec says what an action does or what a property means: module, lines, text.

It reads layout, not TLA+: a definition begins in the first column and ends before the next thing
that does.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name
from canvass.spec.files import spec_root

MODULES: Final = ("Election", "Replication", "Properties", "RecordingLog", "MemberState")
"""Where actions and properties are defined."""

MESSAGE_CAUSALITY: Final = "MessageCausality"
LOG_STREAM: Final = "LogStream"
_STANDS_FOR: Final = {
    MESSAGE_CAUSALITY: ("Cluster", "Deliver"),
    LOG_STREAM: ("Cluster", "NextEntry"),
}
"""The operators of ``Cluster.tla`` that say what the checks of causality check."""
_JOINS: Final = {
    "FollowerCatchupAwait": ("Cluster", "TakeFollowerCatchupAwait"),
    "FollowerLogAwait": ("Cluster", "TakeFollowerLogAwait"),
}
"""The same for the steps in which a log is joined."""


class Operator(Struct, frozen=True, rename=wire_name):
    """A definition of the spec."""

    module: str
    line: int
    lines: tuple[str, ...]


@cache
def _module(name: str) -> tuple[str, ...]:
    return tuple((spec_root() / f"{name}.tla").read_text(encoding="utf-8").splitlines())


@cache
def find_operator(name: str, action: str = "") -> Operator | None:
    """Find the definition behind an action, a safety property or a check of causality.

    Parameters
    ----------
    name
        Of what is broken.
    action
        Of the step that breaks it, if that is known: what is asked of a log depends on it.

    Returns
    -------
    Operator or None
        None for a name that the spec does not define.
    """
    modules: tuple[str, ...] = MODULES
    if name in _STANDS_FOR:
        meant = _STANDS_FOR[name]
        module, name = _JOINS.get(action, meant) if name == LOG_STREAM else meant
        modules = (module,)
    begins = re.compile(rf"{re.escape(name)}(\([^)]*\))?\s*==")
    for module in modules:
        lines = _module(module)
        for number, line in enumerate(lines):
            if begins.match(line):
                end = number + 1
                while end < len(lines) and (not lines[end] or lines[end][0] == " "):
                    end += 1
                text = list(lines[number:end])
                while text and not text[-1].strip():
                    text.pop()
                return Operator(module, number + 1, tuple(text))
    return None

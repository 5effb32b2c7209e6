"""The events of a run of TLC, immutable; ``output`` reads them from TLC's text.

An event that callers follow during a run has its own type. All others are a `Message`, which
`results` reads by its code. A number is ``None`` if TLC did not report it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TypeAlias

from canvass.tlc.parse import parse_state
from canvass.tlc.values import Value


class Severity(IntEnum):
    """Class of a message, with TLC's own numbers."""

    NONE = 0
    ERROR = 1
    BUG = 2
    WARNING = 3
    STATE = 4


@dataclass(frozen=True, slots=True)
class ParseOutput:
    """One line that the parser printed, or Java before it."""

    line: str


@dataclass(frozen=True, slots=True)
class InitialStates:
    """The initial states are computed; ``distinct`` is their number."""

    distinct: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the search, or its final numbers.

    ``depth`` is the current level, ``queue`` the number of waiting states. In simulation only
    ``generated`` and, with newer versions, ``traces`` are known.
    """

    generated: int
    distinct: int | None
    queue: int | None
    depth: int | None
    traces: int | None = None


@dataclass(frozen=True, slots=True)
class UserOutput:
    """One line that the specification printed (``Print``, ``PrintT``).

    A value wider than 80 columns spans several lines: see
    :func:`~canvass.tlc.parse.join_values`.
    """

    line: str


@dataclass(frozen=True)
class TraceState:
    """One state of an error trace.

    Attributes
    ----------
    number : int
        The number of the state, from 1.
    action : str or None
        The action that leads to the state; ``None`` for an initial state.
    arguments : str or None
        Text of the action's arguments without the parentheses; only newer versions print it.
    location : str or None
        The place of the action in its module, such as ``line 3, col 1 to line 4, col 8 of module
        Clock``.
    text : str
        The state as TLC printed it.
    """

    number: int
    action: str | None
    arguments: str | None
    location: str | None
    text: str

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Value by variable, in TLC's order.

        Raises
        ------
        ValueSyntaxError
            When a value cannot be listed, such as the set of all sequences.
        """
        return parse_state(self.text)


@dataclass(frozen=True, slots=True)
class Message:
    """Any other message; ``inner`` has the codes of the messages within it."""

    code: int
    severity: Severity
    text: str
    inner: tuple[int, ...] = ()


Event: TypeAlias = ParseOutput | InitialStates | Progress | UserOutput | TraceState | Message

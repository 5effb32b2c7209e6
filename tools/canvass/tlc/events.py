"""What TLC says, as typed immutable events. No reading of text here; that is in ``output``.

Numbers are plain integers; ``None`` means that TLC did not say. Times are TLC's own text, since its
format changed between versions.
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
class Location:
    """A stretch of a module: lines and columns count from 1, both ends belong to it."""

    module: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return (
            f"line {self.line}, col {self.column} to line {self.end_line}, "
            f"col {self.end_column} of module {self.module}"
        )


@dataclass(frozen=True, slots=True)
class Banner:
    """TLC's first words. ``version`` is for example ``2.15``."""

    version: str


@dataclass(frozen=True, slots=True)
class Started:
    """The mode, ``"check"`` or ``"simulate"``, the seed and the process id of Java."""

    mode: str
    seed: int | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class ParseStarted:
    """The parser begins to read the modules."""


@dataclass(frozen=True, slots=True)
class ParseOutput:
    """One line that the parser, or Java before it, printed."""

    line: str


@dataclass(frozen=True, slots=True)
class ParseFinished:
    """The parser is done, with success or without."""


@dataclass(frozen=True, slots=True)
class InitialStates:
    """The initial states are computed; ``distinct`` of them."""

    distinct: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the search.

    ``depth`` is the level that is being explored; ``queue`` the number of states that wait. In
    simulation only ``generated`` and, with newer versions, ``traces`` are known.
    """

    generated: int
    distinct: int | None
    queue: int | None
    depth: int | None
    traces: int | None = None


@dataclass(frozen=True, slots=True)
class CoverageStarted:
    """A new set of coverage numbers begins; it replaces the one before."""


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """Coverage of an action.

    ``kind`` is ``"init"`` or ``"next"``; ``distinct`` counts the states that were new when the
    action reached them, ``total`` all that it reached.
    """

    kind: str
    action: str
    location: Location
    distinct: int
    total: int


@dataclass(frozen=True, slots=True)
class UserOutput:
    """One line that the specification printed (``Print``, ``PrintT``), as it was printed.

    A value wider than 80 columns spans several lines: see
    :func:`~canvass.tlc.parse.join_values`.
    """

    line: str


@dataclass(frozen=True, slots=True)
class ErrorReported:
    """An error message; ``name`` is the property that it names, where it names one."""

    code: int
    text: str
    name: str | None
    inner_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WarningReported:
    """A warning message."""

    code: int
    text: str


@dataclass(frozen=True)
class TraceState:
    """One state of an error trace.

    Attributes
    ----------
    number : int
        From 1.
    action : str or None
        The action that led here; ``None`` for an initial state.
    arguments : str or None
        Text of the action's arguments, which newer versions print, without the parentheses.
    location : Location or None
        Where the action is.
    text : str
        The state as TLC printed it.
    """

    number: int
    action: str | None
    arguments: str | None
    location: Location | None
    text: str

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Value by variable, in TLC's order.

        Raises
        ------
        ValueSyntaxError
            When a variable holds what cannot be listed, such as a set of all sequences.
        """
        return parse_state(self.text)


@dataclass(frozen=True, slots=True)
class BackToState:
    """The behaviour returns to state ``number``: the end of a lasso."""

    number: int
    action: str | None
    location: Location | None


@dataclass(frozen=True, slots=True)
class Stuttering:
    """The behaviour stays in its last state: it stutters."""


@dataclass(frozen=True, slots=True)
class SuccessReported:
    """TLC's own statement that no error was found."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalStats:
    """Final numbers: states generated, distinct ones, and left on the queue."""

    generated: int
    distinct: int | None
    queue: int | None


@dataclass(frozen=True, slots=True)
class SearchDepth:
    """Depth of the complete search: the number of states on the longest of the shortest paths."""

    depth: int


@dataclass(frozen=True, slots=True)
class Finished:
    """TLC's last words; ``seconds`` as far as TLC said them."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Message:
    """Any other message."""

    code: int
    severity: Severity
    text: str


Event: TypeAlias = (
    Banner
    | Started
    | ParseStarted
    | ParseOutput
    | ParseFinished
    | InitialStates
    | Progress
    | CoverageStarted
    | ActionCoverage
    | UserOutput
    | ErrorReported
    | WarningReported
    | TraceState
    | BackToState
    | Stuttering
    | SuccessReported
    | FinalStats
    | SearchDepth
    | Finished
    | Message
)

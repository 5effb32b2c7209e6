"""The JSON document of a counterexample: ``canvass check`` writes it, ``canvass browse`` reads it.

Fields that no reader needs have defaults, so that other tools can write a short document.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from canvass.tlc.changes import ChangeKind

SCHEMA: Final = "canvass.counterexample/1"


class ChangeRecord(Struct, frozen=True, kw_only=True):
    """A change of a step: the place as TLA+ writes it, and its values in ITF, where it has them."""

    path: str
    kind: ChangeKind
    before: Any = UNSET
    after: Any = UNSET


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step of a counterexample, with the state that it leads to.

    Attributes
    ----------
    number
        From 1.
    action, arguments, location
        As TLC reports them; null where it does not.
    acting
        The member that takes the step, or the channel that loses a message.
    changes
        Null for the first state, and if a value cannot be listed.
    state
        Variable by name, in ITF; null if a value cannot be listed.
    text
        The state as TLC prints it, only if ``state`` is null.
    """

    number: int = 0
    action: str | None = None
    arguments: str | None = None
    location: str | None = None
    acting: str | None = None
    changes: tuple[ChangeRecord, ...] | None = None
    state: dict[str, Any] | None = None
    text: str | UnsetType = UNSET


class CounterexampleDocument(Struct, frozen=True, kw_only=True):
    """A counterexample; ``loop`` is the number of the step that follows the last one again."""

    schema: str = SCHEMA
    model: str
    outcome: str = ""
    violated: str | None = None
    message: str = ""
    explanation: tuple[str, ...] = ()
    loop: int | None = None
    stuttering: bool = False
    steps: tuple[StepRecord, ...]

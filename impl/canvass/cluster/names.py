"""The two naming rules that tie the Python core to the spec. There are no exceptions to them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


def action_name(handler: Callable[..., object]) -> str:
    """Name a step function as TLA+ and traces do: ``on_request_vote`` becomes ``OnRequestVote``."""
    return "".join(word.capitalize() for word in handler.__name__.split("_"))


def wire_name(field: str) -> str:
    """Name a Python field as TLA+ and Aeron's SBE schema do.

    ``log_leadership_term_id`` becomes ``logLeadershipTermId``.
    """
    head, *tail = field.split("_")
    return head + "".join(word.capitalize() for word in tail)


class Record(Struct, frozen=True, rename=wire_name):
    """A part of a result that is written as JSON; its fields are named as in the spec."""

"""The two mechanical naming rules that tie Python, TLA+ and JSON together.

Here live the rules and nothing else: a name that does not follow from one of them is a mistake, not
an exception.
"""

from __future__ import annotations


def wire_name(field: str) -> str:
    """Name a Python field as TLA+ and JSON do: ``log_leadership_term_id`` becomes
    ``logLeadershipTermId``.

    Parameters
    ----------
    field
        A snake_case name; a trailing underscore, which keeps a name apart from a Python keyword, is
        dropped.
    """
    head, *tail = field.rstrip("_").split("_")
    return head + "".join(word.capitalize() for word in tail)


def action_name(function: str) -> str:
    """Name a step function as TLA+ and traces do: ``on_request_vote`` becomes ``OnRequestVote``."""
    return "".join(word.capitalize() for word in function.split("_"))

"""What a request asks for: a route, parts of its path and its query as text, numbers and lists.

Everything is bounded and checked here; nothing here knows what it is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.responses import Response
from starlette.types import Scope

from canvass.browser import api
from canvass.browser.guard import bad_request, read_arguments
from canvass.browser.limits import QUERY_CHARS, VALUE_CHARS

_NUMBER: Final = re.compile(r"\d{1,15}", re.ASCII)
_LONG: Final = frozenset({"where", "by", "actions"})


class Arguments:
    """The arguments of one request.

    Parameters
    ----------
    scope
        Of the request, with the parts of its path.
    known
        Names that the query may have.

    Raises
    ------
    Refusal
        If the query has others, or one that is too long.
    """

    def __init__(self, scope: Scope, known: Iterable[str]) -> None:
        self._path: dict[str, str] = scope.get("path_params", {})
        self._query = read_arguments(scope, known)
        for name, value in (*self._path.items(), *self._query.items()):
            limit = QUERY_CHARS if name in _LONG else VALUE_CHARS
            if len(value) > limit:
                raise bad_request(f"{name} is longer than {limit} characters")

    def part(self, name: str) -> str:
        """Give a part of the path."""
        return self._path[name]

    def number_in_path(self, name: str) -> int:
        """Give a part of the path that is a number.

        Raises
        ------
        Refusal
            If it is none.
        """
        return _number(name, self._path[name])

    def text(self, name: str) -> str:
        """Give an argument, empty if it is not there."""
        return self._query.get(name, "")

    def required(self, name: str) -> str:
        """Give an argument.

        Raises
        ------
        Refusal
            If it is not there or empty.
        """
        if not self._query.get(name):
            raise bad_request(f"the query needs {name}=")
        return self._query[name]

    def number(self, name: str, default: int, most: int, least: int = 0) -> int:
        """Give a number of the query.

        Raises
        ------
        Refusal
            If it is none, or out of its bounds.
        """
        if name not in self._query:
            return default
        value = _number(name, self._query[name])
        if not least <= value <= most:
            raise bad_request(f"{name} is from {least} to {most}")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Give a list of names, separated by commas; empty if it is not there."""
        return tuple(dict.fromkeys(one for one in self.text(name).split(",") if one))


Answer: TypeAlias = api.Data | Response
Ask: TypeAlias = Callable[[Arguments], Answer]


@dataclass(frozen=True, slots=True)
class Question:
    """A route of the table."""

    path: str
    """Below ``/api``; parts in braces are ids and numbers."""
    known: Sequence[str]
    """Names that the query may have."""
    ask: Ask


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise bad_request(f"{name} is a number")
    return int(text)

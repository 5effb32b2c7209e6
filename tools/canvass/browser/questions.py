"""Questions of the page and their answers, within limits: arguments, refusals, answers as JSON.

A question is a route; the decorator `at` marks the method that answers it. Its arguments are
checked. A `Refusal` becomes the answer to a request that cannot be answered. Texts and trees of an
answer are shortened. A limit with one user is beside that user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from canvass.browser.api import Failure, Problem
from canvass.cluster.messages import Record

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

LISTED: Final = 1000


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


_NUMBER: Final = re.compile(r"\d{1,15}", re.ASCII)
_LONG: Final = frozenset({"where", "by", "colour", "actions", "path", "watch"})


class Refusal(Exception):
    """The error that answers a request.

    Parameters
    ----------
    status
        The HTTP status.
    code, message
        The error for the page, and in words for a person.
    column
        Place of the error in an expression, from 1; None without an expression.
    """

    def __init__(self, status: int, code: str, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.column = status, code, message, column

    def response(self) -> Response:
        """Give the HTTP response."""
        column = msgspec.UNSET if self.column is None else self.column
        body = Failure(error=Problem(code=self.code, message=self.message, column=column))
        return Response(encoded(body), self.status, media_type="application/json")


def not_found(what: str) -> Refusal:
    """Make a refusal with status 404; ``what`` is its message."""
    return Refusal(404, "not-found", what)


def bad_request(message: str) -> Refusal:
    """Make a refusal with status 400."""
    return Refusal(400, "bad-request", message)


class Arguments:
    """The arguments of one request.

    Parameters
    ----------
    scope
        The ASGI scope of the request, with the parts of its path.

    Raises
    ------
    Refusal
        If the query cannot be read, or has a value that is too long.
    """

    def __init__(self, scope: Scope) -> None:
        self._path: dict[str, str] = scope.get("path_params", {})
        try:
            query = scope["query_string"].decode("ascii")
            self._query: dict[str, str] = dict(
                parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=32)
            )
        except ValueError:
            raise bad_request("the query cannot be read") from None
        for name, value in (*self._path.items(), *self._query.items()):
            limit = QUERY_CHARS if name in _LONG else VALUE_CHARS
            if len(value) > limit:
                raise bad_request(f"{name} is longer than {limit} characters")

    def part(self, name: str) -> str:
        """Give a part of the path."""
        return self._path[name]

    @property
    def place(self) -> tuple[Any, str]:
        """The kind and the id of the source: the name and the value of the path's first part."""
        return next(iter(self._path.items()))

    def number_in_path(self, name: str) -> int:
        """Give a number of the path.

        Raises
        ------
        Refusal
            If that part is no number.
        """
        return _number(name, self._path[name])

    def text(self, name: str) -> str:
        """Give an argument, or an empty text without it."""
        return self._query.get(name, "")

    def required(self, name: str) -> str:
        """Give an argument that must not be empty.

        Raises
        ------
        Refusal
            If it is missing or empty.
        """
        if not self._query.get(name):
            raise bad_request(f"the query needs {name}=")
        return self._query[name]

    def number(self, name: str, default: int, most: int, least: int = 0) -> int:
        """Give a number of the query, or ``default`` without it.

        Raises
        ------
        Refusal
            If it is no number, or not from ``least`` to ``most``.
        """
        if name not in self._query:
            return default
        value = _number(name, self._query[name])
        if not least <= value <= most:
            raise bad_request(f"{name} is from {least} to {most}")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Give the distinct names of a list separated by commas."""
        return tuple(dict.fromkeys(one for one in self.text(name).split(",") if one))


Answer: TypeAlias = Record | Response
Ask: TypeAlias = Callable[[Arguments], Answer]


Method = TypeVar("Method", bound=Callable[..., Answer])


def at(*paths: str) -> Callable[[Method], Method]:
    """Mark a method as the answer to questions: paths below ``/api``, with parts in braces."""

    def marked(method: Method) -> Method:
        method.paths = paths  # type: ignore[attr-defined]
        return method

    return marked


def questions_of(*answering: object) -> dict[str, Ask]:
    """Give the methods that `at` marks, by their paths."""
    methods = [getattr(one, name) for one in answering for name in dir(type(one))]
    return {path: one for one in methods for path in getattr(one, "paths", ())}


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise bad_request(f"{name} is a number")
    return int(text)

"""Questions of the page and their answers, within limits: arguments, refusals, answers as JSON.

A question is a route; the decorator `at` marks the method that answers it. The parameters of the
method are the arguments of the question: parts of its path, and of its query. A `Refusal` becomes
the answer to a request that cannot be answered. Texts and trees of an answer are shortened. A limit
with one user is beside that user.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta
from starlette.responses import Response

from canvass.browser.api import Failure, Problem
from canvass.cluster.messages import Record

TEXT_CHARS: Final = 4096
"""Longest text in an answer: lines of the spec and messages have fewer characters."""
LABEL_CHARS: Final = 120
TREE_ITEMS: Final = 2000
"""Most items of one list or mapping in a tree: a person looks through no more."""
TREE_DEPTH: Final = 48

LISTED: Final = 1000

Number = Annotated[int, Meta(ge=0, lt=1 << 31)]
Limit = Annotated[int, Meta(ge=1, le=LISTED)]
Text = Annotated[str, Meta(max_length=4096)]
"""An expression, or the names of actions or steps: people write a few hundred characters."""
Given = Annotated[str, Meta(min_length=1, max_length=4096)]
"""A text that must not be empty."""


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


Answer: TypeAlias = Record | Response
Ask: TypeAlias = Callable[..., Answer]
Method = TypeVar("Method", bound=Ask)


def at(*paths: str) -> Callable[[Method], Method]:
    """Mark a method as the answer to questions: paths with parts in braces."""

    def marked(method: Method) -> Method:
        method.paths = paths  # type: ignore[attr-defined]
        return method

    return marked


def questions_of(answering: object) -> Iterator[tuple[str, Ask]]:
    """Give the methods of an object, or of a class, that `at` marks, with their paths."""
    for name in dir(answering):
        method = getattr(answering, name)
        yield from ((path, method) for path in getattr(method, "paths", ()))


def arguments_of(ask: Callable[..., object]) -> Callable[[dict[str, str]], dict[str, Any]]:
    """Give a function that makes the arguments of ``ask`` of the texts of a request.

    The function raises a Refusal if an argument is missing, or not what its parameter accepts.
    """
    parameters = inspect.signature(ask, eval_str=True).parameters.values()
    fields = [
        (one.name, one.annotation, *([] if one.default is one.empty else [one.default]))
        for one in parameters
        if one.name != "self"
    ]
    form = msgspec.defstruct("Arguments", fields, rename={"from_": "from"}, kw_only=True)

    def made(texts: dict[str, str]) -> dict[str, Any]:
        try:
            return msgspec.structs.asdict(msgspec.convert(texts, form, strict=False))
        except msgspec.ValidationError as error:
            raise bad_request(str(error).replace("`$.", "`")) from None

    return made

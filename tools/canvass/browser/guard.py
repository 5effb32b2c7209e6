"""Who may ask: method, host, origin, token and size of a request are looked at before its path is.

An ASGI application around another one. It also puts the headers on every answer, and turns what the
inner one raises into one line. It knows no route but that those below ``/api/`` need the token. A
browser is sent here without the token on its command line, which others may read: a file that only
its owner can read leads on to the address, and the browser is given the file's name. Last comes
what a request asks for: parts of its path and its query, checked and bounded.
"""

from __future__ import annotations

import hmac
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvass.browser import api
from canvass.browser.api import Failure, Problem
from canvass.browser.limits import HEAD_BYTES, QUERY_CHARS, VALUE_CHARS, encoded

TOKEN_HEADER: Final = b"x-canvass-token"
API: Final = "/api/"
VERSIONS: Final = frozenset({"1.0", "1.1"})

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Sequence[tuple[bytes, bytes]]] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
"""On every answer."""

OWN_SITE: Final = frozenset({b"same-origin", b"none"})
"""Values of ``Sec-Fetch-Site`` of the page's own requests, and of an address that was typed."""


class Refusal(Exception):
    """A request gets no answer but an error.

    Parameters
    ----------
    status
        Of HTTP.
    code, message
        For the page and for a person.
    column
        Place in an expression, from 1.
    """

    def __init__(self, status: int, code: str, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.column = status, code, message, column

    def response(self) -> Response:
        """Give the answer."""
        column = msgspec.UNSET if self.column is None else self.column
        body = Failure(error=Problem(code=self.code, message=self.message, column=column))
        headers = {"allow": "GET"} if self.status == 405 else None
        return Response(encoded(body), self.status, headers, media_type="application/json")


def not_found(what: str) -> Refusal:
    """Say that there is no such thing."""
    return Refusal(404, "not-found", what)


def bad_request(message: str) -> Refusal:
    """Say what is wrong with a request."""
    return Refusal(400, "bad-request", message)


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must show.

    Parameters
    ----------
    port
        Where the server listens.
    token
        The secret of this server.
    arrival
        Another one, of the file that sends a browser here; empty if there is no such file.
    """

    port: int
    token: str
    arrival: str = ""

    @property
    def hosts(self) -> frozenset[bytes]:
        """The names under which the server is asked, exactly."""
        found = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if self.port == 80:
            found |= {"127.0.0.1", "localhost"}  # Browsers leave out the default port.
        return frozenset(name.encode() for name in found)

    def check(self, scope: Scope) -> None:
        """Look at a request before its path is.

        Raises
        ------
        Refusal
            If it is not the page's, or more than a question.
        """
        if scope["method"] != "GET":
            raise Refusal(405, "method", "only GET is answered")
        if scope["http_version"] not in VERSIONS:
            raise Refusal(400, "version", "HTTP/1.1 is spoken here")
        headers = scope["headers"]
        # The protocol counts what comes in pieces only; a head that came at once is counted here.
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(len(name) + len(value) + 4 for name, value in headers) > HEAD_BYTES:
            raise Refusal(431, "head", f"the head of a request has at most {HEAD_BYTES} bytes")
        host = _only(headers, b"host")
        if host not in self.hosts:
            raise Refusal(403, "host", "asked under another name than this server's")
        origin = _only(headers, b"origin")
        if origin is not None and origin != b"http://" + host:
            raise Refusal(403, "origin", "asked by a page of another origin")
        site = _only(headers, b"sec-fetch-site")
        if site is not None and site not in OWN_SITE and not self._arrives(scope):
            raise Refusal(403, "origin", "asked by a page of another site")
        if _only(headers, b"transfer-encoding") is not None or (
            _only(headers, b"content-length") not in (None, b"0")
        ):
            raise Refusal(413, "body", "a request has no body here")
        if scope["path"].startswith(API):
            self._check_token(headers)

    def _arrives(self, scope: Scope) -> bool:
        """Whether a browser is sent here by the file of `leading_to`.

        To the browser that file is another site. Who goes its way has its secret, goes with the
        whole window, and gets the page without any data.
        """
        headers = scope["headers"]
        way = tuple(_only(headers, name) for name in (b"sec-fetch-mode", b"sec-fetch-dest"))
        secret = b"arrival=" + self.arrival.encode()
        return (
            way == (b"navigate", b"document")
            and scope["path"] == "/"
            and bool(self.arrival)
            and hmac.compare_digest(scope["query_string"], secret)
        )

    def _check_token(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        given = _only(headers, TOKEN_HEADER) or b""
        if not hmac.compare_digest(given, self.token.encode()):
            raise Refusal(401, "token", "open the address that `canvass browse` printed")


def _only(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    found = [value for key, value in headers if key == name]
    if len(found) > 1:
        raise bad_request(f"the header {name.decode()} is there twice")
    return found[0] if found else None


class Guard:
    """The application that lets through what `Access` allows."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            raise AssertionError("the server has neither sockets nor a lifespan")
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            self._access.check(scope)
            await self._inner(scope, receive, dressed)
        except Refusal as refusal:
            response = refusal.response()
            if refusal.status in (405, 413, 431):
                response.headers["connection"] = "close"  # What follows may be a body.
            await response(scope, receive, dressed)
        except Exception as error:  # noqa: BLE001 - the one place where errors become answers
            tell_fault(error)
            if started:
                return
            said = "this is a bug in canvass; the terminal of the server names it"
            fault = Refusal(500, "fault", said)
            await fault.response()(scope, receive, dressed)


def tell_fault(error: BaseException) -> None:
    """Write one line about a fault to stderr, whatever is in it."""
    text = ascii(str(error))[1:-1][:500]
    print(
        f"canvass: this is a bug in canvass: {type(error).__name__}: {text}",
        file=sys.stderr,
        flush=True,
    )


def read_arguments(scope: Scope, known: Iterable[str]) -> dict[str, str]:
    """Give the query of a request as a mapping.

    Raises
    ------
    Refusal
        If it has a name that is not known or twice there, or is no text.
    """
    try:
        pairs = parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(scope["query_string"]),
            errors="strict",
            max_num_fields=32,
        )
    except ValueError:
        raise bad_request("the query cannot be read") from None
    wanted, found = set(known), dict[str, Any]()
    for name, value in pairs:
        if name not in wanted:
            raise bad_request(f"the query has no {ascii(name)[:60]} here")
        if name in found:
            raise bad_request(f"the query has {name} twice")
        found[name] = value
    return found


_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>canvass browse</title>
<p><a href="{address}">Go on to the page</a></p>
"""


@contextmanager
def leading_to(address: str) -> Iterator[str]:
    """Give the address of a file that leads to another address; it is removed in the end.

    Parameters
    ----------
    address
        With its key.
    """
    # The folder is made for its owner alone, and so is the file, whatever the umask is.
    with tempfile.TemporaryDirectory(prefix="canvass-browse-") as folder:
        path = Path(folder) / "canvass.html"
        path.touch(mode=0o600)
        path.write_text(_PAGE.format(address=escape(address)), encoding="utf-8")
        yield path.as_uri()


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

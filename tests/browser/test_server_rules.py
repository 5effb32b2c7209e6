"""Access rules: host, origin and token are tried over a socket."""

from __future__ import annotations

import ast
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from starlette.types import Receive, Scope, Send

import canvass.browser
from canvass.browser.access import CONTENT_SECURITY_POLICY, listen, make_server
from support.browse import Asked, serving, status_of


@pytest.fixture(scope="module")
def server() -> Iterator[Asked]:
    with serving() as running:
        yield running


def head(server: Asked, target: str = "/api/session", **headers: str) -> bytes:
    """A request with the token, its headers replaced or added by name."""
    lines = {"host": f"127.0.0.1:{server.port}", "x-canvass-token": server.token}
    lines |= headers
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"GET {target} HTTP/1.1\r\n{text}connection: close\r\n\r\n".encode("latin-1")


def test_the_page_is_let_in(server: Asked) -> None:
    assert status_of(server.send(head(server))) == 200
    assert status_of(server.send(head(server, host=f"localhost:{server.port}"))) == 200
    assert server.request("/").status == 200
    assert server.request("/assets/app.js").headers["content-type"].startswith("text/javascript")


def test_only_the_loopback_interface_listens() -> None:
    with listen(0) as opened:
        assert opened.getsockname()[0] == "127.0.0.1"
        assert opened.family is socket.AF_INET


def test_an_ended_server_has_closed_the_connections_that_it_was_answering() -> None:
    asked = threading.Event()

    async def answer_much(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        asked.set()
        await send({"type": "http.response.body", "body": bytes(1 << 25)})

    with listen(0) as opened:
        server = make_server(answer_much)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
        thread.start()
        with socket.create_connection(opened.getsockname(), timeout=120) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert asked.wait(120)  # It reads nothing of the answer.
            server.should_exit = True
            thread.join()
    assert not server.server_state.connections


def test_nobody_listens_for_other_addresses_of_the_machine(server: Asked) -> None:
    # All of 127/8 is this machine; a server on every interface would answer here, too.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


REFUSED: Final = {
    "host": (
        *("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "LOCALHOST:{port}"),
        *("127.0.0.1:{port}.evil.example", "127.0.0.1.evil.example:{port}", "[::1]:{port}"),
        *("0.0.0.0:{port}", "127.1:{port}", "user@127.0.0.1:{port}", "127.0.0.1:0{port}", ""),
    ),
    "origin": (
        *("http://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1"),
        *("https://127.0.0.1:{port}", "http://localhost:{port}", "http://127.0.0.1:{port}/"),
        *("http://127.0.0.1:{port}.evil.example", "HTTP://127.0.0.1:{port}"),
    ),
    "x-canvass-token": (
        *("", "x", "wrong-token-of-22-chars", "{token}x", "{token} {token}", "\xff\xfe"),
    ),
}
"""Names bound to this address, pages of other origins, and no tokens."""
STATUSES: Final = {"host": (400, 403), "origin": (403,), "x-canvass-token": (401,)}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_a_request_of_somebody_else_is_refused_and_learns_nothing(
    server: Asked, name: str, value: str
) -> None:
    given = value.format(port=server.port, token=server.token)
    answer = server.send(head(server, **{name: given}))

    assert status_of(answer) in STATUSES[name]
    assert b"version" not in answer
    assert b"access-control" not in answer.lower()
    assert server.token.encode() not in answer


def test_the_own_origin_is_let_in(server: Asked) -> None:
    own = f"http://127.0.0.1:{server.port}"

    assert status_of(server.send(head(server, origin=own))) == 200


def test_the_token_is_taken_from_its_header_alone(server: Asked) -> None:
    token = server.token
    for target, headers in (
        (f"/api/session?token={token}", {}),
        ("/api/session", {"Cookie": f"token={token}; X-Canvass-Token={token}"}),
        ("/api/session", {"Authorization": f"Bearer {token}"}),
        ("/api/session", {}),
    ):
        assert server.request(target, headers).status == 401


def test_no_cookie_is_ever_set_and_the_token_is_on_no_page(server: Asked) -> None:
    for target in ("/", "/assets/app.js", "/api/session"):
        reply = server.request(target, {"X-Canvass-Token": server.token})
        assert "set-cookie" not in reply.headers
        assert server.token.encode() not in reply.body


def test_every_answer_has_the_strict_headers(server: Asked) -> None:
    reported = {"X-Canvass-Token": server.token}
    replies = [
        server.request("/"),
        server.request("/assets/app.js"),
        server.request("/api/session", reported),
        server.request("/api/session"),
        server.request("/nothing"),
        server.request("/api/graph/none", reported),
        server.request("/", {"Origin": "http://evil.example"}),
        server.request("/", method="POST"),
    ]
    for reply in replies:
        found = reply.headers
        assert found["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert found["x-content-type-options"] == "nosniff"
        assert found["cache-control"] == "no-store"
        assert found["referrer-policy"] == "no-referrer"
        assert "server" not in found


def test_the_policy_is_that_of_the_security_table() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def test_no_module_of_the_server_can_fetch_or_start_anything() -> None:
    folder = Path(canvass.browser.__path__[0])
    fetching = {"urllib.request", "http.client", "http", "ftplib", "requests", "httpx", "socket"}
    starting = {"subprocess", "os", "shutil", "pickle", "marshal", "shelve", "ctypes", "runpy"}
    found = set()
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {(file.name, one.name) for one in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((file.name, node.module or ""))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__", "open")

    # `memory` starts Python for functions of this package, and unpacks what it has just packed.
    assert {one for one in found if one[1] in fetching | starting} == {
        ("access.py", "socket"),
        *(("memory.py", name) for name in ("ctypes", "pickle")),
    }

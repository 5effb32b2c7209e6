"""Access rules: each rule about requests is attacked over a socket."""

from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import canvass.browser
from canvass.browser.access import CONTENT_SECURITY_POLICY, TOKEN_BYTES, listen, make_token
from canvass.browser.app import PageFile
from canvass.browser.limits import CONNECTIONS, HEAD_BYTES
from support.browse import Asked, read_all, serving, status_of


@pytest.fixture(scope="module")
def server() -> Iterator[Asked]:
    with serving() as running:
        yield running


def head(server: Asked, target: str = "/api/session", **headers: str) -> bytes:
    """A request with the token, its headers replaced or added by name."""
    lines = {"host": f"127.0.0.1:{server.port}", "x-canvass-token": server.token}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
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


def test_nobody_listens_for_other_addresses_of_the_machine(server: Asked) -> None:
    # All of 127/8 is this machine; a server on every interface would answer here, too.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1.evil.example:{port}",
        "LOCALHOST:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "127.1:{port}",
        "user@127.0.0.1:{port}",
        "127.0.0.1:0{port}",
        "",
    ],
)
def test_a_name_that_was_bound_to_this_address_is_refused(server: Asked, host: str) -> None:
    answer = server.send(head(server, host=host.format(port=server.port)))

    assert status_of(answer) in (400, 403)
    assert b"version" not in answer


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}/",
        "http://127.0.0.1:{port}.evil.example",
        "HTTP://127.0.0.1:{port}",
    ],
)
def test_pages_of_other_origins_are_refused(server: Asked, origin: str) -> None:
    answer = server.send(head(server, origin=origin.format(port=server.port)))

    assert status_of(answer) == 403
    assert b"access-control" not in answer.lower()


def test_the_own_origin_is_let_in(server: Asked) -> None:
    own = f"http://127.0.0.1:{server.port}"

    assert status_of(server.send(head(server, origin=own, sec_fetch_site="same-origin"))) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "none, none"])
@pytest.mark.parametrize("target", ["/api/session", "/", "/assets/app.js"])
def test_requests_from_other_sites_are_refused(server: Asked, site: str, target: str) -> None:
    assert status_of(server.send(head(server, target, sec_fetch_site=site))) == 403


WINDOW = {
    "sec_fetch_site": "cross-site",
    "sec_fetch_mode": "navigate",
    "sec_fetch_dest": "document",
}
"""The request of a browser that follows the link in the file that it was given."""


def test_the_file_that_a_browser_is_given_leads_in(server: Asked) -> None:
    assert status_of(server.send(head(server, f"/?arrival={server.arrival}", **WINDOW))) == 200


@pytest.mark.parametrize(
    ("target", "other"),
    [
        ("/", {}),
        ("/?arrival=", {}),
        ("/?arrival={token}", {}),
        ("/?arrival={arrival}x", {}),
        ("/?arrival={arrival}&x=1", {}),
        ("/assets/app.js?arrival={arrival}", {}),
        ("/api/session?arrival={arrival}", {}),
        ("/?arrival={arrival}", {"sec_fetch_dest": "iframe"}),
        ("/?arrival={arrival}", {"sec_fetch_mode": "cors"}),
        ("/?arrival={arrival}", {"origin": "http://evil.example"}),
        ("/?arrival={arrival}", {"host": "evil.example"}),
    ],
)
def test_nobody_else_of_another_site_is_led_in(
    server: Asked, target: str, other: dict[str, str]
) -> None:
    asked = target.format(token=server.token, arrival=server.arrival)
    assert status_of(server.send(head(server, asked, **WINDOW | other))) == 403


@pytest.mark.parametrize(
    "given", ["", "x", "wrong-token-of-22-chars", "{token}x", "{token} {token}", "\xff\xfe"]
)
def test_without_the_token_nothing_is_reported(server: Asked, given: str) -> None:
    answer = server.send(head(server, x_canvass_token=given.format(token=server.token)))

    assert status_of(answer) == 401
    assert b"version" not in answer
    assert server.token.encode() not in answer


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


def test_tokens_have_128_bits_and_are_drawn_anew() -> None:
    assert TOKEN_BYTES * 8 == 128
    drawn = {make_token() for _ in range(100)}

    assert len(drawn) == 100
    assert all(len(token) == 22 for token in drawn)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_only_get_is_answered(server: Asked, method: str) -> None:
    reply = server.request("/api/session", {"X-Canvass-Token": server.token}, method)

    assert reply.status == 405
    assert reply.headers["allow"] == "GET"
    assert not any(name.startswith("access-control") for name in reply.headers)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content_length": "5"}, b"hello"),
        ({"content_length": "1000000000000"}, b""),
        ({"transfer_encoding": "chunked"}, b"5\r\nhello\r\n0\r\n\r\n"),
    ],
)
def test_bodies_are_refused(server: Asked, headers: dict[str, str], body: bytes) -> None:
    assert status_of(server.send(head(server, **headers) + body)) == 413


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
        assert found["cross-origin-opener-policy"] == "same-origin"
        assert found["cross-origin-resource-policy"] == "same-origin"
        assert found["referrer-policy"] == "no-referrer"
        assert "server" not in found
    raw = server.send(b"no request\r\n\r\n").lower()
    assert b"content-security-policy: default-src 'none'" in raw
    assert b"nosniff" in raw


def test_the_policy_is_that_of_the_security_table() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize(
    "target",
    [
        "/assets/../canvass/browser/app.py",
        "/assets/..%2f..%2fapp.py",
        "/assets/%2e%2e/app.py",
        "/assets//etc/passwd",
        "/assets/....//app.js",
        "/assets/app.js/",
        "/assets/app.js%00.css",
        "/assets/..\\app.py",
        "/assets/",
        "//evil.example/",
        "/index.html",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://evil.example/",
        "/api/graph/..%2f..%2fetc",
        "/api/run/%2fetc%2fpasswd",
        "/api/run/..",
        "/api/counterexample/%00",
        "/api/report/http:%2f%2fevil.example",
    ],
)
def test_files_and_ids_are_looked_up_and_never_made_into_paths(server: Asked, target: str) -> None:
    answer = server.send(head(server, target))

    assert status_of(answer) == 404
    assert b"root:" not in answer


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

    assert {one for one in found if one[1] in fetching | starting} == {("access.py", "socket")}


def test_a_long_head_is_refused(server: Asked) -> None:
    long = head(server, x_filler="a" * HEAD_BYTES)

    assert status_of(server.send(long)) in (400, 431)


def test_a_head_up_to_the_limit_is_read(server: Asked) -> None:
    room = HEAD_BYTES - len(head(server, x_filler="")) - 64

    assert status_of(server.send(head(server, x_filler="a" * room))) == 200


def test_who_does_not_finish_is_not_waited_for() -> None:
    with serving(seconds=1.0) as hasty, ExitStack() as stack:
        whole = head(hasty)
        parts = (b"", whole[:1], whole[: len(whole) // 2], whole[:-1])
        slow = [stack.enter_context(hasty.connect()) for _ in parts]
        for one, part in zip(slow, parts, strict=True):
            one.sendall(part)
        assert [read_all(one) for one in slow] == [b""] * len(parts)
        assert status_of(_patiently(hasty)) == 200


def test_an_idle_connection_is_closed_after_its_answer() -> None:
    with serving(seconds=1.0) as hasty, hasty.connect() as idle:
        idle.sendall(head(hasty).replace(b"connection: close\r\n", b""))
        answer = read_all(idle)

        assert status_of(answer) == 200


def test_who_sends_drop_by_drop_is_not_waited_for_either() -> None:
    with serving(seconds=0.5) as hasty, hasty.connect() as slow:
        slow.settimeout(0.05)
        sent = 0
        closed = False
        for byte in head(hasty, x_filler="a" * 4000):
            try:
                slow.sendall(bytes([byte]))
                sent += 1
                closed = slow.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
            if closed:
                break

        assert closed
        assert sent < 4000


def test_who_asks_and_takes_no_answer_is_not_waited_for() -> None:
    large = {"/": PageFile(b"x" * (8 << 20), "text/html; charset=utf-8")}
    with serving(seconds=1.0, files=large) as hasty, hasty.connect() as greedy:
        asks = head(hasty, "/").replace(b"connection: close\r\n", b"")
        greedy.sendall(asks)
        assert greedy.recv(1) == b"H"  # So that what follows comes while the answer is given.
        # The server must end this; if it did not, the time-out of the connection would.
        with pytest.raises(ConnectionError):
            send_on(greedy, asks * 500)


def send_on(opened: socket.socket, data: bytes) -> None:
    while True:
        opened.sendall(data)


def test_of_too_many_connections_the_oldest_that_asks_nothing_makes_room(server: Asked) -> None:
    opened = [server.connect() for _ in range(CONNECTIONS)]
    try:
        # Each is answered once, so that the server surely has them all.
        for one in opened:
            one.sendall(head(server).replace(b"connection: close\r\n", b""))
            assert one.recv(9) == b"HTTP/1.1 "
        assert status_of(server.send(head(server))) == 200
        assert b"\r\n" in read_all(opened[0])  # The rest of its answer, then the end.
        opened[-1].sendall(head(server))
        assert read_all(opened[-1]).count(b"HTTP/1.1 200") == 1
    finally:
        for one in opened:
            one.close()


def test_connections_that_are_half_open_do_not_keep_others_out(server: Asked) -> None:
    half = head(server)[:-20]
    opened = [server.connect() for _ in range(600)]
    try:
        for one in opened:
            with suppress(ConnectionError):  # Some had to make room already.
                one.sendall(half)
        assert [status_of(server.send(head(server))) for _ in range(5)] == [200] * 5
    finally:
        for one in opened:
            one.close()


def _patiently(server: Asked) -> bytes:
    """Ask until the server has noticed that the others are gone."""
    for _ in range(200):
        answer = server.send(head(server))
        if answer:
            return answer
    return b""

"""The conditions of a request that can be checked without a socket."""

from __future__ import annotations

from canvass.browser.access import AccessControl


async def app(*_: object) -> None:
    """Stand for an application."""


def test_a_server_is_asked_with_its_port_which_browsers_leave_out_if_it_is_80() -> None:
    named = {b"127.0.0.1:8080", b"localhost:8080"}
    plain = {b"127.0.0.1", b"localhost"}

    assert AccessControl(app, 8080, "token").hosts == named
    assert AccessControl(app, 80, "token").hosts == {b"127.0.0.1:80", b"localhost:80"} | plain

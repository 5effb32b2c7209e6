"""A running server of ``canvass browse`` for tests, and ways to send it requests or any bytes."""

from __future__ import annotations

import http.client
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec

from canvass.browser import api
from canvass.browser.access import LOOPBACK, listen, make_server
from canvass.browser.app import Browser
from canvass.browser.opening import Opener
from canvass.browser.sources import Store
from canvass.browser.verdicts import Checker
from canvass.cluster.messages import Record
from canvass.steps.answers import StepLookup
from support.core_lookup import core_lookup

T = TypeVar("T", bound=Record)

MANY: Final = 5000
"""Runs of a corpus that is paged through."""

PAGE = {
    "/": b"<!doctype html><title>page</title>",
    "/assets/app.js": b"'use strict';",
}
"""Stands for the built page, which these tests do not need."""


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def problem(self) -> api.Problem:
        """The message of an answer that is an error."""
        return msgspec.json.decode(self.body, type=api.Failure).error


@dataclass
class Asked:
    """A server under test."""

    port: int
    token: str
    store: Store
    ids: list[str] = field(default_factory=list)

    def ask(self, path: str, /, **query: object) -> Reply:
        """Ask as the page does."""
        target = f"/api{path}{'?' + urlencode(query) if query else ''}"
        return self.request(target, {"X-Canvass-Token": self.token})

    def get(self, kind: type[T], path: str, /, **query: object) -> T:
        """Ask as the page does, for an answer of a kind."""
        reply = self.ask(path, **query)
        assert reply.status == 200, reply.body
        return msgspec.json.decode(reply.body, type=kind)

    def request(
        self, target: str, headers: Mapping[str, str] | None = None, method: str = "GET"
    ) -> Reply:
        """Send a well-formed request."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            connection.request(method, target, headers=dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection((LOOPBACK, self.port), timeout=120)

    def send(self, data: bytes) -> bytes:
        """Send any bytes, and give the answer until the connection ends."""
        with self.connect() as opened:
            # The server may close the connection meanwhile; then its answer so far counts.
            with suppress(ConnectionError):
                opened.sendall(data)
            return read_all(opened)


def read_all(opened: socket.socket) -> bytes:
    """Read until the other side ends the connection, in whatever way."""
    found = b""
    try:
        while part := opened.recv(1 << 16):
            found += part
    except ConnectionError:
        pass
    return found


def status_of(answer: bytes) -> int:
    """Give the status of a raw answer, 0 if there is none."""
    if not answer:
        return 0
    assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    return int(answer[9:12])


def write_corpus(folder: Path, good: Path, bad: Path, runs: int = MANY) -> Path:
    """Write a corpus of two runs under many names; every thousandth is the bad one."""
    folder.mkdir()
    files = {run: [file.name for file in run.iterdir()] for run in (good, bad)}
    for number in range(runs):
        run = good if number % 1000 else bad
        copy = folder / f"run-{number:04d}"
        copy.mkdir()
        for name in files[run]:
            os.link(run / name, copy / name)
    return folder


@contextmanager
def serving(
    paths: Sequence[Path] = (),
    *,
    lookup: StepLookup | None = None,
    sources: Iterable[Any] = (),
    files: Mapping[str, bytes] = PAGE,
) -> Iterator[Asked]:
    """Run a server on some paths, on a free port, until the end of the context.

    Parameters
    ----------
    paths
        The paths to open.
    lookup
        Decides steps; the core by default, which is fast.
    sources
        Further sources, which are added unchanged.
    files
        The files of the page.
    """
    opener = Opener(Checker(lookup or core_lookup()))
    store = Store()
    ids = [store.add(source) for path in paths for source in opener.open(path)]
    ids += [store.add(source) for source in sources]
    opened = listen(0)
    port = opened.getsockname()[1]
    token = "a-token"
    server = make_server(Browser(store, dict(files)).application(port, token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        yield Asked(port, token, store, ids)
    finally:
        server.should_exit = True
        thread.join()
        opened.close()
        opener.close()

"""TCP connections on 127.0.0.1: links, which send messages, and listeners, which receive them.

A broken link connects again. Messages sent meanwhile are lost, as the protocol expects.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import MsgspecError

_LENGTH: Final = struct.Struct("<I")
MAX_MESSAGE_LENGTH: Final = 20 << 20
"""The longest frame of the log, with the message around it."""


class FramingError(ValueError):
    """The bytes of a connection are not a message."""


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    return _LENGTH.pack(len(message)) + message


class MessageReader:
    """A reader that assembles the messages of one connection."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add received bytes. Return the messages that are complete.

        Raises
        ------
        FramingError
            If a message is longer than `MAX_MESSAGE_LENGTH`.
        """
        self._data += data
        offset = 0
        try:
            while len(self._data) >= offset + _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._data, offset)
                if length > MAX_MESSAGE_LENGTH:
                    raise FramingError(f"a message of {length} bytes is too long")
                start = offset + _LENGTH.size
                if len(self._data) < start + length:
                    break
                offset = start + length
                yield bytes(self._data[start:offset])
        finally:
            del self._data[:offset]


HOST: Final = "127.0.0.1"
RETRY_S: Final = 0.05
"""The wait between two attempts to connect."""
MAX_BUFFERED: Final = 8 << 20
"""The most bytes that wait for the receiver. Further messages are dropped."""
MAX_EARLY: Final = 256
"""The greatest number of messages that wait for the first connection of a link."""


def port_of(endpoint: str) -> int:
    """The port of an endpoint.

    Raises
    ------
    ValueError
        If ``endpoint`` is not an endpoint on this machine.
    """
    host, _, port = endpoint.rpartition(":")
    if host != HOST or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"{endpoint!r} is not an endpoint on {HOST}")
    return int(port)


class Link(asyncio.Protocol):
    """A connection that sends messages to one endpoint.

    Parameters
    ----------
    endpoint
        The endpoint of the receiver.
    hello
        The first message of each connection, or None.
    once
        Whether the link connects only once. Messages wait for the connection; after its end the
        link is `dead`.
    """

    def __init__(self, endpoint: str, hello: bytes | None, *, once: bool = False) -> None:
        self._port, self._hello, self._once = port_of(endpoint), hello, once
        self.dead = False
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] | None = [] if once else None
        self._lost = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._keep_connected())

    @property
    def accepts(self) -> bool:
        """Whether a message can be sent now."""
        transport = self._transport
        return transport is not None and transport.get_write_buffer_size() < MAX_BUFFERED

    def send(self, message: bytes) -> bool:
        """Send a message. Return false if it is dropped."""
        transport = self._transport
        if transport is None:
            if self._early is not None and len(self._early) < MAX_EARLY:
                self._early.append(message)
                return True
            return False
        if not self.accepts:
            return False
        transport.write(framed(message))
        return True

    def close(self) -> None:
        """Close the connection for good."""
        self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        early, self._early = self._early or [], None
        for message in (*([] if self._hello is None else [self._hello]), *early):
            transport.write(framed(message))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        del exc
        self._transport = None
        self._lost.set()

    async def _keep_connected(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._lost.clear()
            try:
                await loop.create_connection(lambda: self, HOST, self._port)
                await self._lost.wait()
            except OSError:
                pass
            if self._once:
                self.dead = True
                return
            await asyncio.sleep(RETRY_S)


class Incoming(asyncio.Protocol):
    """One connection that another process has opened.

    Parameters
    ----------
    on_message
        The function that receives each message. A `ValueError` or an error of `msgspec` ends the
        connection.
    listener
        The listener that the connection belongs to.
    """

    def __init__(self, on_message: Callable[[bytes], None], listener: Listener) -> None:
        self._on_message, self._listener = on_message, listener
        self._reader = MessageReader()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._listener.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        del exc
        self._listener.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        try:
            for message in self._reader.feed(data):
                self._on_message(message)
        except (ValueError, MsgspecError):
            if self.transport is not None:
                self.transport.abort()


class Listener:
    """A port that accepts connections.

    Parameters
    ----------
    on_connection
        Returns the function that receives the messages of a new connection.
    """

    def __init__(self, on_connection: Callable[[], Callable[[bytes], None]]) -> None:
        self._on_connection = on_connection
        self.connections: set[Incoming] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self, port: int = 0) -> None:
        """Listen at a port; by default at a free port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Incoming(self._on_connection(), self), HOST, port, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening, and end all connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            if connection.transport is not None:
                connection.transport.abort()

"""TCP connections on 127.0.0.1: links, which send messages, and listeners, which receive them.

A message is written with its length before it; this is no frame of the log. A broken link connects
again. Messages sent meanwhile are lost, as the protocol expects.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Final

_LENGTH: Final = struct.Struct("<I")
MAX_MESSAGE_LENGTH: Final = 20 << 20
"""The longest frame of the log, with the message around it."""


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    return _LENGTH.pack(len(message)) + message


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """Read the next message of a connection.

    Raises
    ------
    ValueError
        If the message is too long.
    EOFError
        If the connection ends before or within the message.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MAX_MESSAGE_LENGTH:
        raise ValueError(f"a message of {length} bytes is too long")
    return await reader.readexactly(length)


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


class Link:
    """A connection that sends messages to one endpoint.

    Parameters
    ----------
    endpoint
        The endpoint of the receiver.
    hello
        The first message of each connection. A link without it connects only once: messages wait
        for the connection, and after its end the link is `dead`.
    """

    def __init__(self, endpoint: str, hello: bytes | None = None) -> None:
        self._port, self._hello = port_of(endpoint), hello
        self.dead = False
        self._writer: asyncio.StreamWriter | None = None
        self._early: list[bytes] = []
        self._task = asyncio.get_running_loop().create_task(self._keep_connected())

    @property
    def accepts(self) -> bool:
        """Whether a message can be sent now."""
        writer = self._writer
        if writer is None or writer.is_closing():
            return False
        return writer.transport.get_write_buffer_size() < MAX_BUFFERED

    def send(self, message: bytes) -> None:
        """Send a message, or drop it if the link does not accept it."""
        if self._writer is not None and self.accepts:
            self._writer.write(framed(message))
        elif self._writer is None and self._hello is None and len(self._early) < MAX_EARLY:
            self._early.append(message)

    def close(self) -> None:
        """Close the connection for good."""
        self._task.cancel()
        if self._writer is not None:
            self._writer.transport.abort()

    async def _keep_connected(self) -> None:
        while not self.dead:
            try:
                reader, self._writer = await asyncio.open_connection(HOST, self._port)
                for message in self._early if self._hello is None else [self._hello]:
                    self._writer.write(framed(message))
                while await reader.read(1 << 16):
                    pass  # What a receiver sends is dropped.
            except OSError:
                pass
            if self._writer is not None:
                self._writer.transport.abort()
                self._writer = None
            self.dead = self._hello is None
            await asyncio.sleep(RETRY_S)


class Listener:
    """A port that accepts connections.

    Parameters
    ----------
    on_connection
        Returns the function that receives the messages of a new connection.
    """

    def __init__(self, on_connection: Callable[[], Callable[[bytes], None]]) -> None:
        self._on_connection = on_connection
        self._connections: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self, port: int = 0) -> None:
        """Listen at a port; by default at a free port."""
        self._server = await asyncio.start_server(
            self._receive, HOST, port, limit=MAX_BUFFERED, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive the messages of a connection. Data that is not a message ends the connection."""
        self._connections.add(writer)
        on_message = self._on_connection()
        try:
            while True:
                on_message(await read_message(reader))
        except (ValueError, EOFError, OSError, asyncio.CancelledError):
            pass  # The end of the loop cancels this; asyncio would print that.
        finally:
            self._connections.discard(writer)
            writer.transport.abort()

    def close(self) -> None:
        """Stop listening, and end all connections."""
        if self._server is not None:
            self._server.close()
        for writer in self._connections:
            writer.transport.abort()

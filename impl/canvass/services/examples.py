"""Two applications to run on a cluster: a counter, and a store of keys and values.

Their requests and answers are text, so that a client at a terminal can use them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from canvass.services.exactly_once import Application, ExactlyOnce
from canvass.services.service import ClusteredService


class Counter(Application):
    """Counts: ``add N`` adds and ``get`` does not; the answer is the value after it."""

    def __init__(self) -> None:
        self.value = 0

    def apply(self, request: bytes) -> bytes:
        """See `Application`."""
        words = request.split()
        if len(words) == 2 and words[0] == b"add":
            try:
                self.value += int(words[1])
            except ValueError:
                return b"error: not a number"
        elif words != [b"get"]:
            return b"error: what is known is: add N, get"
        return str(self.value).encode()

    def snapshot(self) -> bytes:
        """See `Application`."""
        return str(self.value).encode()

    def restore(self, snapshot: bytes) -> None:
        """See `Application`."""
        self.value = int(snapshot)


class KeyValue(Application):
    """Keeps values: ``set KEY VALUE``, ``get KEY``, ``delete KEY``, ``keys``."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def apply(self, request: bytes) -> bytes:
        """See `Application`."""
        words = request.decode(errors="replace").split(maxsplit=2)
        match words:
            case ["set", key, value]:
                self.values[key] = value
                return b"ok"
            case ["get", key]:
                found = self.values.get(key)
                return b"none" if found is None else b"= " + found.encode()
            case ["delete", key]:
                return b"none" if self.values.pop(key, None) is None else b"ok"
            case ["keys"]:
                return " ".join(sorted(self.values)).encode()
            case _:
                return b"error: what is known is: set KEY VALUE, get KEY, delete KEY, keys"

    def snapshot(self) -> bytes:
        """See `Application`."""
        return json.dumps(self.values, sort_keys=True).encode()

    def restore(self, snapshot: bytes) -> None:
        """See `Application`."""
        self.values = json.loads(snapshot)


SERVICES: Final[Mapping[str, Callable[[], ClusteredService]]] = MappingProxyType(
    {"counter": lambda: ExactlyOnce(Counter()), "key-value": lambda: ExactlyOnce(KeyValue())}
)
"""The services that a cluster can be started with, by name."""

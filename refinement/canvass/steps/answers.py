"""Files of TLC's answers: the one that ships with canvass, and the user's cache.

A file is a database of SQLite with one table. Each row is a batch of answers: the keys of canonical
steps, a byte for each (1 allowed, 0 refused), and a digest of both and of the spec. Processes only
add rows, so none loses what another has added. A batch with a wrong digest makes the file damaged:
a damaged file has no answers, as a changed answer would change a verdict.
"""

from __future__ import annotations

import hashlib
import sqlite3
import warnings
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.spec.files import spec_root
from canvass.steps.distinct import KeyTable

SHIPPED: Final = "known-steps.sqlite"
"""The file that ships with canvass, in the folder of the spec. ``make known-steps`` makes it."""

NO_ANSWERS: Final = KeyTable.build(np.empty((0, 2), np.uint64), np.empty(0, np.int64))

REFUSED: Final = 0
ALLOWED: Final = 1
UNKNOWN: Final = -1
IN_TABLE: Final = 2
"""Allowed, as it is an edge of a state graph or a step that ships with canvass."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Tables of the answers of TLC, in which steps are looked up. Their order does not matter.

    Parameters
    ----------
    graphs
        The keys of state graphs, by the names of the graphs. Their edges are allowed steps.
    shipped
        The answers that ship with canvass; all of them are allowed steps.
    known
        More answers: 1 for an allowed step, 0 for a refused one.
    """

    graphs: Mapping[str, KeyTable] = field(default_factory=dict)
    shipped: KeyTable = NO_ANSWERS
    known: KeyTable = NO_ANSWERS

    def look_up(self, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Give for each key ``IN_TABLE``, ``ALLOWED``, ``REFUSED`` or ``UNKNOWN``.

        A step that is in no graph is unknown, not refused: a graph has bounds.
        """
        out = np.full(len(keys), UNKNOWN, dtype=np.int8)
        for table in (*self.graphs.values(), self.shipped):
            out[table.lookup(keys) >= 0] = IN_TABLE
        open_keys = np.flatnonzero(out == UNKNOWN)
        out[open_keys] = self.known.lookup(keys[open_keys])
        return out


_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS answers (keys BLOB NOT NULL, codes BLOB NOT NULL, digest BLOB"
    " NOT NULL)"
)
_KEY_BYTES: Final = 16
_WAIT_S: Final = 30.0
"""How long a process waits while another one writes."""


class AnswersWarning(UserWarning):
    """A file of answers is not used or not written; the message is one line."""


class DamagedAnswers(Exception):
    """A file is no file of answers to this spec; the message is the reason."""


class AnswerFile:
    """A file of answers that rest on one spec.

    Parameters
    ----------
    path
        The file; it need not exist.
    spec
        The digest of the spec, as `canvass.conformance.step_lookup.spec_digest` gives it.
    """

    def __init__(self, path: Path, spec: str) -> None:
        self.path = path
        self.spec = spec

    def read(self) -> KeyTable:
        """Give all answers; none, with an `AnswersWarning`, if the file cannot be used."""
        try:
            return self.checked()
        except (DamagedAnswers, OSError, sqlite3.Error) as error:
            self._warn(f"the answers in it are not used: {_reason(error)}; remove a damaged file")
        return NO_ANSWERS

    def add(self, keys: NDArray[np.uint64], codes: NDArray[np.int8]) -> None:
        """Add answers; if that is impossible there is an `AnswersWarning`, and nothing is added.

        Parameters
        ----------
        keys : (n, 2) array
            The keys of the steps.
        codes : (n,) array
            1 for an allowed step, 0 for a refused one.
        """
        batch = np.ascontiguousarray(keys, "<u8").tobytes(), codes.astype(np.uint8).tobytes()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._exists()
            with closing(self._open("rwc")) as file, file:
                file.execute(_TABLE)
                file.execute("INSERT INTO answers VALUES (?, ?, ?)", (*batch, self._digest(*batch)))
        except (OSError, sqlite3.Error, DamagedAnswers) as error:
            self._warn(f"TLC's answers are not kept: {_reason(error)}; --no-cache needs no file")

    def checked(self) -> KeyTable:
        """Give all answers.

        Raises
        ------
        DamagedAnswers
            If the file has something else, or answers that rest on another spec.
        OSError
            If it is no regular file.
        """
        if not self._exists():
            return NO_ANSWERS
        try:
            with closing(self._open("rw")) as file:
                rows = list(file.execute("SELECT keys, codes, digest FROM answers"))
        except (sqlite3.Error, ValueError, OverflowError) as error:  # Or of decoding its message.
            if self.path.stat().st_size == 0:  # Another process is about to make the table.
                return NO_ANSWERS
            raise DamagedAnswers(f"the file is damaged or in use: {error}") from None
        for keys, codes, digest in rows:
            if not all(isinstance(part, bytes) for part in (keys, codes, digest)):
                raise DamagedAnswers("the file is damaged: a batch has another type")
            if digest != self._digest(keys, codes) or len(keys) != _KEY_BYTES * len(codes):
                raise DamagedAnswers("the file is damaged: a batch has another digest")
        keys = np.frombuffer(b"".join(row[0] for row in rows), "<u8").reshape(-1, 2)
        codes = np.frombuffer(b"".join(row[1] for row in rows), np.uint8)
        return KeyTable.build(keys.astype(np.uint64), codes.astype(np.int64))

    def _exists(self) -> bool:
        if self.path.is_file():
            return True
        if self.path.exists():  # To open a FIFO would never end.
            raise OSError("it is no regular file")
        return False

    def _open(self, mode: str) -> sqlite3.Connection:
        """Open the file; mode ``rw`` reads it, too, if it cannot be written."""
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        file = sqlite3.connect(address, uri=True, timeout=_WAIT_S)
        file.execute("PRAGMA trusted_schema = OFF")
        file.execute("PRAGMA cell_size_check = ON")
        return file

    def _digest(self, keys: bytes, codes: bytes) -> bytes:
        found = hashlib.sha256(self.spec.encode())
        found.update(len(keys).to_bytes(8, "big"))
        found.update(keys)
        found.update(codes)
        return found.digest()

    def _warn(self, text: str) -> None:
        warnings.warn(f"{self.path}: {text}", AnswersWarning, stacklevel=3)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@cache
def shipped_answers(spec: str) -> KeyTable:
    """Give the answers that ship with canvass; none if they rest on another spec."""
    try:
        return AnswerFile(spec_root() / SHIPPED, spec).checked()
    except (DamagedAnswers, OSError, sqlite3.Error):
        return NO_ANSWERS

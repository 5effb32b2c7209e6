"""TLC's answers: tables of them, the files that keep them, and `StepLookup`, which asks TLC.

A `KeyTable` finds keys. `Answers` are the tables in which canonical steps are looked up: the keys
of state graphs, the answers that ship with canvass, and those of the user's cache. `StepLookup`
asks TLC about steps without an answer. New answers go to the cache, under the digest of the spec
that TLC evaluated. Nothing here knows events.

A file of answers is a database of SQLite with one table. Each row is a batch of answers: the keys
of canonical steps, a byte for each (1 allowed, 0 refused), and a digest of both and of the spec.
Processes only add rows, so none loses what another has added. If a batch has a wrong digest, the
file counts as damaged, and none of its answers is used: a changed answer would change a verdict.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.spec.files import find_file, module_digest, spec_root
from canvass.steps.action_fields import tables_as_bytes
from canvass.steps.oracle import ask as ask_tlc
from canvass.steps.step import Question, Step, key_rows
from canvass.traces.columns import Ints, distinct_rows

Keys = NDArray[np.uint64]

KEYS_FILE: Final = "keys.npy"
EDGES_FILE: Final = "key-edges.npy"


class KeyTable:
    """Keys in ascending order, and for each the number of an edge that has it."""

    def __init__(self, halves: NDArray[np.uint64], edges: NDArray[np.int64]) -> None:
        self._halves = halves
        self.edges = edges

    def __len__(self) -> int:
        """Count the keys."""
        return len(self.edges)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys, one for each row."""
        return self._halves.T

    @classmethod
    def build(cls, keys: NDArray[np.uint64], edges: NDArray[np.int64]) -> KeyTable:
        """Make a table of the keys of edges, one for each row; of equal keys the first stays."""
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        ordered = np.ascontiguousarray(keys[order].T)
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        return cls(np.ascontiguousarray(ordered[:, fresh]), edges[order][fresh])

    @classmethod
    def open(cls, folder: Path) -> KeyTable:
        """Map a table that `save` wrote."""
        return cls(
            np.load(folder / KEYS_FILE, mmap_mode="r"),
            np.load(folder / EDGES_FILE, mmap_mode="r"),
        )

    def save(self, folder: Path) -> None:
        """Write the table to a folder."""
        np.save(folder / KEYS_FILE, self._halves)
        np.save(folder / EDGES_FILE, self.edges)

    def lookup(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Give the edge of each key, -1 for a key that no edge has."""
        out = np.full(len(keys), -1, dtype=np.int64)
        if not len(self):
            return out
        first, second = self._halves
        # Keys with the same first half are neighbours. They are extremely rare, so the loop nearly
        # always ends after its first round.
        at = np.searchsorted(first, keys[:, 0])
        open_rows = np.arange(len(keys))
        while len(open_rows):
            inside = at < len(self)
            open_rows, at = open_rows[inside], at[inside]
            same = first[at] == keys[open_rows, 0]
            open_rows, at = open_rows[same], at[same]
            hit = second[at] == keys[open_rows, 1]
            out[open_rows[hit]] = self.edges[at[hit]]
            open_rows, at = open_rows[~hit], at[~hit] + 1
        return out


def distinct_keys(keys: Keys) -> tuple[Ints, Ints]:
    """Find the distinct keys; see `distinct_rows`."""
    _, first, places = np.unique(keys[:, 0], return_index=True, return_inverse=True)
    if (keys[first[places], 1] != keys[:, 1]).any():  # Two keys share a half: very rare.
        return distinct_rows(keys)
    return first, places


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
    allowed
        Tables of allowed steps: the edges of state graphs, and the answers that ship with canvass.
    known
        More answers: 1 for an allowed step, 0 for a refused one.
    """

    allowed: tuple[KeyTable, ...] = ()
    known: KeyTable = NO_ANSWERS

    def look_up(self, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Give for each key ``IN_TABLE``, ``ALLOWED``, ``REFUSED`` or ``UNKNOWN``.

        A step that is in no graph is unknown, not refused: a graph has bounds.
        """
        out = np.full(len(keys), UNKNOWN, dtype=np.int8)
        for table in self.allowed:
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
    """A file of the answers that belong to one spec.

    Parameters
    ----------
    path
        The file; it need not exist.
    spec
        The digest of the spec, as `spec_digest` gives it.
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
            If the file is not a file of answers, is damaged or in use, or its answers belong to
            another spec.
        """
        if not self.path.is_file():
            return NO_ANSWERS
        try:
            with closing(self._open("rw")) as file:
                rows = list(file.execute("SELECT keys, codes, digest FROM answers"))
        except (sqlite3.Error, ValueError, OverflowError) as error:  # Also if its text is garbled.
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
    """Give the answers that ship with canvass; none if they belong to another spec."""
    try:
        return AnswerFile(spec_root() / SHIPPED, spec).checked()
    except (DamagedAnswers, OSError, sqlite3.Error):
        return NO_ANSWERS


# --- asking ---------------------------------------------------------------------------------------

_KEY_VERSION: Final = 2
"""Increased when the canonical form or its key changes in another way than by its tables."""


Ask = Callable[[Rules, Sequence[Step]], Sequence[bool]]
"""Asks an oracle which steps given rules allow. Sends to different members have no order."""


Explain = Callable[[Step, Rules], tuple[str, ...]]
"""Gives the parts of the guard that keep the action of a step from being enabled."""


class StepLookupError(Exception):
    """The oracle could not decide; the message is one line."""


RULE_MODULES: Final = (
    "Messages",
    "RecordingLog",
    "MemberState",
    "Election",
    "Replication",
    "Rev149",
    "UpstreamFix",
    "Hardened",
    "Member",
)
"""The modules that define the steps."""
ORACLE_MODULES: Final = (*RULE_MODULES, "Encoding", "StepOracle")
"""The modules that an answer depends on."""


def spec_digest() -> str:
    """Give the digest of the rules of the spec, without comments, and of the canonical form.

    An answer is kept under the key of a canonical form. If a later form keeps more fields, two
    steps that had one key may have different answers.
    """
    found = hashlib.sha256(str(_KEY_VERSION).encode())
    found.update(tables_as_bytes())
    for name in ORACLE_MODULES:
        found.update(module_digest(find_file(f"{name}.tla")).encode())
    return found.hexdigest()


def default_cache() -> Path:
    """Give the folder for answers: in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "canvass"


def cache_file(folder: Path, digest: str) -> Path:
    """Name the file of the answers that belong to the spec with a digest."""
    return folder / f"steps-{digest[:32]}.sqlite"


@dataclass(slots=True)
class StepLookup:
    """Decides canonical steps.

    Parameters
    ----------
    oracle
        Called for unknown steps only.
    guards
        Called only to explain actions that are not enabled. Default: TLC evaluates the guard.
    cache
        The folder of the cache; None for answers in memory only.
    digest
        The digest of the spec that the answers belong to.
    answers
        The answers known at the start. The contents of the cache are added to them.
    """

    oracle: Ask = ask_tlc
    guards: Explain | None = None
    cache: Path | None = None
    digest: str = field(default_factory=spec_digest)
    asked: int = 0
    answers: Answers = field(default_factory=Answers)

    def __post_init__(self) -> None:
        """Read the cache."""
        if self._file is not None:
            self.answers = replace(self.answers, known=self._file.read())

    def ask_oracle(self, questions: Sequence[Question]) -> NDArray[np.int8]:
        """Let the oracle decide some steps, and keep the answers.

        Raises
        ------
        StepLookupError
            If an oracle gives another number of answers than it was asked for.
        """
        out = np.empty(len(questions), dtype=np.int8)
        by_rules: dict[Rules, list[int]] = {}
        for place, question in enumerate(questions):
            by_rules.setdefault(question.rules, []).append(place)
        for rules, places in by_rules.items():
            answers = self.oracle(rules, [questions[place].step for place in places])
            if len(answers) != len(places):
                raise StepLookupError(f"asked for {len(places)} steps, got {len(answers)} answers")
            out[places] = answers
        self.asked += len(questions)
        if questions:
            self.remember(key_rows(one.key for one in questions), out)
        return out

    @property
    def _file(self) -> AnswerFile | None:
        if self.cache is None:
            return None
        return AnswerFile(cache_file(self.cache, self.digest), self.digest)

    def remember(self, keys: NDArray[np.uint64], codes: NDArray[np.int8]) -> None:
        """Add answers, also to the cache."""
        known = self.answers.known
        table = KeyTable.build(
            np.concatenate([known.keys, keys]), np.concatenate([known.edges, codes])
        )
        self.answers = replace(self.answers, known=table)
        if self._file is not None:
            self._file.add(keys, codes)

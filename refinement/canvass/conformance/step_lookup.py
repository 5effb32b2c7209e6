"""`StepLookup` decides canonical steps by tables of steps, the cache, reduced forms and the oracle.

It looks a step up in this order. All answers come from TLC; a step with a known reduced form is
allowed only if the core takes it, too. Answers are kept on disk under the digest of the spec that
they rest on. The lookup knows no events; it gets examples of steps.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.conformance.operators import failing_parts
from canvass.conformance.step_checker import Example, reduced_example
from canvass.spec.files import find_file, module_digest
from canvass.steps.distinct import KeyTable
from canvass.steps.oracle import Answer
from canvass.steps.oracle import ask as ask_tlc
from canvass.steps.reduction import core_answer
from canvass.steps.step import Step
from canvass.steps.tables import tables_as_bytes

REFUSED: Final = 0
ALLOWED: Final = 1
UNKNOWN: Final = -1
IN_TABLE: Final = 2
"""Allowed, as it is an edge of a state graph or a step that ships with canvass."""

NO_STEPS: Final = KeyTable.build(np.empty((0, 2), np.uint64), np.empty(0, np.int64))

_KEY_VERSION: Final = 1
"""Raised when the canonical form or its key changes in another way than by its tables."""


Ask = Callable[[Rules, Sequence[Step]], Sequence[Answer]]
"""Asks an oracle about steps under given rules. Sends to different members have no order."""


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
    "Member",
)
"""The modules that define the steps."""
ORACLE_MODULES: Final = (*RULE_MODULES, "Encoding", "StepOracle")
"""The modules that an answer rests on."""


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
    """Name the file of the answers that rest on a spec."""
    return folder / f"steps-{digest[:32]}.npz"


@dataclass(slots=True)
class StepLookup:
    """Decides canonical steps.

    Parameters
    ----------
    oracle
        Called for unknown steps only.
    guards
        Called only to explain actions that are not enabled.
    graphs
        Tables of the keys of state graphs, by the paths of the graphs.
    cache
        The folder of the cache; None for answers in memory only.
    digest
        The digest of the spec that the answers rest on.
    shipped
        The keys of the known steps.
    """

    oracle: Ask = ask_tlc
    guards: Explain = failing_parts
    graphs: Mapping[str, KeyTable] = field(default_factory=dict)
    cache: Path | None = None
    digest: str = field(default_factory=spec_digest)
    asked: int = 0
    answers: KeyTable | None = None
    """The contents of the cache, once it was read."""
    shipped: KeyTable = NO_STEPS
    reduces: bool = False
    """Whether a step is allowed if TLC has allowed its reduced form, and the core takes it."""

    def look_up(self, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Give for each key ``IN_TABLE``, ``ALLOWED``, ``REFUSED`` or ``UNKNOWN``.

        A step that is in no graph is unknown, not refused: a graph has bounds.
        """
        out = np.full(len(keys), UNKNOWN, dtype=np.int8)
        for table in (*self.graphs.values(), self.shipped):
            out[table.lookup(keys) >= 0] = IN_TABLE
        open_keys = np.flatnonzero(out == UNKNOWN)
        out[open_keys] = self.cached().lookup(keys[open_keys])
        return out

    def ask_oracle(self, examples: Sequence[Example]) -> NDArray[np.int8]:
        """Let the oracle decide some steps, and keep the answers.

        Raises
        ------
        StepLookupError
            If an oracle gives another number of answers than it was asked for.
        """
        out = np.empty(len(examples), dtype=np.int8)
        by_rules: dict[Rules, list[int]] = {}
        for place, example in enumerate(examples):
            by_rules.setdefault(example.rules, []).append(place)
        for rules, places in by_rules.items():
            answers = self.oracle(rules, [examples[place].step for place in places])
            if len(answers) != len(places):
                raise StepLookupError(f"asked for {len(places)} steps, got {len(answers)} answers")
            out[places] = [answer.allowed for answer in answers]
        self.asked += len(examples)
        if examples:
            self.remember(_keys(examples), out)
        return out

    def look_up_reduced(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Mark the steps whose reduced form is allowed, if the core takes the step itself, too.

        The other steps are unknown, not refused: ask about them.
        """
        if not self.reduces:
            return np.zeros(len(examples), dtype=np.bool_)
        codes = self.look_up(_keys(list(map(reduced_example, examples))))
        found = np.isin(codes, (ALLOWED, IN_TABLE))
        for place in np.flatnonzero(found).tolist():
            example = examples[place]
            found[place] = core_answer(example.rules, example.step).allowed
        return found

    def allowed(self, examples: Sequence[Example]) -> list[bool]:
        """Tell for each of some steps whether it is allowed; ask about unknown ones."""
        answers = dict.fromkeys((example.key for example in examples), True)
        open_examples = self.unknown(examples)
        for example, code in zip(open_examples, self.ask_oracle(open_examples), strict=True):
            answers[example.key] = bool(code == ALLOWED)
        refused = self.look_up(_keys(examples)) == REFUSED
        return [answers[e.key] and not no for e, no in zip(examples, refused, strict=True)]

    def unknown(self, examples: Iterable[Example]) -> list[Example]:
        """Give the unknown ones of some steps, each once."""
        distinct = list({example.key: example for example in examples}.values())
        codes = self.look_up(_keys(distinct))
        waiting = [distinct[place] for place in np.flatnonzero(codes == UNKNOWN).tolist()]
        return [waiting[place] for place in np.flatnonzero(~self.look_up_reduced(waiting)).tolist()]

    @property
    def _file(self) -> Path | None:
        if self.cache is None:
            return None
        return cache_file(self.cache, self.digest)

    def cached(self) -> KeyTable:
        """Give the answers that are kept."""
        if self.answers is None:
            self.answers = _load(self._file)
        return self.answers

    def remember(self, keys: NDArray[np.uint64], answers: NDArray[np.int8]) -> None:
        """Add answers to the cache. If two processes do so at once, one loses its answers."""
        path = self._file
        base = self.cached() if path is None or not path.exists() else _load(path)
        all_keys = np.concatenate([base.keys, keys])
        all_answers = np.concatenate([base.edges, answers.astype(np.int64)])
        self.answers = KeyTable.build(all_keys, all_answers)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f".{path.name}.{os.getpid()}")
            with aside.open("wb") as file:
                np.savez(file, keys=self.answers.keys, answers=self.answers.edges)
            aside.replace(path)


def _keys(examples: Sequence[Example]) -> NDArray[np.uint64]:
    keys = np.array([example.key for example in examples], dtype=np.uint64)
    return keys.reshape(len(examples), 2)


def _load(path: Path | None) -> KeyTable:
    if path is None:
        return NO_STEPS
    try:
        with path.open("rb") as file, np.load(file) as found:
            return KeyTable.build(found["keys"], found["answers"])
    except FileNotFoundError:
        return NO_STEPS
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return NO_STEPS  # A damaged cache is no loss.

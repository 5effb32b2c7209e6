"""`StepLookup` decides canonical steps in two ways: by tables of TLC's answers, and by TLC.

The tables are of one type: the keys of state graphs, the answers that ship with canvass, and those
of the user's cache. New answers go to the cache, under the digest of the spec that they rest on.
The lookup knows no events; it gets canonical steps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.conformance.operators import failing_parts
from canvass.spec.files import find_file, module_digest
from canvass.steps.answers import NO_ANSWERS, REFUSED, AnswerFile, Answers
from canvass.steps.distinct import KeyTable
from canvass.steps.oracle import Answer
from canvass.steps.oracle import ask as ask_tlc
from canvass.steps.question import Question
from canvass.steps.step import Step
from canvass.steps.tables import tables_as_bytes

_KEY_VERSION: Final = 2
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
    "Rev149",
    "UpstreamFix",
    "Hardened",
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
    return folder / f"steps-{digest[:32]}.sqlite"


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
        The answers that ship with canvass.
    """

    oracle: Ask = ask_tlc
    guards: Explain = failing_parts
    graphs: Mapping[str, KeyTable] = field(default_factory=dict)
    cache: Path | None = None
    digest: str = field(default_factory=spec_digest)
    asked: int = 0
    answers: KeyTable | None = None
    """The contents of the cache, once it was read."""
    shipped: KeyTable = NO_ANSWERS

    def look_up(self, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Look steps up in all tables; see `Answers.look_up`."""
        return self.tables.look_up(keys)

    @property
    def tables(self) -> Answers:
        """The tables as they are now."""
        return Answers(self.graphs, self.shipped, self.cached())

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
            out[places] = [answer.allowed for answer in answers]
        self.asked += len(questions)
        if questions:
            self.remember(_keys(questions), out)
        return out

    def refused(self, keys: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Give those of some keys that are known to be refused."""
        listed = list(keys)
        codes = self.look_up(np.array(listed, dtype=np.uint64).reshape(-1, 2))
        return {listed[place] for place in np.flatnonzero(codes == REFUSED).tolist()}

    @property
    def _file(self) -> AnswerFile | None:
        if self.cache is None:
            return None
        return AnswerFile(cache_file(self.cache, self.digest), self.digest)

    def cached(self) -> KeyTable:
        """Give the answers that are kept."""
        if self.answers is None:
            self.answers = NO_ANSWERS if self._file is None else self._file.read()
        return self.answers

    def remember(self, keys: NDArray[np.uint64], answers: NDArray[np.int8]) -> None:
        """Add answers to the cache."""
        base = self.cached()
        all_answers = np.concatenate([base.edges, answers.astype(np.int64)])
        self.answers = KeyTable.build(np.concatenate([base.keys, keys]), all_answers)
        if self._file is not None:
            self._file.add(keys, answers)


def _keys(questions: Sequence[Question]) -> NDArray[np.uint64]:
    keys = np.array([one.key for one in questions], dtype=np.uint64)
    return keys.reshape(len(questions), 2)

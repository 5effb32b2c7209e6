"""The checker that travels to the workers, made of screening, diagnosis and oracle.

Here units become runs, and what is found of them becomes rows. No rule of checking is here: a
worker asks the same functions of `canvass.conformance` that ``canvass verify`` does.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from canvass.cluster.rules import Rules
from canvass.conformance.check import settle
from canvass.conformance.judge import REFUSED, Judge, ask_tlc, default_cache, spec_digest
from canvass.conformance.screen import RunState, Screening
from canvass.conformance.verdict import Divergence, DivergenceClass, RunVerdict, Verdict
from canvass.corpus.plan import Task, Unit, UnitKind
from canvass.corpus.questions import key_of, to_example, to_question
from canvass.corpus.rows import Row, RowKind
from canvass.graph.lookup import KeyTable
from canvass.graph.oracle import Answer
from canvass.graph.steps import Step
from canvass.traces.aeron_import.importer import ImportFault, import_logs
from canvass.traces.aeron_import.summary import ImportSummary
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.layout import ACTION_NAMES

SHARED_CACHE: Final = "cache"

_memo: dict[object, Screening] = {}
"""The screening of this worker process: what it has found out about steps serves all its tasks."""


@dataclass
class ConformanceChecker:
    """Checks units as ``canvass verify`` does.

    Parameters
    ----------
    graphs
        Folders of graph artifacts.
    cache
        The user's folder of the oracle's answers.
    digest
        Names the spec that answers rest on.
    shared
        A folder that all workers can read; set by `prepare`.
    generation
        How often `learn` was called: workers that hold an older one forget what they know.
    """

    graphs: tuple[str, ...]
    cache: str
    digest: str
    shared: str = ""
    generation: int = 0

    @classmethod
    def of(cls, *, graph: Path | None = None, cache: Path | None = None) -> ConformanceChecker:
        """Make a checker from what a command line says."""
        graphs = () if graph is None else (str(graph.absolute()),)
        folder = default_cache() if cache is None else cache
        return cls(graphs, str(folder.absolute()), spec_digest())

    # --- on the driver ----------------------------------------------------------------------------

    def prepare(self, folder: Path) -> None:
        """Take a folder that all workers can read, and put there what is known."""
        shared = folder / SHARED_CACHE
        self.shared = str(shared)
        if Path(self.cache).is_dir():
            shutil.copytree(self.cache, shared)
        else:
            shared.mkdir(parents=True)

    def learn(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep answers for the workers of this job, and for later ones."""
        found = list(answers)
        keys = np.array([key_of(key) for key, _ in found], dtype=np.uint64).reshape(-1, 2)
        codes = np.array([answer[0] for _, answer in found], dtype=np.int8)
        for folder in (self.shared, self.cache):
            Judge(cache=Path(folder), digest=self.digest)._keep(keys, codes)
        self.generation += 1

    def forbids(self, answer: bytes) -> bool:
        """Tell whether an answer says that the step is not allowed."""
        return answer[0] == REFUSED

    # --- in the workers ---------------------------------------------------------------------------

    def judge(self, steps: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Ask TLC about steps, in one batch."""
        judge = Judge(digest=self.digest)
        codes = judge.ask([to_example(key, question) for key, question in steps])
        for (key, _), code in zip(steps, codes.tolist(), strict=True):
            yield key, bytes([code])

    def check(self, task: Task) -> Iterator[Row]:
        """Check units as far as graph and cache know the steps."""
        screening = self._screening()
        try:
            with tempfile.TemporaryDirectory(prefix="canvass-import-") as scratch:
                yield from self._check(task, screening, Path(scratch))
        except BaseException:
            _memo.clear()
            raise
        screening.runs.clear()

    def _screening(self) -> Screening:
        token = (self.shared, self.generation, self.graphs, self.digest)
        if token not in _memo:
            _memo.clear()
            _memo[token] = Screening(self._judge())
        return _memo[token]

    def _judge(self) -> Judge:
        graphs = {name: KeyTable.open(Path(name)) for name in self.graphs}
        return Judge(_ask_alone, graphs, Path(self.shared), self.digest)

    def _check(self, task: Task, screening: Screening, scratch: Path) -> Iterator[Row]:
        units: dict[Path, tuple[Unit, ImportSummary | None]] = {}
        for number, unit in enumerate(task):
            path, imported = Path(unit.path), None
            if unit.kind is UnitKind.REFUSED:
                yield _malformed(unit, f"{unit.path}: {unit.code}: {unit.reason}")
                continue
            if unit.kind is UnitKind.AERON_LOGS:
                path = scratch / str(number) / path.name
                try:
                    imported = import_logs([Path(unit.path)], path)
                except (AeronLogError, ImportFault) as error:
                    yield _malformed(unit, str(error))
                    continue
            units[path] = unit, imported
            screening.add(path)
        screening.flush()
        if any(unit.runs for unit, _ in units.values()):
            screening.ask()  # All is known by now, unless the cache has lost what it was given.
        chosen = [state for state in screening.runs if _is_asked_for(units[state.path][0], state)]
        waiting = set[int]().union(*(state.pending for state in chosen))
        keys: dict[int, bytes] = {}
        for number in sorted(waiting & screening.open_steps.keys()):
            keys[number], question = to_question(screening.open_steps[number])
            yield Row(kind=RowKind.STEP, key=keys[number], payload=question)
        for state in chosen:
            yield from _rows(*units[state.path], state, screening, keys)
        yield from _coverage(chosen)


def _is_asked_for(unit: Unit, state: RunState) -> bool:
    return not unit.runs or state.run_id in unit.runs


def _ask_alone(rules: Rules, steps: Sequence[Step]) -> list[Answer]:
    """Ask TLC, while no other worker of this user on this machine does: a JVM takes 2 GiB."""
    lock = Path(tempfile.gettempdir()) / f"canvass-oracle-{os.getuid()}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return ask_tlc(rules, steps)


def _rows(
    unit: Unit,
    imported: ImportSummary | None,
    state: RunState,
    screening: Screening,
    keys: Mapping[int, bytes],
) -> Iterator[Row]:
    """Tell how a run stands; if steps are open, how it stands if they are all allowed."""
    pending = tuple(keys[number] for number in sorted(state.pending) if number in keys)
    if pending and not state.malformed:
        verdict = Verdict.INCOMPLETE if state.facts or state.unchecked else Verdict.CONFORMS
        if state.wrong:
            verdict = Verdict.DIVERGES
        found = RunVerdict(
            state.run_id,
            unit.path,
            verdict,
            events=state.events,
            unchecked=state.unchecked,
            facts=state.facts,
        )
    else:
        found = settle(state, screening, screening.judge)
    if imported is not None:
        found = _with_import(found, imported)
    yield Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        run_id=None if state.run is None else state.run_id,
        revision=None if state.run is None else state.run.revision,
        member_count=None if state.run is None else state.run.member_count,
        verdict=found.verdict.value,
        events=found.events,
        unchecked=found.unchecked,
        reason=_reason(found),
        pending=pending,
    )
    for divergence in found.divergences:
        yield Row(
            kind=RowKind.DIVERGENCE,
            source=unit.path,
            run_id=found.run_id,
            revision=None if state.run is None else state.run.revision,
            member_count=None if state.run is None else state.run.member_count,
            divergence_class=divergence.kind.value,
            name=divergence.name,
            member_id=divergence.member,
            step=divergence.step,
            rank=divergence.rank,
            reason=divergence.text,
        )


def _with_import(found: RunVerdict, imported: ImportSummary) -> RunVerdict:
    """Take into account which lines the importer could not explain, and which are missing."""
    place = imported.contradiction
    if place is not None and found.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        text = f"{place.file}:{place.line}: {place.reason}"
        kind = DivergenceClass.IMPLEMENTATION_STEP
        wrong = Divergence(kind, "AeronLog", place.member_id, -1, text)
        return replace(found, verdict=Verdict.DIVERGES, divergences=(wrong,))
    if imported.missing and found.verdict is Verdict.CONFORMS:
        return replace(found, verdict=Verdict.INCOMPLETE, reason="; ".join(imported.missing))
    return found


def _reason(found: RunVerdict) -> str:
    """Say in one line why a run does not simply conform."""
    if found.divergences:
        first = found.divergences[0]
        return f"member {first.member}, step {first.step}: {first.name}: {first.text}"
    facts = [
        f"{fact.kind.value} member {fact.member_id}"
        + (f" step {fact.step}" if fact.step > 0 else "")
        for fact in found.facts
    ]
    return found.reason or "; ".join(facts[:5] + ["..."] * (len(facts) > 5))


def _malformed(unit: Unit, reason: str) -> Row:
    return Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        verdict=Verdict.MALFORMED.value,
        events=0,
        unchecked=0,
        reason=reason,
    )


def _coverage(states: Iterable[RunState]) -> Iterator[Row]:
    """Count the actions of the runs that are such."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for state in states:
        if state.run is not None and not state.malformed:
            for code in np.flatnonzero(state.actions).tolist():
                key = state.run.revision, state.run.member_count, ACTION_NAMES[code]
                counts[key] += int(state.actions[code])
    for (revision, member_count, name), count in sorted(counts.items()):
        yield Row(
            kind=RowKind.COVERAGE,
            revision=revision,
            member_count=member_count,
            name=name,
            events=count,
        )

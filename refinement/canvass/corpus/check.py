"""The work of a task: units in, rows of verdicts, divergences, counts and open steps out.

`check_units` and `ask_steps` are what Spark's ``mapInArrow`` calls; the engine of one process calls
the same. There are no rules here: `canvass.conformance` decides verdicts as for ``canvass verify``.
A verdict follows from the run's events and the answers that the `TaskChecker` carries, so that
Spark may repeat a task.

Rows of all kinds have one Arrow schema; a row has null in the columns of other kinds. Rows are few:
verdicts, divergences, counts, and the distinct open steps of each task.
`canvass.conformance.findings` makes them and says what their columns mean.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from canvass.conformance.findings import (
    COVERAGE,
    DIVERGENCES,
    OPEN_STEPS,
    VERDICTS,
    Divergence,
    DivergenceClass,
    Findings,
    RunFindings,
    RunVerdict,
    Tables,
    Verdict,
    from_question,
)
from canvass.conformance.verify import UnitChecker, make_lookup
from canvass.corpus.plan import Unit, UnitKind, chunks
from canvass.corpus.storage import on_this_machine
from canvass.steps.answers import Answers, KeyTable, StepLookup, shipped_answers

if TYPE_CHECKING:
    from canvass.traces.alignment.importer import ImportSummary

# --- rows -----------------------------------------------------------------------------------------

_KINDS: Final = ("VERDICT", "DIVERGENCE", "COVERAGE", "STEP")
"""The kinds of rows, in the order of `Tables`: the verdict on a run or on a malformed unit, which
holds if its open steps are allowed; a divergence of a run; the number of events with an action; an
open step, which no table knows.
"""
_DIGEST: Final = pa.field("digest", pa.string())
"""The digest of a verdict's unit."""
ROW_SCHEMA: Final = pa.schema(
    {
        field.name: pa.field(field.name, field.type)
        for schema in (
            [pa.field("kind", pa.string()), _DIGEST],
            *(VERDICTS, DIVERGENCES, COVERAGE, OPEN_STEPS),
        )
        for field in schema
    }.values()
)
FOUND_COLUMNS: Final = tuple(
    name for name in ROW_SCHEMA.names if name not in ("digest", "open_steps", "key", "question")
)
"""Columns of verdicts, divergences and counts that the driver reads."""
OPEN: Final = "open"
"""A further column of what it reads: the number of open steps of a verdict."""
ANSWER_SCHEMA: Final = pa.schema([pa.field("key", pa.binary()), pa.field("code", pa.int8())])
"""The key of a step, and TLC's answer as `canvass.steps.answers` has it."""


def to_batches(tables: Tables, digests: Mapping[str, str]) -> Iterator[Any]:
    """Yield findings as batches of rows.

    Parameters
    ----------
    tables
        The findings.
    digests
        The digest of each unit, by its path.
    """
    named = [digests[source] for source in tables.verdicts["source"].to_pylist()]
    verdicts = tables.verdicts.append_column(_DIGEST, pa.array(named, pa.string()))
    for kind, table in zip(_KINDS, tables._replace(verdicts=verdicts), strict=True):
        rows = table.append_column("kind", pa.repeat(kind, len(table)))
        whole = pa.concat_tables([ROW_SCHEMA.empty_table(), rows], promote_options="default")
        yield from whole.to_batches()


# --- tasks ----------------------------------------------------------------------------------------

UNIT_SCHEMA: Final = pa.schema([pa.field("task", pa.int32()), pa.field("unit", pa.binary())])
"""The rows of units: the number of the task, and the `Unit` in JSON."""


@dataclass
class Progress:
    """How far this process is."""

    events: int = 0
    diverging: int = 0
    importing: str = ""
    """The logs that are imported, and the stage; empty if none are."""


HERE: Final = Progress()


@dataclass(frozen=True)
class TaskChecker:
    """The tables in which a task looks up steps. Spark sends this object to the workers.

    Parameters
    ----------
    digest
        Digest of the spec that the answers belong to.
    known
        The known answers.
    graphs
        Folders of graph artifacts.
    """

    digest: str
    known: KeyTable
    graphs: tuple[Path, ...] = ()

    @property
    def answers(self) -> Answers:
        """The tables in which steps are looked up."""
        graphs = make_lookup(self.graphs, None, keep=False).answers.allowed
        return Answers((*graphs, shipped_answers(self.digest)), self.known)


def unit_table(tasks: Sequence[Sequence[Unit]]) -> Any:
    """Return the rows of units."""
    rows = (
        {"task": task, "unit": msgspec.json.encode(unit)}
        for task, units in enumerate(tasks)
        for unit in units
    )
    return pa.Table.from_pylist(list(rows), UNIT_SCHEMA)


def check_units(checker: TaskChecker, batches: Iterable[Any]) -> Iterator[Any]:
    """Check units: batches of `UNIT_SCHEMA` in, batches of rows out."""
    if HERE.events and not gc.get_freeze_count():
        # A worker of Spark collects garbage after each task, in all that was loaded for the first.
        gc.freeze()
    decode = msgspec.json.Decoder(Unit).decode
    answers = checker.answers
    for chunk in chunks(decode(unit) for b in batches for unit in b.column("unit").to_pylist()):
        findings = _checked(chunk, answers)
        HERE.events += sum(each.verdict.events for each in findings.runs)
        HERE.diverging += sum(each.verdict.verdict is Verdict.DIVERGES for each in findings.runs)
        yield from to_batches(findings.tables(), {unit.path: unit.digest for unit in chunk})


def ask_steps(digest: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Ask TLC about open steps: batches of key and question in, of `ANSWER_SCHEMA` out."""
    lookup = StepLookup(digest=digest)
    for batch in batches:
        steps = [from_question(each) for each in batch.column("question").to_pylist()]
        columns = [batch.column("key"), pa.array(lookup.ask_oracle(steps), pa.int8())]
        yield pa.RecordBatch.from_arrays(columns, schema=ANSWER_SCHEMA)


# --- read and check -------------------------------------------------------------------------------


def _checked(units: Sequence[Unit], answers: Answers) -> Findings:
    """Read and check units; the findings name the units, not copies of them."""
    found: list[RunFindings] = []
    with ExitStack() as files:
        scratch = Path(files.enter_context(tempfile.TemporaryDirectory(prefix="canvass-import-")))
        checker = UnitChecker(answers)
        places: dict[str, tuple[Unit, Path, ImportSummary | None]] = {}
        for number, unit in enumerate(units):
            if unit.kind is UnitKind.REFUSED:
                found.append(_malformed(unit, f"{unit.path}: {unit.code}: {unit.reason}"))
                continue
            copy = path = files.enter_context(on_this_machine(unit.place))
            imported: Any = None
            if unit.kind is UnitKind.AERON_LOGS:
                path = scratch / str(number) / copy.name
                imported = _imported(unit, copy, path)
                if isinstance(imported, str):
                    found.append(_malformed(unit, imported.replace(str(copy), unit.path)))
                    continue
            places[str(path)] = unit, copy, imported
            checker.add(path)
        findings = checker.findings()
    for each in findings.runs:
        unit, copy, imported = places[each.verdict.path]
        named = replace(each, verdict=_named(each.verdict, unit, copy, imported))
        # A unit that cannot be read has no run with an id.
        found.append(named if each.run else _malformed(unit, named.verdict.reason))
    return replace(findings, runs=tuple(found))


def _imported(unit: Unit, logs: Path, run: Path) -> ImportSummary | str:
    """Import logs to a run; return the summary, or why they are malformed.

    The importer is loaded where it is needed: it is a third of what a worker would load.
    """
    from canvass.traces.aeron_log.source import AeronLogError
    from canvass.traces.alignment.alignment import ImportFault
    from canvass.traces.alignment.importer import import_logs

    def note(stage: str) -> None:
        HERE.importing = f"{unit.path}: {stage}"

    try:
        return import_logs([logs], run, say=note)
    except (AeronLogError, ImportFault) as error:
        return str(error)
    finally:
        HERE.importing = ""


def _named(
    verdict: RunVerdict, unit: Unit, copy: Path, imported: ImportSummary | None
) -> RunVerdict:
    """Return a verdict that names its unit, and accounts for the import's contradiction."""
    place = None if imported is None else imported.contradiction
    if place is not None and verdict.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        text = f"{place.file}:{place.line}: {place.reason}"
        kind = DivergenceClass.IMPLEMENTATION_STEP
        wrong = Divergence(kind, "AeronLog", place.member_id, -1, text)
        verdict = msgspec.structs.replace(verdict, verdict=Verdict.DIVERGES, divergences=(wrong,))
    return msgspec.structs.replace(
        verdict,
        path=unit.path,
        reason=verdict.reason.replace(str(copy), unit.path),
        divergences=tuple(
            msgspec.structs.replace(each, text=each.text.replace(str(copy), unit.path))
            for each in verdict.divergences
        ),
    )


def _malformed(unit: Unit, reason: str) -> RunFindings:
    verdict = RunVerdict("", unit.path, Verdict.MALFORMED, reason=reason)
    return RunFindings(None, verdict, frozenset(), np.zeros(0, dtype=np.int64))

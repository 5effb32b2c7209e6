"""No verdict goes missing: a run that is lost, and a run that cannot be read, have a row."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from canvass.conformance.check import check
from canvass.conformance.verify import read_and_check
from canvass.corpus.check import TaskChecker
from canvass.corpus.data_source import EventsReader, row_schema
from canvass.corpus.dataframe import _verify_rows
from canvass.corpus.job import ProcessEngine
from canvass.corpus.plan import Unit, list_units
from canvass.steps.answers import ALLOWED, NO_ANSWERS, Answers, StepLookup, spec_digest
from canvass.traces.errors import TraceError
from canvass.traces.parquet import DatasetFile, entries_of_rows, write_dataset
from canvass.traces.run import Corpus
from canvass.traces.schema import Run
from support.corpora import record_runs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs whose steps are not known without the oracle."""
    return record_runs(tmp_path_factory.mktemp("lost") / "runs", 4, 60)


def verdicts(unit: Unit) -> list[tuple[str | None, str | None]]:
    """Id and verdict of each run that the check of a unit reports."""
    rows = ProcessEngine().check(TaskChecker(spec_digest(), NO_ANSWERS), [[unit]], "recheck")
    found = rows.filter(pc.field("kind") == "VERDICT").select(["run_id", "verdict"])
    return [(row["run_id"], row["verdict"]) for row in found.to_pylist()]


@pytest.mark.parametrize("damage", ["run.json", "events"])
def test_a_unit_that_cannot_be_read_any_more_has_a_verdict(
    corpus: Path, tmp_path: Path, damage: str
) -> None:
    """A recheck replaces the rows of the first look: without a row its runs would be lost."""
    if damage == "run.json":
        (unit,) = list_units([shutil.copytree(corpus / "run-0", tmp_path / "copy")])
        (unit.location / "run.json").write_bytes(b"{}")
    else:
        write_dataset(Corpus(corpus), tmp_path / "set", events_per_row_group=50)
        (unit,) = list_units([tmp_path / "set"])
        unit.location.write_bytes(b"PAR1")

    assert verdicts(unit) == [(None, "MALFORMED")]


def test_a_column_of_a_wrong_type_is_a_verdict_that_names_file_and_column(
    corpus: Path, tmp_path: Path
) -> None:
    """The other files of the corpus are checked, and the column is named where it is read."""
    for name in ("good", "wrong"):
        write_dataset(Corpus(corpus), tmp_path / name)
    (file,) = (tmp_path / "wrong").iterdir()
    table, texts = pq.read_table(file), pa.array(["x"] * 10_000)
    for name in ("state_candidate_term_id", "source"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, texts.slice(0, len(table)))
    pq.write_table(table, file)

    found = read_and_check([file, *(tmp_path / "good").iterdir()], Answers()).runs

    verdicts = [each.verdict for each in found]
    assert [one.verdict.name for one in verdicts] == ["MALFORMED"] * 4 + ["CONFORMS"] * 4
    for one in verdicts[:4]:
        assert one.reason.startswith(f"{file}: BAD_SCHEMA: state_candidate_term_id: string is no ")
    with DatasetFile(file) as opened, pytest.raises(TraceError) as refusal:
        opened.sources(next(opened.tables()))
    assert str(refusal.value).startswith(f"{file}: BAD_SCHEMA: source: ")


def rows_of(corpus: Path) -> Any:
    """The events of a corpus as rows of the data source."""
    schema = pa.schema([field for field in row_schema(3) if field.name != "source"])
    reader = EventsReader({"path": str(corpus)}, schema)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches)


def changed(table: Any, column: str, value: str | None) -> Any:
    """The rows with another value in a column of the rows of run-2."""
    is_chosen = pc.equal(table["run"], "run-2")
    cells = pc.if_else(is_chosen, pa.scalar(value, pa.string()), table[column])
    return table.set_column(table.column_names.index(column), column, cells)


def verdicts_on(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str | None, tuple[str, str]]:
    """Verdicts and reasons of the runs of a table, without the oracle."""
    monkeypatch.setattr(StepLookup, "ask_oracle", lambda _, steps: np.full(len(steps), ALLOWED))
    run = Run("canvass.run/1", "run", "1.50", 3)
    found = _verify_rows(None, tmp_path / "cache", run, iter(table.to_batches()))
    rows = [row for batch in found for row in batch.to_pylist()]
    assert len({row["run_id"] for row in rows}) == len(rows)
    return {row["run_id"]: (row["verdict"], row["reason"]) for row in rows}


def test_a_run_with_an_id_that_the_format_refuses_has_a_verdict(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdicts_on(changed(rows_of(corpus), "run", "Run 2"), tmp_path, monkeypatch)

    verdict, reason = found.pop("Run 2")
    assert verdict == "MALFORMED"
    assert reason.startswith("the run 'Run 2': Expected `str` matching regex")
    assert found == dict.fromkeys(("run-0", "run-1", "run-3"), ("CONFORMS", ""))


@pytest.mark.parametrize(
    ("column", "value", "malformed"),
    [("run", None, None), ("revision", "1.51", "run-2"), ("revision", None, "run-2")],
)
def test_a_run_without_an_id_or_with_an_unknown_revision_is_malformed(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    value: str | None,
    malformed: str | None,
) -> None:
    table = changed(rows_of(corpus), column, value)

    found = verdicts_on(table, tmp_path, monkeypatch)

    assert found.pop(malformed)[0] == "MALFORMED"
    assert found == dict.fromkeys(("run-0", "run-1", "run-3"), ("CONFORMS", ""))


def test_the_revision_of_rows_decides_their_rules(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of other rules used to be checked as runs of 1.50, and might conform to it."""
    plain = rows_of(corpus)
    hardened = changed(plain, "revision", "hardened")
    run = Run("canvass.run/1", "run", "1.50", 3)

    both = (check(each, Answers(), entries_of_rows(each, run)) for each in (plain, hardened))

    alone, other = (
        {each.verdict.run_id: each.open_steps for each in findings.runs} for findings in both
    )
    assert [name for name in alone if alone[name] != other[name]] == ["run-2"]


def test_a_run_with_rows_of_two_revisions_is_malformed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rows_of(corpus)
    half = table["member"].to_numpy() > 0
    both = changed(table, "revision", "1.49").filter(half)
    mixed = pa.concat_tables([table.filter(~half), both]).sort_by(
        [(name, "ascending") for name in ("run", "member", "step")]
    )

    found = verdicts_on(mixed, tmp_path, monkeypatch)

    verdict, reason = found.pop("run-2")
    assert (verdict, "several revisions" in reason) == ("MALFORMED", True)
    assert {verdict for verdict, _ in found.values()} == {"CONFORMS"}

"""The rows of a data source, without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from canvass.corpus.data_source import EventsReader, log_lines, partition_values, row_schema
from canvass.corpus.plan import Unit, UnitKind
from canvass.traces.aeron_log.source import AeronLogError
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.corpora import record_runs

EVENTS = ["run", "member", "step", "revision"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of runs, the second one as a data set with a row group for each run."""
    root = tmp_path_factory.mktemp("lake")
    first = record_runs(root / "lake" / "date=2026-11-20", 3, 40)
    second = root / "lake" / "date=2026-11-21"
    write_dataset(Corpus(first), second, events_per_row_group=40)
    return root / "lake"


def read(path: Path, names: list[str]) -> tuple[list[dict[str, Any]], int]:
    """Give the rows that come, and how many units were read."""
    kinds = {field.name: field.type for field in row_schema(3)}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    reader = EventsReader({"path": str(path)}, schema)
    partitions = reader.partitions()
    rows = [
        row
        for partition in partitions
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]
    return rows, sum(partition.value.count('"kind"') for partition in partitions)


def test_without_a_filter_all_events_come_with_the_value_of_their_partition(lake: Path) -> None:
    rows, units = read(lake, [*EVENTS, "date"])

    assert units == 4
    assert len(rows) == 240
    assert {row["date"] for row in rows} == {"2026-11-20", "2026-11-21"}
    assert {row["revision"] for row in rows} == {"1.50"}
    assert list(rows[0]) == [*EVENTS, "date"]


def test_logs_are_imported_where_they_are_read(lake: Path) -> None:
    samples = Path(__file__).resolve().parents[3] / "samples" / "aeron" / "b-leader-killed"

    rows, units = read(samples, EVENTS)

    assert units == 1
    assert {row["member"] for row in rows} == {0, 1, 2}
    assert len(rows) > 500


def test_partitions_of_a_unit_have_values_and_hives_word_for_null_is_null() -> None:
    path = "/lake/day=1/date=__HIVE_DEFAULT_PARTITION__/region=e%20u/run=no"

    found = partition_values(Path("/lake/day=1"), Unit(UnitKind.AERON_LOGS, path, 0))

    assert found == {"date": None, "region": "e u"}


def test_a_line_of_a_log_has_its_number_event_and_time(tmp_path: Path) -> None:
    log = tmp_path / "member-0.log"
    log.write_bytes(b"[12.000000345] CLUSTER: ELECTION_STATE_CHANGE [1/1]: x\nodd \xff\n[13.0")

    first, second, third = log_lines(log)

    assert (first["line"], first["component"], first["event"], first["time_ns"]) == (
        1,
        "CLUSTER",
        "ELECTION_STATE_CHANGE",
        12_000_000_345,
    )
    assert (second["line"], second["event"], second["text"]) == (2, None, "odd \xff")
    assert (third["line"], third["time_ns"], third["text"]) == (3, None, "[13.0")


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "member-0.log"
    log.write_bytes(b"x" * (3 << 20))

    with pytest.raises(AeronLogError, match="a line of more than"):
        list(log_lines(log))


@pytest.mark.parametrize("form", ["folder", "file"])
def test_the_rows_of_a_truncated_stream_have_the_reason(
    lake: Path, tmp_path: Path, form: str
) -> None:
    corpus = Path(shutil.copytree(lake / "date=2026-11-20", tmp_path / "runs"))
    stream = corpus / "run-1" / "member-2.ndjson"
    stream.write_bytes(stream.read_bytes()[:-9])
    if form == "file":
        write_dataset(Corpus(corpus), tmp_path / "set", events_per_row_group=25)
        corpus = tmp_path / "set"

    rows, _ = read(corpus, [*EVENTS, "truncated"])

    marked = {(row["run"], row["member"]) for row in rows if row["truncated"]}
    whole = {(row["run"], row["member"]) for row in rows if not row["truncated"]}
    assert marked == {("run-1", 2)}
    assert not marked & whole

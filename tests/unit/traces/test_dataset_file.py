"""A file of a data set: rows out of order are refused, gaps found, and nothing is left behind."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from canvass.traces import parquet
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile, write_dataset
from canvass.traces.run import Corpus
from support.corpora import record_runs
from support.row_groups import regrouped
from support.trace_reading import load_file


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Without the collector an object is freed when its last reference goes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with several row groups."""
    record_runs(tmp_path / "runs", 2, 60)
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set", events_per_row_group=30)
    (found,) = (tmp_path / "set").iterdir()
    return found


def read_all(path: Path) -> int:
    """Read a file in all ways; give how many events it has."""
    with DatasetFile(path) as file:
        assert {columns.runs for columns in file.batches(["run-1"])} == {("run-1",)}
        return sum(map(len, file.batches()))


@pytest.mark.usefixtures("without_collector")
def test_the_footer_of_a_file_is_freed_with_it(path: Path) -> None:
    """It is large where a file has many row groups; a worker opens such files one after another."""
    assert read_all(path) > 100

    # isinstance would look into proxies of objects that are gone.
    left = [each for each in gc.get_objects() if type(each) is pq.FileMetaData]

    assert not left


@pytest.mark.parametrize(
    "change",
    [
        lambda groups: [groups[1], groups[0], *groups[2:]],
        lambda groups: [*groups[1:], groups[0]],
        lambda groups: [groups[-1], *groups[:-1]],
        lambda groups: [*groups, groups[0]],
        lambda groups: groups[::-1],
        lambda groups: [*groups[::2], *groups[1::2]],
    ],
)
def test_rows_that_are_not_in_order_are_refused(
    path: Path, tmp_path: Path, change: Callable[[list[Any]], list[Any]]
) -> None:
    """A row would count for the run or the member that the rows around it are of."""
    other = regrouped(path, tmp_path / "other.parquet", change)

    with DatasetFile(other) as file, pytest.raises(TraceError) as caught:
        list(file.batches())

    assert caught.value.code is Code.BAD_EVENT


def test_gaps_of_one_run_do_not_hide_those_of_another(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MAX_GAPS", 1)
    lacking = regrouped(
        path,
        tmp_path / "lacking.parquet",
        lambda groups: [group.slice(2, 20) for group in groups],
    )

    found = {run.run.run_id: len(run.facts) for run in load_file(lacking)}

    assert found == {"run-0": 1, "run-1": 1}


def test_what_pyarrow_says_of_damaged_bytes_is_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise OSError("No more data to read.\nDeserializing page header failed.\n")

    with DatasetFile(path) as file:
        monkeypatch.setattr(file._file, "iter_batches", damaged)
        with pytest.raises(TraceError) as raised:
            list(file.batches())

    assert raised.value.reason == "No more data to read. Deserializing page header failed."

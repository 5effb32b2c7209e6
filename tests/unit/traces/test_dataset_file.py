"""A file of a data set that was read leaves nothing behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canvass.traces.parquet import DatasetFile, DatasetWriter
from canvass.traces.run import Corpus, write_dataset
from support.corpora import record_runs


@pytest.fixture
def without_collector() -> Iterator[None]:
    """What is freed then is freed at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with several row groups."""
    record_runs(tmp_path / "runs", 2, 60)
    with DatasetWriter(tmp_path / "set", events_per_row_group=30) as writer:
        write_dataset(Corpus(tmp_path / "runs"), writer)
    (found,) = (tmp_path / "set").iterdir()
    return found


def read_all(path: Path) -> int:
    """Read a file in all ways; give how many events it has."""
    with DatasetFile(path) as file:
        assert file.row_groups > 3
        assert file.last_run(0) == "run-0"
        assert file.groups_of("run-1")[-1] == file.row_groups - 1
        return sum(len(columns) - columns.context for columns in file.batches())


@pytest.mark.usefixtures("without_collector")
def test_the_footer_of_a_file_is_freed_with_it(path: Path) -> None:
    """It is large where a file has many row groups; a worker opens such files one after another."""
    assert read_all(path) > 100

    # isinstance would look into proxies of objects that are gone.
    left = [each for each in gc.get_objects() if type(each) is pq.FileMetaData]

    assert not left

"""Files of data sets with other row groups, or with the same ones in another order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canvass.traces.parquet import RUNS_KEY


def regrouped(path: Path, target: Path, change: Callable[[list[Any]], list[Any]]) -> Path:
    """Copy a file with other row groups, each a table; the metadata about its runs stay."""
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
        entries = file.metadata.metadata[RUNS_KEY]
    with pq.ParquetWriter(target, groups[0].schema) as writer:
        for group in change(groups):
            writer.write_table(group)
        writer.add_key_value_metadata({RUNS_KEY: entries})
    return target

"""Files of data sets with their row groups in another order, or other ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canvass.traces.parquet import RUNS_KEY


def regrouped(path: Path, target: Path, change: Callable[[list[Any]], list[Any]]) -> Path:
    """Copy a file with other row groups, each a table; what it says of its runs stays."""
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
        entries = file.metadata.metadata[RUNS_KEY]
    with pq.ParquetWriter(target, groups[0].schema) as writer:
        for group in change(groups):
            writer.write_table(group)
        writer.add_key_value_metadata({RUNS_KEY: entries})
    return target

"""Which engine a job runs on: Spark or one process.

Small corpora are faster in one process: opening a Spark session and starting its Python workers
costs seconds, whatever there is to check. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from canvass.corpus.plan import Unit

SPARK_PAYS_FROM: Final = 9_000_000
"""Events from which on ``local[2]`` is faster than one process, starting Spark included.

`docs/guide/spark.md` has the measurement.
"""


class EngineName(str, Enum):
    """What ``--engine`` takes."""

    AUTO = "auto"
    """One process if that is faster, else Spark."""
    PROCESS = "process"
    SPARK = "spark"


def choose_engine(
    units: Sequence[Unit], master: str | None, wanted: EngineName
) -> tuple[EngineName, str]:
    """Choose where a job runs.

    Parameters
    ----------
    units
        All units.
    master
        The Spark master that the user named, if any: then Spark is meant.
    wanted
        The engine that the user named.

    Returns
    -------
    tuple
        ``PROCESS`` or ``SPARK``, and the reason in one line; empty if the user chose.
    """
    if wanted is not EngineName.AUTO:
        return wanted, ""
    if master is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return EngineName.SPARK, ""
    from canvass.corpus.plan import COST_PER_EVENT

    events = sum(unit.cost for unit in units) // COST_PER_EVENT
    if events < SPARK_PAYS_FROM:
        reason = "which Spark takes longer to start than it saves (--engine spark uses Spark)"
        return EngineName.PROCESS, f"one process: {_work(events)}, for {reason}"
    if find_spec("pyspark") is None:
        return EngineName.PROCESS, f"one process, as pyspark is not installed: {_work(events)}"
    return EngineName.SPARK, f"Spark: {_work(events)} (--engine process does not use it)"


def _work(events: int) -> str:
    """Give an estimate with one digit. A log of Aeron is more work than its events."""
    digits = max(0, len(str(events)) - 1)
    return f"the work of about {round(events, -digits):,} events"

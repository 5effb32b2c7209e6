"""The choice between the engines that run the stages of a job: Spark, or this process.

Both apply the same functions to the same rows: `canvass.corpus.spark_engine` to DataFrames by
``mapInArrow``, `canvass.corpus.process_engine` to Arrow tables. So no report depends on the engine.
Small corpora are faster in one process: to open a Spark session and to start its Python workers
takes seconds. The command line imports this module, which imports little.
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
"""Number of events from which on ``local[2]`` is faster than one process, the start of Spark
included. `docs/guide/spark.md` has the measurement.
"""


class EngineName(str, Enum):
    """The values of ``--engine``."""

    AUTO = "auto"
    """One process if that is faster, else Spark."""
    PROCESS = "process"
    SPARK = "spark"


def choose_engine(
    units: Sequence[Unit], master: str | None, wanted: EngineName
) -> tuple[EngineName, str]:
    """Choose the engine of a job.

    Parameters
    ----------
    units
        All units of the job.
    master
        The Spark master that the user named. If there is one, ``AUTO`` means Spark.
    wanted
        The engine that the user named.

    Returns
    -------
    tuple
        ``PROCESS`` or ``SPARK``, and the reason in one line; no reason if the user chose.
    """
    if wanted is not EngineName.AUTO:
        return wanted, ""
    if master is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return EngineName.SPARK, ""
    from canvass.corpus.plan import COST_PER_EVENT

    events = sum(unit.cost for unit in units) // COST_PER_EVENT
    digits = max(0, len(str(events)) - 1)
    work = f"the work of about {round(events, -digits):,} events"
    if events < SPARK_PAYS_FROM:
        reason = "which Spark takes longer to start than it saves (--engine spark uses Spark)"
        return EngineName.PROCESS, f"one process: {work}, for {reason}"
    if find_spec("pyspark") is None:
        return EngineName.PROCESS, f"one process, as pyspark is not installed: {work}"
    return EngineName.SPARK, f"Spark: {work} (--engine process does not use it)"

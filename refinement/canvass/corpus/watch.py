"""Continuous verification of a directory with Structured Streaming.

Spark's own file source sees each new file once, and remembers that in the checkpoint. A keyed state
for each unit (a run folder, a folder of Aeron's logs, a file of a data set) tells when it is ripe:
whole and quiet for a while, or quiet for so long that nothing more is expected. Ripe units are
verified as a batch by `canvass.corpus.job`; what comes of a batch is put in place under the
number of the batch, so that a batch that is done again after a crash replaces what was there.

A unit has one verdict. Only if more files of it come afterwards it has another, in a later batch.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlparse

from msgspec import Struct

from canvass.corpus.checker import ConformanceChecker
from canvass.corpus.engine import SparkEngine
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import unit_at
from canvass.corpus.summary import Summary, summarise
from canvass.traces.errors import TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import FactKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TABLES: Final = ("coverage", "divergences", "verdicts")
"""In the order in which they are put in place: a batch counts when its verdicts are there."""
CHECKPOINT: Final = "checkpoint"
_WORK: Final = "work"
_GONE: Final = ""
_FILES: Final = "{run.json,member-*,*.parquet}"
_FILE_DDL: Final = "path string, modificationTime timestamp, length bigint, content binary"
"""What Spark's format has; a stream must name it."""
_STATE: Final = "signature string, since_ms bigint, verified string"
"""Spark compares the state of an earlier run by types alone, so a column may get another name."""


class Patience(Struct, frozen=True):
    """How long a unit must have been as it is before it is verified, in milliseconds."""

    settle_ms: int = 5_000
    """If all its parts are there."""
    patience_ms: int = 600_000
    """If parts are missing: then it is verified without them."""


class Watch(Struct, frozen=True, kw_only=True):
    """What is watched, and where the verdicts go."""

    corpus: Path
    out: Path
    checker: ConformanceChecker
    patience: Patience = Patience()
    every_ms: int = 5_000
    """Time between two looks at the directory."""
    oracles: int = 1


Tell = Callable[[int, Summary], object]
"""Called with the number of a batch that has verdicts, and its summary."""


def catch_up(session: SparkSession, watch: Watch, tell: Tell) -> None:
    """Verify what is there and ripe since the last time, and end."""
    # A batch that was begun and not ended is done again, alone.
    if _last(watch, "offsets") > _last(watch, "commits"):
        start(session, watch, tell, once=True).awaitTermination()
    start(session, watch, tell, once=True).awaitTermination()


def _last(watch: Watch, log: str) -> int:
    """Give the last batch in a log of the checkpoint."""
    folder = watch.out / CHECKPOINT / log
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def start(session: SparkSession, watch: Watch, tell: Tell, *, once: bool = False) -> StreamingQuery:
    """Begin to watch, or go on from the checkpoint; the query runs until it is stopped.

    With ``once`` it does one batch and ends.

    Verdicts, divergences and coverage are Parquet tables in the folder ``out`` as a batch
    verification writes them, with one more column, ``batch``.
    """
    watch.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(watch.out / _WORK, ignore_errors=True)
    writer = (
        _ripe(session, watch)
        .writeStream.foreachBatch(partial(_verify_batch, watch, tell))
        .option("checkpointLocation", (watch.out / CHECKPOINT).absolute().as_uri())
        .queryName(f"canvass {watch.corpus}")
        .outputMode("append")
    )
    if once:
        # Not `availableNow`: a state with time limits would have it go on for ever.
        return writer.trigger(once=True).start()
    return writer.trigger(processingTime=f"{watch.every_ms} milliseconds").start()


def _ripe(session: SparkSession, watch: Watch) -> DataFrame:
    """Give the stream of the units that are to be verified: their paths."""
    from pyspark.sql import functions as f
    from pyspark.sql.streaming.state import GroupStateTimeout

    found = (
        session.readStream.format("binaryFile")
        .schema(_FILE_DDL)
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", _FILES)
        .load(watch.corpus.absolute().as_uri())
        .select("path")  # The contents are not read then.
    )
    # The unit of a stream's file is the folder that it is in.
    folder = f.regexp_replace("path", "/[^/]*$", "")
    unit = f.when(f.col("path").endswith(".parquet"), f.col("path")).otherwise(folder)
    return (
        found.withColumn("unit", unit)
        .groupBy("unit")
        .applyInPandasWithState(
            partial(_ripen, watch.patience),
            "unit string",
            _STATE,
            "append",
            GroupStateTimeout.ProcessingTimeTimeout,
        )
    )


# --- the state of a unit --------------------------------------------------------------------------


def _ripen(patience: Patience, key: tuple[str], news: Iterable[Any], state: Any) -> Iterator[Any]:
    """Look at a unit of which there are new files, or whose time has come; runs in a worker."""
    import pandas as pd

    for _ in news:
        pass
    path = _path(key[0])
    now = state.getCurrentProcessingTimeMs()
    before, since, verified = state.get if state.exists else (_GONE, now, _GONE)
    signature, whole = look(path)
    if signature == _GONE:
        if state.exists:
            state.remove()
        return
    since = since if signature == before else now
    left = (patience.settle_ms if whole else patience.patience_ms) - (now - since)
    ripe = signature != verified and left <= 0
    state.update((signature, since, signature if ripe else verified))
    if ripe:
        yield pd.DataFrame({"unit": [key[0]]})
    elif signature != verified:
        state.setTimeoutDuration(max(1, left))


def look(path: Path) -> tuple[str, bool]:
    """Give what tells a unit from an earlier state of it, and whether all its parts are there.

    The first is empty if there is no such unit (any more). Of logs of Aeron, nobody can tell
    whether they are all there.
    """
    try:
        if not path.is_dir():
            return (str(path.stat().st_size), True)
        with os.scandir(path) as entries:
            names = sorted((e.name, e.stat().st_size) for e in entries if e.name[0] != ".")
    except OSError:
        return _GONE, False
    try:
        facts = RunFolder(path).facts
        whole = all(fact.kind is not FactKind.MISSING_STREAM for fact in facts)
    except TraceError:
        whole = False
    return hashlib.sha256(repr(names).encode()).hexdigest(), whole


def _path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


# --- a batch --------------------------------------------------------------------------------------


def _verify_batch(watch: Watch, tell: Tell, ripe: DataFrame, batch: int) -> None:
    """Verify the units of a batch, and put the tables in place; runs on the driver."""
    from importlib.metadata import version
    from time import perf_counter

    began = perf_counter()
    paths = sorted(_path(row.unit) for row in ripe.collect())
    units = [unit for path in paths if (unit := unit_at(path)) is not None]
    if not units:
        return
    out = watch.out.absolute()
    work = out / _WORK / str(batch)
    shutil.rmtree(work, ignore_errors=True)
    job = CorpusJob(SparkEngine(ripe.sparkSession), watch.checker, work, oracles=watch.oracles)
    job.run(units)
    summary = summarise(
        job,
        version=version("canvass"),
        corpora=[str(watch.corpus)],
        tasks=None,
        seconds=perf_counter() - began,
    )
    for name in TABLES:
        target = out / name / f"batch={batch}"
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(exist_ok=True)
        (work / name).rename(target)
    shutil.rmtree(work)
    tell(batch, summary)

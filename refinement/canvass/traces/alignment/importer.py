"""Import of a cluster's logs: from logs to an alignment, a run and a summary."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.alignment.alignment import ImportFault, align
from canvass.traces.alignment.outcome import ImportSummary, summarise
from canvass.traces.alignment.run_events import RunWriter
from canvass.traces.rewrite import written_aside

__all__ = ["ImportFault", "import_logs"]

KEPT_LINES: Final = 20_000
"""Lines of one log up to which it is aligned at once. Longer ones are read twice, in pieces."""


def import_logs(
    paths: Sequence[Path],
    out: Path,
    *,
    run_id: str = "",
    effort: int = 1,
    events: Collection[str] | None = None,
    revision: str = "",
    say: Callable[[str], object] = lambda _: None,
) -> ImportSummary:
    """Import the logs of a cluster into a new run folder, which is there when it is complete.

    Parameters
    ----------
    paths
        As for `read_cluster`.
    out
        The run folder; it must not be there, or be empty.
    run_id
        Of the run; made from the name of ``out`` if it is not given.
    effort
        Factor of the bounds of the search.
    events, revision
        As for `align`.
    say
        Called with what begins, in a few words.

    Raises
    ------
    AeronLogError
        If the logs cannot be read.
    ImportFault
        If they cannot be made into a run.
    OSError
        As the file system says.
    """
    begun = time.perf_counter()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ImportFault(f"{out} is there already")
    run_id = run_id or _run_id(out.name)
    collecting = gc.isenabled()
    # Nothing here forms cycles; looking for them takes a third of the time.
    gc.disable()
    try:
        logs = read_cluster(paths, say=say, kept=KEPT_LINES)
        say("aligning the logs and writing the run")
        with written_aside(out) as folder, closing(RunWriter(folder)) as run:
            found = align(logs, run.write, effort=effort, events=events, revision=revision)
            run.finish(
                run_id=run_id,
                revision=found.rules.revision,
                member_count=found.rules.member_count,
                initial="empty",
            )
    finally:
        if collecting:
            gc.enable()
    return summarise(found, run_id, time.perf_counter() - begun)


def _run_id(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_.-]", "-", name.lower()).strip("-._")[:64]
    return plain or "aeron"

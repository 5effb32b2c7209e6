"""Event logs as runs: logs are imported for one command, whose output names the logs."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from canvass.cli.options import PathKind, kind_of

if TYPE_CHECKING:
    from canvass.conformance.findings import CorpusVerdict, RunVerdict
    from canvass.conformance.verify import Unit

_LOGS: Final = {PathKind.LOGS, PathKind.LOG_FILE, PathKind.LOG_FOLDERS, PathKind.FOLDER}


_imported: Final[dict[str, str]] = {}
"""The logs of each imported run."""


def as_given(found: CorpusVerdict) -> CorpusVerdict:
    """Replace the paths of imported runs, which end with the process, by those of their logs."""
    return msgspec.structs.replace(found, runs=tuple(map(run_given, found.runs)))


def run_given(run: RunVerdict) -> RunVerdict:
    """Name the logs that a run was imported from, if it was."""
    return msgspec.structs.replace(run, path=_imported.get(run.path, run.path))


def import_units(paths: Iterable[Path]) -> Iterator[Unit]:
    """Give the units of paths; event logs are imported first.

    The imported runs are deleted when the process ends. A file without any line of a cluster's
    member is left out. For logs that cannot be imported, an error takes the place of the unit.
    """
    from canvass.conformance.verify import units_of

    below: dict[Path, list[tuple[str, Path]]] = {path: [] for path in paths}
    for path, found in below.items():
        if kind_of(path) in _LOGS and not any(path.glob("*/run.json")):
            from canvass.traces.aeron_log.logs import logs_below

            found += logs_below(path)
    yield from units_of(path for path, found in below.items() if not found)
    taken = set[str]()
    for found in filter(None, below.values()):
        from canvass.traces.aeron_log.errors import AeronLogError, LogCode
        from canvass.traces.alignment.alignment import ImportFault, NoMember
        from canvass.traces.alignment.importer import import_clusters
        from canvass.traces.errors import Code, TraceError

        scratch = Path(tempfile.mkdtemp(prefix="canvass-logs-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        for name, log in found:
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).lstrip("-_.")[:100] or "log"
            while name in taken:
                name += "-"
            taken.add(name)
            try:
                for run in import_clusters([log], scratch / name):
                    _imported[str(run)] = str(log)
                    yield run
            except NoMember:
                continue
            except ImportFault as fault:
                yield TraceError(Code.BAD_VALUE, str(log), 0, 0, str(fault))
            except AeronLogError as error:
                if error.code not in (LogCode.NOT_A_LOG, LogCode.NO_LOG):
                    place = (error.file, error.line, error.column)
                    yield TraceError(Code.BAD_VALUE, *place, error.reason)

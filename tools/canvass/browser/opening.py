"""The sources of the paths on the command line. The content of a path decides its kind.

Of a path, only the part that decides the kind is read. The rest is read when the page asks for it;
the first run and the first graph are read in the background.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from canvass.browser.counterexamples import CounterexampleError, read_counterexample
from canvass.browser.graphs import OpenGraph
from canvass.browser.reports import OpenCorpus, OpenReport, Place
from canvass.browser.sources import Lazy, Source, shown
from canvass.browser.verdicts import Checker, RunSource
from canvass.conformance.report import natural
from canvass.conformance.verify import make_lookup
from canvass.corpus.plan import UnitKind, list_units
from canvass.graph import GraphError
from canvass.traces.errors import TraceError
from canvass.traces.parquet import DatasetFile
from canvass.traces.schema import RUN_ID_PATTERN

CHECKED_RUNS: Final = 100
"""Most runs of a corpus that is checked as a whole: each of its runs then is its own source."""
_HERE: Final = Path(__file__).resolve().parent
_PACKAGED_SAMPLE: Final = _HERE / "sample" / "b-leader-killed"
_CHECKOUT_SAMPLE: Final = _HERE.parents[2] / "samples" / "aeron" / "b-leader-killed"


class OpenError(Exception):
    """A path has nothing to show; the message is one line."""


class Opener:
    """Makes sources of paths; imports event logs into a temporary folder.

    Parameters
    ----------
    checker
        Checks the runs.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._refused: dict[Path, Exception] = {}
        """Paths within a corpus that are no runs, with the reason."""

    def close(self) -> None:
        """Remove the imported runs."""
        if self._scratch is not None:
            self._scratch.cleanup()

    def open_all(self, paths: Sequence[Path]) -> Iterator[Source]:
        """Give the sources of all paths; without a path, the sample run.

        A path that cannot be opened becomes a source that says why.

        Raises
        ------
        OpenError, TraceError, CounterexampleError
            If no path can be opened: the error of the first one.
        """
        if not paths:
            yield from self._samples()
        errors: list[Exception] = []
        found: list[Source] = []
        for path in paths:
            try:
                found += self.open(path)
            except (OpenError, TraceError, CounterexampleError) as error:
                errors.append(error)
                found.append(_broken_source(path, error))
        if errors and len(errors) == len(paths):
            raise errors[0]
        yield from found

    def open(self, path: Path) -> Iterator[Source]:
        """Give the sources of a path.

        Raises
        ------
        OpenError
            If the path does not exist or has no run.
        TraceError
            If a folder is neither a run nor a corpus.
        CounterexampleError
            If a file is neither a data set nor a counterexample.
        """
        if path.is_file() and path.suffix == ".dot":
            raise OpenError(f"{path}: a dump; `canvass graph build` makes a state graph of it")
        if path.is_file() and path.suffix != ".parquet":
            counterexample = Lazy(lambda: read_counterexample(path))
            counterexample.get()  # Only the content shows whether the file is a counterexample.
            yield Source("counterexample", path.name, shown(path), path, counterexample)
        elif not path.exists():
            if path.is_symlink():
                raise OpenError(f"{path}: a link to {path.readlink()}, which cannot be opened")
            raise OpenError(f"{path}: there is no such file or folder")
        elif not path.is_dir() and not path.is_file():
            raise OpenError(f"{path}: neither a file nor a folder, but a pipe, socket or device")
        elif (path / "manifest.json").is_file():
            content = Lazy(lambda: OpenGraph(path))
            yield Source("graph", path.resolve().name, shown(path), path, content)
        elif (path / "summary.json").is_file():
            yield self._report_source(path)
        else:
            yield from self._corpus(path)

    def _corpus(self, path: Path) -> Iterator[Source]:
        found: list[Place] = []
        for unit in list_units([path]):
            if unit.kind is UnitKind.FILE:
                found += self._runs_of(unit.location)
                continue
            if unit.kind is UnitKind.REFUSED:
                reason = f"{unit.code}: {unit.reason}"
                self._refused[unit.location] = OpenError(f"{unit.path}: {reason}")
            found.append((unit.location, unit.location.name))
        if not found:
            raise OpenError(f"{path}: there is no run in it")
        found.sort(key=lambda one: (natural(str(one[0])), natural(one[1])))
        runs = {one: self._source_of(*one) for one in found} if len(found) <= CHECKED_RUNS else {}
        if len(found) > 1:
            # If its runs are sources, too, all of them are checked.
            open_run = (lambda *one: runs[one]) if runs else self._source_of
            corpus = OpenCorpus(path.resolve().name, found, open_run, checks=bool(runs))
            detail, content = f"{shown(path)}: {len(found):,} runs", Lazy(lambda: corpus)
            yield Source("corpus", corpus.title, detail, path, content, inner=corpus.run_at)
        yield from runs.values()

    def _runs_of(self, file: Path) -> list[Place]:
        """Give the runs of a data set file; for another file, the file itself with a refusal."""
        try:
            with DatasetFile(file) as opened:
                return [(file, run_id) for run_id in opened.runs]
        except TraceError as error:
            self._refused[file] = error
            return [(file, file.name)]

    def _source_of(self, path: Path, run_id: str) -> Source:
        """Give the source of a run folder, a run of a data set, or a folder of event logs."""
        if path in self._refused:
            return _broken_source(path, self._refused[path])
        if path.is_dir() and not (path / "run.json").is_file():
            return self._aeron_source(path)
        content = Lazy(lambda: RunSource(path, run_id, self._checker))
        return Source("run", run_id, shown(path), path, content)

    def _report_source(self, folder: Path) -> Source:
        """Give the source of a report, through which its runs are opened."""
        content = Lazy(lambda: OpenReport(folder, self._source_of))
        title, inner = folder.resolve().name, lambda number: content.get().run_at(number)
        return Source("report", title, shown(folder), folder, content, inner=inner)

    def _aeron_source(self, logs: Path) -> Source:
        """Give the source of a run that is imported from event logs at the first request."""
        title = logs.resolve().name

        def make() -> RunSource:
            from canvass.traces.alignment.importer import import_logs

            if self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="canvass-browse-")
            name = title if re.fullmatch(RUN_ID_PATTERN, title) else "run"
            out = Path(tempfile.mkdtemp(dir=self._scratch.name)) / name
            import_logs([logs], out)
            return RunSource(out, title, self._checker, logs)

        sample = logs in (_PACKAGED_SAMPLE, _CHECKOUT_SAMPLE)
        detail = "a shipped sample" if sample else f"imported from {shown(logs)}"
        return Source("run", title, detail, logs, Lazy(make))

    def _samples(self) -> Iterator[Source]:
        """Give the sample run.

        Raises
        ------
        OpenError
            If the installation has no sample.
        """
        for folder in (_PACKAGED_SAMPLE, _CHECKOUT_SAMPLE):
            if folder.is_dir():
                yield self._aeron_source(folder)
                return
        raise OpenError("this installation carries no sample run; name one")


def usable_graphs(paths: Iterable[Path]) -> list[Path]:
    """Give the paths that are state graphs of the current spec; they can decide steps."""
    found = []
    for path in paths:
        if (path / "manifest.json").is_file():
            # A graph of another spec is no error: it is shown, but decides no steps.
            with suppress(GraphError):
                make_lookup([path], None)
                found.append(path)
    return found


def _broken_source(path: Path, error: Exception) -> Source:
    """Give a source whose content raises ``error``; its page shows the message."""

    def make() -> object:
        raise error

    return Source("run", path.name or str(path), shown(path), path, Lazy(make))

"""From what a command line names to sources: what kind of thing a path is, found by what is in it.

Nothing is read here but what tells the kind; the rest is read when the page asks for it, the first
run and the first graph in the background.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canvass.browser.limits import CHOICES
from canvass.browser.sources import Lazy, Source, Store, shown

if TYPE_CHECKING:
    from canvass.browser.verdicts import Checker, RunSource

_HERE: Final = Path(__file__).resolve().parent
_PACKAGED_SAMPLE: Final = _HERE / "sample" / "b-leader-killed"
_CHECKOUT_SAMPLE: Final = _HERE.parents[2] / "samples" / "aeron" / "b-leader-killed"
SAMPLE_GRAPHS: Final = ("MCMemberGraph3", "MCMemberGraph2", "MCMemberGraph1")
"""Models whose graphs are opened beside the sample, the first that the user's cache has."""


class OpenError(Exception):
    """There is nothing to look at where the command line says; the message is one line."""


class Opener:
    """Makes sources of paths, and keeps the folder of what it imports.

    Parameters
    ----------
    checker
        Who finds the verdicts on runs.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._refused: dict[Path, Exception] = {}
        """What stands in a corpus and is no run, with the reason."""

    def close(self) -> None:
        """Remove what was imported."""
        if self._scratch is not None:
            self._scratch.cleanup()

    def open_all(self, paths: Sequence[Path]) -> Iterator[Source]:
        """Give the sources of all paths, or samples if there are none.

        What cannot be opened is a source that says why.

        Raises
        ------
        OpenError, TraceError, CounterexampleError
            If nothing can be opened: what is wrong with the first path.
        """
        from canvass.browser.counterexamples import CounterexampleError
        from canvass.traces.errors import TraceError

        if not paths:
            yield from self.samples()
        errors: list[Exception] = []
        found: list[Source] = []
        for path in paths:
            try:
                found += self.open(path)
            except (OpenError, TraceError, CounterexampleError) as error:
                errors.append(error)
                found.append(broken_source(path, error))
        if errors and len(errors) == len(paths):
            raise errors[0]
        yield from found

    def open(self, path: Path) -> Iterator[Source]:
        """Give the sources of a path.

        Raises
        ------
        OpenError
            If there is nothing to look at.
        TraceError
            If it looks like a corpus and is none.
        CounterexampleError
            If it is a file that is neither a data set nor a counterexample.
        """
        if path.is_file() and path.suffix != ".parquet":
            source = counterexample_source(path)
            source.content.get()  # What it is only its content tells.
            yield source
        elif not path.exists():
            if path.is_symlink():
                raise OpenError(f"{path}: a link to {path.readlink()}, which cannot be opened")
            raise OpenError(f"{path}: there is no such file or folder")
        elif not path.is_dir() and not path.is_file():
            raise OpenError(f"{path}: neither a file nor a folder, but a pipe, socket or device")
        elif (path / "manifest.json").is_file():
            yield graph_source(path)
        elif (path / "summary.json").is_file():
            yield self.report_source(path)
        else:
            yield from self._corpus(path)

    def _corpus(self, path: Path) -> Iterator[Source]:
        from canvass.corpus.plan import UnitKind, list_units

        found: list[tuple[Path, str]] = []
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
        if len(found) > CHOICES:
            yield self.corpus_source(path, found)
        else:
            for place, run_id in found:
                yield self.source_of(place, run_id)

    def _runs_of(self, file: Path) -> list[tuple[Path, str]]:
        """Give the runs of a file of a data set; the file itself if it is none."""
        from canvass.traces.errors import TraceError
        from canvass.traces.parquet import DatasetFile

        try:
            with DatasetFile(file) as opened:
                return [(file, run_id) for run_id in opened.runs]
        except TraceError as error:
            self._refused[file] = error
            return [(file, file.name)]

    def corpus_source(self, path: Path, found: Sequence[tuple[Path, str]]) -> Source:
        """Give the source of a corpus, which gives those of its runs."""
        from canvass.browser.reports import OpenCorpus

        title = path.resolve().name
        corpus = OpenCorpus(title, found, self.source_of)
        detail = f"{shown(path)}: {len(found):,} runs"
        return Source("corpus", title, detail, path, Lazy(lambda: corpus), inner=corpus.run_at)

    def source_of(self, path: Path, run_id: str) -> Source:
        """Give the source of a run folder, of a run of a data set, or of a folder with logs."""
        if path in self._refused:
            return broken_source(path, self._refused[path])
        if path.is_dir() and not (path / "run.json").is_file():
            return self.aeron_source(path)
        return self.run_source(path, run_id)

    def report_source(self, folder: Path) -> Source:
        """Give the source of a report, which gives those of its runs."""
        from canvass.browser.reports import OpenReport

        content = Lazy(lambda: OpenReport(folder))

        def inner(number: int) -> Source | None:
            place = content.get().run_at(number)
            return None if place is None else self.source_of(*place)

        return Source("report", folder.resolve().name, shown(folder), folder, content, inner=inner)

    def run_source(self, path: Path, run_id: str) -> Source:
        """Give the source of a run."""
        content = Lazy(lambda: self._run(path, run_id))
        return Source("run", run_id, shown(path), path, content, run_id)

    def _run(self, path: Path, run_id: str, logs: Path | None = None) -> RunSource:
        from canvass.browser.verdicts import RunSource

        return RunSource(path, run_id, self._checker, logs)

    def aeron_source(self, logs: Path) -> Source:
        """Give the source of a run that is imported from event logs when it is asked for."""
        title = logs.resolve().name

        def make() -> RunSource:
            from canvass.traces.alignment.importer import import_logs
            from canvass.traces.schema import RUN_ID_PATTERN

            if self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="canvass-browse-")
            name = title if re.fullmatch(RUN_ID_PATTERN, title) else "run"
            out = Path(tempfile.mkdtemp(dir=self._scratch.name)) / name
            import_logs([logs], out)
            return self._run(out, title, logs)

        sample = logs in (_PACKAGED_SAMPLE, _CHECKOUT_SAMPLE)
        detail = "a shipped sample" if sample else f"imported from {shown(logs)}"
        return Source("run", title, detail, logs, Lazy(make), imported=True)

    def samples(self) -> Iterator[Source]:
        """Give what there is to see when nothing is named: the sample, and a graph if one is there.

        Raises
        ------
        OpenError
            If the installation carries no sample.
        """
        for folder in (_PACKAGED_SAMPLE, _CHECKOUT_SAMPLE):
            if folder.is_dir():
                yield self.aeron_source(folder)
                break
        else:
            raise OpenError("this installation carries no sample run; name one")
        graph = cached_graph_folder()
        if graph is not None:
            yield graph_source(graph)


def usable_graphs(paths: Iterable[Path]) -> list[Path]:
    """Give those of some paths that are graphs of what the spec says today: they know steps."""
    from canvass.conformance.check import make_lookup
    from canvass.graph import GraphError

    found = []
    for path in paths:
        if (path / "manifest.json").is_file():
            # A graph of something else is no error here: it is only looked at.
            with suppress(GraphError):
                make_lookup([path], None)
                found.append(path)
    return found


def graph_source(folder: Path) -> Source:
    """Give the source of a state graph."""

    def make() -> object:
        from canvass.browser.graphs import OpenGraph

        return OpenGraph(folder)

    return Source("graph", folder.resolve().name, shown(folder), folder, Lazy(make))


def broken_source(path: Path, error: Exception) -> Source:
    """Give the source of something that cannot be read; its page says why."""

    def make() -> object:
        raise error

    return Source("run", path.name or str(path), shown(path), path, Lazy(make))


def counterexample_source(path: Path) -> Source:
    """Give the source of a counterexample."""

    def make() -> object:
        from canvass.browser.counterexamples import read_counterexample

        return read_counterexample(path)

    return Source("counterexample", path.name, shown(path), path, Lazy(make))


def cached_graph_folder() -> Path | None:
    """Find a graph of today's spec in the user's cache."""
    from canvass.conformance.step_lookup import default_cache
    from canvass.graph.build import cache_folder, load_model

    for name in SAMPLE_GRAPHS:
        folder = cache_folder(load_model(name), default_cache() / "graphs")
        if (folder / "manifest.json").is_file():
            return folder
    return None


def prepare(store: Store) -> threading.Thread:
    """Begin to read the first graph and the first run, so that the first views need not wait."""
    thread = threading.Thread(target=lambda: _read(store), daemon=True)
    thread.start()
    return thread


def _read(store: Store) -> None:
    first = {source.kind: (name, source) for name, source in reversed(store.all())}
    runs, graphs = first.get("run"), first.get("graph")
    with suppress(Exception):
        if runs is not None:
            runs[1].content.get()
    with suppress(Exception):
        if graphs is not None:
            _warm(graphs[1].content.get())
    with suppress(Exception):
        if runs is not None:
            found = runs[1].content.get().graph(store)
            if found is not None:
                found[2].begin()


def _warm(graph: object) -> None:
    """Let numba load what paths and components need."""
    from canvass.browser.graphs import OpenGraph
    from canvass.graph.walks import shortest_path

    assert isinstance(graph, OpenGraph)
    first = graph.view.initial[:1].tolist()
    shortest_path(graph.view, first, first)

"""Lists of many runs: a report of `canvass batch verify`, and a corpus.

The table of runs in a report stays in columns; only the rows of one page become objects. A run of a
corpus is read and checked when the page opens it; until then its verdict is unknown.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from canvass.browser import api
from canvass.browser.questions import Refusal, bad_request
from canvass.browser.sources import Lazy, Source, shown
from canvass.conformance.findings import reason_text
from canvass.conformance.report import natural
from canvass.corpus.report import (
    VERDICTS,
    DivergenceClassSummary,
    Summary,
    read_summary,
    revision_texts,
)
from canvass.traces.errors import TraceError

PAGE: Final = 100
_NAMES: Final = ("run_id", "source", "reason")
_COLUMNS: Final = ("source", "run_id", "verdict", "events", "reason")


class OpenReport:
    """A report.

    Parameters
    ----------
    folder
        The folder that ``canvass batch verify --out`` wrote.

    Raises
    ------
    BadSummary
        If the folder has no summary that this version reads.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: Summary = read_summary(folder)
        self._runs: Lazy[Any] = Lazy(self._read_runs)

    def _read_runs(self) -> Any:
        """Read the table of runs; without a table, the runs that the summary lists.

        Raises
        ------
        Refusal
            If the table cannot be read, or lacks columns of a report.
        """
        import pyarrow.dataset as ds  # Loads pandas, which other pages do not need.

        kinds = [(name, pa.int64() if name == "events" else pa.string()) for name in _COLUMNS]
        schema = pa.schema(kinds)
        verdicts = self.folder / "verdicts"
        if verdicts.is_dir():
            try:
                found = ds.dataset(verdicts, format="parquet").to_table(columns=list(_COLUMNS))
                table = found.cast(schema)
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                reason = (str(error).splitlines() or ["?"])[0]
                message = f"{verdicts}: not the table of runs of a report: {reason}"
                raise Refusal(422, "unreadable", message) from None
        else:
            rows = [{name: getattr(one, name) for name in _COLUMNS} for one in self.summary.listed]
            table = pa.Table.from_pylist(rows, schema=schema)
        # Runs that do not conform come first; the order of a report never changes.
        rank = pc.index_in(table["verdict"], pa.array(("DIVERGES", "MALFORMED", "INCOMPLETE")))
        table = table.append_column("rank", pc.fill_null(rank, len(VERDICTS)))
        for name in ("source", "run_id"):
            keys = pa.array(map(natural, _texts(table, name)))
            table = table.append_column(f"natural_{name}", keys)
        order = [(name, "ascending") for name in ("rank", "natural_source", "natural_run_id")]
        return table.sort_by(order)

    def run_at(self, number: int) -> tuple[Path, str] | None:
        """Give path and id of a run in the table; None if there is no such run, or no such path."""
        table = self._runs.get()
        if not 0 <= number < len(table):
            return None
        return self._place(table.slice(number, 1).to_pylist()[0])

    def _place(self, row: dict[str, Any]) -> tuple[Path, str] | None:
        if row["run_id"] is None:
            return None
        path = Path(row["source"] or "")
        return (path, row["run_id"]) if _may_hold_a_run(path) else None

    def view(self, source_id: str) -> api.ReportView:
        """Describe the report, with the first page of its runs."""
        summary = self.summary
        return api.ReportView(
            id=source_id,
            title=self.folder.resolve().name,
            summary=replace(summary, listed=[], earlier_listed=[]),
            revisions=tuple(revision_texts(summary)),
            examples=tuple(self._example(source_id, one) for one in summary.clusters),
            runs=self.runs(source_id, "", "", 0),
        )

    def _example(self, source_id: str, one: DivergenceClassSummary) -> str | None:
        """Give the source id of an example; None if the run is gone."""
        source, run_id = (self._runs.get()[name] for name in ("source", "run_id"))
        same = pc.and_(pc.equal(source, one.example_source), pc.equal(run_id, one.example_run_id))
        number = pc.index(pc.fill_null(same, fill_value=False), value=True).as_py()
        return None if self.run_at(number) is None else _run_name(source_id, number)

    def runs(self, source_id: str, verdict: str, text: str, page: int) -> api.ReportRuns:
        """Give a page of the runs that have a verdict, and a text in their id, path or reason.

        An empty ``verdict`` or ``text`` matches all runs.

        Raises
        ------
        Refusal
            If no verdict has that name.
        """
        _check_verdict(verdict, VERDICTS)
        table = self._runs.get()
        same = np.ones(len(table), dtype=np.bool_)
        if verdict:
            same &= _truth(pc.equal(table["verdict"], verdict))
        if text:
            named = (pc.match_substring(table[name], text, ignore_case=True) for name in _NAMES)
            same &= np.logical_or.reduce(list(map(_truth, named)))
        numbers = np.flatnonzero(same)
        shown = numbers[page * PAGE : (page + 1) * PAGE]
        rows = table.take(pa.array(shown)).to_pylist()
        runs = (
            api.ReportRun(
                run_id=row["run_id"] or "",
                verdict=row["verdict"] or "",
                events=int(row["events"] or 0),
                reason=row["reason"] or "",
                source=_placed(row["source"] or ""),
                run=_run_name(source_id, number) if self._place(row) else None,
            )
            for number, row in zip(shown.tolist(), rows, strict=True)
        )
        return _page_of(page, len(numbers), runs)


def _check_verdict(verdict: str, names: Sequence[str]) -> None:
    """Refuse a verdict that is not one of ``names``; an empty one matches all runs.

    Raises
    ------
    Refusal
        If no verdict has that name.
    """
    if verdict and verdict not in names:
        raise bad_request(f"verdict is one of {', '.join(names)}")


def _page_of(page: int, total: int, runs: Iterable[api.ReportRun]) -> api.ReportRuns:
    """Give a page of ``total`` runs."""
    return api.ReportRuns(page, max(1, -(-total // PAGE)), total, tuple(runs))


def _texts(table: Any, name: str) -> list[str]:
    return [one or "" for one in table[name].to_pylist()]


def _truth(column: Any) -> Any:
    """Give truth values as an array; null becomes false."""
    return pc.fill_null(column, fill_value=False).to_numpy()


def _run_name(report_id: str, number: int) -> str:
    """Give the source id of a run of a report or corpus."""
    return f"{report_id}.{number}"


def _placed(source: str) -> str:
    """Write the path of a run for a person."""
    return shown(Path(source)) if source else ""


def _may_hold_a_run(path: Path) -> bool:
    """Tell whether a path of a report is a folder or a data set file."""
    try:
        return path.is_dir() or (path.suffix == ".parquet" and path.is_file())
    except (OSError, ValueError):
        return False  # Not a file name, or not accessible.


UNCHECKED: Final = "UNCHECKED"
Place = tuple[Path, str]
"""Path and id of a run."""


class OpenCorpus:
    """A corpus, and the verdicts of its runs that were opened.

    Parameters
    ----------
    title
        Name of the corpus on the page.
    places
        Path and id of each run.
    open_run
        Gives the source of a run.
    checks
        Whether all runs are checked, from the first view on.
    """

    def __init__(
        self,
        title: str,
        places: Sequence[Place],
        open_run: Callable[[Path, str], Source],
        *,
        checks: bool = False,
    ) -> None:
        self.title = title
        self._places = places
        self._texts = [f"{run_id}\n{path}".casefold() for path, run_id in places]
        self._open_run = open_run
        self._lock = threading.Lock()
        self._opened: dict[int, Source] = {}
        self._known: dict[int, api.ReportRun] = {}
        self._checking = threading.Thread(target=self._check, daemon=True) if checks else None

    def _check(self) -> None:
        """Open, check and explain the runs one by one."""
        for number in range(len(self._places)):
            try:
                run = cast("Source", self.run_at(number)).content.get()
            except Exception as error:  # noqa: BLE001 - whatever is wrong is the reason in the list
                reason = " ".join(str(error).split())
                run = self._unchecked(number)
                self._known[number] = replace(run, verdict="MALFORMED", reason=reason)
                continue
            run.checked.done.wait()
            # Runs of a data set, and damaged ones, are listed without these columns.
            with suppress(Refusal, TraceError):
                found = run.explanation()
                with self._lock:
                    self._learn()
                    self._known[number] = replace(
                        self._known[number],
                        elections=found.election_count,
                        without_leader_ms=found.without_leader_ms,
                    )

    def run_at(self, number: int) -> Source | None:
        """Open a run by its number; None without such a run."""
        if not 0 <= number < len(self._places):
            return None
        source = self._open_run(*self._places[number])
        with self._lock:
            self._learn()
            self._opened[number] = source
        return source

    def _learn(self) -> None:
        """Store the verdicts of runs that have been checked, and release these runs."""
        for number, source in list(self._opened.items()):
            if not source.content.made:
                continue
            run = source.content.get()
            if run.checked.done.is_set():
                verdict = run.checked.verdict
                name = UNCHECKED if verdict is None else verdict.verdict.value
                reason = run.checked.note if verdict is None else reason_text(verdict)
                count = run.opened.run.member_count
                self._known[number] = replace(
                    self._unchecked(number),
                    verdict=name,
                    events=run.opened.total,
                    reason=reason,
                    members=count,
                )
                del self._opened[number]

    def view(self, source_id: str) -> api.CorpusView:
        """Count the runs of the corpus by verdict."""
        with self._lock:
            self._learn()
            if self._checking is not None and self._checking.ident is None:
                self._checking.start()
            counts = Counter(known.verdict for known in self._known.values())
        counts[UNCHECKED] += len(self._places) - counts.total()
        return api.CorpusView(
            id=source_id,
            title=self.title,
            counts={name: counts[name] for name in (*VERDICTS, UNCHECKED)},
            checking=self._checking is not None and self._checking.is_alive(),
        )

    def runs(self, source_id: str, verdict: str, text: str, page: int) -> api.ReportRuns:
        """Give a page of the runs that have a verdict, and a text in their id or path.

        An empty ``verdict`` or ``text`` matches all runs.

        Raises
        ------
        Refusal
            If no verdict has that name.
        """
        _check_verdict(verdict, (*VERDICTS, UNCHECKED))
        with self._lock:
            self._learn()
            known = dict(self._known)
        wanted = text.casefold()
        numbers = [
            number
            for number, name in enumerate(self._texts)
            if wanted in name
            and verdict in ("", UNCHECKED if number not in known else known[number].verdict)
        ]
        shown = numbers[page * PAGE : (page + 1) * PAGE]
        rows = (
            replace(known.get(number) or self._unchecked(number), run=_run_name(source_id, number))
            for number in shown
        )
        return _page_of(page, len(numbers), rows)

    def _unchecked(self, number: int) -> api.ReportRun:
        path, run_id = self._places[number]
        return api.ReportRun(run_id, UNCHECKED, None, "", _placed(str(path)), None)

"""Lists of many runs: a report of `canvass batch verify`, and a corpus.

A run of a corpus is read and checked when the page opens it; until then its verdict is unknown.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
from msgspec.structs import asdict, replace

from canvass.browser import api
from canvass.browser.questions import Number, Refusal, at, bad_request
from canvass.browser.sources import Lazy, Source, shown
from canvass.conformance.findings import reason_text
from canvass.conformance.report import natural
from canvass.corpus.report import VERDICTS, Summary, read_summary, revision_texts
from canvass.traces.errors import TraceError

PAGE: Final = 100
UNCHECKED: Final = "UNCHECKED"
Place = tuple[Path, str]
"""Path and id of a run."""
_FIRST: Final = ("DIVERGES", "MALFORMED", "INCOMPLETE")
_TEXTS: Final = dict.fromkeys(("source", "run_id", "verdict", "reason"), pa.string())
_SCHEMA: Final = pa.schema({**_TEXTS, "events": pa.int64()})


class RunList:
    """Many runs, and the questions about them.

    Parameters
    ----------
    open_run
        Gives the source of a run.
    """

    def __init__(self, open_run: Callable[[Path, str], Source]) -> None:
        self._open_run = open_run

    def rows(self) -> Sequence[api.ReportRun]:
        """Give all runs, in an order that never changes; `source` is the whole path."""
        raise NotImplementedError

    def run_at(self, number: int) -> Source | None:
        """Open a run by its number; None without such a run."""
        rows = self.rows()
        if not (0 <= number < len(rows) and rows[number].run_id):
            return None
        return self._open_run(Path(rows[number].source), rows[number].run_id)

    @at("/runs")
    def runs(
        self, source: str, verdict: str = "", text: str = "", page: Number = 0
    ) -> api.ReportRuns:
        """Give a page of the runs that have a verdict, and a text in their id, path or reason.

        An empty ``verdict`` or ``text`` matches all runs.

        Raises
        ------
        Refusal
            If no verdict has that name.
        """
        if verdict not in ("", *VERDICTS, UNCHECKED):
            raise bad_request(f"verdict is one of {', '.join(VERDICTS)}, {UNCHECKED}")
        rows, wanted = self.rows(), text.casefold()
        found = [
            number
            for number, one in enumerate(rows)
            if verdict in ("", one.verdict)
            and wanted in f"{one.run_id}\n{one.source}\n{one.reason}".casefold()
        ]
        return api.ReportRuns(
            page,
            max(1, -(-len(found) // PAGE)),
            len(found),
            tuple(
                replace(
                    rows[number],
                    source=shown(Path(rows[number].source)),
                    run=self._name(source, number),
                )
                for number in found[page * PAGE : (page + 1) * PAGE]
            ),
        )

    def _name(self, source: str, number: int) -> str | None:
        """Give the id of a run as a source; None if the run is gone."""
        row = self.rows()[number]
        return f"{source}.{number}" if row.run_id and _may_hold_a_run(Path(row.source)) else None


def _may_hold_a_run(path: Path) -> bool:
    """Tell whether a path is a folder or a data set file."""
    try:
        return path.is_dir() or (path.suffix == ".parquet" and path.is_file())
    except (OSError, ValueError):
        return False  # Not a file name, or not accessible.


class OpenReport(RunList):
    """A report.

    Parameters
    ----------
    folder
        The folder that ``canvass batch verify --out`` wrote.
    open_run
        Gives the source of a run.

    Raises
    ------
    BadSummary
        If the folder has no summary that this version reads.
    """

    def __init__(self, folder: Path, open_run: Callable[[Path, str], Source]) -> None:
        super().__init__(open_run)
        self.folder = folder
        self.summary: Summary = read_summary(folder)
        self._rows: Lazy[list[api.ReportRun]] = Lazy(self._read)

    def rows(self) -> Sequence[api.ReportRun]:
        """Give the runs; those that do not conform come first."""
        return self._rows.get()

    def _read(self) -> list[api.ReportRun]:
        """Read the table of runs; without a table, the runs that the summary lists.

        Raises
        ------
        Refusal
            If the table cannot be read, or lacks columns of a report.
        """
        import pyarrow.dataset as ds  # Loads pandas, which other pages do not need.

        verdicts, rows = self.folder / "verdicts", [asdict(one) for one in self.summary.listed]
        if verdicts.is_dir():
            try:
                table = ds.dataset(verdicts, format="parquet").to_table(columns=_SCHEMA.names)
                rows = table.cast(_SCHEMA).to_pylist()
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                reason = (str(error).splitlines() or ["?"])[0]
                message = f"{verdicts}: not the table of runs of a report: {reason}"
                raise Refusal(422, "unreadable", message) from None
        found = [
            api.ReportRun(
                run_id=row["run_id"] or "",
                verdict=row["verdict"] or "",
                events=row["events"] or 0,
                reason=row["reason"] or "",
                source=row["source"] or "",
            )
            for row in rows
        ]
        found.sort(key=lambda one: (natural(one.source), natural(one.run_id)))
        return sorted(found, key=lambda one: [*_FIRST, one.verdict].index(one.verdict))

    @at("")
    def view(self, source: str) -> api.ReportView:
        """Describe the report."""
        summary = self.summary
        numbers = {(one.source, one.run_id): k for k, one in enumerate(self.rows())}
        found = [numbers.get((one.example_source, one.example_run_id)) for one in summary.clusters]
        return api.ReportView(
            id=source,
            title=self.folder.resolve().name,
            summary=replace(summary, listed=[], earlier_listed=[]),
            revisions=tuple(revision_texts(summary)),
            examples=tuple(None if k is None else self._name(source, k) for k in found),
        )


class OpenCorpus(RunList):
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
        super().__init__(open_run)
        self.title = title
        self._rows = [
            api.ReportRun(run_id, UNCHECKED, None, "", str(path)) for path, run_id in places
        ]
        self._lock = threading.Lock()
        self._opened: dict[int, Source] = {}
        self._checking = threading.Thread(target=self._check, daemon=True) if checks else None

    def _check(self) -> None:
        """Open, check and explain the runs one by one."""
        for number in range(len(self._rows)):
            try:
                run = cast("Source", self.run_at(number)).content.get()
            except Exception as error:  # noqa: BLE001 - whatever is wrong is the reason in the list
                reason = " ".join(str(error).split())
                self._know(number, verdict="MALFORMED", reason=reason)
                continue
            run.checked.done.wait()
            self.rows()
            # Runs of a data set, and damaged ones, are listed without these columns.
            with suppress(Refusal, TraceError):
                found = run.explanation()
                self._know(
                    number,
                    elections=len(found.elections),
                    without_leader_ms=found.without_leader_ms,
                )

    def _know(self, number: int, **known: Any) -> None:
        self._rows[number] = replace(self._rows[number], **known)

    def run_at(self, number: int) -> Source | None:
        """Open a run by its number; None without such a run."""
        found = super().run_at(number)
        if found is not None:
            with self._lock:
                self._opened[number] = found
        return found

    def rows(self) -> Sequence[api.ReportRun]:
        """Give the runs with the verdicts of those that have been checked, and release these."""
        with self._lock:
            for number, source in list(self._opened.items()):
                if not (source.content.made and source.content.get().checked.done.is_set()):
                    continue
                run = self._opened.pop(number).content.get()
                verdict = run.checked.verdict
                self._know(
                    number,
                    verdict=UNCHECKED if verdict is None else verdict.verdict.value,
                    events=run.opened.total,
                    reason=run.checked.note if verdict is None else reason_text(verdict),
                    members=run.opened.run.member_count,
                )
        return self._rows

    @at("")
    def view(self, source: str) -> api.CorpusView:
        """Count the runs of the corpus by verdict."""
        counts = Counter(one.verdict for one in self.rows())
        with self._lock:
            if self._checking is not None and self._checking.ident is None:
                self._checking.start()
        return api.CorpusView(
            id=source,
            title=self.title,
            counts={name: counts[name] for name in (*VERDICTS, UNCHECKED)},
            checking=self._checking is not None and self._checking.is_alive(),
        )

"""The report that tests of the page open and the guide shows, and the corpus of the report.

The corpus is made of the shipped samples: the samples themselves, copies in which one line is
false, and damaged copies. The report in ``tests/browser/report`` is the result of ``canvass batch
verify`` on this corpus; its paths are relative to the folder in which the command ran. Spark is not
needed to open it; `tests/spark/test_page_report.py` makes it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from canvass.corpus.report import SUMMARY_FILE, Summary, read_summary
from support.aeron_corruptions import KINDS, spread
from support.aeron_runs import SAMPLES, lines_of, write_logs

MADE: Final = Path(__file__).resolve().parents[1] / "browser" / "report"
VERDICTS: Final = "verdicts.ndjson"
CORPUS: Final = "corpus"
COMMAND: Final = ["batch", "verify", CORPUS, "--out", "report"]
"""The command that makes the report, in a folder with the corpus."""
EACH: Final = 2
"""The most copies of a sample for each kind of falsehood."""
PASSING: Final = ("seconds", "eventsPerSecond", "version")
"""The parts of a summary that differ each time, or with the next release."""


def write_corpus(root: Path) -> Path:
    """Write the corpus; it is the same in every folder."""
    root.mkdir(parents=True)
    for sample in SAMPLES:
        shutil.copytree(sample, root / sample.name)
        logs = {i: list(lines_of(sample, i)) for i in range(3)}
        copies = {
            f"{kind.replace(' ', '-')}-{number}": one.logs
            for kind, found in KINDS.items()
            for number, one in enumerate(spread(found(logs), EACH), 1)
        }
        copies["truncated"] = logs | {1: logs[1][: len(logs[1]) // 2]}
        copies["gap"] = logs | {1: logs[1][:20] + logs[1][60:]}
        copies["no-event"] = {0: ["nothing of Aeron"]}
        for name, lines in copies.items():
            folder = write_logs(root / f"{sample.name}-{name}", lines)
            shutil.copy(sample / "config.json", folder)
    return root


def document_of(report: Path, here: Path) -> dict[str, Any]:
    """Read a report: its summary and its table of runs, with paths relative to a folder."""
    table = ds.dataset(report / "verdicts", format="parquet").to_table()
    rows = table.drop_columns("digest").to_pylist()  # A digest covers times, which differ.
    summary = msgspec.to_builtins(read_summary(report))
    text = json.dumps({"summary": summary, "rows": sorted(rows, key=lambda row: row["source"])})
    said: dict[str, Any] = json.loads(text.replace(f"{here.resolve()}/", ""))
    return said


def write_made(said: dict[str, Any]) -> None:
    """Write the content of a report to a file in which a person can read the differences."""
    MADE.mkdir(exist_ok=True)
    (MADE / SUMMARY_FILE).write_text(json.dumps(said["summary"], indent=1) + "\n")
    (MADE / VERDICTS).write_text("".join(json.dumps(row) + "\n" for row in said["rows"]))


def read_made() -> dict[str, Any]:
    """Read the content of the report that `write_made` wrote."""
    rows = [json.loads(line) for line in (MADE / VERDICTS).read_text().splitlines()]
    return {"summary": json.loads((MADE / SUMMARY_FILE).read_text()), "rows": rows}


def write_report(folder: Path) -> Path:
    """Write the corpus into a folder, and beside it the report as the command would write it."""
    corpus, report = write_corpus(folder / CORPUS), folder / "report"
    said = read_made()
    for row in said["rows"]:
        row["source"] = str(folder.resolve() / row["source"])
    clusters = said["summary"]["clusters"]
    for one in clusters:
        one["exampleSource"] = str(folder.resolve() / one["exampleSource"])
    for run in said["summary"]["listed"]:
        run["source"] = str(folder.resolve() / run["source"])
    (report / "verdicts").mkdir(parents=True)
    # Converted to a summary, so that a file that is not one fails here.
    summary = msgspec.convert(said["summary"], Summary)
    (report / SUMMARY_FILE).write_bytes(msgspec.json.encode(summary))
    pq.write_table(pa.Table.from_pylist(said["rows"]), report / "verdicts" / "part-0.parquet")
    assert {Path(row["source"]).parent for row in said["rows"]} == {corpus.resolve()}
    return report

"""The report that the page's tests open and the guide shows is what the command makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from canvass.cli.main import run
from canvass.corpus.job import VERDICT_COLUMNS
from canvass.corpus.report import Summary
from support.page_report import (
    COMMAND,
    CORPUS,
    PASSING,
    document_of,
    read_made,
    write_corpus,
    write_made,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_kept_report_has_the_fields_of_a_summary_and_the_columns_of_verdicts() -> None:
    """A field that the summary has gained or lost since shows without Spark."""
    kept = read_made()

    read = msgspec.convert(kept["summary"], Summary)
    assert msgspec.json.decode(msgspec.json.encode(read)) == kept["summary"]
    assert {tuple(row) for row in kept["rows"]} == {
        tuple(name for name in VERDICT_COLUMNS if name != "digest")
    }


@pytest.mark.night
def test_the_report_of_the_page_is_what_the_command_makes(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rewrite: bool,
) -> None:
    """But for how long it took; ``--rewrite`` keeps what it made."""
    write_corpus(tmp_path / CORPUS)
    monkeypatch.chdir(tmp_path)

    code = run([*COMMAND, "--cache", "cache"])

    assert code == 1
    made = document_of(tmp_path / "report", tmp_path)
    if rewrite:
        write_made(made)
    kept = read_made()
    for said in (made, kept):
        for name in PASSING:
            del said["summary"][name]
    assert kept == made

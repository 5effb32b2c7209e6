"""The report that the page's tests open and the guide shows is what the command makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pytest

from canvass.cli.main import run
from canvass.corpus.rows import VERDICT_COLUMNS
from canvass.corpus.summary import Summary
from canvass.graph.build import cache_folder, load_model
from support.graphs import graph_of
from support.page_report import (
    COMMAND,
    CORPUS,
    GRAPH,
    PASSING,
    document_of,
    read_made,
    write_corpus,
    write_made,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EQUIVALENCE: Final = Path(__file__).parents[2] / "docs" / "theory" / "equivalence.md"


def test_the_kept_report_has_the_fields_of_a_summary_and_the_columns_of_verdicts() -> None:
    """A field that the summary has gained or lost since shows without Spark."""
    kept = read_made()

    read = msgspec.convert(kept["summary"], Summary)
    assert msgspec.json.decode(msgspec.json.encode(read)) == kept["summary"]
    assert {tuple(row) for row in kept["rows"]} == {VERDICT_COLUMNS}


def test_the_kept_report_covers_the_graph_as_large_as_it_is_now() -> None:
    text = EQUIVALENCE.read_text(encoding="utf-8")
    row = re.search(r"^\| `MCMemberGraph3` \|.* ([\d,]+) \| 0 \| `\w+` \|$", text, re.MULTILINE)
    (graph,) = read_made()["summary"]["graphs"]

    assert row is not None
    assert f"{graph['steps']:,}" == row[1]
    assert graph["steps"] == sum(each["steps"] for each in graph["actions"])
    assert graph["covered"] == sum(each["covered"] for each in graph["actions"])


@pytest.mark.night
def test_the_report_of_the_page_is_what_the_command_makes(
    spark: SparkSession,
    pytestconfig: pytest.Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rewrite: bool,
) -> None:
    """But for how long it took; ``--rewrite`` keeps what it made."""
    graph_of(pytestconfig, "MCMemberGraph3")
    assert pytestconfig.cache is not None
    graphs = pytestconfig.cache.mkdir("graphs")
    (tmp_path / GRAPH).symlink_to(cache_folder(load_model("MCMemberGraph3"), graphs))
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

"""The report that the page's tests open and the guide shows is what the command makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.cli.main import run
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

    code = run([*COMMAND, "--cache", "cache", "--examples", "0"])

    assert code == 1
    made = document_of(tmp_path / "report", tmp_path)
    if rewrite:
        write_made(made)
    kept = read_made()
    for said in (made, kept):
        for name in PASSING:
            del said["summary"][name]
    assert kept == made

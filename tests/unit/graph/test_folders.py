"""The folder of a graph: who makes it is alone."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from canvass.graph import GraphError
from canvass.graph.folders import alone, made_aside, need_place
from canvass.graph.open import open_view

DEEP = '{"schema": ' + "[" * 100_000


def test_nobody_else_is_let_in(tmp_path: Path) -> None:
    with alone(tmp_path / "graph"):
        (lock,) = tmp_path.iterdir()
        with lock.open() as again, pytest.raises(BlockingIOError):
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_of_several_one_makes_it_and_the_others_find_it(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "graph"
    made: list[int] = []

    def want(number: int) -> None:
        with alone(folder):
            if not folder.exists():
                folder.mkdir()
                made.append(number)

    threads = [threading.Thread(target=want, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_place_that_cannot_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GraphError, match="cannot be made"), alone(tmp_path / "file" / "graph"):
        pass


@pytest.mark.parametrize(
    "manifest", ['{"schema": "another/1"}', '{"name": "theirs"}', "[]", "", DEEP]
)
def test_a_folder_of_somebody_else_is_no_graph(tmp_path: Path, manifest: str) -> None:
    """Other programs call a file of theirs ``manifest.json``, too."""
    (tmp_path / "manifest.json").write_text(manifest)

    with pytest.raises(GraphError):
        open_view(tmp_path)


def test_nothing_is_replaced_by_a_graph(tmp_path: Path) -> None:
    precious = tmp_path / "graph" / "precious"
    precious.parent.mkdir()
    with pytest.raises(GraphError, match="exists; name a new folder"):
        need_place(precious.parent)

    def build() -> None:
        with made_aside(precious.parent):
            precious.write_text("appears while the graph is built")

    with pytest.raises(GraphError, match="cannot be written: Directory not empty"):
        build()
    need_place(tmp_path / "absent")
    assert {path.name for path in tmp_path.rglob("*")} == {"graph", "precious"}

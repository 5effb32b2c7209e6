"""A graph of a million states is opened and asked without an object for each of them."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

from canvass.graph.open import open_view
from canvass.graph.predicate import parse
from canvass.graph.queries import around, project, shortest_path
from support.grid_graph import write_grid

OBJECTS = 5_000
"""Far fewer than states; the hops of a path come on top."""


def ask(folder: Path, side: int) -> tuple[int, int, int]:
    """Ask everything of a grid, and check it.

    Returns the most memory that was held, and the objects made when opening and in all.
    """
    gc.collect()
    before = len(gc.get_objects())
    tracemalloc.start()
    view = open_view(folder)
    opened = len(gc.get_objects()) - before
    end = parse("corner").rows(view).tolist()
    both = parse("any(m in at: at[m].place = 0)").rows(view)
    path = shortest_path(view, view.initial.tolist(), end)

    quotient = project(view, "at[0].place", limit=10)
    near = around(view, end[0], 3, 20)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    asked = len(gc.get_objects()) - before

    assert view.state_count == side * side
    assert view.edge_count == 2 * side * (side - 1) + side
    assert len(both) == 2 * side - 1
    assert len(path) == 2 * (side - 1)

    assert (quotient.counts.tolist(), quotient.left_out_classes) == ([side] * 10, side - 10)
    assert len(near.rows) == 13
    assert view.tree(end[0])["corner"] is True
    return most, opened, asked - 3 * len(path)


def test_what_is_asked_of_a_grid_is_right(tmp_path: Path) -> None:
    write_grid(tmp_path / "graph", 100)
    ask(tmp_path / "graph", 100)  # What is loaded at the first time counts for none.
    _, opened, asked = ask(tmp_path / "graph", 100)

    assert opened < OBJECTS
    assert asked < OBJECTS


@pytest.mark.night
def test_memory_grows_with_the_states_and_objects_do_not(tmp_path: Path) -> None:
    most = {}
    for side in (100, 1000):
        write_grid(tmp_path / f"{side}", side)
        ask(tmp_path / f"{side}", side)
        most[side], opened, asked = ask(tmp_path / f"{side}", side)
        assert opened < OBJECTS
        assert asked < OBJECTS

    assert most[1000] < 1.5 * 100 * most[100]
    assert most[1000] < 1_000_000 * 1000

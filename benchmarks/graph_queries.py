"""How fast state graphs of 10,000 to 1,000,000 states are opened and queried.

``python benchmarks/graph_queries.py [SIDE...]`` writes grids of SIDE x SIDE states (100, 316 and
1000 by default) and prints one table. Times are processor times; each figure is the median of three
rounds after one that compiles and loads. The ratio compares the time per state with that of the
smallest graph: 1 means that the time is linear.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from _processor_time import median_cpu

from canvass.graph.open import open_view
from canvass.graph.predicate import parse
from canvass.graph.queries import around, project, shortest_path
from canvass.graph.view import StateGraph

# The grids are those of the tests: benchmarks measure what tests check.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.grid_graph import write_grid

ROUNDS = 3
SIDES = (100, 316, 1000)


def median_warm(action: Callable[[], object]) -> float:
    """Median CPU seconds of an action after a first round."""
    action()
    return median_cpu(action, ROUNDS)


def measure(folder: Path) -> tuple[int, dict[str, float]]:
    """Measure all queries of one graph."""
    view = open_view(folder)
    end = parse("corner").rows(view).tolist()
    start = view.initial.tolist()

    def edges_from_both_ends() -> StateGraph:
        opened = open_view(folder)
        assert len(opened.out.ends) == len(opened.into.ends)
        return opened

    times = {
        "open, files verified": median_warm(lambda: open_view(folder)),
        "open, edges from both ends": median_warm(edges_from_both_ends),
        "condition on a field": median_warm(lambda: parse("not corner").rows(view)),
        "condition on a part": median_warm(lambda: parse("at[0].place > 3").rows(view)),
        "quantifier over two members": median_warm(
            lambda: parse("any(m in at: at[m].place = 0)").rows(view)
        ),
        "path through all states": median_warm(lambda: shortest_path(view, start, end)),
        "projection": median_warm(lambda: project(view, "at[0].place")),
        "200 states around one": median_warm(lambda: around(view, end[0], 30, 200)),
        "one state as a tree": median_warm(lambda: view.tree(end[0])),
    }
    return view.state_count, times


def main() -> None:
    """Write the grids and print the table."""
    sides = [int(word) for word in sys.argv[1:]] or list(SIDES)
    reported: list[tuple[int, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for side in sides:
            folder = Path(scratch) / str(side)
            write_grid(folder, side)
            reported.append(measure(folder))
    head = "".join(f"{count:>13,} states" for count, _ in reported)
    print(f"{'':<28}{head}  ratio of each state, largest to smallest")
    for name in reported[0][1]:
        cells = "".join(f"{times[name] * 1000:>17,.1f} ms" for _, times in reported)
        (least, first), (most, last) = reported[0], reported[-1]
        ratio = (last[name] / most) / max(first[name] / least, 1e-12)
        print(f"{name:<28}{cells}  {ratio:>6.2f}")


if __name__ == "__main__":
    main()

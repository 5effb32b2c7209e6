"""How fast the protocol core is: steps alone, and edges of a state graph.

``python benchmarks/core_steps.py [MODEL]`` builds the graph of the model (by default
MCMemberGraph2) in the user's folder of graphs if it is not there. Then it executes all its edges on
the core, and prints one table. Times are processor times; each figure is the median of five rounds.
"""

from __future__ import annotations

import sys
from pathlib import Path

from _processor_time import median_cpu, show

from canvass.cluster import core
from canvass.graph.artifact import Graph
from canvass.graph.build import cached_graph, load_model
from canvass.simulation.options import Options, swarm
from canvass.simulation.simulator import Simulator
from canvass.steps.answers import default_cache
from canvass.traces.actions import ACTIONS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.edges import Trials, find_kill

MODEL = "MCMemberGraph2"


def measure_steps(trials: Trials) -> None:
    """Measure the core alone, on every input that was tried."""
    given = [
        (core.ACTIONS[action.value], trials.states[source], trials.inputs[x])
        for action in ACTIONS
        for source, x, _, _ in trials.of(action).tolist()
    ]
    rules = trials.rules

    def take_steps() -> None:
        for handler, state, x in given:
            handler(rules, 0, state, x)

    show("core, inputs of the graph", len(given), "steps", median_cpu(take_steps))


def measure_edges(graph: Graph) -> None:
    """Measure how fast a graph is executed and compared."""
    edges = graph.manifest.counts.edges
    print(f"{graph.manifest.model}: {edges:,} edges")
    whole = median_cpu(lambda: find_kill(Trials(graph), core))
    show("graph decoded, executed and compared", edges, "edges", whole)


def measure_simulation() -> None:
    """Measure the core where it works: a cluster of three under faults."""
    options = swarm(Options(seed=7, member_count=3, revision="hardened", steps=5_000))
    steps = Simulator(options).run().steps
    show(
        "simulated cluster of three, whole steps",
        steps,
        "steps",
        median_cpu(lambda: Simulator(options).run()),
    )


def main() -> None:
    """Print the table."""
    name = sys.argv[1] if len(sys.argv) > 1 else MODEL
    graph = cached_graph(load_model(name), default_cache() / "graphs")
    trials = Trials(graph)
    measure_edges(graph)
    measure_steps(trials)
    measure_simulation()


if __name__ == "__main__":
    main()

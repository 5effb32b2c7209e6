"""Compare state graphs with the kept answers of Aeron, and write these answers.

``python -m support.java_answers MODEL CLASSPATH FILE`` executes all steps of a model's graph on the
Java classes of a release, and adds their answers to the file. It fails if an answer differs from
the answer in the file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.drivable import DrivableSteps, GraphSteps
from canvass.aeron_driver.driver import Answers, Cells, ClassPath, compile_driver
from canvass.aeron_driver.driving import (
    Outcomes,
    Steps,
    disabled_steps,
    drive,
    edge_steps,
    joined,
    without_obstacles,
)
from canvass.graph.artifact import Graph
from canvass.graph.build import cached_graph, load_model
from canvass.steps.answers import default_cache
from canvass.traces.schema import NONE
from support.kept_answers import (
    OUTCOME_BITS,
    AnswerCollector,
    KeptAnswers,
    input_keys,
    load_answers,
    merged,
    outcome_hashes,
)

OUTCOMES: Final = np.uint64(OUTCOME_BITS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of comparing the steps of a graph with kept answers.

    Attributes
    ----------
    edges, disabled
        Numbers of edges and of disabled inputs that the driver can drive.
    contradicted, unknown
        Steps that Aeron contradicts, and steps that were not driven.
    explained
        For each class of differences the number of its steps.
    """

    edges: int
    disabled: int
    confirmed: int
    contradicted: Steps
    unknown: Steps
    explained: dict[str, int]


def drivable_steps(steps: GraphSteps) -> Steps:
    """Give the edges that the driver can drive, then the disabled inputs that it can."""
    return joined(
        [without_obstacles(steps, each)[0] for each in (edge_steps(steps), disabled_steps(steps))]
    )


def outcomes_of_spec(
    steps: DrivableSteps, chosen: Steps, java: Cells | None = None, **changes: Any
) -> Outcomes:
    """Give outcomes as if Java's were those of the spec, or had the states ``java`` instead."""
    expected, sends = steps.normal_states[chosen.target], steps.sends[chosen.sent]
    after = expected if java is None else java
    never = np.zeros(len(expected), dtype=np.bool_)
    found: dict[str, Any] = {
        "steps": chosen,
        "requests": steps.requests(chosen.source, chosen.given, chosen.hidden),
        "answers": Answers(after, {}),
        "expected": expected,
        "expected_sends": sends,
        "java": after,
        "java_sends": sends,
        "state_differs": after != expected,
        "sends_differ": never,
        "threw": never,
    }
    return Outcomes(**(found | changes))


def verdict_on(graph: Graph, kept: KeptAnswers) -> Verdict:
    """Compare the edges and the disabled inputs of a graph with the answers.

    Raises
    ------
    DriverError
        If the graph is of another revision.
    """
    if graph.rules.revision != kept.header.revision:
        raise DriverError(
            f"the answers are of revision {kept.header.revision},"
            f" the graph is of {graph.rules.revision}"
        )
    steps = drivable_steps(GraphSteps(graph))
    inputs = input_keys(graph, steps)
    pairs = inputs << OUTCOMES | outcome_hashes(graph, steps)
    confirmed = np.isin(pairs, kept.answers)
    place = np.searchsorted(kept.explained, pairs)
    place[place == len(kept.explained)] = 0
    explained = ~confirmed & np.isin(pairs, kept.explained)
    known = np.isin(inputs, np.unique(kept.answers >> OUTCOMES))
    codes = kept.classes[place[explained]]
    edges = int((steps.edge != NONE).sum())
    return Verdict(
        edges=edges,
        disabled=len(steps.edge) - edges,
        confirmed=int(confirmed.sum()),
        contradicted=steps[known & ~confirmed & ~explained],
        unknown=steps[~known & ~explained],
        explained={
            name: int((codes == code).sum())
            for code, name in enumerate(kept.header.classes)
            if (codes == code).any()
        },
    )


def main(model: str, classpath: str, file: str) -> None:
    """Add the answers of a release to a file."""
    driver = compile_driver(ClassPath.parse(classpath), default_cache() / "driver")
    steps = GraphSteps(cached_graph(load_model(model), default_cache() / "graphs"))
    collector, path = AnswerCollector(steps), Path(file)
    for chosen in (edge_steps(steps), disabled_steps(steps)):
        drive(driver, steps, chosen, observer=collector)
    answers = collector.answers(driver.class_path.release)
    if path.exists():
        answers = merged([load_answers(path), answers])
    answers.save(path)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The steps of the spec equal the kept answers of Aeron's releases.

``tests/java_answers/`` holds, for each revision, the outcome of each canonical step that Aeron's
own classes took. ``support.java_answers`` writes these files (`docs/guide/drive.md`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from canvass.graph.artifact import Graph
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.graphs import graph_of
from support.java_answers import Verdict, verdict_on
from support.kept_answers import KeptAnswers, load_answers

pytestmark = pytest.mark.tlc

ANSWERS: Final = Path(__file__).parents[1] / "java_answers"
LEAST_SHARE: Final = 0.95
"""Minimum share of the drivable steps that have an answer."""
SHOWN: Final = 5
CHANGED: Final = (Action.ON_VOTE, Action.CANVASS, Action.ON_NEW_LEADERSHIP_TERM, Action.RESTART)

RELEASES: Final = {"1.49": {"1.49.5"}, "1.50": {"1.50.4", "1.52.2", "1.53.0-SNAPSHOT"}}
"""The releases that gave the answers of each revision."""


def answers_of(revision: str) -> KeptAnswers:
    return load_answers(ANSWERS / f"{revision}.answers")


def described(graph: Graph, verdict: Verdict) -> str:
    wrong = verdict.contradicted
    counts = np.bincount(graph.input_action[wrong.given], minlength=len(ACTIONS))
    by_action = ", ".join(
        f"{action.value} {count}"
        for action, count in zip(ACTIONS, counts.tolist(), strict=True)
        if count
    )
    steps = [
        str(graph.step(edge)) if edge != NONE else f"{graph.given(given)}: {graph.member(source)}"
        for edge, given, source in zip(
            *(each[:SHOWN].tolist() for each in (wrong.edge, wrong.given, wrong.source)),
            strict=True,
        )
    ]
    title = (
        f"{graph.manifest.model}: Aeron does otherwise in {len(wrong.edge)} steps"
        f" ({by_action}); canvass drive --disabled shows how"
    )
    return "\n".join([title, *steps])


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("MCMemberGraph1", -1),
        ("MCMemberGraph2", 1),
        ("MCMemberGraph3", 0),
        pytest.param("MCMemberGraph3", 1, marks=pytest.mark.night),
        ("MCMemberGraph3Rev149", 0),
        pytest.param("MCMemberGraph3Rev149", 1, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3Terms", 0, marks=pytest.mark.night),
        pytest.param("MCMemberGraph3TermsRev149", 0, marks=pytest.mark.night),
        pytest.param("MCMemberGraph5", 0, marks=pytest.mark.night),
    ],
)
def test_every_step_equals_the_kept_answer(
    pytestconfig: pytest.Config, executed: list[str], model: str, steps: int
) -> None:
    graph = graph_of(pytestconfig, model, steps)

    verdict = verdict_on(graph, answers_of(graph.rules.revision))
    explained = sum(verdict.explained.values())
    executed.append(
        f"{model}, {steps} steps, on Aeron: {verdict.edges:,} edges and {verdict.disabled:,}"
        f" disabled inputs, {verdict.confirmed:,} confirmed, {explained:,} explained,"
        f" {len(verdict.unknown.edge):,} without an answer"
    )

    assert not len(verdict.contradicted.edge), described(graph, verdict)
    assert (verdict.confirmed + explained) / (verdict.edges + verdict.disabled) >= LEAST_SHARE
    assert not (verdict.unknown.edge == NONE).any()


def test_the_answer_files_name_their_releases() -> None:
    for revision, releases in RELEASES.items():
        header = answers_of(revision).header

        assert header.revision == revision
        assert {source.release for source in header.sources} == releases


def test_an_edge_with_another_state_is_contradicted(pytestconfig: pytest.Config) -> None:
    """As after a change of the spec: an edge leads to the state of another edge."""
    graph = graph_of(pytestconfig, "MCMemberGraph2", 1)
    answers = answers_of("1.50")
    before = len(verdict_on(graph, answers).contradicted.edge)
    moves = (graph.target != NONE) & (graph.target != graph.source)
    changed = np.concatenate(
        [
            np.flatnonzero((graph.input_action[graph.input] == ACTIONS.index(action)) & moves)[:3]
            for action in CHANGED
        ]
    )
    target = graph.target.copy()
    target[changed] = graph.source[changed]

    verdict = verdict_on(replace(graph, target=target), answers)

    assert len(changed) == 3 * len(CHANGED)
    assert set(changed.tolist()) <= set(verdict.contradicted.edge.tolist())
    assert len(verdict.contradicted.edge) == before + len(changed)

"""Kept answers of Aeron: written, read, merged, and compared with a graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.drivable import GraphSteps
from canvass.graph.artifact import Graph, keys_of_edges
from canvass.traces.schema import NONE
from support.graphs import graph_of
from support.java_answers import drivable_steps, outcomes_of_spec, verdict_on
from support.kept_answers import (
    OUTCOME_BITS,
    SCHEMA,
    AnswerCollector,
    Header,
    KeptAnswers,
    Keys,
    Source,
    input_keys,
    load_answers,
    merged,
    outcome_hashes,
)

pytestmark = pytest.mark.tlc

SHIFT = np.uint64(OUTCOME_BITS)
CLASS = "a class"


@pytest.fixture(scope="module")
def graph(pytestconfig: pytest.Config) -> Graph:
    return graph_of(pytestconfig, "MCMemberGraph1")


def pairs_of(graph: Graph) -> Keys:
    steps = drivable_steps(GraphSteps(graph))
    pairs: Keys = np.unique(input_keys(graph, steps) << SHIFT | outcome_hashes(graph, steps))
    return pairs


def kept(answers: Keys, explained: Keys | None = None, release: str = "1.52.2") -> KeptAnswers:
    rest = np.zeros(0, dtype=np.uint64) if explained is None else explained
    classes = [CLASS] if len(rest) else []
    source = Source(release, "MCMemberGraph1", len(answers), 0)
    header = Header(SCHEMA, "1.50", [source], len(answers), len(rest), classes)
    return KeptAnswers(header, answers, rest, np.zeros(len(rest), dtype=np.uint8))


def test_a_graph_that_equals_the_answers_is_confirmed(graph: Graph) -> None:
    verdict = verdict_on(graph, kept(pairs_of(graph)))

    assert verdict.edges > 2_000
    assert verdict.disabled > 0
    assert verdict.confirmed == verdict.edges + verdict.disabled
    assert not len(verdict.contradicted.source)
    assert not len(verdict.unknown.source)


def test_another_outcome_is_contradicted_and_a_reviewed_outcome_is_explained(
    graph: Graph,
) -> None:
    pairs = pairs_of(graph)
    other = np.sort(np.concatenate([pairs[1:], [pairs[0] ^ np.uint64(3)]]))

    contradicted = verdict_on(graph, kept(other))
    explained = verdict_on(graph, kept(other, pairs[:1]))

    steps = contradicted.edges + contradicted.disabled
    assert len(contradicted.contradicted.source) == steps - contradicted.confirmed > 0
    assert not len(explained.contradicted.source)
    assert explained.explained == {CLASS: len(contradicted.contradicted.source)}


def test_a_step_without_an_answer_is_unknown(graph: Graph) -> None:
    verdict = verdict_on(graph, kept(pairs_of(graph)[10:]))

    assert 0 < len(verdict.unknown.source) == verdict.edges + verdict.disabled - verdict.confirmed


def test_an_enabled_input_without_an_outcome_in_aeron_is_contradicted(graph: Graph) -> None:
    """As after a change of the spec: the input has the outcome of another input of its action."""
    answers = kept(pairs_of(graph))
    steps = drivable_steps(GraphSteps(graph))
    action = graph.input_action[steps.given]
    row, edge = next(
        (int(row), int(edge))
        for row in np.flatnonzero(steps.edge == NONE)
        for edge in steps.edge[
            (action == action[row]) & (steps.source == steps.source[row]) & (steps.edge != NONE)
        ]
        if graph.target[edge] != steps.target[row]
    )
    changed = replace(
        graph,
        source=np.append(graph.source, steps.source[row]),
        input=np.append(graph.input, steps.given[row]),
        target=np.append(graph.target, graph.target[edge]),
        sent=np.append(graph.sent, graph.sent[edge]),
    )

    assert verdict_on(changed, answers).contradicted.edge.tolist() == [len(graph.target)]


def test_edges_of_one_answer_are_one_canonical_step(graph: Graph) -> None:
    steps = drivable_steps(GraphSteps(graph))
    steps = steps[steps.edge != NONE]
    edges = steps.edge
    pairs = input_keys(graph, steps) << SHIFT | outcome_hashes(graph, steps)
    keys = keys_of_edges(graph, edges)
    both = np.unique(np.column_stack([pairs, keys]), axis=0)

    assert len(both) == len(np.unique(pairs)) < len(edges)


def test_written_answers_are_read_back(graph: Graph, tmp_path: Path) -> None:
    answers = kept(pairs_of(graph), pairs_of(graph)[:3])
    answers.save(tmp_path / "answers")
    read = load_answers(tmp_path / "answers")

    assert read.header == answers.header
    assert read.answers.tolist() == answers.answers.tolist()
    assert read.explained.tolist() == answers.explained.tolist()
    assert read.classes.tolist() == [0, 0, 0]


def test_a_damaged_file_is_named_in_one_line(tmp_path: Path, graph: Graph) -> None:
    path = tmp_path / "answers"
    kept(pairs_of(graph)).save(path)
    whole = path.read_bytes()
    for content in (b"", b"{}\n", whole[:-9], whole.replace(SCHEMA.encode(), b"other")):
        path.write_bytes(content)
        with pytest.raises(DriverError, match="no kept answers of Aeron") as raised:
            load_answers(path)
        assert "\n" not in str(raised.value)
    with pytest.raises(DriverError, match="No such file"):
        load_answers(tmp_path / "gone")


def test_equal_answers_of_releases_are_merged(graph: Graph) -> None:
    pairs = pairs_of(graph)
    both = merged([kept(pairs[:40]), kept(pairs[20:], release="1.53.0")])

    assert both.answers.tolist() == pairs.tolist()
    assert [source.release for source in both.header.sources] == ["1.52.2", "1.53.0"]


def test_releases_that_disagree_are_refused(graph: Graph) -> None:
    pairs = pairs_of(graph)
    other = np.sort(np.concatenate([pairs[1:], [pairs[0] ^ np.uint64(3)]]))

    with pytest.raises(DriverError, match=r"Aeron 1\.53\.0 answers 1 steps otherwise"):
        merged([kept(pairs), kept(other, release="1.53.0")])


def test_answers_of_another_revision_are_refused(graph: Graph) -> None:
    answers = kept(pairs_of(graph))
    older = replace(answers, header=msgspec.structs.replace(answers.header, revision="1.49"))

    with pytest.raises(DriverError, match=r"the answers are of revision 1\.49"):
        verdict_on(graph, older)
    with pytest.raises(DriverError, match=r"revisions 1\.49 and 1\.50 are kept apart"):
        merged([answers, older])


def test_a_drive_with_equal_outcomes_keeps_the_steps_of_the_graph(graph: Graph) -> None:
    steps = GraphSteps(graph)
    chosen = drivable_steps(steps)
    collector = AnswerCollector(steps)

    collector(outcomes_of_spec(steps, chosen))
    made = collector.answers("1.52.2")

    assert made.answers.tolist() == pairs_of(graph).tolist()
    assert made.header.sources[0].edges + made.header.sources[0].disabled == len(chosen.edge)
    assert not made.classes.size


def test_a_different_outcome_of_aeron_is_kept_beside_the_outcome_of_the_spec(graph: Graph) -> None:
    """Aeron leaves the state unchanged in the first step that changes it."""
    steps = GraphSteps(graph)
    chosen = drivable_steps(steps)
    changes = np.flatnonzero((chosen.target != chosen.source) & (chosen.sent == 0))[:1]
    one = chosen[changes]
    collector = AnswerCollector(steps)

    collector(outcomes_of_spec(steps, one, java=steps.normal_states[one.source]))

    spec = input_keys(graph, one) << SHIFT | outcome_hashes(graph, one)
    (kept_pair,) = collector.answers("1.52.2").answers
    assert kept_pair >> SHIFT == spec[0] >> SHIFT
    assert kept_pair != spec[0]

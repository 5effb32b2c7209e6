"""Steps that travel as questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canvass.conformance.step_checker import Example
from canvass.conformance.verify import read_and_check
from canvass.corpus.rows import to_example, to_question
from canvass.steps.answers import Answers
from support.corpora import record_runs


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    root = record_runs(tmp_path_factory.mktemp("corpus") / "runs", 3, 200)
    return list(read_and_check(sorted(root.iterdir()), Answers()).open_steps.values())


def test_a_question_is_the_step_it_was_made_of(examples: list[Example]) -> None:
    assert len(examples) > 50
    assert [to_example(to_question(example)[1]) for example in examples] == examples


def test_equal_steps_are_equal_questions(examples: list[Example]) -> None:
    questions = [to_question(example) for example in examples]

    assert questions == [to_question(to_example(question)) for _, question in questions]
    contents = {to_question(replace(example, key=(0, 0)))[1] for example in examples}
    assert len({key for key, _ in questions}) == len(contents)

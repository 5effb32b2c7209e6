"""`check` is a function from events and answers to findings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.conformance.check import check
from canvass.conformance.findings import Findings, RunVerdict, from_question
from canvass.conformance.verify import decide
from canvass.steps.answers import REFUSED, Answers, KeyTable
from canvass.steps.step import key_rows
from canvass.traces.parquet import DatasetFile, RunEntry, write_dataset
from canvass.traces.run import Corpus
from support import corruptions
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup
from support.corruptions import corrupted
from support.examples import examples

CHANGES = [
    corruptions.commit_too_far,
    corruptions.untouched_field,
    corruptions.message_from_nowhere,
    corruptions.checksum_forged,
    corruptions.event_dropped_unseen,
]
LOOKUP = core_lookup()


@pytest.fixture(scope="module")
def runs(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good run and five corrupted ones."""
    root = tmp_path_factory.mktemp("runs")
    for number, change in enumerate(CHANGES):
        folder = corrupted(good_run, root / f"bad-{number}", change)
        document = folder / "run.json"
        document.write_text(document.read_text().replace('"good"', f'"bad-{number}"'))
    shutil.copytree(good_run, root / "good")
    return root


class Set(NamedTuple):
    table: Any
    entries: Mapping[str, RunEntry]

    def check(self, answers: Answers) -> Findings:
        return check(self.table, answers, self.entries)


@pytest.fixture(scope="module")
def data(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Set:
    """The same runs as a table."""
    folder = tmp_path_factory.mktemp("set")
    write_dataset(Corpus(runs), folder)
    (path,) = folder.iterdir()
    with DatasetFile(path) as file:
        return Set(pa.concat_tables([*file.tables()]), file.runs)


def without_path(found: Sequence[RunVerdict]) -> dict[str, Any]:
    return {run.run_id: (run.verdict, run.divergences, run.facts, run.unchecked) for run in found}


def verdicts(findings: Findings) -> dict[str, Any]:
    return without_path([found.verdict for found in findings.runs])


def test_the_findings_are_the_verdicts_of_the_command(runs: Path, data: Set) -> None:
    expected = check_corpus([runs], LOOKUP).runs

    findings = decide(data.check, LOOKUP)

    found = verdicts(findings)
    for run_id, (verdict, divergences, facts, unchecked) in without_path(expected).items():
        assert found[run_id][:2] == (verdict, divergences)
        assert found[run_id][3] == unchecked
        assert [fact.kind for fact in found[run_id][2]] == [fact.kind for fact in facts]
    assert len({verdict.value for verdict, *_ in found.values()}) > 1


@examples(10)
@given(drawn=st.data())
def test_the_sizes_of_batches_do_not_matter(data: Set, drawn: st.DataObject) -> None:
    sizes = drawn.draw(st.lists(st.integers(150, 3000), min_size=1, max_size=8))

    def batches() -> Iterator[Any]:
        start = number = 0
        while start < len(data.table):
            size = sizes[number % len(sizes)]
            yield from data.table.slice(start, size).combine_chunks().to_batches()
            start, number = start + size, number + 1

    answers = LOOKUP.answers
    assert verdicts(check(batches(), answers, data.entries)) == verdicts(data.check(answers))


def test_without_answers_each_step_is_open_and_the_next_call_decides(data: Set) -> None:
    first = data.check(Answers())
    tables = first.tables()
    keys = key_rows(tables.open_steps["key"].to_pylist())
    steps = [from_question(each) for each in tables.open_steps["question"].to_pylist()]
    assert {step.key for step in steps} == first.open_steps.keys()
    assert all(found.open_steps for found in first.runs)
    codes = core_lookup().ask_oracle(steps)
    assert (codes == REFUSED).any()

    second = data.check(Answers(known=KeyTable.build(keys, codes.astype(np.int64))))

    assert not second.open_steps
    assert verdicts(second) == verdicts(decide(data.check, LOOKUP))


def test_a_run_that_is_no_trace_is_malformed_and_the_others_are_checked(data: Set) -> None:
    place = data.table.column_names.index("action")
    names = data.table["action"].to_pylist()
    row = data.table["run"].to_pylist().index("bad-2")
    names[row] = "NoSuchAction"
    wrong = data.table.set_column(place, "action", pa.array(names))

    findings = check(wrong, LOOKUP.answers, data.entries)

    expected = verdicts(data.check(LOOKUP.answers))
    found = verdicts(findings)
    assert found.pop("bad-2")[0] == "MALFORMED"
    expected.pop("bad-2")
    assert found == expected


def test_rows_out_of_order_are_malformed(data: Set) -> None:
    again = pa.concat_tables([data.table, data.table.slice(0, 10)])
    first = data.table["run"][0].as_py()

    findings = check(again, LOOKUP.answers, data.entries)

    reasons = {each.verdict.run_id: each.verdict.reason for each in findings.runs}
    assert reasons[first].endswith(": the rows are not in the order of run, member and step")

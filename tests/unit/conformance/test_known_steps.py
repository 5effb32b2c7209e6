"""Known steps: what ships with canvass, and what is read."""

from __future__ import annotations

import dataclasses
import lzma
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import Verdict
from canvass.conformance.verify import check_units, make_lookup, read_and_check
from canvass.graph import GraphError
from canvass.graph.artifact import Counts, GraphRules, Manifest
from canvass.graph.folders import write_manifest
from canvass.selftest.runs import record_run
from canvass.spec.files import module_digest, spec_root
from canvass.steps import action_fields
from canvass.steps.answers import (
    ALLOWED,
    IN_TABLE,
    RULE_MODULES,
    UNKNOWN,
    Answers,
    KeyTable,
    StepLookup,
    shipped_answers,
    spec_digest,
)
from canvass.steps.step import Question, Step, key_rows, question_of
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup

CAPTURED = Path(__file__).parents[2] / "captures" / "steps.msgpack.xz"
"""Distinct steps of captured clusters; see the README there."""


def test_the_steps_that_ship_are_those_of_this_spec() -> None:
    table = shipped_answers(spec_digest())

    assert len(table) > 20_000, "the spec's rules have changed: make known-steps"
    assert set(table.edges.tolist()) == {ALLOWED}


def test_answers_of_another_canonical_form_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key says only what the form keeps: another form has other steps under it."""
    before, tables = spec_digest(), action_fields.tables()
    lookups = tables.lookups.copy()
    lookups[0] ^= 1

    monkeypatch.setattr(action_fields, "tables", lambda: tables._replace(lookups=lookups))

    assert spec_digest() != before


@pytest.mark.parametrize("changed", ["modules", "form", "no form"])
def test_a_graph_of_another_spec_or_form_is_not_looked_in(tmp_path: Path, changed: str) -> None:
    form = {"form": "0" * 64, "no form": None}.get(changed, action_fields.form_digest())
    modules = {f"{name}.tla": module_digest(spec_root() / f"{name}.tla") for name in RULE_MODULES}
    other = "0" * 64
    manifest = Manifest(
        model="MCMemberGraph3",
        rules=GraphRules.of(Rules.of("1.50", 3)),
        constants={},
        complete=True,
        tlc_version="2.15",
        jar_sha256=other,
        config_sha256=other,
        modules=modules | ({"Member.tla": other} if changed == "modules" else {}),
        counts=Counts(0, 0, 0, 0, 0, 0, 0, {}),
        files={},
        form_sha256=form,
    )
    write_manifest(tmp_path, manifest)

    with pytest.raises(GraphError, match="build it again"):
        make_lookup([tmp_path], None)


def test_verification_knows_the_steps_that_ship_unless_no_answers_are_to_be_used(
    tmp_path: Path,
) -> None:
    keys = shipped_answers(spec_digest()).keys[:100]

    assert set(make_lookup([], tmp_path).answers.look_up(keys).tolist()) == {IN_TABLE}
    assert set(make_lookup([], tmp_path, keep=False).answers.look_up(keys).tolist()) == {UNKNOWN}


def distinct_steps(run: Path) -> list[Question]:
    """The distinct canonical steps of a run."""
    return list(read_and_check([run], Answers()).open_steps.values())


def table_of(steps: Sequence[Question]) -> KeyTable:
    keys = key_rows(step.key for step in steps)
    return KeyTable.build(keys, np.ones(len(keys), dtype=np.int64))


def test_a_run_of_known_steps_is_checked_without_an_oracle(tmp_path: Path) -> None:
    run = tmp_path / "run"
    record_run(run, Rules(3), 1, 200, faults=0.05, run_id="run")
    steps = distinct_steps(run)

    def fails(_: Rules, steps: Sequence[Step]) -> list[bool]:
        raise AssertionError(f"asked about {len(steps)} steps")

    found = check_corpus([run], StepLookup(fails, answers=Answers((table_of(steps),))))

    assert found.runs[0].verdict is Verdict.CONFORMS
    assert found.counts.found_in_table == found.counts.distinct_steps == len(steps)
    with pytest.raises(AssertionError, match="asked about 1 steps"):
        check_corpus([run], StepLookup(fails, answers=Answers((table_of(steps[1:]),))))


def test_each_distinct_step_of_several_runs_counts_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        record_run(tmp_path / name, Rules(3), 1, 100, faults=0.05, run_id=name)
    steps = distinct_steps(tmp_path / "a")
    half = table_of(steps[::2])
    lookup = dataclasses.replace(core_lookup(), answers=Answers((half,)))
    units = [tmp_path / "a", tmp_path / "b"]

    first = check_units(units, lookup).counts
    again = check_units(units, lookup).counts

    asked = len(steps) - len(half)
    assert first.distinct_steps == again.distinct_steps == len(steps)
    assert (first.found_in_table, first.found_in_cache) == (len(half), 0)
    assert (again.found_in_table, again.found_in_cache) == (len(half), asked)
    assert (first.asked_of_oracle, again.asked_of_oracle) == (asked, 0)


def test_the_steps_of_captured_clusters_are_among_those_that_ship() -> None:
    table = shipped_answers(spec_digest())
    taken = msgspec.msgpack.decode(
        lzma.decompress(CAPTURED.read_bytes()), type=dict[str, list[Step]]
    )
    for name, found in taken.items():
        revision, count = name.split("-")
        some = found[::20]
        forms = [question_of(step, Rules(int(count), revision)) for step in some]
        keys = key_rows(each.key for each in forms if isinstance(each, Question))

        assert len(keys) == len(some) > 10
        assert (table.lookup(keys) >= 0).all()

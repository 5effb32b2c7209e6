"""The steps of recorded runs: the driven ones, and their report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from canvass.aeron_driver import DriverError, driving
from canvass.aeron_driver.drivable import DrivableSteps
from canvass.aeron_driver.driver import OK, Answers, Cells
from canvass.aeron_driver.run_steps import Collected, as_driven, collect, drive_runs, table_of
from canvass.cli.main import run
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import load
from canvass.conformance.run_arrays import steps_of
from canvass.selftest.runs import record_run
from canvass.steps.kernel import Status, canonical_keys
from canvass.steps.step import Step, input_of, step_of
from canvass.traces.actions import ACTIONS
from canvass.traces.columns import member_of, message_of
from canvass.traces.run import RunFolder
from canvass.traces.schema import MESSAGE_INDEX
from support.random_steps import key_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("driven") / "run"
    record_run(path, Rules.of("1.50"), 3, 400, faults=0.2, run_id="driven")
    return path


@pytest.fixture(scope="module")
def found(folder: Path) -> Collected:
    return collect([folder])


def recorded_steps(folder: Path) -> Iterator[tuple[Step, Rules]]:
    run = RunFolder(folder)
    for columns in run.columns():
        steps = steps_of(columns, [run.run])
        _, status = canonical_keys(steps, [run.run.rules])
        for row in np.flatnonzero(status == Status.KEYED).tolist():
            yield step_of(steps, row), run.run.rules


def test_a_driven_step_differs_from_the_recorded_step_only_in_names(folder: Path) -> None:
    seen = 0
    for step, rules in recorded_steps(folder):
        driven = as_driven(step)
        assert driven.member == 0
        assert key_of(driven, rules) == key_of(step, rules)
        seen += step.member != 0
    assert seen > 100


def test_no_field_of_the_recorded_state_is_erased(folder: Path) -> None:
    for step, _ in recorded_steps(folder):
        driven = as_driven(step)
        assert driven.before.election_state is step.before.election_state
        assert len(driven.before.recording_log) == len(step.before.recording_log)
        assert driven.before.members[0].vote == step.before.members[step.member].vote


def test_each_canonical_step_is_driven_once(folder: Path, found: Collected) -> None:
    keys = {key_of(step, rules) for step, rules in recorded_steps(folder)}
    ((rules, distinct),) = found.by_rules.items()

    assert found.recorded == sum(len(events) for events in RunFolder(folder).load().events.values())
    assert len(distinct) == len(keys)
    assert {key_of(step, rules) for step in distinct} == keys


def test_the_table_holds_the_steps(found: Collected) -> None:
    ((rules, distinct),) = found.by_rules.items()
    table = table_of(rules, list(distinct))

    def state(row: int) -> Any:
        log = table.log[table.log_offsets[row] : table.log_offsets[row + 1]]
        return member_of(table.state[row].tolist(), table.members[row].tolist(), log.tolist())

    def message(cells: Any) -> Any:
        return message_of(cells.tolist())

    for row, step in enumerate(distinct):
        given, sent = int(table.input[row]), int(table.sent[row])
        sends = table.sends[table.send_offsets[sent] : table.send_offsets[sent + 1]]
        read = Step(
            0,
            state(int(table.source[row])),
            ACTIONS[int(table.input_action[given])],
            input_of(table.inputs[given], table.message[given]),
            state(int(table.target[row])),
            tuple((int(cells[MESSAGE_INDEX["peer"]]), message(cells)) for cells in sends),
        )
        assert read == step


def answering(monkeypatch: pytest.MonkeyPatch, found: Collected, *, wrong: int = -1) -> None:
    """Answer with the outcomes of the spec, except the commit position of one step."""
    ((rules, distinct),) = found.by_rules.items()
    steps = DrivableSteps(table_of(rules, list(distinct)))
    by_request = {
        steps.requests(np.array([2 * row]), np.array([row])).tobytes(): row
        for row in range(len(distinct))
    }

    def ask(batch: Cells) -> Answers:
        rows = [by_request[request.tobytes()] for request in batch]
        cells = np.zeros((len(rows), steps.layout.answer_width), dtype=np.int32)
        cells[:, 0] = OK
        end = 1 + steps.layout.state_width
        cells[:, 1:end] = steps.normal_states[steps.graph.target[rows]]
        cells[:, end:] = steps.sends[steps.graph.sent[rows]]
        if wrong in rows:
            cells[rows.index(wrong), 1] += 7
        return Answers(cells, {})

    monkeypatch.setattr(driving, "started", lambda _driver, _layout: nullcontext(ask))


DRIVER: Any = SimpleNamespace(class_path=SimpleNamespace(release="1.52.2", revision="1.50"))


def test_steps_with_the_recorded_outcome_are_equal(
    found: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, found)
    report = drive_runs(DRIVER, found)

    (part,) = report.parts
    assert report.is_expected
    assert part.steps.equal == part.steps.driven > 50
    assert part.steps.tried == len(next(iter(found.by_rules.values())))


def test_a_difference_names_the_event(
    folder: Path, found: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, found, wrong=20)
    report = drive_runs(DRIVER, found)

    (group,) = report.parts[0].steps.groups
    place, _, event = group.example.event.partition(" event ")
    file, _, line = place.rpartition(":")
    member, _, step = event.partition(":")
    assert not report.is_expected
    assert Path(file) == RunFolder(folder).streams[int(member)]
    assert int(line) == int(step) + 1
    recorded = load(folder, "driven")
    action = ACTIONS[int(recorded.columns.action[recorded.row_of(int(member), int(step))])]
    assert action.value == group.action


def test_a_hardened_run_is_refused(tmp_path: Path) -> None:
    record_run(tmp_path / "run", Rules.of("hardened"), 0, 50, faults=0.0, run_id="hard")

    with pytest.raises(DriverError, match="run hard is hardened"):
        collect([tmp_path / "run"])


def test_events_after_a_gap_are_counted(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for path in folder.iterdir():
        lines = path.read_bytes().splitlines(keepends=True)
        if path.name == "member-1.ndjson":
            del lines[5:9]
        (copy / path.name).write_bytes(b"".join(lines))

    assert sum(collect([copy]).undrivable.values()) == 1


@pytest.mark.parametrize("words", [[], ["MCMemberGraph1", "--trace", "x"]])
def test_a_graph_or_runs_are_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", *words, "--classpath", "x"]) == 2
    assert "name a graph or model, or runs with --trace" in capsys.readouterr().err


def test_a_path_without_a_trace_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["drive", "--trace", str(tmp_path / "no"), "--classpath", "x"]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err

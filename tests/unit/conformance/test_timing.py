"""The timing monitor: silent of runs with true times, and what it says if times are made false."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from canvass.conformance.findings import RunVerdict, TimingRule, Verdict
from canvass.conformance.verify import check_units
from canvass.selftest.simulation_series import record_run
from canvass.simulation.options import Options, swarm
from canvass.traces.alignment.importer import import_logs
from canvass.traces.run import RunFolder
from canvass.traces.streams import StreamFile
from canvass.traces.timeouts import (
    ELECTION,
    HEARTBEAT_TIMEOUT,
    STARTUP_CANVASS,
    beside,
    note_timeouts,
    timeouts_of,
)
from support import core_lookup
from support.aeron_runs import lines_of, write_logs

_S = 1_000_000_000
Event = dict[str, Any]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    options = swarm(Options(member_count=3, seed=1, steps=1_500, revision="1.50"))
    record_run(options, folder)
    return next(folder.iterdir())


CHECKER: Final = core_lookup.core_lookup()
"""One lookup for all tests here: it remembers its answers."""


def timed(path: Path, **given: int) -> RunVerdict:
    """The verdict on a run with its times; ``given`` are timeouts instead of its own."""
    if given:
        own = path.with_name(f"{path.name}-timeouts")
        shutil.copytree(path, own, dirs_exist_ok=True)
        path, names = own, {"heartbeat": HEARTBEAT_TIMEOUT, "canvass": STARTUP_CANVASS}
        named = {names.get(name, ELECTION): value_ns for name, value_ns in given.items()}
        note_timeouts(path / "run.json", timeouts_of(RunFolder(path).run) | named)
    return check_units([path], CHECKER, timed=True).runs[0]


def changed(path: Path, out: Path, change: Callable[[int, list[Event]], None]) -> Path:
    """A copy of a run whose streams a function has changed."""
    out.mkdir()
    run = RunFolder(path)
    (out / "run.json").write_bytes((path / "run.json").read_bytes())
    for member, file in run.streams.items():
        events = [json.loads(line) for line in _lines(file)]
        change(member, events)
        (out / f"member-{member}.ndjson").write_text(
            "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
        )
    return out


def _lines(file: Path) -> list[bytes]:
    with StreamFile(file) as source:
        parts = []
        while part := source.read(1 << 20):
            parts.append(bytes(part))
    return b"".join(parts).splitlines()


def _rules(verdict: RunVerdict) -> set[TimingRule]:
    return {warning.rule for warning in verdict.timing}


def _first(events: list[Event], action: str, **given: Any) -> int:
    return next(
        k
        for k, event in enumerate(events)
        if event["action"] == action
        and all(event["input"].get(name) == value for name, value in given.items())
        and k > 0
        and event["state"]["electionState"] != events[k - 1]["state"]["electionState"]
    )


def test_a_simulated_run_has_no_warning(simulated: Path) -> None:
    verdict = timed(simulated)

    assert verdict.verdict is Verdict.CONFORMS
    assert not verdict.timing
    assert {choice.name for choice in verdict.choices} >= {"timeouts", "active sets"}
    assert all(not choice.inferred for choice in verdict.choices)


def test_a_ballot_that_ends_too_early_is_warned_of(simulated: Path, tmp_path: Path) -> None:
    """All later times of the member are shifted: only this one distance shrinks."""

    def hurry(_: int, events: list[Event]) -> None:
        try:
            at = _first(events, "CandidateBallot", timeout=True)
        except StopIteration:
            return
        entered = next(
            k
            for k in range(at, 0, -1)
            if events[k]["state"]["electionState"] != events[k - 1]["state"]["electionState"]
            and events[k]["state"]["electionState"] == "CANDIDATE_BALLOT"
        )
        shift = (events[at]["timeNs"] - events[entered]["timeNs"]) * 2 // 3
        for event in events[at:]:
            event["timeNs"] -= shift

    verdict = timed(changed(simulated, tmp_path / "run", hurry))

    assert verdict.verdict is Verdict.CONFORMS
    assert TimingRule.EARLY_TIMEOUT in _rules(verdict)
    early = next(one for one in verdict.timing if one.rule is TimingRule.EARLY_TIMEOUT)
    assert (early.setting, early.action) == (ELECTION, "CandidateBallot")
    assert "after the ballot began" in early.text


def test_a_timeout_that_is_none_makes_the_run_malformed(simulated: Path, tmp_path: Path) -> None:
    copy = changed(simulated, tmp_path / "run", lambda _, __: None)
    run = json.loads((copy / "run.json").read_bytes())
    run["source"]["timeouts"][ELECTION] = "soon"
    (copy / "run.json").write_text(json.dumps(run))

    verdict = timed(copy)
    assert verdict.verdict is Verdict.MALFORMED
    assert "'soon' is not a duration" in verdict.reason


# --- imported runs --------------------------------------------------------------------------------

SAMPLE: Final = Path(__file__).parents[3] / "samples" / "aeron" / "b-leader-killed"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("imported") / "run"
    import_logs([SAMPLE], out)
    note_timeouts(out / "run.json", beside(SAMPLE))
    return out


def test_a_captured_cluster_has_no_warning(imported: Path) -> None:
    verdict = timed(imported)

    assert verdict.verdict is Verdict.CONFORMS
    assert not verdict.timing
    choices = {choice.name: choice for choice in verdict.choices}
    assert choices["active sets"].inferred > 100
    assert choices["timeouts"].shown


def test_streams_without_their_first_steps_have_no_warning_of_what_was_before(
    imported: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(imported, tmp_path / "run")
    for stream in copy.glob("member-*.ndjson"):
        lines = stream.read_text().splitlines(keepends=True)
        stream.write_text("".join(lines[120:]))

    assert [warning.text for warning in timed(copy).timing] == []


def test_defaults_that_the_cluster_did_not_have_are_seen(imported: Path, tmp_path: Path) -> None:
    """The captured cluster has a heartbeat timeout of 2 s, Aeron's default is 10 s."""
    verdict = timed(imported, heartbeat=10 * _S)

    assert verdict.verdict is Verdict.CONFORMS
    heard = next(one for one in verdict.timing if one.rule is TimingRule.LEADER_HEARD)
    assert (heard.action, heard.timeout_ns) == ("EnterElection", 10 * _S)
    assert "after it last heard its leader" in heard.text


def test_an_inferred_canvass_is_not_compared(tmp_path: Path) -> None:
    """No line shows whether a member that left a canvass had heard all others."""
    disabled = (" CANVASS_POSITION ", " APPEND_POSITION ", " COMMIT_POSITION ")
    logs = {
        i: [line for line in lines_of(SAMPLE, i) if not any(event in line for event in disabled)]
        for i in range(3)
    }
    import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
    verdict = timed(tmp_path / "run", canvass=3_600 * _S, heartbeat=3_600 * _S)

    assert verdict.verdict is Verdict.CONFORMS
    assert next(choice.inferred for choice in verdict.choices if choice.name == "timeouts")
    assert not [one for one in verdict.timing if one.action == "Canvass"]


def test_no_timeout_is_assumed(imported: Path, tmp_path: Path) -> None:
    """A run that names one timeout is compared with that one alone."""
    copy = shutil.copytree(imported, tmp_path / "run")
    run = json.loads((copy / "run.json").read_bytes())
    del run["source"]["timeouts"]
    (copy / "run.json").write_text(json.dumps(run))

    assert timed(copy).timing == ()
    assert {one.setting for one in timed(copy, heartbeat=10 * _S).timing} == {HEARTBEAT_TIMEOUT}


def test_a_step_may_have_read_its_clock_since_the_line_before(
    imported: Path, tmp_path: Path
) -> None:
    """A ballot that seems short is possible if the line before it is old: the member had paused."""

    def pause(_: int, events: list[Event]) -> None:
        for at, event in enumerate(events):
            entered = event["state"]["electionState"] == "CANDIDATE_BALLOT"
            if event["action"] == "Nominate" and entered:
                shift = 5 * _S
                for later in events[at:]:
                    later["timeNs"] += shift

    assert not timed(changed(imported, tmp_path / "run", pause)).timing


def test_a_cycle_reads_its_clock_before_the_messages_that_it_takes(
    imported: Path, tmp_path: Path
) -> None:
    """A ballot runs from the start of the cycle that begins it, however long the cycle takes."""
    delayed = []

    def delay(member: int, events: list[Event]) -> None:
        for at, event in enumerate(events):
            entered = event["state"]["electionState"] == "CANDIDATE_BALLOT"
            if event["action"] != "Nominate" or not entered:
                continue
            lines = [k for k in range(at) if events[k].get("source")]
            if events[lines[-1]]["input"].get("message"):
                delayed.append(member)
                for later in events[lines[-1] :]:
                    later["timeNs"] = max(later["timeNs"], event["timeNs"] + _S // 2)

    verdict = timed(changed(imported, tmp_path / "run", delay))

    assert delayed
    assert not verdict.timing


def test_an_error_before_its_timeout_is_warned_of(tmp_path: Path) -> None:
    """Simulated errors come at any time: as an imported run they claim to be timeouts."""
    record_run(swarm(Options(member_count=3, seed=6, steps=600, revision="1.50")), tmp_path)
    (failing,) = tmp_path.iterdir()

    def claim(member: int, events: list[Event]) -> None:
        for event in events:
            event["source"] = {"file": f"member-{member}.log", "lines": [1], "observed": []}
            if event["action"] == "ElectionError":
                event["source"]["reason"] = "WARN - failed to join live log"

    copy = changed(failing, tmp_path / "run", claim)
    run = json.loads((copy / "run.json").read_bytes())
    run["source"]["kind"] = "aeron-log"
    (copy / "run.json").write_text(json.dumps(run))

    verdict = timed(copy)
    early = next(one for one in verdict.timing if one.rule is TimingRule.EARLY_ERROR)
    assert early.action == "ElectionError"
    assert early.text.startswith("WARN - failed to join live log: ")

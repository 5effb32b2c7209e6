"""Simulated runs: what holds for every seed, and what the watch must catch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from canvass.cluster.core import ACTIONS, step
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.selftest.simulation_series import record_run, simulate
from canvass.simulation.options import PROFILES, Faults, Options, swarm
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.run import LoadedRun, RunFolder
from canvass.traces.schema import to_core_input
from support.mutants import MUTANTS, load

STEPS = 1_000
SEEDS = range(24)
ACTIONS_NOT_ASKED_OF_THEM = frozenset({"OnTerminationAck"})
"""So rare that a few dozen small runs need not have them."""


def run(options: Options) -> RunResult:
    return simulate(options)


@pytest.fixture(scope="module")
def hardened() -> list[RunResult]:
    """A few dozen small runs with faults."""
    return [run(swarm(Options(seed, steps=STEPS))) for seed in SEEDS]


def test_hardened_members_violate_nothing(hardened: list[RunResult]) -> None:
    assert [(one.options.seed, one.findings) for one in hardened if one.findings] == []
    assert all(one.steps >= STEPS for one in hardened)


def test_hardened_members_recover(hardened: list[RunResult]) -> None:
    assert [(one.options.seed, one.stuck) for one in hardened if one.stuck] == []
    assert all(one.recovery_ns >= 0 for one in hardened)


def test_every_request_is_answered(hardened: list[RunResult]) -> None:
    """Each with another value of the counter, which has them all: else there were findings."""
    assert sum(one.counts["requests answered"] for one in hardened) > 500


def test_the_faults_strike_and_elections_are_won_all_the_same(hardened: list[RunResult]) -> None:
    counts: Counter[str] = Counter()
    for one in hardened:
        counts.update(one.counts)

    struck = (
        *("crash between steps", "crash within a step", "crash at a write"),
        *("power failure at a write", "Input/output error", "No space left on device"),
        *("pause beyond the heartbeat timeout", "clock jump", "slow disk", "disk full"),
        *("bit rot", "misdirected write", "lost write", "damage found", "damage put back"),
        *("message dropped", "message late", "duplicate message", "message lost in a cut"),
        *("cut isolate", "cut split", "cut one way", "cut consensus only", "cut log only"),
        *("toggle snapshot", "toggle standby-snapshot", "toggle suspend", "toggle resume"),
        *("toggle shutdown", "toggle abort", "error in an election"),
        "elections won",
    )
    assert [name for name in struck if not counts[name]] == []


def test_the_runs_reach_almost_every_action(hardened: list[RunResult]) -> None:
    taken = {action for one in hardened for action in one.actions}

    assert set(ACTIONS) - ACTIONS_NOT_ASKED_OF_THEM - taken == set()


@pytest.mark.parametrize("member_count", [1, 5])
def test_clusters_of_other_sizes_serve(member_count: int) -> None:
    result = run(Options(0, member_count, steps=STEPS))

    assert (result.findings, result.stuck) == ((), ())
    assert result.counts["requests answered"] > 0


@pytest.mark.parametrize("revision", ["1.49", "1.50", "hardened"])
def test_without_faults_one_election_is_enough(revision: str) -> None:
    result = run(Options(7, revision=revision, steps=STEPS))

    assert (result.findings, result.stuck) == ((), ())
    assert result.counts["elections won"] == 1


def test_seeds_find_hazards_of_revision_150() -> None:
    for seed in range(100):
        if run(swarm(Options(seed, revision="1.50", steps=STEPS))).findings:
            return

    pytest.fail("a hundred seeds find no hazard of revision 1.50")


@pytest.mark.parametrize(
    ("mutant", "violates"),
    [
        ("vote_twice_in_a_term", "OneVotePerTerm"),
        ("restart_forgets_the_candidate_term", "CandidateTermMonotonic"),
    ],
)
def test_broken_votes_are_caught_within_a_few_seeds(mutant: str, violates: str) -> None:
    core = load(MUTANTS[mutant])

    for seed in range(12):
        result = simulate(swarm(Options(seed, steps=STEPS)), core.step)
        if any(finding.property_name == violates for finding in result.findings):
            return

    pytest.fail(f"twelve seeds do not show that {mutant} breaks {violates}")


def as_found(options: Options) -> Options:
    """The options of a seed when it was found: without the faults that were added later."""
    chosen = swarm(options)
    faults = replace(chosen.faults, duplicate_probability=0.0, stray_mean=0)
    return replace(chosen, faults=faults)


def test_a_recording_that_goes_on_into_an_election_is_found() -> None:
    """A member that reports another log than it has recorded."""
    core = load(MUTANTS["recording_goes_on_into_the_next_election"])
    result = Simulator(PROFILES["broken-joins"](Options(9, steps=1_500)), step=core.step).run()

    assert "RecordingEndsAsReported" in {finding.property_name for finding in result.findings}


LEAVES_A_MEMBER_OUT = 17
"""A seed of which a member has a candidate term above the leader's when the faults stop."""


def test_a_member_that_a_hardening_keeps_out_comes_back_with_the_next_election() -> None:
    result = run(as_found(Options(LEAVES_A_MEMBER_OUT, steps=2_000)))

    assert (result.findings, result.stuck) == ((), ())
    assert ["(hardening HZ3)" in line for line in result.left_out] == [True]
    assert result.counts["leader restarted"] == 1


LACKS_A_DEADLINE = Options(108, 5, steps=600)
"""A leader waits for followers that have gone on (L-A)."""


def test_a_leader_whose_followers_have_gone_gives_up() -> None:
    result = run(as_found(LACKS_A_DEADLINE))

    assert (result.findings, result.stuck) == ((), ())


def test_without_deadlines_it_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rules, "sets_deadlines", property(lambda _: False))
    result = " ".join(run(as_found(LACKS_A_DEADLINE)).stuck)

    assert "LEADER_LOG_REPLICATION: waits for followers without a deadline (L-A)" in result


def test_a_leader_that_a_quorum_must_not_follow_keeps_nobody_from_standing() -> None:
    """A seed in which two of three have promised more than the leader's term, who answers them."""
    result = run(as_found(Options(637, steps=1_000)))

    assert (result.findings, result.stuck, result.left_out) == ((), (), ())


def test_what_is_rotten_does_not_become_the_tail_of_a_log_that_is_cut_off() -> None:
    """A seed that lost a committed entry: the truncation hid the damage."""
    result = run(as_found(Options(237, steps=1_000)))

    assert (result.findings, result.stuck) == ((), ())
    assert result.counts["damage put back"] > 0


def test_a_cluster_that_comes_to_no_leader_is_reported_as_stuck_with_a_reason() -> None:
    """A core whose followers never get ready keeps the cluster from serving."""

    def deaf(rules: Rules, i: int, s: object, action: str, x: object) -> object:
        if action == "FollowerReady":
            return None
        return step(rules, i, s, action, x)  # type: ignore[arg-type]

    options = replace(Options(3, steps=200), timing=Options(3).timing.divided(20))
    result = Simulator(options, step=deaf).run()  # type: ignore[arg-type]

    assert result.stuck[0] == "no leader serves"
    assert any("FOLLOWER_READY" in line for line in result.stuck)
    assert result.recovery_ns == -1


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[LoadedRun]:
    """Recorded runs, one of them of 1.50."""
    folder = tmp_path_factory.mktemp("corpus")
    for revision, seed in (("hardened", 1), ("hardened", 5), ("1.50", 14)):
        record_run(swarm(Options(seed, revision=revision, steps=STEPS)), folder)
    return [RunFolder(path).load() for path in sorted(folder.iterdir())]


def test_each_recorded_step_is_one_of_the_core(recorded: list[LoadedRun]) -> None:
    for one in recorded:
        rules = Rules.of(one.run.revision, one.run.member_count)
        for i, events in one.events.items():
            state = persistent_member(rules)
            for event in events:
                outcome = step(rules, i, state, event.action.value, to_core_input(event.input))
                assert outcome is not None
                state = outcome.next
                sends = [(send.to, send.message) for send in outcome.sends]
                assert (state, sends) == (
                    event.state,
                    [(send.to, send.message) for send in event.sends],
                )


def test_each_message_received_was_sent_and_in_order(recorded: list[LoadedRun]) -> None:
    for one in recorded:
        sent = {
            send.id: (send.to, send.message)
            for events in one.events.values()
            for event in events
            for send in event.sends
        }
        for i, events in one.events.items():
            last: dict[int, int] = {}
            for event in events:
                if event.input.message is not None:
                    sender, number = map(int, event.input.id.split(":"))
                    assert sent[event.input.id] == (i, event.input.message)
                    assert number > last.get(sender, -1)
                    last[sender] = number


def test_each_position_recorded_has_a_checksum(recorded: list[LoadedRun]) -> None:
    """So that a reader can compare logs without their bytes."""
    for one in recorded:
        for events in one.events.values():
            for event in events:
                witnessed = {witness.position for witness in event.log_checksums}
                if event.state.recorded_position:
                    assert event.state.recorded_position in witnessed


def test_a_run_does_not_depend_on_being_recorded(tmp_path: Path) -> None:
    options = swarm(Options(2, steps=STEPS))

    assert record_run(options, tmp_path) == Simulator(options).run()


def test_no_fault_strikes_by_default() -> None:
    assert Options(0).faults == Faults()


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"member_count": 0}, {"revision": "2.0"}], ids=lambda wrong: str(wrong)
)
def test_options_that_make_no_run_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"one|none of"):
        Options(0, **wrong)  # type: ignore[arg-type]

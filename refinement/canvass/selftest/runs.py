"""Good runs, which must conform, and corrupted runs, which must be rejected for the right reason.

Good runs come from a cluster of cores that is driven at random; if the core is right, each run is a
behaviour of the spec. The cluster follows ``Cluster.tla``: each pair of members has one queue,
messages are lost or delivered in order, and members record the entries of their leader. While runs
are checked, the core answers in place of TLC, because starting TLC takes seconds. Then TLC checks
the same steps in a few batches. An answer that differs from the core's is a failure.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.duty_cycle import ACTION_OF, StepFunction
from canvass.cluster.effects import AppendNewLeadershipTermEvent, AppendToLog
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE, Record
from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import core_allows
from canvass.conformance.findings import RunVerdict, Verdict
from canvass.conformance.verify import check_units
from canvass.selftest.corruptions import CORRUPTIONS, Corrupted, MayConform, RecordedRun
from canvass.simulation.world import Log, World
from canvass.steps.answers import Ask, StepLookup
from canvass.steps.oracle import ask
from canvass.steps.step import Step
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run

E: Final = ElectionState
_EVENT_LENGTH: Final = 32


class RandomCluster(World):
    """A world with a random scheduler. The core takes every step, and every step is recorded.

    Parameters
    ----------
    rules
        The rules of all members.
    recorder
        Records the run.
    seed
        Seed of all choices.
    faults
        Probability that a step is a restart, a lost leader or a lost message.
    step
        The step function of the core.
    """

    def __init__(
        self,
        rules: Rules,
        recorder: RunRecorder,
        seed: int,
        *,
        faults: float = 0.01,
        step: StepFunction = core.step,
    ) -> None:
        members = range(rules.member_count)
        super().__init__(rules, _EVENT_LENGTH, step, [recorder.member(i) for i in members])
        self.rng = random.Random(seed)
        self.faults = faults
        self._taken = self._noted = 0
        self._clocks = [0 for _ in members]
        self._ends: defaultdict[int, set[int]] = defaultdict(set)
        """For each term the end positions of its entries."""
        for i in members:
            self.start(i)

    def time_ns(self, i: int) -> int:
        """Advance the clock of member ``i`` by a random time, and read it."""
        self._clocks[i] += self.rng.randrange(1, 1000)
        return self._clocks[i]

    def note_steps(self) -> int:
        """Note the entries that were appended since the last call; count all enabled steps."""
        for step in self.steps[self._noted :]:
            if step.outcome is not None:
                self._taken += 1
                led = step.outcome.next.module_leadership_term_id
                for effect in step.outcome.effects:
                    if isinstance(effect, AppendToLog | AppendNewLeadershipTermEvent):
                        self._ends[led].add(effect.position)
        self._noted = len(self.steps)
        return self._taken

    def ends(self, log: Log, position: int) -> list[int]:
        """Give the end positions, beyond ``position``, of the entries of a log."""
        self.note_steps()
        return [
            end
            for part in log
            if part.end > position
            for end in sorted(self._ends[part.term])
            if max(part.start, position) < end <= part.end
        ]

    def run(self, steps: int) -> None:
        """Take about ``steps`` steps."""
        while self.note_steps() < steps:
            if self.rng.random() < 0.5:
                self._deliver()
            else:
                self._act(self.rng.randrange(self.rules.member_count))

    def _deliver(self) -> None:
        """Deliver or lose the next message of a channel."""
        waiting = [pair for pair, queue in self.channels.items() if queue]
        if not waiting:
            return
        i, j = self.rng.choice(waiting)
        received = self.channels[i, j].popleft()
        if self.rng.random() >= self.faults:
            self.handle(j, received, self._active(j))

    def _active(self, i: int) -> frozenset[int]:
        count = self.rules.member_count
        return frozenset(j for j in range(count) if j == i or self.rng.random() < 0.9)

    def _act(self, i: int) -> None:
        """Let one member take a step that receives no message."""
        s = self.members[i]
        if s.module_state is not ModuleState.ACTIVE or self.rng.random() < self.faults / 4:
            self._restart(i)
            return
        if self.rng.random() < self.faults:
            self._fault(i, s)
            return
        choices = list(self._choices(i, s))
        if choices:
            self.take(i, *self.rng.choice(choices))

    def _restart(self, i: int) -> None:
        """Restart a member; messages under way to it are lost or reach the new process."""
        under_way = {pair: queue.copy() for pair, queue in self.channels.items() if pair[1] == i}
        self.start(i)
        if self.rng.random() < 0.5:
            self.channels |= under_way

    def _fault(self, i: int, s: Member) -> None:
        if s.election_state is not E.CLOSED:
            self.take(i, "ElectionError", self._failing_input(i, s))
            return
        graceful = self.rng.choice((-1, s.leader_member_id))
        choices = [("EnterElection", replace(NO_INPUT, graceful_closed_leader_id=graceful))]
        choices += [("TakeSnapshot", NO_INPUT)] * 3
        self.take(i, *self.rng.choice(choices))

    def _failing_input(self, i: int, s: Member) -> Input:
        """Give the input of an election error, which may occur where the election would close."""
        x = NO_INPUT
        if s.election_state is E.LEADER_READY:
            x = self._tick_input(i, s)
        elif s.election_state is E.FOLLOWER_READY and self.rng.random() < 0.5:
            x = replace(x, position=s.commit_position)
        return NO_INPUT if x.position == NULL_VALUE else x

    def _choices(self, i: int, s: Member) -> Iterator[tuple[str, Input]]:
        if s.election_state is not E.CLOSED:
            if self.may_tick(i):
                yield ACTION_OF[s.election_state], self._tick_input(i, s)
        elif s.role is Role.LEADER:
            end = s.publication_position + self.rng.choice((32, 64, 96))
            yield "AppendEntry", replace(NO_INPUT, position=end)
            active, due = self._active(i), self.rng.random() < 0.3
            update = replace(NO_INPUT, active=active, commit_interval=due)
            yield "UpdateLeaderPosition", update
        else:
            yield "UpdateFollowerPosition", NO_INPUT
        recordable = self.ends(self.source(i), s.recorded_position)
        if recordable:
            yield "RecordLog", replace(NO_INPUT, position=self.rng.choice(recordable[:2]))
        for end in self.ends(self.logs[i], s.commit_position)[:1]:
            processing = self.processing(i, end)
            assert processing is not None
            yield processing

    def _tick_input(self, i: int, s: Member) -> Input:
        flip = self.rng.random
        patience = {E.NOMINATE: 0.5, E.CANVASS: 0.2, E.CANDIDATE_BALLOT: 0.1}
        x = replace(
            NO_INPUT,
            interval=flip() < 0.5,
            timeout=flip() < patience.get(s.election_state, 0.02),
        )
        if s.election_state is E.CANDIDATE_BALLOT:
            others = set(range(self.rules.member_count)) - {i}
            return replace(x, interval=False, accepted=frozenset(j for j in others if flip() < 0.8))
        if s.election_state.value.startswith("LEADER"):
            x = replace(x, active=self._active(i), commit_interval=flip() < 0.3, timeout=False)
            if s.election_state is E.LEADER_READY and flip() < 0.8:
                ready = replace(x, position=s.publication_position + _EVENT_LENGTH)
                if self.step(self.rules, i, s, "LeaderReady", ready) is not None:
                    return ready
        copied = s.log_replication and s.recorded_position == s.replication_stop_position
        if copied and flip() < self.faults:
            return replace(x, position=s.recorded_position)
        return x


def record_run(
    folder: Path,
    rules: Rules,
    seed: int,
    steps: int = 300,
    *,
    faults: float = 0.01,
    run_id: str | None = None,
    step: StepFunction = core.step,
    cluster: type[RandomCluster] = RandomCluster,
) -> Run:
    """Drive a cluster and record its run.

    Parameters
    ----------
    folder
        The run's folder, new.
    rules, seed, faults, step
        As for `RandomCluster`.
    steps
        Approximate number of recorded steps.
    run_id
        The run's id. Default: ``driven-`` and the seed.
    cluster
        The class of the cluster.
    """
    run = Run.of(rules, run_id or f"driven-{seed}", {"kind": "driven", "seed": seed})
    with RunRecorder(folder, run, flush=False) as recorder:
        driven = cluster(rules, recorder, seed, faults=faults, step=step)
        driven.run(steps)
    return run


GOOD_STEPS: Final = 120
BASE_STEPS: Final = 300
BASES_PER_HUNDRED: Final = 4
"""Number of good runs that a hundred corrupted runs are made from."""
_ATTEMPTS: Final = 400
"""Maximum number of draws for each corrupted run."""
KINDS: Final = (("1.50", 3), ("hardened", 3), ("1.49", 3), ("1.50", 2), ("hardened", 1))
"""The rules of the runs, in turn."""
_FAULTS: Final = (0.0, 0.01, 0.03)

Progress = Callable[[str], object]


@dataclass(slots=True)
class CoreThenOracle:
    """Answers with the core, and keeps all steps for the oracle to confirm."""

    oracle: Ask = ask
    given: dict[Rules, dict[Step, bool]] = field(default_factory=dict)

    def ask(self, rules: Rules, steps: Sequence[Step]) -> list[bool]:
        """Give the core's answers."""
        known = self.given.setdefault(rules, {})
        for step in steps:
            if step not in known:
                known[step] = core_allows(rules, step)
        return [known[step] for step in steps]

    @property
    def count(self) -> int:
        """The number of distinct steps."""
        return sum(len(known) for known in self.given.values())

    def confirm(self) -> list[tuple[Rules, Step]]:
        """Check all steps with the oracle; give the steps on which it and the core disagree."""

        def disputed(item: tuple[Rules, Mapping[Step, bool]]) -> list[tuple[Rules, Step]]:
            rules, known = item
            answers = zip(known.items(), self.oracle(rules, list(known)), strict=True)
            return [(rules, step) for (step, core), tlc in answers if core != tlc]

        with ThreadPoolExecutor(2) as pool:
            return [each for found in pool.map(disputed, self.given.items()) for each in found]


class WrongReport(Record, frozen=True):
    """A run with a wrong verdict."""

    run_id: str
    kind: str
    verdict: str
    expected: str


@dataclass(slots=True)
class RunsResult:
    """The results of all runs."""

    good: int = 0
    events: int = 0
    corrupted: Counter[str] = field(default_factory=Counter)
    """Number of runs rejected for the right reason, by corruption."""
    legal: Counter[str] = field(default_factory=Counter)
    """Number of changed runs that may be behaviours and do not count, by corruption."""
    wrong: list[WrongReport] = field(default_factory=list)
    asked: int = 0
    """Number of steps that TLC checked."""
    disagreements: int = 0
    """Number of steps on which TLC and the core disagree."""


def check_runs(
    folder: Path,
    *,
    good: int,
    corrupted: int,
    seed: int = 0,
    oracle: Ask = ask,
    progress: Progress | None = None,
) -> RunsResult:
    """Make good and corrupted runs, check them, and compare the verdicts with the expected ones.

    Parameters
    ----------
    folder
        Folder for the runs, new or empty.
    good, corrupted
        Minimum numbers of runs.
    seed
        Seed of all runs.
    oracle
        Confirms the core's answers.
    progress
        Called with the name of each phase.
    """
    report = progress or (lambda _text: None)
    result = RunsResult()
    answering = CoreThenOracle(oracle)
    lookup = StepLookup(oracle=answering.ask)
    report(f"recording {good:,} runs")
    units = [_record(folder / "good", seed + number, GOOD_STEPS) for number in range(good)]
    report(f"checking {good:,} runs")
    for verdict in check_units(units, lookup).runs:
        result.events += verdict.events
        result.good += verdict.verdict is Verdict.CONFORMS
        if verdict.verdict is not Verdict.CONFORMS:
            result.wrong.append(_wrong_verdict("good", verdict, "CONFORMS"))
    report(f"corrupting {corrupted:,} runs")
    made = _corrupt(folder, corrupted, seed, result)
    report(f"checking {len(made):,} corrupted runs")
    verdicts = check_units([path for path, _, _ in made], lookup).runs
    for (_, kind, expected), verdict in zip(made, verdicts, strict=True):
        result.events += verdict.events
        if expected.is_found(verdict):
            result.corrupted[kind] += 1
        else:
            result.wrong.append(_wrong_verdict(kind, verdict, _expected_text(expected)))
    report(f"asking TLC about {answering.count:,} steps")
    result.asked = answering.count
    result.disagreements = len(answering.confirm())
    return result


def _record(root: Path, seed: int, steps: int) -> Path:
    revision, members = KINDS[seed % len(KINDS)]
    folder = root / f"run-{seed:05d}"
    folder.mkdir(parents=True)
    faults = _FAULTS[seed % len(_FAULTS)]
    record_run(folder, Rules.of(revision, members), seed, steps, faults=faults, run_id=folder.name)
    return folder


def _corrupt(
    folder: Path, count: int, seed: int, result: RunsResult
) -> list[tuple[Path, str, Corrupted]]:
    """Make ``count`` corrupted runs or a few more, the same number with each corruption."""
    if not count:
        return []
    bases = [
        RecordedRun.read(_record(folder / "base", seed + number, BASE_STEPS))
        for number in range(max(4, count * BASES_PER_HUNDRED // 100))
    ]
    made: list[tuple[Path, str, Corrupted]] = []
    for corruption in CORRUPTIONS:
        kind = corruption.__name__
        rng = random.Random(f"{seed} {kind}")
        wanted = -(-count // len(CORRUPTIONS))
        for _ in range(_ATTEMPTS * wanted):
            if not wanted:
                break
            base = rng.choice(bases)
            drawn = corruption(base, rng)
            if isinstance(drawn, MayConform):
                result.legal[kind] += 1
            elif drawn is not None:
                run_id = f"{kind.replace('_', '-')}-{wanted:03d}"
                base.write(folder / "corrupted" / run_id, run_id, drawn.streams)
                made.append((folder / "corrupted" / run_id, kind, drawn))
                wanted -= 1
    return made


def _wrong_verdict(kind: str, verdict: RunVerdict, expected: str) -> WrongReport:
    found = ", ".join(f"{d.kind.value} {d.name} {d.member}:{d.step}" for d in verdict.divergences)
    text = verdict.verdict.value + (
        f" ({found or verdict.reason})" if found or verdict.reason else ""
    )
    return WrongReport(verdict.run_id, kind, text, expected)


def _expected_text(expected: Corrupted) -> str:
    classes = " or ".join(sorted(each.value for each in expected.classes))
    place = f" at {expected.member}:{expected.step}" if expected.member >= 0 else ""
    return f"{expected.verdict.value} {classes}{place}".strip()


SCHEMA: Final = "canvass.selftest/2"


class CorruptionReport(Record, frozen=True):
    """The results of one corruption."""

    name: str
    description: str
    rejected: int
    """Number of runs rejected for the right reason."""
    wrong: int
    legal: int
    """Number of changed runs that may be behaviours and do not count."""


class SelftestReport(Record, frozen=True):
    """The document of ``canvass selftest --format json``."""

    schema: str
    ok: bool
    seconds: float
    good_runs: int
    """Number of good runs that conform."""
    good_runs_rejected: int
    corrupted_runs: int
    """Number of corrupted runs rejected for the right reason."""
    corrupted_runs_wrong: int
    corruptions: tuple[CorruptionReport, ...]
    wrong: tuple[WrongReport, ...]
    events: int
    asked_of_oracle: int
    oracle_disagreements: int


def make_report(runs: RunsResult, seconds: float) -> SelftestReport:
    """Make the report of all results."""
    good_wrong = [each for each in runs.wrong if each.kind == "good"]
    corrupted_wrong = len(runs.wrong) - len(good_wrong)
    unused = {each.__name__ for each in CORRUPTIONS} - set(runs.corrupted)
    return SelftestReport(
        schema=SCHEMA,
        ok=not (runs.wrong or runs.disagreements or unused),
        seconds=round(seconds, 1),
        good_runs=runs.good,
        good_runs_rejected=len(good_wrong),
        corrupted_runs=runs.corrupted.total(),
        corrupted_runs_wrong=corrupted_wrong,
        corruptions=tuple(
            CorruptionReport(
                name=corruption.__name__,
                description=(corruption.__doc__ or "").split(".")[0],
                rejected=runs.corrupted[corruption.__name__],
                wrong=sum(each.kind == corruption.__name__ for each in runs.wrong),
                legal=runs.legal[corruption.__name__],
            )
            for corruption in CORRUPTIONS
        ),
        wrong=tuple(runs.wrong),
        events=runs.events,
        asked_of_oracle=runs.asked,
        oracle_disagreements=runs.disagreements,
    )

"""The second engine: TLC searches for a behaviour of ``Cluster.tla`` that matches a run.

`check_with_tlc` gives whole runs to `TraceSpec.tla`, many in one run of TLC, and gives the same
verdicts as the first engine. It uses neither the canonical form nor state graphs, oracle, causality
or monitors, so that the engines can be compared. `tlc_engine_runs` writes runs for TLC.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from canvass.cluster.rules import Rules
from canvass.conformance.differences import Difference, in_words
from canvass.conformance.tlc_engine_runs import EngineError, TraceRun, read_file, read_folder
from canvass.conformance.verdict import (
    LOG_STREAM,
    MESSAGE_CAUSALITY,
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
    verdict_on,
)
from canvass.conformance.verify import Unit, path_of
from canvass.conformance.whole_run import with_limits
from canvass.spec.files import module_folders
from canvass.steps.oracle import constants_of
from canvass.tlc import Outcome, TlcConfig, TlcOptions, Value, run
from canvass.traces.errors import TraceError
from canvass.traces.layout import message_id_text


@dataclass(slots=True)
class DeadEnd:
    """A state of the search in which no event can be explained."""

    at: tuple[int, ...]
    """The number of explained events of each stream."""
    standing: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    """For each member with an event left: whether step, message and log contents are right."""
    leaders: dict[int, int] = field(default_factory=dict)
    """For each of these members the member that it takes for its leader."""
    differing: dict[int, Any] = field(default_factory=dict)
    broken: dict[int, frozenset[str]] = field(default_factory=dict)
    """The properties that the next event of a member would violate."""


@dataclass(slots=True)
class Answer:
    """TLC's answer about one run."""

    conforms: bool = False
    dead_ends: dict[tuple[int, ...], DeadEnd] = field(default_factory=dict)

    @property
    def is_given(self) -> bool:
        """Whether TLC printed anything about the run."""
        return self.conforms or bool(self.dead_ends)


def read_answers(values: Iterable[Value], runs: int) -> list[Answer]:
    """Give the answer about each run.

    Raises
    ------
    EngineError
        If TLC printed anything else.
    """
    answers = [Answer() for _ in range(runs)]
    for value in values:
        printed: Any = value
        match printed:
            case ["end", run]:
                answers[run - 1].conforms = True
            case ["stuck", run, at, standing]:
                end = _dead_end(answers[run - 1], at)
                for member, (some, step, message, log, leader) in enumerate(standing):
                    if some:
                        end.leaders[member] = leader
                        end.standing[member] = (step == 1, message == 1, log == 1)
            case ["differs", run, at, member, outcomes]:
                _dead_end(answers[run - 1], at).differing[member] = outcomes
            case ["broken", run, at, member, names]:
                _dead_end(answers[run - 1], at).broken[member] = frozenset(names)
            case _:
                raise EngineError(f"TLC printed what the trace specification does not: {value!a}")
    return answers


def _dead_end(answer: Answer, at: Sequence[int]) -> DeadEnd:
    key = tuple(at)
    return answer.dead_ends.setdefault(key, DeadEnd(key))


# --- divergences ----------------------------------------------------------------------------------


def divergences_of(trace: TraceRun, answer: Answer) -> tuple[Divergence, ...]:
    """Give the divergences at which the longest explained prefix stops.

    Members that only wait for another member are left out, unless all wait for each other.
    """
    most = max(sum(end.at) for end in answer.dead_ends.values())
    ends = [end for end in answer.dead_ends.values() if sum(end.at) == most]
    end = next((end for end in ends if end.broken), ends[0])
    found = [
        _divergence(trace, end, member, DivergenceClass.SAFETY_PROPERTY, name, "is violated")
        for member, names in sorted(end.broken.items())
        for name in sorted(names)
    ]
    for member in sorted(end.standing):
        blamed = _blame(trace, end, member)
        if blamed is not None:
            found.append(_divergence(trace, end, member, *blamed))
    return tuple(found or _cycle(trace, end))


def _cycle(trace: TraceRun, end: DeadEnd) -> list[Divergence]:
    """Give divergences for members that wait for each other; first those that wait for a log."""
    text = "the step depends on itself, through messages or recorded log bytes"
    for_log = [member for member, right in end.standing.items() if not right[2]]
    others = sorted(end.standing.keys() - for_log)
    causal = DivergenceClass.CAUSALITY
    return [
        *(_divergence(trace, end, member, causal, LOG_STREAM, text) for member in for_log),
        *(_divergence(trace, end, member, causal, MESSAGE_CAUSALITY, text) for member in others),
    ]


def _divergence(
    trace: TraceRun, end: DeadEnd, member: int, cause: DivergenceClass, name: str, text: str
) -> Divergence:
    if name == LOG_STREAM:
        cause = DivergenceClass.CAUSALITY
        if text == "is violated":
            text = "a checksum is of another log, or of the log beyond the recorded position"
    step = trace.streams[member].steps[end.at[member]]
    return Divergence(cause, name, member, step, text, rank=sum(end.at))


def _blame(trace: TraceRun, end: DeadEnd, member: int) -> tuple[DivergenceClass, str, str] | None:
    """Give class, name and text of the problem of a member's next event; None if it only waits."""
    step, message, log = end.standing[member]
    action = trace.streams[member].actions[end.at[member]]
    if not step:
        return DivergenceClass.IMPLEMENTATION_STEP, action, _about_step(trace, end, member)
    if not message:
        text = _about_message(trace, end, member)
        return None if text is None else (DivergenceClass.CAUSALITY, MESSAGE_CAUSALITY, text)
    if not log and not _may_still_be_written(trace, end, member):
        return DivergenceClass.CAUSALITY, LOG_STREAM, _ABOUT_LOG.get(action, _RECORDS)
    return None


_RECORDS: Final = "records the log beyond what its leader has written in that term"
_ABOUT_LOG: Final = {
    "ConsumeLog": "consumes the first entry of a term as if it were another, or what is not there",
    "OnReplayNewLeadershipTermEvent": "the log has no entry there that begins that term",
    "FollowerCatchupAwait": "joins a catch-up that the leader has not granted in that term",
    "FollowerLogAwait": "joins the live log beyond what its leader has written in that term",
}
_OWN_LOG: Final = frozenset({"ConsumeLog", "OnReplayNewLeadershipTermEvent"})


def _may_still_be_written(trace: TraceRun, end: DeadEnd, member: int) -> bool:
    """Whether the leader has events left that could provide what is missing."""
    action = trace.streams[member].actions[end.at[member]]
    leader = end.leaders[member]
    return action not in _OWN_LOG and leader != member and leader in end.standing


def _about_message(trace: TraceRun, end: DeadEnd, member: int) -> str | None:
    """Give the problem of the message received; None if the message is still to be sent."""
    sender, identity, content = trace.streams[member].received[end.at[member]]
    sent = trace.sent.get(identity)
    name = message_id_text(identity)
    if sent is None:
        return f"no step of member {sender} sends message {name}"
    if sent.to != member:
        return f"message {name} was sent to another member"
    if sent.content != content:
        return f"message {name} was sent with other contents"
    if sent.place >= end.at[sent.member]:
        return None
    earlier = trace.streams[member].received[: end.at[member]]
    if any(other[1] == identity for other in earlier):
        return f"message {name} is received a second time"
    return f"message {name} is received after a later one of the same process of member {sender}"


def _about_step(trace: TraceRun, end: DeadEnd, member: int) -> str:
    if member not in end.differing:
        return "this step names a member that is not in the cluster, or sends a message's id again"
    outcomes = end.differing[member]
    if not outcomes:
        return "by the spec this step is not enabled in the state before it"
    nearest = min(outcomes, key=lambda outcome: len(outcome[0]))
    fields, same_sends = nearest
    found = [
        Difference(str(name), "", _shown(trace, name, seen), _shown(trace, name, right))
        for name, right, seen in sorted(fields, key=lambda each: str(each[0]))
    ]
    if not found:
        return "by the spec this step sends other messages than the trace reports"
    return in_words(found) + ("" if same_sends else "; the messages sent differ, too")


def _shown(trace: TraceRun, name: str, value: Any) -> str:
    """Give a value of a state as it was recorded, positions instead of their ranks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and name.endswith("Position"):
        return str(trace.position(value))
    if isinstance(value, int | str):
        return str(value)
    return "another list"


BATCH_EVENTS: Final = 10_000
"""Events in one run of TLC, if they are of more than one run."""
_ROOT_MODULE: Final = "TraceSpecRuns"
_UNBOUNDED: Final = 1_000_000
"""A bound for messages under way: more than the events of any batch."""

Progress = Callable[[int, int, int], object]
"""Called after each run of TLC: runs done, runs in all, events done."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Limits of TLC.

    Attributes
    ----------
    timeout_s
        Seconds for each run of TLC; None for no limit.
    heap_mib
        Java heap.
    """

    timeout_s: float | None = None
    heap_mib: int = 2048


@dataclass(slots=True)
class _Unit:
    """A run, and its verdict if TLC need not be asked."""

    verdict: RunVerdict | None = None
    trace: TraceRun | None = None
    rules: Rules | None = None


def check_with_tlc(
    units: Iterable[Unit], options: EngineOptions | None = None, progress: Progress | None = None
) -> CorpusVerdict:
    """Check run folders and files of data sets.

    Parameters
    ----------
    units
        As `canvass.conformance.verify.units_of` gives them.
    options
        Limits for TLC.
    progress
        Called after each run of TLC.

    Raises
    ------
    TlcError
        If TLC cannot run, or does not finish a batch.
    """
    started = time.perf_counter()
    limits = options or EngineOptions()
    listed = [unit for named in units for unit in _read(named)]
    waiting = [unit for unit in listed if unit.verdict is None]
    done = events = 0
    for rules, batch in _batches(waiting):
        traces = [unit.trace for unit in batch if unit.trace is not None]
        for unit, answer in zip(batch, _ask(rules, traces, limits), strict=True):
            assert unit.trace is not None
            unit.verdict = _settle(unit.trace, answer)
            events += unit.trace.events
        done += len(batch)
        if progress is not None:
            progress(done, len(waiting), events)
    verdicts = tuple(unit.verdict for unit in listed if unit.verdict is not None)
    seconds = time.perf_counter() - started
    counts = Counts(runs=len(verdicts), events=events, seconds=seconds, by_tlc=True)
    return CorpusVerdict(verdicts, counts)


# --- reading --------------------------------------------------------------------------------------


def _read(unit: Unit) -> list[_Unit]:
    """Read the runs of a folder or file; a malformed file gives one malformed verdict."""
    try:
        if isinstance(unit, TraceError):
            raise unit
        if unit.suffix == ".parquet" and not unit.is_dir():
            return [_unit(trace) for trace in read_file(unit)]
        return [_unit(read_folder(unit))]
    except TraceError as error:
        path = path_of(unit)
        return [_Unit(RunVerdict(path.name, str(path), Verdict.MALFORMED, reason=str(error)))]


def _unit(trace: TraceRun) -> _Unit:
    run_id, path = trace.run.run_id, str(trace.path)
    try:
        rules = trace.run.rules
    except ValueError as error:
        return _Unit(RunVerdict(run_id, path, Verdict.MALFORMED, reason=str(error)))
    if not trace.events:
        reason = "the run has no events: nothing was checked"
        return _Unit(RunVerdict(run_id, path, Verdict.MALFORMED, facts=trace.facts, reason=reason))
    return _Unit(trace=trace, rules=rules)


def _batches(units: Sequence[_Unit]) -> Iterator[tuple[Rules, list[_Unit]]]:
    """Put runs under the same rules together, up to `BATCH_EVENTS`."""
    by_rules: dict[Rules, list[_Unit]] = {}
    for unit in units:
        assert unit.rules is not None
        by_rules.setdefault(unit.rules, []).append(unit)
    for rules, own in by_rules.items():
        batch: list[_Unit] = []
        events = 0
        for unit in own:
            assert unit.trace is not None
            if batch and events + unit.trace.events > BATCH_EVENTS:
                yield rules, batch
                batch, events = [], 0
            batch.append(unit)
            events += unit.trace.events
        yield rules, batch


def _settle(trace: TraceRun, answer: Answer) -> RunVerdict:
    divergences = () if answer.conforms else divergences_of(trace, answer)
    if not (answer.conforms or divergences):
        raise EngineError(f"TLC found no behaviour for {trace.path}, and nothing that it lacks")
    found = RunVerdict(
        run_id=trace.run.run_id,
        path=str(trace.path),
        verdict=verdict_on(
            diverges=bool(divergences), facts=trace.facts, unchecked=trace.unchecked
        ),
        events=trace.events,
        unchecked=trace.unchecked,
        divergences=divergences,
        facts=trace.facts,
        revision=trace.run.revision,
    )
    return with_limits(found, trace.run)


# --- TLC ------------------------------------------------------------------------------------------


def _ask(rules: Rules, traces: Sequence[TraceRun], options: EngineOptions) -> list[Answer]:
    with tempfile.TemporaryDirectory(prefix="canvass-traces-") as folder:
        module = Path(folder) / f"{_ROOT_MODULE}.tla"
        module.write_text(module_text(traces), encoding="ascii")
        limits = TlcOptions(
            heap_mib=options.heap_mib,
            stack_mib=512,
            timeout_s=options.timeout_s,
            check_deadlock=False,
            library=module_folders(),
        )
        with run(module, config_of(rules), limits) as tlc:
            answers = read_answers(tlc.printed_values(), len(traces))
            result = tlc.wait()
    if result.outcome is not Outcome.SUCCESS:
        about = f"{len(traces)} runs" if len(traces) > 1 else f"run {traces[0].run.run_id}"
        raise EngineError(f"TLC did not come to an end with {about}: {result.message}")
    silent = [trace.run.run_id for trace, a in zip(traces, answers, strict=True) if not a.is_given]
    if silent:
        raise EngineError(f"TLC said nothing about run {silent[0]}")
    return answers


def config_of(rules: Rules) -> TlcConfig:
    """Give the configuration of a run of TLC."""
    return TlcConfig(
        init="TraceInit",
        next="TraceNext",
        view="TraceView",
        constants={
            **constants_of(rules),
            "ChannelCapacity": f"= {_UNBOUNDED}",
            "NetworkCapacity": f"= {_UNBOUNDED}",
            "Runs": "<- GivenRuns",
        },
    )


def module_text(traces: Sequence[TraceRun]) -> str:
    """Give the module that holds runs as data: strings of digits and numbers of members."""
    runs = ",\n".join(_run_text(trace) for trace in traces)
    return (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS TraceSpec\nGivenRuns == <<\n{runs}\n>>\n====\n"
    )


def _run_text(trace: TraceRun) -> str:
    streams = ",\n".join(
        "<<" + ",\n".join(f'"{text}"' for text in stream.texts) + ">>" for stream in trace.streams
    )
    missing = ", ".join(map(str, sorted(trace.missing)))
    whole = "TRUE" if trace.whole else "FALSE"
    empty = "TRUE" if trace.run.initial == "empty" else "FALSE"
    return (
        f"[whole |-> {whole}, empty |-> {empty}, missing |-> {{{missing}}},"
        f" streams |-> <<\n{streams}>>]"
    )

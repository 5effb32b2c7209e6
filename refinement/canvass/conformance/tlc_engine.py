"""The second engine: TLC searches for a behaviour of ``Cluster.tla`` that matches a run.

`check_with_tlc` gives whole runs to `TraceSpec.tla`, many in one run of TLC, and gives the same
verdicts as the first engine. It uses neither the canonical form nor state graphs, oracle, causality
or monitors, so that the engines can be compared. It says where TLC's longest explanation of a run
ends; the first engine says more. `tlc_engine_runs` writes runs for TLC.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Final

from canvass.cluster.rules import Rules
from canvass.conformance.tlc_engine_runs import EngineError, TraceRun, read_unit
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
from canvass.tlc.config import TlcConfig
from canvass.tlc.results import Outcome
from canvass.tlc.runner import run
from canvass.tlc.values import Value
from canvass.tlc.workspace import TlcOptions
from canvass.traces.errors import TraceError


@dataclass(slots=True)
class DeadEnd:
    """A state of the search in which no event can be explained."""

    at: tuple[int, ...]
    """The number of explained events of each stream."""
    standing: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    """For each member with an event left: whether step, message and log contents are right."""
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
                for member, (some, step, message, log) in enumerate(standing):
                    if some:
                        end.standing[member] = (step == 1, message == 1, log == 1)
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

    If a property is violated there, or a step is wrong, they are these. Otherwise they are the
    events of all members that lack a message or a log: some of these may only wait for another.
    """
    most = max(sum(end.at) for end in answer.dead_ends.values())
    ends = [end for end in answer.dead_ends.values() if sum(end.at) == most]
    end = next((end for end in ends if end.broken), ends[0])
    found = [
        (member, _SAFETY if name != LOG_STREAM else _CAUSALITY, name, _VIOLATED)
        for member, names in sorted(end.broken.items())
        for name in sorted(names)
    ]
    stuck = sorted(end.standing.items())
    found += [
        (member, _STEP, trace.streams[member].actions[end.at[member]], _WRONG_STEP)
        for member, (step, _, _) in stuck
        if not step
    ]
    lacking = [one for one in stuck if not all(one[1])] or stuck
    found = found or [
        (member, _CAUSALITY, *(_NO_LOG if message else _NO_MESSAGE))
        for member, (_, message, _) in lacking
    ]
    return tuple(
        Divergence(kind, name, member, trace.streams[member].steps[end.at[member]], text, most)
        for member, kind, name, text in found
    )


_STEP: Final = DivergenceClass.IMPLEMENTATION_STEP
_CAUSALITY: Final = DivergenceClass.CAUSALITY
_SAFETY: Final = DivergenceClass.SAFETY_PROPERTY
_VIOLATED: Final = "is violated"
_WRONG_STEP: Final = "by the spec this step does not lead from the state before it to the next one"
_NO_MESSAGE: Final = (
    MESSAGE_CAUSALITY,
    "no behaviour before this step has the message that it receives",
)
_NO_LOG: Final = (
    LOG_STREAM,
    "no behaviour before this step has the log that it records, reads or joins",
)

BATCH_EVENTS: Final = 10_000
"""Events in one run of TLC, if they are of more than one run."""
_ROOT_MODULE: Final = "TraceSpecRuns"
_UNBOUNDED: Final = 1_000_000
"""A bound for messages under way: more than the events of any batch."""

Progress = Callable[[int, int, int], object]
"""Called after each run of TLC: runs done, runs in all, events done."""


def check_with_tlc(units: Iterable[Unit], progress: Progress | None = None) -> CorpusVerdict:
    """Check run folders and files of data sets.

    Parameters
    ----------
    units
        As `canvass.conformance.verify.units_of` gives them.
    progress
        Called after each run of TLC.

    Raises
    ------
    TlcError
        If TLC cannot run, or does not finish a batch.
    """
    started = time.perf_counter()
    read = [found for unit in units for found in _read(unit)]
    traces = [found for found in read if isinstance(found, TraceRun)]
    verdicts: dict[int, RunVerdict] = {}
    events = 0
    for batch in _batches(traces):
        answers = _ask(batch[0].run.rules, batch)
        for trace, answer in zip(batch, answers, strict=True):
            verdicts[id(trace)] = _settle(trace, answer)
            events += trace.events
        if progress is not None:
            progress(len(verdicts), len(traces), events)
    found = tuple(verdicts[id(one)] if isinstance(one, TraceRun) else one for one in read)
    seconds = time.perf_counter() - started
    return CorpusVerdict(found, Counts(len(found), events, seconds=seconds, by_tlc=True))


def _read(unit: Unit) -> list[TraceRun | RunVerdict]:
    """Read the runs of a folder or file; what TLC cannot be asked about is malformed."""
    try:
        if isinstance(unit, TraceError):
            raise unit
        return [_askable(trace) for trace in read_unit(unit)]
    except TraceError as error:
        path = path_of(unit)
        return [RunVerdict(path.name, str(path), Verdict.MALFORMED, reason=str(error))]


def _askable(trace: TraceRun) -> TraceRun | RunVerdict:
    reason = "" if trace.events else "the run has no events: nothing was checked"
    try:
        _ = trace.run.rules
    except ValueError as error:
        reason = str(error)
    run_id, path, facts = trace.run.run_id, str(trace.path), trace.facts
    malformed = RunVerdict(run_id, path, Verdict.MALFORMED, facts=facts, reason=reason)
    return malformed if reason else trace


def _batches(traces: Sequence[TraceRun]) -> Iterator[list[TraceRun]]:
    """Put runs under the same rules together, up to `BATCH_EVENTS`."""
    by_rules: dict[Rules, list[TraceRun]] = {}
    for trace in traces:
        by_rules.setdefault(trace.run.rules, []).append(trace)
    for own in by_rules.values():
        ends = accumulate(trace.events for trace in own)
        numbers = (end // BATCH_EVENTS for end in ends)
        for _, batch in groupby(zip(numbers, own, strict=True), key=lambda one: one[0]):
            yield [trace for _, trace in batch]


def _settle(trace: TraceRun, answer: Answer) -> RunVerdict:
    divergences = () if answer.conforms else divergences_of(trace, answer)
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


def _ask(rules: Rules, traces: Sequence[TraceRun]) -> list[Answer]:
    with tempfile.TemporaryDirectory(prefix="canvass-traces-") as folder:
        module = Path(folder) / f"{_ROOT_MODULE}.tla"
        module.write_text(module_text(traces), encoding="ascii")
        limits = TlcOptions(
            heap_mib=2048,
            stack_mib=512,
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

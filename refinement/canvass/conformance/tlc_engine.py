"""The second engine: TLC searches for a behaviour of ``Cluster.tla`` that matches a run.

`check_with_tlc` gives whole runs to `TraceSpec.tla`, many in one run of TLC, and gives the same
verdicts as the first engine. It uses neither the canonical form nor state graphs, oracle, causality
or monitors, so that the engines can be compared. It says where TLC's longest explanation of a run
ends; the first engine says more. `tlc_engine_runs` writes runs for TLC.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

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
)
from canvass.conformance.verify import Unit, path_of
from canvass.conformance.whole_run import verdict_of
from canvass.spec.files import module_folders
from canvass.steps.oracle import constants_of
from canvass.tlc.config import TlcConfig
from canvass.tlc.results import Outcome
from canvass.tlc.runner import run
from canvass.tlc.values import Value
from canvass.tlc.workspace import SHORT_RUN, TlcOptions
from canvass.traces.errors import TraceError


@dataclass(slots=True)
class DeadEnd:
    """A state of the search in which no event can be explained."""

    standing: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    """For each member with an event left: whether step, message and log contents are right."""
    broken: set[tuple[int, str]] = field(default_factory=set)
    """Members and the properties that their next events would violate."""


@dataclass(slots=True)
class Answer:
    """TLC's answer about one run."""

    conforms: bool = False
    dead_ends: defaultdict[tuple[int, ...], DeadEnd] = field(
        default_factory=lambda: defaultdict(DeadEnd)
    )
    """By the number of explained events of each stream."""

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
                answers[run - 1].dead_ends[tuple(at)].standing |= {
                    member: (step == 1, message == 1, log == 1)
                    for member, (some, step, message, log) in enumerate(standing)
                    if some
                }
            case ["broken", run, at, member, names]:
                answers[run - 1].dead_ends[tuple(at)].broken |= {(member, name) for name in names}
            case _:
                raise EngineError(f"TLC printed what the trace specification does not: {value!a}")
    return answers


# --- divergences ----------------------------------------------------------------------------------


def divergences_of(trace: TraceRun, answer: Answer) -> tuple[Divergence, ...]:
    """Give the divergences at which the longest explained prefix stops.

    If a property is violated there, or a step is wrong, they are these. Otherwise they are the
    events of all members that lack a message or a log: some of these may only wait for another.
    """
    most = max(map(sum, answer.dead_ends))
    ends = [(at, end) for at, end in answer.dead_ends.items() if sum(at) == most]
    at, end = next((one for one in ends if one[1].broken), ends[0])
    stuck = sorted(end.standing.items())
    found = [
        (member, _CAUSALITY if name == LOG_STREAM else _SAFETY, name, "is violated")
        for member, name in sorted(end.broken)
    ] + [
        (member, _STEP, trace.streams[member].actions[at[member]], _WRONG_STEP)
        for member, (step, _, _) in stuck
        if not step
    ]
    lacking = [one for one in stuck if not all(one[1])] or stuck
    found = found or [
        (member, _CAUSALITY, *(_NO_LOG if message else _NO_MESSAGE))
        for member, (_, message, _) in lacking
    ]
    return tuple(
        Divergence(kind, name, member, trace.streams[member].steps[at[member]], text, most)
        for member, kind, name, text in found
    )


_STEP: Final = DivergenceClass.IMPLEMENTATION_STEP
_CAUSALITY: Final = DivergenceClass.CAUSALITY
_SAFETY: Final = DivergenceClass.SAFETY_PROPERTY
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


def check_with_tlc(units: Iterable[Unit], progress: Progress = lambda *_: None) -> CorpusVerdict:
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
    found = [one for unit in units for one in _read(unit)]
    traces = [(place, one) for place, one in enumerate(found) if isinstance(one, TraceRun)]
    verdicts = {place: one for place, one in enumerate(found) if isinstance(one, RunVerdict)}
    done = events = 0
    for batch in _batches(traces):
        answers = _ask([trace for _, trace in batch])
        for (place, trace), answer in zip(batch, answers, strict=True):
            verdicts[place] = _settle(trace, answer)
            done, events = done + 1, events + trace.events
        progress(done, len(traces), events)
    counts = Counts(len(found), events, seconds=time.perf_counter() - started, by_tlc=True)
    return CorpusVerdict(tuple(verdicts[place] for place in range(len(found))), counts)


def _read(unit: Unit) -> Iterator[TraceRun | RunVerdict]:
    """Read the runs of a folder or file; what TLC cannot be asked about is malformed."""
    path = path_of(unit)
    malformed = RunVerdict(path.name, str(path), Verdict.MALFORMED)
    try:
        if isinstance(unit, TraceError):
            raise unit
        for trace in [*read_unit(unit)]:
            reason = "" if trace.events else "the run has no events: nothing was checked"
            try:
                _ = trace.run.rules
            except ValueError as error:
                reason = str(error)
            own = replace(malformed, run_id=trace.run.run_id, facts=trace.facts, reason=reason)
            yield own if reason else trace
    except TraceError as error:
        yield replace(malformed, reason=str(error))


def _batches(traces: Iterable[tuple[int, TraceRun]]) -> Iterator[list[tuple[int, TraceRun]]]:
    """Put runs under the same rules together, up to `BATCH_EVENTS`."""
    waiting: dict[Rules, list[tuple[int, TraceRun]]] = {}
    for one in traces:
        batch = waiting.setdefault(one[1].run.rules, [])
        if batch and sum(trace.events for _, trace in batch) + one[1].events > BATCH_EVENTS:
            yield waiting.pop(one[1].run.rules)
            batch = waiting.setdefault(one[1].run.rules, [])
        batch.append(one)
    yield from waiting.values()


def _settle(trace: TraceRun, answer: Answer) -> RunVerdict:
    return verdict_of(
        *(trace.run, str(trace.path)),
        events=trace.events,
        unchecked=trace.unchecked,
        facts=trace.facts,
        diverges=not answer.conforms,
        divergences=() if answer.conforms else divergences_of(trace, answer),
    )


# --- TLC ------------------------------------------------------------------------------------------


def _ask(traces: Sequence[TraceRun]) -> list[Answer]:
    with tempfile.TemporaryDirectory(prefix="canvass-traces-") as folder:
        module = Path(folder) / f"{_ROOT_MODULE}.tla"
        module.write_text(module_text(traces), encoding="ascii")
        limits = TlcOptions(
            heap_mib=2048,
            stack_mib=512,
            check_deadlock=False,
            library=module_folders(),
            jvm_args=SHORT_RUN,
        )
        with run(module, config_of(traces[0].run.rules), limits) as tlc:
            answers = read_answers(tlc.printed_values(), len(traces))
            result = tlc.wait()
    if result.outcome is not Outcome.SUCCESS:
        about = f"{len(traces)} runs" if len(traces) > 1 else f"run {traces[0].run.run_id}"
        raise EngineError(f"TLC did not come to an end with {about}: {result.message}")
    for trace, answer in zip(traces, answers, strict=True):
        if not answer.is_given:
            raise EngineError(f"TLC said nothing about run {trace.run.run_id}")
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


def module_text(traces: Iterable[TraceRun]) -> str:
    """Give the module that holds runs as data: strings of digits and numbers of members."""
    runs = ",\n".join(map(_run_text, traces))
    return (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS TraceSpec\nGivenRuns == <<\n{runs}\n>>\n====\n"
    )


def _run_text(trace: TraceRun) -> str:
    texts = (",\n".join(f'"{text}"' for text in stream.texts) for stream in trace.streams)
    fields = {
        "whole": str(trace.whole).upper(),
        "empty": str(trace.run.initial == "empty").upper(),
        "missing": f"{{{', '.join(map(str, sorted(trace.missing)))}}}",
        "streams": f"<<\n{f',{chr(10)}'.join(f'<<{text}>>' for text in texts)}>>",
    }
    return f"[{', '.join(f'{name} |-> {value}' for name, value in fields.items())}]"

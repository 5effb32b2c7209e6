"""The second engine: TLC itself looks for a behaviour of ``Cluster.tla`` that a run is.

`check_with_tlc` hands whole runs to `TraceSpec.tla`, many in one run of TLC, and gives the same
verdicts as the first engine. It rests on nothing of the canonical form, the state graphs, the
oracle, causality or the monitors, so that the two can be held against each other. How runs are
written for TLC is in `tlc_engine_runs` and `tlc_engine_rows`, how its answers are read in
`tlc_engine_answers`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.conformance.screen import Unit, path_of
from canvass.conformance.tlc_engine_answers import Answer, divergences_of, read_answers
from canvass.conformance.tlc_engine_runs import (
    EngineError,
    TraceRun,
    read_file,
    read_folder,
    rules_of,
)
from canvass.conformance.verdict import CorpusVerdict, Counts, RunVerdict, Verdict
from canvass.spec.files import module_folders
from canvass.tlc import Outcome, TlcConfig, TlcOptions, run
from canvass.traces.errors import TraceError

BATCH_EVENTS: Final = 10_000
"""Events in one run of TLC, if they are of more than one run."""
_ROOT_MODULE: Final = "TraceSpecRuns"
_UNBOUNDED: Final = 1_000_000
"""Messages under way; more than there are events in a batch of sensible size."""

Progress = Callable[[int, int, int], object]
"""Called after each run of TLC: runs done, runs in all, events done."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What TLC may use.

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
    """A run in its place among the verdicts."""

    verdict: RunVerdict | None = None
    trace: TraceRun | None = None
    rules: Rules | None = None


def check_with_tlc(
    units: Iterable[Unit],
    options: EngineOptions | None = None,
    progress: Progress | None = None,
) -> CorpusVerdict:
    """Check run folders and files of data sets.

    Parameters
    ----------
    units
        As `canvass.conformance.check.units_of` gives them.
    options
        Limits for TLC.
    progress
        Called as the work proceeds.

    Raises
    ------
    TlcError
        If TLC cannot run, or did not come to an end with every run of a batch.
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


# --- what TLC need not be asked about -------------------------------------------------------------


def _read(unit: Unit) -> list[_Unit]:
    """Read the runs of a folder or file; a file that is broken anywhere gives no run."""
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
        rules = rules_of(trace.run)
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
    verdict = Verdict.CONFORMS
    if divergences:
        verdict = Verdict.DIVERGES
    elif trace.facts or trace.unchecked:
        verdict = Verdict.INCOMPLETE
    return RunVerdict(
        run_id=trace.run.run_id,
        path=str(trace.path),
        verdict=verdict,
        events=trace.events,
        unchecked=trace.unchecked,
        divergences=divergences,
        facts=trace.facts,
    )


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
    hardening = ", ".join(f'"{name}"' for name in sorted(rules.hardening))
    leader = rules.appointed_leader_id
    appointed = "<- NoAppointedLeader" if leader == NULL_VALUE else f"= {leader}"
    return TlcConfig(
        init="TraceInit",
        next="TraceNext",
        view="TraceView",
        constants={
            "MemberCount": f"= {rules.member_count}",
            "Revision": f'= "{rules.revision}"',
            "Hardening": f"= {{{hardening}}}",
            "AppointedLeaderId": appointed,
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

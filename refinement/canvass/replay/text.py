"""Results of replays as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canvass.replay.report import Coverage, Failure, Replay, ReplayReport, State, Step
from canvass.traces.counts import counted

_WIDTH: Final = 240
"""Characters of a line that shows a state or a step."""


def report_lines(report: ReplayReport) -> Iterator[str]:
    """Write the results of traces, and what none of them takes."""
    for one in report.replays:
        yield from _replay(one)
    if report.coverage is not None:
        yield from _coverage(report.coverage)


def _replay(one: Replay) -> Iterator[str]:
    if one.verdict.value == "MALFORMED":
        yield f"MALFORMED: {one.reason}"
        return
    failed = one.failure
    if failed is None:
        yield (
            f"{one.verdict.value}: {one.trace}: {counted(one.lines, 'line')}, a behaviour of"
            f" {one.graph}; {counted(one.possible, 'state')} possible at the end"
        )
    else:
        place = f"line {failed.line:,} of {one.lines:,}: no step of {one.graph} leads there"
        yield f"{one.verdict.value}: {one.trace}: {place}"
        if one.reason:
            yield f"  undecided   {one.reason}"
        yield f"  the line    {failed.content}"
        yield from _failure(failed)
    for remark in one.remarks:
        yield f"  {remark}"


def _failure(failed: Failure) -> Iterator[str]:
    if failed.path:
        yield "  so far, on one path"
        yield from map(_step, failed.path)
    yield f"  before it   {counted(failed.before_count, 'state')} possible"
    yield from map(_state, failed.before)
    if failed.possible_count:
        more = f", {len(failed.possible)} shown" * (len(failed.possible) < failed.possible_count)
        yield f"  from there  {counted(failed.possible_count, 'step')} possible{more}"
        yield from map(_step, failed.possible)
    if failed.nearest is not None and failed.nearest.differences:
        yield f"  nearest     state {failed.nearest.state[:12]}, which differs in"
        for each in failed.nearest.differences:
            yield f"    {each.path}: the line has {each.logged}, the state {each.state}"
    if failed.missing is None:
        yield "  missing     no further steps of the graph lead to the line"
    else:
        yield f"  missing     the line would fit after {', '.join(failed.missing)}"


def _step(one: Step) -> str:
    place = "hidden " if one.hidden else f"line {one.line} " if one.line else ""
    given = f"({one.given['arguments']})" if "arguments" in one.given else ""
    changes = ", ".join(f"{path} {value}" for path, value in one.changes) or "no change"
    return _cut(f"    {place}{one.action}{given}: {changes}")


def _state(state: State) -> str:
    values = ", ".join(f"{name} {value}" for name, value in state.values.items())
    return _cut(f"    {state.id[:12]}  {values}")


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 4]} ..."


def _coverage(found: Coverage) -> Iterator[str]:
    yield (
        f"taken: {found.taken_states:,} of {counted(found.states, 'state')},"
        f" {found.taken_steps:,} of {counted(found.steps, 'step')}"
    )
    for row in found.actions:
        yield f"  {row.action:<32} {row.taken:>8,} of {row.steps:>8,}"
    if found.missed_states:
        yield f"states that no trace takes, {len(found.missed_states)} shown"
        yield from map(_state, found.missed_states)
    if found.missed_steps:
        yield f"steps that no trace takes, {len(found.missed_steps)} shown"
        yield from map(_step, found.missed_steps)

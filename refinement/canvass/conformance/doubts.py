"""Which doubts of the timing monitor are warnings: the spec is asked for another input.

If the spec allows the same step with an input that the times allow, they contradict nothing. In an
imported run, which of several inputs the import chose says nothing of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from canvass.conformance.diagnose import LoadedRun, load
from canvass.conformance.run_timing import RunTiming
from canvass.conformance.steps import Example, example_of, rules_of, step_at
from canvass.conformance.timing import GRACEFUL, Doubt
from canvass.conformance.verdict import TimingWarning
from canvass.steps.step import Step

Allowed = Callable[[Sequence[Example]], Sequence[bool]]


def timing_warnings(
    timing: RunTiming, path: Path, run_id: str, allowed: Allowed
) -> tuple[TimingWarning, ...]:
    """Give what the times of a run contradict, by member and step.

    Parameters
    ----------
    timing
        What was found along the run's streams.
    path, run_id
        Where it is.
    allowed
        Says of steps whether the spec allows them.

    Raises
    ------
    TlcError
        If the oracle is needed and cannot run.
    """
    if not timing.doubts:
        return timing.settled(())
    loaded = load(path, run_id)
    others = [_others(loaded, doubt) for doubt in timing.doubts]
    examples = [example for each in others for example in each]
    answers = dict(zip((example.key for example in examples), allowed(examples), strict=True))
    return timing.settled(
        doubt
        for doubt, each in zip(timing.doubts, others, strict=True)
        if not any(answers[example.key] for example in each)
    )


def _others(loaded: LoadedRun, doubt: Doubt) -> Sequence[Example]:
    """Give the step with each input that the times allow."""
    row = loaded.row_of(doubt.member, doubt.step)
    step = step_at(loaded.columns, loaded.states, row)
    rules = rules_of(loaded.run)
    changed = (_changed(step, fields) for fields in doubt.instead)
    return [example for each in changed if (example := example_of(each, rules)) is not None]


def _changed(step: Step, fields: Mapping[str, Any]) -> Step:
    """Give a step with other inputs, or with another member as the leader that closed."""
    given = {name: value for name, value in fields.items() if name != GRACEFUL}
    step = replace(step, input=replace(step.input, **given))
    leader = fields.get(GRACEFUL)
    if leader is None:
        return step
    before = replace(step.before, graceful_closed_leader_id=leader)
    return replace(step, before=before, after=replace(step.after, graceful_closed_leader_id=leader))

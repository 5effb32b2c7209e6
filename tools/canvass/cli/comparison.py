"""Whether a run of TLC ended as the manifest expects. Pure: a result in, a comparison out.

Invariant: what TLC did not finish is never as expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from canvass.spec import ModelEntry

if TYPE_CHECKING:
    from canvass.tlc import CheckResult


class Standing(Enum):
    """How a result stands to the manifest."""

    AS_EXPECTED = "as expected"
    NOT_AS_EXPECTED = "not as expected"
    NOT_CHECKED = "not checked"
    """TLC could not run, or did not come to an end: nothing is known of the model."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A standing, with the reason when it is not the expected one."""

    standing: Standing
    reason: str = ""


def compare(entry: ModelEntry, result: CheckResult, *, workers: int, as_listed: bool) -> Comparison:
    """Hold a result to the manifest.

    Parameters
    ----------
    entry
        What is expected.
    result
        What TLC found.
    workers
        How many workers searched. With several, which states are seen before a violation differs
        from run to run, and so does the depth of the search.
    as_listed
        Whether the model was run in the manifest's own mode; counts are compared only then.

    Returns
    -------
    Comparison
        The first difference: outcome, then the violated property, then the counts.
    """
    if not (result.ok or result.outcome.is_violation):
        return Comparison(Standing.NOT_CHECKED, result.message)

    found = result.outcome.value
    if found != entry.expected.value:
        what = f"{found} ({result.violated})" if result.violated else found
        return _differs(f"expected {entry.expected.value}, found {what}")
    if entry.violates is not None and result.violated != entry.violates:
        return _differs(f"expected {entry.violates} to be violated, found {result.violated}")

    repeatable = workers == 1
    counts = (
        ("distinct states", entry.distinct_states, result.distinct, repeatable or result.ok),
        ("depth", entry.depth, result.depth, repeatable),
    )
    for name, expected, counted, comparable in counts:
        if as_listed and comparable and expected is not None and counted != expected:
            return _differs(f"expected {expected:,} {name}, found {_number(counted)}")
    return Comparison(Standing.AS_EXPECTED)


def _differs(reason: str) -> Comparison:
    return Comparison(Standing.NOT_AS_EXPECTED, reason)


def _number(count: int | None) -> str:
    return "none" if count is None else f"{count:,}"

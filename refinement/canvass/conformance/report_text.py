"""A divergence as a person reads it in a terminal: what was, what happened, what was allowed.

Lines of text, each with a style that a terminal may show; no meaning is in the style alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from canvass.conformance.explain import Difference, Explanation
from canvass.conformance.report import CLASS_TEXTS
from canvass.conformance.verdict import DivergenceClass
from canvass.lanes.model import visible
from canvass.traces.schema import Event, encode

Style: TypeAlias = Literal["", "title", "bad", "dim"]

_MAX_LINES: Final = 40
_OF_STEPS: Final = (DivergenceClass.IMPLEMENTATION_STEP, DivergenceClass.INSTRUMENTATION_GAP)


def divergence_lines(explanation: Explanation) -> Iterator[tuple[str, Style]]:
    """Tell a divergence, line by line."""
    for text, style in _lines(explanation):
        yield visible(text), style


def _lines(explanation: Explanation) -> Iterator[tuple[str, Style]]:
    divergence = explanation.divergence
    head = f"{explanation.run_id}, member {divergence.member}, step {divergence.step}"
    yield f"{head}: {CLASS_TEXTS[divergence.kind]}", "bad"
    yield f"  {divergence.name}: {divergence.text}", ""
    yield "", ""
    yield "  The member's steps up to here", "title"
    for event in (*explanation.earlier, explanation.event):
        yield f"    {_event(event)}", ""
    if explanation.changed:
        yield "", ""
        yield "  Observed changes", "title"
        for change in explanation.changed:
            yield f"    {change.field}: {change.observed} -> {change.allowed}", ""
    yield from _alternatives(explanation)
    if explanation.operator is not None:
        operator = explanation.operator
        yield "", ""
        yield f"  {operator.module}.tla:{operator.line}", "title"
        for line in operator.lines[:_MAX_LINES]:
            yield f"    {line}", "dim"


def _alternatives(explanation: Explanation) -> Iterator[tuple[str, Style]]:
    if explanation.note:
        yield "", ""
        yield f"  {explanation.note}", ""
    for number, differences in enumerate(explanation.alternatives, 1):
        yield "", ""
        yield (
            f"  What the spec allows instead ({number} of {len(explanation.alternatives)})",
            "title",
        )
        for line in _alternative(differences):
            yield f"    {line}", ""
    if explanation.divergence.kind in _OF_STEPS and not explanation.note:
        if not explanation.action_enabled:
            yield "", ""
            yield "  The action is not enabled in the state before it.", ""
            for part in explanation.failing:
                yield f"    as its guard in the spec says: {part}", ""
        yield f"  Enabled on the same input: {', '.join(explanation.enabled) or 'none'}", ""


def _alternative(differences: Iterable[Difference]) -> Iterator[str]:
    for difference in differences:
        was = f" (was {difference.before})" if difference.before else ""
        yield (
            f"{difference.field}: observed {difference.observed}, allowed {difference.allowed}{was}"
        )


def _event(event: Event) -> str:
    given = event.input
    parts = [f"{event.step:>6}  {event.action.value}"]
    if given.message is not None:
        parts.append(f"<- {given.from_} {encode(given.message).decode()}")
    parts += [
        f"{name}={getattr(given, name)}"
        for name in ("position", "leadership_term_id", "graceful_closed_leader_id")
        if getattr(given, name) != -1
    ]
    parts += [f"-> {send.to} {type(send.message).__name__}" for send in event.sends]
    return "  ".join(parts)

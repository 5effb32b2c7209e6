"""A divergence as a person reads it: what was, what happened, what the spec would have allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.conformance.explain import Difference, Explanation
    from canvass.traces.schema import Event

_MAX_LINES: Final = 40


def show_divergence(console: Console, explanation: Explanation) -> None:
    """Print the report of one divergence."""
    from rich.text import Text

    from canvass.conformance.report import CLASS_TEXTS

    divergence = explanation.divergence
    head = f"{explanation.run_id}, member {divergence.member}, step {divergence.step}"
    console.print(Text(f"{head}: {CLASS_TEXTS[divergence.kind]}", "bold red"))
    console.print(Text(f"  {divergence.name}: {divergence.text}"))
    console.print(Text("\n  The member's steps up to here", "bold"))
    for event in (*explanation.earlier, explanation.event):
        console.print(Text(f"    {_event(event)}"))
    if explanation.changed:
        console.print(Text("\n  Observed changes", "bold"))
        for change in explanation.changed:
            console.print(Text(f"    {change.field}: {change.observed} -> {change.allowed}"))
    _show_alternatives(console, explanation)
    if explanation.operator is not None:
        operator = explanation.operator
        console.print(Text(f"\n  {operator.module}.tla:{operator.line}", "bold"))
        for line in operator.lines[:_MAX_LINES]:
            console.print(Text(f"    {line}", "dim"))


def _show_alternatives(console: Console, explanation: Explanation) -> None:
    from rich.text import Text

    if explanation.note:
        console.print(Text(f"\n  {explanation.note}"))
    for number, differences in enumerate(explanation.alternatives, 1):
        title = f"\n  What the spec allows instead ({number} of {len(explanation.alternatives)})"
        console.print(Text(title, "bold"))
        for line in _alternative(differences):
            console.print(Text(f"    {line}"))
    kind = explanation.divergence.kind.value
    if kind in ("IMPLEMENTATION_STEP", "INSTRUMENTATION_GAP") and not explanation.note:
        if not explanation.action_enabled:
            console.print(Text("\n  The action is not enabled in the state before it."))
        enabled = ", ".join(explanation.enabled) or "none"
        console.print(Text(f"  Enabled on the same input: {enabled}"))


def _alternative(differences: Iterable[Difference]) -> Iterable[str]:
    for difference in differences:
        was = f" (was {difference.before})" if difference.before else ""
        yield (
            f"{difference.field}: observed {difference.observed}, allowed {difference.allowed}{was}"
        )


def _event(event: Event) -> str:
    from canvass.traces.schema import encode

    given = event.input
    parts = [f"{event.step:>6}  {event.action.value}"]
    if given.message is not None:
        parts.append(f"<- {given.from_} {encode(given.message).decode()}")
    facts = (
        f"{name}={getattr(given, name)}"
        for name in ("position", "leadership_term_id", "graceful_closed_leader_id")
        if getattr(given, name) != -1
    )
    parts += facts
    parts += [f"-> {send.to} {type(send.message).__name__}" for send in event.sends]
    return "  ".join(parts)

"""What a run of TLC found: :class:`CheckResult` and its parts. Plain data; ``verdict`` fills it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from canvass.tlc.convert import to_itf_trace
from canvass.tlc.errors import RunError
from canvass.tlc.events import ActionCoverage, TraceState


class Outcome(Enum):
    """How a run ended. Only ``SUCCESS`` is a pass."""

    SUCCESS = "success"
    SAFETY = "safety"
    """An invariant, or a property about single steps (``[][A]_v``), is violated."""
    LIVENESS = "liveness"
    """A temporal property is violated by an infinite behaviour."""
    DEADLOCK = "deadlock"
    ASSUMPTION = "assumption"
    """An ``ASSUME`` is false, or (newer versions) a ``POSTCONDITION``."""
    ASSERTION = "assertion"
    """An ``Assert`` of the specification failed."""
    EVALUATION_ERROR = "evaluation error"
    PARSE_ERROR = "parse error"
    CONFIG_ERROR = "config error"
    STATE_SPACE_TOO_LARGE = "state space too large"
    SYSTEM_ERROR = "system error"
    """Out of memory, a full disk, a signal, a broken jar, arguments that TLC does not know."""
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    """The caller left early."""
    UNKNOWN = "unknown"

    @property
    def is_violation(self) -> bool:
        """Whether TLC ran and found the specification to violate what it claims."""
        return self in _VIOLATIONS


_VIOLATIONS: Final = frozenset(
    {Outcome.SAFETY, Outcome.LIVENESS, Outcome.DEADLOCK, Outcome.ASSUMPTION, Outcome.ASSERTION}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """One error that TLC reported, with the behaviour that shows it.

    Attributes
    ----------
    outcome : Outcome
        Of which kind.
    name : str or None
        The violated property, assumption or invariant by its name, where TLC says it or it follows
        from the configuration.
    message : str
        What TLC said, as it said it.
    states : tuple of TraceState
        From the initial state on; empty when there is no behaviour to show.
    loop : int or None
        Zero-based index of the state to which the last one returns, for a lasso.
    stuttering : bool
        Whether the behaviour stays in its last state for ever; then ``loop`` is that state.
    """

    outcome: Outcome
    name: str | None
    message: str
    states: tuple[TraceState, ...] = ()
    loop: int | None = None
    stuttering: bool = False

    def to_itf(self, source: str | None = None) -> dict[str, Any]:
        """Return the behaviour as an ITF document; see :func:`~canvass.tlc.convert.to_itf_trace`.

        Raises
        ------
        ValueSyntaxError
            When a state holds a value that cannot be listed.
        """
        actions = [state.action for state in self.states]
        values = [state.values for state in self.states]
        return to_itf_trace(values, actions=actions, loop=self.loop, source=source)


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a run of TLC found.

    Attributes
    ----------
    outcome : Outcome
        ``SUCCESS`` or the reason why not.
    message : str
        One line for people.
    violations : tuple of Violation
        Errors in the order of their report; more than one only with TLC's ``-continue``.
    generated, distinct, queue : int or None
        States generated, distinct ones among them, and left on the queue. The last that TLC said,
        so after a time limit they are the progress. A simulation knows only ``generated``.
    depth : int or None
        Of the search, counted in states; after a time limit the level that was being explored.
    coverage : tuple of ActionCoverage
        The last set of numbers; empty unless asked for.
    seconds : float
        From start to end, start of Java included.
    tlc_version : str or None
        For example ``2.15``; ``None`` when TLC never spoke.
    seed : int or None
        With which TLC ran, so that a run can be repeated.
    exit_code : int or None
        Negative for a signal; ``None`` when the run did not get that far.
    argv : tuple of str
        The command.
    output : tuple of str
        What the parser (or Java before it) and standard error said, the last 400 lines of each.
    warnings : tuple of str
        The parser's and TLC's own, and a note when a success is one of a specification without any
        behaviour.
    """

    outcome: Outcome
    message: str
    violations: tuple[Violation, ...] = ()
    generated: int | None = None
    distinct: int | None = None
    queue: int | None = None
    depth: int | None = None
    coverage: tuple[ActionCoverage, ...] = ()
    seconds: float = 0.0
    tlc_version: str | None = None
    seed: int | None = None
    exit_code: int | None = None
    argv: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the outcome is ``SUCCESS``."""
        return self.outcome is Outcome.SUCCESS

    @property
    def violated(self) -> str | None:
        """Name of the first violated property."""
        return self.violations[0].name if self.violations else None

    @property
    def trace(self) -> tuple[TraceState, ...]:
        """States of the first error's behaviour, from the initial one; empty without."""
        return self.violations[0].states if self.violations else ()

    @property
    def loop(self) -> int | None:
        """Zero-based index of the state to which the trace returns, for a lasso."""
        return self.violations[0].loop if self.violations else None

    def to_itf(self, source: str | None = None) -> dict[str, Any]:
        """Return the first error's behaviour as an ITF document.

        Raises
        ------
        RunError
            When there is none.
        """
        if not self.trace:
            raise RunError(f"the result ({self.outcome.value}) has no trace to export")
        return self.violations[0].to_itf(source)

"""The result of a run of TLC, from its events and its exit code.

Invariant: a run is a success only if its exit code is 0, it reported no error, and it printed that
it found no error (a simulation: that it finished). A result that this module does not understand is
``UNKNOWN``, which is a failure.
"""

from __future__ import annotations

import re
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, Final

from canvass.tlc.output import (
    Code,
    Event,
    InitialStates,
    Message,
    OutputReader,
    ParseOutput,
    Progress,
    Severity,
    TraceState,
    read_back,
    violated_name,
)
from canvass.tlc.values import to_itf_value


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
    """Out of memory, a full disk, a signal, a broken jar, unknown arguments."""
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    """The caller ended the run early."""
    UNKNOWN = "unknown"

    @property
    def is_violation(self) -> bool:
        """Whether TLC found a violation of a claim of the specification."""
        return self in _VIOLATIONS


_VIOLATIONS: Final = frozenset(
    {Outcome.SAFETY, Outcome.LIVENESS, Outcome.DEADLOCK, Outcome.ASSUMPTION, Outcome.ASSERTION}
)

VIOLATED: Final = " is violated"


def claim_of(outcome: str, name: str | None, message: str) -> str:
    """Give a violation in a few words.

    Parameters
    ----------
    outcome
        TLC's outcome; empty if unknown.
    name
        The violated property, or the one whose evaluation failed.
    message
        TLC's message; its first paragraph describes the violation if no property is violated.
    """
    if name and outcome != Outcome.EVALUATION_ERROR.value:
        return f"{name}{VIOLATED}"
    return " ".join(message.partition("\n\n")[0].split())


@dataclass(frozen=True, slots=True)
class Violation:
    """One error that TLC reported, with the behaviour that shows it.

    Attributes
    ----------
    outcome : Outcome
        The kind of error.
    name : str or None
        Name of the violated property, assumption or invariant, if TLC or the configuration names
        it.
    message : str
        TLC's message.
    states : tuple of TraceState
        The behaviour from its initial state; empty if TLC shows none.
    loop : int or None
        Zero-based index of the state to which the last one returns, for a lasso.
    stuttering : bool
        Whether the behaviour stays in its last state for ever; then ``loop`` is its index.
    """

    outcome: Outcome
    name: str | None
    message: str
    states: tuple[TraceState, ...] = ()
    loop: int | None = None
    stuttering: bool = False

    @property
    def claim(self) -> str:
        """The violation in a few words."""
        return claim_of(self.outcome.value, self.name, self.message)

    def to_itf(self, source: str | None = None) -> dict[str, Any]:
        """Return the behaviour as an ITF document of a specification's name.

        Raises
        ------
        ValueSyntaxError
            When a state holds a value that cannot be listed.
        """
        states = []
        for index, state in enumerate(self.states):
            action = {} if state.action is None else {"action": state.action}
            values = {name: to_itf_value(value) for name, value in state.values.items()}
            states.append({"#meta": {"index": index, **action}, **values})
        about = {"format": "ITF"} | ({} if source is None else {"source": source})
        names = list(self.states[0].values) if self.states else []
        end = {} if self.loop is None else {"loop": self.loop}
        return {"#meta": about, "vars": names, "states": states, **end}


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of a run of TLC.

    Attributes
    ----------
    outcome : Outcome
        ``SUCCESS`` or the kind of failure.
    message : str
        The result in one line.
    violations : tuple of Violation
        Errors in the order of their report; more than one only with TLC's ``-continue``.
    generated, distinct, queue : int or None
        Last reported numbers of generated states, distinct states, and states left on the queue.
        After a time limit they are the progress. A simulation reports only ``generated``.
    depth : int or None
        Depth of the search in states; after a time limit the level that was being explored.
    seconds : float
        Duration, with the start of Java.
    tlc_version : str or None
        For example ``2.15``; ``None`` if TLC printed no message.
    seed : int or None
        Seed of the run; the same seed repeats the run.
    exit_code : int or None
        Negative for a signal; ``None`` if the process was not started.
    output : tuple of str
        The last 400 lines of the parser (and of Java before it), and of standard error.
    warnings : tuple of str
        Warnings of the parser and of TLC, and a note if the specification has no behaviour.
    """

    outcome: Outcome
    message: str
    violations: tuple[Violation, ...] = ()
    generated: int | None = None
    distinct: int | None = None
    queue: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    tlc_version: str | None = None
    seed: int | None = None
    exit_code: int | None = None
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
        """The states of the first violation's behaviour; empty if there are none."""
        return self.violations[0].states if self.violations else ()


OUTPUT_LINES: Final = 400
"""Number of last lines that a result keeps of the parser, and of standard error."""

_CONFIG_CODES: Final = (*range(2222, 2246), 2253, 2280, 2281, *range(5001, 5007))
_BY_MESSAGE: Final = {
    **dict.fromkeys(
        (2102, 2103, 2105, 2106, 2109, 2111, 2113, 2115, 2146, 2147), Outcome.EVALUATION_ERROR
    ),
    **dict.fromkeys(_CONFIG_CODES, Outcome.CONFIG_ERROR),
    **dict.fromkeys((2171, 3002), Outcome.PARSE_ERROR),
    **dict.fromkeys((2172, 2282), Outcome.STATE_SPACE_TOO_LARGE),
    # Among these are wrong arguments, and a folder for metadata that exists already.
    **dict.fromkeys((1001, 1002, 1003, 1005, 1101, 1102), Outcome.SYSTEM_ERROR),
    **dict.fromkeys((2100, 2101, 2162, 2163, *range(3100, 3115)), Outcome.SYSTEM_ERROR),
    **dict.fromkeys(Code.SAFETY, Outcome.SAFETY),
    2104: Outcome.ASSUMPTION,
    2114: Outcome.DEADLOCK,
    2116: Outcome.LIVENESS,
    2132: Outcome.ASSERTION,
}
"""Outcome by the code of a message, which is the same in all versions of TLC from 2.15."""
_BY_EXIT: Final = {
    10: Outcome.ASSUMPTION,
    11: Outcome.DEADLOCK,
    12: Outcome.SAFETY,
    13: Outcome.LIVENESS,
    14: Outcome.ASSERTION,
    **dict.fromkeys(Code.EXIT_EVALUATION, Outcome.EVALUATION_ERROR),
    150: Outcome.PARSE_ERROR,
    151: Outcome.CONFIG_ERROR,
    152: Outcome.STATE_SPACE_TOO_LARGE,
    153: Outcome.SYSTEM_ERROR,
    255: Outcome.SYSTEM_ERROR,
}

_BANNER: Final = re.compile(r"TLC2 Version (\S+)")
_SEED: Final = re.compile(r"\bseed (-?\d+)")
_DEPTH: Final = re.compile(r"The depth of the complete state graph search is ([\d,]+)")

# TLC's words before the text of an exception, up to the exception's class.
_EXCEPTION: Final = re.compile(
    r"TLC threw an unexpected exception\..*?The exception was an? \S+\s*:? ?", re.DOTALL
)
_SUMMARY_MAX: Final = 300
_PARSER_PROGRESS: Final = re.compile(r"(?:Parsing file|Semantic processing of module|Linting of) ")
_PLACE: Final = re.compile(
    r"line (?P<line>\d+), col \d+ to line \d+, col \d+ of module (?P<module>\w+)"
)
_LEXICAL: Final = re.compile(
    r"Lexical error at line (\d+), column (\d+)\.\s+Encountered: \S+ (?:\((\d+)\))?"
)
_STACK_OVERFLOW: Final = "java.lang.StackOverflowError"
_STACK_HINT: Final = (
    "Java's stack overflowed: raise stack_mib, or the specification recurs for ever."
)
_HEAP_EXHAUSTED: Final = re.compile(r"GC overhead limit exceeded|Java heap space|OutOfMemoryError")
_HEAP_HINT: Final = "Java ran out of memory: raise the heap (--heap, heap_mib)."


class ResultBuilder:
    """Reads the lines of a run, and makes its result. It keeps no user output.

    Parameters
    ----------
    properties
        Names of the temporal properties in the configuration. TLC 2.15 does not name a violated
        property of behaviours. For a property of steps that is part of a conjunction, it gives the
        place instead of the name. If there is only one property, it is the violated one; else the
        message lists all.

    Attributes
    ----------
    violations : list of Violation
        The errors so far.
    """

    def __init__(self, properties: Sequence[str] = ()) -> None:
        self._properties = tuple(properties)
        self._reader = OutputReader()
        self._result = CheckResult(outcome=Outcome.UNKNOWN, message="")
        self.violations: list[Violation] = []
        self._warnings: list[str] = []
        self._parser: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._initial_states: int | None = None
        self._claims_success = False
        self._finished = False
        self._simulation = False

    def feed(self, line: str) -> list[Event]:
        """Take one line without its line end and give the events that it completes."""
        events = list(self._reader.feed(line))
        for event in events:
            self._add(event)
        return events

    def _add(self, event: Event) -> None:
        match event:
            case Message():
                self._message_of(event)
            case TraceState():
                if not self.violations:  # A behaviour that a simulation wrote has no error.
                    self.violations.append(Violation(Outcome.UNKNOWN, None, ""))
                self._extend(states=(*self.violations[-1].states, event))
            case Progress():
                self._set(generated=event.generated, distinct=event.distinct, queue=event.queue)
                if event.depth is not None:
                    self._set(depth=event.depth)
            case ParseOutput(line=line) if not _PARSER_PROGRESS.match(line):
                self._parser.append(line)
            case InitialStates(distinct=distinct):
                self._initial_states = distinct
            case _:
                pass

    def _message_of(self, message: Message) -> None:
        code, text = message.code, message.text
        states = len(self.violations[-1].states) if self.violations else 0
        if code == Code.BACK_TO_STATE and states and (number := read_back(text)):
            self._extend(loop=number - 1)
        elif code == Code.STUTTERING and states:
            self._extend(stuttering=True, loop=states - 1)
        elif code == Code.DEPTH and (found := _DEPTH.match(text)):
            self._set(depth=int(found[1].replace(",", "")))
        elif code == Code.VERSION and (found := _BANNER.match(text)):
            self._set(tlc_version=found[1])
        elif code in Code.MODE_CHECK or code == Code.MODE_SIMULATE:
            self._simulation = code == Code.MODE_SIMULATE
            self._set(seed=int(found[1]) if (found := _SEED.search(text)) else None)
        elif code == Code.SUCCESS:
            self._claims_success = True
        elif code == Code.FINISHED:
            self._finished = True
        elif message.severity in (Severity.ERROR, Severity.BUG):
            self._error(message)
        elif message.severity is Severity.WARNING:
            self._warnings.append(text)

    def _set(self, **changes: object) -> None:
        self._result = replace(self._result, **changes)  # type: ignore[arg-type]

    def _extend(self, **changes: object) -> None:
        self.violations[-1] = replace(self.violations[-1], **changes)  # type: ignore[arg-type]

    def _error(self, message: Message) -> None:
        if message.code in Code.INTRODUCTIONS:
            return
        text = _EXCEPTION.sub("", message.text, count=1).strip()
        found = (*message.inner, message.code)
        # TLC 2.15 may report these two errors as an exception of the specification.
        if message.code == Code.STACK_OVERFLOW or _STACK_OVERFLOW in text[:200]:
            found = (Code.STACK_OVERFLOW,)
            text = f"{_STACK_HINT}\n\n{text}"
        elif message.code in Code.OUT_OF_MEMORY or _HEAP_EXHAUSTED.search(text[:200]):
            found = (min(Code.OUT_OF_MEMORY),)
            text = f"{_HEAP_HINT}\n\n{text}"
        outcome = next(
            (_BY_MESSAGE[code] for code in found if code in _BY_MESSAGE), Outcome.UNKNOWN
        )
        if self.violations and not outcome.is_violation:
            # TLC explains the previous error.
            self._extend(message=f"{self.violations[-1].message}\n\n{text}")
            return
        name = violated_name(message.text)
        unnamed = outcome is Outcome.LIVENESS and name is None
        if unnamed or _PLACE.fullmatch(name or ""):
            if len(self._properties) == 1:
                name = self._properties[0]
            elif unnamed and self._properties:
                text = f"{text} TLC does not say which of {', '.join(self._properties)}."
        self.violations.append(Violation(outcome, name, text))

    def result(
        self,
        *,
        exit_code: int | None,
        stopped: Outcome | None = None,
        seconds: float,
        stderr: Iterable[str] = (),
    ) -> CheckResult:
        """Return the result.

        Parameters
        ----------
        exit_code
            Exit code of the process, negative for a signal; ``None`` if it was not started.
        stopped
            ``TIMEOUT`` or ``INTERRUPTED`` if the run was killed.
        seconds
            As in the result.
        stderr
            Lines of standard error.
        """
        spoke = self._reader.messages > 0
        errors = [line for line in stderr if line.strip()]
        if stopped is not None and not (exit_code is not None and exit_code >= 0):
            outcome = stopped
        elif exit_code is None or exit_code < 0 or not spoke:
            outcome = Outcome.UNKNOWN if exit_code is None else Outcome.SYSTEM_ERROR
        elif exit_code == 0:
            outcome = self._at_success()
        else:
            outcome = self._at_failure(exit_code)
        # The exit code decides the kind of an exception that has no code of its own.
        found = [
            one if one.outcome.is_violation else replace(one, outcome=outcome)
            for one in self.violations
        ]
        shown = [one for one in found if one.states or one.outcome.is_violation]
        output = (*self._parser, *errors[-OUTPUT_LINES:])
        return replace(
            self._result,
            outcome=outcome,
            message=self._message(outcome, exit_code, spoke, seconds, errors),
            violations=tuple(shown),
            seconds=seconds,
            exit_code=exit_code,
            output=output,
            warnings=(*self._of_parser(outcome), *self._warnings, *self._doubts(outcome)),
        )

    def _of_parser(self, outcome: Outcome) -> list[str]:
        """Return the parser's warnings; if the parser fails, they are errors."""
        return [] if outcome is Outcome.PARSE_ERROR else list(_parser_warnings(self._parser))

    def _doubts(self, outcome: Outcome) -> list[str]:
        """Return a warning for a success without any behaviour."""
        if outcome is Outcome.SUCCESS and self._initial_states == 0:
            return ["No state satisfies the initial predicate: no behaviour was checked."]
        return []

    def _at_success(self) -> Outcome:
        if self.violations:
            return self.violations[0].outcome
        says_so = self._claims_success or self._simulation
        whole = self._finished and not self._reader.truncated
        return Outcome.SUCCESS if says_so and whole else Outcome.UNKNOWN

    def _at_failure(self, exit_code: int) -> Outcome:
        reported = self.violations[0].outcome if self.violations else Outcome.UNKNOWN
        if exit_code not in _BY_EXIT:
            # With unknown arguments TLC's exit code is 1.
            return reported if reported is Outcome.SYSTEM_ERROR else Outcome.UNKNOWN
        if exit_code in Code.EXIT_EVALUATION and reported is Outcome.CONFIG_ERROR:
            # TLC has one message for an undefined name in the configuration and in an evaluation.
            return Outcome.EVALUATION_ERROR
        return _BY_EXIT[exit_code] if reported is Outcome.UNKNOWN else reported

    def _message(
        self,
        outcome: Outcome,
        exit_code: int | None,
        spoke: bool,
        seconds: float,
        stderr: Sequence[str],
    ) -> str:
        first = self.violations[0] if self.violations else None
        if outcome is Outcome.SUCCESS:
            return "No error has been found."
        if outcome is Outcome.TIMEOUT:
            return f"Stopped after {seconds:.1f} s by the time limit."
        if outcome is Outcome.INTERRUPTED:
            return f"Interrupted after {seconds:.1f} s."
        if exit_code is not None and exit_code < 0:
            return f"Java was ended by {_signal_name(-exit_code)}."
        if outcome is Outcome.PARSE_ERROR:
            return _parser_summary(self._parser) or _summary(first.message if first else "")
        if outcome is Outcome.LIVENESS and first and first.name:
            return f"Temporal property {first.name} is violated."
        if first:
            head = _summary(first.message.partition("\n\n")[0])
            return f"{head[:-1]}." if head.endswith(":") else head
        line = next((line for line in (*stderr, *self._parser) if line.strip()), "")
        reason = "TLC did not say that it found no error" if spoke else "TLC said nothing"
        return _summary(f"{reason} (exit code {exit_code}){': ' + line if line else '.'}")


def _parser_warnings(lines: Iterable[str]) -> Iterator[str]:
    """Yield each paragraph that follows a place, in one line with the place."""
    paragraphs = "\n".join(lines).split("\n\n")
    for place, text in pairwise(paragraph.strip() for paragraph in paragraphs):
        if _PLACE.fullmatch(place) and text:
            yield _summary(f"{place}: {text.removeprefix('Warning: ')}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _summary(text: str) -> str:
    """Return the text on one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _SUMMARY_MAX else line[: _SUMMARY_MAX - 3] + "..."


def _character(code: str | None) -> str:
    """Name the character that the parser refuses, by its code, as the parser escapes some."""
    if code is None or int(code) == ord("\n"):
        return "end of the file" if code is None else "end of the line"
    return f"character {chr(int(code))} (U+{int(code):04X})"


def _parser_summary(lines: Iterable[str]) -> str:
    """Return file, line and text of the parser's first error in one line; empty without one."""
    said = [line.strip() for line in lines if line.strip()]
    for index, line in enumerate(said):
        rest = said[index + 1 : index + 3]
        if found := _LEXICAL.match(line):
            module = next((one.split()[-1] for one in said if one.startswith("In module ")), "")
            what = f"unexpected {_character(found[3])}"
            return _summary(f"{module}.tla:{found[1]}: lexical error at column {found[2]}: {what}")
        if line.startswith("***Parse Error***") and rest:
            module = next((one.split()[-1] for one in said if one.startswith("In module ")), "")
            # The line number is in the first line of the complaint, or else in the second one.
            complaint = rest[0] if re.search(r"line \d", rest[0]) else " ".join(rest)
            found = re.search(r"line (\d+)", complaint)
            place = f"{module}.tla:{found[1]}: " if module and found else ""
            return _summary(f"{place}{complaint}")
        if line.startswith(("*** Errors:", "*** Abort messages:")) and len(rest) == 2:
            found = _PLACE.fullmatch(rest[0])
            place = f"{found['module']}.tla:{found['line']}: " if found else ""
            reason = rest[1]
            if reason.startswith("Could not parse module") and not said[0].startswith("Fatal"):
                place, reason = f"{rest[0].removeprefix('In module ')}.tla: ", said[0]
            return _summary(f"{place}{reason}")
    return next((_summary(line) for line in said if "rror" in line or "xception" in line), "")

"""A counterexample of TLC, read from a file: its states as trees, and lanes for a cluster.

Four formats are read: canvass's own JSON and ITF, which ``canvass check --export`` writes (other
tools write ITF, too); the text that TLC prints; and the JSON of its option ``-dumpTrace json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from canvass.browser import api
from canvass.browser.explanations import hazards_in
from canvass.browser.false_parts import formula
from canvass.browser.labels import tree_changes
from canvass.browser.limits import LISTED, bounded
from canvass.browser.runs import lanes_of
from canvass.conformance.diagnose import find_operator
from canvass.lanes.of_counterexample import (
    acting_member,
    action_title,
    cluster_diagram,
    is_cluster,
    value_text,
)
from canvass.tlc.changes import SCHEMA, VIOLATED, CounterexampleDocument, StepRecord, claim_of
from canvass.tlc.convert import to_itf_value
from canvass.tlc.printed import PrintedError, read_printed
from canvass.tlc.results import Violation

_MODEL: Final = re.compile(r"\bMCHazard(\d|10)(?!\d)")
"""The name of a model that shows a hazard has the hazard's number."""
MAX_BYTES: Final = 256 << 20
"""Largest file: with 10 kB for a state of a cluster, it has 25,000 states."""


class CounterexampleError(Exception):
    """A file is not a counterexample; the message is one line."""


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """A counterexample, read from a file."""

    title: str
    claim: str
    explanation: tuple[str, ...]
    loop: int | None
    """Number of the state, from 1."""
    stuttering: bool
    actions: tuple[str, ...]
    """The action that led to each state, empty for the first."""
    states: tuple[dict[str, Any], ...]
    values: tuple[Mapping[str, Any], ...] = ()
    """The states in ITF."""
    folder: Path = Path()
    """The folder of the file."""

    @property
    def property(self) -> str:
        """The violated property; empty if the source names none."""
        return self.claim.removesuffix(VIOLATED) if self.claim.endswith(VIOLATED) else ""

    def view(self, source_id: str) -> api.CounterexampleView:
        """Describe the counterexample for the page."""
        diagram = cluster_diagram(self.states, self.actions, self.claim)
        shown = self.states[:LISTED]
        name = self.property
        before: Sequence[dict[str, Any] | None] = (None, *shown[:-1])
        return api.CounterexampleView(
            id=source_id,
            title=self.title,
            claim=self.claim,
            property=name,
            operator=find_operator(name) if name and diagram is not None else None,
            explanation=self.explanation,
            loop=self.loop,
            stuttering=self.stuttering,
            states=tuple(
                api.CounterexampleState(
                    number=number,
                    action=action if diagram is None else action_title(action),
                    acting=acting(old, new, action),
                    changes=() if old is None else tree_changes(old, new),
                    tree=bounded(new),
                )
                for number, (old, new, action) in enumerate(
                    zip(before, shown, self.actions, strict=False), 1
                )
            ),
            states_total=len(self.states),
            lanes=None if diagram is None else lanes_of(diagram, 0, len(diagram.events)),
            hazards=hazards_in(_MODEL.sub(r"HZ\1 ", self.title), *self.explanation),
        )

    @lru_cache(maxsize=16)  # noqa: B019 (a few counterexamples are kept)
    def formula(self) -> api.Formula:
        """Give the definition of the violated property, and its false parts in each state."""
        return formula(self.title, self.property, self.values, self.folder)


def read_counterexample(path: Path) -> Counterexample:
    """Read a file: ``*.json`` as JSON, any other as text that TLC printed.

    Raises
    ------
    CounterexampleError
        If the file is not a counterexample.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CounterexampleError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        if path.suffix != ".json":
            return _printed(path)
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        if document.get("schema") == SCHEMA:
            own = _own(msgspec.convert(document, CounterexampleDocument))
            return replace(own, folder=path.parent)
        if isinstance(document.get("states"), list):
            return _itf(document, path)
        if "counterexample" in document:
            return _itf(msgspec.convert(document["counterexample"], _Dump).as_itf(), path)
    except OSError as error:
        raise CounterexampleError(f"{path}: {error.strerror}") from None
    except (msgspec.ValidationError, TypeError) as error:
        raise CounterexampleError(f"{path}: not a counterexample: {error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CounterexampleError(f"{path}: not JSON: {error}") from None
    except (LookupError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise CounterexampleError(f"{path}: not a counterexample: {reason}") from None
    raise CounterexampleError(f"{path}: neither {SCHEMA} nor ITF nor -dumpTrace json of TLC")


def _own(document: CounterexampleDocument) -> Counterexample:
    return Counterexample(
        title=document.model,
        claim=claim_of(document.outcome, document.violated, document.message),
        explanation=document.explanation,
        loop=document.loop,
        stuttering=document.stuttering,
        actions=tuple(_titled(step.action, step.arguments) for step in document.steps),
        states=tuple(map(_reached, document.steps)),
        values=tuple(step.state or {} for step in document.steps),
    )


def counterexample_of(violation: Violation, title: str) -> Counterexample:
    """Give the behaviour of a violation that TLC found."""
    found = _itf(violation.to_itf(), Path(title))
    claim = claim_of(violation.outcome.value, violation.name, violation.message)
    return replace(found, claim=claim)


def _reached(step: StepRecord) -> dict[str, Any]:
    if step.state is not None:
        return _state(step.state)
    if step.text is UNSET:
        raise TypeError("a step has neither a state nor a text")
    return {"text": step.text}


def _itf(document: Mapping[str, Any], path: Path) -> Counterexample:
    states = document["states"]
    metas = [state.get("#meta") or {} for state in states]
    source = (document.get("#meta") or {}).get("source")
    loop = msgspec.convert(document.get("loop"), int | None)
    return Counterexample(
        title=path.name,
        claim=f"a behaviour of {source}" if source else "a behaviour",
        explanation=(),
        loop=None if loop is None else loop + 1,
        stuttering=False,
        actions=tuple(_titled(meta.get("action"), None) for meta in metas),
        states=tuple(_state(state) for state in states),
    )


_Numbered = tuple[int, dict[str, Any]]


class _Dump(msgspec.Struct):
    """The content of ``-dumpTrace json``: numbered states, and the actions between states."""

    state: list[_Numbered]
    action: list[tuple[_Numbered, dict[str, Any], _Numbered]]

    def as_itf(self) -> dict[str, Any]:
        """Give the counterexample as a document of ITF."""
        states = [{**values, "#meta": {}} for _, values in sorted(self.state)]
        loop = None
        for (before, _), action, (after, _) in self.action:
            if after > before:
                states[after - 1]["#meta"] = {"action": action["name"]}
            else:  # The end of a lasso.
                loop = after - 1
        return {"states": states, "loop": loop}


def _printed(path: Path) -> Counterexample:
    """Read text that TLC printed; errors name the line."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            found = read_printed(lines)
        trees = found.values()
    except PrintedError as error:
        place = path if error.line is None else f"{path}:{error.line}"
        raise CounterexampleError(f"{place}: {error.reason}") from None
    except UnicodeDecodeError:
        raise CounterexampleError(f"{path}: not text in UTF-8") from None
    violation = found.violation
    message = violation.message or "a behaviour"
    rest = message.split("\n\n")[1:]
    more = [f"{found.more:,} more follow in the file."] if found.more else []
    values = [{name: to_itf_value(value) for name, value in tree.items()} for tree in trees]
    return Counterexample(
        title=found.module or path.name,
        claim=claim_of("", violation.name, message),
        explanation=tuple(" ".join(one.split()) for one in (*rest, *more)),
        loop=None if violation.loop is None or violation.stuttering else violation.loop + 1,
        stuttering=violation.stuttering,
        actions=tuple(_titled(state.action, state.arguments) for state in violation.states),
        states=tuple(map(_state, values)),
        values=tuple(values),
        folder=path.parent,
    )


def _titled(action: Any, arguments: Any) -> str:
    name = "" if action is None else str(action)
    return f"{name}({arguments})" if arguments else name


def _state(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in state.items() if name != "#meta"}


def plain(value: Any) -> Any:
    """Convert a value of ITF: sequences and sets become lists, functions become mappings."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    special = next((name for name in value if name.startswith("#")), None)
    if special is None:
        return {name: plain(one) for name, one in value.items()}
    inside = value[special]
    if special == "#bigint":
        return int(inside)
    if special in ("#tup", "#set"):
        return [plain(one) for one in inside]
    if special == "#map":
        return {value_text(plain(key)): plain(one) for key, one in inside}
    return str(inside)


def acting(before: dict[str, Any] | None, after: dict[str, Any], action: str) -> str:
    """Name the member that takes a step of a cluster; empty for other models."""
    if before is None or not (is_cluster(before) and is_cluster(after)):
        return ""
    return f"member {acting_member(before, after, action)}"

r"""A counterexample of TLC, read from a file: its states, lanes, and what is false in each state.

Four formats are read: canvass's own JSON and ITF, which ``canvass check --export`` writes (other
tools write ITF, too); the text that TLC prints; and the JSON of its option ``-dumpTrace json``.

SANY gives the places of the parts of the violated property: the conjuncts of a conjunction, the
right side of an implication, the body of ``\A``. TLC evaluates the parts in one state after the
other. If the property is about steps, a part counts as false in the state to which the step leads.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element

import msgspec
from msgspec import UNSET

from canvass.browser import api
from canvass.browser.labels import tree_changes
from canvass.browser.questions import LABEL_CHARS, LISTED, at, bounded, shortened
from canvass.browser.runs import lanes_of
from canvass.browser.verdicts import hazards_in
from canvass.conformance.diagnose import Operator, find_operator
from canvass.lanes.drawing import (
    acting_member,
    action_title,
    cluster_diagram,
    is_cluster,
    value_text,
)
from canvass.proof.sany import ACTION_LEVEL, ModuleError, exported, symbols_of
from canvass.spec.files import Definition, find_definition, module_folders, spec_root
from canvass.spec.manifest import load_manifest
from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.counterexample import (
    SCHEMA,
    CounterexampleDocument,
    PrintedError,
    StepRecord,
    read_printed,
)
from canvass.tlc.errors import TlcError
from canvass.tlc.results import VIOLATED, Outcome, Violation, claim_of
from canvass.tlc.runner import SHORT_RUN, TlcOptions, TlcRun
from canvass.tlc.values import IDENTIFIER, check_identifier, format_string, to_itf_value

_MOST_STATES: Final = 200
"""Most states that TLC reads: the last ones of a counterexample."""
TIMEOUT_S: Final = 60
"""Time limit for TLC's evaluation of the parts, which usually takes some seconds."""
_MOST_PARTS: Final = 12
"""Most false parts of one state in an answer; each value of a bound variable counts separately."""
_ROOT: Final = "FalseParts"
_UNSHOWN: Final = ("$DisjList", "\\lor", "$IfThenElse", "$Case")
"""Operators whose operands are not shown: their values explain nothing, or TLC skips some."""
_JOIN: Final = ",\n"
"""The separator of a literal's items. It breaks the line, because SANY's time is quadratic in the
length of a line.
"""
State = Mapping[str, Any]


class _NoParts(Exception):
    """The property has no parts that can be shown; the message says why."""


def literal(value: Any) -> str:
    """Write a value of ITF as TLA+."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return format_string(value)
    if isinstance(value, list):
        return f"<<{_JOIN.join(map(literal, value))}>>"
    if not isinstance(value, dict):
        return str(value)
    match next(iter(value.items()), None):
        case "#bigint", text:
            return str(int(text))
        case "#unserializable", text:
            return check_identifier(text)
        case "#tup", items:
            return literal(items)
        case "#set", items:
            return f"{{{_JOIN.join(map(literal, items))}}}"
        case "#map", pairs:
            made = " @@ ".join(f"{literal(key)} :> {literal(one)}" for key, one in pairs)
            return f"({made})" if made else "<<>>"
        case _:
            fields = (f"{check_identifier(name)} |-> {literal(one)}" for name, one in value.items())
            return f"[{_JOIN.join(fields)}]"


_Spot = tuple[int, int, int, int]
"""The first line and column of an expression in its module, and the last, from 1."""


def _spot(node: Element) -> _Spot:
    begin, end, first, last = (
        int(node.findtext(f"location/{one}") or 0)
        for one in ("line/begin", "line/end", "column/begin", "column/end")
    )
    return begin, first, end, last


@dataclass
class _Formula:
    """A definition, and the parts of its body."""

    symbols: Mapping[str, Element]
    definition: Definition
    parts: list[_Spot] = field(default_factory=list)

    def text(self, spot: _Spot) -> str:
        """Give the text of an expression at its own columns: lists of conjuncts depend on them."""
        begin, first, end, last = spot
        above = self.definition.line - 1
        found = list(self.definition.lines[begin - 1 - above : end - above])
        found[-1] = found[-1][:last]
        found[0] = " " * (first - 1) + found[0][first - 1 :]
        return "\n" + "\n".join(found) + "\n"

    def name(self, node: Element) -> str:
        """Name the operator of an expression; empty if it has none."""
        uid = node.findtext("operator/*/UID")
        return "" if uid is None else (self.symbols[uid].findtext("uniquename") or "")

    def false_in(self, node: Element, bound: tuple[str, ...] = ()) -> str:
        """Write the set of the false parts of an expression, each with what makes it false."""
        here, name, operands = _spot(node), self.name(node), node.findall("operands/*")
        if node.tag == "LetInNode":
            body = node.findall("body/*")[0]
            line, column, _, _ = _spot(body)
            defined = self.text((*here[:2], line, column - 1))
            return f"{defined.rstrip('( ' + chr(10))}\n{self.false_in(body, bound)}"
        if name in ("$ConjList", "\\land"):
            return f"UNION {{{', '.join(self.false_in(one, bound) for one in operands)}}}"
        if name == "=>":
            given, implied = operands
            return f"(IF {self.text(_spot(given))} THEN {self.false_in(implied, bound)} ELSE {{}})"
        if name == "$BoundedForall" and node.find("boundSymbols/bound/tuple") is None:
            names, domains = list[str](), list[str]()
            for one in node.iterfind("boundSymbols/bound"):
                *variables, domain = (each for each in one)
                own = [self.symbols[each.findtext("UID") or ""] for each in variables]
                names += (listed := [each.findtext("uniquename") or "" for each in own])
                domains.append(f"{', '.join(listed)} \\in {self.text(_spot(domain))}")
            inner = self.false_in(operands[0], (*bound, *names))
            return f"UNION {{{inner} : {', '.join(domains)}}}"
        self.parts.append(here)
        values = [*((one, one) for one in bound), *self._operands(node, name, bound)]
        shown = ", ".join(f"<<{format_string(label)}, ToString({text})>>" for label, text in values)
        return f"(IF {self.text(here)} THEN {{}} ELSE {{<<{len(self.parts)}, <<{shown}>>>>}})"

    def _operands(
        self, node: Element, name: str, bound: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """Give the operands whose values say why a part is false."""
        if name in _UNSHOWN or node.find("boundSymbols") is not None:
            return
        for one in node.findall("operands/OpApplNode"):
            text = self.text(_spot(one))
            label = " ".join(text.split())
            if label not in bound:
                yield shortened(label, LABEL_CHARS), text


def _defined(module: Path, name: str) -> Definition:
    """Find a definition by its name."""
    found = find_definition(module.parent, module, name)
    if found is None:
        raise _NoParts(f"{module.name} does not define {name}")
    return found


def _evaluable(
    symbols: Mapping[str, Element], module: Path, name: str
) -> tuple[Definition, Element]:
    """Find the definition behind a property: itself, or the action of ``[][Action]_vars``."""
    found = _defined(module, name)
    nodes = [
        one
        for one in symbols.values()
        if one.findtext("uniquename") == name
        and one.findtext("location/filename") == found.module.stem
        and one.tag == "UserDefinedOpKind"
    ]
    if not nodes:
        raise _NoParts(f"SANY finds no {name} in {found.module.stem}")
    body = nodes[0].findall("body/*")[0]
    while (uid := body.findtext("operator/*/UID")) is not None:
        symbol, operands = symbols[uid], body.findall("operands/*")
        if symbol.findtext("uniquename") in ("[]", "$SquareAct"):
            body = operands[0]
        elif symbol.tag == "UserDefinedOpKind" and not operands:
            return _evaluable(symbols, module, symbol.findtext("uniquename") or "")
        else:
            break
    if int(body.findtext("level") or 0) > ACTION_LEVEL:
        raise _NoParts("a temporal formula speaks of the whole behaviour")
    return found, body


def _model(title: str, folder: Path) -> tuple[Path, TlcConfig]:
    """Find module and configuration of a model: beside the counterexample, or in the spec."""
    known = {one.name: one.module for one in load_manifest().models}
    for place in (folder, spec_root()) if IDENTIFIER.match(title) else ():
        module, config = place / f"{known.get(title, title)}.tla", place / f"{title}.cfg"
        if module.is_file() and config.is_file():
            return module, parse_config(config.read_text(encoding="utf-8"), config.name)
    raise _NoParts("its model and configuration are not beside the counterexample")


def _root_module(module: Path, states: Sequence[State], what: str, *, of_steps: bool) -> str:
    """Write the module that goes through the states and prints the false parts in each."""
    names = list(map(check_identifier, states[0]))
    records = (literal({name: one[name] for name in names}) for one in states)
    shown = "PrintT(<<canvassAt, FalseIn>>)"
    return "\n".join(
        (
            f"---- MODULE {_ROOT} ----\nEXTENDS {module.stem}, TLC\nVARIABLE canvassAt",
            f"CanvassStates == <<{_JOIN.join(records)}>>",
            f"FalseIn == {what}",
            "CanvassInit == canvassAt = 1",
            *(f"  /\\ {name} = CanvassStates[1].{name}" for name in names),
            "CanvassNext == canvassAt < Len(CanvassStates) /\\ canvassAt' = canvassAt + 1",
            *(f"  /\\ {name}' = CanvassStates[canvassAt + 1].{name}" for name in names),
            f"  /\\ {shown}" if of_steps else "",
            f"CanvassSay == {'TRUE' if of_steps else shown}\n====\n",
        )
    )


def _parts(
    found: _Formula, body: Element, states: Sequence[State], module: Path, config: TlcConfig
) -> Iterator[api.FalsePart]:
    """Give the false parts of a definition in each state; ``body`` is the definition's body."""
    what, of_steps = found.false_in(body), body.findtext("level") == str(ACTION_LEVEL)
    left_out = max(0, len(states) - _MOST_STATES)
    text = _root_module(module, states[left_out:], what, of_steps=of_steps)
    begin = left_out if of_steps else left_out - 1
    above = found.definition.line - 1
    for place, parts in _evaluated(text, config, module):
        for number, shown in sorted(parts)[:_MOST_PARTS]:
            line, column, end_line, end_column = found.parts[number - 1]
            values = tuple(
                f"{label} = {shortened(value, LABEL_CHARS)}"
                for label, value in shown
                if label != value
            )
            spot = line - above, column, end_line - above, end_column
            yield api.FalsePart(begin + place, *spot, values)


def _evaluated(text: str, config: TlcConfig, module: Path) -> Iterator[tuple[int, Any]]:
    """Let TLC print the false parts: for each state its number, and its parts with their values."""
    plain = TlcConfig(
        constants=config.constants,
        init="CanvassInit",
        next="CanvassNext",
        invariants=("CanvassSay",),
    )
    with tempfile.TemporaryDirectory(prefix="canvass-formula-") as scratch:
        file = Path(scratch) / f"{_ROOT}.tla"
        file.write_text(text, encoding="utf-8")
        options = TlcOptions(
            heap_mib=512,
            stack_mib=64,
            check_deadlock=False,
            timeout_s=TIMEOUT_S,
            library=(module.parent, *module_folders()),
            jvm_args=SHORT_RUN,
        )
        with TlcRun(file, plain, options) as tlc:
            printed: list[Any] = list(tlc.printed_values())
            result = tlc.wait()
    if result.outcome is not Outcome.SUCCESS:
        raise _NoParts(f"TLC: {result.message}")
    yield from printed


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

    @at("")
    def view(self, source: str) -> api.CounterexampleView:
        """Describe the counterexample for the page."""
        diagram = cluster_diagram(self.states, self.actions, self.claim)
        shown = self.states[:LISTED]
        name = self.property
        before: Sequence[dict[str, Any] | None] = (None, *shown[:-1])
        return api.CounterexampleView(
            id=source,
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

    @at("/formula")
    @lru_cache(maxsize=16)  # noqa: B019 (a few counterexamples are kept)
    def formula(self) -> api.Formula:
        """Give the definition of the violated property, and its false parts in each state.

        The folder of the file is searched for the model, before the spec of canvass.
        """
        shown: Definition | None = None
        parts: tuple[api.FalsePart, ...] = ()
        note = ""
        try:
            module, config = _model(self.title, self.folder)
            shown = _defined(module, self.property)
            symbols = symbols_of(exported(module))
            shown, body = _evaluable(symbols, module, self.property)
            parts = tuple(_parts(_Formula(symbols, shown), body, self.values, module, config))
        except (_NoParts, ModuleError, TlcError, OSError, LookupError, ValueError) as error:
            note = f"Its parts are not evaluated: {' '.join(str(error).split())}."
        operator = None
        if shown is not None:
            operator = Operator(shown.module.stem, shown.line, shown.lines)
        return api.Formula(note=note, operator=operator, parts=parts)


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
    return replace(_itf(violation.to_itf(), Path(title)), claim=violation.claim)


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

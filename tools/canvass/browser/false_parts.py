r"""The parts of a violated property that are false, in each state of a counterexample.

SANY gives the places of the parts of the definition: the conjuncts of a conjunction, the right side
of an implication, the body of ``\A``. TLC evaluates the parts in one state after the other. If the
property is about steps, a part counts as false in the state to which the step leads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element

from canvass.browser import api
from canvass.browser.limits import LABEL_CHARS, shortened
from canvass.conformance.diagnose import Operator
from canvass.proof.sany import ACTION_LEVEL, ModuleError, exported, symbols_of
from canvass.spec.files import Definition, find_definition, module_folders, spec_root
from canvass.spec.manifest import load_manifest
from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.errors import TlcError
from canvass.tlc.results import Outcome
from canvass.tlc.runner import run
from canvass.tlc.values import IDENTIFIER, check_identifier, format_string
from canvass.tlc.workspace import SHORT_RUN, TlcOptions

MOST_STATES: Final = 200
"""Most states that TLC reads: the last ones of a counterexample."""
TIMEOUT_S: Final = 60
"""Time limit for TLC's evaluation of the parts, which usually takes some seconds."""
MOST_PARTS: Final = 12
"""Most false parts of one state in an answer; each value of a bound variable counts separately."""
_ROOT: Final = "FalseParts"
_UNSHOWN: Final = ("$DisjList", "\\lor", "$IfThenElse", "$Case")
"""Operators whose operands are not shown: their values explain nothing, or TLC skips some."""
_JOIN: Final = ",\n"
"""The separator of a literal's items. It breaks the line, because SANY's time is quadratic in the
length of a line.
"""
State = Mapping[str, Any]


class NoParts(Exception):
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


Spot = tuple[int, int, int, int]
"""The first line and column of an expression in its module, and the last, from 1."""


def _spot(node: Element) -> Spot:
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
    parts: list[Spot] = field(default_factory=list)

    def text(self, spot: Spot) -> str:
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
        raise NoParts(f"{module.name} does not define {name}")
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
        raise NoParts(f"SANY finds no {name} in {found.module.stem}")
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
        raise NoParts("a temporal formula speaks of the whole behaviour")
    return found, body


def _model(title: str, folder: Path) -> tuple[Path, TlcConfig]:
    """Find module and configuration of a model: beside the counterexample, or in the spec."""
    known = {one.name: one.module for one in load_manifest().models}
    for place in (folder, spec_root()) if IDENTIFIER.match(title) else ():
        module, config = place / f"{known.get(title, title)}.tla", place / f"{title}.cfg"
        if module.is_file() and config.is_file():
            return module, parse_config(config.read_text(encoding="utf-8"), config.name)
    raise NoParts("its model and configuration are not beside the counterexample")


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


def formula(title: str, name: str, states: Sequence[State], folder: Path) -> api.Formula:
    """Give the definition of a property, and its false parts in each state.

    Parameters
    ----------
    title
        The name of the counterexample's model.
    name
        The name of the property.
    states
        The states of the counterexample: values in ITF, by variable.
    folder
        The folder that is searched for the model, before the spec of canvass.
    """
    shown: Definition | None = None
    parts: tuple[api.FalsePart, ...] = ()
    note = ""
    try:
        module, config = _model(title, folder)
        shown = _defined(module, name)
        symbols = symbols_of(exported(module))
        shown, body = _evaluable(symbols, module, name)
        parts = tuple(_parts(_Formula(symbols, shown), body, states, module, config))
    except (NoParts, ModuleError, TlcError, OSError, LookupError, ValueError) as error:
        note = f"Its parts are not evaluated: {' '.join(str(error).split())}."
    operator = None
    if shown is not None:
        operator = Operator(shown.module.stem, shown.line, shown.lines)
    return api.Formula(note=note, operator=operator, parts=parts)


def _parts(
    found: _Formula, body: Element, states: Sequence[State], module: Path, config: TlcConfig
) -> Iterator[api.FalsePart]:
    """Give the false parts of a definition in each state; ``body`` is the definition's body."""
    what, of_steps = found.false_in(body), body.findtext("level") == str(ACTION_LEVEL)
    left_out = max(0, len(states) - MOST_STATES)
    text = _root_module(module, states[left_out:], what, of_steps=of_steps)
    begin = left_out if of_steps else left_out - 1
    above = found.definition.line - 1
    for at, parts in _evaluated(text, config, module):
        for number, shown in sorted(parts)[:MOST_PARTS]:
            line, column, end_line, end_column = found.parts[number - 1]
            values = tuple(
                f"{label} = {shortened(value, LABEL_CHARS)}"
                for label, value in shown
                if label != value
            )
            spot = line - above, column, end_line - above, end_column
            yield api.FalsePart(begin + at, *spot, values)


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
        with run(file, plain, options) as tlc:
            printed: list[Any] = list(tlc.printed_values())
            result = tlc.wait()
    if result.outcome is not Outcome.SUCCESS:
        raise NoParts(f"TLC: {result.message}")
    yield from printed

"""A TLA+ module as a tree: SANY parses it, this module reads the XML that SANY exports.

The tree has the forms that :mod:`canvass.proof.smt` translates. Any other form is an error with
its place, so no part of a module is ever left out of a proof.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from canvass.tlc.programs import clean_environment, find_jar, find_java


class ModuleError(Exception):
    """A module cannot be parsed or has a form that no proof covers; the message is one line."""


class Number(NamedTuple):
    """An integer literal."""

    value: int


class Name(NamedTuple):
    """A constant or a variable of the module."""

    name: str


class Parameter(NamedTuple):
    """A bound variable, or a parameter of a definition; ``uid`` is unique in the module."""

    uid: str
    name: str


class Apply(NamedTuple):
    r"""A built-in operator, or a definition of the module if ``is_defined``.

    ``operator`` is the operator as it is typed (``/\``, ``\cup``, ``'``). An operator without a
    sign has a name in words: ``tuple``, ``set``, ``apply``, ``except``, ``at``.
    """

    operator: str
    arguments: tuple[Expression, ...]
    is_defined: bool
    place: str


class Bound(NamedTuple):
    r"""``x, y \in S``; or ``<<x, y>> \in S`` if ``is_tuple``."""

    parameters: tuple[Parameter, ...]
    domain: Expression
    is_tuple: bool


class Quantified(NamedTuple):
    r"""``\A``, ``\E`` or a set filter (``filter``) over bounds."""

    kind: str
    bounds: tuple[Bound, ...]
    body: Expression
    place: str


Expression = Number | Name | Parameter | Apply | Quantified


class Definition(NamedTuple):
    """``Name(parameters) == body``; ``is_action`` if it has a primed variable."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Expression
    is_action: bool


class Module(NamedTuple):
    """The constants, variables, assumptions and definitions of one module.

    Modules that it extends count as built in.
    """

    name: str
    constants: tuple[str, ...]
    variables: tuple[str, ...]
    assumptions: tuple[Expression, ...]
    definitions: dict[str, Definition]

    def parts(self, name: str, operator: str) -> list[Expression]:
        """The conjuncts or disjuncts of a definition, nested lists flattened."""
        if name not in self.definitions:
            raise ModuleError(f"{self.name} defines no {name}")
        return _flat(self.definitions[name].body, operator)


_SIGNS: Final = {
    "$ConjList": "/\\", "\\land": "/\\", "$DisjList": "\\/", "\\lor": "\\/", "\\lnot": "~",
    "\\equiv": "<=>", "\\leq": "<=", "\\geq": ">=", "#": "/=", "\\union": "\\cup",
    "\\intersect": "\\cap", "$Tuple": "tuple", "$SetEnumerate": "set", "$FcnApply": "apply",
    "$Except": "except", "$CartesianProd": "\\X", "$SetOfFcns": "->",
    "-.": "negative",
}  # fmt: skip
"""Operators that SANY names in another way, or that have two names."""

_QUANTIFIERS: Final = {"$BoundedForall": "\\A", "$BoundedExists": "\\E", "$SubsetOf": "filter"}


def read_module(path: Path) -> Module:
    """Parse the module of a file with SANY.

    Raises
    ------
    ModuleError
        If SANY rejects the module, with SANY's own reason, or if the module has an unknown form.
    TlcError
        If the jar or Java is missing.
    """
    return _Reader(exported(path)).module()


TIMEOUT_S: Final = 60
ACTION_LEVEL: Final = 2
"""SANY's level of a formula with primes; constants are 0, states 1, temporal formulas 3."""


def exported(path: Path) -> ElementTree.Element:
    """Parse the module of a file with SANY, and give the XML that SANY exports.

    Raises
    ------
    ModuleError
        If SANY rejects the module, with SANY's own reason, or does not end within `TIMEOUT_S`.
    TlcError
        If the jar or Java is missing.
    """
    if not path.is_file():
        raise ModuleError(f"no module at {path}")
    command = [
        str(find_java().path), "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", str(find_jar().path),
        "tla2sany.xml.XMLExporter", "-o", path.name,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=path.parent, env=clean_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ModuleError(f"{path}: SANY has not read it after {TIMEOUT_S} s") from None
    start = done.stdout.find("<?xml")
    if done.returncode or start < 0:
        raise ModuleError(f"{path}: {_reason(done.stdout + done.stderr)}")
    return ElementTree.fromstring(done.stdout[start:].encode())


def symbols_of(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """Give what SANY's table of symbols has, by the numbers to which expressions refer."""
    return {
        _text(entry, "UID"): next(each for each in entry if each.tag != "UID")
        for entry in _child(root, "context")
    }


def _reason(said: str) -> str:
    """SANY's errors on one line; SANY prints what it parsed before them."""
    passed_over = ("Parsing file", "Semantic pr")
    every = map(str.strip, said.splitlines())
    lines = [line for line in every if line and not line.startswith(passed_over)]
    return "SANY rejects it: " + " ".join(lines)[:400]


def _flat(expression: Expression, operator: str) -> list[Expression]:
    if isinstance(expression, Apply) and expression.operator == operator:
        return [each for part in expression.arguments for each in _flat(part, operator)]
    return [expression]


class _Reader:
    """From XML to the tree. SANY lists all symbols in a table, and expressions refer to them."""

    def __init__(self, root: ElementTree.Element) -> None:
        self.name = _text(root, "RootModule")
        self.symbols = symbols_of(root)

    def _declared(self, kind: str) -> tuple[str, ...]:
        """The constants, which are SANY's kind 2, or the variables, its kind 3."""
        symbols = [each for each in self.symbols.values() if each.tag == "OpDeclNode"]
        return tuple(_text(each, "uniquename") for each in symbols if _text(each, "kind") == kind)

    def module(self) -> Module:
        own = filter(self._is_own, self.symbols.values())
        return Module(
            name=self.name,
            constants=self._declared("2"),
            variables=self._declared("3"),
            assumptions=tuple(
                self.expression(_child(each, "body")[0])
                for each in self.symbols.values()
                if each.tag == "AssumeNode"
            ),
            definitions={each.name: each for each in map(self._definition, own)},
        )

    def _is_own(self, symbol: ElementTree.Element) -> bool:
        is_definition = symbol.tag == "UserDefinedOpKind"
        return is_definition and symbol.findtext("location/filename") == self.name

    def _definition(self, symbol: ElementTree.Element) -> Definition:
        name = _text(symbol, "uniquename")
        level = int(_text(symbol, "level"))
        body = _child(symbol, "body")[0]
        # Spec and other temporal formulas are not part of an inductive proof.
        tree: Expression = Name(name) if level > ACTION_LEVEL else self.expression(body)
        parameters = tuple(map(self._parameter, symbol.iterfind("params/*/FormalParamNodeRef")))
        return Definition(name, parameters, tree, level == ACTION_LEVEL)

    def _parameter(self, reference: ElementTree.Element) -> Parameter:
        uid = _text(reference, "UID")
        return Parameter(uid, _text(self.symbols[uid], "uniquename"))

    def expression(self, node: ElementTree.Element) -> Expression:
        if node.tag == "NumeralNode":
            return Number(int(_text(node, "IntValue")))
        if node.tag == "AtNode":
            return Apply("at", (), False, self._place(node))
        if node.tag == "OpApplNode":
            return self._application(node)
        raise ModuleError(f"{self._place(node)}: the form {node.tag} is not supported in a proof")

    def _application(self, node: ElementTree.Element) -> Expression:
        reference = _child(node, "operator")[0]
        symbol = self.symbols[_text(reference, "UID")]
        if symbol.tag == "FormalParamNode":
            return self._parameter(reference)
        name = _text(symbol, "uniquename")
        if symbol.tag == "OpDeclNode":
            return Name(name)
        arguments = tuple(map(self.expression, _child(node, "operands")))
        bounds = node.find("boundSymbols")
        if bounds is not None:
            if name not in _QUANTIFIERS:
                raise ModuleError(f"{self._place(node)}: {name} is not supported in a proof")
            return Quantified(
                _QUANTIFIERS[name], tuple(map(self._bound, bounds)), arguments[0], self._place(node)
            )
        return Apply(_SIGNS.get(name, name), arguments, self._is_own(symbol), self._place(node))

    def _bound(self, node: ElementTree.Element) -> Bound:
        parameters = tuple(map(self._parameter, node.iterfind("FormalParamNodeRef")))
        domain = next(each for each in node if each.tag not in ("FormalParamNodeRef", "tuple"))
        return Bound(parameters, self.expression(domain), node.find("tuple") is not None)

    def _place(self, node: ElementTree.Element) -> str:
        file = node.findtext("location/filename") or self.name
        return f"{file}.tla:{node.findtext('location/line/begin') or '?'}"


def _child(node: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = node.find(tag)
    if found is None:
        raise ModuleError(f"SANY's XML has no {tag} in {node.tag}")
    return found


def _text(node: ElementTree.Element, tag: str) -> str:
    return (_child(node, tag).text or "").strip()

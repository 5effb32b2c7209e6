"""Quantifiers, and what they go through: every state is paired with every value bound in it.

The pairs are held a part at a time, and there is a limit to how many an expression may make, so
that time and memory are bounded whatever is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from canvass.graph.interned import Kind
from canvass.graph.naming import names_in, said
from canvass.graph.syntax import Binary, Items, Node, Quantified, Unary, parts_of
from canvass.graph.tokens import PredicateError
from canvass.graph.vectors import Nodes, Numbers, Truths, Vector, present

if TYPE_CHECKING:
    from canvass.graph.csr import Rows
    from canvass.graph.evaluate import Evaluator

MAX_PAIRS: Final = 50_000_000
"""How many pairs of a state and a bound value the quantifiers of one expression may go through."""
_AT_ONCE: Final = 1 << 20
"""How many such pairs are held at a time, unless a single state has more."""

Owners = NDArray[np.int64]
"""For each value the place of the state that it is bound in."""


def quantified(evaluator: Evaluator, node: Quantified) -> Vector:
    """Evaluate ``any``, ``all`` or ``count``."""
    least = float(_least_pairs(evaluator, node, frozenset()).sum())
    if evaluator.spent[0] + least > MAX_PAIRS:
        _too_much(node.at)
    counts, sizes = _tally(evaluator, node)
    if node.operator == "any":
        return Truths(counts > 0)
    if node.operator == "all":
        return Truths(counts == sizes)
    return Numbers(counts, np.ones(len(counts), dtype=np.bool_))


def _tally(evaluator: Evaluator, node: Quantified) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count for each state the values for which the body holds, and all of them."""
    pairs = _pairs(evaluator, node)
    if pairs > MAX_PAIRS or evaluator.spent[0] > MAX_PAIRS:
        _too_much(node.at)
    if pairs > _AT_ONCE and evaluator.count > 1:
        names = frozenset(name.name for name in names_in([node]))
        parts = min(-(-pairs // _AT_ONCE), evaluator.count)
        split = np.array_split(np.arange(evaluator.count), parts)
        tallies = [_tally(evaluator.at(places, names), node) for places in split]
        return np.concatenate([one for one, _ in tallies]), np.concatenate(
            [two for _, two in tallies]
        )
    evaluator.spent[0] += pairs
    names = frozenset(name.name for name in names_in([node.body]))
    owner, value = _bound_values(evaluator, node.domain)
    inner = evaluator.at(owner, names, {node.variable: value})
    holds = inner.truths(node.body)
    counts = np.bincount(owner[holds], minlength=evaluator.count)
    return counts, np.bincount(owner, minlength=evaluator.count)


def _pairs(evaluator: Evaluator, node: Quantified) -> int:
    """Count the pairs before any is made."""
    return int(_sizes(evaluator, node.domain).sum())


def _sizes(evaluator: Evaluator, domain: Node) -> NDArray[np.int64]:
    """Count for each state the values that are gone through, if a listed one is there each time."""
    match domain:
        case Items(items=items):
            return np.full(evaluator.count, len(items), dtype=np.int64)
        case Binary(operator="..") as limits:
            _, there, widths = _range(evaluator, limits)
            sizes = np.zeros(evaluator.count, dtype=np.int64)
            sizes[there] = widths
            return sizes
        case _:
            vector = _collection(evaluator, domain)[0]
            return evaluator.kernel.sizes(vector.nodes).values


def _least_pairs(
    evaluator: Evaluator, node: Quantified, bound: frozenset[str]
) -> NDArray[np.float64]:
    """Count for each state the pairs that a quantifier and those in it go through at least.

    Of those within it that depend on what is bound, nothing is known before. No pair is made.
    """
    if any(name.name in bound for name in names_in([node.domain])):
        return np.zeros(evaluator.count)
    sizes = _sizes(evaluator, node.domain).astype(np.float64)
    inner = bound | {node.variable}
    for within in _surely_asked(node.body):
        sizes = sizes + sizes * _least_pairs(evaluator, within, inner)
    return sizes


def _surely_asked(node: Node) -> Iterator[Quantified]:
    """Give the outermost quantifiers of an expression that are evaluated in every case."""
    if isinstance(node, Quantified):
        yield node
    elif isinstance(node, Binary) and node.operator in ("and", "or", "=>"):
        yield from _surely_asked(node.left)
    else:
        for part in parts_of(node):
            yield from _surely_asked(part)


def _too_much(at: int) -> NoReturn:
    raise PredicateError(f"the quantifiers go through more than {MAX_PAIRS:,} values", at)


def _bound_values(evaluator: Evaluator, domain: Node) -> tuple[Owners, Vector]:
    match domain:
        case Items(ordered=ordered, items=items):
            return _listed(evaluator, items, repeated=ordered)
        case Binary(operator=".."):
            least, there, widths = _range(evaluator, domain)
            owner = np.repeat(there, widths)
            first = np.repeat(np.cumsum(widths) - widths, widths)
            values = least[owner] + np.arange(len(owner)) - first
            return owner, Numbers(values, np.ones(len(owner), dtype=np.bool_))
        case _:
            owner, members = members_of(evaluator, domain)
            return owner, Nodes(members)


def _listed(
    evaluator: Evaluator, items: tuple[Node, ...], *, repeated: bool
) -> tuple[Owners, Vector]:
    """Give what is listed; a set has an element once, however often it is written."""
    columns = [evaluator.kernel.keys(evaluator.vector(item)) for item in items]
    owners, values = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for place, column in enumerate(columns):
        fresh = present(Nodes(column))
        for earlier in () if repeated else columns[:place]:
            fresh &= earlier != column
        owners.append(np.flatnonzero(fresh))
        values.append(column[fresh])
    return np.concatenate(owners), Nodes(np.concatenate(values))


def _range(
    evaluator: Evaluator, node: Binary
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give where ranges begin, which states have one, and how long those are."""
    least = evaluator.numbers(node.left, "..", node.at)
    most = evaluator.numbers(node.right, "..", node.at)
    there = least.present & most.present & (least.values <= most.values)
    widths = (most.values - least.values + 1)[there]
    return least.values, np.flatnonzero(there), widths


def _collection(evaluator: Evaluator, node: Node) -> tuple[Nodes, bool]:
    """Give what is gone through, and whether it is the domain of that."""
    positions = isinstance(node, Unary) and node.operator == "DOMAIN"
    of = node.operand if isinstance(node, Unary) and positions else node
    vector = evaluator.vector(of)
    kinds = evaluator.kinds(vector)
    if not isinstance(vector, Nodes) or not all(kind >= Kind.SET for kind in kinds):
        raise PredicateError(
            f"a set, sequence or function was expected; this is {said(kinds)}", of.at
        )
    if positions and Kind.SET in kinds:
        raise PredicateError("a set has no DOMAIN", of.at)
    return vector, positions


def members_of(evaluator: Evaluator, node: Node) -> tuple[Owners, Rows]:
    """Give what a set, sequence or function of each state holds: elements, items, arguments.

    Raises
    ------
    PredicateError
        If it is anything else.
    """
    vector, positions = _collection(evaluator, node)
    owner, members = evaluator.kernel.members(vector.nodes)
    if not positions:
        return owner, members
    places = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
    numbers = evaluator.kernel.keys(Numbers(places, np.ones(len(places), dtype=np.bool_)))
    in_sequence = evaluator.kernel.kinds(vector.nodes)[owner] == Kind.SEQ
    return owner, np.where(in_sequence, numbers, members).astype(np.int32)

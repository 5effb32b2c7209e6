"""Hypothesis strategies for TLA+ values."""

from __future__ import annotations

from hypothesis import strategies as st

from canvass.tlc.values import INTEGER_MAX, INTEGER_MIN, ModelValue, Value, function

identifiers = st.from_regex(r"[A-Za-z0-9_]{0,3}[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)
model_names = identifiers.filter(lambda name: name not in ("TRUE", "FALSE"))
integers = st.integers(INTEGER_MIN, INTEGER_MAX) | st.integers(-3, 3)
strings = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\n\t\r\f"\\<>{}[]()@:|-,. /')
)
atoms = st.booleans() | integers | strings | model_names.map(ModelValue)


def _extend(parts: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    few = st.lists(parts, max_size=4)
    return st.one_of(
        few.map(frozenset),
        few.map(tuple),
        st.dictionaries(identifiers, parts, max_size=4).map(function),
        st.lists(st.tuples(parts, parts), max_size=4).map(dict).map(function),
    )


values: st.SearchStrategy[Value] = st.recursive(atoms, _extend, max_leaves=25)

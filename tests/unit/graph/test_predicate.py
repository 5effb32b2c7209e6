"""Predicates: what they mean, state by state; what is wrong is one error with its column."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from canvass.graph import predicate
from canvass.graph.dump_graph import DumpView
from canvass.graph.predicate import evaluate, parse
from canvass.graph.queries import values_at
from canvass.graph.syntax import PredicateError
from canvass.tlc.values import ModelValue
from support.examples import examples
from support.state_graphs import State, view_of


@pytest.fixture(scope="module")
def cluster() -> DumpView:
    def member(state: str, term: int) -> dict[str, Any]:
        return {"electionState": state, "term": term}

    states: list[State] = [
        {
            "member": {0: member("CANVASS", -1), 1: member("CLOSED", 0)},
            "log": {0: (), 1: (3, 4)},
            "votes": {(0, 1)},
            "pc": {ModelValue("p1"): ModelValue("cs")},
            "on": True,
            "n": 0,
        },
        {
            "member": {0: member("CLOSED", 1), 1: member("CLOSED", 1)},
            "log": {0: (5,), 1: (3, 4)},
            "votes": set(),
            "pc": {ModelValue("p1"): ModelValue("idle")},
            "on": False,
            "n": 1,
        },
    ]
    return view_of(states, [(0, "Next", 1)])


BOTH = {0, 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('member[0].electionState = "CANVASS"', {0}),
        ("member[0].electionState = 'CANVASS'", {0}),
        ('any(m in member: member[m].electionState = "CLOSED")', BOTH),
        ('all(m in member: member[m].electionState = "CLOSED")', {1}),
        ('count(m in member: member[m].electionState = "CLOSED") >= 2', {1}),
        (r'\E m \in DOMAIN member : member[m].electionState = "CANVASS"', {0}),
        (r'\A m \in {0, 1} : member[m].electionState # "CANVASS"', {1}),
        ("any(m in 0..1, member[m].term = -1)", None),
        ("any(m in 0..1: member[m].term = -1)", {0}),
        (r"/\ on /\ n = 0", {0}),
        (r"~on \/ n = 0", BOTH),
        (r"\E m \in 0..1 : member[m].term = -1 /\ n = 0", {0}),
        (r"n = 0 /\ ~\E m \in 0..1 : member[m].term = 7 \/ n = 1", {0}),
        (r"on = \E m \in member : m = 9", {1}),
        (r"\E m \in member : 1 < n < 3", None),
        ("on => n = 1", {1}),
        ("not on", {1}),
        ("log[1][2] = 4", BOTH),
        ("log[0][1] = 5", {1}),
        ("log[0][2] != 5", set()),
        ("not log[0][1] = 5", {0}),
        ("has(log[0][1])", {1}),
        ("len(log[0]) = 0", {0}),
        ("Len(log[1]) + 1 = 3", BOTH),
        ("log[0] = <<>>", {0}),
        ("log[0] = <<5>>", {1}),
        ("votes = {}", {1}),
        ("votes = {<<0, 1>>}", {0}),
        (r"<<0, 1>> \in votes", {0}),
        (r"<<0, n>> \notin votes", BOTH),
        ("3 in log[1] and 9 not in log[1]", BOTH),
        ("any(x in log[n]: x > 3)", {1}),
        ("any(k in DOMAIN log[1]: log[1][k] = 4 and k = 2)", BOTH),
        ("n in ((DOMAIN log[0]))", {1}),
        ("pc[p1] = cs", {0}),
        ("n in {0, 7}", {0}),
        ("n in 1..3", {1}),
        ("n - 1 < -n", {0}),
        ('n = "0"', set()),
        ('n != "0"', BOTH),
        ("on = TRUE", {0}),
        ('"a" = "a" and "a" != "b"', BOTH),
        ('any(s in {"zzz", "zzz"}: s = "zzz")', BOTH),
        ('count(s in {"zzz", "zzz", "y"}: true) = 2', BOTH),
        ("n in <<7, 0>>", {0}),
        ("count(x in <<n, 0, 0>>: x = 0) = 3", {0}),
        ('member[0]["electionState"] = "CLOSED"', {1}),
        ("count(f in member[0]: has(member[0][f])) = 2", BOTH),
        ("member[n].term = 1", {1}),
        ("member[member[1].term].term = 1", {1}),
        ("member[0] = member[1]", {1}),
        ("<<n, on>> = <<0, TRUE>>", {0}),
        ("<<n, 9>> != <<0, 9>>", {1}),
        ("{n, 7} = {7, 0}", {0}),
        ("{n, {9}} = {{9, 9}, 0, n}", {0}),
        ("<<n, 9>> in {<<1, 9>>, <<>>}", {1}),
        ("<<n, 7, on>>[1] = n and not has(<<n, 7>>[3])", BOTH),
        ("len(<<n, 7, 7>>) = 3 and len({n, 0}) = n + 1", BOTH),
        ("count(p in {<<1, 2>>, <<2, 1>>, <<1, 2>>}: TRUE) = 2", BOTH),
        ("any(s in {{7, n}}: any(x in s: x = 1))", {1}),
        ("any(s in <<log[1], <<n, 9>>>>: s[1] = 1)", {1}),
        ('<<n, "zzz">> = <<n, "zzz">>', BOTH),
    ],
)
def test_a_predicate_holds_where_it_should(
    cluster: DumpView, text: str, expected: set[int] | None
) -> None:
    if expected is None:
        with pytest.raises(PredicateError):
            parse(text)
        return
    found = {cluster.tree(row)["n"] for row in parse(text).rows(cluster).tolist()}

    assert expected == found


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "a value was expected, not the end"),
        ("nn = 1", 1, "no field nn; did you mean n"),
        ("votess = {}", 1, "did you mean votes"),
        ("Member[0].term = 1", 1, "did you mean member"),
        ("n = CLOSED", 5, 'did you mean "CLOSED", in quotes'),
        ("member[0].electonState = 1", 11, "did you mean electionState"),
        ("n = 1 and qq", 11, "no field qq"),
        ("false and qq", 11, "no field qq"),
        ("any(m in member: member[x].term = 1)", 25, "no field x"),
        ("n", 1, "a condition was expected; this is a number"),
        ("n < on", 3, "< needs numbers; there is a truth value"),
        ("n < 'a'", 3, "there is a string"),
        ("n.x = 1", 3, "a number has no field x"),
        (
            "any(m in member: m.term = 1)",
            20,
            "a number has no field term; m is the number of a member: write member[m].term",
        ),
        ("n[0] = 1", 2, "a function or sequence was expected before ["),
        ("len(n) = 1", 1, "len needs a set, sequence, function or record; this is a number"),
        ("any(x in n: true)", 10, "a set, sequence or function was expected; this is a number"),
        ("any(x in 0..1000000000: true)", 1, "more than 50,000,000 values"),
        ("n = 1 n = 2", 7, "an operator or the end was expected, not 'n'"),
        ("n = (1", 7, "')' was expected, not the end"),
        ("n = 'x", 5, "the string has no end"),
        ("n = 1 & on", 7, "'&' has no meaning here"),
        ("n = 1\u00a0", 6, "'\\xa0' has no meaning here"),
        ("n\u2003= 1", 2, "'\\u2003' has no meaning here"),
        ("1 < n < 3", 7, "a comparison cannot be compared"),
        ("exec('x')", 1, "no function is called exec: there are"),
        ("n = 99999999999999999999", 5, "the number is too large"),
        ("DOMAIN log", 1, "DOMAIN may stand after 'in' only"),
        ("false and len(DOMAIN log) = 1", 15, "DOMAIN may stand after 'in' only"),
        ("false and n.x = 1", 13, "no record here has a field x; there are electionState, term"),
        ("n in {n, {}} or member[0].trm in n..2", 27, "no record here has a field trm"),
        ("any(x in {}: x.state = 1)", 16, "no record here has a field state"),
        ("n = 1..2", 6, "an operator or the end was expected, not '..'"),
        ("n = (1 2", 8, "an operator or ')' was expected, not '2'"),
        ("n in <<1, 2", 12, "an operator or '>>' was expected, not the end"),
        ("any(x: true)", 6, "'in' was expected, not ':'"),
        ("any(x in log, true)", 13, "an operator or ':' was expected, not ','"),
        ("n. = 1", 4, "a name was expected, not '='"),
        ("not " * 150 + "on", 401, "more than 100 operators within each other"),
        ("on" + " and on" * 150, 347, "more than 100 operators within each other"),
        ("n" + " " * 5000, 4097, "longer than 4096 characters"),
    ],
)
def test_what_is_wrong_is_said_with_its_column(
    cluster: DumpView, text: str, column: int, reason: str
) -> None:
    with pytest.raises(PredicateError) as raised:
        parse(text).rows(cluster)

    assert reason in raised.value.reason
    assert column == raised.value.column
    assert str(raised.value) == f"column {column}: {raised.value.reason}"


TEXT = (
    "n on member [0] .term log votes any( all( count( m in : ) ( and or not = != < {0,1} .. 'a' \"b"
    " 1 99 + - => << >> , DOMAIN len( has( \\E \\in /\\ ~ # TRUE [ ] { } . \u00e9 \x00 \ud800"
)
WORDS = st.sampled_from(TEXT.split(" "))


@examples(300)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join)))
@example("-" * 4000)
@example("not " * 1000)
@example("n" + "[n" * 2000)
@example("{" * 4000)
@example("n=" * 2000)
@example("n+" * 2000 + "n = 0")
@example("any(a in member: " * 200)
@example("any(a in member: " * 31 + "on" + ")" * 31)
@example("(" * 31 + "n" + ("+n" * 60 + ")") * 31 + " = 0")
@example("on" + " and on" * 99)
@example("n = 1 \u00a0")
@example("any(s in {{n, 7}, <<n, 8>>}: any(x in s: x = n))")
@example("has(" * 31 + "member" + ")" * 31)
@example("n" + "[n]" * 32 + " = 0")
@example("not " * 31 + "on")
@example("any(a in 0..99: any(b in 0..99: any(c in 0..99: any(d in 0..99: a = b))))")
def test_any_text_is_a_predicate_or_one_error(cluster: DumpView, text: str) -> None:
    try:
        # The quantifiers of one text may go through all that is allowed, which takes a minute.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(predicate, "MAX_PAIRS", 10_000)
            parse(text).rows(cluster)
    except PredicateError as error:
        column, message = error.column, str(error)
    else:
        return

    assert 1 <= column <= len(text) + 1
    assert len(message.splitlines()) == 1


def test_values_are_shown_as_tla(cluster: DumpView) -> None:
    rows = parse("n = 0").rows(cluster).tolist()

    assert values_at(cluster, "log, n + 1, on, pc[p1], log[0][1]", rows) == [
        "(0 :> <<>> @@ 1 :> <<3, 4>>), 1, TRUE, cs, (absent)"
    ]
    assert values_at(cluster, "<<n, {on, 9}, <<>>>>, {log[0][1]}", rows) == [
        "<<0, {TRUE, 9}, <<>>>>, (absent)"
    ]


def test_strings_that_no_state_has_are_named(cluster: DumpView) -> None:
    sound = parse('member[0].electionState = "CLOSED" and has(member[0]["term"])')
    odd = parse("member[0].electionState in {'CLOSE', 'INIT'}")

    assert sound.unknown_names(cluster) == []
    assert odd.unknown_names(cluster) == [
        "column 29: no state has the string 'CLOSE'; did you mean CLOSED",
        "column 38: no state has the string 'INIT'; there are CANVASS, CLOSED",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "any(a in 0..99: any(b in 0..99: any(c in 0..99: a + b + c = 999)))",
        "count(a in 0..999: count(b in 0..999: a = b) = 1) = 3",
        "not all(a in {1, 2}: count(b in 0..9999: any(c in 0..99: c > b)) > n) and on",
        "any(a in 0..9: a != 99 and any(b in 0..9999999: b = a - 1))",
    ],
)
def test_quantifiers_that_go_through_too_much_are_refused(
    cluster: DumpView, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicate, "MAX_PAIRS", 100_000)
    for ask in (lambda: parse(text).mask(cluster), lambda: evaluate(cluster, text)):
        with pytest.raises(PredicateError, match="go through more than 100,000 values"):
            ask()


def test_a_quantifier_stops_where_it_is_decided(cluster: DumpView) -> None:
    text = "any(a in 0..9999: any(b in 0..9999: any(c in 0..9999: a + b = c)))"

    assert parse(text).mask(cluster).all()


def test_a_quantifier_that_is_asked_in_few_states_is_not_refused(cluster: DumpView) -> None:
    """The right side of `and` counts only where it is asked."""
    text = "any(a in 0..9: a = 99 and any(b in 0..9999999: b = a))"

    assert parse(text).mask(cluster).tolist() == [False, False]

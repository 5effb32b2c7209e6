"""The pages about the spec agree with it: states, operators, properties, models."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from canvass.spec.files import spec_root
from canvass.spec.manifest import Expected, load_manifest
from support.findings import config_of

THEORY = Path(__file__).parents[2] / "docs" / "theory"
PAGES = {
    "README": (spec_root() / "README.md").read_text("utf-8"),
    "models": (THEORY / "models.md").read_text("utf-8"),
    "reference": (THEORY / "reference.md").read_text("utf-8"),
}
MODELS = load_manifest().models
DEFINED = re.compile(r"^(\w+)(?:\([^)\n]*\))?\s*==", re.MULTILINE)


def module_text(name: str) -> str:
    return (spec_root() / f"{name}.tla").read_text("utf-8")


@cache
def defined(module: str) -> frozenset[str]:
    return frozenset(DEFINED.findall(module_text(module)))


def section(title: str) -> str:
    """Return the text below a heading, up to the next one of its rank or a higher rank."""
    rank = title.split(" ")[0]
    (text,) = [text for text in PAGES.values() if f"\n{title}\n" in f"\n{text}"]
    rest = f"\n{text}".partition(f"\n{title}\n")[2]
    return re.split(rf"^#{{1,{len(rank)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def table(title: str) -> list[list[str]]:
    """Return the rows of the tables in a section, without their headings."""
    bodies = re.sub(r"^\|.*\n\|(?:---\|)+$", "", section(title), flags=re.MULTILINE)
    rows = re.findall(r"^\|(.*)\|$", bodies, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def operator_of(state: str) -> str:
    return "".join(word.capitalize() for word in state.split("_"))


def test_every_election_state_has_its_operator_in_the_named_module() -> None:
    rows = table("## The election states")
    text = module_text("MemberState")
    states = re.findall(r'"(\w+)"', text.partition("ElectionStateTable ==")[2].partition(">>")[0])

    assert [row[0] for row in rows] == states
    assert len(states) == 18
    for state, operators, modules in rows:
        known = {name for module in modules.split(", ") for name in defined(module)}
        named = quoted(operators)
        assert set(named) - {"Closed"} <= known, state
        assert named[0] in {operator_of(state), "ElectionInit"}, state


def test_a_search_for_an_election_state_finds_one_line() -> None:
    lines = [line for path in spec_root().glob("*.tla") for line in path.read_text().splitlines()]

    for state, operators, _ in table("## The election states"):
        name = quoted(operators)[0]
        assert len([line for line in lines if line.startswith(f"{name}(")]) == 1, state


@pytest.mark.parametrize(
    "title",
    ["## Where each rule is", "## The hardenings", "# The reference, row by row"],
)
def test_every_operator_of_a_table_is_defined(title: str) -> None:
    modules = {path.stem for path in spec_root().glob("*.tla")}
    known = modules.union(*map(defined, modules))
    fields = set(re.findall(r"^\s+(\w+)\s+\|->", module_text("MemberState"), re.MULTILINE))
    text = "\n".join(" ".join(row) for row in table(title))
    files = {name for name in quoted(text) if "/" in name}
    constants = {"AppointedLeaderId"}

    assert set(quoted(text)) - files - known - fields - constants == set()


def test_every_row_of_the_reference_has_an_operator_or_a_reason() -> None:
    rows = table("# The reference, row by row")
    without = [row for row in rows if not quoted(row[1])]

    assert [
        row for row in without if not re.search(r"left out|throughout|constructors", row[1])
    ] == []
    numbers = [
        int(number) for row in table("## F. Transitions") for number in re.findall(r"\d+", row[0])
    ]
    assert sorted(numbers) == list(range(1, 47))


def test_the_page_about_reading_the_spec_is_short() -> None:
    assert len(PAGES["README"].splitlines()) <= 200


def test_every_model_is_named() -> None:
    """A star stands for the different parts of names in a family of models."""
    named = quoted(section("## The models"))

    assert [
        model.name
        for model in MODELS
        if not any(fnmatchcase(model.name, pattern) for pattern in named)
    ] == []


def test_the_table_of_reach_has_the_figures_of_the_manifest() -> None:
    """If a row names single models, it has their states and their duration."""
    by_name = {model.name: model for model in MODELS}
    rows = table("### How far each search goes")

    assert {"MCTwoTerms", "MCThreeTermsHardened", "MCRefinement"} <= {
        name for row in rows for name in quoted(row[0])
    }
    for names, *_, states, takes, _ in rows:
        for model in filter(None, map(by_name.get, quoted(names))):
            if model.distinct_states is not None and "walks" not in states:
                assert f"{model.distinct_states:,}" in states, model.name
            assert model.takes.value in takes.split(", "), model.name


def test_the_table_of_properties_agrees_with_the_manifest() -> None:
    claims: dict[str, set[str]] = {}
    for model in MODELS:
        config = config_of(model)
        claims[model.name] = {*config.invariants, *config.properties}
    holding = {model.name for model in MODELS if model.expected is Expected.SUCCESS}
    rows = [row for row in table("## The properties") if re.match(r"[SV]\d", row[0])]

    assert len(rows) >= 19
    for _, property_, holds, violated in rows:
        name = quoted(property_)[0]
        excluding, _, rest = holds.partition(" but ")[2].partition(";")
        including = holds if not excluding else rest
        for model_name in quoted(including):
            assert model_name in holding, (name, model_name)
            assert name in claims[model_name], (name, model_name)
        for model_name in quoted(excluding):
            assert name not in claims[model_name], (name, model_name)
        for model_name in quoted(violated):
            assert name in claims[model_name] or name == "Refines", (name, model_name)

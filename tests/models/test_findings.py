"""The pages of docs/findings agree with TLC: their diagrams, their models, their index."""

from __future__ import annotations

import re

import pytest

from canvass.spec.manifest import load_manifest
from support.findings import DIAGRAM, FINDINGS, NAMED, drawn, redraw

PAGES = sorted(page for page in FINDINGS.glob("*.md") if page.name != "README.md")
DRAWN = {"MCHazard6", "MCHazard8", "MCLiveA"}
"""A push draws two behaviours that end in a violation, and one that goes on for ever."""
DIAGRAMS = [
    pytest.param(
        page.name,
        found["model"],
        found["drawn"],
        id=found["model"],
        marks=[] if found["model"] in DRAWN else [pytest.mark.night],
    )
    for page in PAGES
    for found in DIAGRAM.finditer(page.read_text("utf-8"))
]


@pytest.mark.tlc
@pytest.mark.parametrize(("file", "model", "diagram"), DIAGRAMS)
def test_a_diagram_equals_the_output_of_its_command(
    file: str, model: str, diagram: str, rewrite: bool
) -> None:
    """``pytest --rewrite`` writes the present output into the page."""
    found = drawn(model)
    if rewrite:
        redraw(FINDINGS / file, model, found)
        return

    assert diagram == found


def test_every_page_about_a_hazard_has_a_diagram() -> None:
    hazards = {page.name for page in PAGES if re.match(r"HZ\d|L-[ABC]|re", page.name)}

    assert hazards
    assert hazards == {parameter.values[0] for parameter in DIAGRAMS} & hazards


def test_every_model_that_a_page_names_exists() -> None:
    known = {model.name for model in load_manifest().models}
    named = {
        name for page in FINDINGS.glob("*.md") for name in NAMED.findall(page.read_text("utf-8"))
    }

    assert named <= known


def test_the_index_links_every_page() -> None:
    index = (FINDINGS / "README.md").read_text("utf-8")

    assert [page.name for page in PAGES if f"({page.name})" not in index] == []

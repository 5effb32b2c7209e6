"""A run beside a counterexample: elections in their order, and where each member first differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from support.browse import Asked, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


def state(*members: tuple[str, str, int]) -> dict[str, Any]:
    """Give a state of a cluster without messages."""
    names = [str(k) for k in range(len(members))]
    return {
        "member": {
            name: {"electionState": election, "role": role, "moduleLeadershipTermId": term}
            for name, (election, role, term) in zip(names, members, strict=True)
        },
        "channel": {i: {j: [] for j in names if j != i} for i in names},
    }


def write(path: Path, *steps: tuple[str, dict[str, Any]]) -> Path:
    """Write a behaviour as a counterexample, its actions with the states that they reach."""
    document = {
        "schema": "canvass.counterexample/1",
        "model": "MCThree",
        "violated": "Never",
        "message": "Never",
        "explanation": ["INV: Never (S9).  It happens", "at no time."],
        "steps": [{"action": action, "state": reached} for action, reached in steps],
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def compared(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A run, and two behaviours of three members.

    In the first one the second member is elected; the other one begins with two leaders.
    """
    waits, leads = ("CANVASS", "FOLLOWER", -1), ("CLOSED", "LEADER", 4)
    steps = [
        ("Init", state(("INIT", "FOLLOWER", -1), ("INIT", "FOLLOWER", -1), waits)),
        ("TakeInit(0)", state(waits, ("INIT", "FOLLOWER", -1), waits)),
        ("TakeInit(1)", state(waits, waits, waits)),
        ("TakeLeaderReady(1)", state(waits, leads, waits)),
        ("TakeCanvass(0)", state(("NOMINATE", "FOLLOWER", -1), leads, waits)),
    ]
    folder = tmp_path_factory.mktemp("compare")
    elected = write(folder / "counterexample.json", *steps)
    two = state(("CLOSED", "LEADER", 5), leads, waits)
    begun = write(folder / "begun.json", ("Init", two), ("TakeCanvass(2)", two))
    with serving([good_run, elected, begun], files=page_files()) as running:
        yield running


def test_a_run_is_compared_with_a_counterexample_election_by_election(
    open_page: Open, compared: Asked
) -> None:
    run, counterexample, _ = compared.ids
    answer = compared.get(api.Comparison, f"/run/{run}/compare", other=counterexample)
    page = open_page(f"/run/{run}", at=compared)
    expect(page.locator(".leaderships")).to_be_visible()
    page.keyboard.press("6")
    page.locator(".compared select").select_option(counterexample)
    first = page.locator('[data-compared-election="1"]')
    expect(first).to_contain_text("member 1 leads term 4; elected in 3 states, led for 2 states")
    ours = answer.elections[0].left
    assert ours is not None
    expect(first).to_contain_text(f"member {ours.member} leads term {ours.term}")
    expect(page.locator('[data-compared-member="2"] h3')).to_have_text(
        "Member 2: 1 change of the election state equal, then"
    )
    # Where the sides part, their election states differ, or one has no further one.
    for one in answer.members:
        assert one.left is None or one.right is None or one.left.label != one.right.label
    first.get_by_role("link").click()
    expect(page.locator("output.place")).to_have_attribute("data-place", "3")
    assert f"/counterexample/{counterexample}" in page.url


def test_leaders_of_the_first_state_are_named_by_term_and_have_no_election(
    open_page: Open, compared: Asked
) -> None:
    run, _, begun = compared.ids
    page = open_page(f"/run/{run}?view=compare", at=compared)
    expect(page.locator(".compared")).to_contain_text("the first step of each member that differs")
    page.locator(".compared select").select_option(begun)
    for row, (member, term) in enumerate([(1, 4), (0, 5)], 1):
        expect(page.locator(f'[data-compared-election="{row}"]')).to_contain_text(
            f"member {member} leads term {term}; leads from the first state, led for 2 states"
        )
    heading = page.locator('[data-compared-member="0"] h3')
    expect(heading).to_have_text("Member 0: the first change of the election state differs")


def test_what_a_property_says_stands_once_beside_its_name(open_page: Open, compared: Asked) -> None:
    page = open_page(f"/counterexample/{compared.ids[1]}", at=compared)
    expect(page.locator(".head .verdict")).to_contain_text("Never")
    expect(page.locator(".head-text")).to_have_text("It happens at no time.")

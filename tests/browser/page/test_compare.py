"""A run beside a counterexample: elections in their order, and where each member first differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser import api
from canvass.browser.page_files import page_files
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


@pytest.fixture(scope="module")
def compared(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A run, and a behaviour of three members in which the second one is elected."""
    waits, leads = ("CANVASS", "FOLLOWER", -1), ("CLOSED", "LEADER", 4)
    steps = [
        ("Init", state(("INIT", "FOLLOWER", -1), ("INIT", "FOLLOWER", -1), waits)),
        ("TakeInit(0)", state(waits, ("INIT", "FOLLOWER", -1), waits)),
        ("TakeInit(1)", state(waits, waits, waits)),
        ("TakeLeaderReady(1)", state(waits, leads, waits)),
        ("TakeCanvass(0)", state(("NOMINATE", "FOLLOWER", -1), leads, waits)),
    ]
    path = tmp_path_factory.mktemp("compare") / "counterexample.json"
    document = {
        "schema": "canvass.counterexample/1",
        "model": "MCThree",
        "violated": "Never",
        "message": "Never",
        "steps": [{"action": action, "state": reached} for action, reached in steps],
    }
    path.write_text(json.dumps(document))
    with serving([good_run, path], files=page_files()) as running:
        yield running


def test_a_run_is_compared_with_a_counterexample_election_by_election(
    open_page: Open, compared: Asked
) -> None:
    run, counterexample = compared.ids
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
    member = page.locator('[data-compared-member="0"]')
    expect(member).to_contain_text("changes of the election state alike, then")
    # Where the sides part, their election states differ, or one has no further one.
    for one in answer.members:
        assert one.left is None or one.right is None or one.left.label != one.right.label
    first.get_by_role("link").click()
    expect(page.locator("output.place")).to_have_attribute("data-place", "3")
    assert f"/counterexample/{counterexample}" in page.url

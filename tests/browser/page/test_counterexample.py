"""The page of a counterexample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser.app import page_files
from support.browse import serving

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


def test_what_a_property_says_stands_once_beside_its_name(open_page: Open, tmp_path: Path) -> None:
    waits, leads = ("CANVASS", "FOLLOWER", -1), ("CLOSED", "LEADER", 4)
    steps = [("Init", state(waits, waits)), ("TakeLeaderReady(1)", state(waits, leads))]
    file = write(tmp_path / "counterexample.json", *steps)
    with serving([file], files=page_files()) as running:
        page = open_page(f"/counterexample/{running.ids[0]}", at=running)
        expect(page.locator(".head .verdict")).to_contain_text("Never")
        expect(page.locator(".head-text")).to_have_text("It happens at no time.")
        expect(page.locator(".lanes-awaited")).to_have_count(0)

"""The digest under which a graph is kept: what changes its files changes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canvass.graph.build import load_model
from canvass.steps import action_fields
from canvass.steps.action_fields import tables


def test_another_frame_makes_another_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("MCMemberGraph1")
    digest = model.digest
    log = tables().log.copy()
    log[0] ^= 1

    changed = tables()._replace(log=log)
    monkeypatch.setattr(action_fields, "tables", lambda: changed)

    assert model.digest != digest


def test_other_constants_make_another_graph() -> None:
    model = load_model("MCMemberGraph3")

    assert model.with_steps(0).digest != model.digest
    assert replace(model, path=model.path.with_name("other.cfg")).digest == model.digest

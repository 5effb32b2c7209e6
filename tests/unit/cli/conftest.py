"""The command run in this process, and the tiny spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from canvass.cli.main import run
from canvass.conformance import verify
from support.core_lookup import core_lookup
from support.tiny_spec import write_tiny_spec


class Ended(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def without_tlc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core answers in place of TLC."""
    monkeypatch.setattr(verify, "make_lookup", lambda *_, **__: core_lookup())


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``canvass`` with these words in a clean environment."""
    for name in ("CANVASS_TLA2TOOLS", "CANVASS_TLA_LIBRARY", "CANVASS_TRACEBACK", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str | Path) -> Ended:
        code = run([str(word) for word in words])
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny spec."""
    return write_tiny_spec(tmp_path_factory.mktemp("tiny"))

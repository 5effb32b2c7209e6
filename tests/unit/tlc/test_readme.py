"""The examples of the package's README are true."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest

import canvass.tlc
from support.tlc_cases import SPECS


@pytest.mark.tlc
def test_the_examples_of_the_readme_are_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Lights", "Counter"):
        for suffix in (".tla", ".cfg"):
            shutil.copyfile(SPECS / f"{name}{suffix}", tmp_path / f"{name}{suffix}")
    monkeypatch.chdir(tmp_path)
    readme = Path(canvass.tlc.__file__).with_name("README.md")

    failed, attempted = doctest.testfile(str(readme), module_relative=False)

    assert (failed, attempted > 5) == (0, True)

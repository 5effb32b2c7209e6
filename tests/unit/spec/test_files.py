"""The spec folder is found beside the package first, and in the checkout second."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.spec import SpecError, files, spec_root


def test_a_checkout_has_it_at_its_top() -> None:
    assert spec_root() == Path(__file__).resolve().parents[3] / "spec"


def test_packaged_data_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PACKAGED", tmp_path)

    assert spec_root() == tmp_path


def test_an_installation_without_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "absent")

    with pytest.raises(SpecError, match="carries no spec folder"):
        spec_root()

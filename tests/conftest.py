"""What holds for all tests: how hypothesis draws, and how golden files are written again."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A push draws the same examples every time, so that a red run is about the change.
settings.register_profile("push", derandomize=True, deadline=None, database=None)
settings.register_profile("night", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "push"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write golden files again with what is printed now; read the difference before commit",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rewrite") and os.environ.get("CI"):
        raise pytest.UsageError("--rewrite would make any result the expected one: not in CI")


@pytest.fixture(scope="session")
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written again."""
    return bool(request.config.getoption("--rewrite"))

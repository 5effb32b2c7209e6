"""The options of the plugin, on the command line and in the configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def add_options(parser: pytest.Parser) -> None:
    """Add them."""
    group = parser.getgroup("canvass", "conformance of runs to the model (canvass)")
    group.addoption(
        "--canvass-seed",
        metavar="N",
        help="seed of every test that uses canvass_seed; 'random' draws a new one for each",
    )
    group.addoption(
        "--canvass-collect",
        action="store_true",
        help="collect run folders (those with a run.json) as tests",
    )
    group.addoption(
        "--canvass-artifacts",
        metavar="DIR",
        help="where runs that fail are kept (default: pytest's cache folder)",
    )
    group.addoption(
        "--canvass-graph",
        action="append",
        default=[],
        metavar="ARTIFACT",
        help="a state graph that knows many steps, and whose coverage is to be measured",
    )
    group.addoption(
        "--canvass-cache",
        metavar="DIR",
        help="where TLC's answers are kept (default: the user's cache folder)",
    )
    group.addoption(
        "--canvass-fail-under",
        type=float,
        metavar="PERCENT",
        help="fail if the checked runs take fewer of the spec's actions",
    )
    group.addoption(
        "--canvass-fail-under-edges",
        type=float,
        metavar="PERCENT",
        help="fail if the checked runs take fewer of the steps of a --canvass-graph",
    )
    parser.addini("canvass_collect", "collect run folders as tests", type="bool", default=False)
    parser.addini("canvass_graph", "state graphs, as --canvass-graph", type="paths", default=[])

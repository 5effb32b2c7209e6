"""What a session of pytest knows of canvass: its options, what is known of steps, coverage.

The lookup, and with it everything heavy, is made when the first run is to be checked.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from canvass.pytest_plugin.coverage import Coverage, share

if TYPE_CHECKING:
    from canvass.conformance.step_lookup import StepLookup
    from canvass.conformance.verdict import RunVerdict

_KEPT: Final = "failed"
_SLUG: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_SLUG: Final = 100
_DRAWN: Final = 9
"""Events that a failure draws in lanes before the one that diverges."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A run that was checked."""

    path: Path
    result: RunVerdict

    @property
    def verdict(self) -> str:
        """The verdict, such as ``"CONFORMS"``."""
        return self.result.verdict.value

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.result.run_id


class Session:
    """Checks runs for one session of pytest.

    Parameters
    ----------
    config
        The options.

    Attributes
    ----------
    coverage
        What the checked runs have covered.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._lookup: StepLookup | None = None
        self.coverage = Coverage()

    @property
    def lookup(self) -> StepLookup:
        """Who decides steps, for the whole session.

        Raises
        ------
        pytest.UsageError
            If a state graph cannot be used.
        """
        if self._lookup is None:
            from canvass.conformance import lookup_sources
            from canvass.graph import GraphError

            options = self._config.option
            graphs = [*options.canvass_graph, *self._config.getini("canvass_graph")]
            cache = Path(options.canvass_cache) if options.canvass_cache else None
            try:
                self._lookup = lookup_sources.make_lookup([Path(graph) for graph in graphs], cache)
            except GraphError as error:
                raise pytest.UsageError(f"canvass: {error}") from None
        return self._lookup

    def check(self, path: Path) -> Checked:
        """Check one run, and count what it covers."""
        from canvass.conformance.check import settle_all
        from canvass.conformance.screen import Screening

        lookup = self.lookup
        screening = Screening(lookup)
        screening.add(path)
        screening.ask()
        (result,) = settle_all(screening).runs
        self.coverage.add(result.verdict.value, result.events, _actions(path, result))
        for graph, table in lookup.graphs.items():
            found = table.lookup(screening.keys)
            self.coverage.add_steps(graph, len(table), found[found >= 0].tolist())
        return Checked(path, result)

    def failure_text(self, checked: Checked, shown: Path) -> str:
        """Say what is wrong with a run; commands name it as ``shown``."""
        from canvass.conformance.report import about

        result = checked.result
        head = f"{checked.verdict}: {about(result) or 'nothing is wrong with it'}"
        return "\n".join([head, *(self._divergence(result, shown) if result.divergences else ())])

    def _divergence(self, result: RunVerdict, shown: Path) -> list[str]:
        from canvass.conformance.diagnose import load
        from canvass.conformance.explain import explain
        from canvass.conformance.report import divergence_lines, show_command
        from canvass.lanes.of_run import RunLanes
        from canvass.lanes.text import TextLanes

        first = result.divergences[0]
        loaded = load(Path(result.path), result.run_id)
        lanes = RunLanes(loaded.columns)
        row = loaded.row_of(first.member, first.step)
        diagram = lanes.diagram(lanes.leading_to(row, _DRAWN), marks={row: first.name})
        drawn = ("".join(part for part, _ in line) for line in TextLanes(diagram, 110).lines())
        return [
            "",
            *(line for line, _ in divergence_lines(explain(loaded, first, self.lookup))),
            "",
            *drawn,
            "",
            f"see it again: {show_command(str(shown), first)}",
        ]

    def keep(self, folder: Path, item: pytest.Item, number: int) -> Path:
        """Copy a run that failed to where it stays; give the place."""
        name = _SLUG.sub("-", item.nodeid).strip("-.")[-_MAX_SLUG:]
        target = self._artifacts() / (f"{name}-{number}" if number else name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        return target

    def _artifacts(self) -> Path:
        named = self._config.getoption("canvass_artifacts")
        if named:
            return Path(named).absolute()
        cache: pytest.Cache | None = getattr(self._config, "cache", None)
        if cache is not None:
            return cache.mkdir("canvass") / _KEPT
        return self._config.rootpath / ".canvass" / _KEPT

    # --- coverage ---------------------------------------------------------------------------------

    def summary(self) -> list[tuple[str, bool]]:
        """Say what was covered, and what is bad about it; nothing if canvass was not used."""
        lines: list[tuple[str, bool]] = []
        if self.coverage.verdicts:
            lines += [(line, False) for line in self.coverage.lines(_every_action())]
        return lines + [(line, True) for line in self.shortfalls()]

    def shortfalls(self) -> list[str]:
        """Say where less was covered than is demanded."""
        found = []
        least = self._config.getoption("canvass_fail_under")
        if least is not None:
            got = share(len(self.coverage.actions), len(_every_action()))
            if got < least:
                found.append(f"{got:.1f}% of the actions are less than the {least:g}% demanded")
        least = self._config.getoption("canvass_fail_under_edges")
        if least is not None:
            sizes = self.coverage.sizes
            if not sizes:
                found.append("no run was checked against a state graph, whose edges are demanded")
            for graph, size in sizes.items():
                got = share(len(self.coverage.steps[graph]), size)
                if got < least:
                    said = f"{got:.1f}% of {graph} are less than the {least:g}% demanded"
                    found.append(said)
        return found


def seed_of(item: pytest.Item, option: str | None) -> int:
    """Give the seed of a test: the given one, or one that depends only on the test's name.

    Raises
    ------
    pytest.UsageError
        If the option is neither a number nor ``random``.
    """
    if option is None:
        return zlib.crc32(item.nodeid.encode())
    if option == "random":
        return int.from_bytes(os.urandom(4), "big")
    try:
        return int(option)
    except ValueError:
        raise pytest.UsageError(f"--canvass-seed {option}: a number, or 'random'") from None


def _every_action() -> list[str]:
    from canvass.traces.actions import ACTIONS

    return [action.value for action in ACTIONS]


def _actions(path: Path, result: RunVerdict) -> list[str]:
    """Give the actions that a run takes."""
    from canvass.traces.layout import ACTION_NAMES
    from canvass.traces.run import RunFolder

    if not result.events:
        return []
    codes = {
        int(code) for batch in RunFolder(path).columns() for code in set(batch.action.tolist())
    }
    return [ACTION_NAMES[code] for code in codes]

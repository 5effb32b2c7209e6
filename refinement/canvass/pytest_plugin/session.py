"""The state of canvass in a session of pytest: options, lookup of steps, coverage.

The lookup is made when the first run is checked, and only then are heavy modules imported.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from canvass.traces.errors import counted

if TYPE_CHECKING:
    from canvass.conformance.findings import RunVerdict
    from canvass.steps.answers import StepLookup

_LISTED: Final = 12


_KEPT: Final = "failed"
_SLUG: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_SLUG: Final = 100
_DRAWN: Final = 9
"""Number of events that a report draws before the divergence."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked run."""

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

    Attributes
    ----------
    counts
        The number of checked runs by verdict, and of their events by action.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._lookup: StepLookup | None = None
        self.counts: Counter[str] = Counter()

    @property
    def lookup(self) -> StepLookup:
        """The lookup of steps for the whole session.

        Raises
        ------
        GraphError
            If a state graph cannot be used.
        """
        if self._lookup is None:
            from canvass.conformance import verify

            options = self._config.option
            graphs = [*options.canvass_graph, *self._config.getini("canvass_graph")]
            cache = Path(options.canvass_cache) if options.canvass_cache else None
            self._lookup = verify.make_lookup([Path(graph) for graph in graphs], cache)
        return self._lookup

    def check(self, path: Path) -> Checked:
        """Check one run, and add its coverage.

        The test fails without a traceback if a state graph cannot be used, or TLC cannot run.
        """
        __tracebackhide__ = True
        from canvass.conformance.verify import decide, read_and_check
        from canvass.graph import GraphError
        from canvass.tlc.errors import TlcError

        try:
            findings = decide(partial(read_and_check, [path]), self.lookup)
        except (GraphError, TlcError) as error:
            pytest.fail(f"canvass: {error}", pytrace=False)
        (run,) = findings.runs
        result = run.verdict
        self.counts[result.verdict.value] += 1
        if result.events:
            self.counts.update(dict(zip(_every_action(), run.actions.tolist(), strict=True)))
        return Checked(path, result)

    def failure_text(self, checked: Checked, shown: Path) -> str:
        """Describe a run that does not conform; commands name it as ``shown``."""
        from canvass.conformance.report import problem_of

        result = checked.result
        head = f"{checked.verdict}: {problem_of(result) or 'nothing is wrong with it'}"
        return "\n".join([head, *(self._divergence(result, shown) if result.divergences else ())])

    def _divergence(self, result: RunVerdict, shown: Path) -> list[str]:
        from canvass.conformance.diagnose import explain_refusal, load
        from canvass.conformance.report import divergence_lines, show_command
        from canvass.lanes.diagram import TextLanes
        from canvass.lanes.drawing import RunLanes

        first = result.divergences[0]
        loaded = load(Path(result.path), result.run_id)
        lanes = RunLanes(loaded.columns)
        row = loaded.row_of(first.member, first.step)
        diagram = lanes.diagram(lanes.leading_to(row, _DRAWN), marks={row: first.name})
        drawn = ("".join(part for part, _ in line) for line in TextLanes(diagram, 110).lines())
        return [
            "",
            *(line for line, _ in divergence_lines(explain_refusal(loaded, first, self.lookup))),
            "",
            *drawn,
            "",
            f"see it again: {show_command(str(shown), result.run_id, first)}",
        ]

    def keep(self, folder: Path, item: pytest.Item, number: int) -> Path:
        """Copy a run that failed to the folder of artifacts; give its new place."""
        slug = _SLUG.sub("-", item.nodeid).strip("-.")[-_MAX_SLUG:]
        # Two tests may have one slug, and each must keep its own run.
        name = f"{slug}-{zlib.crc32(item.nodeid.encode()):08x}"
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

    def summary(self) -> Iterator[str]:
        """Give lines with the coverage; none without a run."""
        if not self.counts:
            return
        from canvass.conformance.findings import Verdict

        verdicts = {each.value: self.counts[each.value] for each in Verdict}
        actions = _every_action()
        runs, events = sum(verdicts.values()), sum(self.counts[name] for name in actions)
        found = ", ".join(f"{count:,} {name}" for name, count in sorted(verdicts.items()) if count)
        yield f"{counted(runs, 'run')} checked, {counted(events, 'event')}: {found}"
        never = [name for name in actions if not self.counts[name]]
        taken = len(actions) - len(never)
        # Rounded down: only the whole is 100%.
        share = taken * 1000 // len(actions) / 10
        line = f"actions of the spec: {taken} of {len(actions)} ({share:.1f}%)"
        if never:
            more = f" and {len(never) - _LISTED} more" if len(never) > _LISTED else ""
            line += f"; never taken: {', '.join(never[:_LISTED])}{more}"
        yield line


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
        raise pytest.UsageError(f"--canvass-seed {option}: give a number or 'random'") from None


def _every_action() -> list[str]:
    from canvass.traces.actions import ACTIONS

    return [action.value for action in ACTIONS]

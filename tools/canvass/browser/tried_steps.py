"""Steps that are tried from a state of a cluster: the start, the path, the cluster at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from canvass.browser.choices import LOST, Choice, choices
from canvass.browser.questions import bad_request
from canvass.cluster.duty_cycle import Received
from canvass.cluster.member import ModuleState
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.distance.search import Moment
from canvass.graph import GraphError
from canvass.graph.build import Model
from canvass.lanes.of_counterexample import LOSE
from canvass.simulation.world import World
from canvass.spec.files import spec_root
from canvass.tlc.config import parse_config

_MODEL_NAME: Final = re.compile(r"\w{1,80}", re.ASCII)


@dataclass
class Cluster(World):
    """A cluster whose recorded steps follow those of a run."""

    begins_ns: int = 0

    def time_ns(self, _i: int) -> int:
        """Add a millisecond for each step, as the run's clocks after the event are not known."""
        return self.begins_ns + 1_000_000 * len(self.steps)

    def copy(self) -> Cluster:
        """Give an independent copy of the cluster, which records nothing."""
        found = Cluster(self.rules, self.event_length)
        found.members, found.logs, found.up = [*self.members], [*self.logs], {*self.up}
        found.channels = {pair: queue.copy() for pair, queue in self.channels.items()}
        return found


@dataclass(frozen=True, slots=True)
class Start:
    """A state from which steps are tried.

    Parameters
    ----------
    title
        The place of the state, for a person.
    event_length
        The length of an entry, in the unit of the cluster's positions.
    """

    moment: Moment
    title: str
    event_length: int

    def cluster(self) -> Cluster:
        """Give the cluster in this state.

        A member counts as running if its state is that of a running process, even if its log ends.
        """
        moment = self.moment
        found = Cluster(moment.rules, self.event_length)
        found.members, found.logs = list(moment.members), list(moment.logs)
        running = (i for i, s in enumerate(moment.members) if s.module_state is ModuleState.ACTIVE)
        found.up = set(running)
        for i, j, message in moment.without_repeats().under_way:
            found.channels[i, j].append(Received(i, NULL_VALUE, message))
        return found


def rules_of(name: str, count: int) -> Rules:
    """Give the rules of a model of the spec; for an unknown model, those of the newest revision."""
    path = spec_root() / f"{name}.cfg"
    if _MODEL_NAME.fullmatch(name) and path.is_file():
        model = Model(name, parse_config(path.read_text(encoding="utf-8"), path.name), path)
        with suppress(GraphError, ValueError):
            if model.rules.member_count == count:
                return model.rules
    return Rules.of("1.50", count)


def walk(world: World, path: Sequence[str]) -> Iterator[Choice]:
    """Take the steps of a path, and give each one after it was taken.

    Raises
    ------
    Refusal
        If a step is not possible at its place in the path.
    """
    for number, name in enumerate(path, 1):
        choice = choices(world).get(name)
        if choice is None:
            raise bad_request(f"step {number}, {ascii(name)[:80]}, is not possible there")
        choice.take(world)
        yield choice


def title_of(choice: Choice) -> str:
    """Name the action of a choice as TLC does."""
    return LOSE if choice.action == LOST else choice.action

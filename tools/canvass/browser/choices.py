"""The choices in a cluster of cores: the steps that may come next, and a walk along a path of them.

States of TLA+ are converted to a moment of a cluster, and a cluster to a tree like such a state.

The core decides which actions are enabled. Each action is tried with the inputs that it may read
(`ACTION_INPUTS`). The values of an input are those of ``Cluster.tla``, except that a member always
counts itself as active. Inputs with the same outcome are one choice; the plainest one names it. A
step that neither changes nor sends anything is no choice, unless it receives a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, groupby, product
from typing import Any, Final

import msgspec

from canvass.browser.questions import bad_request
from canvass.cluster.duty_cycle import ACTION_OF, Received
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules
from canvass.distance.search import Moment
from canvass.graph import GraphError
from canvass.graph.build import Model
from canvass.lanes.drawing import LOSE, Tree
from canvass.simulation.world import Log, Segment, World, append, cut, length
from canvass.spec.files import spec_root
from canvass.tlc.config import parse_config
from canvass.traces.actions import ACTION_INPUTS, Action

LOST: Final = "lost"


@dataclass(frozen=True, slots=True)
class Choice:
    """A step that may come next.

    Parameters
    ----------
    name
        Names the choice in a link, such as ``1.Canvass.timeout``, ``0-1.Vote`` or ``0-1.lost``.
    member
        The member that takes the step.
    action
        The action; `LOST` if a message to the member is lost.
    sender
        The member whose oldest message is received or lost; -1 without a message.
    """

    name: str
    member: int
    action: str
    input: Input
    sender: int = NULL_VALUE

    def take(self, world: World) -> None:
        """Take the step in a cluster that has the choice."""
        if self.sender != NULL_VALUE:
            received = world.channels[self.sender, self.member].popleft()
            if self.action != LOST:
                world.take(self.member, self.action, self.input, received=received)
        elif self.action == Action.RESTART:
            world.start(self.member)
        else:
            world.take(self.member, self.action, self.input)


def choices(world: World) -> dict[str, Choice]:
    """Give the steps that may come next, by their names: by members, then by actions."""
    found: dict[str, Choice] = {}
    for i in range(world.rules.member_count):
        before, outcomes = world.members[i], set[object]()
        for one in _candidates(world, i):
            outcome = None
            if one.action != LOST:
                outcome = world.step(world.rules, i, before, one.action, one.input)
                idle = outcome is not None and outcome.next == before and not outcome.effects
                if outcome is None or (idle and one.sender == NULL_VALUE):
                    continue
            key = one.action, one.sender, outcome
            if key not in outcomes:
                outcomes.add(key)
                found[one.name] = one
    return found


def _candidates(world: World, i: int) -> Iterator[Choice]:
    if world.members[i].module_state is not ModuleState.ACTIVE:
        yield Choice(f"{i}.Restart", i, "Restart", NO_INPUT)
        return
    for j in range(world.rules.member_count):
        if j == i or not world.channels[j, i]:
            continue
        message = world.channels[j, i][0].message
        kind = type(message).__name__
        reads = ACTION_INPUTS[Action(f"On{kind}")].fields
        for x in _product(world, i, {"active"} & reads, ()):
            given = msgspec.structs.replace(x, message=message)
            yield Choice(f"{j}-{i}.{kind}{_said(world, x)}", i, f"On{kind}", given, j)
        yield Choice(f"{j}-{i}.{LOST}", i, LOST, NO_INPUT, j)
    for action, row in ACTION_INPUTS.items():
        if row.message is None:
            for x in inputs_of(world, i, action):
                yield Choice(f"{i}.{action.value}{_said(world, x)}", i, action.value, x)


def inputs_of(world: World, i: int, action: Action) -> Iterable[Input]:
    """Give the possible inputs of an action that receives no message; there may be none."""
    s, reads = world.members[i], ACTION_INPUTS[action].fields
    written, unit = s.publication_position + world.event_length, world.event_length == 1
    if action in (Action.CONSUME_LOG, Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT):
        bounds = (*((s.commit_position + 1,) if unit else ()), consume_bound(s))
        found = (world.processing(i, bound) for bound in bounds)
        return [one[1] for one in found if one is not None and one[0] == action.value]
    if action.value == ACTION_OF.get(s.election_state) and not world.may_tick(i):
        return ()
    if action is Action.ELECTION_ERROR:
        ends = {
            ElectionState.LEADER_READY: written,
            ElectionState.FOLLOWER_READY: s.commit_position,
        }
        closing = ends.get(s.election_state)
        failing = () if closing is None else _product(world, i, reads, (closing,))
        return (NO_INPUT, *failing)
    end = world.recordable(i)
    nearest = (s.recorded_position + 1,) if unit and end > s.recorded_position else ()
    positions = {
        Action.RECORD_LOG: (*nearest, end),
        Action.APPEND_ENTRY: (written,),
        Action.LEADER_READY: (NULL_VALUE, written),
        Action.FOLLOWER_LOG_REPLICATION: (NULL_VALUE, s.recorded_position),
    }.get(action, (NULL_VALUE,))
    return _product(world, i, reads, positions)


def _product(
    world: World, i: int, reads: Iterable[str], positions: tuple[int, ...]
) -> Iterator[Input]:
    """Combine the values of the fields that an action reads, the plainest first."""
    everybody = frozenset(range(world.rules.member_count))
    flag, others = (False, True), list(_subsets(everybody - {i}))
    values: dict[str, Iterable[Any]] = {
        "interval": flag,
        "commit_interval": flag,
        "timeout": flag,
        "active": [one | {i} for one in others],
        "accepted": others,
        "graceful_closed_leader_id": dict.fromkeys((NULL_VALUE, world.members[i].leader_member_id)),
        "position": positions,
    }
    names = [name for name in values if name in reads]
    for each in product(*(values[name] for name in names)):
        x = msgspec.structs.replace(NO_INPUT, **dict(zip(names, each, strict=True)))
        if not (x.timeout and x.accepted):
            yield x


def _subsets(members: frozenset[int]) -> Iterator[frozenset[int]]:
    """Give all subsets, the largest first."""
    sizes = range(len(members), -1, -1)
    return map(
        frozenset, chain.from_iterable(combinations(sorted(members), size) for size in sizes)
    )


def _said(world: World, x: Input) -> str:
    """Write the fields of an input that are not at their plainest values."""
    parts = [name for name in ("interval", "commit_interval", "timeout") if getattr(x, name)]
    if x.active and len(x.active) < world.rules.member_count:
        parts.append("active" + "".join(map(str, sorted(x.active))))
    parts += ["accepted" + "".join(map(str, sorted(x.accepted)))] if x.accepted else []
    parts += ["graceful"] if x.graceful_closed_leader_id != NULL_VALUE else []
    parts += [f"position{x.position}"] if x.position != NULL_VALUE else []
    return "".join(f".{part}" for part in parts)


def moment_of(state: Tree, rules: Rules) -> Moment:
    """Read a state of ``Cluster.tla``.

    Raises
    ------
    ValidationError, KeyError, TypeError, AttributeError
        If the tree is not such a state.
    """
    return Moment(
        rules=rules,
        members=tuple(
            msgspec.convert({**one, "members": tuple(one["members"].values())}, Member)
            for one in state["member"].values()
        ),
        under_way=tuple(
            (int(i), int(j), msgspec.convert(one, Message))
            for i, queues in state["channel"].items()
            for j, queue in queues.items()
            for one in queue
            if one["type"] != "ProcessEnd"
        ),
        logs=tuple(_log(terms) for terms in state["log"].values()),
        committed=_log(state.get("hist", {}).get("committed", ())),
        leaders=frozenset(),
        label="",
    )


def _log(terms: Iterable[int]) -> Log:
    log: Log = ()
    for term, places in groupby(enumerate(terms), key=lambda one: one[1]):
        numbers = [place for place, _ in places]
        log = append(log, Segment(term, numbers[0], numbers[0], numbers[-1] + 1))
    return log


def moment_after(start: Moment, world: World, label: str) -> Moment:
    """Give the moment after the steps that were tried from a start; ``world`` is their result."""
    committed = start.committed
    for log, s in zip(world.logs, world.members, strict=True):
        reached = min(s.commit_position, length(log))
        if reached > length(committed):
            committed = cut(log, reached)
    return replace(
        start,
        members=tuple(world.members),
        logs=tuple(world.logs),
        under_way=tuple(
            (i, j, one.message) for (i, j), queue in world.channels.items() for one in queue
        ),
        committed=committed,
        label=label,
    )


def tree_of(world: World) -> Tree:
    """Give a cluster as a tree like that of a TLA+ state.

    If positions are bytes, a log is a list of its segments instead of its entries.
    """
    count = range(world.rules.member_count)
    unit = world.event_length == 1
    return {
        "member": {
            str(i): {
                **(member := msgspec.to_builtins(world.members[i])),
                "members": {str(k): one for k, one in enumerate(member["members"])},
                "recordingLog": list(member["recordingLog"]),
            }
            for i in count
        },
        "channel": {
            str(i): {
                str(j): [msgspec.to_builtins(one.message) for one in world.channels[i, j]]
                for j in count
                if i != j
            }
            for i in count
        },
        "log": {str(i): _entries(world.logs[i], unit=unit) for i in count},
    }


def _entries(log: Log, *, unit: bool) -> list[Any]:
    if unit:
        return [one.term for one in log for _ in range(one.start, one.end)]
    return [{"term": one.term, "start": one.start, "end": one.end} for one in log]


def copy_of(world: World) -> World:
    """Give an independent copy of a cluster."""
    found = World(world.rules, world.event_length)
    found.members, found.logs, found.up = [*world.members], [*world.logs], {*world.up}
    found.channels = {pair: queue.copy() for pair, queue in world.channels.items()}
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

    def cluster(self) -> World:
        """Give the cluster in this state.

        A member counts as running if its state is that of a running process, even if its log ends.
        """
        moment = self.moment
        found = World(moment.rules, self.event_length)
        found.members, found.logs = list(moment.members), list(moment.logs)
        running = (i for i, s in enumerate(moment.members) if s.module_state is ModuleState.ACTIVE)
        found.up = set(running)
        for i, j, message in moment.without_repeats().under_way:
            found.channels[i, j].append(Received(i, NULL_VALUE, message))
        return found


def rules_of(name: str, count: int) -> Rules:
    """Give the rules of a model of the spec; for an unknown model, those of the newest revision."""
    path = spec_root() / f"{name}.cfg"
    if re.fullmatch(r"\w{1,80}", name, re.ASCII) and path.is_file():
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

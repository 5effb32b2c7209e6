"""A protocol core, or a mutant of it, on the edges of the state graphs.

Every input that TLC tried in a state is a trial: the core is put in the state and given the input,
and what comes of it must be what the graph says: the same state, the same sends in the same order,
effects that lead to that state, or nothing at all where the spec does not enable the action. The
trials are ordered so that a mutant is killed soon.

The spec says what a step sends and to which state it leads. All other effects follow from that
state: it says what is on disk, which streams are open and which copies run. `disagreement` carries
the effects out one by one, in their order, on the world that the state before describes, and
compares what becomes of it with the state after. Nothing here knows how the core is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster import effects as asked
from canvass.cluster.core import Handler
from canvass.cluster.effects import Effect, Effects, Send
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.outcome import Outcome
from canvass.conformance.operators import operator_place
from canvass.graph.artifact import Graph
from canvass.steps.step import Sends
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import NONE

E: Final = ElectionState
DURABLE: Final = (
    asked.PersistCandidateTerm,
    asked.UpdateRecordingLog,
    asked.TruncateLog,
    asked.WriteSnapshot,
)
"""The effects that change what is on disk."""

_ENDS_PROCESS: Final = frozenset({"Restart", "Terminate"})


class Impossible(Exception):
    """An effect cannot be carried out; the message is one line."""


@dataclass(slots=True)
class MemberWorld:
    """What a member has on disk and what runs for it."""

    candidate_term: int
    recording_log: tuple[TermEntry, ...]
    recorded: int
    snapshot: tuple[int, int, int]
    commit: int
    """The commit position that the services have received."""
    publication: int
    subscription: bool
    catchup_destination: bool
    replication: bool
    replay: int
    """Where the replay of the own log stops, or -1."""
    catchups: frozenset[int]
    """The followers to which the log is replayed."""
    recording: bool | None
    """Whether the log stream is recorded; null where the state does not say."""
    completed: int = NULL_VALUE
    """The term of the election that was completed within the step, or -1."""
    rolled_back: bool = False
    ended: bool = False

    def copied(self) -> MemberWorld:
        """Give a world of its own, before anything has happened to it."""
        return MemberWorld(
            self.candidate_term,
            self.recording_log,
            self.recorded,
            self.snapshot,
            self.commit,
            self.publication,
            self.subscription,
            self.catchup_destination,
            self.replication,
            self.replay,
            self.catchups,
            self.recording,
        )


def _is_recording(s: Member) -> bool | None:
    """Whether the archive records a stream: an election that has failed may have left it so."""
    if s.module_state is not ModuleState.ACTIVE:
        return False
    if s.election_state is E.INIT:
        return None
    return s.election_state in (E.LEADER_READY, E.FOLLOWER_CATCHUP, E.FOLLOWER_READY, E.CLOSED) or (
        s.election_state is E.FOLLOWER_LOG_INIT and s.log_subscription
    )


def world_of(s: Member) -> MemberWorld:
    """Give the world that a state describes."""
    return MemberWorld(
        candidate_term=s.persisted_candidate_term_id,
        recording_log=s.recording_log,
        recorded=s.recorded_position,
        snapshot=(
            s.snapshot_leadership_term_id,
            s.snapshot_term_base_log_position,
            s.snapshot_log_position,
        ),
        commit=s.commit_position,
        publication=s.publication_position,
        subscription=s.log_subscription,
        catchup_destination=s.catchup_destination,
        replication=s.log_replication,
        replay=s.replay_stop_position,
        catchups=frozenset(j for j, record in enumerate(s.members) if record.catchup_replay),
        recording=_is_recording(s),
    )


def _end_process(world: MemberWorld) -> None:
    """Leave what is on disk."""
    world.commit = 0
    world.publication = world.replay = NULL_VALUE
    world.subscription = world.catchup_destination = world.replication = world.recording = False
    world.catchups = frozenset()


def _need(condition: bool, effect: Effect, reason: str) -> None:
    if not condition:
        raise Impossible(f"{type(effect).__name__}: {reason}")


def _carry_out(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case asked.AdvanceCommit(position):
            world.commit = position
        case asked.RollBack(position):
            _need(position == world.commit, effect, "the services stand elsewhere")
            world.rolled_back = True
        case asked.JoinLog(position):
            _need(world.recording is True, effect, "what the services would follow is not recorded")
            _need(position == world.commit, effect, "the services stand elsewhere")
        case asked.StartReplay(position, stop_position):
            _need(world.replay == NULL_VALUE, effect, "a replay runs already")
            _need(position == world.commit, effect, "the services stand elsewhere")
            world.replay = stop_position
        case asked.StopReplay():
            _need(world.replay != NULL_VALUE, effect, "no replay runs")
            world.replay = NULL_VALUE
        case asked.CompleteElection(term):
            world.completed = term
        case asked.WriteSnapshot(term, base, position):
            _need(position == world.commit, effect, "the services stand elsewhere")
            world.snapshot = (term, base, position)
        case asked.EndProcess():
            world.ended = True
            _end_process(world)
        case _:
            _carry_out_on_log(effect, world)


def _carry_out_on_subscription(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case asked.OpenLogSubscription():
            _need(not world.subscription, effect, "there is a subscription already")
            world.subscription = True
        case asked.CloseLogSubscription():
            _need(world.subscription, effect, "there is no subscription")
            _need(not world.catchup_destination, effect, "its catch-up goes on")
            world.subscription = False
        case asked.AddCatchupDestination():
            _need(world.subscription, effect, "there is no subscription")
            world.catchup_destination = True
        case asked.RemoveCatchupDestination():
            _need(world.catchup_destination, effect, "there is no catch-up")
            world.catchup_destination = False
        case asked.StartReplication(_, position):
            _need(not world.replication, effect, "a replication runs already")
            _need(position == world.recorded, effect, "the recording ends elsewhere")
            world.replication = True
        case asked.StopReplication():
            _need(world.replication, effect, "no replication runs")
            world.replication = False
        case asked.StartCatchup(follower):
            _need(follower not in world.catchups, effect, "it runs already")
            world.catchups |= {follower}
        case asked.StopCatchupReplay(follower):
            _need(follower in world.catchups, effect, "none runs")
            world.catchups -= {follower}
        case _:
            raise TypeError(f"{effect!r} is no effect that is known here")


def _carry_out_on_log(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case asked.PersistCandidateTerm(term):
            _need(term >= world.candidate_term, effect, "the term on disk is newer")
            world.candidate_term = term
        case asked.UpdateRecordingLog(entries):
            world.recording_log = entries
        case asked.TruncateLog(position):
            _need(position < world.recorded, effect, "there is nothing to truncate")
            world.recorded = position
        case asked.StartRecording(position):
            _need(world.recording is False, effect, "a stream is recorded already")
            _need(position == world.recorded, effect, "the recording ends elsewhere")
            world.recording = True
        case asked.StopRecording():
            world.recording = False
        case asked.OpenLogPublication(position):
            _need(world.publication == NULL_VALUE, effect, "there is a log stream already")
            world.publication = position
        case asked.CloseLogPublication():
            _need(world.publication != NULL_VALUE, effect, "there is no log stream")
            world.publication = NULL_VALUE
        case asked.AppendToLog(position):
            _need(NULL_VALUE < world.publication < position, effect, "the log does not grow")
            world.publication = position
        case asked.AppendNewLeadershipTermEvent(_, base, position):
            _need(world.publication == base, effect, "the term begins elsewhere")
            _need(base < position, effect, "the log does not grow")
            world.publication = position
        case _:
            _carry_out_on_subscription(effect, world)


def disagreement(
    before: Member,
    action: str,
    after: Member,
    effects: Effects,
    worlds: tuple[MemberWorld, MemberWorld] | None = None,
) -> str:
    """Say in one line why the effects of a step do not lead to the state after it; empty if so.

    Parameters
    ----------
    before, after
        The states that the step leads from and to.
    action
        Its name: a restart begins with what is on disk.
    effects
        Of the step, sends among them, in their order.
    worlds
        What `world_of` gives for the two states, if that is known already; not modified.
    """
    if before is after and not effects:
        return ""
    found, due = worlds or (world_of(before), world_of(after))
    world, due = found.copied(), due.copied()
    if action == "Restart":
        _end_process(world)
    if action == "RecordLog":
        world.recorded = max(world.recorded, due.recorded)  # The archive did it by itself.
    sent = False
    for effect in effects:
        if isinstance(effect, Send):
            sent = True
            continue
        if sent and isinstance(effect, DURABLE):
            return f"{type(effect).__name__} comes after a send that may tell of it"
        if world.ended:
            return f"{type(effect).__name__} comes after the end of the process"
        try:
            _carry_out(effect, world)
        except Impossible as error:
            return str(error)
    due.ended = after.module_state is not ModuleState.ACTIVE and action == "Terminate"
    due.rolled_back = action not in _ENDS_PROCESS and _leaves_log(before, after)
    if _completes(before, after):
        due.completed = after.module_leadership_term_id
    if due.recording is None or (world.recording is None and not due.rolled_back):
        due.recording = world.recording
    return "" if world == due else _difference(world, due)


def _difference(world: MemberWorld, due: MemberWorld) -> str:
    if world.ended != due.ended:
        return "the process does not end" if due.ended else "the process ends"
    for field in fields(MemberWorld):
        had, has = getattr(world, field.name), getattr(due, field.name)
        if had != has:
            part = field.name.replace("_", " ")
            return f"the effects leave {part} at {had!r}, the state says {has!r}"
    return ""


def _completes(before: Member, after: Member) -> bool:
    return (
        after.module_state is ModuleState.ACTIVE
        and after.election_state is E.CLOSED
        and before.election_state is not E.CLOSED
    )


def _leaves_log(before: Member, after: Member) -> bool:
    """Whether the step tears down what belongs to the old term: it begins an election anew."""
    begins = before.election_state in (E.CLOSED, E.INIT)
    return begins and after.election_state not in (E.CLOSED, E.INIT)


ROUNDS: Final = (30, 300, 3_000, 30_000)
"""Trials of each action up to the end of each round; the last round takes all that are left."""

Trial = tuple[int, int, int, int]
"""Rows of the state before, the input, the state after or -1, the sends."""


@dataclass(frozen=True, slots=True)
class EdgeKill:
    """What gave a mutant away."""

    graph: str
    """The model that the graph was made of."""
    action: Action
    difference: str
    """In one line."""
    tried: int
    """Trials up to this one."""
    before: Member
    input: Input

    @property
    def operator(self) -> str:
        """Where the spec defines the action."""
        return operator_place(self.action)


class Trials:
    """The trials of a graph by action, in a random order that is always the same."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rules = graph.rules
        self._rng = np.random.default_rng(0)
        self._by_action: dict[Action, NDArray[np.int64]] = {}

    @cached_property
    def states(self) -> list[Member]:
        """All states."""
        return [self.graph.member(row) for row in range(len(self.graph.state))]

    @cached_property
    def sends(self) -> list[Sends]:
        """All lists of sends."""
        return [self.graph.sends_of(row) for row in range(len(self.graph.send_offsets) - 1)]

    @cached_property
    def inputs(self) -> list[Input]:
        """All inputs."""
        return [self.graph.given(row)[1] for row in range(len(self.graph.inputs))]

    @cached_property
    def worlds(self) -> list[MemberWorld]:
        """What each state says of the member's world."""
        return [world_of(state) for state in self.states]

    def of(self, action: Action) -> NDArray[np.int64]:
        """Give the trials of an action, a row each: see `Trial`."""
        if action not in self._by_action:
            graph, code = self.graph, ACTIONS.index(action)
            rows = np.flatnonzero(graph.input_action[graph.input] == code)
            columns = (graph.source, graph.input, graph.target, graph.sent)
            tried = np.stack([column[rows] for column in columns], axis=1)
            inputs = np.flatnonzero(graph.input_action == code)
            barred = np.flatnonzero(graph.expanded & ((graph.disabled >> code & 1) == 1))
            none = np.full((len(barred) * len(inputs), 4), NONE, dtype=np.int64)
            none[:, 0] = np.repeat(barred, len(inputs))
            none[:, 1] = np.tile(inputs, len(barred))
            both = np.concatenate([tried, none])
            self._by_action[action] = both[self._rng.permutation(len(both))]
        return self._by_action[action]

    def rounds(self, actions: Iterable[Action]) -> Iterator[tuple[Action, Sequence[Trial]]]:
        """Give the trials of some actions: a few of each, then more of each, then all."""
        chosen = list(actions)
        first = 0
        for last in (*ROUNDS, None):
            for action in chosen:
                trials = self.of(action)[first:last].tolist()
                if trials:
                    yield action, trials
            first = last or 0


def find_kill(trials: Trials, core: Any, actions: Iterable[Action] = ACTIONS) -> EdgeKill | int:
    """Hold a core against a graph until it is found out.

    Parameters
    ----------
    trials
        Of the graph.
    core
        A module with ``ACTIONS``, as `canvass.cluster.core` has it.
    actions
        The ones to try.

    Returns
    -------
    EdgeKill or int
        The first difference; or how many trials there were, if all came out as the graph says.
    """
    rules, states, inputs = trials.rules, trials.states, trials.inputs
    tried = 0
    for action, chosen in trials.rounds(actions):
        handler: Handler = core.ACTIONS[action.value]
        for source, given, target, sent in chosen:
            tried += 1
            before, x = states[source], inputs[given]
            try:
                outcome = handler(rules, 0, before, x)
            except Exception as error:  # noqa: BLE001 - whatever a mutant raises gives it away
                found = f"raises {type(error).__name__}"
            else:
                found = _wrong_outcome(trials, action, outcome, (source, given, target, sent))
            if found:
                return EdgeKill(trials.graph.manifest.model, action, found, tried, before, x)
    return tried


def _wrong_outcome(trials: Trials, action: Action, outcome: Outcome | None, trial: Trial) -> str:
    """Say what an outcome has that the edge has not; empty if nothing."""
    source, _, target, sent = trial
    if outcome is None or target == NONE:
        if outcome is None and target == NONE:
            return ""
        return "not enabled, and should be" if outcome is None else "enabled, and should not be"
    after = trials.states[target]
    if outcome.next != after:
        differing = [
            name
            for name in Member.__struct_fields__
            if getattr(outcome.next, name) != getattr(after, name)
        ]
        return f"leads to another {', '.join(differing)}"
    if tuple((send.to, send.message) for send in outcome.sends) != trials.sends[sent]:
        return "sends something else"
    before, worlds = trials.states[source], trials.worlds
    return disagreement(
        before, action.value, after, outcome.effects, (worlds[source], worlds[target])
    )

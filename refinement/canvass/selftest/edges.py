"""Run a protocol core, or a mutant of it, on the edges of the state graphs.

Every input that TLC tried in a state is a trial. The core gets the state and the input. Its result
must equal the edge: the same next state, the same sends in the same order, and effects that lead to
that state. If the spec does not enable the action, the core must not take a step. The order of the
trials makes mutants fail early.

An edge has a next state and sends. All other effects follow from the next state: it says what is on
disk, which streams are open and which copies run. `disagreement` applies the effects in their order
to the `MemberWorld` of the state before. The result must equal the `MemberWorld` of the state
after. This module does not depend on the core's code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster import effects
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
    effects.PersistCandidateTerm,
    effects.UpdateRecordingLog,
    effects.TruncateLog,
    effects.WriteSnapshot,
)
"""The effects that change what is on disk."""

_ENDS_PROCESS: Final = frozenset({"Restart", "Terminate"})
_OTHER_COMMIT: Final = "the services have another commit position"


class Impossible(Exception):
    """An effect cannot be applied; the message is one line."""


@dataclass(slots=True)
class MemberWorld:
    """The disk of a member, its streams and its copies."""

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
    """The stop position of the replay of the member's own log; -1 without a replay."""
    catchups: frozenset[int]
    """The followers to which the log is replayed."""
    recording: bool | None
    """Whether the archive records the log stream; None if the state does not say."""
    completed: int = NULL_VALUE
    """The term of the election that the step completes; -1 if it completes none."""
    rolled_back: bool = False
    ended: bool = False


def _is_recording(s: Member) -> bool | None:
    """Tell whether the archive records a stream; None in INIT: a failed election may leave one."""
    if s.module_state is not ModuleState.ACTIVE:
        return False
    if s.election_state is E.INIT:
        return None
    return s.election_state in (E.LEADER_READY, E.FOLLOWER_CATCHUP, E.FOLLOWER_READY, E.CLOSED) or (
        s.election_state is E.FOLLOWER_LOG_INIT and s.log_subscription
    )


def world_of(s: Member) -> MemberWorld:
    """Derive the world of a member from its state."""
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
    """Reset everything that is not on disk."""
    world.commit = 0
    world.publication = world.replay = NULL_VALUE
    world.subscription = world.catchup_destination = world.replication = world.recording = False
    world.catchups = frozenset()


def _need(condition: bool, effect: Effect, reason: str) -> None:
    if not condition:
        raise Impossible(f"{type(effect).__name__}: {reason}")


def _apply(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case effects.AdvanceCommit(position):
            world.commit = position
        case effects.RollBack(position):
            _need(position == world.commit, effect, _OTHER_COMMIT)
            world.rolled_back = True
        case effects.JoinLog(position):
            _need(world.recording is True, effect, "the log stream is not recorded")
            _need(position == world.commit, effect, _OTHER_COMMIT)
        case effects.StartReplay(position, stop_position):
            _need(world.replay == NULL_VALUE, effect, "a replay runs already")
            _need(position == world.commit, effect, _OTHER_COMMIT)
            world.replay = stop_position
        case effects.StopReplay():
            _need(world.replay != NULL_VALUE, effect, "no replay runs")
            world.replay = NULL_VALUE
        case effects.CompleteElection(term):
            world.completed = term
        case effects.WriteSnapshot(term, base, position):
            _need(position == world.commit, effect, _OTHER_COMMIT)
            world.snapshot = (term, base, position)
        case effects.EndProcess():
            world.ended = True
            _end_process(world)
        case _:
            _apply_to_log(effect, world)


def _apply_to_subscription(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case effects.OpenLogSubscription():
            _need(not world.subscription, effect, "there is a subscription already")
            world.subscription = True
        case effects.CloseLogSubscription():
            _need(world.subscription, effect, "there is no subscription")
            _need(not world.catchup_destination, effect, "a catch-up uses the subscription")
            world.subscription = False
        case effects.AddCatchupDestination():
            _need(world.subscription, effect, "there is no subscription")
            world.catchup_destination = True
        case effects.RemoveCatchupDestination():
            _need(world.catchup_destination, effect, "there is no catch-up")
            world.catchup_destination = False
        case effects.StartReplication(_, position):
            _need(not world.replication, effect, "a replication runs already")
            _need(position == world.recorded, effect, "the recording ends elsewhere")
            world.replication = True
        case effects.StopReplication():
            _need(world.replication, effect, "no replication runs")
            world.replication = False
        case effects.StartCatchup(follower):
            _need(follower not in world.catchups, effect, "the catch-up runs already")
            world.catchups |= {follower}
        case effects.StopCatchupReplay(follower):
            _need(follower in world.catchups, effect, "no catch-up of this follower runs")
            world.catchups -= {follower}
        case _:
            raise TypeError(f"unknown effect: {effect!r}")


def _apply_to_log(effect: Effect, world: MemberWorld) -> None:
    match effect:
        case effects.PersistCandidateTerm(term):
            _need(term >= world.candidate_term, effect, "the term on disk is newer")
            world.candidate_term = term
        case effects.UpdateRecordingLog(entries):
            world.recording_log = entries
        case effects.TruncateLog(position):
            _need(position < world.recorded, effect, "there is nothing to truncate")
            world.recorded = position
        case effects.StartRecording(position):
            _need(world.recording is False, effect, "a stream is recorded already")
            _need(position == world.recorded, effect, "the recording ends elsewhere")
            world.recording = True
        case effects.StopRecording():
            world.recording = False
        case effects.OpenLogPublication(position):
            _need(world.publication == NULL_VALUE, effect, "there is a log stream already")
            world.publication = position
        case effects.CloseLogPublication():
            _need(world.publication != NULL_VALUE, effect, "there is no log stream")
            world.publication = NULL_VALUE
        case effects.AppendToLog(position):
            _need(NULL_VALUE < world.publication < position, effect, "the log does not grow")
            world.publication = position
        case effects.AppendNewLeadershipTermEvent(_, base, position):
            _need(world.publication == base, effect, "the term begins elsewhere")
            _need(base < position, effect, "the log does not grow")
            world.publication = position
        case _:
            _apply_to_subscription(effect, world)


def disagreement(
    before: Member,
    action: str,
    after: Member,
    done: Effects,
    worlds: tuple[MemberWorld, MemberWorld] | None = None,
) -> str:
    """Say in one line why effects do not lead from ``before`` to ``after``; empty if they do.

    Parameters
    ----------
    before, after
        The states before and after the step.
    action
        Name of the action. A restart keeps only the disk of ``before``.
    done
        The effects of the step in their order, sends included.
    worlds
        The results of `world_of` for the two states, if the caller has them; not modified.
    """
    if before is after and not done:
        return ""
    world, due = map(replace, worlds or (world_of(before), world_of(after)))
    if action == "Restart":
        _end_process(world)
    if action == "RecordLog":
        world.recorded = max(world.recorded, due.recorded)  # The archive records without an effect.
    sent = False
    for effect in done:
        if isinstance(effect, Send):
            sent = True
            continue
        if sent and isinstance(effect, DURABLE):
            return f"{type(effect).__name__} comes after a send"
        if world.ended:
            return f"{type(effect).__name__} comes after the end of the process"
        try:
            _apply(effect, world)
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
            return f"after the effects {part} is {had!r}, in the state {has!r}"
    return ""


def _completes(before: Member, after: Member) -> bool:
    return (
        after.module_state is ModuleState.ACTIVE
        and after.election_state is E.CLOSED
        and before.election_state is not E.CLOSED
    )


def _leaves_log(before: Member, after: Member) -> bool:
    """Tell whether the step begins an election, and so closes the streams of the old term."""
    begins = before.election_state in (E.CLOSED, E.INIT)
    return begins and after.election_state not in (E.CLOSED, E.INIT)


ROUNDS: Final = (30, 300, 3_000, 30_000)
"""Number of trials of each action after each round. A last round takes all others."""

Trial = tuple[int, int, int, int]
"""Rows of the graph: the state before, the input, the state after (-1 if disabled), the sends."""


@dataclass(frozen=True, slots=True)
class EdgeKill:
    """A trial whose result differs from the edge."""

    graph: str
    """Name of the graph's model."""
    action: Action
    difference: str
    """The difference in one line."""
    before: Member
    input: Input

    @property
    def operator(self) -> str:
        """The place in the spec that defines the action."""
        return operator_place(self.action)


class Trials:
    """The trials of a graph by action, in a random order with a fixed seed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rules = graph.rules
        self._rng = np.random.default_rng(0)
        self._by_action: dict[Action, NDArray[np.int64]] = {}

    @cached_property
    def states(self) -> list[Member]:
        """All states, by row."""
        return [self.graph.member(row) for row in range(len(self.graph.state))]

    @cached_property
    def sends(self) -> list[Sends]:
        """All lists of sends, by row."""
        return [self.graph.sends_of(row) for row in range(len(self.graph.send_offsets) - 1)]

    @cached_property
    def inputs(self) -> list[Input]:
        """All inputs, by row."""
        return [self.graph.given(row)[1] for row in range(len(self.graph.inputs))]

    @cached_property
    def worlds(self) -> list[MemberWorld]:
        """The world of each state, by row."""
        return [world_of(state) for state in self.states]

    def of(self, action: Action) -> NDArray[np.int64]:
        """Give the trials of an action as an array of `Trial` rows."""
        if action not in self._by_action:
            graph, code = self.graph, ACTIONS.index(action)
            rows = np.flatnonzero(graph.input_action[graph.input] == code)
            columns = (graph.source, graph.input, graph.target, graph.sent)
            tried = np.stack([column[rows] for column in columns], axis=1)
            inputs = np.flatnonzero(graph.input_action == code)
            disabled = np.flatnonzero(graph.expanded & ((graph.disabled >> code & 1) == 1))
            none = np.full((len(disabled) * len(inputs), 4), NONE, dtype=np.int64)
            none[:, 0] = np.repeat(disabled, len(inputs))
            none[:, 1] = np.tile(inputs, len(disabled))
            both = np.concatenate([tried, none])
            self._by_action[action] = both[self._rng.permutation(len(both))]
        return self._by_action[action]

    def rounds(self, actions: Iterable[Action]) -> Iterator[tuple[Action, Sequence[Trial]]]:
        """Give the trials of some actions in `ROUNDS`: first a few of each action, then more."""
        chosen = list(actions)
        first = 0
        for last in (*ROUNDS, None):
            for action in chosen:
                trials = self.of(action)[first:last].tolist()
                if trials:
                    yield action, trials
            first = last or 0


def find_kill(
    trials: Trials, core: Any, actions: Iterable[Action] = ACTIONS
) -> tuple[EdgeKill | None, int]:
    """Run a core on the trials of a graph until a result differs from its edge.

    Parameters
    ----------
    trials
        The trials of the graph.
    core
        A module with ``ACTIONS`` as in `canvass.cluster.core`.
    actions
        The actions to try.

    Returns
    -------
    EdgeKill or None
        The first difference; None if all results equal the graph.
    int
        The number of trials, the differing one included.
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
            except Exception as error:  # noqa: BLE001 - any error of a mutant is a difference
                found = f"raises {type(error).__name__}"
            else:
                found = _wrong_outcome(trials, action, outcome, (source, given, target, sent))
            if found:
                return EdgeKill(trials.graph.manifest.model, action, found, before, x), tried
    return None, tried


def _wrong_outcome(trials: Trials, action: Action, outcome: Outcome | None, trial: Trial) -> str:
    """Name the difference between an outcome and its edge; empty if there is none."""
    source, _, target, sent = trial
    if outcome is None or target == NONE:
        if outcome is None and target == NONE:
            return ""
        return "disabled against the spec" if outcome is None else "enabled against the spec"
    after = trials.states[target]
    if outcome.next != after:
        differing = [
            name
            for name in Member.__struct_fields__
            if getattr(outcome.next, name) != getattr(after, name)
        ]
        return f"other values of {', '.join(differing)}"
    if tuple((send.to, send.message) for send in outcome.sends) != trials.sends[sent]:
        return "other sends"
    before, worlds = trials.states[source], trials.worlds
    return disagreement(
        before, action.value, after, outcome.effects, (worlds[source], worlds[target])
    )

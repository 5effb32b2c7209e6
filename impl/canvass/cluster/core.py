"""The table of a member's actions, and `step`, which takes one of them.

A step is a pure function of (rules, own id, state, action, input). It has at most one outcome. An
action has the same name here, in the spec (``Member.tla``) and in traces. The name follows from the
name of its function, without exceptions (`action_name`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from canvass.cluster import election as _election
from canvass.cluster import election_follower as _follower
from canvass.cluster import election_leader as _leader
from canvass.cluster import election_messages as _messages
from canvass.cluster import replication as _replication
from canvass.cluster.effects import Outcome
from canvass.cluster.election_messages import on_new_leadership_term
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules


def action_name(handler: Callable[..., object]) -> str:
    """Name a step function as TLA+ and traces do: ``on_request_vote`` becomes ``OnRequestVote``."""
    return "".join(word.capitalize() for word in handler.__name__.split("_"))


Handler: TypeAlias = Callable[[Rules, int, Member, Input], Outcome | None]

MESSAGE_HANDLERS: Final[tuple[Handler, ...]] = (
    _messages.on_canvass_position,
    _messages.on_request_vote,
    _messages.on_vote,
    on_new_leadership_term,
    _messages.on_append_position,
    _messages.on_commit_position,
    _replication.on_catchup_position,
    _replication.on_stop_catchup,
    _replication.on_termination_position,
    _replication.on_termination_ack,
)
"""A handler for each consensus message. It is enabled in every state."""

ELECTION_HANDLERS: Final[tuple[Handler, ...]] = (
    _election.election_init,
    _election.canvass,
    _election.nominate,
    _election.candidate_ballot,
    _election.follower_ballot,
    _leader.leader_log_replication,
    _leader.leader_replay,
    _leader.leader_init,
    _leader.leader_ready,
    _follower.follower_log_replication,
    _follower.follower_replay,
    _follower.follower_catchup_init,
    _follower.follower_catchup_await,
    _follower.follower_catchup,
    _follower.follower_log_init,
    _follower.follower_log_await,
    _follower.follower_ready,
)
"""A handler for each election state, in the order of Aeron's codes. It is enabled in its state."""

OTHER_HANDLERS: Final[tuple[Handler, ...]] = (
    _election.enter_election,
    _election.election_error,
    _election.restart,
    _replication.append_entry,
    _replication.record_log,
    _replication.consume_log,
    _replication.on_replay_new_leadership_term_event,
    _replication.update_leader_position,
    _replication.update_follower_position,
    _replication.take_snapshot,
    _replication.initiate_termination,
    _replication.terminate,
)
"""The other steps of the consensus module, its archive and its services."""

ACTIONS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        action_name(handler): handler
        for handler in (*MESSAGE_HANDLERS, *ELECTION_HANDLERS, *OTHER_HANDLERS)
    }
)
"""Every action by its name."""


def step(rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
    """Take one step of member ``i``.

    Parameters
    ----------
    rules
        The constants of the cluster, the same for every step.
    i
        The member's own id, from 0 to ``rules.member_count - 1``.
    s
        The state before the step. Not modified.
    action
        A key of `ACTIONS`.
    x
        What the step consumes. The action ignores fields that it does not read. A message may name
        only members of the cluster.

    Returns
    -------
    Outcome or None
        The next state, and the effects in the order in which they must happen. None if the action
        is not enabled.

    Raises
    ------
    KeyError
        If there is no such action.
    TypeError
        If the action handles a message, and the input has none or one of another type.
    """
    return ACTIONS[action](rules, i, s, x)

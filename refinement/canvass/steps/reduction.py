"""The reduced form of a step: only the parts that decide whether it is allowed.

The canonical form (`canvass.steps.canonical`) keeps every field that an action may read. Most steps
read less: a quorum position counts, not each report; a message that is ignored has no content.
`reduced` replaces the parts that do not decide a step:

1. a field that the step neither reads nor writes is erased, and so is the old value of a field
   that it writes without reading it;
2. the fields of a guard that reads many are replaced by the simplest fields with the same result;
3. numbers that are never compared with each other are put in a fixed order.

A rule gives up if the outcome has an unexpected change, and the step stays unreduced. So a step is
allowed if and only if its reduced form is: tests ask the Python core and TLC about both. The rules
below hold for clusters of three members or more without hardening.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from canvass.cluster import core
from canvass.cluster.member import ModuleState
from canvass.cluster.rules import Rules
from canvass.steps import candidate_rules, follower_rules, leader_rules
from canvass.steps.draft import Draft, Unreduced
from canvass.steps.oracle import Answer
from canvass.steps.step import Step
from canvass.traces.actions import Action

FEWEST_MEMBERS: Final = 3
REVISIONS: Final = frozenset({"1.49", "1.50"})
"""The revisions that the rules were written for."""

RULES: Final[dict[Action, Callable[[Draft], None]]] = {
    Action.ENTER_ELECTION: candidate_rules.enter_election,
    Action.ELECTION_INIT: candidate_rules.election_init,
    Action.ELECTION_ERROR: candidate_rules.election_error,
    Action.CANVASS: candidate_rules.canvass,
    Action.NOMINATE: candidate_rules.nominate,
    Action.CANDIDATE_BALLOT: candidate_rules.candidate_ballot,
    Action.FOLLOWER_BALLOT: candidate_rules.follower_ballot,
    Action.LEADER_LOG_REPLICATION: leader_rules.leader_log_replication,
    Action.UPDATE_LEADER_POSITION: leader_rules.update_leader_position,
    Action.LEADER_REPLAY: leader_rules.leader_replay,
    Action.LEADER_READY: leader_rules.leader_ready,
    Action.ON_CANVASS_POSITION: leader_rules.on_canvass_position,
    Action.ON_REQUEST_VOTE: candidate_rules.on_request_vote,
    Action.ON_VOTE: candidate_rules.on_vote,
    Action.ON_NEW_LEADERSHIP_TERM: follower_rules.on_new_leadership_term,
    Action.ON_APPEND_POSITION: leader_rules.on_append_position,
    Action.ON_COMMIT_POSITION: follower_rules.on_commit_position,
    Action.FOLLOWER_READY: follower_rules.follower_ready,
    Action.FOLLOWER_LOG_REPLICATION: follower_rules.follower_log_replication,
    Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: follower_rules.on_replay_new_leadership_term_event,
}


def reduced(step: Step, rules: Rules) -> Step:
    """Give a step that is allowed if and only if a canonical step is.

    Parameters
    ----------
    step
        A canonical step.
    rules
        The rules that decide it.

    Returns
    -------
    Step
        Not canonical itself. The same step if no rule knows it.
    """
    rule = RULES.get(step.action)
    known = rules.revision in REVISIONS and not rules.hardening
    active = step.before.module_state is ModuleState.ACTIVE
    if rule is None or not known or not active or rules.member_count < FEWEST_MEMBERS:
        return step
    draft = Draft(step, rules)
    try:
        rule(draft)
    except Unreduced:
        return step
    return draft.result()


def core_answer(rules: Rules, step: Step) -> Answer:
    """Give the core's answer about one step. Sends to different members have no order."""
    outcome = core.step(rules, step.member, step.before, step.action.value, step.input)
    if outcome is None:
        return Answer(False, False)
    sends = tuple((send.to, send.message) for send in outcome.sends)
    same = sorted(sends, key=lambda s: s[0]) == sorted(step.sends, key=lambda s: s[0])
    if same and outcome.next == step.after:
        return Answer(True, True)
    return Answer(False, True, ((outcome.next, sends),))

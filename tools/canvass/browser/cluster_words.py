"""States and steps of a whole cluster in words: where each member is, who did what with what.

States are plain trees with the variables ``member`` and ``channel`` of `Cluster.tla`.
"""

from __future__ import annotations

from typing import Any, Final

from canvass.lanes.of_counterexample import (
    LOSE,
    Tree,
    acting_member,
    action_name,
    is_received,
    moved,
)

_MOST_SENDS: Final = 3


def member_words(member: Tree) -> str:
    """Say where a member is: its election state, or what it does after the election."""
    if member.get("moduleState") == "CLOSED":
        return "not running"
    state = str(member.get("electionState", "?"))
    term = member.get("moduleLeadershipTermId")
    if state == "CLOSED":
        doing = "leads" if member.get("role") == "LEADER" else "follows"
        return f"{doing} t{term}"
    term = member.get("candidateTermId" if "BALLOT" in state else "leadershipTermId")
    return f"{state} t{term}" if isinstance(term, int) and term >= 0 else state


def cluster_words(state: Tree) -> str:
    """Say where the members are, and how many messages are on their way."""
    members = [f"{name} {member_words(one)}" for name, one in state["member"].items()]
    flying = sum(len(queue) for queues in state["channel"].values() for queue in queues.values())
    return " · ".join(members) + (f", {flying} in flight" if flying else "")


def difference_words(state: Tree, centre: Tree) -> str:
    """Say only where the members are that are elsewhere than in another state."""
    members, others = state["member"], centre["member"]
    found = [
        f"{name} {member_words(one)}"
        for name, one in members.items()
        if member_words(one) != member_words(others.get(name, {}))
    ]
    if not found:
        found = [f"{name} changed" for name, one in members.items() if one != others.get(name)]
    queues = [
        f"{i}→{j} {', '.join(map(_type, queue[:2])) or 'empty'}"
        for i, by_receiver in state["channel"].items()
        for j, queue in by_receiver.items()
        if queue != centre["channel"].get(i, {}).get(j)
    ]
    more = [f"{len(queues) - 2} other channels"] if len(queues) > 2 else []
    parts = [" · ".join(found), "; ".join([*queues[:2], *more])]
    return ", ".join(part for part in parts if part) or "the same members"


def moved_member(state: Tree, centre: Tree) -> str | None:
    """Name the first member that is elsewhere than in another state, or has changed."""
    members, others = state["member"], centre["member"]
    for same in (lambda a, b: member_words(a) == member_words(b), lambda a, b: a == b):
        for name, one in members.items():
            if not same(one, others.get(name, {})):
                return str(name)
    return None


def step_words(before: Tree, after: Tree, action: str) -> str:
    """Say who did what with which message."""
    moves = list(moved(before["channel"], after["channel"]))
    name = action_name(action)
    if action.startswith(LOSE):
        lost = [f"{_type(before['channel'][i][j][0])} {i} → {j}" for i, j, gone, _ in moves if gone]
        return f"lost: {', '.join(lost)}" if lost else name
    received = [(i, j) for i, j, gone, _ in moves if is_received(action, gone)]
    who = acting_member(before, after, action)
    parts = [f"{who} {name}"]
    parts += [f"← {i} {_type(before['channel'][i][j][0])}" for i, j in received if j == who]
    sends = [f"→ {j} {_type(one)}" for i, j, _, new in moves if i == who for one in new]
    parts += sends[:_MOST_SENDS]
    parts += [f"and {len(sends) - _MOST_SENDS} more"] if len(sends) > _MOST_SENDS else []
    return "  ".join(parts)


def _type(message: Any) -> str:
    if not isinstance(message, dict):
        return "message"
    if message.get("type") == "Vote" and isinstance(message.get("vote"), bool):
        return f"Vote({'yes' if message['vote'] else 'no'})"
    return str(message.get("type", "message"))

"""States and steps of a whole cluster in words: where each member is, who did what with what.

States are plain trees with the variables ``member`` and ``channel`` of `Cluster.tla`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

Tree = dict[str, Any]
PREFIX: Final = "Take"
"""Of an action of the cluster that lets a member take a step."""
LOSE: Final = "Lose"
"""What an action of the cluster begins with that takes a message away."""
_MOST_SENDS: Final = 3


def is_cluster(state: Tree) -> bool:
    """Say whether a state has members, and queues of messages between them."""
    members, channels = state.get("member"), state.get("channel")
    return (
        isinstance(members, dict)
        and len(members) > 0
        and isinstance(channels, dict)
        and all(isinstance(one, dict) for one in members.values())
        and channels.keys() <= members.keys()
        and all(
            isinstance(queues, dict)
            and queues.keys() <= members.keys()
            and all(isinstance(queue, list) for queue in queues.values())
            for queues in channels.values()
        )
    )


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


def moved(before: Tree, after: Tree) -> Iterator[tuple[str, str, int, list[Any]]]:
    """Give for each channel that changed how many messages left it, and which ones were put in."""
    for i, queues in after.items():
        for j, new in queues.items():
            old = before.get(i, {}).get(j, [])
            if old == new:
                continue
            gone = next(
                gone for gone in range(len(old) + 1) if old[gone:] == new[: len(old) - gone]
            )
            yield i, j, gone, new[len(old) - gone :]


def acting_member(before: Tree, after: Tree, action: str) -> str:
    """Name whose step it was: the receiver of what was taken, else who changed, else who sent."""
    members: Tree = after["member"]
    moves = list(moved(before["channel"], after["channel"]))
    changed = [name for name, one in members.items() if before["member"].get(name) != one]
    taken = [j for _, j, gone, _ in moves if gone == 1]
    if taken and (action.startswith(LOSE) or not changed or taken[0] in changed):
        return taken[0]
    sent = [i for i, _, _, new in moves if new]
    return next(iter([*changed, *sent, *taken, *members]))


def step_words(before: Tree, after: Tree, action: str) -> str:
    """Say who did what with which message."""
    moves = list(moved(before["channel"], after["channel"]))
    name = action.partition("(")[0].removeprefix(PREFIX)
    if action.startswith(LOSE):
        lost = [f"{_type(before['channel'][i][j][0])} {i} → {j}" for i, j, gone, _ in moves if gone]
        return f"lost: {', '.join(lost)}" if lost else name
    received = [(i, j) for i, j, gone, _ in moves if gone == 1]
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

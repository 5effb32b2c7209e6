"""Labels of states, differences of states, and descriptions of steps, as texts for a person.

States are trees of plain JSON values. The state of a whole cluster has the variables ``member`` and
``channel`` of `Cluster.tla`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from canvass.browser.questions import LABEL_CHARS, shortened
from canvass.lanes.diagram import ABSENT
from canvass.lanes.drawing import (
    LOSE,
    FieldChange,
    Tree,
    acting_member,
    action_name,
    field_changes,
    is_cluster,
    is_received,
    moved,
    part_path,
    value_text,
)

_MOST_SENDS: Final = 3


def _member_words(member: Tree) -> str:
    """Describe a member: its election state, or after the election its role; with the term."""
    if member.get("moduleState") == "CLOSED":
        return "not running"
    state = str(member.get("electionState", "?"))
    term = member.get("moduleLeadershipTermId")
    if state == "CLOSED":
        doing = "leads" if member.get("role") == "LEADER" else "follows"
        return f"{doing} t{term}"
    term = member.get("candidateTermId" if "BALLOT" in state else "leadershipTermId")
    return f"{state} t{term}" if isinstance(term, int) and term >= 0 else state


def _cluster_words(state: Tree) -> str:
    """Describe all members, and count the messages in flight."""
    members = [f"{name} {_member_words(one)}" for name, one in state["member"].items()]
    flying = sum(len(queue) for queues in state["channel"].values() for queue in queues.values())
    return " · ".join(members) + (f", {flying} in flight" if flying else "")


def _difference_words(state: Tree, centre: Tree) -> str:
    """Describe the members and channels that differ from those of ``centre``."""
    found = [f"{name} {words}" for name, words in _differing(state, centre)]
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
    """Name the first member whose description differs from that in ``centre``.

    If no description differs, name the first member whose state differs; None if none does.
    """
    return next((name for name, _ in _differing(state, centre)), None)


def _differing(state: Tree, centre: Tree) -> list[tuple[str, str]]:
    """Give the members whose description differs; if none differs, those whose state differs."""
    others = {name: centre["member"].get(name, {}) for name in state["member"]}
    changed = [(name, one) for name, one in state["member"].items() if one != others[name]]
    words = [(name, _member_words(one)) for name, one in changed]
    differ = [(name, said) for name, said in words if said != _member_words(others[name])]
    return differ or [(name, "changed") for name, _ in changed]


def step_words(before: Tree, after: Tree, action: str) -> str:
    """Describe a step of a cluster: member, action, message received and messages sent."""
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


MAX_CHANGES: Final = 200
"""Most changes of one step in an answer: a member's state has some 60 fields."""
_PARTS: Final = 3
_DIFFERENCES: Final = 2


def label_of(tree: dict[str, Any]) -> str:
    """Label a state: a member by election state, term and position, another by its first fields."""
    if is_cluster(tree):
        return shortened(_cluster_words(tree), LABEL_CHARS)
    if "electionState" in tree:
        name = tree["electionState"]
        if name == "CLOSED":
            name = f"CLOSED {tree.get('role', '')}".rstrip()
        if tree.get("moduleState") == "CLOSED":
            name = "not running"
        term, position = tree.get("leadershipTermId"), tree.get("appendPosition")
        if tree["electionState"] == "CLOSED" and term == -1:
            # The election is over: the module has the term, the disk the position.
            term, position = tree.get("moduleLeadershipTermId"), tree.get("recordedPosition")
        return shortened(f"{name} t{term} p{position}", LABEL_CHARS)
    parts = [f"{key}={value_text(value)}" for key, value in list(tree.items())[:_PARTS]]
    more = " …" if len(tree) > _PARTS else ""
    return shortened(", ".join(parts) + more, LABEL_CHARS)


def near_label(tree: dict[str, Any], centre: dict[str, Any]) -> str:
    """Label a state by its differences from ``centre``."""
    if is_cluster(tree) and is_cluster(centre):
        return shortened(_difference_words(tree, centre), LABEL_CHARS)
    label = label_of(tree)
    if label != label_of(centre):
        return label
    changes = tree_changes(centre, tree)
    parts = [f"{one.field} {one.after}" for one in changes[:_DIFFERENCES]]
    more = f" +{len(changes) - _DIFFERENCES}" if len(changes) > _DIFFERENCES else ""
    return shortened(", ".join(parts) + more, LABEL_CHARS) or label


def labels_of(trees: Mapping[int, dict[str, Any]]) -> dict[int, str]:
    """Label states; different states get different labels, unless long values are shortened."""
    return distinct_labels({row: label_of(tree) for row, tree in trees.items()}, trees)


def distinct_labels(
    labels: Mapping[int, str], trees: Mapping[int, dict[str, Any]]
) -> dict[int, str]:
    """Add fields to a label that several states share, until the labels differ.

    The field that separates most states comes first.
    """
    found, alike = dict(labels), defaultdict[str, list[int]](list)
    for row, label in labels.items():
        alike[label].append(row)
    for rows in alike.values():
        if len(rows) == 1:
            continue
        values = {row: dict(_leaves("", trees[row])) for row in rows}
        paths = list(dict.fromkeys(path for one in values.values() for path in one))
        parts = dict.fromkeys(rows, 0)  # Rows with equal numbers still share a label.
        words: dict[int, list[str]] = {row: [] for row in rows}
        while paths:
            splits = {
                path: {(part, values[row].get(path, ABSENT)) for row, part in parts.items()}
                for path in paths
            }
            sizes = Counter(parts.values())
            # A field that separates no states now separates none later.
            paths = [path for path in paths if len(splits[path]) > len(sizes)]
            if not paths:
                break
            path = max(paths, key=lambda one: len(splits[one]))
            number = {key: place for place, key in enumerate(splits[path])}
            for row, part in parts.items():
                value = values[row].get(path, ABSENT)
                parts[row] = number[part, value]
                if sizes[part] > 1:
                    words[row].append(shortened(f"{path} {value}", LABEL_CHARS))
        for row, said in words.items():
            found[row] += f" · {', '.join(said)}" if said else ""
    return found


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Give the paths and values of a tree; a list of plain values is one value."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(part_path(path, str(name)), one)
    elif isinstance(value, (list, tuple)) and any(isinstance(one, dict) for one in value):
        for place, one in enumerate(value):
            yield from _leaves(f"{path}[{place}]", one)
    elif value or not isinstance(value, (list, tuple)):
        yield path, value_text(value)


def edge_words(before: dict[str, Any], after: dict[str, Any], action: str) -> str:
    """Describe a step of a cluster; for other graphs, give the action."""
    if is_cluster(before) and is_cluster(after):
        return shortened(step_words(before, after, action), LABEL_CHARS)
    return action


def tree_changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """List the fields in which two trees differ, `MAX_CHANGES` at most."""
    found: list[FieldChange] = []
    for path, old, new in field_changes(before, after):
        if len(found) == MAX_CHANGES:
            found.append(FieldChange("…", "", "(shortened: more changes)"))
            break
        found.append(FieldChange(path, old, new))
    return tuple(found)

"""A state graph of a cluster, made without TLC: one member requests the vote of the other one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canvass.graph.dump_graph import import_dump
from support.page_material import cluster_state
from support.state_graphs import dot_text

STEPS = ((0, "TakeNominate", 1), (1, "TakeOnRequestVote", 2), (2, "Lose", 3))


def write_cluster_graph(folder: Path) -> None:
    """Write a graph of four states: the request is sent and arrives; in the last, two lead."""

    def value(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {int(n) if n.isdigit() else n: value(one) for n, one in tree.items()}
        return [value(one) for one in tree] if isinstance(tree, list) else tree

    asked = ((False, False), (True, False), (True, True), (True, True))
    states = [cluster_state(sent, received, claim="") for sent, received in asked]
    for state in states:
        for member in state["member"].values():
            member |= {"role": "FOLLOWER", "moduleLeadershipTermId": 0}
        # A function whose domain is {1} would be a sequence in TLA+.
        for name, queues in state["channel"].items():
            queues.setdefault(name, [])
    for member in states[-1]["member"].values():
        member |= {"electionState": "CLOSED", "role": "LEADER", "moduleLeadershipTermId": 1}
    dump = folder.with_suffix(".dot")
    dump.write_text(dot_text([value(state) for state in states], STEPS))
    import_dump(dump, folder, complete=True)

"""A state graph of a cluster without TLC: one member asks the other one for its vote."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from canvass.graph.dump_folder import DumpArrays, DumpManifest, DumpOrigin, write_dump_graph
from canvass.graph.folders import ID_BYTES
from canvass.graph.values import interned
from canvass.tlc.given import from_python
from support.page_material import cluster_state

ACTIONS = ("Lose", "TakeNominate", "TakeOnRequestVote")
NOMINATED, ASKED, GRANTED, TWO_LEAD = 0, 1, 2, 3


def write_cluster_graph(folder: Path) -> DumpManifest:
    """Write a graph of four states: the request is sent and arrives; in the last, two lead."""

    def value(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {int(n) if n.isdigit() else n: value(one) for n, one in tree.items()}
        return [value(one) for one in tree] if isinstance(tree, list) else tree

    states = [
        cluster_state(asked=False, received=False, claim=""),
        cluster_state(asked=True, received=False, claim=""),
        cluster_state(asked=True, received=True, claim=""),
    ]
    both = cluster_state(asked=True, received=True, claim="")
    for member in both["member"].values():
        member |= {"electionState": "CLOSED", "role": "LEADER", "moduleLeadershipTermId": 1}
    states.append(both)
    for state in states:
        for member in state["member"].values():
            member.setdefault("role", "FOLLOWER")
            member.setdefault("moduleLeadershipTermId", 0)
        # A function of 1 alone would be a sequence in TLA+.
        for name, queues in state["channel"].items():
            queues.setdefault(name, [])
    ids = np.frombuffer(
        b"".join(hashlib.sha256(b"cluster %d" % k).digest()[:ID_BYTES] for k in range(len(states))),
        dtype=np.uint8,
    ).reshape(len(states), ID_BYTES)
    words = ids.view(">u8")
    order = np.lexsort((words[:, 1], words[:, 0]))
    row = np.empty(len(states), dtype=np.int32)
    row[order] = np.arange(len(states), dtype=np.int32)
    columns = interned(
        {
            name: ([from_python(value(state[name])) for state in states], order)
            for name in ("member", "channel")
        }
    )
    steps = ((NOMINATED, ASKED, 1), (ASKED, GRANTED, 2), (GRANTED, TWO_LEAD, 0))
    edges = np.array([(row[a], row[b], action) for a, b, action in steps], dtype=np.int32)
    edges = edges[np.lexsort((edges[:, 2], edges[:, 1], edges[:, 0]))]
    initial = np.zeros(len(states), dtype=np.bool_)
    initial[row[NOMINATED]] = True
    arrays = DumpArrays(
        columns=columns,
        ids=ids[order],
        initial=initial,
        expanded=np.ones(len(states), dtype=np.bool_),
        source=edges[:, 0].copy(),
        target=edges[:, 1].copy(),
        action=edges[:, 2].copy(),
        action_names=ACTIONS,
        arguments=np.full(len(edges), -1, dtype=np.int32),
        argument_texts=(),
    )
    return write_dump_graph(folder, arrays, model="TwoMembers", complete=True, origin=DumpOrigin())

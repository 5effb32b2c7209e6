"""The moment at which members start on the disks that they have left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canvass.cluster import core
from canvass.cluster.member import Input
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.disks.outlook import initial_state, reason_not_to_start
from canvass.disks.verdict import assess, load_disks
from canvass.distance.moment import Moment
from canvass.simulation.log_contents import Log, cut, length


def moment_of_disks(folders: Sequence[Path], *, lost: Sequence[int] = ()) -> Moment:
    """Give the moment after all members that can start have started.

    Committed is what the disks prove to have been; see `canvass.disks.comparison`.

    Parameters
    ----------
    folders, lost
        As in `canvass.disks.verdict.assess`.

    Raises
    ------
    DiskError
        If a folder cannot be used at all.
    """
    verdict = assess(folders, lost=lost)
    disks = {disk.member_id: disk for disk in load_disks(folders) if disk.member_id not in lost}
    rules = Rules.of(verdict.revision, verdict.member_count)
    ids = sorted({*verdict.member_ids, *verdict.without_disk})
    members, logs = [], list[Log]()
    for index, member_id in enumerate(ids):
        disk = disks.get(member_id)
        if disk is None:
            members.append(persistent_member(rules))
            logs.append(())
            continue
        state, log = initial_state(rules, disk)
        if not reason_not_to_start(disk):
            begun = core.step(rules, index, state, "Restart", Input())
            assert begun is not None, "a member can always be started"
            state = begun.next
        members.append(state)
        logs.append(log)
    proven = verdict.committed
    committed: Log = ()
    if proven is not None:
        committed = cut(logs[ids.index(proven.member_id)], proven.position)
    return Moment(
        rules=rules,
        members=tuple(members),
        under_way=(),
        logs=tuple(logs),
        committed=committed if length(committed) else (),
        leaders=frozenset(
            (run.term, ids.index(run.leader))
            for disk in disks.values()
            if disk.log is not None
            for run in disk.log.terms
            if run.leader in ids
        ),
        label="the disks",
    )

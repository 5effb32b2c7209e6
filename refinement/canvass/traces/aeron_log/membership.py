"""The members of a cluster: how many there are, and their numbers in a run.

A run numbers its members from 0. Mostly the ids in the logs are these numbers. If a cluster has
other ids, its members are numbered in the order of their ids. The first step of a cluster with one
member shows its size: the member leads without a canvass. The size of a larger cluster is the
number of members in the lines, unless the user or `config.json` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.incarnations import LineCounts
from canvass.traces.aeron_log.member_log import ClusterLogs, MemberLog
from canvass.traces.aeron_log.records import ElectionStateChange, LogRecord
from canvass.traces.layout import MAX_MEMBERS

CONFIG: Final = "config.json"
"""The file beside logs with facts that the logs do not print."""

_Record = TypeVar("_Record", bound=LogRecord)


class Noted(msgspec.Struct, frozen=True):
    """The facts about a cluster that `CONFIG` may have in addition to properties.

    Attributes
    ----------
    members
        The number of members; 0 if the file does not name it.
    expect_disk_replaced
        Whether a member may start with another disk than it left.
    """

    members: Annotated[int, msgspec.Meta(ge=0, le=MAX_MEMBERS)] = 0
    expect_disk_replaced: bool = False


def noted_beside(log: Path) -> Noted:
    """Read `CONFIG` beside a log. If the file is missing or has another form, take the defaults."""
    try:
        return msgspec.json.decode((log.parent / CONFIG).read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return Noted()


def with_numbers(logs: ClusterLogs, count: int, *, is_shared: bool) -> ClusterLogs:
    """Number the members of a cluster.

    Parameters
    ----------
    logs
        The logs, by the ids in them.
    count
        The number of members; 0 if it is unknown.
    is_shared
        Whether there is one log for all members. A member without a line has then never run.

    Raises
    ------
    AeronLogError
        If more members are named than there are.
    """
    named = sorted({i for i in logs.members if i >= 0} | set(logs.missing))
    count = count or int(len(named) == 1 and _leads_at_once(logs.members.get(named[0])))
    if not count or not named:
        return logs
    if len(named) > count:
        path = next(iter(logs.members.values())).files[0]
        several = ", ".join(map(str, named))
        reason = f"lines name the members {several}; the cluster is said to have {count}"
        raise AeronLogError(str(path), 0, 0, LogCode.TOO_MANY_MEMBERS, reason)
    ids = {i: i if named[-1] < count else k for k, i in enumerate(named)}
    members = {ids.get(i, i): _renumbered(log, ids) for i, log in logs.members.items()}
    others = sorted(set(range(count)) - set(ids.values()))
    missing = [ids[i] for i in logs.missing]
    if is_shared:
        files = next(iter(members.values())).files
        members |= {i: MemberLog(i, files, [], LineCounts()) for i in others}
    else:
        missing += others
    real = {k: i for i, k in ids.items() if i != k}
    return replace(
        logs,
        members=dict(sorted(members.items())),
        missing=tuple(sorted(missing)),
        member_count=count,
        real_ids=real,
    )


def _leads_at_once(log: MemberLog | None) -> bool:
    changes = (r for r in (log.records if log else ()) if isinstance(r, ElectionStateChange))
    first = next(changes, None)
    return first is not None and first.old_state == "INIT" and first.new_state.startswith("LEADER")


def _renumbered(log: MemberLog, ids: Mapping[int, int]) -> MemberLog:
    if all(i == k for i, k in ids.items()):
        return log

    def reread() -> Iterator[LogRecord]:
        return (_with_ids(record, ids) for record in log.every_record())

    counts = log.counts
    return replace(
        log,
        member_id=ids.get(log.member_id, log.member_id),
        records=[_with_ids(record, ids) for record in log.records],
        counts=replace(counts, members={ids.get(i, i): at for i, at in counts.members.items()}),
        named={ids.get(i, i) for i in log.named},
        reread=None if log.reread is None else reread,
    )


def _with_ids(record: _Record, ids: Mapping[int, int]) -> _Record:
    names = [name for name in record.__struct_fields__ if name.endswith("member_id")]
    values = {name: getattr(record, name) for name in names}
    return msgspec.structs.replace(record, **{n: ids.get(i, i) for n, i in values.items()})

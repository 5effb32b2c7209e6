"""Reading of a timeline from a folder of event logs, or from a recorded run.

A recorded run becomes records of starts, elections, received messages, truncations, first entries
of terms, and ends. Explanations read no other records. The line number of a record is that of its
event in the member's stream.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import Final

from msgspec import ValidationError
from msgspec.structs import replace

from canvass.cluster.effects import Outcome, TruncateLog
from canvass.cluster.member import ElectionState, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.explanation.risks import INCOMPLETE
from canvass.explanation.timeline import Timeline, make_timeline
from canvass.traces.actions import Action
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog
from canvass.traces.aeron_log.logs import read_clusters
from canvass.traces.aeron_log.releases import releases_of, releases_of_run
from canvass.traces.alignment.printing import printed_lines
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import RUN_FILE, LoadedRun, RunFolder
from canvass.traces.schema import Closing, Event
from canvass.traces.timeouts import SettingFault, beside, timeouts_of


def read(path: Path) -> Timeline:
    """Read the logs of one cluster, or a run; parameters and errors as for `read_each`.

    Raises
    ------
    ValueError
        If the logs are those of several clusters.
    """
    [found] = read_each(path).values()
    return found


def read_each(path: Path) -> dict[str, Timeline]:
    """Read the logs of one cluster or of several, or a run.

    Parameters
    ----------
    path
        A folder of event logs, one event log, or a run folder.

    Returns
    -------
    dict
        The timelines by the name of the run or the logs. If several clusters ran one after the
        other, their names end in ``~1``, ``~2`` and so on.

    Raises
    ------
    AeronLogError
        If logs cannot be read.
    TraceError
        If the folder is not a valid run.
    SettingFault
        If ``config.json`` beside the logs has an invalid timeout.
    """
    name = path.absolute().name
    if not (path / RUN_FILE).is_file():
        clusters = read_clusters([path])
        clusters[0].need_lines()
        names = [f"{name}~{k}" if len(clusters) > 1 else name for k in range(1, len(clusters) + 1)]
        return {k: _timeline_of(one, path) for k, one in zip(names, clusters, strict=True)}
    folder = RunFolder(path)
    run = folder.load()
    files = {member_id: stream.name for member_id, stream in folder.streams.items()}
    absent = tuple(k for k in range(run.run.member_count) if k not in files)
    try:
        timeouts, closings = timeouts_of(run.run), run.run.closings()
    except (SettingFault, ValidationError) as fault:
        raise TraceError(Code.BAD_VALUE, str(path / RUN_FILE), 0, 0, str(fault)) from None
    timeline = make_timeline(_logs_of_run(run, files, closings), absent, timeouts)
    timeline.releases = releases_of_run(run.run)
    return {name: timeline}


def _timeline_of(logs: ClusterLogs, path: Path) -> Timeline:
    timeouts = beside(path if path.is_dir() else path.parent)
    timeline = make_timeline(logs.members, logs.missing, timeouts)
    timeline.releases, timeline.ignored = releases_of(logs), logs.ignored
    return timeline


def read_last(path: Path) -> Timeline:
    """Read logs that are being written. If several clusters ran, read those of the last one.

    Raises
    ------
    AeronLogError
        If logs cannot be read.
    """
    *earlier, logs = read_clusters([path])
    timeline = _timeline_of(logs, path)
    timeline.earlier = len(earlier)
    return timeline


_UNRECORDED: Final[dict[str, object]] = {
    "protocol_version": NULL_VALUE,
    "leader_recording_id": NULL_VALUE,
    "timestamp": NULL_VALUE,
    "log_session_id": NULL_VALUE,
    "app_version": NULL_VALUE,
    "catchup_endpoint": "",
    "is_startup": False,
    "time_unit": "",
    "old_state": "",
}
"""The fields of lines that a run does not record, with their values here."""
_REASONS: Final = {
    Action.ON_REQUEST_VOTE: "unexpected vote request",
    Action.ON_NEW_LEADERSHIP_TERM: "unexpected new leadership term event",
    Action.ON_COMMIT_POSITION: "unexpected commit position from new leader",
    Action.RESTART: "node started",
}
"""For each action that begins an election, its reason in the words of Aeron's log."""


def _logs_of_run(
    run: LoadedRun, names: dict[int, str], closings: Mapping[int, Sequence[Closing]]
) -> dict[int, MemberLog]:
    """Make the records of each member.

    Parameters
    ----------
    run
        The run.
    names
        The names of the members' streams.
    closings
        The closings of each member. A closing comes after the last step before it, and has the line
        number of that step.
    """
    found = {}
    for member_id, events in run.events.items():
        closed = [_closing(member_id, events, one) for one in closings.get(member_id, ())]
        closed = [one for one in closed if one.line]
        lines = merge(_records(member_id, events), closed, key=attrgetter("line"))
        found[member_id] = MemberLog(member_id, (Path(names[member_id]),), list(lines))
    return found


def _closing(member_id: int, events: tuple[Event, ...], closing: Closing) -> records.StateChange:
    after = bisect_right(events, closing.time_ns, key=attrgetter("time_ns"))
    place = (0, after, closing.time_ns)
    return records.StateChange(*place, member_id, "ACTIVE", "CLOSED", closing.reason)


def _records(member_id: int, events: tuple[Event, ...]) -> Iterator[records.LogRecord]:
    before: Member | None = None
    for number, event in enumerate(events, 1):
        place = (0, number, event.time_ns)
        if event.action is Action.RESTART:
            yield records.ProcessStart(*place, event.time_ns // 1_000_000, ())
        if event.input.message is not None:
            yield _received(place, member_id, event.input.message)
        yield from _changes(place, member_id, event, before)
        before = event.state


def _received(
    place: tuple[int, int, int], member_id: int, message: Message
) -> records.ClusterEvent:
    kind: type[records.ClusterEvent] = getattr(records, type(message).__name__)
    given = _UNRECORDED | {"sender_member_id": getattr(message, "member_id", NULL_VALUE)}
    names = kind.__struct_fields__[4:]
    return kind(*place, member_id, *(getattr(message, k, given.get(k)) for k in names))


def _changes(
    place: tuple[int, int, int], member_id: int, event: Event, before: Member | None
) -> Iterator[records.LogRecord]:
    """The lines that a step prints after the receipt of its message."""
    after, action = event.state, event.action
    # If a stream begins within an election, its first event shows this election.
    s = before or replace(after, election_state=ElectionState.CLOSED)
    truncates = action is Action.ON_NEW_LEADERSHIP_TERM
    shorter = truncates and after.recorded_position < s.recorded_position
    effects = (TruncateLog(after.recorded_position),) if shorter else ()
    for line in printed_lines(action.value, s, Outcome(after, effects)):
        # A run does not record which state the module enters on a request to terminate.
        if line.kind is records.RoleChange or action is Action.INITIATE_TERMINATION:
            continue
        values = _UNRECORDED | {
            "new_state": after.module_state.value,
            "append_position": after.append_position,
            "old_position": s.append_position,
            "reason": _reason(line.kind, event, s),
            **line.values,
        }
        if line.kind is records.NewElection:
            # A log may show an earlier position, so the printed line has a range of them.
            values["append_position"] = after.append_position
        yield line.kind(
            *place, member_id, *(values[name] for name in line.kind.__struct_fields__[4:])
        )


def _reason(kind: type[records.ClusterEvent], event: Event, before: Member) -> str:
    """The reason of a line, in the words of Aeron's log."""
    action = event.action
    if kind is records.StateChange:
        return "terminated" if action is Action.TERMINATE else ""
    if kind is records.ElectionStateChange:
        if action is Action.FOLLOWER_REPLAY and event.state.election_state == "CANVASS":
            return INCOMPLETE
        if action is Action.CANDIDATE_BALLOT and event.state.role == "LEADER":
            return "quorum leader" if event.input.timeout else "unanimous leader"
        return "error" if action is Action.ELECTION_ERROR else ""
    if action in _REASONS:
        return _REASONS[action]
    if event.input.graceful_closed_leader_id != NULL_VALUE:
        return "log disconnected from leader: eos=true"
    return "inactive follower quorum" if before.role == "LEADER" else "leader heartbeat timeout"

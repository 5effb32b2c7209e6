"""What the user names, made into a timeline: a folder of event logs, or a run.

An import of the logs adds states. It is tried, and where it fails the answers of the lines stand.
"""

from __future__ import annotations

from pathlib import Path

from canvass.explanation.recorded_run import logs_of_run, states_of_run
from canvass.explanation.states import MemberStates, States
from canvass.explanation.timeline import MemberTimeline, Timeline, make_timeline
from canvass.traces.aeron_log.logs import ClusterLogs, read_cluster
from canvass.traces.alignment.alignment import ImportFault, align
from canvass.traces.alignment.live import LiveMember
from canvass.traces.alignment.run_events import MemberCounts
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import RUN_FILE, RunFolder
from canvass.traces.timeouts import SettingFault, beside, timeouts_of


def read(path: Path, *, infer: bool = True) -> tuple[Timeline, States | None, str]:
    """Read logs or a run.

    Parameters
    ----------
    path
        A folder of event logs, one event log, or a run folder.
    infer
        Whether logs are imported, too, for the states between the lines.

    Returns
    -------
    tuple
        The timeline, the states if there are any, and why there are none.

    Raises
    ------
    AeronLogError
        If logs cannot be read.
    TraceError
        If the run is none.
    SettingFault
        If ``config.json`` beside the logs names a timeout that is none.
    """
    if (path / RUN_FILE).is_file():
        folder = RunFolder(path)
        run = folder.load()
        names = {member_id: stream.name for member_id, stream in folder.streams.items()}
        absent = tuple(k for k in range(run.run.member_count) if k not in names)
        try:
            timeouts = timeouts_of(run.run)
        except SettingFault as fault:
            raise TraceError(Code.BAD_VALUE, str(path / RUN_FILE), 0, 0, str(fault)) from None
        timeline = make_timeline(logs_of_run(run, names), absent, timeouts)
        offsets = {member_id: one.offset_ns for member_id, one in timeline.members.items()}
        return timeline, states_of_run(run, offsets), ""
    logs = read_cluster([path])
    timeouts = beside(path if path.is_dir() else path.parent)
    timeline = make_timeline(logs.members, logs.missing, timeouts)
    if not infer:
        return timeline, None, "the logs were not imported"
    states, why = infer_states(logs, timeline)
    return timeline, states, why


def infer_states(logs: ClusterLogs, timeline: Timeline) -> tuple[States | None, str]:
    """Import logs, and take the states of the steps; none if nothing can be made of them."""
    members: dict[int, MemberStates] = {}

    def keep(live: LiveMember) -> MemberCounts:
        if live.member_id in timeline.members and live.emitted:
            members[live.member_id] = _states_of(live, timeline.members[live.member_id])
        return MemberCounts(live.windows.trajectory.lines.files)

    try:
        found = align(logs, keep)
    except ImportFault as fault:
        return None, str(fault)
    why = ""
    if found.false_lines or found.stopped:
        why = "the import does not explain every line; states end before the first it does not"
    return States(members, inferred=True), why


def _states_of(live: LiveMember, timeline: MemberTimeline) -> MemberStates:
    """The states of a member's steps. A step that no line shows has the time of the next line."""
    times = {
        (record.file, record.line): time
        for record, time in zip(timeline.records, timeline.times, strict=True)
    }
    records = live.windows.trajectory.lines.records
    found: list[int] = []
    latest = timeline.times[-1]
    for step in reversed(live.emitted):
        if step.lines:
            record = records[step.lines.stop - 1]
            latest = min(latest, times[record.file, record.line])
        found.append(latest)
    return MemberStates(found[::-1], [step.state for step in live.emitted])

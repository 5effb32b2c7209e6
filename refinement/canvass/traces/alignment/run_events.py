"""The run of driven members: its events, and the folder that they are written to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.actions import Action
from canvass.traces.aeron_log.records import ElectionStateChange, Line, RoleChange
from canvass.traces.alignment.live import Emitted, LiveMember
from canvass.traces.ndjson import EventWriter
from canvass.traces.schema import Event, Input, Run, Send, Source, encode
from canvass.traces.wire_form import WireForm

_ACTIONS: Final = {action.value: action for action in Action}
_UNSENT: Final = 0
"""The number of a message that nobody sent; messages that are sent are counted from 1."""
_BATCH: Final = 64


def iter_events(live: LiveMember) -> Iterator[Event]:
    """The events of one member, in order; a number is left out where lines are missing."""
    lines, form, i = live.windows.trajectory.lines, WireForm(), live.member_id
    number = -1
    latest = lines.records[0].time_ns if lines.records else 0
    for step in live.emitted:
        number += 2 if step.gap else 1
        if step.lines:
            latest = max(latest, lines.records[step.lines.stop - 1].time_ns)
        sends = tuple(
            [
                Send(to, f"{i}:{k}", form.message(m))
                for k, (to, m) in enumerate(step.sends, step.first)
            ]
        )
        source = None
        if step.lines:
            records = [lines.records[index] for index in step.lines]
            source = Source(
                lines.files[records[0].file],
                tuple(record.line for record in records),
                form.names(_observed(step, records)),
            )
        yield Event(
            number,
            latest,
            _ACTIONS[step.action],
            _input_of(step, form),
            sends,
            form.member(step.state),
            (),
            source,
        )


def _input_of(step: Emitted, form: WireForm) -> Input:
    if step.given.message is None:
        return form.input(step.given)
    if step.sender < 0:
        return form.input(step.given, NULL_VALUE, "")
    number = step.number if step.number >= 0 else _UNSENT
    return form.input(step.given, step.sender, f"{step.sender}:{number}")


def _observed(step: Emitted, records: list[Line]) -> list[str]:
    """Paths of the event's fields that its lines show."""
    names = ["input.message"] if step.given.message is not None else []
    for record in records:
        if isinstance(record, RoleChange):
            names.append("state.role")
        elif isinstance(record, ElectionStateChange):
            names += ["state.electionState", "state.commitPosition", "state.appendPosition"]
            names += ["state.candidateTermId", "state.leadershipTermId"]
            names += ["state.logLeadershipTermId", "state.leaderMemberId"]
    return names


def write_run(
    members: dict[int, LiveMember],
    out: Path,
    *,
    run_id: str,
    revision: str,
    member_count: int,
    initial: str,
) -> None:
    """Write the run of all members into a new folder."""
    out.mkdir(parents=True, exist_ok=True)
    files = {str(i): list(live.windows.trajectory.lines.files) for i, live in members.items()}
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision=revision,  # type: ignore[arg-type]
        member_count=member_count,
        initial=initial,  # type: ignore[arg-type]
        source={"kind": "aeron-log", "files": files},
    )
    for i, live in members.items():
        # The events are made of values of the core and of parsed lines: no need to read them back.
        with EventWriter(out / f"member-{i}.ndjson", i, check=False) as writer:
            events = iter_events(live)
            while batch := list(islice(events, _BATCH)):
                writer.write(batch)
    (out / "run.json").write_bytes(encode(run) + b"\n")

"""Writing the run of driven members, and counting how much of it the lines of the logs show.

A line shows a step if the step accounts for the line. A line shows a message if it is the line of
its receipt. A position that a member reached is shown by a line of its own log, or by the receipt
of a message from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE, Message, wire_name
from canvass.traces.actions import Action
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    Line,
    NewElection,
    ProcessStart,
    RoleChange,
    StateChange,
    position_names,
)
from canvass.traces.aeron_log.releases import RELEASES, LogReleases, noted_releases
from canvass.traces.alignment.driven_member import LOST, DrivenMember, RunStep
from canvass.traces.ndjson import open_stream
from canvass.traces.schema import (
    CLOSINGS,
    DISK_REPLACED,
    IMPORTED,
    MISSING,
    UNSENT,
    Closing,
    DiskReplaced,
    Event,
    Input,
    Run,
    Send,
    Source,
    encode,
    encode_lines,
    to_trace_input,
)

_POSITIONS: Final = attrgetter("recorded_position", "publication_position", "commit_position")


class Share(Struct, rename=wire_name):
    """The number of things of one kind that lines show, and the number of all of them."""

    observed: int = 0
    total: int = 0


def positions_of(shown: Line | Message) -> tuple[int, ...]:
    """The positions that a line or a message contains."""
    return tuple([getattr(shown, name) for name in position_names(type(shown))])


class ObservedMember:
    """Counts those positions and messages of one member that lines show.

    Attributes
    ----------
    sends
        The number of its messages whose receipt a line shows.

    Notes
    -----
    Positions are remembered for two segments of the logs, so the memory does not grow with the
    logs.
    """

    def __init__(self) -> None:
        self.sends = 0
        self._done = Share()
        self._last: tuple[int, ...] = ()
        self._reached: list[int] = []
        self._shown: list[set[int]] = [set(), set()]

    @property
    def positions(self) -> Share:
        """The positions that it reached, and those among them that lines show."""
        shown = self._shown[0] | self._shown[1]
        observed = sum(position in shown for position in self._reached)
        return Share(self._done.observed + observed, self._done.total + len(self._reached))

    def show(self, positions: Iterable[int]) -> None:
        """Note that a line shows positions of the member."""
        self._shown[-1].update(positions)

    def reach(self, before: Member, states: Iterable[Member]) -> None:
        """Note the positions that the steps of a segment reach."""
        self._done, self._shown, self._reached = self.positions, [self._shown[-1], set()], []
        last = self._last or _POSITIONS(before)
        for state in states:
            after: tuple[int, ...] = _POSITIONS(state)
            if after != last:
                self._reached += [new for old, new in zip(last, after, strict=True) if new != old]
                last = after
        self._last = last


_ACTIONS: Final = {action.value: action for action in Action}
_BATCH: Final = 64


class MemberCounts(Struct, rename=wire_name):
    """The counts of one member's log and run."""

    member_id: int
    files: tuple[str, ...]
    lines: int = 0
    """Lines of the cluster component."""
    accounted: int = 0
    """Lines of the cluster component that the run accounts for."""
    steps: int = 0
    observed: int = 0
    """Steps that lines show."""
    inferred: int = 0
    """Steps that no line shows."""
    sends: int = 0
    """Messages sent."""
    received_sends: int = 0
    """Messages sent that a member has received."""


class _MemberEvents:
    """The events of one member, segment after segment."""

    def __init__(self, live: DrivenMember) -> None:
        self.counts = MemberCounts(live.member_id, live.windows.trajectory.lines.files)
        self.closings: list[Closing] = []
        self.replaced: list[DiskReplaced] = []
        self._number = -1
        lines = live.windows.trajectory.lines
        self._latest = lines.records[0].time_ns if lines.records else 0

    def count(self, live: DrivenMember) -> None:
        """Add the counts of a segment."""
        counts, emitted = self.counts, live.emitted
        counts.steps += len(emitted)
        counts.observed += sum(bool(step.lines) for step in emitted)
        counts.inferred = counts.steps - counts.observed
        counts.sends += sum(len(step.outcome.sends) for step in emitted)
        counts.accounted += sum(len(step.lines) for step in emitted)
        taken = emitted[:-1] if live.skips else emitted
        reached = max(live.dropped, *(step.lines.stop for step in taken), 0)
        lines = live.windows.trajectory.lines
        if all(isinstance(record, ProcessStart) for record in lines.records[reached:]):
            # The last processes of the log never reached an election.
            reached = len(lines.records)
        passed = [record for index, record in lines.beside if index <= reached]
        counts.accounted += len(passed)
        self.closings += [
            Closing(record.time_ns, record.reason or "")
            for record in passed
            if isinstance(record, StateChange) and record.new_state == "CLOSED"
        ]
        counts.received_sends = live.received

    def events(self, live: DrivenMember) -> Iterator[Event]:
        """The events of a segment in order. Where lines are missing, a step number is skipped."""
        lines, i = live.windows.trajectory.lines, live.member_id
        for step in live.emitted:
            self._number += 2 if step.gap else 1
            if step.lines:
                self._latest = max(self._latest, lines.records[step.lines.stop - 1].time_ns)
            several = enumerate(step.outcome.sends, step.first)
            sends = tuple([Send(one.to, f"{i}:{k}", one.message) for k, one in several])
            source = None
            if step.lines:
                records = [lines.records[index] for index in step.lines]
                file = lines.files[records[0].file]
                if step.replaced:
                    place = file, records[0].line
                    found = DiskReplaced(i, self._number, step.replaced, *place)
                    self.replaced.append(found)
                source = Source(
                    file,
                    tuple(record.line for record in records),
                    tuple(dict.fromkeys(_observed(step, records))),
                    _reason(records),
                )
            yield Event(
                self._number,
                self._latest,
                _ACTIONS[step.action],
                _input_of(step),
                sends,
                step.state,
                (),
                source,
            )


def _input_of(step: RunStep) -> Input:
    if step.given.message is None:
        return to_trace_input(step.given)
    if step.sender < 0:
        return to_trace_input(step.given, NULL_VALUE, "")
    number = step.number if step.number >= 0 else UNSENT
    return to_trace_input(step.given, step.sender, f"{step.sender}:{number}")


def _reason(records: list[Line]) -> str:
    """The reason of an election or of a change of its state, from the lines of a step."""
    given = (
        record.reason for record in records if isinstance(record, ElectionStateChange | NewElection)
    )
    return next(filter(None, given), "")


_SHOWN: Final[dict[type[Line], Sequence[str]]] = {
    RoleChange: ("role",),
    ElectionStateChange: (
        *("electionState", "commitPosition", "appendPosition", "candidateTermId"),
        *("leadershipTermId", "logLeadershipTermId", "leaderMemberId"),
    ),
}


def _observed(step: RunStep, records: list[Line]) -> list[str]:
    """The paths of those fields of an event that the lines of its step show."""
    received = ["input.message"] if step.given.message is not None else []
    return received + [f"state.{name}" for one in records for name in _SHOWN.get(type(one), ())]


class RunWriter:
    """Writes the run of an alignment, segment after segment, into a folder that it makes."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._members: dict[int, _MemberEvents] = {}
        self._shown: defaultdict[int, ObservedMember] = defaultdict(ObservedMember)
        self._files: dict[int, BinaryIO] = {}

    @property
    def replaced(self) -> list[DiskReplaced]:
        """The starts with another disk than the member left."""
        return [own for one in self._members.values() for own in one.replaced]

    def shares(self) -> dict[str, Share]:
        """The shares of steps, sent messages and reached positions that lines show."""
        counts = [one.counts for one in self._members.values()]
        shown = self._shown.values()
        positions = [one.positions for one in shown]
        return {
            "steps": Share(sum(one.observed for one in counts), sum(one.steps for one in counts)),
            "messages": Share(sum(one.sends for one in shown), sum(one.sends for one in counts)),
            "positions": Share(
                sum(one.observed for one in positions), sum(one.total for one in positions)
            ),
        }

    def write(self, live: DrivenMember) -> MemberCounts:
        """Write a member's steps in a segment, and return its counts in the whole run so far."""
        i = live.member_id
        if i not in self._members:
            self._out.mkdir(parents=True, exist_ok=True)
            self._members[i] = _MemberEvents(live)
            # The values come from the core and from parsed lines, so they are not checked again.
            self._files[i] = open_stream(self._out / f"member-{i}.ndjson")
        member = self._members[i]
        states = (step.state for step in live.emitted)
        self._shown[i].reach(live.windows.trajectory.before, states)
        events = member.events(live)
        while batch := list(islice(events, _BATCH)):
            self._files[i].write(encode_lines(batch))
        self._note_shown(live)
        member.count(live)
        return member.counts

    def _note_shown(self, live: DrivenMember) -> None:
        """Note the positions and messages that the lines of a member's segment show."""
        records = live.windows.trajectory.lines.records
        for step in live.emitted:
            for index in step.lines:
                self._shown[live.member_id].show(positions_of(records[index]))
            message = step.given.message
            if message is not None and step.lines and step.sender >= 0:
                # A message that was sent in missing lines (`LOST`) is not counted for its sender.
                self._shown[step.sender].sends += UNSENT < step.number < LOST
                self._shown[step.sender].show(positions_of(message))

    def close(self) -> None:
        """Close the files of the members."""
        for file in self._files.values():
            file.close()

    def finish(
        self,
        run_id: str,
        releases: LogReleases,
        member_count: int,
        without_steps: tuple[int, ...] = (),
        missing: Sequence[str] = (),
    ) -> None:
        """Write ``run.json``; its revision is that of ``releases``."""
        files = {str(i): list(member.counts.files) for i, member in self._members.items()}
        source: dict[str, object] = {
            "kind": IMPORTED,
            "files": files,
            RELEASES: noted_releases(releases),
        }
        noted = {
            CLOSINGS: {str(i): one.closings for i, one in self._members.items() if one.closings},
            MISSING: list(missing),
            DISK_REPLACED: self.replaced,
        }
        source |= {name: value for name, value in noted.items() if value}
        run = Run(
            schema="canvass.run/1",
            run_id=run_id,
            revision=releases.revision,  # type: ignore[arg-type]
            member_count=member_count,
            initial="empty",
            without_steps=without_steps,
            source=source,
        )
        (self._out / "run.json").write_bytes(encode(run) + b"\n")

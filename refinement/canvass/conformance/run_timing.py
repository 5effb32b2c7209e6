"""Timing warnings of a run, and counts of its free inputs.

`canvass.conformance.timing` checks the stream of each member; its doubts become warnings here. A
step is compared only with a timeout that ``run.json`` or the user names: no timeout is assumed. The
checks that use no clock are made for imported runs, and for runs with a timeout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from canvass.conformance.timing import Doubt, MemberTiming
from canvass.conformance.verdict import Choice, TimeoutSource, TimingRule, TimingWarning
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import INPUT_INDEX, STATE_INDEX
from canvass.traces.schema import Run, Source
from canvass.traces.timeouts import DEFAULTS, timeouts_of


@dataclass(slots=True)
class Snapshots:
    """Records the snapshots of a run, and the rises of its members' commit positions."""

    _taken: dict[int, set[int]] = field(default_factory=dict)
    _rises: dict[int, list[Ints]] = field(default_factory=dict)

    def take(self, member: int, columns: EventColumns) -> None:
        """Take the next events of a member."""
        own = slice(columns.context, len(columns))
        before, place = columns.predecessor[own], STATE_INDEX["commit_position"]
        action, after = columns.action[own], columns.state[own, place]
        taken = after[action == ACTIONS.index(Action.TAKE_SNAPSHOT)]
        self._taken.setdefault(member, set()).update(taken.tolist())
        old = columns.state[before, place]
        rises = (before >= 0) & (action != ACTIONS.index(Action.RESTART)) & (after > old)
        found = np.stack([columns.step[own], action, old, after], axis=1)[rises]
        self._rises.setdefault(member, []).append(found)

    def left_out(self) -> Iterator[Doubt]:
        """Give a doubt for each member that passed a snapshot position without a snapshot."""
        takers = {at: member for member, taken in self._taken.items() for at in taken}
        for member, parts in self._rises.items():
            step, action, old, after = np.concatenate(parts).T
            for at in sorted(takers.keys() - self._taken[member]):
                # A restart may begin at the position, from a snapshot that no event shows.
                reached = np.logical_or.accumulate((old < at) & (after >= at))
                beyond = np.flatnonzero(reached & (old <= at) & (after > at))
                for row in beyond[:1].tolist():
                    yield Doubt(
                        TimingRule.SNAPSHOT_LEFT_OUT, member, int(step[row]),
                        ACTIONS[int(action[row])], "",
                        f"goes past {at} without a snapshot, where member {takers[at]} took one",
                    )  # fmt: skip


IMPORTED: Final = "aeron-log"
"""The kind of source that imported runs name in ``run.json``."""

_BALLOTS: Final = (
    Action.CANVASS,
    Action.NOMINATE,
    Action.CANDIDATE_BALLOT,
    Action.FOLLOWER_BALLOT,
    Action.LEADER_READY,
)
_LEADS: Final = (
    Action.LEADER_LOG_REPLICATION,
    Action.LEADER_REPLAY,
    Action.LEADER_READY,
    Action.UPDATE_LEADER_POSITION,
)
TIMERS, ELECTIONS, ERRORS, ACTIVE = "timeouts", "elections begun", "errors", "active sets"


@dataclass(frozen=True, slots=True)
class TimingOptions:
    """Options of the timing checks.

    Parameters
    ----------
    asks
        Whether the timing monitor runs; free inputs are counted in any case.
    given
        Timeouts that the user gives, in nanoseconds; they come before those of ``run.json``.
    """

    asks: bool = True
    given: Mapping[str, int] = field(default_factory=dict)


class RunTiming:
    """Takes the events of a run, member by member.

    Parameters
    ----------
    run
        The contents of ``run.json``.
    options
        The options of the checks.

    Raises
    ------
    SettingFault
        If ``run.json`` names a timeout that is none.
    """

    def __init__(self, run: Run, options: TimingOptions) -> None:
        named = timeouts_of(run)
        self._rules = run.rules
        self._timeouts = {**DEFAULTS, **named, **options.given}
        self._source = dict.fromkeys(named, TimeoutSource.RUN)
        self._source |= dict.fromkeys(options.given, TimeoutSource.GIVEN)
        self._is_imported = run.source.get("kind") == IMPORTED
        # A recorder may write any number as the time, unless it says which timeouts go with it.
        self._asks = options.asks and bool(self._is_imported or named or options.given)
        self._member: MemberTiming | None = None
        self._first: dict[tuple[str, int, Action, str], TimingWarning] = {}
        self._doubts: list[Doubt] = []
        self._snapshots = Snapshots()
        self._choices = {name: [0, 0] for name in (TIMERS, ELECTIONS, ERRORS, ACTIVE)}

    def take(
        self, member: int, columns: EventColumns, sources: Sequence[Source | None] | None
    ) -> None:
        """Take the next events of a member, before any event of the next member."""
        self._count(columns, sources)
        if not self._asks:
            return
        if self._member is None or self._member.member_id != member:
            self._end_member()
            self._member = MemberTiming(self._rules, member, self._timeouts, self._is_imported)
        self._note(self._member.take(columns, sources))
        self._snapshots.take(member, columns)

    def end(self) -> None:
        """Finish: the run has no more events."""
        self._end_member()
        self._note(self._snapshots.left_out())

    def _end_member(self) -> None:
        if self._member is not None:
            self._note(self._member.end())
        self._member = None

    def _note(self, doubts: Iterable[Doubt]) -> None:
        for doubt in doubts:
            if doubt.setting and doubt.setting not in self._source:
                continue
            if doubt.instead:
                self._doubts.append(doubt)
            else:
                self._warn(doubt)

    def _warn(self, doubt: Doubt) -> None:
        key = (doubt.rule.value, doubt.member, doubt.action, doubt.setting)
        first = self._first.get(key)
        if first is None:
            self._first[key] = TimingWarning(
                rule=doubt.rule,
                member=doubt.member,
                step=doubt.step,
                action=doubt.action.value,
                text=doubt.text,
                setting=doubt.setting,
                timeout_ns=self._timeouts.get(doubt.setting, 0),
                timeout_source=self._source.get(doubt.setting),
            )
        else:
            self._first[key] = structs.replace(first, count=first.count + 1)

    def _count(self, columns: EventColumns, sources: Sequence[Source | None] | None) -> None:
        own = slice(columns.context, len(columns))
        action, inputs = columns.action[own], columns.inputs[own]
        shown = np.full(len(action), not self._is_imported)
        if sources is not None and self._is_imported:
            shown = np.array([source is not None for source in sources], dtype=np.bool_)

        def of(*actions: Action) -> NDArray[np.bool_]:
            return np.isin(action, [ACTIONS.index(each) for each in actions])

        place = STATE_INDEX["election_state"]
        before = columns.predecessor[own]
        moves = (before >= 0) & (columns.state[own, place] != columns.state[before, place])
        late = of(*_BALLOTS) & (inputs[:, INPUT_INDEX["timeout"]] != 0) & moves
        for name, where, is_shown in (
            (TIMERS, late, shown),
            (ELECTIONS, of(Action.ENTER_ELECTION), shown),
            (ERRORS, of(Action.ELECTION_ERROR), shown),
            (ACTIVE, of(*_LEADS) & (not self._rules.is_149), shown & (not self._is_imported)),
        ):
            self._choices[name][0] += int(np.count_nonzero(where & is_shown))
            self._choices[name][1] += int(np.count_nonzero(where & ~is_shown))

    # --- results ----------------------------------------------------------------------------------

    def choices(self) -> tuple[Choice, ...]:
        """Count the inputs of each kind: shown or recorded, and inferred."""
        return tuple(
            Choice(name, shown, inferred)
            for name, (shown, inferred) in self._choices.items()
            if shown or inferred
        )

    @property
    def doubts(self) -> Sequence[Doubt]:
        """The doubts that hold unless the spec allows the step with another input."""
        return self._doubts

    def settled(self, unexplained: Iterable[Doubt]) -> tuple[TimingWarning, ...]:
        """Give all warnings by member and step, with the doubts that the spec has not removed."""
        for doubt in unexplained:
            self._warn(doubt)
        self._doubts = []
        return tuple(sorted(self._first.values(), key=lambda one: (one.member, one.step)))

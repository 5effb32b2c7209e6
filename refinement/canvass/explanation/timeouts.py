"""The cluster's timeouts: given, measured in the logs, or Aeron's defaults.

The logs do not print the timeouts, but some lines are written exactly when a timeout has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.phases import all_voted
from canvass.explanation.timeline import POSITIONS, Evidence, Phase, Timeline
from canvass.traces.aeron_log import records
from canvass.traces.timeouts import (
    DEFAULTS,
    ELECTION,
    HEARTBEAT_INTERVAL,
    HEARTBEAT_TIMEOUT,
    STARTUP_CANVASS,
    STATUS,
)

_MS: Final = 1_000_000
_SHOWN: Final = (ELECTION, STATUS, STARTUP_CANVASS, HEARTBEAT_TIMEOUT, HEARTBEAT_INTERVAL)
"""The timeouts that matter in elections."""
_AFTER_BALLOTS: Final = ("CANVASS", "LEADER_LOG_REPLICATION")
"""The states that follow a ballot that was lost or won, not given up."""
_SAMPLES: Final = 64
"""The number of times that are measured for one timeout. More times do not change the result."""


class Timeout(Record, frozen=True):
    """One setting.

    Parameters
    ----------
    source
        ``given``, ``measured`` or ``default``.
    evidence
        The lines between which the value was measured.
    """

    setting: str
    value_ns: int
    source: str
    evidence: tuple[Evidence, ...] = ()


def find_timeouts(timeline: Timeline, given: Mapping[str, int]) -> dict[str, Timeout]:
    """Give the value of each timeout.

    It is the user's value; else the value in a file beside the logs or in the run; else the value
    that lines show; else Aeron's default.
    """
    named = {**timeline.timeouts, **given}
    measured = {
        ELECTION: _least(_ballots(timeline)),
        HEARTBEAT_TIMEOUT: _least(_silences(timeline)),
        STARTUP_CANVASS: _least(_canvasses(timeline)),
    }
    found: dict[str, Timeout] = {}
    for setting in _SHOWN:
        sample = measured.get(setting)
        if setting in named:
            found[setting] = Timeout(setting, named[setting], "given")
        elif sample is not None:
            found[setting] = Timeout(setting, sample[0], "measured", sample[1])
        else:
            found[setting] = Timeout(setting, DEFAULTS[setting], "default")
    return found


_Sample = tuple[int, tuple[Evidence, ...]]


def _least(samples: Iterator[_Sample]) -> _Sample | None:
    """The shortest sample in whole steps of 10 ms: a member acts on a timeout late, never early."""
    best = min(islice(samples, _SAMPLES), key=lambda sample: sample[0], default=None)
    if best is None:
        return None
    step = 10 * _MS
    return (best[0] + step // 10) // step * step or best[0], best[1]


def _ballots(timeline: Timeline) -> Iterator[_Sample]:
    """The durations of ballots without a majority, or with a majority that is not unanimous.

    Both take the whole election timeout.
    """
    for attempt in timeline.attempts():
        for phase in attempt.phases:
            following = phase.left_by.new_state if phase.left_by is not None else ""
            if phase.state != "CANDIDATE_BALLOT" or following not in _AFTER_BALLOTS:
                continue
            if following == "CANVASS" or all_voted(phase) is False:
                yield _lasted(phase)


def _canvasses(timeline: Timeline) -> Iterator[_Sample]:
    """The durations of first canvasses after a start that ended before all members had answered."""
    for attempt in timeline.attempts():
        phase = next((p for p in attempt.phases if p.state == "CANVASS"), None)
        by = None if phase is None else phase.left_by
        if phase is None or by is None or not attempt.is_startup or by.new_state != "NOMINATE":
            continue
        if 0 < len(phase.last_reports(*POSITIONS)) < timeline.member_count - 1:
            yield _lasted(phase)


def _lasted(phase: Phase) -> _Sample:
    return phase.lasted_ns, (phase.one.evidence(phase.begin), phase.one.evidence(phase.end))


def _silences(timeline: Timeline) -> Iterator[_Sample]:
    """The times from a leader's last message to the follower's ``leader heartbeat timeout``."""
    for one in timeline.members.values():
        last: int | None = None
        for index, record in enumerate(one.records):
            if isinstance(record, records.CommitPosition | records.NewLeadershipTerm):
                last = index
            elif isinstance(record, records.NewElection):
                if record.reason == "leader heartbeat timeout" and last is not None:
                    lasted = one.times[index] - one.times[last]
                    yield lasted, (one.evidence(last), one.evidence(index))
                last = None

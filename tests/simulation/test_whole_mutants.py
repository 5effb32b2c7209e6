"""What the simulation of whole members finds when a member does something wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canvass.archive.archive import Archive, Change
from canvass.archive.recording import Recording
from canvass.node.service_messages import PendingServiceMessageTracker
from canvass.node.timers import TimerService
from canvass.services import exactly_once
from canvass.services.agent import BoundedLogAdapter
from canvass.simulation.whole import WholeSimulator
from canvass.simulation.whole_options import WholeFaults, WholeOptions

Break = Callable[[pytest.MonkeyPatch], None]

FAULTS = WholeFaults(0.01, 1_500, 1_500, 1_500, 2_000, 0, 0, 0, 2_000)
SEEDS = range(12)


def forget_to_sync(patch: pytest.MonkeyPatch) -> None:
    """What is written counts as durable at once."""

    def sync(self: Recording) -> bool:
        before, self.synced_position = self.synced_position, self.end
        return before != self.end

    patch.setattr(Recording, "sync", sync)


def apply_repetitions(patch: pytest.MonkeyPatch) -> None:
    """A request that is offered again is applied again."""
    original = exactly_once.ExactlyOnce.on_session_message

    def on_session_message(
        self: exactly_once.ExactlyOnce, session: object, timestamp: int, payload: bytes
    ) -> None:
        client_id, number = exactly_once.REQUEST.unpack_from(payload)
        client = self._clients.setdefault(client_id, exactly_once._Client())
        client.applied = number - 1
        original(self, session, timestamp, payload)  # type: ignore[arg-type]

    patch.setattr(exactly_once.ExactlyOnce, "on_session_message", on_session_message)


def keep_uncommitted_timers(patch: pytest.MonkeyPatch) -> None:
    """A timer whose event never commits has expired all the same."""
    patch.setattr(TimerService, "roll_back", lambda _self, _commit_position: None)


def keep_appended_service_messages(patch: pytest.MonkeyPatch) -> None:
    """A message of a service that never commits is not appended again."""
    patch.setattr(PendingServiceMessageTracker, "roll_back", lambda _self, _commit_position: None)


def process_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Services read to the end of the recording."""
    original = BoundedLogAdapter.poll

    def poll(self: BoundedLogAdapter, commit_position: int, on_entry: object) -> int:
        del commit_position
        return original(self, (1 << 63) - 1, on_entry)  # type: ignore[arg-type]

    patch.setattr(BoundedLogAdapter, "poll", poll)


def forget_the_candidate_term(patch: pytest.MonkeyPatch) -> None:
    """A ballot's term is told before it is on disk."""
    original = Archive.change

    def change(self: Archive, change: Change, timestamp: int) -> None:
        original(self, Change(None, change.term_entries, change.truncate_position), timestamp)

    patch.setattr(Archive, "change", change)


@pytest.mark.parametrize(
    "mutant",
    [
        forget_to_sync,
        apply_repetitions,
        pytest.param(keep_uncommitted_timers, marks=pytest.mark.night),
        keep_appended_service_messages,
        process_what_is_not_committed,
        forget_the_candidate_term,
    ],
)
def test_each_mistake_is_found_within_a_few_seeds(
    mutant: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    for seed in SEEDS:
        options = WholeOptions(seed=seed, requests=40, fault_ms=20_000, faults=FAULTS)
        try:
            result = WholeSimulator(options).run()
        except (AssertionError, KeyError, IndexError):
            return  # The member itself has noticed.
        if result.findings or result.stuck:
            return
    pytest.fail(f"{mutant.__name__} was not found in {len(SEEDS)} seeds")

"""The simulation finds mutants of archive, module and services.

That service messages and timers wait again when a leader has lost its term is held in
`unit/node/test_module_state.py`: here it takes more elections of one member than a short run has.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from canvass.archive.archive import Archive, Kept
from canvass.archive.recording import Recording
from canvass.selftest.simulation_series import simulate
from canvass.services import service
from canvass.services.agent import ServiceAgent
from canvass.simulation.options import CUT_KINDS, Faults, Options

Break = Callable[[pytest.MonkeyPatch], None]

FAULTS = Faults(
    drop_probability=0.01,
    cut_mean=1_500,
    cut_kinds=CUT_KINDS,
    crash_mean=1_500,
    crash_within_probability=0.5,
    power_mean=1_500,
    pause_mean=2_000,
    operator_mean=2_000,
)
SEEDS = range(12)


def forget_to_sync(patch: pytest.MonkeyPatch) -> None:
    """Written bytes count as durable at once."""

    def sync(self: Recording) -> bool:
        before, self.synced_position = self.synced_position, self.end
        return before != self.end

    patch.setattr(Recording, "sync", sync)


def apply_repetitions(patch: pytest.MonkeyPatch) -> None:
    """A request that is offered again is applied again."""
    original = service.ExactlyOnce.on_session_message

    def on_session_message(
        self: service.ExactlyOnce, session: object, timestamp: int, payload: bytes
    ) -> None:
        client_id, number = service.REQUEST.unpack_from(payload)
        client = self._clients.setdefault(client_id, service._Client())
        client.applied = number - 1
        original(self, session, timestamp, payload)  # type: ignore[arg-type]

    patch.setattr(service.ExactlyOnce, "on_session_message", on_session_message)


def process_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Services read to the end of the recording."""
    original = ServiceAgent.do_work

    def do_work(self: ServiceAgent, commit_position: int) -> bool:
        del commit_position
        return original(self, (1 << 63) - 1)

    patch.setattr(ServiceAgent, "do_work", do_work)


def forget_the_candidate_term(patch: pytest.MonkeyPatch) -> None:
    """A ballot's term is sent before it is on disk."""
    original = Archive.change

    def change(self: Archive, kept: Kept, truncate_position: int = -1) -> None:
        old = self.kept.candidate_term_id
        original(self, structs.replace(kept, candidate_term_id=old), truncate_position)

    patch.setattr(Archive, "change", change)


def cut_off_what_is_damaged(patch: pytest.MonkeyPatch) -> None:
    """Every damage is taken for a torn tail."""

    def cut_tail(
        self: Recording, name: str, data: bytes, bad: int, start: int, *, is_last: bool
    ) -> None:
        del data, start, is_last
        self._storage.truncate(name, bad)
        self._storage.sync(name)

    patch.setattr(Recording, "_cut_tail", cut_tail)


ROTTEN = replace(FAULTS, rot_mean=150, power_mean=0, crash_mean=600)


@pytest.mark.parametrize(
    ("mutant", "faults"),
    [
        (forget_to_sync, FAULTS),
        (apply_repetitions, FAULTS),
        (process_what_is_not_committed, FAULTS),
        (forget_the_candidate_term, FAULTS),
        (cut_off_what_is_damaged, ROTTEN),
    ],
)
def test_each_mistake_is_found_within_a_few_seeds(
    mutant: Break, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    for seed in SEEDS:
        options = Options(seed, steps=2_500, faults=faults)
        try:
            result = simulate(options)
        except (AssertionError, KeyError, IndexError, struct.error):
            return  # The member itself has noticed.
        if result.findings or result.stuck:
            return
    pytest.fail(f"{mutant.__name__} was not found in {len(SEEDS)} seeds")


def test_without_mistakes_nothing_is_found() -> None:
    for faults in (FAULTS, ROTTEN):
        result = simulate(Options(SEEDS[0], steps=2_500, faults=faults))

        assert (result.findings, result.stuck) == ((), ())

"""Mutants of the core in clusters of cores alone: no module, duty cycle or archive masks them.

In a whole member, other parts repeat some guards of the core and never make the refused call.
Cluster.tla has no such parts. Here cores are driven as in Cluster.tla, recorded and verified.
`CORE_CLUSTERS` lists the mutants that need this; ``mutants.toml`` gives the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, Role
from canvass.cluster.rules import HAZARDS, Rules
from canvass.conformance.verify import check_units
from canvass.selftest.runs import RandomCluster, record_run
from canvass.simulation.options import rng_of
from canvass.steps.answers import StepLookup
from support.mutants import Mutant, load
from support.simulated_mutants import WRONG_STEPS, SimulatedKill, Watched

STEPS: Final = 600


class EndingCluster(RandomCluster):
    """A driven cluster with more elections, with terminations and with incomplete copies.

    The added actions of Cluster.tla are ``TakeInitiateTermination``, ``TakeTerminate``,
    ``TakeEnterElection`` and ``TakeFollowerLogReplication``. Terminated members start again.
    """

    def _fault(self, i: int, s: Member) -> None:
        if s.election_state is ElectionState.CLOSED and self.rng.random() < 0.5:
            graceful = self.rng.choice((-1, s.leader_member_id))
            choices = [("EnterElection", replace(NO_INPUT, graceful_closed_leader_id=graceful))]
            if s.role is Role.LEADER:
                choices.append(("InitiateTermination", NO_INPUT))
            self.take(i, *self.rng.choice(choices))
        elif s.log_replication and s.recorded_position < s.replication_stop_position:
            short = replace(NO_INPUT, interval=True, position=s.recorded_position)
            self.take(i, "FollowerLogReplication", short)
        else:
            super()._fault(i, s)

    def _choices(self, i: int, s: Member) -> Iterator[tuple[str, Input]]:
        yield from super()._choices(i, s)
        asked = s.election_state is ElectionState.CLOSED and s.termination_position != -1
        # The deadline of a leader comes after its followers have committed the position.
        if asked and (s.role is not Role.LEADER or s.commit_position >= s.termination_position):
            yield "Terminate", NO_INPUT


CORE_CLUSTERS: Final[Mapping[str, frozenset[str] | None]] = {
    "append_after_the_end_was_named": None,
    "ballots_are_sent_again": None,
    "catch_up_acknowledges_before_the_term_is_open": HAZARDS - {"HZ5"},
    "copy_ends_with_its_last_byte": None,
    "graceful_leader_leaves_the_quorum_too": None,
    "short_copy_is_awaited": HAZARDS,
    "short_copy_is_taken_for_whole": None,
}
"""Mutants that only cores alone show, with the hardening of these cores.

None stands for the hardening of the mutant's revision.
"""


def core_cluster_rules(mutant: Mutant) -> Rules:
    """Give the rules of the clusters of cores in which a mutant is searched for."""
    if (hardening := CORE_CLUSTERS[mutant.name]) is None:
        return Rules.of(mutant.revision, mutant.member_count)
    return Rules(mutant.member_count, hardening=hardening)


def simulate_core_cluster(
    mutant: Mutant, seeds: Sequence[int], folder: Path, lookup: StepLookup
) -> SimulatedKill:
    """Try seeds until a recorded run of cores has a step that the spec does not allow.

    Parameters
    ----------
    mutant, seeds
        The mutant, and the seeds to try.
    folder
        Folder for the recorded runs.
    lookup
        Checks the steps.
    """
    rules, broken = core_cluster_rules(mutant), load(mutant)
    for count, seed in enumerate(seeds, start=1):
        watched = Watched(broken)
        faults = rng_of(seed, "cores alone").choice((0.03, 0.1, 0.2))
        path = folder / f"{mutant.name.replace('_', '-')[:40]}-alone-{seed}"
        record_run(
            path,
            rules,
            seed,
            STEPS,
            faults=faults,
            run_id=path.name,
            step=watched.step,
            cluster=EndingCluster,
        )
        if watched.differs:
            (verdict,) = check_units([path], lookup).runs
            if steps := [one.name for one in verdict.divergences if one.kind in WRONG_STEPS]:
                return SimulatedKill(mutant, "verification", count, steps[0])
    return SimulatedKill(mutant, "nothing", len(seeds), "")

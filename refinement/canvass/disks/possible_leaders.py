"""The possible leaders: the disks are initial states of the model, and each quorum elects.

The members run the protocol core in a simulated world in which every message arrives and no member
fails. For each quorum, and for each of its members, one election is simulated in which only the
deadlines of this member pass. The model knows neither the start position of an archive's recording
nor damaged frames; this module has its own rules for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

from canvass.cluster.member import Member, Role, TermEntry
from canvass.cluster.messages import NULL_VALUE, Record
from canvass.cluster.predicates import is_closed, quorum_size
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.disks.comparison import Comparison, Proof
from canvass.disks.disk import MemberDisk
from canvass.simulation.simulator import reasons
from canvass.simulation.world import Log, Segment, World, agreement, append, length, segment_at

MAX_MEMBERS: Final = 7
"""The largest cluster of which all quorums are tried. Of larger ones, only the smallest quorums and
the set of all members that start are tried."""
ROUNDS: Final = 400
"""The number of rounds after which an election is stopped. An election takes 10 to 40."""
MAX_TERMS: Final = 500
"""The greatest number of terms with which elections are simulated, because each is replayed."""


class Truncation(Record, frozen=True):
    """The bytes from ``start`` to ``end`` that a member's log loses when it joins a leader.

    Bytes before ``committed_until`` were committed. Bytes before ``possible_until`` are, or may
    have been, on a quorum.
    """

    member_id: int
    start: int
    end: int
    committed_until: int
    possible_until: int


class Leadership(Record, frozen=True):
    """The consequences if a member leads.

    ``quorums`` has the sets of members with which it can win. ``refused`` has each other set, with
    the reason why it cannot win. ``stuck`` has the members that do not join it, with the reason.
    """

    leader_member_id: int
    log_leadership_term_id: int
    end: int
    quorums: list[list[int]]
    refused: dict[str, str]
    truncations: list[Truncation]
    stuck: dict[int, str]

    @property
    def may_lose(self) -> bool:
        """Whether a member truncates bytes that were, or may have been, on a quorum."""
        return any(
            max(one.committed_until, one.possible_until) > one.start for one in self.truncations
        )


class Outlook(Record, frozen=True):
    """The possible leaders, the members that cannot start or join, and the bounds of the search."""

    member_count: int
    quorum: int
    revision: str
    leaderships: list[Leadership]
    cannot_start: dict[int, str]
    never_join: dict[int, str]
    started_empty: list[int]
    elections: int
    bounds: str


@dataclass
class Explorer:
    """Simulates the elections.

    Parameters
    ----------
    disks
        The given disks by member id.
    comparison
        The comparison of their logs.
    member_ids
        All members of the cluster, sorted.
    empty
        The members that are started with an empty disk.
    revision
        The revision of the protocol.
    cannot_start
        The members that do not start, with the reason.
    """

    disks: Mapping[int, MemberDisk]
    comparison: Comparison
    member_ids: Sequence[int]
    empty: Sequence[int]
    revision: str
    cannot_start: dict[int, str]
    elections: int = 0

    @cached_property
    def rules(self) -> Rules:
        """The constants of the cluster."""
        return Rules.of(self.revision, len(self.member_ids))

    @cached_property
    def found(self) -> dict[int, tuple[Member, Log]]:
        """The state and the log that each member finds on its disk."""
        there = {i: initial_state(self.rules, disk) for i, disk in self.disks.items()}
        return there | {i: (persistent_member(self.rules), ()) for i in self.empty}

    @property
    def startable(self) -> list[int]:
        """The members that start."""
        return [i for i in self.member_ids if i in self.found and i not in self.cannot_start]

    def play(self, members: Sequence[int], candidate: int) -> World:
        """Start members, and let one of them run for election."""
        self.elections += 1
        world = World(self.rules)
        for i, (state, log) in self.found.items():
            world.set_disk(self.member_ids.index(i), state, log)
        going = [self.member_ids.index(i) for i in members]
        for k in going:
            world.start(k)
        world.settle(going, standing=self.member_ids.index(candidate), rounds=ROUNDS)
        return world

    def quorums(self) -> Iterator[tuple[int, ...]]:
        """The sets of members to start, small ones first."""
        there, size = self.startable, quorum_size(len(self.member_ids))
        sizes: Sequence[int] = range(size, len(there) + 1)
        if len(self.member_ids) > MAX_MEMBERS:
            sizes = sorted({size, len(there)} & set(sizes))
        for count in sizes:
            yield from combinations(there, count)

    def _log(self, member: int) -> tuple[int, int]:
        disk = self.disks.get(member)
        return (NULL_VALUE, 0) if disk is None else (disk.log_term, disk.end)

    def election(self, members: Sequence[int], candidate: int) -> tuple[str, World | None]:
        """The reason why a candidate does not lead some members, or empty; and the members' states.

        If the logs are long, no election is simulated: a candidate wins if no log is newer.
        """
        k = self.member_ids.index(candidate)
        world = None if self.is_long else self.play(members, candidate)
        if world is not None and is_closed(world.members[k], Role.LEADER):
            return self._unreadable(members, candidate, world), world
        own_term, own_end = self._log(candidate)
        for i in members:
            term, end = self._log(i)
            if (term, end) > (own_term, own_end):
                return (
                    f"member {i} refuses: its log ends at {end} of term {term}, the candidate's "
                    f"at {own_end} of term {own_term}"
                ), world
        if world is None:
            return "", None
        return reasons(world.members)[1 + k].partition(": ")[2], world

    def outlook(self) -> Outlook:
        """Find who can lead, and who can never join."""
        leaderships = self._explore()
        leaders = [one for one in leaderships if one.quorums]
        can_lead = {one.leader_member_id for one in leaders}
        never = {}
        for i in set(self.startable) - can_lead:
            obstacles = [one.stuck.get(i, "") for one in leaders]
            if obstacles and all(obstacles):
                never[i] = obstacles[0]
        count = len(self.member_ids)
        limit = "" if count <= MAX_MEMBERS else ", only the smallest quorums and the whole"
        return Outlook(
            member_count=count,
            quorum=quorum_size(count),
            revision=self.revision,
            leaderships=leaderships,
            cannot_start=self.cannot_start,
            never_join=dict(sorted(never.items())),
            started_empty=sorted(self.empty),
            elections=self.elections,
            bounds=(
                f"more than {MAX_TERMS} terms: no election was simulated, only the logs were"
                " compared"
                if self.is_long
                else f"{self.elections} elections simulated: each quorum, each member of it as the "
                f"candidate{limit}; every message arrives; at most {ROUNDS} rounds each"
            ),
        )

    def _explore(self) -> list[Leadership]:
        """Simulate all elections, then let the other members join each leader."""
        wins: dict[int, list[list[int]]] = {i: [] for i in self.startable}
        refused: dict[int, dict[str, str]] = {i: {} for i in self.startable}
        worlds: dict[int, World] = {}
        for members in self.quorums():
            for candidate in members:
                why, world = self.election(members, candidate)
                if why:
                    refused[candidate][", ".join(map(str, members))] = why
                    continue
                wins[candidate].append(list(members))
                if world is not None:
                    worlds[candidate] = world
        return [
            Leadership(
                i,
                *self._log(i),
                wins[i],
                refused[i],
                list(self._truncations(i)),
                self._join(i, worlds[i]) if i in worlds else {},
            )
            for i in self.startable
        ]

    @cached_property
    def is_long(self) -> bool:
        """Whether a disk has too many terms to simulate elections."""
        return any(len(disk.terms) > MAX_TERMS for disk in self.disks.values())

    def _unreadable(self, members: Sequence[int], leader: int, world: World) -> str:
        """The log that cannot be replayed and keeps a winner from opening its term, or empty."""
        own = self._replay_fails(leader, world, leads=True)
        if own:
            return f"it wins and does not lead: {own}"
        failing = {i: why for i in members if i != leader and (why := self._replay_fails(i, world))}
        if len(members) - len(failing) >= quorum_size(len(self.member_ids)):
            return ""
        first = min(failing)
        return f"member {first} votes for it and does not join: {failing[first]}"

    def _replay_fails(self, member: int, world: World, *, leads: bool = False) -> str:
        """The reason why a member cannot replay the kept part of its log, or empty.

        Notes
        -----
        After a replay that ended early, the log term of a follower is the last term that it has
        replayed (hazard HZ6). If the leader makes it truncate the damage because of that, it joins.
        """
        disk = self.disks.get(member)
        if disk is None or disk.log is None or disk.last_term is None:
            return ""
        log, start = disk.log, disk.snapshot_position
        kept = agreement(self.found[member][1], world.logs[self.member_ids.index(member)])
        ends = log.replay_end(start)
        if ends >= kept:
            return ""
        replayed = log.replayed(start)
        for entry in disk.terms:
            begun = start <= entry.term_base_log_position < replayed
            if begun and not leads and replayed < entry.log_position <= ends:
                return ""
        file, offset = log.place(ends)
        return f"its replay ends at the damage at {ends} ({file}:{offset})"

    def _join(self, leader: int, world: World) -> dict[int, str]:
        """Start all other members. Return the members that do not join, with the reason."""
        there = [self.member_ids.index(i) for i in self.startable]
        for k in there:
            if k not in world.up:
                world.start(k)
        world.settle(there, rounds=ROUNDS)
        states = reasons(world.members)
        stuck = {}
        for k in there:
            i = self.member_ids[k]
            if i == leader:
                continue
            why = self._cannot_follow(i, leader, world.logs[self.member_ids.index(leader)])
            why = why or self._replay_fails(i, world)
            if not why and not is_closed(world.members[k], Role.FOLLOWER):
                why = states[1 + k].partition(": ")[2]
            if why:
                stuck[i] = why
        return stuck

    def _cannot_follow(self, member: int, leader: int, log: Log) -> str:
        """The reason, from outside the model, why a member cannot follow a leader, or empty."""
        disk = self.disks.get(member)
        source = self.disks[leader].log if leader in self.disks else None
        own = 0 if disk is None else disk.end
        if disk is not None and leader in self.comparison.logs and member in self.comparison.logs:
            own = min(own, self.comparison.agreement(leader, member))
        if source is not None and own < source.start:
            return (
                f"needs the log from {own} on, and the leader's recording starts at {source.start}"
            )
        if source is not None and own < source.end and source.replay_end(own) < source.end:
            return (
                f"needs the log from {own} on, and the leader's replay ends at the damage at "
                f"{source.replay_end(own)}"
            )
        taken = None if disk is None else disk.snapshot
        if taken is None or taken.log_position == 0:
            return ""
        run = segment_at(log, taken.log_position - 1)
        if run is None:
            return f"starts at its snapshot, {taken.log_position}, beyond the leader's log"
        if run.term != taken.leadership_term_id:
            return (
                f"its snapshot at {taken.log_position} is of term {taken.leadership_term_id}; "
                f"the leader's log holds term {run.term} there, and the services of this "
                "member have processed other entries"
            )
        return ""

    def _truncations(self, leader: int) -> Iterator[Truncation]:
        proofs = self.comparison.proofs
        for i in self.startable:
            disk = self.disks.get(i)
            if i == leader or disk is None or i not in self.comparison.logs:
                continue
            agreed = self.comparison.agreement(leader, i) if leader in self.comparison.logs else 0
            agreed = min(agreed, disk.end)
            if agreed < disk.end:
                committed = min(self._committed(i, proofs), disk.end)
                possible = self._possible(i, agreed, disk.end)
                yield Truncation(i, agreed, disk.end, committed, possible)

    def _committed(self, member: int, proofs: Sequence[Proof]) -> int:
        """The position up to which a proof shows that a member's log was committed."""
        return max(
            (
                min(proof.position, self.comparison.agreement(proof.member_id, member))
                for proof in proofs
                if proof.member_id in self.comparison.logs
            ),
            default=0,
        )

    def _possible(self, member: int, start: int, end: int) -> int:
        """The position up to which a member's log is, or may be, on a quorum."""
        unknown = len(self.member_ids) - len(self.disks)
        size = quorum_size(len(self.member_ids))
        ends = sorted(
            (min(self.comparison.agreement(member, j), end) for j in self.comparison.logs),
            reverse=True,
        )
        needed = size - unknown
        if needed <= 0:
            return end
        return max(ends[needed - 1], start) if len(ends) >= needed else start


def initial_state(rules: Rules, disk: MemberDisk) -> tuple[Member, Log]:
    """The state and the log of a disk in terms of the model."""
    terms = tuple(
        TermEntry(entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
        for entry in disk.terms
    )
    snapshot = disk.snapshot
    log = model_log(disk)
    state = persistent_member(
        rules,
        candidate_term_id=disk.candidate_term_id,
        recording_log=terms,
        recorded_position=length(log),
        snapshot_leadership_term_id=NULL_VALUE if snapshot is None else snapshot.leadership_term_id,
        snapshot_term_base_log_position=(
            0 if snapshot is None else snapshot.term_base_log_position
        ),
        snapshot_log_position=disk.snapshot_position,
    )
    return state, log


def model_log(disk: MemberDisk) -> Log:
    """The log of a disk as the model sees it: the term of each byte.

    Notes
    -----
    The entries show the terms. Where entries are purged or damaged, the recording log shows them.
    """
    end = disk.end
    log: Log = ()
    runs = disk.log.terms if disk.log is not None and disk.last_term is not None else ()
    first = runs[0].start if runs else end
    for entry in disk.terms:
        stop = end if entry.log_position == NULL_VALUE else entry.log_position
        stop = min(stop, first)
        base = max(entry.term_base_log_position, length(log))
        if base == length(log) and stop > base:
            log = append(log, Segment(entry.leadership_term_id, base, base, stop))
    if length(log) < first:
        term = max(disk.log_term, log[-1].term if log else 0)
        known = runs[0].term if runs else term
        log = append(log, Segment(known, length(log), length(log), first))
    for run in runs:
        base = run.start if run.base == NULL_VALUE else run.base
        start = length(log)
        if run.end > start:
            same = bool(log) and log[-1].term == run.term
            log = append(log, Segment(run.term, log[-1].base if same else base, start, run.end))
    if length(log) < end:
        tail = log[-1]
        log = append(log, Segment(tail.term, tail.base, length(log), end))
    return log

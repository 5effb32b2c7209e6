"""Histories of clusters that a seed chooses: elections, tails, kills, lost disks; then their disks.

The members run the protocol core in a world without timing. The world knows the committed entries,
and tests compare the verdict on the disks with them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from canvass.cluster.duty_cycle import EVENT_LENGTH
from canvass.cluster.member import Input, Member, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.predicates import is_closed
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.simulation.world import AttemptedStep, Log, World, copy, cut, length
from support.aeron_disks import TIME, Disk, Term, with_message, write_log

MESSAGE = EVENT_LENGTH
"""The length of each session message in the log; a term's first entry has the same length."""
ROUNDS = 60


@dataclass
class History:
    """A world after the end of all processes, and the entries that were committed in it."""

    world: World
    committed: Log
    wiped: bool

    def disk(self, i: int) -> Disk:
        """The disk of a member."""
        state = self.world.members[i]
        entries = tuple(
            (one.leadership_term_id, one.term_base_log_position, one.log_position)
            for one in state.recording_log
        )
        return Disk(
            i,
            log_bytes(self.world.logs[i]),
            filled(entries),
            candidate_term=state.persisted_candidate_term_id,
        )

    def acknowledged(self) -> list[dict[str, object]]:
        """The acknowledged entries: every session message that was committed."""
        found: list[dict[str, object]] = []
        for segment in self.committed:
            first = segment.start + (EVENT_LENGTH if segment.start == segment.base else 0)
            found.extend(
                {
                    "clusterSessionId": 1,
                    "timestamp": TIME + position,
                    "payload": payload(segment.term, position)[:8].hex(),
                }
                for position in range(first, segment.end - MESSAGE + 1, MESSAGE)
            )
        return found

    def holders(self, position: int, term: int) -> int:
        """The number of disks that hold the message of a term at a position."""
        return sum(
            any(
                one.term == term and one.start <= position and position + MESSAGE <= one.end
                for one in log
            )
            for log in self.world.logs
        )


def payload(term: int, position: int) -> bytes:
    """The unique payload of the message of a term at a position."""
    return term.to_bytes(2, "little") + position.to_bytes(6, "little") + bytes(range(24))


def log_bytes(log: Log) -> bytes:
    """The bytes of a log whose messages all have the same length."""
    data = b""
    for segment in log:
        if segment.start == segment.base:
            data = write_log([Term(segment.term, NULL_VALUE)], data)  # The world keeps no leaders.
        while len(data) < segment.end:
            data = with_message(data, segment.term, payload(segment.term, len(data)))
    return data


def filled(entries: tuple[tuple[int, int, int], ...]) -> tuple[tuple[int, int, int], ...]:
    """The TERM entries, with the empty terms that the model implies before each entry."""
    found: list[tuple[int, int, int]] = []
    for term, base, end in entries:
        first = found[-1][0] + 1 if found else 0
        found += [(gap, base, base) for gap in range(first, term)]
        found.append((term, base, end))
    return tuple(found)


def _leader(world: World) -> int:
    leaders = [i for i in world.up if is_closed(world.members[i], Role.LEADER)]
    return max(
        leaders, key=lambda i: world.members[i].module_leadership_term_id, default=NULL_VALUE
    )


class _Committing(World):
    """Keeps the longest log that any member has ever committed."""

    committed: Log = ()

    def take(self, i: int, action: str, *facts: Any, **named: Any) -> AttemptedStep:
        taken = super().take(i, action, *facts, **named)
        position = min(self.members[i].commit_position, length(self.logs[i]))
        if position > length(self.committed):
            self.committed = copy(self.committed, self.logs[i], position)
        return taken


class _Life:
    """One history, step by step."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = _Committing(Rules.of("1.50", 3))
        self.wiped = False
        self.loses_disks = self.rng.random() < 0.5
        for i in range(3):
            self.world.start(i)

    def settle(self) -> None:
        world = self.world
        if len(world.up) > 1:
            standing = self.rng.choice(sorted(world.up))
            world.settle(sorted(world.up), standing=standing, rounds=ROUNDS)

    def append(self) -> None:
        """Let the leader append, and the tail reach all, some or none of the others."""
        world, leader = self.world, _leader(self.world)
        if leader == NULL_VALUE:
            return
        count = self.rng.randint(1, 5)
        position = world.members[leader].publication_position + MESSAGE * count
        if position + MESSAGE > 1 << 16:
            return
        world.take(leader, "AppendEntry", Input(position=position))
        reached = self.rng.random()
        if reached < 0.4:
            world.record(leader)
        elif reached < 0.5:
            world.record(leader, world.members[leader].recorded_position + MESSAGE)
        else:
            self.settle()

    def crash(self) -> None:
        if self.world.up:
            self.world.crash(self.rng.choice(sorted(self.world.up)))

    def start(self) -> None:
        if down := sorted(set(range(3)) - self.world.up):
            self.world.start(self.rng.choice(down))
            self.settle()

    def wipe(self) -> None:
        if self.loses_disks:
            i = self.rng.randrange(3)
            self.world.crash(i)
            self.world.set_disk(i, persistent_member(self.world.rules), ())
            self.wiped = True

    def run(self) -> History:
        self.settle()
        for _ in range(self.rng.randint(4, 14)):
            self.rng.choices(
                [self.append, self.crash, self.start, self.settle, self.wipe], [5, 3, 3, 1, 2]
            )[0]()
        for i in sorted(self.world.up):
            self.world.crash(i)
        return History(self.world, self.world.committed, self.wiped)


def history(seed: int) -> History:
    """The history that a seed chooses."""
    return _Life(seed).run()


def restarted(history_: History, members: list[int], candidate: int) -> tuple[World, bool]:
    """Start some members of a history again in a new world. Return it, and whether one wins."""
    world = World(history_.world.rules)
    for i in range(3):
        state: Member = history_.world.members[i]
        world.set_disk(i, state, cut(history_.world.logs[i], length(history_.world.logs[i])))
    for i in members:
        world.start(i)
    world.settle(members, standing=candidate, rounds=400)
    return world, is_closed(world.members[candidate], Role.LEADER)

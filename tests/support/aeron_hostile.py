"""Made-up clusters that are treated worse than `AeronCluster` treats its own: messages are lost,
leaders are hunted, members isolated, snapshots taken, the cluster ended and started again; a kill
takes the last lines of a log with it, and other lines stand between those that matter.

What befalls a cluster follows from its seed. Nothing here reads a log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from canvass.cluster.core import step as core_step
from canvass.cluster.member import NO_INPUT, ElectionState, Input, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log import records
from support.aeron_cluster import MS, AeronCluster

_KEPT_NS: Final = 500 * MS
"""A connection outlives a cut that is not longer: the transport sends again what was lost."""
SNAPSHOT: Final = -2
"""Stands for a term in a log's entries where the entry asks for a snapshot."""


@dataclass
class Hostility:
    """The faults of a cluster: how often, and of which kinds.

    Parameters
    ----------
    rate
        Chance of a fault in each round.
    kinds
        Drawn from for each fault.
    lost_ns
        A kill takes the lines of the last so many nanoseconds at most.
    traffic
        Chance that a leader appends in a duty cycle.
    in_elections
        Whether a member takes a snapshot, too, that is asked for in what it replays or catches up.
    """

    rate: float
    kinds: tuple[str, ...]
    lost_ns: int = 0
    traffic: float = 0.3
    in_elections: bool = False


_ALL: Final = (
    "kill", "kill leader", "kill all", "pause", "pause leader", "cut", "cut", "isolate",
    "isolate leader", "loss", "loss", "snapshot", "snapshot", "abort", "close",
)  # fmt: skip
STORIES: Final = {
    "chaos": Hostility(0.006, _ALL),
    "storm": Hostility(0.02, _ALL, traffic=0.5),
    "hunt": Hostility(0.006, ("kill leader", "kill leader", "kill", "loss"), traffic=0.6),
    "pauses": Hostility(0.008, ("pause", "pause leader", "pause leader"), traffic=0.4),
    "partitions": Hostility(0.008, ("cut", "isolate", "isolate leader", "loss"), traffic=0.4),
    "tails": Hostility(0.006, ("tail", "kill", "isolate leader"), traffic=0.8),
    "restarts": Hostility(0.004, ("snapshot", "snapshot", "abort", "close", "kill all", "kill")),
    "lossy kills": Hostility(
        0.006, ("kill", "kill leader", "kill all", "cut"), lost_ns=3_000_000, traffic=0.5
    ),
}
"""The choices of a seed; a new choice changes the meaning of every seed."""
MORE_STORIES: Final = {
    "late snapshots": Hostility(
        0.012, ("snapshot", "snapshot", "kill", "kill", "isolate"), traffic=0.5, in_elections=True
    ),
    "minority": Hostility(0.005, ("bury", "kill leader", "pause leader", "cut"), traffic=0.5),
    "flicker": Hostility(0.05, ("blink", "blink", "isolate leader"), traffic=0.5),
}
_REPLAYING: Final = (
    ElectionState.FOLLOWER_CATCHUP, ElectionState.FOLLOWER_REPLAY, ElectionState.LEADER_REPLAY,
)  # fmt: skip


class HostileCluster(AeronCluster):
    """A cluster to which a story happens.

    Attributes
    ----------
    taken_lines
        The last lines of logs that kills have taken.
    """

    def __init__(self, seed: int, count: int = 3, story: str = "") -> None:
        self.lossy: dict[tuple[int, int], int] = {}
        self.snapshotting: set[int] = set()
        self.terminating: dict[int, int] = {}
        self.taken_lines: list[records.LogRecord] = []
        names = sorted(STORIES)
        self.story = story or names[seed % len(names)]
        self.hostility = (STORIES | MORE_STORIES)[self.story]
        super().__init__(seed, count)

    # What befalls it.

    def _fault(self) -> None:
        """Half as often as the rounds that the base class chooses; see `run`."""

    def run(self, duration_ms: int) -> None:
        end = self.now + duration_ms * MS
        while self.now < end:
            super().run(5)
            if self.random.random() < self.hostility.rate:
                self._befall(self.random.choice(self.hostility.kinds))

    def _befall(self, kind: str) -> None:
        what, _, whom = kind.partition(" ")
        everyone = range(len(self.nodes))
        leaders = [
            i for i in everyone if self.nodes[i].alive and self.nodes[i].state.role is Role.LEADER
        ]
        chosen = leaders if whom == "leader" and leaders else everyone
        i = self.random.choice(chosen)
        until = self.now + self.random.randint(100, 5000) * MS
        if what == "kill":
            self._kill_all(everyone if whom == "all" else (i,))
        elif what == "bury":
            self._bury()
        elif what == "pause":
            self.nodes[i].paused_until = until
        elif what == "blink":
            # Longer or shorter than what makes an election begin anew, by little.
            self.nodes[i].paused_until = self.now + self.random.randint(900, 2100) * MS
        elif what in ("cut", "isolate", "loss"):
            self._part(i, what, until)
        elif what == "tail":
            self._leave_alone(leaders)
        elif what == "snapshot":
            self._ask_for_snapshot(leaders)
        elif what == "abort":
            self._ask_for_end(leaders)
        elif what == "close" and self.nodes[i].alive:
            self._close(i)

    def _kill_all(self, whom: Iterable[int]) -> None:
        for i in whom:
            if self.nodes[i].alive:
                self.kill(i)

    def _bury(self) -> None:
        """Kill as many as a quorum can do without, for long."""
        for j in self.random.sample(range(len(self.nodes)), (len(self.nodes) - 1) // 2):
            if self.nodes[j].alive:
                self.kill(j)
            self.nodes[j].restart_at = self.now + self.random.randint(3000, 9000) * MS

    def _part(self, i: int, what: str, until: int) -> None:
        """Cut a member off from some others or all, in one direction or both."""
        others = [j for j in range(len(self.nodes)) if j != i]
        if what != "isolate":
            others = self.random.sample(others, self.random.randint(0, len(others)))
        ways = ((True, True), (True, True), (True, False), (False, True))
        forth, back = self.random.choice(ways)
        for j in others:
            for pair, cut in (((i, j), forth), ((j, i), back)):
                if cut:
                    self.cut_until[pair] = until
                    loses = what == "loss" or self.random.random() < 0.3
                    if loses and until - self.now > _KEPT_NS:
                        self.lossy[pair] = until
                        self.channels[pair].clear()

    def _leave_alone(self, leaders: list[int]) -> None:
        """Kill all but the leader, which goes on appending."""
        for j, node in enumerate(self.nodes):
            if leaders and j not in leaders and node.alive:
                self.kill(j)
                node.restart_at = self.now + self.random.randint(800, 3000) * MS

    def kill(self, i: int) -> None:
        super().kill(i)
        self.snapshotting.discard(i)
        self.terminating.pop(i, None)
        lines = self.nodes[i].lines
        since = self.now - self.random.randint(0, self.hostility.lost_ns)
        while self.hostility.lost_ns and len(lines) > 1 and lines[-1].time_ns > since:
            if isinstance(lines[-1], records.ProcessStart):
                return
            self.taken_lines.append(lines.pop())

    def _close(self, i: int) -> None:
        """End a process in good order; its followers see the end of its log stream."""
        node = self.nodes[i]
        led = node.state.role is Role.LEADER and node.state.election_state is ElectionState.CLOSED
        old = "SNAPSHOT" if i in self.snapshotting else "ACTIVE"
        old = "TERMINATING" if i in self.terminating else old
        self._log(i, records.StateChange, i, old, "CLOSED", "closed")
        lost, self.hostility.lost_ns = self.hostility.lost_ns, 0
        self.kill(i)
        self.hostility.lost_ns = lost
        for j, other in enumerate(self.nodes):
            s = other.state
            follows = s.leader_member_id == i and s.log_subscription and other.alive
            closed = s.election_state is ElectionState.CLOSED
            if led and follows and closed and s.module_state is ModuleState.ACTIVE:
                given = Input(graceful_closed_leader_id=i)
                self._step(j, "EnterElection", given, "log recording stopped: eos=true")

    # Snapshots and ends.

    def _ask_for_snapshot(self, leaders: list[int]) -> None:
        for i in leaders:
            node, s = self.nodes[i], self.nodes[i].state
            if s.election_state is not ElectionState.CLOSED or i in self.snapshotting:
                continue
            begin = s.publication_position
            if self._step(i, "AppendEntry", Input(position=begin + 96)):
                node.terms.append((SNAPSHOT, begin, begin + 96))
                self.snapshotting.add(i)
                self._log(
                    i, records.StateChange, i, "ACTIVE", "SNAPSHOT", "ClusterControl.SNAPSHOT"
                )

    def _ask_for_end(self, leaders: list[int]) -> None:
        for i in leaders:
            if i not in self.snapshotting and self._step(i, "InitiateTermination"):
                self.terminating[i] = self.now + 500 * MS
                self._log(
                    i, records.StateChange, i, "ACTIVE", "TERMINATING", "ClusterControl.ABORT"
                )

    def _consume(self, i: int, bound: int) -> None:
        """As the base class, but stop at an entry that asks for a snapshot, and take it."""
        node = self.nodes[i]
        while True:
            done = node.state.commit_position
            asked = next((e for e in node.terms if e[0] == SNAPSHOT and e[1] >= done), None)
            if asked is None or asked[2] > bound:
                break
            self._consume_plain(i, asked[1])
            if not self._step(i, "ConsumeLog", Input(position=asked[2])):
                break
            state = node.state.election_state
            late = self.hostility.in_elections and state in _REPLAYING
            if state is ElectionState.CLOSED or late:
                self._log(i, records.StateChange, i, "ACTIVE", "SNAPSHOT", "ReplayClusterAction")
                self._take_snapshot(i)
        limit = next((e[1] for e in node.terms if e[0] == SNAPSHOT and e[2] > bound > e[1]), bound)
        self._consume_plain(i, limit)

    def _consume_plain(self, i: int, bound: int) -> None:
        node = self.nodes[i]
        kept, node.terms = node.terms, [e for e in node.terms if e[0] != SNAPSHOT]
        super()._consume(i, bound)
        node.terms = kept

    def _take_snapshot(self, i: int) -> None:
        position = self.nodes[i].state.commit_position
        self._log(i, records.ServiceAck, i, position, 0, "MILLISECONDS", 0, 7, 0)
        self._step(i, "TakeSnapshot")
        self._log(i, records.StateChange, i, "SNAPSHOT", "ACTIVE", "snapshot complete")

    def _serve(self, i: int) -> None:
        node, s = self.nodes[i], self.nodes[i].state
        if i in self.snapshotting and s.role is Role.LEADER:
            given = Input(active=self._active(i), commit_interval=self.random.random() < 0.05)
            self._step(i, "UpdateLeaderPosition", given)
            if node.state.commit_position == s.publication_position:
                self.snapshotting.discard(i)
                self._take_snapshot(i)
            return
        if s.termination_position != NULL_VALUE:
            self._end(i)
            return
        quiet = s.role is Role.LEADER and self.random.random() > self.hostility.traffic / 0.3
        if self.random.random() < 0.01:
            self._log(i, records.ClusterSessionStateChange, i, 1, "CLIENT", "INIT", "OPEN", "")
        if quiet:
            self._step(i, "UpdateLeaderPosition", Input(active=self._active(i)))
            return
        super()._serve(i)

    def _end(self, i: int) -> None:
        node, s = self.nodes[i], self.nodes[i].state
        if s.role is Role.LEADER:
            if s.recorded_position < s.termination_position:
                return
            self._step(i, "UpdateLeaderPosition", Input(active=self._active(i)))
            if self.now < self.terminating.get(i, 0):
                return
        else:
            self._consume(i, min(s.module_notified_commit_position, s.recorded_position))
            if node.state.commit_position < s.termination_position:
                return
            self._log(i, records.StateChange, i, "ACTIVE", "TERMINATING", "terminationPosition")
        if core_step(self.rules, i, node.state, "Terminate", NO_INPUT) is None:
            return
        self._step(i, "Terminate")
        self._log(i, records.StateChange, i, "TERMINATING", "CLOSED", "expected termination")
        lost, self.hostility.lost_ns = self.hostility.lost_ns, 0
        self.kill(i)
        self.hostility.lost_ns = lost

    # Loss.

    def _step(self, i: int, action: str, given: Input = NO_INPUT, reason: str = "") -> bool:
        """As the base class; what is sent on a channel that is not connected is lost."""
        before = self.nodes[i].state.election_state
        lengths = {j: len(self.channels[i, j]) for j in range(len(self.nodes)) if j != i}
        done = super()._step(i, action, given, reason)
        for j, length in lengths.items():
            lost = min(self.lossy.get((i, j), 0), self.cut_until.get((i, j), 0)) > self.now
            if lost:
                while len(self.channels[i, j]) > length:
                    self.channels[i, j].pop()
        left = before is ElectionState.CLOSED
        if i in self.snapshotting and left and self.nodes[i].state.election_state is not before:
            self.snapshotting.discard(i)
            self._log(i, records.StateChange, i, "SNAPSHOT", "ACTIVE", "rollback")
        return done

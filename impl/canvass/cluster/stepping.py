"""How a member takes the steps of the core: with an input, adopted by the port, if it is enabled.

When which step is taken is decided in `canvass.cluster.election_work` and
`canvass.cluster.duty_cycle`, which stand on this.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.clocks import Clocks
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.ports import Port, StepFunction
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules
from canvass.cluster.timing import LOG_FRAGMENT_LIMIT, Timing


class Stepping:
    """One process of one member that takes steps.

    Parameters
    ----------
    rules, i, timing
        The protocol, the member's own id, its timers.
    found
        What is on disk.
    port
        The world.
    step
        The protocol core.

    Attributes
    ----------
    member
        The protocol state.
    clocks
        When the member last heard, sent and changed.
    """

    def __init__(
        self,
        rules: Rules,
        i: int,
        timing: Timing,
        found: Member,
        port: Port,
        step: StepFunction = core.step,
    ) -> None:
        self._rules, self._id, self._timing, self._port, self._step = rules, i, timing, port, step
        self.member = found
        self.clocks = Clocks(rules, timing, i, port.nomination_delay_ns)
        self._snapshot_position = NULL_VALUE
        self._idle: tuple[Member, str, Input] | None = None

    def take_up_recording(self) -> bool:
        """Take note of what the archive has recorded; false if there is nothing new.

        Every step that may begin an election comes after this: what the archive has recorded and
        the module has not noted is cut off then.
        """
        position = self._port.recorded_position()
        if position <= self.member.recorded_position:
            return False
        return self._take("RecordLog", replace(NO_INPUT, position=position))

    def _take(
        self, action: str, x: Input = NO_INPUT, sender: int = NULL_VALUE, number: int = NULL_VALUE
    ) -> bool:
        """Take a step. False if it is not enabled, or would change and send nothing."""
        before = self.member
        outcome = self._step(self._rules, self._id, before, action, x)
        if outcome is None:
            return False
        if x.message is None and not outcome.effects and outcome.next == before:
            return False
        self._port.adopt(self.clocks.now_ns, action, x, sender, number, outcome)
        self.member = outcome.next
        if outcome.next.publication_position == NULL_VALUE:
            self._snapshot_position = NULL_VALUE
        self.clocks.on_transition(before, outcome.next)
        return True

    def _take_unless_idle(self, action: str, x: Input) -> bool:
        """Take a step, unless it was of no use just now and nothing has changed since."""
        if self._idle is not None:
            state, last_action, last_input = self._idle
            if state is self.member and last_action == action and last_input == x:
                return False
        if self._take(action, x):
            self._idle = None
            return True
        self._idle = self.member, action, x
        return False

    def _poll_log(self) -> bool:
        """Process the log as far as that is allowed now, within the limit of one cycle."""
        left = LOG_FRAGMENT_LIMIT
        while left > 0:
            s = self.member
            bound = consume_bound(s)
            if s.commit_position >= bound:
                break
            part = self._port.log_part(s.commit_position, bound, left)
            if part is None:
                break
            left -= part.count
            if part.leadership_term_id == NULL_VALUE:
                taken = self._take("ConsumeLog", replace(NO_INPUT, position=part.position))
            else:
                x = Input(
                    position=part.position,
                    leadership_term_id=part.leadership_term_id,
                    term_base_log_position=part.term_base_log_position,
                )
                taken = self._take("OnReplayNewLeadershipTermEvent", x)
            if not taken:
                break
            if part.snapshot:
                self._take("TakeSnapshot")
                break
        return left < LOG_FRAGMENT_LIMIT

"""The switches by which an operator controls a cluster and a member, and the state of the module.

The names are Aeron's. `canvass.node.consensus_module` polls the switches and appends to the log.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from canvass.log.messages import ClusterAction


class ModuleControlState(IntEnum):
    """What the consensus module is about, in Aeron's codes."""

    ACTIVE = 1
    SUSPENDED = 2
    SNAPSHOT = 3
    TERMINATING = 5


class ControlToggle(IntEnum):
    """The switch of the whole cluster, in Aeron's codes."""

    INACTIVE = 0
    NEUTRAL = 1
    SUSPEND = 2
    RESUME = 3
    SNAPSHOT = 4
    SHUTDOWN = 5
    ABORT = 6
    STANDBY_SNAPSHOT = 7


class NodeToggle(IntEnum):
    """The switch of one member, whatever its role, in Aeron's codes."""

    INACTIVE = 0
    NEUTRAL = 1
    REPLICATE_STANDBY_SNAPSHOT = 2


ACTION_OF: Final = {
    ControlToggle.SUSPEND: (ModuleControlState.ACTIVE, ClusterAction.SUSPEND),
    ControlToggle.RESUME: (ModuleControlState.SUSPENDED, ClusterAction.RESUME),
    ControlToggle.SNAPSHOT: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
    ControlToggle.SHUTDOWN: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
    ControlToggle.STANDBY_SNAPSHOT: (ModuleControlState.ACTIVE, ClusterAction.SNAPSHOT),
}
"""The state in which a switch takes effect, and what is appended then."""
_STATE_AFTER: Final = {
    ClusterAction.SUSPEND: ModuleControlState.SUSPENDED,
    ClusterAction.RESUME: ModuleControlState.ACTIVE,
    ClusterAction.SNAPSHOT: ModuleControlState.SNAPSHOT,
}


class Control:
    """The switches and the state of one member."""

    def __init__(self) -> None:
        self.toggle = ControlToggle.INACTIVE
        self.node_toggle = NodeToggle.INACTIVE
        self.state = ModuleControlState.ACTIVE
        self._previous: list[tuple[int, ModuleControlState]] = []
        """Position of each appended action that is not committed, and the state before it."""

    def set_toggle(self, toggle: ControlToggle) -> bool:
        """Set the switch; false if it is not ready for that."""
        ready = self.toggle is ControlToggle.NEUTRAL or (
            toggle is ControlToggle.RESUME and self.toggle is ControlToggle.SUSPEND
        )
        if ready:
            self.toggle = toggle
        return ready

    def set_node_toggle(self, toggle: NodeToggle) -> bool:
        """Set the switch of this member; false if it is not ready for that."""
        ready = self.node_toggle is NodeToggle.NEUTRAL
        if ready:
            self.node_toggle = toggle
        return ready

    def take_node_toggle(self) -> NodeToggle:
        """Take what the switch of this member asks for, if it can be done in this state.

        It is ready for the next then; NEUTRAL if nothing is asked for.
        """
        asked = self.node_toggle
        if self.state is not ModuleControlState.ACTIVE or asked is NodeToggle.INACTIVE:
            return NodeToggle.NEUTRAL
        self.node_toggle = NodeToggle.NEUTRAL
        return asked

    def on_append(self, position: int, action: ClusterAction) -> None:
        """Note that this leader has appended an action."""
        self._previous.append((position, self.state))
        self.state = _STATE_AFTER[action]
        if action is ClusterAction.RESUME:
            self.toggle = ControlToggle.NEUTRAL

    def on_replay(self, action: ClusterAction) -> None:
        """The log holds an action."""
        self.state = _STATE_AFTER[action]

    def on_snapshot_taken(self) -> None:
        """The snapshot that was asked for is there."""
        if self.state is ModuleControlState.SNAPSHOT:
            ends = self.toggle is ControlToggle.SHUTDOWN
            self.state = ModuleControlState.TERMINATING if ends else ModuleControlState.ACTIVE
        if self.toggle is ControlToggle.SNAPSHOT:
            self.toggle = ControlToggle.NEUTRAL

    def sweep(self, commit_position: int) -> None:
        """Forget what can no more be undone."""
        self._previous = [one for one in self._previous if one[0] > commit_position]

    def roll_back(self, commit_position: int) -> None:
        """Undo the actions that may never commit."""
        self.sweep(commit_position)
        if self._previous:
            self.state = self._previous[0][1]
        elif self.state is ModuleControlState.TERMINATING:
            self.state = ModuleControlState.ACTIVE  # The protocol ends the process, if anything.
        self._previous.clear()
        self.toggle = ControlToggle.INACTIVE
        self.node_toggle = NodeToggle.INACTIVE

    def on_elected(self, *, leads: bool) -> None:
        """Let the switches be ready: that of the cluster is the leader's."""
        self.node_toggle = NodeToggle.NEUTRAL
        if not leads:
            return
        suspended = self.state is ModuleControlState.SUSPENDED
        self.toggle = ControlToggle.SUSPEND if suspended else ControlToggle.NEUTRAL

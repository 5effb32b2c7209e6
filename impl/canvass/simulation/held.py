"""A recorder of steps that can forget the last one: a crash may come before that step is on disk.

What a crash makes of the last step is decided in `canvass.node.resume`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.ports import StepRecorder


class HeldRecorder:
    """Holds the last step back, so that it can still be forgotten.

    Parameters
    ----------
    recorder
        Where steps go that are past doubt, or None.

    Attributes
    ----------
    last, previous
        The states after the last step and after the one before.
    """

    recording = True

    def __init__(self, recorder: StepRecorder | None) -> None:
        self._recorder = recorder
        self._held: Callable[[StepRecorder], int] | None = None
        self._number = self._held_from = 0
        self.last: Member | None = None
        self.previous: Member | None = None

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Hold a step, and let the one before go."""
        self.flush()
        if self._recorder is not None:
            self._held = lambda recorder: recorder.record(
                time_ns,
                action,
                state,
                inputs=inputs,
                sender=sender,
                number=number,
                sends=sends,
                log_checksums=log_checksums,
            )
        self.previous, self.last = self.last, state
        self._held_from = self._number
        self._number += len(sends)
        return self._held_from

    def forget_last(self) -> None:
        """Forget the step that is held."""
        self._held, self.last, self._number = None, self.previous, self._held_from

    def flush(self) -> None:
        """Let the step that is held go."""
        held, self._held = self._held, None
        if held is not None and self._recorder is not None:
            held(self._recorder)

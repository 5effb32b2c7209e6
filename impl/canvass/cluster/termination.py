"""A leader's book of a termination that it has asked for: who has ended, and until when it waits.

The core leaves this out, because a leader may end at any time once the deadline has passed. Aeron's
name for it is ``ClusterTermination``.
"""

from __future__ import annotations

from canvass.cluster.messages import Message, TerminationAck


class Termination:
    """A termination that runs.

    Parameters
    ----------
    i, member_count
        The leader, and how many members there are.
    term
        The term in which it was asked for.
    deadline_ns
        When the leader ends at the latest.
    """

    def __init__(self, i: int, member_count: int, term: int, deadline_ns: int) -> None:
        self._ended = {i}
        self.term = term
        self._count, self._deadline_ns = member_count, deadline_ns

    def on_message(self, message: Message) -> None:
        """Note who says that it has ended; any other message is passed over."""
        if isinstance(message, TerminationAck) and message.leadership_term_id == self.term:
            self._ended.add(message.member_id)

    def is_complete(self, now_ns: int) -> bool:
        """Whether the leader may end now."""
        return len(self._ended) == self._count or now_ns >= self._deadline_ns

"""The words of the frame table: regimes of steps, and terms that they may look up."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

LOG: Final = "recording_log"
"""The one field of a state that is a list of entries."""


class Regime(IntEnum):
    """The cases that the operators tell apart before anything else."""

    INACTIVE = 0
    """The module is not ACTIVE."""
    CLOSED_LEADER = 1
    CLOSED_OTHER = 2
    """No election runs, and the member is no leader."""
    CLOSED_NEWER = 3
    """No election runs, and a message of a newer term than the module's starts one."""
    ELECTION_LEADER = 4
    """In an election, as its leader or in a state of a leader."""
    ELECTION_OTHER = 5


class Lookup(IntEnum):
    """A term that a step may look up in the recording log."""

    OWN_LOG_TERM = 0
    AFTER_OWN_LOG_TERM = 1
    MESSAGE_LOG_TERM = 2
    AFTER_MESSAGE_LOG_TERM = 3
    MODULE_TERM = 4
    LEADERSHIP_TERM = 5
    REPLICATION_TERM = 6
    INPUT_TERM = 7
    RECORD_TERMS = 8
    """The terms of all member records: hardening HZ1 looks them up."""

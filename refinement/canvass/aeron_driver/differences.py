"""The reviewed classes of differences between Aeron and the spec, each with its reason.

A difference that no class explains makes ``canvass drive`` fail. A class is here only if it cannot
hide a wrong run; its reason says why. ``docs/theory/java.md`` has a row for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from canvass.aeron_driver.class_path import REVISION_149, REVISION_150
from canvass.aeron_driver.drivable import Flags, Requests
from canvass.cluster.member import Role
from canvass.traces.actions import Action


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One class.

    Parameters
    ----------
    name
        In reports.
    reason
        Why Aeron departs from the spec there, and why no wrong run can hide in it.
    revisions
        In which it occurs.
    where
        Which steps may differ by it.
    """

    name: str
    reason: str
    revisions: tuple[str, ...]
    where: Callable[[Requests], Flags]


_BOTH: Final = (REVISION_149, REVISION_150)

KNOWN: Final = (
    KnownDifference(
        "acknowledgement nobody asked for",
        "A leader that has asked nobody to terminate throws a NullPointerException at a"
        " TerminationAck of its own term. No member sends one before it was asked, so that the"
        " input occurs in the graph only, whose environment sends any well-formed message.",
        _BOTH,
        lambda r: r.is_of(Action.ON_TERMINATION_ACK) & (r.state("termination_position") == -1),
    ),
    KnownDifference(
        "suspended leader",
        "A leader that an operator has suspended ignores ABORT and appends nothing. The spec has no"
        " suspended module and allows both: a trace that claims one of them there passes, with"
        " entries that are its leader's, or with a shutdown that the leader asks for.",
        _BOTH,
        lambda r: (
            r.is_of(Action.INITIATE_TERMINATION, Action.APPEND_ENTRY)
            & r.is_hidden("the module is suspended")
        ),
    ),
    KnownDifference(
        "log truncated to nothing",
        "Up to 1.49 a truncation leaves the append position as it was, and the next INIT reads it"
        " from the recording. The driver makes no recording where nothing is recorded, so that"
        " there is nothing to read. A member that has truncated its log has a recording.",
        (REVISION_149,),
        lambda r: (
            r.is_of(Action.ELECTION_INIT)
            & (r.state("recorded_position") == 0)
            & (r.state("append_position") > 0)
        ),
    ),
    KnownDifference(
        "records of a cluster of one",
        "A single member goes from INIT to LEADER_LOG_REPLICATION without the CANVASS that resets"
        " its records. Position and term of its own record are set in the next two states before"
        " they are read, and nothing reads the rest.",
        _BOTH,
        lambda r: (
            r.is_of(Action.ELECTION_INIT)
            & (r.member_count == 1)
            & r.is_hidden("forgotten member records hold old values")
        ),
    ),
    KnownDifference(
        "first entry of a term elsewhere",
        "Aeron does not compare the base that the first entry of a term names with where it stands."
        " The leader writes it at its base, so that the input does not occur.",
        _BOTH,
        lambda r: (
            r.is_of(Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT)
            & (r.input("term_base_log_position") != r.state("commit_position"))
        ),
    ),
    KnownDifference(
        "second snapshot at a position",
        "Aeron takes a snapshot wherever the log says so. The request is an entry of the log"
        " itself, so that each snapshot lies beyond the one before.",
        _BOTH,
        lambda r: (
            r.is_of(Action.TAKE_SNAPSHOT)
            & (r.state("commit_position") <= r.state("snapshot_log_position"))
        ),
    ),
    KnownDifference(
        "termination of an older term ends a leader",
        "A leader that asked for a termination in an older term, and was elected again, ends at the"
        " deadline of then. The spec ends a leader for a termination of its own term alone: a trace"
        " in which it happens diverges, so that nothing wrong passes.",
        _BOTH,
        lambda r: (
            r.is_of(Action.TERMINATE)
            & r.has_role(Role.LEADER)
            & (r.state("termination_leadership_term_id") != r.state("module_leadership_term_id"))
        ),
    ),
)


def explain(requests: Requests, revision: str) -> list[str]:
    """Name for each step the class that may explain a difference, empty if there is none."""
    names = [""] * len(requests)
    for known in KNOWN:
        if revision in known.revisions:
            for row in np.flatnonzero(known.where(requests)).tolist():
                names[row] = names[row] or known.name
    return names

"""Compare outcomes of Aeron with outcomes of the spec, cell by cell.

The spec resets fields that nothing reads any more, and Aeron often keeps them. `compared_cells`
excludes these cells; it decides by the state after the step alone.

`KNOWN` has the reviewed classes of differences. A difference that no class explains makes
``canvass drive`` fail. A class is allowed only if it cannot hide a wrong run, and its reason says
why. ``docs/theory/java.md`` has a row for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.drivable import Flags, Requests, StepClass, class_of
from canvass.aeron_driver.driver import REVISION_149, REVISION_150, Cells, StreamLayout
from canvass.cluster import predicates
from canvass.cluster.member import ElectionState, ModuleState, Role
from canvass.cluster.messages import MESSAGE_TYPES, wire_name
from canvass.traces.actions import Action
from canvass.traces.schema import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_FIELDS,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
    STATE_INDEX,
    members_of,
)

RECORDING_LOG: Final = "recording_log"
SENDS: Final = "sends"

DISK_COLUMNS: Final = (
    "persisted_candidate_term_id",
    "recorded_position",
    "snapshot_leadership_term_id",
    "snapshot_term_base_log_position",
    "snapshot_log_position",
)
"""The fields of a terminated member's disk, besides the recording log."""

_ES = {state: code for code, state in enumerate(ElectionState)}
FOLLOWING: Final = range(
    _ES[ElectionState.FOLLOWER_LOG_REPLICATION], _ES[ElectionState.FOLLOWER_READY] + 1
)
RECORDS_READ: Final = tuple(
    _ES[state] for state in ElectionState if state in predicates.RECORDS_READ
)
"""States in which a member reads its records of the other members (`RecordsRead` of the spec)."""


def compared_cells(layout: StreamLayout, after: Cells) -> Flags:
    """Mark the cells of each state after a step that are compared.

    These cells are not compared:

    * the position at which a follower joins the live log, except from FOLLOWER_LOG_REPLICATION to
      FOLLOWER_READY;
    * the fields of a log replication, except in FOLLOWER_LOG_REPLICATION;
    * replay and log replication in INIT, which the next duty cycle closes without reading them;
    * records of members, in states whose next CANVASS resets them before they are read;
    * all fields of a terminated member except its disk.
    """
    election = after[:, STATE_INDEX["election_state"]]
    compared = np.ones((len(after), layout.state_width), dtype=np.bool_)

    def keep(column: str, where: NDArray[Any]) -> None:
        compared[:, STATE_INDEX[column]] &= where

    keep("catchup_join_position", np.isin(election, FOLLOWING))
    copies = election == _ES[ElectionState.FOLLOWER_LOG_REPLICATION]
    keep("replication_leadership_term_id", copies)
    keep("replication_stop_position", copies)
    keep("replication_term_base_log_position", copies)
    is_init = election == _ES[ElectionState.INIT]
    keep("log_replication", ~is_init)
    keep("replay_stop_position", ~is_init)
    read = np.isin(election, RECORDS_READ)
    leads = (election == _ES[ElectionState.CLOSED]) & (
        after[:, STATE_INDEX["role"]] == STATE_ENUMS["role"].index(Role.LEADER)
    )
    for place in range(layout.records, layout.log):
        column = MEMBER_COLUMNS[(place - layout.records) % len(MEMBER_COLUMNS)]
        if column in ("leadership_term_id", "log_position"):
            compared[:, place] &= read | leads
        elif column != "catchup_replay":
            compared[:, place] &= read
    ended = after[:, STATE_INDEX["module_state"]] == STATE_ENUMS["module_state"].index(
        ModuleState.CLOSED
    )
    disk = np.zeros(layout.state_width, dtype=np.bool_)
    disk[[STATE_INDEX[name] for name in (*DISK_COLUMNS, "module_state")]] = True
    disk[layout.log :] = True
    compared[ended] = disk
    return compared


def sends_differ(layout: StreamLayout, expected: Cells, java: Cells) -> Flags:
    """Tell for each step whether the sends differ; the order between receivers does not count."""
    differ = np.asarray((expected != java).any(axis=1))
    for row in np.flatnonzero(differ & (expected[:, 0] == java[:, 0])).tolist():
        differ[row] = _channels(layout, expected[row]) != _channels(layout, java[row])
    return differ


def _channels(layout: StreamLayout, sends: NDArray[Any]) -> list[list[int]]:
    """Give receiver and message of each send, ordered by receiver."""
    width = 1 + layout.message_width
    count = int(sends[0])
    rows: list[list[int]] = sends[1 : 1 + count * width].reshape(count, width).tolist()
    return sorted(rows, key=lambda row: row[0])


def field_names(layout: StreamLayout) -> list[str]:
    """Name the field of each cell of a state."""
    names = list(STATE_COLUMNS)
    for member in range(layout.member_count):
        names += [f"members[{member}].{column}" for column in MEMBER_COLUMNS]
    return names + [RECORDING_LOG] * (layout.state_width - len(names))


_MASKS: Final = ("active", "accepted")


def value_of(field: str, cell: int) -> str:
    """Write one cell of a state or an input as text."""
    if field in STATE_ENUMS:
        enum = STATE_ENUMS[field]
        return str(enum[cell].value) if 0 <= cell < len(enum) else f"code {cell}"
    if field.rpartition(".")[2] in FLAG_COLUMNS:
        return str(bool(cell)).lower()
    if field in _MASKS:
        return "{" + ", ".join(map(str, sorted(members_of(cell)))) + "}"
    return str(cell)


def fields_of(layout: StreamLayout, cells: Sequence[int]) -> dict[str, str]:
    """Write the fields of a state as text, by name."""
    names = field_names(layout)
    shown = {
        name: value_of(name, int(cell))
        for name, cell in zip(names[: layout.log], cells[: layout.log], strict=True)
    }
    width = len(LOG_COLUMNS)
    start = layout.log + 1
    entries = [cells[start + width * k : start + width * (k + 1)] for k in range(cells[layout.log])]
    shown[RECORDING_LOG] = " ".join(
        f"(term {term}, {base} to {end if end != NONE else 'open'})" for term, base, end in entries
    )
    return shown


def short_state(layout: StreamLayout, cells: Sequence[int]) -> str:
    """Write the fields of a state that are not null, in one line."""
    kept = {
        name: value
        for name, value in fields_of(layout, cells).items()
        if value not in ("-1", "false", "") and not (value == "0" and name.startswith("snapshot"))
    }
    return " ".join(f"{name}={value}" for name, value in kept.items())


def message_of(cells: Sequence[int]) -> str:
    """Write a message as text: its type and its fields."""
    message = MESSAGE_TYPES[int(cells[0])]
    fields = ", ".join(
        f"{wire_name(name)} {cells[1 + MESSAGE_FIELDS.index(name)]}"
        for name in message.__struct_fields__
    )
    return f"{message.__name__}({fields})"


def sends_of(layout: StreamLayout, cells: Sequence[int]) -> list[str]:
    """Write the sends of an outcome as text."""
    width = 1 + layout.message_width
    return [
        f"to {cells[at]}: {message_of(cells[at + 1 : at + width])}"
        for at in range(1, 1 + width * int(cells[0]), width)
    ]


def input_of(request: Sequence[int]) -> str:
    """Write the input of a request in one line."""
    facts = zip(INPUT_COLUMNS, request[2:], strict=False)
    parts = [f"{name}={value_of(name, cell)}" for name, cell in facts if cell not in (0, NONE)]
    message = request[2 + len(INPUT_COLUMNS) :]
    if message[0] != NONE:
        parts.append(message_of(message))
    return " ".join(parts) or "nothing"


_OF_BOTH: Final = (
    StepClass(
        "acknowledgement nobody asked for",
        "A leader that has requested no termination throws a NullPointerException when it receives"
        " a TerminationAck of its own term. Members only acknowledge a request, so this input"
        " occurs in the graph only: its environment sends any well-formed message.",
        lambda r: r.is_of(Action.ON_TERMINATION_ACK) & (r.state("termination_position") == -1),
    ),
    StepClass(
        "suspended leader",
        "A leader that an operator has suspended ignores ABORT and appends nothing. The spec has no"
        " suspended module and allows both steps. So a trace in which a suspended leader takes one"
        " of them conforms; its entries are the leader's, and the leader requests the shutdown.",
        lambda r: (
            r.is_of(Action.INITIATE_TERMINATION, Action.APPEND_ENTRY)
            & r.is_hidden("the module is suspended")
        ),
    ),
    StepClass(
        "records of a cluster of one",
        "A single member goes from INIT to LEADER_LOG_REPLICATION without a CANVASS, which would"
        " reset its records. The next two states set the position and term of its own record"
        " before they read them, and nothing reads the other fields.",
        lambda r: (
            r.is_of(Action.ELECTION_INIT)
            & (r.member_count == 1)
            & r.is_hidden("forgotten member records hold old values")
        ),
    ),
    StepClass(
        "first entry of a term elsewhere",
        "Aeron does not compare the base in the first entry of a term with the position of the"
        " entry. The leader writes the entry at its base, so the input does not occur.",
        lambda r: (
            r.is_of(Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT)
            & (r.input("term_base_log_position") != r.state("commit_position"))
        ),
    ),
    StepClass(
        "second snapshot at a position",
        "Aeron takes a snapshot at any position that the log requests. The request is an entry of"
        " the log itself, so each snapshot is beyond the previous one.",
        lambda r: (
            r.is_of(Action.TAKE_SNAPSHOT)
            & (r.state("commit_position") <= r.state("snapshot_log_position"))
        ),
    ),
    StepClass(
        "termination of an older term ends a leader",
        "A leader that requested a termination in an older term, and was elected again, ends at the"
        " old deadline. In the spec a leader ends only for a termination of its own term. So a"
        " trace with this step diverges, and no wrong run passes.",
        lambda r: (
            r.is_of(Action.TERMINATE)
            & r.has_role(Role.LEADER)
            & (r.state("termination_leadership_term_id") != r.state("module_leadership_term_id"))
        ),
    ),
)
_TRUNCATED: Final = StepClass(
    "log truncated to nothing",
    "Up to 1.49 a truncation does not change the append position, and the next INIT reads it"
    " from the recording. The driver makes no recording if nothing is recorded, so INIT cannot"
    " read one. A real member that has truncated its log has a recording.",
    lambda r: (
        r.is_of(Action.ELECTION_INIT)
        & (r.state("recorded_position") == 0)
        & (r.state("append_position") > 0)
    ),
)
KNOWN: Final = {REVISION_149: (_TRUNCATED, *_OF_BOTH), REVISION_150: _OF_BOTH}
"""For each revision its reviewed classes of differences. The first one that applies counts."""


def reviewed_classes(requests: Requests, revision: str) -> list[str]:
    """Name for each step the class that may explain a difference; empty if there is none."""
    names = [known.name for known in KNOWN[revision]] + [""]
    return [names[index] for index in class_of(requests, KNOWN[revision]).tolist()]

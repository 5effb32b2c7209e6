"""Requests to the driver, compared cells, and steps that cannot be driven."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import astuple

from canvass.aeron_driver.comparison import (
    KNOWN,
    RECORDING_LOG,
    compared_cells,
    field_names,
    fields_of,
    message_of,
    sends_differ,
    short_state,
)
from canvass.aeron_driver.drivable import HIDDEN, OBSTACLES, Requests, class_of, masks, names_of
from canvass.aeron_driver.driver import (
    FIELDS_FILE,
    Cells,
    StreamLayout,
    state_cells,
    without_implied_terms,
)
from canvass.cluster.member import ElectionState, Role
from canvass.cluster.messages import CommitPosition
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import message_rows
from canvass.traces.columns import state_cells as cells_of_state
from canvass.traces.schema import STATE_ENUMS, STATE_INDEX

LAYOUT = StreamLayout(3, 4)


def row_of(*entries: tuple[int, int, int], **fields: int) -> Cells:
    """Make a new member with these fields and entries."""
    member = persistent_member(Rules.of("1.50", 3))
    state = np.array([cells_of_state(member)])
    for name, cell in fields.items():
        state[0, STATE_INDEX[name]] = cell
    records = np.array([[astuple(record) for record in member.members]])
    log = np.array(entries).reshape(-1, 3)
    return state_cells(LAYOUT, state, records, np.array([0, len(log)]), log)


def test_a_row_has_all_values_of_the_state() -> None:
    row = row_of((0, 0, 2), (1, 2, -1), commit_position=2)
    shown = fields_of(LAYOUT, row[0].tolist())

    assert shown["commit_position"] == "2"
    assert shown["role"] == "FOLLOWER"
    assert shown[RECORDING_LOG] == "(term 0, 0 to 2) (term 1, 2 to open)"
    assert "members[2].vote" in shown
    assert "commit_position=2" in short_state(LAYOUT, row[0].tolist())


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        (((0, 0, 2), (1, 2, -1)), ((0, 0, 2), (1, 2, -1))),
        (((0, 0, 2), (1, 2, 2), (2, 2, -1)), ((0, 0, 2), (2, 2, -1))),
        (((0, 0, 0), (1, 0, 0), (2, 0, 3)), ((2, 0, 3),)),
        (((0, 0, 2), (1, 2, 2)), ((0, 0, 2), (1, 2, 2))),
    ],
)
def test_empty_terms_before_another_one_are_implied(
    entries: tuple[tuple[int, int, int], ...], kept: tuple[tuple[int, int, int], ...]
) -> None:
    assert without_implied_terms(LAYOUT, row_of(*entries)).tolist() == row_of(*kept).tolist()


def compared_fields(state: ElectionState, role: Role = Role.FOLLOWER, closed: int = 0) -> set[str]:
    row = row_of(
        election_state=STATE_ENUMS["election_state"].index(state),
        role=STATE_ENUMS["role"].index(role),
        module_state=closed,
    )
    flags = compared_cells(LAYOUT, row)[0]
    return {name for name, flag in zip(field_names(LAYOUT), flags, strict=True) if flag}


def test_fields_that_the_spec_has_reset_are_not_compared() -> None:
    everything = set(field_names(LAYOUT))
    copying = compared_fields(ElectionState.FOLLOWER_LOG_REPLICATION)
    init = compared_fields(ElectionState.INIT)

    assert {"replication_stop_position", "catchup_join_position"} <= copying
    assert not {"log_replication", "replay_stop_position", "members[1].vote"} & init
    assert {"log_replication", "replay_stop_position"} <= copying
    assert compared_fields(ElectionState.CLOSED) == compared_fields(ElectionState.FOLLOWER_BALLOT)
    assert {name for name in everything if name.startswith("members[1]")} <= compared_fields(
        ElectionState.CANVASS
    )


def test_positions_of_members_are_compared_for_a_closed_leader() -> None:
    leader = compared_fields(ElectionState.CLOSED, Role.LEADER)
    follower = compared_fields(ElectionState.CLOSED)

    assert leader - follower == {
        f"members[{j}].{name}" for j in range(3) for name in ("leadership_term_id", "log_position")
    }


def test_only_the_disk_is_compared_for_a_terminated_member() -> None:
    assert compared_fields(ElectionState.CLOSED, closed=1) == {
        "module_state", "persisted_candidate_term_id", "recorded_position", RECORDING_LOG,
        "snapshot_leadership_term_id", "snapshot_term_base_log_position", "snapshot_log_position",
    }  # fmt: skip


def row_of_message(sent: CommitPosition) -> list[int]:
    """A message without peer and id."""
    code, _, _, *fields = message_rows([(sent, -1, "")])[0].tolist()
    return [code, *fields]


def sends_row(*sends: tuple[int, CommitPosition]) -> Cells:
    row = np.full((1, LAYOUT.sends_width), -1, dtype=np.int32)
    cells = [cell for to, sent in sends for cell in (to, *row_of_message(sent))]
    row[0, : 1 + len(cells)] = [len(sends), *cells]
    return row


def test_sends_to_different_members_have_no_order() -> None:
    first, second = CommitPosition(1, 2, 0), CommitPosition(1, 3, 0)
    rounds = sends_row((1, first), (2, first), (1, second), (2, second))
    by_member = sends_row((1, first), (1, second), (2, first), (2, second))
    swapped = sends_row((1, second), (1, first), (2, first), (2, second))

    assert not sends_differ(LAYOUT, rounds, by_member)[0]
    assert sends_differ(LAYOUT, rounds, swapped)[0]
    assert sends_differ(LAYOUT, rounds, sends_row((1, first), (2, first)))[0]


def request_of(action: Action, **fields: int) -> Cells:
    row = np.zeros((1, LAYOUT.request_width), dtype=np.int32)
    row[0, 0] = ACTIONS.index(action)
    row[0, LAYOUT.state :] = row_of(**{"module_state": 0, **fields})[0]
    return row


def test_every_action_but_the_archives_own_is_driven() -> None:
    for action in ACTIONS:
        found = class_of(Requests(LAYOUT, request_of(action)), OBSTACLES)[0]

        assert (found == -1) == (action is not Action.RECORD_LOG), action


def test_only_a_restart_is_driven_without_a_process() -> None:
    for action in ACTIONS:
        requests = Requests(LAYOUT, request_of(action, module_state=1))

        assert (class_of(requests, OBSTACLES)[0] == -1) == (action is Action.RESTART)


def test_the_layout_names_every_field_of_the_table_once() -> None:
    lines = LAYOUT.text().splitlines()
    fields = [line.split() for line in lines if line.startswith("field ")]
    rows = [line.split() for line in FIELDS_FILE.read_text().splitlines() if line[:1] != "#"]

    assert [row[1:] for row in fields] == [row for row in rows if row]
    assert all(len(row) == 6 for row in fields)
    assert len({row[1] for row in fields}) == len(fields)
    assert f"members {LAYOUT.member_count}" in lines


def test_hidden_state_has_the_bits_of_the_driver() -> None:
    source = (FIELDS_FILE.parent / "io/aeron/cluster/Hidden.java").read_text()

    assert source.count("static final int") == len(HIDDEN)
    assert f"1 << {len(HIDDEN) - 1};" in source
    assert names_of(0b101) == [HIDDEN[0], HIDDEN[2]]
    assert masks(1000, 7).tolist() == masks(1000, 7).tolist()
    assert masks(1000, 7).min() > 0
    assert masks(1000, 7).max() < 1 << len(HIDDEN)


def test_each_reviewed_difference_has_a_name_and_a_reason() -> None:
    for classes in KNOWN.values():
        assert len({known.name for known in classes}) == len(classes)
        assert all(known.reason.endswith(".") for known in classes)


def test_a_message_is_shown_with_the_names_of_the_schema() -> None:
    shown = message_of(row_of_message(CommitPosition(1, 2, 0)))

    assert shown == "CommitPosition(leadershipTermId 1, logPosition 2, leaderMemberId 0)"

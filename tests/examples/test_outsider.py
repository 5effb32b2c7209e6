"""An outsider's implementation is recorded through the plugin's port, and checked.

`docs/guide/pytest.md` explains this example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.outsider.adapter import watcher
from examples.outsider.ledger import HastyClerk, Office

if TYPE_CHECKING:
    from canvass.pytest_plugin.recording import Recorder

pytestmark = pytest.mark.tlc


@pytest.mark.parametrize("chief", [0, 1, 2])
def test_three_clerks_keep_one_ledger(
    canvass_recorder: Recorder, canvass_seed: int, chief: int
) -> None:
    recording = canvass_recorder(members=3, revision="1.50", appointed_leader_id=chief)

    Office(canvass_seed, watcher(recording.member), chief=chief).run(entries=12)


def test_a_clerk_that_settles_what_one_copy_holds_is_caught(
    canvass_recorder: Recorder, canvass_seed: int
) -> None:
    recording = canvass_recorder(members=3, revision="1.50", appointed_leader_id=0)

    Office(canvass_seed, watcher(recording.member), kind=HastyClerk).run(entries=12)

    found = recording.check(expect="DIVERGES").result.divergences
    assert found[0].name == "UpdateLeaderPosition"
    assert "CommittedIsDurable" in {each.name for each in found}

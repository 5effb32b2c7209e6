"""A short history of a whole member: every disk that a crash at any write boundary may leave.

The member is alone, so what it has answered is committed. After a restart on any of the disks
everything that was answered has to count, once, in each of its two services, and the
member goes on.
"""

from __future__ import annotations

from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.node.module_state import ControlToggle
from canvass.services.service import Counter
from canvass.transport.messages import Egress
from support.alone import Alone

SMALL_SEGMENT = 512
IMAGES = 16
"""The content of each folder at each boundary."""
REQUESTS = 7


def member(storage: MemoryStorage, sent: list[Egress] | None = None) -> Alone:
    return Alone(storage, SMALL_SEGMENT, sent, services=(Counter(), Counter()))


def history(storage: MemoryStorage, sent: list[Egress]) -> None:
    """Requests in two lives, two snapshots, and a segment after the other."""
    alone = member(storage, sent)
    session = alone.connect()
    for number in (1, 2, 3):
        alone.add(session, number)
    alone.toggle(ControlToggle.SNAPSHOT)
    alone.add(session, 4)
    alone = member(storage, sent)
    session = alone.connect()
    for number in (5, 6):
        alone.add(session, number)
    alone.toggle(ControlToggle.SNAPSHOT)
    alone.add(session, REQUESTS)


def run_until(boundary: int) -> tuple[MemoryStorage, int, bool]:
    """Run the history until the power fails; the disk, what was answered, and whether it failed."""
    storage, sent = MemoryStorage(), list[Egress]()
    storage.fail_before = boundary
    failed = False
    try:
        history(storage, sent)
    except PowerFailure:
        failed = True
    result = Alone(MemoryStorage(), sent=sent).answered()
    return storage, result, failed


def test_every_crash_image_of_a_member_has_its_answered_requests_and_continues() -> None:
    boundary = images = 0
    while True:
        storage, answered, failed = run_until(boundary)
        for image in storage.images(IMAGES):
            alone = member(image)
            alone.work()
            found, other = (int(one.snapshot()) for one in alone.services)
            assert found == other, boundary
            assert answered <= found <= min(answered + 1, REQUESTS), boundary
            alone.add(alone.connect(), found + 1)
            assert alone.answered() == found + 1, boundary
            images += 1
        if not failed:
            break
        boundary += 1

    assert answered == REQUESTS
    assert boundary > 60
    assert images > 300

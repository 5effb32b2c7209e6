"""Causality of one run: every message received was sent, every log byte recorded was written.

There is no global clock. Causes follow from the order of each member's own steps, from messages,
and from which member recorded whose log. Many orders of all steps respect these causes. The order
chosen here depends only on the events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.run_arrays import REPLACED, RESTART, RunArrays, row_kind, rows_before
from canvass.steps.compiled_loops import kernel
from canvass.traces.columns import Ints
from canvass.traces.schema import ACTION_NAMES, ID_BITS, STATE_ENUMS

SOUND: Final = 0
NOT_SENT: Final = 1
"""No step of the sender sends a message with that id."""
OTHER_RECEIVER: Final = 2
OTHER_CONTENT: Final = 3
RECEIVED_TWICE: Final = 4
OVERTAKEN: Final = 5
"""A later message of the same process of the sender was received before it."""
SENT_TWICE: Final = 6
"""A message has the id of one that was sent before."""
CYCLE: Final = 7
"""The step comes before itself in the order of causes."""
NOT_WRITTEN: Final = 8
"""The leader whose log is recorded has never written that far."""
NO_LEADER: Final = 9
"""The member whose log is recorded has not led that term."""
UNSEEN: Final = 10
"""No send was found, but the stream of the sender is not complete."""
NOT_GRANTED: Final = 11
"""The leader has not begun to replay its log to the member in that term."""
NOT_REACHED: Final = 12
"""The leader has not written up to the position at which the member joins its live log."""
NOT_LED: Final = 13
"""The member whose log is joined has not led that term."""

JOINING_PROBLEMS: Final = {
    NOT_GRANTED: "joins a catch-up that the leader has not granted in that term",
    NOT_REACHED: "joins the live log beyond what its leader has written in that term",
    NOT_LED: "joins the log of a member that has not led that term",
}
"""The text of each problem of a step that joins a log."""

_CATCHUP: Final = ACTION_NAMES.index("FollowerCatchupAwait")
_LIVE_LOG: Final = ACTION_NAMES.index("FollowerLogAwait")


_NOBODY: Final = -2
"""In place of a leadership: the followed member has not led the followed term."""
_NO_SOURCE: Final = -1
"""In place of a leadership: the step records nothing, or the leadership is not known."""


def code(column: str, name: str) -> int:
    """Give the code of an enum's value in a state column."""
    return STATE_ENUMS[column].index(name)


LEADER: Final = code("role", "LEADER")
CLOSED: Final = code("election_state", "CLOSED")
_BECOMES_LEADER: Final = code("election_state", "LEADER_LOG_REPLICATION")
_REPLAYS: Final = code("election_state", "FOLLOWER_REPLAY")

PROBLEMS: Final = {
    NOT_SENT: "no step of member {sender} sends message {id}",
    OTHER_RECEIVER: "message {id} was sent to another member",
    OTHER_CONTENT: "message {id} was sent with other contents",
    RECEIVED_TWICE: "message {id} is received a second time",
    OVERTAKEN: (
        "message {id} is received after a later one of the same process of member {sender}"
    ),
    SENT_TWICE: "message {id} is sent a second time; step {step} of member {sender} sent it",
    CYCLE: "the step depends on itself, through messages or recorded log bytes",
    NOT_WRITTEN: "records the log beyond what its leader has written in that term",
    NO_LEADER: "records the log of a member that has not led that term",
    **JOINING_PROBLEMS,
}
"""The text of each problem, by the number that the kernel gives a row."""


@dataclass(frozen=True, slots=True)
class Leaderships:
    """The leaderships of a run in the order of their first rows: who led which term."""

    row: Ints
    end: Ints
    """The row after the last one."""
    member: Ints
    term: Ints
    base: Ints
    """Above this position the leader's log belongs to its own term."""


@dataclass(frozen=True, slots=True)
class Order:
    """The causes of one run's steps."""

    starts: Ints
    """The first row of each member, and the number of rows."""
    before: Ints
    """The previous row in the same stream. It is -1 if the member starts with nothing on disk, -2
    if the previous step is not known, and ``REPLACED`` if the disk was replaced.
    """
    order: Ints
    """Rows in an order of causes. Rows of a cycle, and rows after them, are left out."""
    found: NDArray[np.int8]
    """For each row a number of ``PROBLEMS``, or 0."""
    leaderships: Leaderships
    source: Ints
    """For each row the leadership that it records from, negative if none."""

    @property
    def rank(self) -> Ints:
        """For each row its place in the order; rows that are not in the order come last."""
        rank = np.full(len(self.before), len(self.before), self.before.dtype)
        rank[self.order] = np.arange(len(self.order), dtype=rank.dtype)
        return rank


def find_leaderships(arrays: RunArrays, before: Ints) -> Leaderships:
    """Find the leaderships of a run."""
    state = arrays.election_state
    term = arrays.leadership_term_id
    module_term = arrays.module_leadership_term_id
    publication = arrays.publication_position
    role = arrays.role
    leads = (role == LEADER) & (publication >= 0)
    previous = np.maximum(before, 0)
    stays = (before >= 0) & (state[previous] == _BECOMES_LEADER) & (term[previous] == term)
    begins = leads & (state == _BECOMES_LEADER) & ~stays
    joins = leads & (before == -2) & ~begins
    rows = np.flatnonzero(begins | joins)
    joined = joins[rows]
    led = np.where(state[rows] == CLOSED, module_term[rows], term[rows])
    # A leader that leads the same term after missing steps continues its leadership.
    continues = np.zeros(len(rows), dtype=np.bool_)
    continues[1:] = (
        joined[1:] & (arrays.member[rows[1:]] == arrays.member[rows[:-1]]) & (led[1:] == led[:-1])
    )
    rows, joined, led = rows[~continues], joined[~continues], led[~continues]
    begin = np.where(joined, publication[rows], arrays.append_position[rows])
    return Leaderships(
        row=rows,
        end=_ends(leads, rows),
        member=arrays.member[rows],
        term=led.astype(np.int64),
        base=begin.astype(np.int64),
    )


def _ends(leads: NDArray[np.bool_], rows: Ints) -> Ints:
    """Give for each leadership the row after its last one, at the latest where the next begins."""
    ends = np.append(rows, len(leads))[1:]
    for number, (row, end) in enumerate(zip(rows.tolist(), ends.tolist(), strict=False)):
        stops = np.flatnonzero(~leads[row:end])
        if len(stops):
            ends[number] = row + stops[0]
    return ends


def _sources(
    arrays: RunArrays, before: Ints, leaderships: Leaderships, complete: NDArray[np.bool_]
) -> Ints:
    """Find the leadership from whose log each row records."""
    recorded = arrays.recorded_position
    role = arrays.role
    source = np.full(len(arrays), _NO_SOURCE, before.dtype)
    followed = _Followed(arrays, leaderships, complete)
    previous = np.maximum(before, 0)
    # Without a row before, the position before is 0.
    higher = recorded > np.where(before >= 0, recorded[previous], 0)
    grows = np.flatnonzero((before >= -1) & higher)
    was = previous[grows]
    own = (role[was] == LEADER) & (before[grows] >= 0)
    if len(leaderships.row):
        latest = np.maximum(np.searchsorted(leaderships.row, grows, side="right") - 1, 0)
        holds = (leaderships.row[latest] <= grows) & (grows <= leaderships.end[latest])
        holds &= leaderships.member[latest] == arrays.member[grows]
        source[grows] = np.where(holds, latest, _NO_SOURCE)
    source[grows[~own]] = followed.after(was[~own])
    return source


class _Followed:
    """Finds the leadership that a member follows in the state after a step.

    Parameters
    ----------
    arrays, leaderships
        Of one run.
    complete
        For each member whether all its leaderships are known.
    """

    def __init__(
        self, arrays: RunArrays, leaderships: Leaderships, complete: NDArray[np.bool_]
    ) -> None:
        self._state = arrays.election_state
        self._module_term = arrays.module_leadership_term_id
        self._term = arrays.leadership_term_id
        self._leader = arrays.leader_member_id
        self._complete = complete
        led = list(zip(leaderships.member.tolist(), leaderships.term.tolist(), strict=True))
        # With another disk a member may lead a term again.
        times = Counter(led)
        self._known = {one: n if times[one] == 1 else _NO_SOURCE for n, one in enumerate(led)}

    def after(self, rows: Ints) -> Ints:
        """Give the leadership followed after each of some rows."""
        closed = self._state[rows] == CLOSED
        followed = np.where(closed, self._module_term[rows], self._term[rows])
        leader = self._leader[rows]
        # A member seldom changes its leader, so only the changes are sorted.
        changes = np.ones(len(rows), dtype=np.bool_)
        changes[1:] = (leader[1:] != leader[:-1]) | (followed[1:] != followed[:-1])
        distinct = np.stack([leader[changes], followed[changes]])
        pairs, inverse = np.unique(distinct, axis=1, return_inverse=True)
        found = []
        for j, term in pairs.T.tolist():
            seen = not 0 <= j < len(self._complete) or bool(self._complete[j])
            found.append(self._known.get((j, term), _NOBODY if seen else _NO_SOURCE))
        of_changes: Ints = np.array(found, dtype=np.int64)[inverse.reshape(-1)]
        found_of: Ints = of_changes[np.cumsum(changes) - 1]
        return found_of


def _commits(arrays: RunArrays, before: Ints) -> NDArray[np.bool_]:
    """Mark the steps that raise the commit position of a leader, or of a member in replay, and the
    starts with another disk.

    Other members follow the commit position that a leader announces.
    """
    position = arrays.commit_position
    role, state = arrays.role, arrays.election_state
    raised: NDArray[np.bool_] = (before >= 0) & (position > position[np.maximum(before, 0)])
    raised &= (role == LEADER) | (state == _REPLAYS)
    raised |= before == REPLACED
    return raised


def truncated_members(arrays: RunArrays, member_count: int, unsent: int = -1) -> list[int]:
    """Give the members whose streams are truncated: others received later messages of theirs.

    Message numbers rise along a stream, and a step is recorded before its messages leave. So a
    received number beyond the last recorded one shows that the end of the stream is missing.
    Messages that no member sent have the number ``unsent``, which shows nothing.
    """
    last = (np.arange(member_count, dtype=np.int64) << ID_BITS) + unsent
    np.maximum.at(last, np.repeat(arrays.member, arrays.sends_of), arrays.send_id)
    received, peer = arrays.received_id, arrays.received_from
    known = (received >= 0) & (peer >= 0) & (peer < member_count)
    identity, sender = received[known], peer[known]
    cut: list[int] = np.unique(sender[identity > last[sender]]).tolist()
    return cut


def order_causes(
    arrays: RunArrays,
    member_count: int,
    *,
    empty: bool,
    complete: Sequence[bool],
    replaced: Sequence[tuple[int, int]] = (),
) -> Order:
    """Find the causes of the steps of one run, and the steps that break causality.

    A step needs a cause if it receives a message, records bytes of another member's log or joins a
    log. A step that sends a message id a second time is wrong, too.

    Parameters
    ----------
    arrays
        All events of the run.
    empty
        Whether all members start with nothing on disk.
    complete
        For each member whether no step of it is missing.
    replaced
        Member and step of each start at which a member found another disk than it had left.
    """
    whole = np.array(complete, dtype=np.bool_)
    before = rows_before(arrays, empty=empty, replaced=replaced)
    causes = _Causes(arrays, before, whole)
    send_row = np.repeat(np.arange(len(before), dtype=row_kind(len(before))), arrays.sends_of)
    send_of = causes.of_receipts(send_row)
    source = _sources(arrays, before, causes.leaderships, whole)
    causes.of_records(source)
    # If a run began before its recording, earlier grants and writes are not known.
    causes.of_joins(whole & empty)
    member, found = arrays.member, causes.found
    starts = np.searchsorted(member, np.arange(member_count + 1, dtype=member.dtype))
    starts = starts.astype(np.int64)
    order = np.zeros(len(member), before.dtype)
    ordered = order_steps(
        *(member, starts, send_of, send_row),
        *(causes.cause, _commits(arrays, before), found, order),
    )
    found[found == UNSEEN] = SOUND
    return Order(
        starts=starts,
        before=before,
        order=order[:ordered],
        found=found,
        leaderships=causes.leaderships,
        source=source,
    )


class _Causes:
    """Finds the causes of the rows of a run, one kind after another.

    Parameters
    ----------
    arrays, before
        All events of the run, and the row before each one in its stream.
    whole
        For each member whether all its steps are recorded.

    Attributes
    ----------
    found, cause
        For each row a problem or 0, and another row that must come before, or -1. A row keeps its
        first problem or cause.
    """

    def __init__(self, arrays: RunArrays, before: Ints, whole: NDArray[np.bool_]) -> None:
        self._arrays, self._before, self._complete = arrays, before, whole
        self.leaderships = find_leaderships(arrays, before)
        self.found = np.zeros(len(before), np.int8)
        self.cause = np.full(len(before), -1, before.dtype)

    def of_receipts(self, send_row: Ints) -> Ints:
        """Match receipts with sends, whose rows are given.

        Returns for each row the send of the message that it receives, -1 if there is none, or -2
        for a row without a receipt.
        """
        arrays = self._arrays
        ids = arrays.send_id
        rises = bool((ids[1:] >= ids[:-1]).all())
        by_id = None if rises else np.argsort(ids, kind="stable")
        if by_id is not None:
            ids = ids[by_id]
        twice = np.flatnonzero(ids[1:] == ids[:-1]) + 1
        if by_id is not None:
            twice = by_id[twice]
        received = arrays.received_id
        at = np.searchsorted(ids, received)
        sent = at < len(ids)
        sent[sent] = ids[at[sent]] == received[sent]
        kind = row_kind(max(len(received), len(ids)))
        send_of = np.where(received < 0, -2, np.where(sent, at, -1)).astype(kind)
        if by_id is not None:
            sent = send_of >= 0
            send_of[sent] = by_id[send_of[sent]]
        # After missing steps the process may be another one.
        processes = np.flatnonzero((arrays.action == RESTART) | (self._before < 0))
        match_receipts(
            *(arrays.member, arrays.received_from, arrays.received_hash),
            *(arrays.send_to, arrays.send_hash, send_row),
            *(processes, self._complete, send_of, self.found),
        )
        # A receipt of this id may be of either message.
        self.found[send_row[twice]] = SENT_TWICE
        return send_of

    def of_records(self, source: Ints) -> None:
        """Find for each row that records another member's log the step that wrote the bytes.

        ``source`` has the leadership from whose log each row records.
        """
        arrays, led, before, found = self._arrays, self.leaderships, self._before, self.found
        sound = found == SOUND
        found[(source == _NOBODY) & sound] = NO_LEADER
        rows = np.flatnonzero((source >= 0) & sound)
        rows = rows[arrays.member[led.row[source[rows]]] != arrays.member[rows]]
        rows = rows[np.argsort(source[rows], kind="stable")]
        for own in np.split(rows, np.flatnonzero(np.diff(source[rows])) + 1) if len(rows) else ():
            e = int(source[own[0]])
            written = arrays.publication_position[led.row[e] : led.end[e]]
            at = np.searchsorted(written, arrays.recorded_position[own])
            reached = at < len(written)
            causes = led.row[e] + at[reached]
            # After missing steps the time of the write is not known.
            self.cause[own[reached]] = np.where(before[causes] >= -1, causes, -1)
            if self._complete[led.member[e]]:
                found[own[~reached]] = NOT_WRITTEN

    def of_joins(self, knows: NDArray[np.bool_]) -> None:
        """Find the steps that permit rows to join a log.

        ``knows`` tells for each member whether all its steps since the start are recorded. If they
        are not, joining that member's log is never a problem.
        """
        arrays, led, before, found = self._arrays, self.leaderships, self._before, self.found
        action, member = arrays.action, arrays.member
        joins = (action == _CATCHUP) | (action == _LIVE_LOG)
        rows = np.flatnonzero(joins & (before >= 0) & (found == 0) & (self.cause < 0))
        followed = _Followed(arrays, led, knows).after(before[rows])
        found[rows[followed == _NOBODY]] = NOT_LED
        rows, followed = rows[followed >= 0], followed[followed >= 0]
        commits = arrays.commit_position[before[rows]].tolist()
        for row, leadership, commit in zip(rows.tolist(), followed.tolist(), commits, strict=True):
            low, high = int(led.row[leadership]), int(led.end[leadership])
            if action[row] == _CATCHUP:
                granted = arrays.replays[low:high] >> member[row] & 1
                place = int(np.argmax(granted))
                at = low + place if granted[place] else high
                # A grant may also have come and gone among missing steps.
                problem, seen = NOT_GRANTED, before[low : at + 1]
            else:
                written = arrays.publication_position[low:high]
                at = low + int(np.searchsorted(written, commit))
                problem, seen = NOT_REACHED, before[at : at + 1]
            if at < high:
                # After missing steps the first row that shows a position or a grant need not be
                # the cause.
                self.cause[row] = at if (seen >= -1).all() else -1
            elif knows[member[low]]:
                found[row] = problem


# --- compiled: one run, whose rows are in the order member, step ----------------------------------


@kernel("member")
def match_receipts(
    member: Any,
    sender: Any,
    received_content: Any,
    receiver: Any,
    content: Any,
    send_row: Any,
    processes: Any,
    complete: Any,
    send_of: Any,
    found: Any,
) -> None:
    """Write to ``found`` the problem of each receipt, or ``SOUND``.

    ``send_of`` has the place of the send of each receipt: -1 if there is none, -2 for a row without
    a receipt. ``processes`` has the first row of each process. The messages of one process are
    received in the order in which they were sent.
    """
    taken = np.zeros(len(receiver), np.bool_)
    last = np.full(len(processes) + 1, -1, np.int64)
    for row in range(len(member)):
        found[row] = SOUND
        if row and member[row] != member[row - 1]:
            last[:] = -1
        send = send_of[row]
        if send < 0:
            if send == -1:
                known = sender[row] < 0 or sender[row] >= len(complete) or complete[sender[row]]
                found[row] = NOT_SENT if known else UNSEEN
            continue
        origin = np.searchsorted(processes, send_row[send], side="right")
        if receiver[send] != member[row]:
            found[row] = OTHER_RECEIVER
        elif content[send] != received_content[row]:
            found[row] = OTHER_CONTENT
        elif taken[send]:
            found[row] = RECEIVED_TWICE
        elif send < last[origin]:
            found[row] = OVERTAKEN
        else:
            taken[send] = True
            last[origin] = send


@kernel("member")
def order_steps(
    member: Any,
    starts: Any,
    send_of: Any,
    send_row: Any,
    cause: Any,
    commits: Any,
    found: Any,
    order: Any,
) -> int:
    """Order the steps: each after its member's previous step and after its causes.

    Its causes are the send of the message that it receives, and the step that wrote the bytes that
    it records, or that let it join a log.

    Members are taken in turn, each as far as it can go. A step that commits, or that finds another
    disk (``commits``), waits until no other step is possible. So when an entry is committed in this
    order, it is on as many disks as the causes allow.

    ``order`` gets the rows. Returns the number of rows ordered: steps of a cycle, and steps after
    them, are left out.
    """
    members = len(starts) - 1
    at = starts[:-1].copy()
    """The next row of each member; all rows before it are ordered."""
    filled = 0
    moved = True
    waiting = False
    while moved or waiting:
        # If no other step is possible, the next one is one of the waiting steps.
        hurry = not moved
        moved = waiting = False
        for m in range(members):
            while at[m] < starts[m + 1]:
                row = at[m]
                send = send_of[row] if found[row] == SOUND else -1
                origin = send_row[send] if send >= 0 else -1
                if origin >= 0 and origin >= at[member[origin]]:
                    break
                if cause[row] >= 0 and cause[row] >= at[member[cause[row]]]:
                    break
                if commits[row] and not hurry:
                    waiting = True
                    break
                hurry = False
                order[filled] = row
                filled += 1
                at[m] += 1
                moved = True
    for m in range(members):
        if at[m] < starts[m + 1]:
            found[at[m]] = CYCLE
    return filled


def sent_twice(arrays: RunArrays, row: int) -> tuple[int, int]:
    """Give the first id of a row's sends that was sent before, and the row that sent it first."""
    ends = np.cumsum(arrays.sends_of[: row + 1], dtype=np.int64)
    ids = arrays.send_id[: ends[-1]]
    firsts = (
        (at, int(np.argmax(ids == ids[at]))) for at in range(ends[-1])[-arrays.sends_of[row] :]
    )
    first = next(first for at, first in firsts if first < at)
    return int(ids[first]), int(np.searchsorted(ends, first, side="right"))

"""A Parquet data set of events: a folder of files ``events-<members>-<number>.parquet``.

Each file has whole runs of one member count. The rows are in the order of runs, members and steps.
A stream may continue in the next row group. The file's metadata have ``run.json`` and the facts of
each run, so that a file can be checked alone. The columns are those of `canvass.traces.arrow`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES, Vote
from canvass.traces.arrow import (
    ColumnError,
    arrow_schema,
    conformed,
    from_table,
    member_count_of,
    sources_of,
)
from canvass.traces.arrow import to_table as columns_to_table
from canvass.traces.columns import EventColumns, Ints, from_events
from canvass.traces.errors import Code, TraceError
from canvass.traces.layout import (
    ACTION_MESSAGE_CODES,
    ID_BITS,
    INPUT_INDEX,
    MESSAGE_COLUMNS,
    MESSAGE_FIELDS,
    MESSAGE_INDEX,
    NONE,
)
from canvass.traces.limits import (
    MAX_ID_DIGITS,
    MAX_MEMBERS,
    MAX_METADATA_BYTES,
    MAX_ROW_GROUP_BYTES,
    MAX_ROW_GROUP_EVENTS,
    MAX_RUNS,
)
from canvass.traces.ndjson import MAX_GAPS, decode_document
from canvass.traces.schema import Event, Fact, FactKind, Run, Source, encode
from canvass.traces.streams import open_regular

_ABSENT: Final = np.array(
    [
        [False] * 3 + [name not in message.__struct_fields__ for name in MESSAGE_FIELDS]
        for message in MESSAGE_TYPES
    ]
    + [[False] + [True] * (len(MESSAGE_COLUMNS) - 1)]
)
"""The columns that have -1, by message type; the last row is for no message."""
_VOTE: Final = MESSAGE_TYPES.index(Vote)
_ID_LIMIT: Final = 10**MAX_ID_DIGITS
_ID_NUMBER: Final = (1 << ID_BITS) - 1


def column_problems(columns: EventColumns) -> dict[int, tuple[int, str]]:
    """Find rows that a strict reader of lines would refuse.

    Returns
    -------
    dict
        For each run with such rows, by its number: the first of them, and the reason.

    Notes
    -----
    The members of a run must ascend, and the steps of a member. Gaps are allowed.
    """
    found: list[tuple[int, str]] = []

    def refuse(bad: NDArray[np.bool_], reason: str) -> None:
        if bad.any():
            _, first = np.unique(columns.run[bad], return_index=True)
            rows = np.flatnonzero(bad)[first]
            found.extend((row, reason) for row in rows.tolist() if row >= columns.context)

    member, step = columns.member, columns.step
    refuse((member < 0) | (member >= columns.member_count), "no such member")
    refuse(step < 0, "step is negative")
    same = columns.run[1:] == columns.run[:-1]
    stays = same & (member[1:] == member[:-1])
    refuse(np.append(False, same & (member[1:] < member[:-1])), StreamOrder.NOT_KEPT)
    refuse(
        np.append(False, stays & (step[1:] == step[:-1])),
        "a step is there twice, or several runs have the id",
    )
    refuse(np.append(False, stays & (step[1:] < step[:-1])), "steps do not ascend")
    for name in ("active", "accepted"):
        mask = columns.inputs[:, INPUT_INDEX[name]]
        refuse(
            (mask < 0) | (mask >> columns.member_count != 0), f"input.{name} is no set of members"
        )
    received = columns.message
    expected = np.array(ACTION_MESSAGE_CODES, dtype=np.int64)[columns.action]
    refuse(received[:, 0] != expected, "the action does not consume this message")
    has = received[:, 0] != NONE
    refuse(has & _bad_message(received), "a message with fields out of range")
    refuse(~has & (received != NONE).any(axis=1), "fields of a message, and there is none")
    refuse(
        has & (message_id_senders(received) != received[:, MESSAGE_INDEX["peer"]]),
        "input.id is not the id of a send by the member input.from",
    )
    counts = np.diff(columns.send_offsets)
    row_of = np.repeat(np.arange(len(columns)), counts)
    sends = columns.sends
    bad = _bad_message(sends) | (message_id_senders(sends) != member[row_of])
    refuse(_any_of(bad, row_of, len(columns)), "a send with fields out of range")
    firsts: dict[int, tuple[int, str]] = {}
    for row, reason in sorted(found, key=lambda problem: problem[0]):
        firsts.setdefault(int(columns.run[row]), (row, reason))
    return firsts


def message_id_senders(messages: Ints) -> Ints:
    """Return the senders in the ids of messages."""
    senders: Ints = messages[:, MESSAGE_INDEX["id"]] >> ID_BITS
    return senders


def streams_of_rows(columns: EventColumns) -> list[tuple[str, int]]:
    """Return run and member of each stream in a batch, in the order of rows, without context."""
    run, member = columns.run[columns.context :], columns.member[columns.context :]
    begins = np.flatnonzero(np.diff(run, prepend=NONE) | np.diff(member, prepend=NONE))
    return [(columns.runs[run[row]], int(member[row])) for row in begins.tolist()]


class StreamOrder:
    """Checks that the streams of a file are in the order of runs and members."""

    NOT_KEPT: Final = "the rows are not in the order of run, member and step"

    def __init__(self) -> None:
        self.runs: dict[str, None] = {}
        """The runs so far, in their order."""
        self._last = ("", NONE)

    def keeps(self, streams: Iterable[tuple[str, int]]) -> bool:
        """Add the streams of the next rows; the first may continue the last one before.

        Returns
        -------
        bool
            Whether all streams so far are in order.
        """
        for run_id, member in streams:
            last_run, last_member = self._last
            if member < last_member if run_id == last_run else run_id in self.runs:
                return False
            self.runs[run_id] = None
            self._last = run_id, member
        return True


def _any_of(bad: NDArray[np.bool_], row_of: Ints, rows: int) -> NDArray[np.bool_]:
    marked = np.zeros(rows, dtype=np.bool_)
    marked[row_of[bad]] = True
    return marked


def _bad_message(messages: Ints) -> NDArray[np.bool_]:
    """Return which messages a strict reader of lines would refuse."""
    kind, peer, ids = messages[:, 0], messages[:, 1], messages[:, 2]
    vote = messages[:, MESSAGE_INDEX["vote"]]
    bad: NDArray[np.bool_] = (
        (peer < 0)
        | (peer >= MAX_MEMBERS)
        | (ids < 0)
        | ((ids & _ID_NUMBER) >= _ID_LIMIT)
        | ((kind == _VOTE) & ((vote < 0) | (vote > 1)))
        | ((messages != NONE) & _ABSENT[kind]).any(axis=1)
    )
    return bad


EVENTS_PER_FILE: Final = 1 << 20
"""A file ends with the run that reaches this number of events."""
EVENTS_PER_ROW_GROUP: Final = 1 << 16
"""Readers decode a whole row group: about 80 MB for three members."""
RUNS_KEY: Final = b"canvass.runs"


class RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata of one run in a file."""

    run: Run
    facts: tuple[Fact, ...] = ()


_NO_RUNS: Final = (
    "the metadata do not tell the runs, as another tool has written the file{}: verify its rows"
    " with canvass.corpus.frame, or give the file its metadata canvass.runs again"
)
_ENTRIES: Final = msgspec.json.Decoder(tuple[RunEntry, ...])


def entries_of(data: bytes, name: str) -> dict[str, RunEntry]:
    """Decode the metadata of the runs of a file, or of a table.

    Raises
    ------
    TraceError
        If they are no such metadata, name no run, or a run twice; it calls them ``name``.
    """
    entries = decode_document(_ENTRIES, data, name, 0)
    found = {entry.run.run_id: entry for entry in entries}
    if len(found) != len(entries):
        raise TraceError(Code.AMBIGUOUS, name, 0, 0, "a run twice")
    if not found:
        reason = "the metadata name no run: nothing can be checked"
        raise TraceError(Code.BAD_SCHEMA, name, 0, 0, reason)
    return found


class _OpenFile:
    """A file that is being written."""

    def __init__(self, path: Path, member_count: int, row_group: int) -> None:
        self._row_group = row_group
        self._schema = arrow_schema(member_count)
        self._writer = pq.ParquetWriter(
            path, self._schema, compression="zstd", write_page_checksum=True
        )
        self._tables: list[Any] = []
        self._rows = 0
        self.events = 0
        self.entries: list[RunEntry] = []

    def add(self, table: Any) -> None:
        self._tables.append(table)
        self._rows += table.num_rows
        self.events += table.num_rows
        if self._rows >= self._row_group:
            self._write(everything=False)

    def _write(self, *, everything: bool) -> None:
        table = pa.concat_tables(self._tables).unify_dictionaries()
        whole = self._rows if everything else self._rows - self._rows % self._row_group
        self._writer.write_table(table.slice(0, whole), row_group_size=self._row_group)
        self._tables = [table.slice(whole)]
        self._rows -= whole

    def close(self) -> None:
        if self._rows:
            self._write(everything=True)
        self._writer.add_key_value_metadata({RUNS_KEY: encode(self.entries)})
        self._writer.close()


class DatasetWriter:
    """Writes runs to a new data set.

    Parameters
    ----------
    root
        The folder; it is made if it does not exist, and must have no Parquet files.

    Notes
    -----
    For each run call `begin`, then `add` for each member in step order, then `end`.
    """

    def __init__(
        self,
        root: Path,
        *,
        events_per_file: int = EVENTS_PER_FILE,
        events_per_row_group: int = EVENTS_PER_ROW_GROUP,
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.glob("*.parquet")):
            raise FileExistsError(f"{root} holds a data set already")
        self._root = root
        self._events_per_file = events_per_file
        self._row_group = min(events_per_row_group, MAX_ROW_GROUP_EVENTS)
        self._open: dict[int, _OpenFile] = {}
        self._numbers: dict[int, int] = {}
        self._run: Run | None = None

    def begin(self, run: Run) -> None:
        """Begin a run."""
        if self._run is not None:
            raise ValueError("the run before has not ended")
        self._run = run
        count = run.member_count
        if count not in self._open:
            number = self._numbers.setdefault(count, 0)
            path = self._root / f"events-{count}-{number:05d}.parquet"
            self._numbers[count] += 1
            self._open[count] = _OpenFile(path, count, self._row_group)

    def add(self, member_id: int, events: Sequence[Event]) -> None:
        """Write the next events of a member of the run."""
        if self._run is None:
            raise ValueError("no run was begun")
        if events:
            columns = from_events(self._run.run_id, member_id, events)
            self.add_columns(columns, [event.source for event in events])

    def add_columns(
        self, columns: EventColumns, sources: Sequence[Source | None] | None = None
    ) -> None:
        """Write the next events of a member of the run, without the context row.

        Parameters
        ----------
        columns
            The events.
        sources
            The source of each event without the context row; None if no event has a source.
        """
        if self._run is None:
            raise ValueError("no run was begun")
        if columns.member_count != self._run.member_count or columns.runs != (self._run.run_id,):
            raise ValueError(
                f"events of the run {self._run.run_id} with its {self._run.member_count} members "
                "are due"
            )
        given = None if sources is None else [*[None] * columns.context, *sources]
        table = columns_to_table(columns, given).slice(columns.context)
        self._open[self._run.member_count].add(table)

    def end(self, facts: Iterable[Fact] = ()) -> None:
        """End the run, with the facts of what is missing from it."""
        if self._run is None:
            raise ValueError("no run was begun")
        run, self._run = self._run, None
        file = self._open[run.member_count]
        file.entries.append(RunEntry(run, tuple(facts)))
        if file.events >= self._events_per_file:
            self._open.pop(run.member_count).close()

    def close(self) -> None:
        """Finish all files."""
        while self._open:
            self._open.popitem()[1].close()

    def __enter__(self) -> Self:
        """Give the writer."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Finish all files."""
        self.close()


def _statistics_of(row_group: Any, column: str) -> Any:
    """Return the statistics of a column.

    The column is not looked up in the schema: pyarrow's schema and metadata refer to each other, so
    that large footers would stay in memory.
    """
    columns = map(row_group.column, range(row_group.num_columns))
    return next(found.statistics for found in columns if found.path_in_schema == column)


class DatasetFile:
    """One file of a data set, opened for reading; schema and metadata are checked at once.

    Attributes
    ----------
    runs
        The metadata of the runs, by run id.
    member_count
        Number of members of each cluster in the file.
    events
        Number of events.
    row_groups
        Number of row groups.

    Raises
    ------
    TraceError
        From the constructor and each method, if the file does not have the format.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._handle = open_regular(path, self.name)
        try:
            self._file = self._guard(
                lambda: pq.ParquetFile(
                    self._handle,
                    thrift_string_size_limit=MAX_METADATA_BYTES,
                    thrift_container_size_limit=MAX_RUNS,
                    page_checksum_verification=True,
                )
            )
            schema = self._guard(lambda: self._file.schema_arrow)
            self.member_count = self._guard(lambda: member_count_of(schema))
            self.runs = self._entries()
            self.events: int = self._file.metadata.num_rows
            self.row_groups: int = self._file.metadata.num_row_groups
        except BaseException:
            self._handle.close()
            raise

    def _guard(self, action: Any) -> Any:
        """Run an action on the file; each exception becomes a `TraceError`."""
        try:
            return action()
        except ColumnError as error:
            raise self._error(error.code, error.reason) from None
        except OSError as error:
            raise self._error(Code.UNREADABLE, str(error)) from None
        except (pa.ArrowException, ValueError, KeyError, OverflowError, IndexError) as error:
            raise self._error(Code.BAD_SCHEMA, str(error)) from None

    def _error(self, code: Code, reason: str) -> TraceError:
        # Messages of pyarrow may have several lines.
        return TraceError(code, self.name, 0, 0, " ".join(reason.split()))

    def _entries(self) -> dict[str, RunEntry]:
        data = (self._file.metadata.metadata or {}).get(RUNS_KEY)
        if data is None:
            known = arrow_schema(self.member_count).names
            more = [name for name in self._file.schema_arrow.names if name not in known]
            added = f" and added {', '.join(more[:5])}" if more else ""
            raise self._error(Code.BAD_SCHEMA, _NO_RUNS.format(added))
        found = entries_of(data, self.name)
        if any(entry.run.member_count != self.member_count for entry in found.values()):
            raise self._error(Code.BAD_SCHEMA, "a run with another number of members")
        return found

    def table(self, row_group: int) -> Any:
        """Read one row group as a `pyarrow.Table`."""
        about = self._file.metadata.row_group(row_group)
        values = max(about.column(leaf).num_values for leaf in range(about.num_columns))
        if (
            about.num_rows > MAX_ROW_GROUP_EVENTS
            or values > 8 * MAX_ROW_GROUP_EVENTS
            or about.total_byte_size > MAX_ROW_GROUP_BYTES
        ):
            raise self._error(Code.TOO_LARGE, f"row group {row_group} is over the limits")
        read = self._guard(lambda: self._file.read_row_group(row_group, use_threads=False))
        return self._guard(lambda: conformed(read))

    def groups_of(self, *run_ids: str) -> list[int]:
        """Return the row groups whose statistics allow events of a run among some."""
        return [n for n in range(self.row_groups) if self._may_hold(n, run_ids)]

    def _may_hold(self, number: int, run_ids: Sequence[str]) -> bool:
        about = self._file.metadata.row_group(number)
        found = self._guard(lambda: _statistics_of(about, "run"))
        if found is None or not found.has_min_max:
            return True
        return any(found.min <= run_id <= found.max for run_id in run_ids)

    def batches(self, row_groups: Sequence[int] | None = None) -> Iterator[EventColumns]:
        """Yield the events, one batch for each row group, with context rows.

        Parameters
        ----------
        row_groups
            Row groups in ascending order. Default: all. The row group before the first one is read
            for its last row.
        """
        wanted = range(self.row_groups) if row_groups is None else row_groups
        before, last = None, None
        order = StreamOrder()
        for number in wanted:
            if number and last != number - 1:
                before = self._last_row(number - 1)
            before = self._columns(number, before)
            if not order.keeps(streams_of_rows(before)):
                raise self._error(Code.BAD_EVENT, f"row group {number}: {order.NOT_KEPT}")
            last = number
            yield before

    def _last_row(self, number: int) -> EventColumns:
        table = self.table(number)
        last: EventColumns = self._guard(lambda: from_table(table.slice(table.num_rows - 1)))
        return last

    def _columns(self, number: int, before: EventColumns | None) -> EventColumns:
        columns: EventColumns = self._guard(lambda: from_table(self.table(number), before))
        problem = min(column_problems(columns).values(), default=None)
        if problem:
            reason = f"row group {number}, row {problem[0] - columns.context}: {problem[1]}"
            raise self._error(Code.BAD_EVENT, reason)
        unknown = [run for run in columns.runs if run not in self.runs]
        if unknown:
            raise self._error(Code.BAD_SCHEMA, f"run {unknown[0]} is not in the metadata")
        for at, run_id in enumerate(columns.runs):
            run = self.runs[run_id].run
            for member_id in run.without_steps:
                own = (columns.run == at) & (columns.member == member_id)
                steps_problem = run.steps_problem(member_id, int(np.count_nonzero(own)))
                if steps_problem:
                    reason = f"row group {number}, run {run_id}: {steps_problem}"
                    raise self._error(Code.BAD_EVENT, reason)
        return columns

    def load(self) -> Iterator[tuple[RunEntry, dict[int, list[Event]], list[Fact]]]:
        """Yield for each run its entry, its events by member with their sources, and its facts.

        Notes
        -----
        Each event becomes an object, which is slow: for reports, not for checks of whole files.
        """
        finder = FactFinder()
        waiting = dict(self.runs)
        current, events = "", dict[int, list[Event]]()
        for number, columns in enumerate(self.batches()):
            finder.look(columns)
            sources = sources_of(self.table(number))
            for row in range(columns.context, len(columns)):
                run_id = columns.runs[int(columns.run[row])]
                if run_id != current:
                    if current:
                        entry = waiting.pop(current)
                        yield entry, events, finder.facts_of(entry)
                    if run_id not in waiting:
                        raise self._error(Code.BAD_EVENT, f"run {run_id} is in two places")
                    current, events = run_id, {}
                event = columns.event(row)
                source = sources[row - columns.context]
                if source is not None:
                    event = msgspec.structs.replace(event, source=source)
                events.setdefault(int(columns.member[row]), []).append(event)
        if current:
            entry = waiting.pop(current)
            yield entry, events, finder.facts_of(entry)
        for entry in waiting.values():
            yield entry, {}, finder.facts_of(entry)

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def __enter__(self) -> Self:
        """Give the file."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()


class FactFinder:
    """Finds what is missing in batches of columns: gaps, late starts, absent members."""

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}
        self._kept: Counter[str] = Counter()
        self.facts: list[Fact] = []

    def look(self, columns: EventColumns) -> None:
        """Add the next batch. The first batch may begin in the middle of a run."""
        for row in range(columns.context):
            run, member = columns.runs[int(columns.run[row])], int(columns.member[row])
            self._seen.setdefault(run, set()).add(member)
        starts = np.flatnonzero(columns.predecessor == NONE)
        for row in starts[starts >= columns.context].tolist():
            run, member = columns.runs[int(columns.run[row])], int(columns.member[row])
            step = int(columns.step[row])
            seen = self._seen.setdefault(run, set())
            if member in seen:
                kind = FactKind.GAP
            elif step:
                kind = FactKind.LATE_START
            else:
                seen.add(member)
                continue
            seen.add(member)
            if self._kept[run] < MAX_GAPS:
                self._kept[run] += 1
                self.facts.append(Fact(kind, run, member, step))

    def facts_of(self, entry: RunEntry) -> list[Fact]:
        """Return what is missing from a run after `look` at all its batches.

        Facts of the file's metadata come first. A member with a fact there, or without steps, is
        not reported as missing.
        """
        run_id = entry.run.run_id
        seen = self._seen.get(run_id, set()) | {fact.member_id for fact in entry.facts}
        seen |= set(entry.run.without_steps)
        known = {(fact.kind, fact.member_id, fact.step) for fact in entry.facts}
        return [
            *entry.facts,
            *(
                Fact(FactKind.MISSING_STREAM, run_id, member_id)
                for member_id in range(entry.run.member_count)
                if member_id not in seen
            ),
            *(
                fact
                for fact in self.facts
                if fact.run_id == run_id and (fact.kind, fact.member_id, fact.step) not in known
            ),
        ]

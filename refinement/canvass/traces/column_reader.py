"""A member's stream in columns: msgspec decodes each line, `ColumnBuilder` makes the columns."""

from __future__ import annotations

from collections.abc import Iterator

from canvass.traces.column_builder import ColumnBuilder
from canvass.traces.columns import EventColumns
from canvass.traces.ndjson import EventReader
from canvass.traces.schema import Event, Source

COLUMN_EVENTS = 2_000
"""Events of a batch, about: so many that operations on whole columns cost little for each event."""


class ColumnReader:
    """Events of one member's stream, in batches of columns.

    Parameters
    ----------
    reader
        The strict reader of the stream, from which nothing was read yet.
    run_id
        The run that the stream is of.
    member_count
        How many members the cluster has.

    Attributes
    ----------
    sources
        The sources of the events in the last batch, context row left out; None if no event of it
        has a source.
    """

    def __init__(self, reader: EventReader, run_id: str, member_count: int) -> None:
        self._reader = reader
        self._run_id, self._member_count = run_id, member_count
        self.sources: list[Source | None] | None = None

    def batches(self) -> Iterator[EventColumns]:
        """Give the events in batches. Each but the first begins with the last event before it.

        Raises
        ------
        TraceError
            At the first line that is not an event.
        """
        builder, sources = self._builder(None), []
        for events in self._reader.batches():
            builder.add(events)
            sources += [event.source for event in events]
            if len(sources) >= COLUMN_EVENTS:
                self.sources = sources if any(sources) else None
                yield builder.build()
                builder, sources = self._builder(events[-1]), []
        if sources:
            self.sources = sources if any(sources) else None
            yield builder.build()

    def _builder(self, before: Event | None) -> ColumnBuilder:
        return ColumnBuilder(self._run_id, self._reader.member_id, self._member_count, before)

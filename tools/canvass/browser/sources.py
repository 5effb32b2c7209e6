"""The opened sources, by id. Each is read once, at the first request for its content.

`canvass.browser.opening` makes sources of paths.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from canvass.browser.api import Kind, SourceInfo
from canvass.browser.questions import Refusal, not_found

_T = TypeVar("_T")
_UNFIT = re.compile(r"[^a-z0-9_.-]+")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_ID_CHARS = 48
_KEPT = 16
"""Most runs of corpora and reports that stay open."""


def shown(path: Path) -> str:
    """Write a path for a person: relative to the working folder if it is inside."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


class Lazy(Generic[_T]):
    """A value that is made at the first request; other threads wait for it.

    Parameters
    ----------
    make
        Makes the value. If it raises an error, each request raises that error.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._value: list[_T] = []
        self._error: Exception | None = None

    def get(self) -> _T:
        """Give the value; make it at the first call."""
        with self._lock:
            if self._error is not None:
                raise self._error
            if not self._value:
                try:
                    self._value.append(self._make())
                except Exception as error:
                    self._error = error
                    raise
            return self._value[0]

    @property
    def made(self) -> bool:
        """Whether the value is made already."""
        return bool(self._value)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An opened source.

    Parameters
    ----------
    kind
        The kind of the source.
    title, detail
        Its name and place, for a person.
    path
        Its file or folder.
    content
        Its content, such as a `canvass.browser.graphs.OpenGraph`.
    """

    kind: Kind
    title: str
    detail: str
    path: Path
    content: Lazy[Any] = field(repr=False)
    inner: Callable[[int], Source | None] | None = field(default=None, repr=False)
    """For a corpus or report: gives the source of a run by the run's number."""


class Store:
    """The opened sources, by id. An id is only a key here, never a part of a path."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._derived: OrderedDict[str, Source] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, source: Source) -> str:
        """Add a source at the end of the page's list, and give its id."""
        base = _UNFIT.sub("-", source.title.lower()).strip("-._")[:_ID_CHARS] or source.kind
        with self._lock:
            name, number = base, 1
            while name in self._sources:
                number += 1
                name = f"{base}-{number}"
            self._sources[name] = source
        return name

    def get(self, kind: Kind, source_id: str) -> Source:
        """Give a source by its kind and id.

        Raises
        ------
        Refusal
            If no source of that kind has the id.
        """
        source = self._sources.get(source_id)
        if source is None and kind == "run":
            source = self._run_of_many(source_id)
        if source is None or source.kind != kind:
            raise not_found(f"no {kind} {ascii(source_id)[:80]} is open")
        return source

    def _run_of_many(self, source_id: str) -> Source | None:
        """Give a run of a corpus or report; `_KEPT` of them stay open."""
        report_id, _, number = source_id.rpartition(".")
        report = self._sources.get(report_id)
        if report is None or report.inner is None or not _NUMBER.fullmatch(number):
            return None
        with self._lock:
            found = self._derived.pop(source_id, None)
        found = found or report.inner(int(number))
        if found is not None:
            with self._lock:
                self._derived[source_id] = found
                while len(self._derived) > _KEPT:
                    self._derived.popitem(last=False)
        return found

    def content(self, kind: Kind, source: str) -> Any:
        """Give the content of a source.

        Raises
        ------
        Refusal
            If no source of that kind has the id, or it cannot be read.
        """
        found = self.get(kind, source)
        try:
            return found.content.get()
        except Refusal:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] == "canvass" or isinstance(error, OSError):
                message = " ".join(str(error).split())
                raise Refusal(422, "unreadable", message) from None
            raise

    def listed(self) -> tuple[SourceInfo, ...]:
        """Describe all sources, in their order."""
        with self._lock:
            listed = self._sources.items()
            return tuple(SourceInfo(name, one.kind, one.title, one.detail) for name, one in listed)

    def of_kind(self, kind: Kind) -> list[tuple[str, Source]]:
        """Give the ids and sources of one kind."""
        with self._lock:
            return [(name, one) for name, one in self._sources.items() if one.kind == kind]

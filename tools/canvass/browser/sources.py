"""What was opened, by id: each thing is read when somebody asks for it first, and once.

How a path becomes sources is in `canvass.browser.opening`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from canvass.browser.api import Kind, SourceInfo
from canvass.browser.guard import Refusal, not_found

_T = TypeVar("_T")
_UNFIT = re.compile(r"[^a-z0-9_.-]+")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_ID_CHARS = 48
_KEPT = 16
"""Runs of corpora and reports that stay open: a person goes back to the last few."""


def shown(path: Path) -> str:
    """Name a path for a person: from the working folder, if it is in it."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


class Lazy(Generic[_T]):
    """A value that is made when it is first asked for; who asks meanwhile waits.

    Parameters
    ----------
    make
        Makes it; what it raises is raised to everybody who asks.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._value: list[_T] = []
        self._error: Exception | None = None

    def get(self) -> _T:
        """Give the value."""
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
        """Whether it is there already."""
        return bool(self._value)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Something that was opened.

    Parameters
    ----------
    kind
        What it is.
    title, detail
        For a person.
    path
        Where it is.
    content
        What it holds.
    inner
        Of a corpus or report, gives its runs.
    """

    kind: Kind
    title: str
    detail: str
    path: Path
    content: Lazy[Any] = field(repr=False)
    run_id: str = ""
    """Of a run of a data set: which."""
    imported: bool = False
    """Whether the run is made of other files when it is opened."""
    inner: Callable[[int], Source | None] | None = field(default=None, repr=False)
    """Of a corpus or report: gives a run of it by its number."""


class Store:
    """Sources by their ids; ids are looked up here and never become parts of paths.

    Parameters
    ----------
    sources
        In the order in which they are listed; the first is shown first.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._sources: dict[str, Source] = {}
        self._derived: OrderedDict[str, Source] = OrderedDict()
        self._lock = threading.Lock()
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> str:
        """Take a source in, and give its id."""
        base = _UNFIT.sub("-", source.title.lower()).strip("-._")[:_ID_CHARS] or source.kind
        with self._lock:
            name, number = base, 1
            while name in self._sources:
                number += 1
                name = f"{base}-{number}"
            self._sources[name] = source
        return name

    def get(self, kind: Kind, source_id: str) -> Source:
        """Give a source.

        Raises
        ------
        Refusal
            If there is none of that kind.
        """
        source = self._sources.get(source_id)
        if source is None and kind == "run":
            source = self._run_of_many(source_id)
        if source is None or source.kind != kind:
            raise not_found(f"no {kind} {ascii(source_id)[:80]} is open")
        return source

    def _run_of_many(self, source_id: str) -> Source | None:
        """Give a run of a corpus or report by its number; the last few stay open."""
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

    def content(self, kind: Kind, source_id: str) -> Any:
        """Give what a source holds.

        Raises
        ------
        Refusal
            If there is none of that kind, or it cannot be read.
        """
        source = self.get(kind, source_id)
        try:
            return source.content.get()
        except Refusal:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] == "canvass" or isinstance(error, OSError):
                message = " ".join(str(error).split())
                raise Refusal(422, "unreadable", message) from None
            raise

    def listed(self) -> tuple[SourceInfo, ...]:
        """List what there is."""
        with self._lock:
            return tuple(
                SourceInfo(
                    id=name,
                    kind=source.kind,
                    title=source.title,
                    detail=source.detail,
                )
                for name, source in self._sources.items()
            )

    def all(self) -> list[tuple[str, Source]]:
        """Give all sources with their ids, in their order."""
        with self._lock:
            return list(self._sources.items())

    def of_kind(self, kind: Kind) -> list[tuple[str, Source]]:
        """Give the sources of a kind with their ids."""
        with self._lock:
            return [(name, one) for name, one in self._sources.items() if one.kind == kind]

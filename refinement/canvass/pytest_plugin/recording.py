"""What the fixture ``canvass_recorder`` gives: recordings of runs, checked when the test ends."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest

from canvass.pytest_plugin.session import Checked, Session
from canvass.traces.recorder import RunRecorder, StreamRecorder
from canvass.traces.schema import RUN_SCHEMA, Run


class Recording:
    """One run that is being recorded.

    Attributes
    ----------
    path
        The run folder.
    run
        What its ``run.json`` says.
    """

    def __init__(self, session: Session, item: pytest.Item, path: Path, run: Run) -> None:
        self.path = path
        self.run = run
        self._session = session
        self._item = item
        self._recorder = RunRecorder(path, run, flush=False)
        self._members: dict[int, StreamRecorder] = {}
        self._checked_bytes = -1
        self._closed = False

    def member(self, member_id: int) -> StreamRecorder:
        """Give the port of one member; `canvass.traces.recorder.Recorder` says what it takes.

        Raises
        ------
        ValueError
            If the cluster has no such member.
        """
        return self._members.setdefault(member_id, self._recorder.member(member_id))

    def check(self, expect: str | None = "CONFORMS") -> Checked:
        """Check what was recorded up to now; the recording may go on.

        Parameters
        ----------
        expect
            The verdict that there must be; None if any will do.

        Returns
        -------
        Checked
            What was found. A run in which nothing was recorded is ``MALFORMED``.
        """
        __tracebackhide__ = True
        self._flush()
        checked = self._session.check(self.path)
        self._checked_bytes = self._size()
        self._item.user_properties += [
            ("canvass.run", self.run.run_id),
            ("canvass.verdict", checked.verdict),
        ]
        if expect is not None and checked.verdict != expect:
            self._fail(checked, expect)
        return checked

    @property
    def is_checked(self) -> bool:
        """Whether nothing was recorded since the last check."""
        self._flush()
        return self._checked_bytes == self._size()

    def _flush(self) -> None:
        if not self._closed:
            for member in self._members.values():
                member.flush()

    def close(self) -> None:
        """Finish the files; the recording cannot go on."""
        if not self._closed:
            self._closed = True
            self._recorder.close()

    def __enter__(self) -> Self:
        """Give the recording; it is checked and closed at the end of the ``with`` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Check what was recorded, unless something went wrong already, and finish the files."""
        __tracebackhide__ = True
        try:
            if error is None:
                self.check()
        finally:
            self.close()

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self.path.glob("member-*"))

    def _fail(self, checked: Checked, expect: str) -> None:
        __tracebackhide__ = True
        # Hypothesis adds its example to the exception, which is shown with the traceback only.
        drawn = bool(getattr(getattr(self._item, "obj", None), "is_hypothesis_test", False))
        pytest.fail(self.report(checked, expect), pytrace=drawn)

    def report(self, checked: Checked, expect: str, number: int = 0) -> str:
        """Tell what is wrong, where the run is kept, and how to repeat the test.

        The number tells runs of one test apart; of those with the same the last one is kept.
        """
        kept = self._session.keep(self.path, self._item, number)
        seed = dict(self._item.user_properties).get("canvass.seed")
        words = ["pytest", self._item.nodeid]
        if seed is not None:
            words += ["--canvass-seed", str(seed)]
        lines = [
            f"canvass: the run {self.run.run_id} is {checked.verdict}, not {expect}",
            self._session.failure_text(checked, kept),
            f"run kept:     {kept}",
            *([f"seed:         {seed}"] if seed is not None else []),
            f"repeat:       {shlex.join(words)}",
        ]
        return "\n".join(lines)


class Recorder:
    """Makes recordings for one test."""

    def __init__(self, session: Session, item: pytest.Item, folder: Path) -> None:
        self._session = session
        self._item = item
        self._folder = folder
        self._recordings: list[Recording] = []

    def __call__(
        self,
        *,
        members: int,
        revision: str,
        hardening: Sequence[str] = (),
        appointed_leader_id: int = -1,
        initial: str = "empty",
        run_id: str | None = None,
        source: dict[str, Any] | None = None,
    ) -> Recording:
        """Begin to record a run.

        Parameters
        ----------
        members
            How many members the cluster has.
        revision
            The revision of the protocol that it follows: ``"1.49"``, ``"1.50"`` or ``"hardened"``.
        hardening
            Of ``hardened``, the hazards that it closes.
        appointed_leader_id
            The member that alone may lead, if one is appointed.
        initial
            ``"empty"`` if all members begin with nothing on disk, else ``"unknown"``.
        run_id
            Names the run in reports.
        source
            Whatever helps to find out later where the run came from.

        Raises
        ------
        ValueError
            If there can be no such run.
        """
        number = len(self._recordings)
        described = {
            "schema": RUN_SCHEMA,
            "runId": run_id or f"run-{number}",
            "revision": revision,
            "memberCount": members,
            "hardening": list(hardening),
            "appointedLeaderId": appointed_leader_id,
            "initial": initial,
            "source": source or {"kind": "pytest", "test": self._item.nodeid},
        }
        try:
            run = msgspec.convert(described, Run)
        except msgspec.ValidationError as error:
            raise ValueError(f"there is no such run: {error}") from None
        recording = Recording(self._session, self._item, self._folder / str(number), run)
        self._recordings.append(recording)
        return recording

    def finish(self, *, failed: bool) -> None:
        """Check what was not checked; of a test that has failed only tell what is found."""
        __tracebackhide__ = True
        reports: list[str] = []
        for recording in self._recordings:
            # A test that has failed may have failed for many examples: the last one tells most.
            wanted = not failed or recording is self._recordings[-1]
            if wanted and not recording.is_checked:
                checked = recording.check(expect=None)
                if checked.verdict != "CONFORMS":
                    reports.append(recording.report(checked, "CONFORMS", len(reports)))
            recording.close()
        if not reports:
            return
        if failed:
            print("\n\n".join(reports))  # noqa: T201 - shown with the test's own failure
        else:
            pytest.fail("\n\n".join(reports), pytrace=False)

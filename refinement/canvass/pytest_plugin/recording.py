"""The recordings of ``canvass_recorder``, which are checked when their test ends."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest

from canvass.pytest_plugin.session import Checked, Session
from canvass.traces.recorder import RunRecorder, StreamRecorder
from canvass.traces.schema import RUN_SCHEMA, Run


class Recording:
    """The recording of one run.

    Attributes
    ----------
    path
        The run folder.
    run
        The contents of ``run.json``.
    is_reported
        Whether a failed check has kept a copy of the run.
    failure
        Why the last `check` failed; empty if none did, or a later one gave the expected verdict.
    """

    def __init__(self, session: Session, item: pytest.Item, path: Path, run: Run) -> None:
        self.path = path
        self.run = run
        self.is_reported = False
        self.failure = ""
        self._session = session
        self._item = item
        self._recorder = RunRecorder(path, run)
        self._checked_bytes = -1
        self._closed = False

    def member(self, member_id: int) -> StreamRecorder:
        """Give the port of one member; see `canvass.traces.recorder.Recorder`.

        Raises
        ------
        ValueError
            If the cluster has no such member.
        """
        return self._recorder.member(member_id)

    def check(self, expect: str | None = "CONFORMS") -> Checked:
        """Check the steps recorded up to now. More steps may be recorded afterwards.

        If the check fails, so does the test, even if the exception is caught or a thread loses it.

        Parameters
        ----------
        expect
            The expected verdict; None if any verdict will do.

        Returns
        -------
        Checked
            The run with its verdict. A run without events is ``MALFORMED``.
        """
        __tracebackhide__ = True
        size = self._size()
        try:
            checked = self._session.check(self.path)
            self._item.user_properties += [
                ("canvass.run", self.run.run_id),
                ("canvass.verdict", checked.verdict),
            ]
            if expect is not None and checked.verdict != expect:
                self._fail(checked, expect)
        except pytest.fail.Exception as error:
            self.failure = str(error)
            # If TLC cannot run, the end of the test must not start it again.
            self._checked_bytes = size
            raise
        self._checked_bytes = size
        if expect is not None:
            self.failure = ""
        return checked

    @property
    def is_checked(self) -> bool:
        """Whether no step was recorded after the last check."""
        return self._checked_bytes == self._size()

    def close(self) -> None:
        """Close the files; no more steps can be recorded."""
        if not self._closed:
            self._closed = True
            self._recorder.close()

    def __enter__(self) -> Self:
        """Give the recording; the end of the ``with`` block checks and closes it."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Check the recording, unless the block raised an error, and close the files."""
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
        # Hypothesis adds its example to the exception, and pytest shows it only with a traceback.
        has_example = bool(getattr(getattr(self._item, "obj", None), "is_hypothesis_test", False))
        pytest.fail(self.report(checked, expect), pytrace=has_example)

    def report(self, checked: Checked, expect: str, number: int = 0) -> str:
        """Describe the divergence, the place of the kept run, and the command to repeat the test.

        ``number`` distinguishes the kept runs of one test. A later run with the same number
        replaces the earlier one.
        """
        self.is_reported = True
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


class RecorderFixture:
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
            Number of members of the cluster.
        revision
            The revision of the protocol: ``"1.49"``, ``"1.50"`` or ``"hardened"``.
        hardening
            For ``hardened``, the hazards that the implementation closes.
        appointed_leader_id
            The only member that may lead; -1 if any member may.
        initial
            ``"empty"`` if all members begin with empty disks, else ``"unknown"``.
        run_id
            Name of the run in reports.
        source
            Any facts about the origin of the run. Default: the name of the test.

        Raises
        ------
        ValueError
            If an argument is not a valid field of ``run.json``.
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
            raise ValueError(f"not a run: {error}") from None
        recording = Recording(self._session, self._item, self._folder / str(number), run)
        self._recordings.append(recording)
        return recording

    def finish(self, *, failed: bool) -> None:
        """Check the recordings that have not been checked since their last step.

        If the test has failed, check the last recording only, and print what is found. Otherwise
        fail the test here if a check fails now, or has failed before.
        """
        __tracebackhide__ = True
        reports: list[str] = []
        kept = any(recording.is_reported for recording in self._recordings)
        for recording in self._recordings:
            found = ""
            if recording.failure and not failed:
                found = f"canvass: a check failed, but its test went on\n{recording.failure}"
            # A failed test may have recorded many examples: the last one explains the failure.
            wanted = not failed or recording is self._recordings[-1]
            if wanted and not recording.is_checked:
                checked = recording.check(expect=None)
                if checked.verdict != "CONFORMS":
                    found = recording.report(checked, "CONFORMS", len(reports) + kept)
            if found:
                reports.append(found)
            recording.close()
        if not reports:
            return
        if failed:
            print("\n\n".join(reports))  # noqa: T201 - shown with the test's own failure
        else:
            pytest.fail("\n\n".join(reports), pytrace=False)

"""``canvass watch``: follow event logs that are being written.

This module has the loop and the display. The state of the cluster is in
`canvass.explanation.picture`, the checks at each interval are in `canvass.cli.live_check`.
``canvass batch watch`` is another command: it verifies runs that arrive in a folder or store.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.live_check import Checked, LiveCheck
from canvass.cli.options import Settings, read_settings
from canvass.cli.output import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    complain,
    result_console,
)

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.explanation.explanation import Explanation
    from canvass.explanation.followed_logs import FollowedLogs
    from canvass.explanation.picture import News, Picture
    from canvass.explanation.risks import RiskReport
    from canvass.traces.releases import LogReleases

_TICK_S: Final = 0.2
_REDRAW_S: Final = 1.0
_LOOK_S: Final = 5.0
_PUBLISH_S: Final = 0.5
_SHARE: Final = 4
"""The time until the next explanation, as a multiple of the time that the last one took."""
_CHECK_S: Final = 60.0
_COMMAND_S: Final = 60
_LAST: Final = 4
"""The number of dangers, warnings and elections on the screen: the last of each."""


class ExitOn(str, Enum):
    """Events that end the command."""

    NEVER = "never"
    DIVERGENCE = "divergence"
    """A divergence that ``--verify`` finds."""
    DANGER = "danger"
    """A divergence or a danger."""
    STUCK = "stuck"
    """A divergence, a danger, or a member that is stuck."""


@dataclass
class Watch:
    """State that the loop, the checks and the server of metrics share."""

    logs: FollowedLogs
    picture: Picture
    checks: LiveCheck
    caught_up_at: float = field(default_factory=time.monotonic)
    metrics: str = ""
    changed: bool = True
    has_caught_up: bool = False
    announced: str = ""
    """The last verdict."""
    said: str = ""
    """The last verdict, or why the last check could not run."""
    releases: LogReleases | None = None
    warnings: set[str] = field(default_factory=set)
    notices: dict[tuple[str, int], str] = field(default_factory=dict)
    """The last notices about the logs, as `_notices` gives them."""
    published_at: float = 0.0
    looked_at: float = field(default_factory=time.monotonic)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("watch")(watch)


def watch(
    logs: Annotated[
        Path, typer.Argument(metavar="LOGDIR", help="A folder of member-<id>.log files.")
    ],
    setting: Settings = None,
    exit_on: Annotated[
        ExitOn,
        typer.Option(
            "--exit-on",
            metavar="WHAT",
            help="What ends the command with exit code 1: divergence; danger: a divergence or a"
            " danger; stuck: any of these, or a stuck member.",
        ),
    ] = ExitOn.NEVER,
    command: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="COMMAND",
            help="Shell command to run at an event that --exit-on names. Default: at a divergence"
            " or a danger. The variable CANVASS_EVENT has the text.",
        ),
    ] = None,
    verify: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Interval between verifications; 0: never."),
    ] = _CHECK_S,
    metrics: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Serve metrics on 127.0.0.1."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Read and check the logs as they are, then end.")
    ] = False,
) -> None:
    """Follow event logs while they are written, and show the state of the cluster.

    A terminal shows one picture, updated each second; otherwise each change is one line.
    canvass batch watch is another command: it verifies runs of a corpus as they arrive.
    A log that cannot be read is named; the others are still followed.

    Exit code 0: --once, and no divergence. 1: an event that --exit-on names; with --once, a
    divergence. 2: no log can be read; with --once, a log cannot be read, or the logs cannot be
    checked. 130: interrupted.

    canvass watch LOGDIR --exit-on danger --metrics 9100
    """
    from canvass.cli.metrics_server import serve
    from canvass.cli.options import need_log_folder
    from canvass.explanation.followed_logs import FollowedLogs
    from canvass.explanation.picture import Picture
    from canvass.traces.timeouts import beside

    if once and (command is not None or metrics is not None or exit_on is not ExitOn.NEVER):
        raise CommandError("--once looks once: leave out --exit-on, --run and --metrics")
    need_log_folder(logs)
    settings = read_settings(setting)
    check = LiveCheck(logs, setting or ())
    if once:
        raise typer.Exit(_look_once(logs, settings, check if verify else None))
    with FollowedLogs(logs) as followed:
        state = Watch(followed, Picture(beside(logs) | settings), check)
        server = None if metrics is None else serve(lambda: state.metrics, metrics)
        if verify:
            threading.Thread(target=state.checks.repeat, args=(verify,), daemon=True).start()
        try:
            raise typer.Exit(_follow(state, exit_on, command))
        finally:
            state.checks.stop()
            if server is not None:
                server.shutdown()
                server.server_close()


def _look_once(logs: Path, settings: dict[str, int], check: LiveCheck | None) -> int:
    """Show the logs as they are, and check them if asked to."""
    from canvass.cli.explain import read_timeline, show
    from canvass.explanation.explanation import explain

    console = result_console()
    timeline, _, _ = read_timeline(logs, infer=False)
    found = explain(timeline, None, settings)
    show(console, found)
    if check is None:
        return EXIT_OK
    check.revision = _revision_of(found)
    checked = check.check()
    console.print(_verdict_line(checked))
    if not checked.verdict:
        return EXIT_ERROR
    return EXIT_UNEXPECTED if checked.verdict == "DIVERGES" else EXIT_OK


def _follow(state: Watch, exit_on: ExitOn, command: str | None) -> int:
    """Read, explain and show the logs until an event ends the command."""
    with Display(result_console()) as display:
        while True:
            at_end, code = poll(state, display, exit_on, command)
            if code is not None:
                return code
            if at_end:
                time.sleep(_TICK_S)


def poll(
    state: Watch, display: Display, exit_on: ExitOn, command: str | None
) -> tuple[bool, int | None]:
    """Read new lines, and show the cluster if that is due.

    Returns
    -------
    tuple
        Whether all lines have been read; and the exit code, if an event ends the command.
    """
    at_end, now = _read(state), time.monotonic()
    state.has_caught_up |= at_end
    if at_end:
        _warn(state)
    if now >= display.due_at and not state.has_caught_up:
        # Each log is read up to another time: an active member could look silent.
        lines = sum(log.lines for log in state.logs.members.values())
        display.show(f"{state.logs.folder}: {lines:,} lines read so far", [])
        display.due_at = now + _REDRAW_S
    if state.picture.is_full or (state.has_caught_up and now >= display.due_at):
        reasons = _redraw(state, display, exit_on)
        for reason in reasons:
            _run(command, reason)
        if reasons and exit_on is not ExitOn.NEVER:
            return at_end, EXIT_UNEXPECTED
    if now - state.published_at >= _PUBLISH_S:
        _publish(state, now)
    if now - state.looked_at >= _LOOK_S:
        state.logs.look()
        state.looked_at = now
    return at_end, None


def _read(state: Watch) -> bool:
    """Read new lines; say whether all lines have been read."""
    found, at_end = state.logs.read()
    state.changed |= state.picture.add(found)
    if at_end and not state.logs.unread():
        state.caught_up_at = time.monotonic()
    return at_end


def _warn(state: Watch) -> None:
    """Say once which files are left out, which have no line of an event log so far, and which
    logs cannot be read.
    """
    logs = state.logs
    errors = {i: log.error for i, log in logs.members.items() if log.error is not None}
    named = {Path(error.file).name for error in errors.values()}
    left_out = {name: why for name, why in logs.left_out.items() if name not in named}
    found = [f"{logs.folder / name}: not read: {why}" for name, why in left_out.items()]
    for member_id, error in logs.unread().items():
        if member_id in errors:
            found.append(f"{error}; the log of member {member_id} is not read")
        elif member_id in logs.members:
            found.append(str(error))
    for text in found:
        if text not in state.warnings:
            state.warnings.add(text)
            complain(text)


def _redraw(state: Watch, display: Display, exit_on: ExitOn) -> list[str]:
    """Explain and show changes; give the events that call for a command or an exit."""
    begun = time.monotonic()
    names = {member_id: log.names for member_id, log in state.logs.members.items()}
    news = state.picture.update(names) if state.changed else []
    now = time.monotonic()
    # Explanations take a small share of the time, so that reading never waits for long.
    display.due_at = now + max(_REDRAW_S, _SHARE * (now - begun))
    state.changed = False
    state.checks.revision = _revision_of(state.picture.explanation)
    state.checks.unread = frozenset(state.logs.unread())
    state.checks.bad_files = state.logs.bad_files
    _say_releases(state, display)
    _say_notices(state, display)
    display.show(_screen(state), news)
    stuck_counts, danger_counts = exit_on is ExitOn.STUCK, exit_on is not ExitOn.DIVERGENCE
    reasons = [
        one.text
        for one in news
        if (danger_counts and one.severity == "danger") or (stuck_counts and one.kind == "stuck")
    ]
    last = state.checks.last
    if last.verdict == "DIVERGES" and state.announced != last.verdict:
        reasons.append(_verdict_line(last))
    state.announced = last.verdict or state.announced
    if state.said != (said := last.verdict or last.sentence):
        display.say(_verdict_line(last))
        state.said = said
    return reasons


def _revision_of(found: Explanation | None) -> str:
    """The revision that the releases choose; empty before the first line of a cluster."""
    return "" if found is None or found.releases is None else found.releases.revision


def _say_releases(state: Watch, display: Display) -> None:
    """Write which releases the logs name, once, and again when a member has another one."""
    from canvass.explanation.explanation import written_by

    found = state.picture.explanation
    if found is None or found.releases in (None, state.releases):
        return
    for line in written_by(found):
        display.say(line)
    state.releases = found.releases


def _notices(logs: FollowedLogs) -> dict[tuple[str, int], str]:
    """Name the logs that are not read, and the lines that were not, by kind and member."""
    from canvass.traces.counts import counted

    found = {
        ("unread", member_id): f"the log of member {member_id} is not read: {error}"
        for member_id, error in logs.unread().items()
    }
    for member_id, log in logs.members.items():
        if log.last_error is not None:
            text = f"the log of member {member_id} was not read for some time, and lines may be"
            found["missing", member_id] = f"{text} missing: {log.last_error}"
        if log.damaged is not None:
            one = log.damaged
            place = f"{logs.folder / log.names[one.file]}:{one.line}:{one.column}"
            text = f"{counted(log.unreadable, 'line')} of member {member_id} cannot be read; the"
            found["damaged", member_id] = f"{text} last one is {place}: {one.reason} ({one.code})"
    return found


def _say_notices(state: Watch, display: Display) -> None:
    """Write each notice once; that of damaged lines is not written again when they get more."""
    before, state.notices = state.notices, _notices(state.logs)
    for key, text in state.notices.items():
        if key not in before or (key[0] != "damaged" and text != before[key]):
            display.say(f"warning: {text}")


class Display:
    """The picture on a terminal, or a line for each change elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self.console = console
        self.due_at = 0.0
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *caught: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, screen: str, news: list[News]) -> None:
        """Draw the picture, or write a line for each change."""
        from rich.text import Text

        if self._live is not None:
            # The console does not wrap lines, so that lines in a file stay whole.
            text = Text(screen, no_wrap=False, overflow="fold")
            self._live.update(text, refresh=True)
        else:
            for one in news:
                self.say(str(one))

    def say(self, line: str) -> None:
        """Write a line, unless the output is a terminal."""
        if self._live is None:
            self.console.print(line)
            self.console.file.flush()


def _verdict_line(last: Checked) -> str:
    """The verdict of a check, and where the logs diverge."""
    from canvass.traces.counts import member_names

    what = "" if last.is_whole else " (the end of the logs)"
    if last.unread:
        what += f" (without lines of {member_names(last.unread)} that cannot be read)"
    why = f": {last.sentence}" if last.sentence else ""
    return f"verdict: {last.verdict or 'not checked'}{what}{why}"


def _run(command: str | None, reason: str) -> None:
    complain(reason)
    if command is None:
        return
    environment = {**os.environ, "CANVASS_EVENT": reason}
    try:
        done = subprocess.run(command, shell=True, env=environment, timeout=_COMMAND_S, check=False)
    except subprocess.TimeoutExpired:
        complain(f"--run: the command takes longer than {_COMMAND_S} s")
    else:
        if done.returncode:
            complain(f"--run: the command ended with {done.returncode}")


def _screen(state: Watch) -> str:
    """The picture, short enough for a terminal."""
    from canvass.explanation.explanation import clocks_apart, time_without_leader, written_by
    from canvass.explanation.leaderships import sentence_of
    from canvass.traces.counts import counted

    found, totals = state.picture.explanation, state.picture.totals
    notices = [f"warning: {text}" for text in state.notices.values()]
    if found is None:
        return "\n".join([f"watching {state.logs.folder}: no line of a cluster yet", *notices])
    last = state.picture.leadership
    lines = sum(log.lines for log in state.logs.members.values())
    elections = counted(totals.elections, "election")
    without = time_without_leader(found, totals.without_leader_ns)
    rows = [
        f"{state.logs.folder}: {lines:,} lines, {elections}, {without}",
        "no leader yet" if last is None else str(sentence_of(last)),
    ]
    lags = ", ".join(f"member {k}: {lag:,}" for k, lag in state.picture.lags().items())
    rows.append(f"behind, in bytes: {lags or 'not logged'}")
    rows += notices
    rows += written_by(found)
    if apart := clocks_apart(found):
        rows.append(apart)
    if state.checks.count:
        rows.append(_verdict_line(state.checks.last))
    # A terminal leaves out the last rows if there are too many: dangers come first.
    for danger in state.picture.dangers[-_LAST:]:
        rows += _risk_rows(danger)
        if danger not in found.risks:
            rows.append("  The picture no longer follows these lines.")
    rows += _stuck_rows(found)
    for warning in [one for one in found.risks if one.severity == "warning"][-_LAST:]:
        rows += _risk_rows(warning)
    rows += [str(one.sentence) for one in found.elections[-_LAST:]]
    return "\n".join(rows)


def _risk_rows(risk: RiskReport) -> Iterator[str]:
    first, *rest = risk.sentences
    yield f"{risk.severity}: {risk.title}: {first}"
    yield from (f"  {sentence}" for sentence in rest)


def _stuck_rows(found: Explanation) -> Iterator[str]:
    """The members that are stuck now, each with its unmet guard and the values that it reads."""
    for one in found.stuck:
        if one.until_ns is None:
            first, *rest = one.sentences
            yield f"stuck: {first}"
            yield from (f"  {text}" for text in (one.waits_for, *rest) if text)


def _publish(state: Watch, now: float) -> None:
    from canvass.explanation.metrics import render

    state.published_at = now
    lines = {member_id: log.lines for member_id, log in state.logs.members.items()}
    read = {member_id: log.read_bytes for member_id, log in state.logs.members.items()}
    behind, checked = now - state.caught_up_at, state.checks.last
    age = now - checked.at_s
    unread = state.logs.unread()
    state.metrics = render(state.picture, lines, read, behind, checked.verdict, age, unread)

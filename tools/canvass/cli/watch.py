"""``canvass watch``: follow event logs that are being written.

The loop, the terminal, the command that is run and the metrics' server are here; what is known of
the cluster is in `canvass.explanation.picture`. ``canvass batch watch`` is another command: it
verifies runs that arrive in a folder, on Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

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

    from canvass.explanation.following import FollowedLogs
    from canvass.explanation.picture import News, Picture

_TICK_S: Final = 0.2
_REDRAW_S: Final = 1.0
_LOOK_S: Final = 5.0
_PUBLISH_S: Final = 0.5
_SHARE: Final = 4
"""For so many times as long as the last explanation took, none is made."""
_VERDICTS: Final = {0: "CONFORMS", 1: "DIVERGES", 3: "INCOMPLETE"}
_COMMAND_S: Final = 60


class ExitOn(str, Enum):
    """What ends the command."""

    NEVER = "never"
    DANGER = "danger"
    """A danger, or a divergence of ``--verify``."""
    STUCK = "stuck"
    """The same, or a member that is stuck."""


@dataclass
class _Watch:
    """What the loop, the checks and the metrics' server share."""

    logs: FollowedLogs
    picture: Picture
    verdict: str = ""
    checked_at: float = 0.0
    caught_up_at: float = field(default_factory=time.monotonic)
    metrics: str = ""
    changed: bool = True
    announced: bool = False
    published_at: float = 0.0
    child: subprocess.Popen[bytes] | None = None


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("watch")(watch)


def watch(
    logs: Annotated[
        Path, typer.Argument(metavar="LOGDIR", help="A folder of member-<id>.log files.")
    ],
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PROPERTY=TIME", help="As for canvass explain."),
    ] = None,
    exit_on: Annotated[
        ExitOn, typer.Option("--exit-on", help="End with exit code 1 at a danger, or never.")
    ] = ExitOn.NEVER,
    command: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="COMMAND", help="Run this in a shell then; CANVASS_EVENT says why."
        ),
    ] = None,
    verify: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Import and verify so often; 0: never."),
    ] = 0.0,
    metrics: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Serve metrics on 127.0.0.1."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, then end.")] = False,
) -> None:
    """Follow event logs that are being written, and keep the picture of the cluster.

    On a terminal the picture is drawn anew each second; elsewhere each change is one line.
    canvass batch watch is another command: it verifies runs on Spark as they arrive.

    Exit code 0: --once. 1: what --exit-on names. 2: the logs cannot be read. 130: interrupted.

    canvass watch LOGDIR --exit-on danger --metrics 9100
    """
    from canvass.explanation.following import FollowedLogs
    from canvass.explanation.picture import Picture
    from canvass.traces.timeouts import SettingFault, parse_setting

    try:
        settings = dict(parse_setting(text) for text in setting or ())
    except SettingFault as fault:
        raise CommandError(f"--set: {fault}") from None
    with FollowedLogs(logs) as followed:
        if not followed.members and once:
            raise CommandError(f"{logs}: there is no member-<id>.log")
        state = _Watch(followed, Picture(settings))
        server = None if metrics is None else _serve(state, metrics)
        if verify and not once:
            threading.Thread(target=_check, args=(state, verify), daemon=True).start()
        try:
            raise typer.Exit(_follow(state, exit_on, command, once=once))
        finally:
            if state.child is not None and state.child.poll() is None:
                state.child.terminate()
            if server is not None:
                server.shutdown()
                server.server_close()


def _follow(state: _Watch, exit_on: ExitOn, command: str | None, *, once: bool) -> int:
    """Read, explain, show, until something ends it."""
    console = result_console()
    if once:
        while not _read(state):
            pass
        state.picture.update(_names(state))
        _print_once(console, state)
        return EXIT_OK
    with _Display(console) as display:
        looked_at = time.monotonic()
        while True:
            at_end, now = _read(state), time.monotonic()
            if now >= display.due_at:
                reasons = _redraw(state, display, exit_on)
                for reason in reasons:
                    _run(command, reason)
                if reasons and exit_on is not ExitOn.NEVER:
                    return EXIT_UNEXPECTED
            if now - state.published_at >= _PUBLISH_S:
                _publish(state, now)
            if now - looked_at >= _LOOK_S:
                state.logs.look()
                looked_at = now
            if at_end:
                time.sleep(_TICK_S)


def _read(state: _Watch) -> bool:
    """Read what has come; say whether that is all."""
    found, at_end = state.logs.read()
    state.changed |= state.picture.add(found)
    if at_end:
        state.caught_up_at = time.monotonic()
    return at_end


def _names(state: _Watch) -> dict[int, list[str]]:
    return {member_id: log.names for member_id, log in state.logs.members.items()}


def _redraw(state: _Watch, display: _Display, exit_on: ExitOn) -> list[str]:
    """Explain and show what has changed; give what calls for a command or an exit."""
    begun = time.monotonic()
    news = state.picture.update(_names(state)) if state.changed else []
    now = time.monotonic()
    # To explain takes a small share of the time, so that reading never waits for long.
    display.due_at = now + max(_REDRAW_S, _SHARE * (now - begun))
    state.changed = False
    display.show(_screen(state), news)
    stuck_counts = exit_on is ExitOn.STUCK
    reasons = [
        str(one.sentence)
        for one in news
        if one.severity == "danger" or (stuck_counts and one.kind == "stuck")
    ]
    if state.verdict == "DIVERGES" and not state.announced:
        reasons.append("the check of the logs so far: DIVERGES")
    state.announced = state.verdict == "DIVERGES"
    return reasons


class _Display:
    """The picture on a terminal, or a line for each change elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self.console = console
        self.due_at = 0.0
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> _Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *caught: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, screen: str, news: list[News]) -> None:
        """Draw the picture, or write what is new."""
        from rich.text import Text

        if self._live is not None:
            self._live.update(Text(screen), refresh=True)
        else:
            for one in news:
                self.console.print(f"{one.severity}: {one.sentence}")
            self.console.file.flush()


def _print_once(console: Console, state: _Watch) -> None:
    from canvass.cli.explain import show

    if state.picture.explanation is None:
        raise CommandError("no log has a line of the cluster")
    show(console, state.picture.explanation)


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


def _screen(state: _Watch) -> str:
    """The picture, short enough for a terminal."""
    from canvass.explanation.evidence import shown_ns
    from canvass.explanation.leaderships import sentence_of

    found, totals = state.picture.explanation, state.picture.totals
    if found is None:
        return f"watching {state.logs.folder}: no line of a cluster yet"
    last = found.leaderships[-1] if found.leaderships else None
    lines = sum(log.lines for log in state.logs.members.values())
    without = shown_ns(totals.without_leader_ns)
    rows = [
        f"{state.logs.folder}: {lines:,} lines, {totals.elections} elections, {without} leaderless",
        "no leader yet" if last is None else str(sentence_of(last)),
    ]
    lags = ", ".join(f"member {k}: {lag:,}" for k, lag in state.picture.lags().items())
    rows.append(f"behind, in bytes: {lags or 'not logged'}")
    rows += [f"  {one.sentence}" for one in found.elections[-4:]]
    rows += [f"stuck: {one.sentences[0]}" for one in found.stuck if one.until_ns is None]
    shown = [risk for risk in found.risks if risk.severity != "note"]
    rows += [f"{risk.severity}: {risk.sentences[0]}" for risk in shown[-4:]]
    if state.verdict:
        rows.append(f"verdict: {state.verdict}")
    return "\n".join(rows)


def _check(state: _Watch, every_s: float) -> None:
    """Import and verify the logs again and again, each time in processes of their own."""
    while True:
        time.sleep(every_s)
        with tempfile.TemporaryDirectory(prefix="canvass-watch-") as folder:
            run = str(Path(folder) / "run")
            imported = _canvass(state, "import", "aeron", str(state.logs.folder), "--out", run)
            if imported == EXIT_ERROR:
                continue
            code = _canvass(state, "verify", run)
        verdict = _VERDICTS.get(code, "")
        # A run that ends before a line that nothing explains is as bad as a step that is wrong.
        state.verdict = "DIVERGES" if imported == EXIT_UNEXPECTED and verdict else verdict
        state.checked_at = time.monotonic()


def _canvass(state: _Watch, *words: str) -> int:
    """Run a command of canvass in a process of its own, and give its exit code."""
    state.child = subprocess.Popen(
        [sys.executable, "-m", "canvass.cli.main", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return state.child.wait()


def _publish(state: _Watch, now: float) -> None:
    from canvass.explanation.metrics import render

    state.published_at = now
    lines = {member_id: log.lines for member_id, log in state.logs.members.items()}
    read = {member_id: log.read_bytes for member_id, log in state.logs.members.items()}
    behind, age = now - state.caught_up_at, now - state.checked_at
    state.metrics = render(state.picture, lines, read, behind, state.verdict, age)


def _serve(state: _Watch, port: int) -> ThreadingHTTPServer:
    """Serve the metrics on the loopback interface."""
    from canvass.explanation.metrics import CONTENT_TYPE

    class Handler(BaseHTTPRequestHandler):
        """Answers ``GET /metrics``."""

        def do_GET(self) -> None:
            """Send the metrics."""
            found = self.path in ("/", "/metrics")
            body = state.metrics.encode() if found else b"canvass: only /metrics is here\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    complain(f"metrics on http://127.0.0.1:{server.server_address[1]}/metrics")
    return server

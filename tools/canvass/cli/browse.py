"""``canvass browse``: open a page on graphs, runs, reports and counterexamples.

This module has only the command; `canvass.browser` has the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import existing
from canvass.cli.output import EXIT_INTERRUPTED, CommandError, Stages, complain, write_file

if TYPE_CHECKING:
    from canvass.browser.sources import Store


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("browse")(browse)


def browse(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="A state graph, a run or a corpus, a folder of event logs, the report of a"
            " batch verification, or a counterexample (JSON, ITF, or output of TLC)."
            " Default: the sample run that ships with canvass.",
            callback=existing,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free port.")
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the page of PATH, a run or a counterexample, with all its answers to one"
            " file that opens without canvass, and end.",
        ),
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="With --html: write only the lanes, steps and states near this event of a run,"
            " MEMBER:STEP, such as 1:42.",
        ),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address; do not open a browser.")
    ] = False,
) -> None:
    """Show state graphs, runs, reports and counterexamples in a browser.

    Prints the address of the page, and serves it to this machine until Ctrl-C.
    """
    if around is not None and html is None:
        raise CommandError("--around requires --html: it names the event that the file surrounds")
    _serve(paths or [], port, html, around, opens=not no_open)


def page_is_old(package: Path) -> bool:
    """Tell whether the sources of the page have changed since it was built.

    Parameters
    ----------
    package
        The folder with the page and, in a checkout, its sources; `tools/page.py` builds the page.
    """
    if not (package / "ui").is_dir():
        return False
    import runpy

    build = runpy.run_path(str(package.parents[1] / "page.py"))
    return not build["up_to_date"]()


def _serve(
    paths: list[Path], port: int, html: Path | None, around: str | None, *, opens: bool
) -> None:
    import secrets

    import canvass.browser
    from canvass.browser.access import LOOPBACK, leading_to, listen, make_server
    from canvass.browser.app import Browser, page_files
    from canvass.browser.opening import Opener, usable_graphs
    from canvass.browser.sources import Store
    from canvass.browser.verdicts import Checker
    from canvass.conformance.verify import make_lookup

    files = page_files()
    if page_is_old(Path(canvass.browser.__path__[0])):
        complain("the page is older than its sources and may stay empty: `make page` builds it")
    opener = Opener(Checker(make_lookup(usable_graphs(paths), None)))
    with ExitStack() as ending:
        ending.callback(opener.close)
        store = Store()
        with Stages() as stages:
            stages.stage(f"opening {', '.join(map(str, paths)) or 'the sample'}")
            sources = list(opener.open_all(paths))
            for source in sources:
                store.add(source)
            if html is not None:
                stages.stage(f"checking the run and writing {html}")
                _save(store, files, html, around)
                return
        with listen(port) as opened:
            bound, token = opened.getsockname()[1], secrets.token_urlsafe()
            server = make_server(Browser(store, files).application(bound, token))
            address = f"http://{LOOPBACK}:{bound}/#token={token}"
            print(address, flush=True)
            if opens:
                import webbrowser

                webbrowser.open(ending.enter_context(leading_to(address)))
            server.run(sockets=[opened])
    raise typer.Exit(EXIT_INTERRUPTED)  # Only an interrupt ends the server.


def _save(store: Store, files: Mapping[str, bytes], html: Path, around: str | None) -> None:
    from canvass.browser.questions import Refusal
    from canvass.browser.saved_page import saved_page
    from canvass.cli.trace import row_named

    if len(listed := store.listed()) != 1:
        raise CommandError("--html writes the page of one run or one counterexample")
    (source,), place = listed, None
    if around is not None:
        if source.kind != "run":
            raise CommandError(f"--around {around}: {source.detail} is a {source.kind}, not a run")
        lanes = store.content("run", source.id).opened.lanes
        place = lanes.place[row_named(lanes, around)]
    try:
        content = saved_page(store, files, source.id, place)
    except Refusal as refusal:
        raise CommandError(f"{source.detail}: {refusal}") from None
    write_file(html, content.decode())
    complain(f"{html}: {len(content):,} bytes, one file that needs no canvass")

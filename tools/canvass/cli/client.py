"""``canvass client``: requests to a running cluster, from the command line or line by line.

This module has the command line; `canvass.client` has the client.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.output import EXIT_OK, CommandError, text_of

if TYPE_CHECKING:
    from canvass.client.connection import Connection

NAME: Final = "canvass"
"""The client's name for the members of the cluster."""
MAX_SERVICES: Final = 127
"""The greatest number of services; no cluster runs more."""


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("client")(client)


def client(
    request: Annotated[
        list[str] | None,
        typer.Argument(metavar="REQUEST", help="One request. Default: one on each line of stdin."),
    ] = None,
    cluster: Annotated[
        Path | None, typer.Option(help="The folder of a cluster that `canvass run` runs.")
    ] = None,
    endpoints: Annotated[
        str,
        typer.Option(help="Ingress endpoints, instead of --cluster: 0=127.0.0.1:PORT,1=..."),
    ] = "",
    snapshot: Annotated[
        bool, typer.Option("--snapshot", help="Request a snapshot of the cluster instead.")
    ] = False,
    service: Annotated[
        str,
        typer.Option(help="The service: its name, or its index from 0."),
    ] = "",
    secret_file: Annotated[
        Path | None, typer.Option(help="A file with the secret of the cluster's clients.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for each answer.")] = 30,
    clock: Annotated[
        int, typer.Option(min=1, max=20, help="With --endpoints: the --clock of canvass run.")
    ] = 5,
) -> None:
    """Offer requests to a cluster. Each is applied exactly once, also if the leader changes.

    A counter knows `add N` and `get`. A key-value store knows `set KEY VALUE`, `get KEY`,
    `delete KEY` and `keys`.

    Exit code 0: every request was answered. 2: a request was not answered.

    canvass client --cluster CLUSTER add 5

    seq 1 100 | sed 's/^/add /' | canvass client --cluster CLUSTER

    canvass client --cluster CLUSTER --service key-value set a 1
    """
    found, clock, services = _find(cluster, endpoints, clock)
    if snapshot and (request or service):
        raise CommandError("--snapshot is for all services: leave out the request and --service")
    secret = read_secret(secret_file)
    if snapshot:
        asyncio.run(_request_snapshot(found, secret, clock, timeout))
        raise typer.Exit(EXIT_OK)
    service_id = _service_id(service, services)
    lines = iter([os.fsencode(" ".join(request))]) if request else _lines()
    asyncio.run(_offer(found, secret, clock, lines, timeout, service_id))
    raise typer.Exit(EXIT_OK)


def read_secret(path: Path | None) -> str:
    """Read the secret of the cluster's clients; empty without a file.

    Raises
    ------
    CommandError
        If the file is empty, or is not text.
    """
    if path is None:
        return ""
    secret = text_of(path).strip()
    if not secret:
        raise CommandError(f"{path} is empty")
    return secret


def _service_id(name: str, services: list[str]) -> int:
    """The id of the service that receives the requests.

    Raises
    ------
    CommandError
        If the service is unknown, or if the cluster runs several and none is named.
    """
    from canvass.services.applications import ALL_SERVICES

    if name in services:
        return services.index(name)
    names = ", ".join(services)
    if name.isdecimal() and int(name) < (len(services) or MAX_SERVICES):
        return int(name)
    if name and services:
        raise CommandError(f"the cluster has no service {name!r}; its services are {names}")
    if name:
        raise CommandError(f"unknown service {name!r}; give its index, or --cluster to use names")
    if len(services) > 1:
        raise CommandError(f"the cluster runs {names}; choose one with --service")
    return ALL_SERVICES


def _find(
    cluster: Path | None, endpoints: str, clock: int
) -> tuple[dict[int, str], int, list[str]]:
    from canvass.transport.links import HOST, port_of
    from canvass.transport.messages import parse_endpoints

    if (cluster is None) == (not endpoints):
        raise CommandError("give --cluster or --endpoints")
    if cluster is None:
        try:
            found = parse_endpoints(endpoints)
            for endpoint in found.values():
                port_of(endpoint)
            return found, clock, []
        except ValueError as error:
            raise CommandError(str(error)) from None
    from canvass.runner.configuration import read_config

    path = cluster / "data" / "member-0.json"
    if not path.is_file():
        raise CommandError(f"{cluster} is not the folder of a cluster: data/{path.name} is missing")
    config = read_config(path)
    ports = enumerate(config.ingress_ports)
    return {i: f"{HOST}:{port}" for i, port in ports}, config.clock, config.services


def _lines() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        if line.strip():
            yield line.strip()


async def _offer(
    endpoints: dict[int, str],
    secret: str,
    clock: int,
    lines: Iterator[bytes],
    timeout_s: float,
    service_id: int,
) -> None:
    from canvass.client.connection import Connection

    connection = await Connection.open(endpoints, name=NAME, secret=secret, clock=clock)
    async with _closing(connection, timeout_s):
        for line in lines:
            async with asyncio.timeout(timeout_s):
                answer = await connection.request(line, service_id)
            print(answer.decode(errors="replace"), flush=True)


async def _request_snapshot(
    endpoints: dict[int, str], secret: str, clock: int, timeout_s: float
) -> None:
    from canvass.client.connection import Connection
    from canvass.transport.messages import AdminResponseCode

    connection = await Connection.open(endpoints, name=NAME, secret=secret, clock=clock)
    async with _closing(connection, timeout_s):
        async with asyncio.timeout(timeout_s):
            response = await connection.snapshot()
        if response.response_code is not AdminResponseCode.OK:
            raise CommandError(f"the cluster refused the snapshot: {response.message}")
        print("ok")


@asynccontextmanager
async def _closing(connection: Connection, timeout_s: float) -> AsyncIterator[None]:
    """Close a client at the end. If it got no answer, the error names the reason."""
    from canvass.client.connection import ClosedError

    try:
        yield
    except TimeoutError:
        reason = connection.client.closed_reason or "no member leads, or no member runs"
        raise CommandError(f"no answer within {timeout_s:g} s: {reason}") from None
    except ClosedError as error:
        raise CommandError(f"the cluster refused this client: {error}") from None
    finally:
        await connection.close()

"""The command that offers a task's world to MCP clients: serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.options import MISSING_EXTRA, find_sources
from corepath.cli.printing import say, tell_damage, wrong_use
from corepath.errors import install
from corepath.files.lookup import Source
from corepath.runs.folder import SET_ASIDE, new_folder
from corepath.runs.served_task import ServedTask, open_folder
from corepath.values import visible

_HOST, _PORT, _IDLE = "127.0.0.1", 8765, 600.0


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("serve")(serve_command)


def serve_command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task: world/task, FILE.yaml::id, FILE.py::task.")],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, an episode a name; else over stdio.")] = False,
    host: Annotated[str | None, typer.Option(help=f"The address to listen on; {_HOST} unless given.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"The port; {_PORT} unless given, 0 takes a free one.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; runs/serve-DATE-TIME unless given.")] = None,
    seed: Annotated[int, typer.Option(help="0 is the canonical task, any other number a variant of it.")] = 0,
    agent: Annotated[str | None, typer.Option(help="Who plays; what the client calls itself unless given.")] = None,
    idle: Annotated[
        float | None, typer.Option(min=0.1, help=f"Seconds without a request that end an episode; {_IDLE:g}.")
    ] = None,
) -> None:
    """Offer a task's world to MCP clients; every episode is recorded and scored."""
    if not http and any(given is not None for given in (host, port, idle)):
        wrong_use("--host, --port and --idle are for serving over HTTP; add --http")
    source = _source(task, seed)
    try:
        from corepath.runs import transport  # noqa: PLC0415  # needs the extra
    except ImportError as error:
        say(f"corepath: serving needs more packages ({error}): {install('mcp')}")
        raise typer.Exit(MISSING_EXTRA) from None
    listener = None
    if http:
        host, port = host or _HOST, _PORT if port is None else port
        try:
            listener = transport.listen(host, port)
        except OSError as error:
            wrong_use(f"cannot listen on {host}, port {port}: {error.strerror}; --port 0 takes a free one")
    folder = open_folder(out or new_folder("serve-"), source, seed)
    with folder.writing():
        folder.set_aside(tell_damage(folder.lines(), f"set aside in {folder.path / SET_ASIDE}"))
        tell = (lambda text: typer.echo(visible(text))) if http else say
        served = ServedTask(source.make(seed), folder, tell, seed, agent, _IDLE if idle is None else idle)
        say(f"episodes are kept in {folder.path}")
        if listener is not None:
            transport.serve_http(served, str(host), listener)
            return
        if sys.stdin.isatty():
            say("waiting for an MCP client on standard input; --http serves over HTTP")
        transport.serve_stdio(served)


def _source(named: str, seed: int) -> Source:
    """The one task that a user named."""
    found = find_sources([named], playable=True)
    if len(found) != 1:
        place = found[0].where.rstrip("/")
        one = (
            f"{place}::{found[0].id}"
            if found[0].where.endswith((".py", ".yaml", ".yml", ".json", "/"))
            else found[0].id
        )
        wrong_use(f"{named} has {len(found)} tasks; give one of them, such as {one}")
    if found[0].in_file and seed:
        wrong_use(f"{named} is of a task file; only the tasks of worlds have variants by --seed")
    return found[0]

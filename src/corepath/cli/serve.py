"""The command that serves a task's world to MCP clients: serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.cli.options import MISSING_EXTRA, SeedOption, find_sources
from corepath.cli.printing import print_damage, say, usage_error
from corepath.errors import install
from corepath.files.lookup import Source
from corepath.runs.folder import SET_ASIDE, new_folder
from corepath.runs.served_task import ServedTask, open_folder
from corepath.values import visible

_HOST, _PORT, _IDLE = "127.0.0.1", 8765, 600.0


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("serve")(serve_command)


def serve_command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task: world/task, FILE.yaml::id, or FILE.py::task.")],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help=f"Address to listen on. Default: {_HOST}.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"Port to listen on; 0 takes a free one. Default: {_PORT}.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to record to. Default: runs/serve-DATE-TIME.")] = None,
    seed: SeedOption = 0,
    agent: Annotated[str | None, typer.Option(help="Name of the agent. Default: the client's name.")] = None,
    idle: Annotated[
        float | None, typer.Option(min=0.1, help=f"Seconds without a request that end an episode. Default: {_IDLE:g}.")
    ] = None,
) -> None:
    """Serve a task's world to MCP clients; every episode is recorded and scored."""
    if not http and any(value is not None for value in (host, port, idle)):
        usage_error("--host, --port and --idle are for serving over HTTP; add --http")
    source = _find_source(task, seed)
    transport = _import_transport()
    host = host or _HOST
    listener = _listen(transport, host, _PORT if port is None else port) if http else None
    folder = open_folder(out or new_folder("serve-"), source, seed)
    with folder.writing():
        folder.set_aside(print_damage(folder.lines(), f"set aside in {folder.path / SET_ASIDE}"))
        tell = (lambda text: typer.echo(visible(text))) if http else say
        served = ServedTask(source.make(seed), folder, tell, seed, agent, _IDLE if idle is None else idle)
        say(f"episodes are kept in {folder.path}")
        if listener is not None:
            transport.serve_http(served, host, listener)
            return
        if sys.stdin.isatty():
            say("waiting for an MCP client on standard input; --http serves over HTTP")
        transport.serve_stdio(served)


def _import_transport() -> Any:
    """Import the module that serves over HTTP and stdio. Exit with code 3 if its packages are not installed."""
    try:
        from corepath.runs import transport  # noqa: PLC0415  # needs an optional package
    except ImportError as error:
        say(f"corepath: serving needs more packages ({error}): {install('mcp')}")
        raise typer.Exit(MISSING_EXTRA) from None
    return transport


def _listen(transport: Any, host: str, port: int) -> Any:
    """Open a listening socket. Exit with code 2 if that fails, e.g. because the port is taken."""
    try:
        return transport.listen(host, port)
    except OSError as error:
        usage_error(f"cannot listen on {host}, port {port}: {error.strerror}; --port 0 takes a free one")


def _find_source(named: str, seed: int) -> Source:
    """Find the task that the user named.

    Exit with code 2 if there is no such task, if there are several, or if a task in a file is used with a seed.
    """
    found = find_sources([named], playable=True)
    if len(found) != 1:
        place = found[0].where.rstrip("/")
        one = (
            f"{place}::{found[0].id}"
            if found[0].where.endswith((".py", ".yaml", ".yml", ".json", "/"))
            else found[0].id
        )
        usage_error(f"{named} has {len(found)} tasks; give one of them, such as {one}")
    if found[0].in_file and seed:
        usage_error(f"{named} is of a task file; only the tasks of worlds have variants by --seed")
    return found[0]

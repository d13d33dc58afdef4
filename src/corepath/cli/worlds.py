"""The commands about worlds: worlds and new."""

from __future__ import annotations

import json
from enum import StrEnum
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.authoring.templates import TASK_STARTER, WORLD_STARTER
from corepath.cli.options import JsonOption, find_sources
from corepath.cli.printing import print_table, safe, table, usage_error
from corepath.drawing.export import count_text
from corepath.files.lookup import Source
from corepath.world.discovery import installed_worlds, world


class Kind(StrEnum):
    """The kinds of file that `new` can write."""

    WORLD = "world"
    TASK = "task"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("worlds")(worlds_command)
    app.command("new")(new_command)


def worlds_command(
    named: Annotated[
        str | None, typer.Argument(metavar="WORLD", help="World whose rules, tools and tasks to show.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the installed worlds, or show one: its rules, tools and tasks."""
    if named is not None:
        _show_world(find_sources([named], playable=True), as_json=as_json)
        return
    made = table("world", "tools", "tasks", "golden paths", "lengths", "about")
    for name in installed_worlds():
        found = world(name)
        automata = [task.automaton for task in found.tasks().values()]
        paths = sum(automaton.count for automaton in automata)
        lengths = sorted({length for automaton in automata for length in automaton.lengths})
        if as_json:
            row = {"world": name, "about": found.about, "tools": list(found.tools), "tasks": list(found.makers)}
            typer.echo(json.dumps({**row, "golden_paths": paths, "lengths": lengths}))
        else:
            counts = (str(len(found.tools)), str(len(found.makers)), count_text(paths))
            made.add_row(name, *counts, f"{lengths[0]}–{lengths[-1]}" if lengths else "–", safe(found.about))
    if not as_json:
        print_table(made)


def _show_world(sources: list[Source], *, as_json: bool) -> None:
    """Print the rules, tools and tasks of the sources' worlds."""
    for found in {id(one): one for one in (source.world() for source in sources)}.values():
        tools = [tool.schema | {"writes": tool.writes} for tool in found.tools.values()]
        if as_json:
            row = {"world": found.name, "about": found.about, "rules": found.rules, "tools": tools}
            typer.echo(json.dumps({**row, "tasks": list(found.makers)}))
            continue
        typer.echo(f"{found.name}: {found.about}\n\n{found.rules.strip()}\n\ntools")
        for tool in found.tools.values():
            typer.echo(f"  {tool.name}({_parameters(tool.schema)})  {'writes' if tool.writes else 'reads'}")
            typer.echo("".join(f"      {line}\n" for line in tool.description.splitlines()), nl=False)
        typer.echo("\ntasks")
        for name in found.makers:
            typer.echo(f"  {found.name}/{name}")


def _parameters(schema: dict[str, Any]) -> str:
    """Format a tool's parameters and their types as in a signature."""
    shown = []
    for name, of in schema["parameters"]["properties"].items():
        kind = " | ".join(map(json.dumps, of["enum"])) if "enum" in of else of.get("type")
        kind = kind or " or ".join(str(one.get("type")) for one in of.get("anyOf", []))
        default = f" = {json.dumps(of['default'])}" if "default" in of else ""
        shown.append(f"{name}: {kind or 'any'}{default}")
    return ", ".join(shown)


def new_command(
    kind: Annotated[Kind, typer.Argument(help="What to write.")],
    name: Annotated[str, typer.Argument(help="Name of the world or task: letters, digits and _.")],
) -> None:
    """Write a starter file into this folder: a world in Python or a task in YAML."""
    if not name.isidentifier() or iskeyword(name):
        usage_error(f"'{name}' is no name: use letters, digits and _, and begin with a letter")
    path = Path(f"{name}.py" if kind is Kind.WORLD else f"{name}.yaml")
    if path.exists():
        usage_error(f"{path} is already there; nothing was written")
    path.write_text((WORLD_STARTER if kind is Kind.WORLD else TASK_STARTER).replace("NAME", name))
    typer.echo(f"wrote {path}; now run: corepath verify {path}")

"""The command that writes tool files: tools."""

from __future__ import annotations

import glob
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from corepath.authoring.tools import Described, describe_tools
from corepath.authoring.tools.functions import tools_of_module, tools_of_world
from corepath.cli.importing import Log, choose_format, open_output, trace_files
from corepath.cli.options import JsonOption, OutFileOption
from corepath.cli.printing import say, usage_error
from corepath.cli.progress import Counter as Progress
from corepath.episode import Episode
from corepath.errors import InputError, OptionError, Problem, TaskError, count, no_such_file
from corepath.files.tool_file import is_glob, load_tools
from corepath.files.tool_list import ListedTool, is_schema_list, load_tool_list, read_schemas
from corepath.importers.folders import import_traces
from corepath.notation.action import Tool
from corepath.play.own_modules import load_module
from corepath.values import parse_json
from corepath.world.discovery import installed_worlds, world

LARGEST_SCHEMAS: Final = 64_000_000
"""The largest JSON file, in bytes, that may be a list of tools. Larger ones are traces."""
_ALSO_CALLS: Final = frozenset({"messages", "input", "contents", "calls"})
"""Keys of requests that have the tools as well as the calls."""
_WANTED: Final = "a source is a file or folder of traces, a JSON file of schemas, FILE.py, FILE.py:NAME or MODULE:NAME"

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCES", help="Traces (files, folders, or - for standard input), JSON files of tool schemas, "
        "FILE.py, FILE.py:NAME or MODULE:NAME with functions or a World, worlds, or tool files.",
    ),
]  # fmt: skip
FormatOption = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help="Format of the traces, or auto; corepath formats lists them.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("tools")(tools_command)


def tools_command(
    sources: SourcesArgument,
    format_: FormatOption = "auto",
    out_file: OutFileOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a tool file from traces, schemas and Python functions: what reads, what writes, and how that is known."""
    if out_file is not None and out_file.exists() and not force:
        usage_error(f"{out_file} exists; --force replaces it")
    log = Log()
    reader = _Reader(format_, log)
    for source in sources:
        reader.check(source)
    try:
        with Progress("episodes").show() as progress:
            reader.progress = progress
            described = describe_tools(one for source in sources for one in reader.read(source))
    except TaskError as error:
        log.close()
        say(f"corepath: {error}")
        raise typer.Exit(1) from None
    log.close()
    _print(described, out_file, as_json=as_json)
    if log.bad:
        raise typer.Exit(1)


class _Reader:
    """Reads sources. What cannot be read is printed and left out."""

    def __init__(self, format_: str, log: Log) -> None:
        self.choose = choose_format(format_, None)
        self.log = log
        self.progress: Progress | None = None

    def check(self, source: str) -> None:
        """Exit with code 2 if there is no such source."""
        if source == "-" or Path(source).exists() or source in installed_worlds():
            return
        where, name = _split_python(source)
        if name is None or (where.endswith(".py") and not Path(where).exists()):
            usage_error(f"{no_such_file(where)}; {_WANTED}")

    def read(self, source: str) -> Iterator[Episode | ListedTool]:
        """Yield the episodes and the tools of a source."""
        try:
            yield from self._read(source)
        except InputError as error:
            for problem in error.problems:
                self.log.add_problem(problem)
        except OptionError as error:
            usage_error(str(error))
        except TaskError as error:
            self.log.add_problem(Problem(source, 1, 1, str(error)))

    def _read(self, source: str) -> Iterator[Episode | ListedTool]:
        where, name = _split_python(source)
        if source != "-" and not Path(source).exists() and source in installed_worlds():
            yield from tools_of_world(world(source))
        elif name is not None or where.endswith(".py"):
            yield from tools_of_module(load_module(where, _WANTED), name, where)
        elif source.endswith((".yaml", ".yml")):
            if globs := [one for one in load_tools(source).names if is_glob(one)]:
                say(f"warning: {source}: globs are not taken over: {', '.join(globs)}")
            yield from load_tool_list(source)
        else:
            yield from self._read_files(trace_files([Path(source)], None, self.log))

    def _read_files(self, files: list[Path]) -> Iterator[Episode | ListedTool]:
        traces = []
        for file in files:
            schemas, also_calls = _read_schemas(file)
            yield from schemas
            if not schemas or also_calls:
                traces.append(file)
        for one in import_traces(traces, self.choose):
            if isinstance(one, Problem):
                self.log.add_problem(one)
                continue
            if self.progress is not None:
                self.progress.add()
            yield one.episode


def _split_python(source: str) -> tuple[str, str | None]:
    """Split `FILE.py:NAME` or `MODULE:NAME`. The name is None if the source is none of them."""
    where, _, name = source.rpartition(":")
    is_module = all(part.isidentifier() for part in where.split("."))
    if name.isidentifier() and (where.endswith(".py") or is_module) and not Path(source).exists():
        return where, name
    return source, None


def _read_schemas(file: Path) -> tuple[tuple[ListedTool, ...], bool]:
    """Return the tools that a file describes, and whether it also has calls. A file of traces describes none."""
    if file.suffix.lower() != ".json" or not file.is_file() or file.stat().st_size > LARGEST_SCHEMAS:
        return (), False
    try:
        data = parse_json(file.read_text(encoding="utf-8-sig"), stored=True)
    except (ValueError, OSError):
        return (), False  # reading it as a trace says what is wrong
    if not is_schema_list(data):
        return (), False
    return read_schemas(data), isinstance(data, dict) and bool(_ALSO_CALLS & data.keys())


def _print(described: Described, out_file: Path | None, *, as_json: bool) -> None:
    if out_file is not None:
        with open_output(out_file) as write:
            write(described.text.removesuffix("\n"))
    elif not as_json:
        typer.echo(described.text, nl=False)
    if as_json:
        listed = {tool.name: tool for tool in described.tools.tools or ()}
        for name in described.evidence:
            typer.echo(json.dumps(_record(described, name, listed.get(name))))
    for warning in described.warnings:
        say(f"warning: {warning}")
    kinds = Counter("unsure" if not one.sure else one.kind for one in described.evidence.values())
    summary = ", ".join(f"{kinds[kind]:,} {kind}" for kind in ("read", "write", "neutral", "unsure") if kinds[kind])
    where = f" in {out_file}" if out_file is not None else ""
    say(f"{count(len(described.evidence), 'tool')}{where}: {summary}")


def _record(described: Described, name: str, listed: Tool | None) -> dict[str, Any]:
    verdict = described.evidence[name]
    seen = described.seen.get(name)
    rules = described.tools.arguments.get(glob.escape(name), {})
    return {
        "tool": name,
        "kind": verdict.kind,
        "sure": verdict.sure,
        "evidence": list(verdict.evidence),
        "signature": None if listed is None else str(listed),
        "seen": None if seen is None else str(seen),
        "arguments": {path: {"rule": rule, "evidence": described.rules[name, path]} for path, rule in rules.items()},
    }

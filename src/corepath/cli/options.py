"""Arguments and options that several commands share: tasks, episodes, runs, `--json`, `--profile`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.printing import say, usage_error
from corepath.cli.profile import Profile
from corepath.errors import TaskError, no_such_file
from corepath.files.lookup import Source, Tasks, all_sources
from corepath.files.rules import load_rules
from corepath.rules.rule import Rule
from corepath.runs.folder import MANIFEST, is_run

MISSING_EXTRA = 3
"""Exit code when an optional package or a model is missing."""

TASK_NAMES = "world/task, FILE.yaml::id, FILE.py::task, a whole world or file, or a folder of them"
"""How users can name tasks, for help texts."""


def require_paths(paths: Iterable[Path]) -> list[Path]:
    """Check that all paths exist, and return them. `-` stands for standard input."""
    listed = list(paths)
    for path in listed:
        if str(path) != "-" and not path.exists():
            usage_error(no_such_file(path))
    return listed


def require_path(path: Path | None) -> Path | None:
    """Check that the path exists, and return it. If `path` is None, return None."""
    return None if path is None else require_paths([path])[0]


def require_place(path: Path | None) -> Path | None:
    """Check that a file can be written there: its folder exists, and it is no folder itself. Return the path."""
    if path is not None and path.is_dir():
        usage_error(f"{path} is a folder; give a file with --out")
    if path is not None and not path.parent.is_dir():
        usage_error(f"no such folder: {path.parent}; make it first, or give another file with --out")
    return path


def require_run(path: Path | None) -> Path | None:
    """Check that the path is a run folder, and return it. If `path` is None, return None."""
    if path is not None and not is_run(require_paths([path])[0]):
        usage_error(f"{path} holds no run, as it has no {MANIFEST}")
    return path


def require_episodes(paths: Iterable[Path]) -> list[Path]:
    """Check that all paths are episode files or run folders, and return them."""
    listed = require_paths(paths)
    for path in listed:
        if path.suffix in (".yaml", ".yml", ".py"):
            usage_error(f"{path} holds tasks, not episodes; name it with --tasks {path}")
        if path.is_dir() and not is_run(path):
            usage_error(f"{path} holds no run, as it has no {MANIFEST}; name the files of episodes in it")
    return listed


def find_sources(targets: Iterable[str] | None, *, playable: bool = False) -> list[Source]:
    """Find the tasks that the user named, or all installed tasks if `targets` is empty.

    Exit with code 2 if a task does not exist. With `playable`, every task must have a world to be played in.
    """
    try:
        return all_sources(targets or [], playable=playable)
    except TaskError as error:
        usage_error(str(error))


def find_tasks(targets: list[str] | None) -> Tasks:
    """Find the tasks named with `--tasks`. If `targets` is empty, tasks are looked up in the installed worlds."""
    try:
        return Tasks(targets or [])
    except TaskError as error:
        usage_error(f"--tasks: {error}")


def find_rules(paths: Iterable[Path] | None) -> tuple[Rule, ...]:
    """Load the rule files named with `--rules`, and print their warnings."""
    found: list[Rule] = []
    for path in paths or ():
        loaded = load_rules(path)
        for warning in loaded.warnings:
            say(f"warning: {warning}")
        found += loaded.rules
    return tuple(found)


def _complete_task(incomplete: str) -> list[str]:
    """Return shell completions for a task name: worlds before the slash, and the world's tasks after it."""
    from corepath.world.discovery import installed_worlds, world  # noqa: PLC0415

    name, slash, _ = incomplete.partition("/")
    known = installed_worlds()
    found = [f"{name}/{task}" for task in world(name).makers] if slash and name in known else list(known)
    return [one for one in found if one.startswith(incomplete)]


EpisodesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="EPISODES", help="Episode files (JSON lines) or run folders; - reads standard input.",
                   callback=require_episodes),
]  # fmt: skip
RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS", help="Run folders or episode files (JSON lines).", callback=require_episodes),
]
TasksOption = Annotated[
    list[str] | None,
    typer.Option("--tasks", "-t", help=f"Tasks: {TASK_NAMES}. Default: the run's own, or the installed worlds.",
                 autocompletion=_complete_task),
]  # fmt: skip
TaskArguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="TASKS", help=f"{TASK_NAMES}. Default: all installed worlds.",
                   autocompletion=_complete_task),
]  # fmt: skip
ScoreRulesOption = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="FILE", help="Rule file; without --tasks, traces of any kind are judged by it.",
                 callback=lambda paths: require_paths(paths) if paths else paths),
]  # fmt: skip
RulesOption = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="FILE", help="Rule file, beside the tasks; episodes without a task are judged by "
                 "the rules alone.", callback=lambda paths: require_paths(paths) if paths else paths),
]  # fmt: skip
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line, and nothing else, on standard output.")
]
WideOption = Annotated[bool, typer.Option("--wide", help="Show all columns, even if they do not fit the terminal.")]
ProfileOption = Annotated[
    Profile | None, typer.Option(help="Score again with this profile. Default: keep the recorded scores.")
]
SeedOption = Annotated[int, typer.Option(help="Variant of the task: 0 is the canonical task.")]
OutFileOption = Annotated[
    Path | None, typer.Option("--out", help="File to write. Default: standard output.", callback=require_place)
]
WorstOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Show only the N worst: lowest PC, then most harmful calls.")
]
GoodOption = Annotated[
    list[Path] | None,
    typer.Option("--good", metavar="RUNS", help="Runs or traces that are right: no task or rule may punish them.",
                 callback=lambda paths: require_paths(paths or [])),
]  # fmt: skip
BadOption = Annotated[
    list[Path] | None,
    typer.Option("--bad", metavar="RUNS", help="Runs or traces that are wrong: each must be noticed.",
                 callback=lambda paths: require_paths(paths or [])),
]  # fmt: skip
MutantsOption = Annotated[
    bool, typer.Option("--mutants", help="Ask about faulty variants of good runs that are not noticed.")
]
TracesOption = Annotated[
    int | None, typer.Option("--traces", min=1, help="For rules: how many traces each search tries (default 20,000).")
]


@dataclass(frozen=True)
class CheckOptions:
    """What to check rules or tasks with. If `traces` is None, each search tries the usual number of traces."""

    good: tuple[Path, ...] = ()
    bad: tuple[Path, ...] = ()
    mutants: bool = False
    traces: int | None = None

"""What several commands take alike: tasks by name, episodes and runs by place, `--json`, `--profile`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.printing import wrong_use
from corepath.cli.profile import Profile
from corepath.errors import TaskError, no_such_file
from corepath.files.lookup import Source, Tasks, all_sources
from corepath.runs.folder import MANIFEST, is_run

MISSING_EXTRA = 3
"""The exit code where packages, or a model, cannot be had."""

NAMES = "world/task, FILE.yaml::id, FILE.py::task, a whole world or file, or a folder of them"
"""How tasks are named, in every command."""


def present(paths: Iterable[Path]) -> list[Path]:
    """The paths of a command; it ends where one of them is not there. `-` is standard input."""
    listed = list(paths)
    for path in listed:
        if str(path) != "-" and not path.exists():
            wrong_use(no_such_file(path))
    return listed


def present_path(path: Path | None) -> Path | None:
    """The same for the one path of an option."""
    return None if path is None else present([path])[0]


def present_run(path: Path | None) -> Path | None:
    """The same for the folder of a run."""
    if path is not None and not is_run(present([path])[0]):
        wrong_use(f"{path} holds no run, as it has no {MANIFEST}")
    return path


def present_episodes(paths: Iterable[Path]) -> list[Path]:
    """The same for episode files and run folders: any other folder holds no episodes."""
    listed = present(paths)
    for path in listed:
        if path.suffix in (".yaml", ".yml", ".py"):
            wrong_use(f"{path} holds tasks, not episodes; name it with --tasks {path}")
        if path.is_dir() and not is_run(path):
            wrong_use(f"{path} holds no run, as it has no {MANIFEST}; name the files of episodes in it")
    return listed


def find_sources(targets: Iterable[str] | None, *, playable: bool = False) -> list[Source]:
    """The tasks that a user named; the command ends where there are none of that name."""
    try:
        return all_sources(targets or [], playable=playable)
    except TaskError as error:
        wrong_use(str(error))


def find_tasks(targets: list[str] | None) -> Tasks:
    """Where the tasks of episodes are looked up: those that a user named, else those of installed worlds."""
    try:
        return Tasks(targets or [])
    except TaskError as error:
        wrong_use(f"--tasks: {error}")


def _complete_task(incomplete: str) -> list[str]:
    """For shells: the worlds, or the tasks of a world that is written already."""
    from corepath.world.discovery import installed_worlds, world  # noqa: PLC0415

    name, slash, _ = incomplete.partition("/")
    known = installed_worlds()
    found = [f"{name}/{task}" for task in world(name).makers] if slash and name in known else list(known)
    return [one for one in found if one.startswith(incomplete)]


EpisodesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="EPISODES...", help="Episode files (JSON lines) or folders of runs; - reads stdin.",
                   callback=present_episodes),
]  # fmt: skip
RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS...", help="Folders of runs, or episode files (JSON lines).",
                   callback=present_episodes),
]  # fmt: skip
TasksOption = Annotated[
    list[str] | None,
    typer.Option("--tasks", "-t", help=f"Tasks: {NAMES}. Default: those of the run, or of installed worlds.",
                 autocompletion=_complete_task),
]  # fmt: skip
TaskArguments = Annotated[
    list[str] | None, typer.Argument(metavar="[TASKS]...", help=f"{NAMES}. Default: all installed worlds.",
                                     autocompletion=_complete_task)
]  # fmt: skip
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on standard output, and nothing else there.")
]
ProfileOption = Annotated[
    Profile | None, typer.Option(help="Score anew in this way; what was scored keeps its scores unless given.")
]

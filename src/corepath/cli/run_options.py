"""The options of `corepath run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.options import require_run
from corepath.cli.profile import Profile

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        help="Agent to run: your own as FILE.py:FUNCTION or MODULE:FUNCTION, or a built-in one such as oracle or "
        "swapped:0.3. Default: all built-in agents.",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Model to run: PROVIDER/NAME, or local or local:FILE.gguf for one on this machine."),
]
Worlds = Annotated[list[str] | None, typer.Option("--world", help="World to run, by name or as a .py file.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", help="Task to run, such as farm/dry_plants, or a task file that names a world."),
]
Epochs = Annotated[int, typer.Option(min=1, help="How often each agent plays each task.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Run at most this many tasks of each world.")]
Seed = Annotated[
    int, typer.Option(help="Seed of tasks and agents: 0 plays the tasks as written, others play variants.")
]
Folder = Annotated[Path | None, typer.Option("--out", help="Folder to write the run to. Default: runs/DATE-TIME.")]
Resume = Annotated[Path | None, typer.Option("--resume", help="Continue the run in this folder.", callback=require_run)]
Retry = Annotated[
    bool, typer.Option("--retry", help="With --resume: replay the episodes that failed outside the agent.")
]
Redact = Annotated[
    str | None,
    typer.Option("--redact", metavar="FIELDS", help="Fields whose values are never written, such as email,phone."),
]
ScoringProfile = Annotated[Profile, typer.Option(help="Scoring profile.")]
Connections = Annotated[
    int | None, typer.Option(min=1, help="Episodes of a model at the same time. Default: 10; local models: 1.")
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="URL of an OpenAI-compatible server that serves --model.")
]
Retries = Annotated[int, typer.Option(min=0, help="How often to retry a failed request to a model.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds before a request to a model times out.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads of a local model.")]
Jobs = Annotated[int, typer.Option(min=0, help="Processes for agents that are not models; 0: one per core.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be run, and run nothing.")]

"""Resumes a run, and checks that its agents, tasks and scoring profile have not changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from corepath.cli.printing import fail, print_damage, usage_error
from corepath.cli.progress import show_status
from corepath.episode import Episode
from corepath.errors import OptionError, TaskError
from corepath.play.own_agents import digest, find_agent
from corepath.runs.folder import MANIFEST, SET_ASIDE, RunFolder
from corepath.runs.plan import Plan, changed_tasks
from corepath.runs.tasks import RunTasks


def resume_run(path: Path, *, retry: bool, dry_run: bool) -> tuple[RunFolder, Plan, bool]:
    """Open a run to continue it. Return the folder, the plan, and whether there are damaged lines.

    Episodes on damaged lines are played again. With `retry`, failed episodes are played again too. With `dry_run`,
    nothing is changed.
    """
    folder = RunFolder.open(path)
    if folder.manifest.get("kind") == "serve":
        usage_error(f"{path} is of corepath serve; go on with: corepath serve TASK --out {path}")
    plan = read_plan(folder)
    episodes = list(folder.episodes())
    _check_own_agents(plan, finished=len(episodes) == plan.size)
    _check_profile(plan, episodes, path)
    if len(episodes) < plan.size:
        _check_tasks(folder, plan)
    played = RunTasks(folder, plan)
    if dry_run:
        return folder, plan, bool(print_damage(played.lines(plan.scoring), "would be set aside"))
    with folder.writing():
        if retry:
            folder.set_aside({
                line.line for line in folder.lines() if line.episode and line.episode.failure
            })  # fmt: skip
        damaged = print_damage(played.lines(plan.scoring), f"set aside in {path / SET_ASIDE}")
        folder.set_aside(damaged)
    return folder, plan, bool(damaged)


def read_plan(folder: RunFolder) -> Plan:
    """Read a run's plan. Exit with code 2 if one of its task files is gone."""
    plan = Plan.of(folder)
    if gone := next((source.where for source in plan.sources if source.is_missing), None):
        usage_error(
            f"{folder.path}: no such file: {gone}, a task file of this run; run this in the folder where it began"
        )
    return plan


def _check_own_agents(plan: Plan, *, finished: bool) -> None:
    """Check that the user's own agents still exist and have not changed.

    A function that was passed to `corepath.run` cannot be found again. It is allowed only if the run is finished.
    """
    for name, before in plan.own.items():
        if not before and finished:
            continue
        if not before:
            usage_error(f"agent '{name}' of this run is a Python function; start a new run with corepath.run")
        try:
            with redirect_stdout(sys.stderr):
                find_agent(name)
        except (OptionError, TaskError) as error:
            usage_error(f"{error}; it is an agent of this run; run this in the folder where it began")
        if digest(name) != before:
            fail(f"the file of agent '{name}' changed since this run began, and episodes of different agents "
                 "cannot be mixed. Start a new run")  # fmt: skip


def _check_profile(plan: Plan, episodes: Sequence[Episode], path: Path) -> None:
    """Exit with code 1 if some episodes were not scored with the plan's profile."""
    recorded = [episode.scores.get("profile") for episode in episodes]
    others = [name for name in ("custom", "paper", "recommended") if name in recorded and name != plan.scoring.profile]
    if others:
        fail(f"episodes of this run were scored as {', '.join(others)}, but the run is scored as "
             f"{plan.scoring.profile}. Score them alike with: corepath rescore {path}")  # fmt: skip


def _check_tasks(folder: RunFolder, plan: Plan) -> None:
    """Exit with code 1 if a task has changed since the run began."""
    with show_status("checking that the tasks are still the same"):
        try:
            different = changed_tasks(folder, plan)
        except TaskError as error:
            fail(f"{folder.path / MANIFEST}: a task of this run cannot be built any more: {error}")
    if different:
        listed = ", ".join(different[:5]) + (f" and {len(different) - 5} more" if len(different) > 5 else "")
        rescore = f"Score the finished ones again with: corepath rescore {folder.path}"
        fail(f"{folder.path}: {listed} changed since this run began, and episodes of different tasks cannot be mixed. "
             f"{'Start a new run' if plan.redact else rescore}")  # fmt: skip

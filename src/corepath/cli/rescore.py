"""The command that scores recorded episodes again: rescore."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.cli.options import JsonOption, RunsArgument, TasksOption, WideOption, find_tasks
from corepath.cli.printing import fail, print_damage, print_problems, say
from corepath.cli.profile import Profile
from corepath.cli.resume import read_plan
from corepath.cli.run_summary import print_runs, refuse_mixed_profiles
from corepath.episode import Episode
from corepath.errors import CorepathError, Problem, count
from corepath.files.episodes import episode_json
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Tasks
from corepath.play.play import rescore
from corepath.runs.entries import read_entries
from corepath.runs.folder import SET_ASIDE, RunFolder, replace_file
from corepath.runs.plan import Plan, rescored_manifest


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("rescore")(rescore_command)


def rescore_command(
    places: RunsArgument,
    tasks: TasksOption = None,
    profile: Annotated[Profile | None, typer.Option(help="Scoring profile. Default: the recorded one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would change, and write nothing.")] = False,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Score recorded episodes again with the current tasks, and write the scores. Runs no agent."""
    paths = {path.resolve(): path for path in places}.values()
    known = find_tasks(tasks)
    damaged = [_rescore_file(path, known, profile, dry_run=dry_run) for path in paths if path.is_file()]
    folders = [RunFolder.open(path) for path in paths if path.is_dir()]
    plans = _read_plans(folders, profile)
    damaged += [_rescore_run(folder, plan, dry_run=dry_run) for folder, plan in zip(folders, plans, strict=True)]
    if folders and not dry_run:
        print_runs([RunFolder.open(folder.path) for folder in folders], as_json=as_json, wide=wide)
    raise typer.Exit(int(any(damaged)))


def _read_plans(folders: Sequence[RunFolder], profile: Profile | None) -> list[Plan]:
    """Read the runs' plans. If `profile` is not None, replace their scoring options.

    Without a profile, exit with code 1 if the runs were scored with different profiles.
    """
    plans = [read_plan(folder) for folder in folders]
    if profile is not None:
        return [replace(plan, scoring=profile.scoring) for plan in plans]
    refuse_mixed_profiles(plan.scoring.profile for plan in plans)
    return plans


def _rescore_run(folder: RunFolder, plan: Plan, *, dry_run: bool) -> bool:
    """Score a run's episodes again. Set damaged lines aside, and return True if there are any."""
    if plan.redact:
        fail(f"{folder.path} was redacted ({', '.join(plan.redact)}): its calls cannot be scored again")
    with folder.writing():
        damaged = print_damage(
            folder.lines(), "would be set aside" if dry_run else f"set aside in {folder.path / SET_ASIDE}"
        )
        before = list(folder.episodes())
        after, manifest = _score_run(folder, before, plan)
        if not dry_run:
            folder.set_aside(damaged)
            folder.replace(after, manifest)
    different = sum(_scores_json(old) != _scores_json(new) for old, new in zip(before, after, strict=True))
    _say_different(folder.path, different, len(before), dry_run=dry_run)
    return bool(damaged)


def _score_run(folder: RunFolder, episodes: Sequence[Episode], plan: Plan) -> tuple[list[Episode], Mapping[str, Any]]:
    """Score the episodes with the plan's tasks and scoring options. Return the scored episodes and the new manifest."""
    sources = {source.id: source for source in plan.sources}
    try:
        pairs = [(sources[episode.task].make(plan.seed), episode) for episode in episodes]
        scored = [rescore(task, replace(one, fingerprint=fingerprint(task)), plan.scoring) for task, one in pairs]
        return scored, rescored_manifest(folder, plan)
    except CorepathError as error:
        fail(f"{folder.path}: {error}")


def _rescore_file(path: Path, tasks: Tasks, profile: Profile | None, *, dry_run: bool) -> bool:
    """Score a file's episodes again. Leave lines that cannot be scored unchanged, and return True if there are any."""
    lines = path.read_bytes().split(b"\n")
    problems: list[Problem] = []
    different = total = 0
    for entry in read_entries(path, tasks):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        total += 1
        try:
            task = entry.task
            scoring = entry.scoring if profile is None else profile.scoring
            after = rescore(task, replace(entry.episode, fingerprint=fingerprint(task)), scoring)
        except CorepathError as error:
            problems.append(entry.problem(str(error)))
            continue
        different += _scores_json(after) != _scores_json(entry.episode)
        lines[entry.line - 1] = episode_json(after).encode()
    print_problems(problems)
    if not dry_run:
        replace_file(path, b"\n".join(lines))
    _say_different(path, different, total, dry_run=dry_run)
    return bool(problems)


def _scores_json(episode: Episode) -> str:
    return json.dumps(episode.scores)


def _say_different(path: Path, different: int, total: int, *, dry_run: bool) -> None:
    have = "would have" if dry_run else "has" if different == 1 else "have"
    say(f"{path}: {different:,} of {count(total, 'episode')} {have} other scores")

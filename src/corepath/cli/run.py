"""The command that runs agents on tasks: run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Final

import typer

from corepath.cli import run_options as option
from corepath.cli.dry_run import print_dry_run
from corepath.cli.models import check_models, model_runner
from corepath.cli.options import JsonOption, TaskArguments, WideOption
from corepath.cli.printing import fail, print_problems, say, usage_error
from corepath.cli.profile import Profile
from corepath.cli.progress import RunProgress, show_status
from corepath.cli.resume import resume_run
from corepath.cli.run_summary import Tally, check_failures, print_tally
from corepath.episode import Episode, world_name
from corepath.errors import CorepathError, InputError, OptionError, TaskError
from corepath.files.lookup import Source, all_sources
from corepath.play.built_in import BUILT_IN, FLOOR
from corepath.play.own_agents import digest, find_agent, is_own
from corepath.runs.folder import MANIFEST, RunFolder, new_folder, why_not_new
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan
from corepath.runs.redaction import redaction_of, values_in


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("run")(run_command)


def run_command(
    context: typer.Context,
    targets: TaskArguments = None,
    agents: option.Agents = None,
    models: option.Models = None,
    worlds: option.Worlds = None,
    tasks: option.Tasks = None,
    epochs: option.Epochs = 1,
    limit: option.Limit = None,
    seed: option.Seed = 0,
    out_folder: option.Folder = None,
    resume: option.Resume = None,
    retry: option.Retry = False,
    redact: option.Redact = None,
    profile: option.ScoringProfile = Profile.PAPER,
    max_connections: option.Connections = None,
    base_url: option.BaseUrl = None,
    max_retries: option.Retries = 5,
    timeout: option.Timeout = 300,
    threads: option.Threads = 2,
    jobs: option.Jobs = 0,
    dry_run: option.DryRun = False,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Run agents on tasks: record every call, score the episodes, and print the paper's table."""
    folder, damaged = None, False
    if resume is not None:
        _refuse_new_options(context)
        folder, plan, damaged = resume_run(resume, retry=retry, dry_run=dry_run)
    elif retry:
        usage_error("--retry belongs to --resume")
    else:
        options = {"max_connections": max_connections, "base_url": _check_url(base_url, models),
                   "max_retries": max_retries, "timeout": timeout, "threads": threads}  # fmt: skip
        empty = Plan(
            (), epochs=epochs, seed=seed, scoring=profile.scoring, redact=_field_names(redact), options=options
        )
        plan = _make_plan(empty, agents or [], models or [], [*(targets or []), *(worlds or []), *(tasks or [])], limit)
    if dry_run:
        print_dry_run(plan, folder, as_json=as_json)
        raise typer.Exit(int(damaged))
    if plan.models:
        check_models(plan.models, plan.options)
    folder = folder or _create_folder(plan, out_folder)
    with _explain_interruptions(folder):
        tally = _play(plan, folder, jobs)
    print_tally(tally, [folder], as_json=as_json, wide=wide)
    check_failures(tally, plan, folder)
    raise typer.Exit(int(damaged))


# What to run

_WITH_RESUME: Final = ("context", "resume", "retry", "jobs", "dry_run", "as_json")
"""The parameters that may be combined with `--resume`."""


def _refuse_new_options(context: typer.Context) -> None:
    """Exit with code 2 if the user set an option that a resumed run would ignore."""
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        is_given = source is not None and source.name == "COMMANDLINE" and value not in (None, [], ())
        if name not in _WITH_RESUME and is_given:
            what = "a task" if name == "targets" else _option_name(context, name)
            usage_error(f"{what} is for a new run; --resume keeps the options of the run")


def _option_name(context: typer.Context, name: str) -> str:
    return next(one.opts[0] for one in context.command.params if one.name == name)


def _field_names(redact: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (redact or "").split(",") if name.strip())
    if redact is not None and not names:
        usage_error("--redact names no field; write it as --redact email,phone")
    return names


def _check_url(base_url: str | None, models: list[str] | None) -> str | None:
    if base_url is None:
        return None
    if not models:
        usage_error("--base-url is where a model is served; say which with --model")
    if "@" in base_url.partition("//")[2].partition("/")[0]:
        usage_error("--base-url is written into the run: give the key in OPENAI_API_KEY, and not in the address")
    return base_url


def _make_plan(empty: Plan, agents: list[str], models: list[str], targets: list[str], limit: int | None) -> Plan:
    """Add the tasks, agents and models that the user named to an empty plan."""
    sources = _find_sources(agents, targets)
    floor = FLOOR if models and not agents else ()
    who = tuple(dict.fromkeys(agents)) or floor or BUILT_IN
    if both := set(who) & set(models):
        usage_error(
            f"'{min(both)}' is a built-in agent and a model; run them separately, so that the results are not mixed"
        )
    return replace(
        empty,
        sources=tuple(sources if limit is None else _limit_worlds(sources, limit)),
        agents=who,
        models=tuple(dict.fromkeys(models)),
        floor=floor,
        own={name: digest(name) for name in who if is_own(name)},
    )


def _find_sources(agents: list[str], targets: list[str]) -> list[Source]:
    """Find the tasks that the user named, after checking that the agents exist."""
    try:
        with redirect_stdout(sys.stderr):
            for name in agents:
                find_agent(name)
        return all_sources(targets, playable=True)
    except InputError as error:
        print_problems(error.problems)
        raise typer.Exit(1) from None
    except (TaskError, OptionError) as error:
        agent = next((one for one in targets if one.partition(":")[0] in BUILT_IN), None)
        usage_error(f"{error}" if agent is None else f"'{agent}' is an agent; write it as --agent {agent}")


def _limit_worlds(sources: list[Source], limit: int) -> list[Source]:
    """Keep the first `limit` tasks in each world."""
    worlds: dict[str, list[Source]] = {}
    for source in sources:
        worlds.setdefault(world_name(source.id), []).append(source)
    return [source for own in worlds.values() for source in own[:limit]]


# How it is run


def _create_folder(plan: Plan, out_folder: Path | None) -> RunFolder:
    with show_status("making the tasks"):
        manifest = plan.manifest()
    path = out_folder or new_folder()
    if why := why_not_new(path):
        usage_error(f"{path} {why}")
    return RunFolder.create(path, manifest)


@contextmanager
def _explain_interruptions(folder: RunFolder) -> Iterator[None]:
    """Turn Ctrl-C or an error inside the `with` block into a message, which says how to resume if that helps."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; every finished episode is kept. Go on with: corepath run --resume {folder.path}")
        raise typer.Exit(130) from None
    except InputError:
        raise
    except TaskError as error:
        fail(f"{folder.path / MANIFEST}: {error}")
    except CorepathError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.strerror or error}; every finished episode is kept. "
             f"When that is fixed, go on with: corepath run --resume {folder.path}")  # fmt: skip


def _play(plan: Plan, folder: RunFolder, jobs: int) -> Tally:
    """Play the plan's episodes that are not in the folder yet, and return the tally of all."""
    folder.redact = redaction_of(folder.path, plan.redact)
    if folder.redact is not None:
        for source in plan.sources:  # values to redact may be in the tasks themselves
            folder.redact.learn(values_in(source.make(plan.seed)))
    tally = Tally.of(plan)
    with folder.writing():
        done = tally.add_run(folder, plan)
        asked = set(plan.asked)
        progress = RunProgress(len(asked) * plan.share, sum(agent in asked for agent, _, _ in done))

        def show(episode: Episode) -> None:
            row = tally.add(episode)
            if episode.agent in asked:
                progress.add(episode, row)

        with progress.show():
            play_function_agents(plan, folder, done, show, jobs)
            if plan.models:
                model_runner().play_models(plan, folder, done, show, lambda *_: None)
        say(progress.last_line)
    if folder.redact is None:
        return tally
    for name in sorted(folder.redact.fields - folder.redact.seen):
        say(f"--redact {name}: no field of that name was met")
    written = Tally.of(plan)
    written.add_run(folder, plan)  # scores may contain what is redacted
    return written

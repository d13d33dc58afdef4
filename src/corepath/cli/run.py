"""The commands that run agents: run, rescore."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from corepath.cli.options import (
    MISSING_EXTRA,
    JsonOption,
    RunsArgument,
    TaskArguments,
    TasksOption,
    find_tasks,
    present_run,
)
from corepath.cli.printing import out, print_table, report, safe, say, table, tell_damage, wrong_use
from corepath.cli.profile import Profile
from corepath.cli.progress import Watch, fetching, waiting
from corepath.episode import FAILED_OUTSIDE, Episode, agent_of, world_of
from corepath.errors import CorepathError, InputError, OptionError, Problem, TaskError, count, install
from corepath.files.episodes import episode_json
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Source, Tasks, all_sources
from corepath.play.built_in import BUILT_IN, FLOOR
from corepath.play.own_agents import RAISED, digest, find_agent, is_own
from corepath.play.play import rescored
from corepath.report.summary_table import MORE_COLUMNS, Means, summary_table
from corepath.runs.entries import read_entries
from corepath.runs.folder import MANIFEST, SET_ASIDE, RunFolder, key_of, new_folder, replace_file, why_not_new
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan, changed_tasks, rescored_manifest
from corepath.runs.redaction import redaction_of, values_in
from corepath.runs.tasks import RunTasks
from corepath.scoring.summary import summarise


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("run")(run_command)
    app.command("rescore")(rescore_command)


def run_command(
    context: typer.Context,
    targets: TaskArguments = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            help="Your own, FILE.py:FUNCTION or MODULE:FUNCTION; or a built-in one, as in oracle or swapped:0.3. "
            "Default: all built-in ones.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="A live model, PROVIDER/NAME; local, or local:FILE.gguf, runs one here."),
    ] = None,
    worlds: Annotated[list[str] | None, typer.Option("--world", help="Worlds, by name or as a .py file.")] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="Tasks besides, as in farm/dry_plants, or task files that name a world."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often each agent does each task.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks of each world.")] = None,
    seed: Annotated[int, typer.Option(help="Of tasks and agents: 0 is each task as it stands, others vary it.")] = 0,
    out_folder: Annotated[Path | None, typer.Option("--out", help="The run's folder. Default: runs/DATE-TIME.")] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="Go on with the run in this folder.", callback=present_run)
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="With --resume: try again what failed outside the agent.")
    ] = False,
    redact: Annotated[
        str | None, typer.Option("--redact", metavar="FIELDS", help="Never write the values of these fields.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How to score.")] = Profile.PAPER,
    max_connections: Annotated[
        int | None, typer.Option(min=1, help="Episodes of a model at the same time. Default: 10; local: 1.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="An OpenAI-compatible server; --model is then its name there.")
    ] = None,
    max_retries: Annotated[int, typer.Option(min=0, help="Of a request that the service fails.")] = 5,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one request may take.")] = 300,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a local model.")] = 2,
    jobs: Annotated[int, typer.Option(min=0, help="Processes for agents that are no models; 0: one a core.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run agents on tasks; record every call, score, and print the paper's table."""
    damaged = False
    if resume is not None:
        _only_for_new_runs(context)
        folder, plan, damaged = _resumed(resume, retry=retry, dry_run=dry_run)
    else:
        if retry:
            wrong_use("--retry belongs to --resume")
        plan = _plan(
            agents or [], models or [], [*(targets or []), *(worlds or []), *(tasks or [])], limit,
            Plan((), epochs=epochs, seed=seed, scoring=profile.scoring, redact=_names(redact),
                 options={"max_connections": max_connections, "base_url": _address(base_url, models),
                          "max_retries": max_retries, "timeout": timeout, "threads": threads}),
        )  # fmt: skip
    if dry_run:
        _print_dry_run(plan, folder if resume is not None else None, as_json=as_json)
        raise typer.Exit(int(damaged))
    if plan.models:
        _checked(plan)
    if resume is None:
        with waiting("making the tasks"):
            manifest = plan.manifest()
        folder = RunFolder.create(_new_place(out_folder), manifest)
    try:
        _carry_out(plan, folder, jobs)
    except KeyboardInterrupt:
        say(f"stopped; every finished episode is kept. Go on with: corepath run --resume {folder.path}")
        raise typer.Exit(130) from None
    except InputError:
        raise
    except TaskError as error:
        _refuse(f"{folder.path / MANIFEST}: {error}")
    except CorepathError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"{error.strerror or error}; every finished episode is kept. "
                f"When that is mended, go on with: corepath run --resume {folder.path}")  # fmt: skip
    _print_run([folder], as_json=as_json)
    _say_what_failed(plan, folder)
    raise typer.Exit(int(damaged))


def _new_place(given: Path | None) -> Path:
    """The folder of a new run; the command ends where something is there already."""
    path = given or new_folder()
    if why := why_not_new(path):
        wrong_use(f"{path} {why}")
    return path


_WITH_RESUME = ("context", "resume", "retry", "jobs", "dry_run", "as_json")


def _only_for_new_runs(context: typer.Context) -> None:
    """A run goes on as it was begun: other options would be silently without effect."""
    for name in context.params:
        given = context.get_parameter_source(name)
        is_given = given is not None and given.name == "COMMANDLINE" and context.params[name] not in (None, [], ())
        if name not in _WITH_RESUME and is_given:
            option = "a task" if name == "targets" else _option(context, name)
            wrong_use(f"{option} is for a new run; --resume goes on with the options that the run was begun with")


def _option(context: typer.Context, name: str) -> str:
    return next(one.opts[0] for one in context.command.params if one.name == name)


def _names(redact: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (redact or "").split(",") if name.strip())
    if redact is not None and not names:
        wrong_use("--redact names no field; write it as --redact email,phone")
    return names


def _address(base_url: str | None, models: list[str] | None) -> str | None:
    if base_url is None:
        return None
    if not models:
        wrong_use("--base-url is where a model is served; say which with --model")
    if "@" in base_url.partition("//")[2].partition("/")[0]:
        wrong_use("--base-url is written into the run: give the key in OPENAI_API_KEY, and not in the address")
    return base_url


def _plan(agents: list[str], models: list[str], targets: list[str], limit: int | None, rest: Plan) -> Plan:
    """What the options say."""
    try:
        with redirect_stdout(sys.stderr):
            for name in agents:
                find_agent(name)
        found = all_sources(targets, playable=True)
    except (TaskError, OptionError, InputError) as error:
        if isinstance(error, InputError):
            report(error.problems)
            raise typer.Exit(1) from None
        agent = next((one for one in targets if one.partition(":")[0] in BUILT_IN), None)
        wrong_use(f"{error}" if agent is None else f"'{agent}' is an agent; write it as --agent {agent}")
    if limit is not None:
        worlds: dict[str, list[Source]] = {}
        for source in found:
            worlds.setdefault(source.id.partition("/")[0], []).append(source)
        found = [source for own in worlds.values() for source in own[:limit]]
    floor = FLOOR if models and not agents else ()
    who = tuple(dict.fromkeys(agents)) or floor or BUILT_IN
    if both := set(who) & set(models):
        wrong_use(f"'{min(both)}' is a built-in agent and a model; run them apart, so that they can be told apart")
    return replace(rest, sources=tuple(found), agents=who, models=tuple(dict.fromkeys(models)), floor=floor,
                   own={name: digest(name) for name in who if is_own(name)})  # fmt: skip


def _resumed(path: Path, *, retry: bool, dry_run: bool) -> tuple[RunFolder, Plan, bool]:
    """A run that can go on, and whether it had damaged lines: they are set aside, and their episodes played again."""
    folder = RunFolder.open(path)
    if folder.manifest.get("kind") == "serve":
        wrong_use(f"{path} is of corepath serve; go on with: corepath serve TASK --out {path}")
    plan = _plan_of(folder)
    episodes = list(folder.episodes())
    _check_own(plan, finished=len(episodes) == plan.size)
    if others := _profiles(episodes) - {plan.scoring.profile}:
        _refuse(f"episodes of this run were scored as {', '.join(sorted(others))}, and it is to be scored as "
                f"{plan.scoring.profile}. Score them alike with: corepath rescore {path}")  # fmt: skip
    if len(episodes) < plan.size:
        with waiting("looking whether the tasks are still the same"):
            different = _changed(folder, plan)
        if different:
            listed = ", ".join(different[:5]) + (f" and {len(different) - 5} more" if len(different) > 5 else "")
            advice = (
                f"Score those that are there again with: corepath rescore {path}" if not plan.redact
                else "Begin a new run"
            )  # fmt: skip
            _refuse(f"{path}: {listed} changed since this run began, and episodes of different tasks cannot be mixed. "
                    f"{advice}")  # fmt: skip
    find = RunTasks(folder, plan)
    if dry_run:
        return folder, plan, bool(tell_damage(find.lines(plan.scoring), "would be set aside"))
    with folder.writing():
        if retry:
            folder.set_aside({
                line.line for line in folder.lines() if line.episode and line.episode.failure
            })  # fmt: skip
        damaged = tell_damage(find.lines(plan.scoring), f"set aside in {path / SET_ASIDE}")
        folder.set_aside(damaged)
    return folder, plan, bool(damaged)


def _profiles(episodes: Sequence[Episode]) -> set[str]:
    """The profiles that episodes were scored with."""
    scores = [episode.scores for episode in episodes]
    found = [one.get("profile") for one in scores if isinstance(one, dict)]
    return {name for name in ("paper", "recommended", "custom") if name in found}


def _check_own(plan: Plan, *, finished: bool) -> None:
    """Agents of one's own are still there, and as they were when the run was begun."""
    for name, before in plan.own.items():
        if not before and finished:
            continue
        if not before:
            wrong_use(f"agent '{name}' of this run is a Python function, given to corepath.run; begin a new run there")
        try:
            with redirect_stdout(sys.stderr):
                find_agent(name)
        except (OptionError, TaskError) as error:
            wrong_use(f"{error}; it is an agent of this run; run this where the run was begun")
        if digest(name) != before:
            _refuse(f"the file of agent '{name}' changed since this run began, and episodes of different agents "
                    "cannot be mixed. Begin a new run")  # fmt: skip


def _changed(folder: RunFolder, plan: Plan) -> list[str]:
    try:
        return changed_tasks(folder, plan)
    except TaskError as error:
        _refuse(f"{folder.path / MANIFEST}: a task of this run cannot be made any more: {error}")


def _refuse(message: str) -> NoReturn:
    say(f"corepath: {message}")
    raise typer.Exit(1)


def _plan_of(folder: RunFolder) -> Plan:
    """The plan of a run, where its tasks can be found."""
    plan = Plan.of(folder)
    if gone := next((source.where for source in plan.sources if source.is_missing), None):
        wrong_use(f"{folder.path}: no such file: {gone}, of which this run is; run this where the run was begun")
    return plan


def _carry_out(plan: Plan, folder: RunFolder, jobs: int) -> None:
    folder.redact = redaction_of(folder.path, plan.redact)
    if folder.redact is not None:
        for source in plan.sources:  # what the tasks themselves have of such values
            folder.redact.learn(values_in(source.make(plan.seed)))
    with folder.writing():
        done = {key_of(episode) for episode in folder.episodes()}
        asked = set(plan.asked)
        watch = Watch(len(asked) * plan.share, sum(agent in asked for agent, _, _ in done))

        def told(episode: Episode) -> None:
            if episode.agent in asked:
                watch.told(episode)

        with watch.shown():
            play_function_agents(plan, folder, done, told, jobs)
            if plan.models:
                _live().play_models(plan, folder, done, told, lambda *_: None)
        say(watch.last_line)
        if folder.redact is not None:
            for name in sorted(folder.redact.fields - folder.redact.seen):
                say(f"--redact {name}: no field of that name was met")


def _say_what_failed(plan: Plan, folder: RunFolder) -> None:
    """Say of whom episodes failed outside, and why; where all of one did, the run has failed."""
    played: dict[str, list[Episode]] = {}
    for episode in folder.episodes():
        played.setdefault(agent_of(episode), []).append(episode)
    failed = {name: [one for one in own if one.outcome == FAILED_OUTSIDE] for name, own in played.items()}
    lost = [name for name, own in failed.items() if own and len(own) == len(played[name])]
    again = f"corepath run --resume {folder.path} --retry"
    for name, own in failed.items():
        if own:
            say(f"corepath: {_why(name, own, len(played[name]), plan)}")
    if any(name not in plan.own for name in lost):
        _refuse(f"when that is mended, try again with: {again}")
    if any(own for name, own in failed.items() if name not in plan.own):
        say(f"corepath: try what failed again with: {again}")
    if any(failed.get(name) for name in plan.own):
        raise typer.Exit(1)


def _why(name: str, failed: Sequence[Episode], played: int, plan: Plan) -> str:
    """Why episodes of an agent failed outside it, in a line."""
    failure = failed[0].failure
    if failure.get("kind") == RAISED:
        where = f"{len(failed)} of {count(played, 'episode')}" if len(failed) < played else "every episode"
        return f"{name} raised in {where}, which are in no mean; first at {failure.get('at')}: {failure['message']}"
    reason = f"{failure.get('kind')}: {failure.get('message')}"
    if len(failed) < played:
        return f"{len(failed)} of {count(played, 'episode')} of {name} failed outside it, the first by {reason}"
    address = f" at {plan.options['base_url']}" if plan.options.get("base_url") else ""
    rest = plan.share - played
    return f"{name} was not reached{address}: {reason} ({count(played, 'episode')} failed" + (
        f"; the other {rest} were not tried)" if rest else ")"
    )


def _checked(plan: Plan) -> None:
    """Make sure, before anything is run, that the models can be; what is missing of a local one is fetched."""
    with fetching() as told:
        try:
            _live().check_models(plan.models, plan.options, told)
        except OptionError as error:
            wrong_use(str(error))
        except CorepathError as error:
            say(f"corepath: {error}")
            raise typer.Exit(MISSING_EXTRA) from None


def _live() -> Any:
    """What runs models: it needs packages that are an extra."""
    try:
        from corepath.runs import models  # noqa: PLC0415
    except ImportError as error:
        say(f"corepath: running models needs more packages ({error}): {install('run')}")
        raise typer.Exit(MISSING_EXTRA) from None
    return models


def rescore_command(
    places: RunsArgument,
    tasks: TasksOption = None,
    profile: Annotated[Profile | None, typer.Option(help="How to score; as before unless given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score episodes again with the tasks as they are now, and write their scores; nothing is run."""
    each = {path.resolve(): path for path in places}.values()
    known = find_tasks(tasks)
    damaged = False
    for path in (path for path in each if path.is_file()):
        damaged |= _rescore_file(path, known, profile, dry_run=dry_run)
    opened = [RunFolder.open(path) for path in each if path.is_dir()]
    ways = sorted({_plan_of(folder).scoring.profile for folder in opened})
    if profile is None and len(ways) > 1:
        _refuse(f"these runs were scored in different ways ({', '.join(ways)}), and are not put into one table. "
                "Score them alike with --profile")  # fmt: skip
    for folder in opened:
        plan = _plan_of(folder)
        if plan.redact:
            say(f"corepath: {folder.path} was redacted ({', '.join(plan.redact)}): its calls cannot be scored again")
            raise typer.Exit(1)
        scoring = plan.scoring if profile is None else profile.scoring
        with folder.writing():
            what = "would be set aside" if dry_run else f"set aside in {folder.path / SET_ASIDE}"
            aside = tell_damage(folder.lines(), what)
            damaged = damaged or bool(aside)
            before = list(folder.episodes())
            after, manifest = _scored_again(folder, before, replace(plan, scoring=scoring))
            moved = sum(_scores_json(old) != _scores_json(new) for old, new in zip(before, after, strict=True))
            if not dry_run:
                folder.set_aside(aside)
                folder.replace(after, manifest)
        _say_moved(folder.path, moved, len(before), dry_run=dry_run)
    if opened and not dry_run:
        _print_run([RunFolder.open(folder.path) for folder in opened], as_json=as_json)
    raise typer.Exit(int(damaged))


def _say_moved(path: Path, moved: int, of: int, *, dry_run: bool) -> None:
    have = "would have" if dry_run else "has" if moved == 1 else "have"
    say(f"{path}: {moved:,} of {count(of, 'episode')} {have} other scores")


def _rescore_file(path: Path, tasks: Tasks, profile: Profile | None, *, dry_run: bool) -> bool:
    """Score the episodes of a file again; whether one could not be, which then stays as it is."""
    lines = path.read_bytes().split(b"\n")
    problems: list[Problem] = []
    moved = of = 0
    for entry in read_entries(path, tasks):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        of += 1
        try:
            task = entry.task
            scoring = entry.scoring if profile is None else profile.scoring
            after = rescored(task, replace(entry.episode, fingerprint=fingerprint(task)), scoring)
        except CorepathError as error:
            problems.append(entry.problem(str(error)))
            continue
        moved += _scores_json(after) != _scores_json(entry.episode)
        lines[entry.line - 1] = episode_json(after).encode()
    report(problems)
    if not dry_run:
        replace_file(path, b"\n".join(lines))
    _say_moved(path, moved, of, dry_run=dry_run)
    return bool(problems)


def _scores_json(episode: Episode) -> str:
    return json.dumps(episode.scores)


def _scored_again(
    folder: RunFolder, episodes: Sequence[Episode], plan: Plan
) -> tuple[list[Episode], Mapping[str, Any]]:
    """The episodes and the manifest of a run that is scored as the plan says."""
    sources = {source.id: source for source in plan.sources}
    try:
        pairs = [(sources[episode.task].make(plan.seed), episode) for episode in episodes]
        scored = [rescored(task, replace(one, fingerprint=fingerprint(task)), plan.scoring) for task, one in pairs]
        return scored, rescored_manifest(folder, plan)
    except CorepathError as error:
        say(f"corepath: {folder.path}: {error}")
        raise typer.Exit(1) from None


# How it is told

_MEANS = Means(MORE_COLUMNS)


def _print_run(folders: Sequence[RunFolder], *, as_json: bool) -> None:
    """The paper's tables of runs: per agent, and where a live model ran per world."""
    profiles = sorted({folder.manifest["profile"] for folder in folders})
    if len(profiles) > 1:
        _refuse(f"these runs were scored in different ways ({', '.join(profiles)}), and are not put into one table. "
                "Score them alike with --profile")  # fmt: skip
    plans = [Plan.of(folder) for folder in folders]
    lines = [
        line for folder, plan in zip(folders, plans, strict=True) for line in RunTasks(folder, plan).lines(plan.scoring)
    ]
    episodes = [line.episode for line in lines if line.episode is not None]
    rule = plans[0].scoring.undefined_efficiency
    by_agent = summarise(episodes, agent_of, rule)
    if as_json:
        for one in by_agent.values():
            typer.echo(json.dumps({"agent": one.name, **one.to_dict()}))
        return
    typer.echo(summary_table("Scores by agent", "agent", by_agent.values(), _MEANS).text())
    live = {name for plan in plans for name in plan.models}
    for name in sorted(live):
        own = summarise([episode for episode in episodes if episode.agent == name], world_of, rule)
        if own and by_agent[name].counted:
            typer.echo("\n" + summary_table(f"Scores of {name} by world", "world", own.values(), _MEANS).text())
    for folder in folders:
        out.print(f"\nrun: {folder.path} (look at it with: corepath view {folder.path})", markup=False, soft_wrap=True)


def _print_dry_run(plan: Plan, folder: RunFolder | None, *, as_json: bool) -> None:
    """What would be run: episodes, tools, and about how many tokens."""
    from corepath.runs.token_estimate import estimate  # noqa: PLC0415

    if folder is not None:
        left = plan.size - sum(1 for _ in folder.episodes())
        if as_json:
            typer.echo(json.dumps({"run": str(folder.path), "episodes": plan.size, "missing": left}))
        else:
            out.print(f"{left:,} of {count(plan.size, 'episode')} are missing and would be played; nothing was run")
        return
    rows = [estimate(source.make(plan.seed)) for source in plan.sources]
    agents = len(plan.agents) + len(plan.models)
    episodes_of_models = len(plan.models) * plan.epochs
    tokens = [episodes_of_models * sum(row.input_tokens for row in rows),
              episodes_of_models * sum(row.output_tokens for row in rows)]  # fmt: skip
    if as_json:
        for source, row in zip(plan.sources, rows, strict=True):
            typer.echo(json.dumps({"task": source.id, "episodes": agents * plan.epochs, **vars(row)}))
        return
    made = table("task", "episodes", "tools", "step limit", "turns", "tokens a turn")
    for source, row in zip(plan.sources, rows, strict=True):
        made.add_row(
            safe(source.id), str(agents * plan.epochs), str(row.tools), str(row.step_limit), str(row.turns),
            f"{row.tokens_a_turn:,}",
        )  # fmt: skip
    print_table(made)
    who = ", ".join((*plan.agents, *plan.models))
    sizes = (count(len(plan.sources), "task"), count(agents, "agent"), count(plan.epochs, "epoch"))
    out.print(f"{count(plan.size, 'episode')}: {' × '.join(sizes)} ({who})")
    if plan.models:
        out.print(f"about {tokens[0]:,} tokens in and {tokens[1]:,} out, if each takes a shortest way; nothing was run")

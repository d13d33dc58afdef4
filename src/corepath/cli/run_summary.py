"""What `corepath run` and `corepath rescore` print at the end: the paper's tables, and what failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import typer

from corepath.cli.printing import fail, out, print_scores, say
from corepath.episode import FAILED_OUTSIDE, Episode, agent_of, world_of
from corepath.errors import count
from corepath.play.own_agents import RAISED
from corepath.report.summary_table import MORE_COLUMNS, Means, summary_table
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan
from corepath.runs.tasks import RunTasks
from corepath.scoring.summary import summarise

_MEANS: Final = Means(MORE_COLUMNS)


def print_runs(folders: Sequence[RunFolder], *, as_json: bool, wide: bool = False) -> None:
    """Print a table of scores by agent, and a table of scores by world for each live model."""
    refuse_mixed_profiles(folder.manifest["profile"] for folder in folders)
    plans = [Plan.of(folder) for folder in folders]
    episodes = list(chain.from_iterable(map(_read_scored, folders, plans)))
    rule = plans[0].scoring.undefined_efficiency
    by_agent = summarise(episodes, agent_of, rule)
    if as_json:
        for one in by_agent.values():
            typer.echo(json.dumps({"agent": one.name, **one.to_dict()}))
        return
    print_scores(summary_table("Scores by agent", "agent", by_agent.values(), _MEANS), wide=wide)
    models = {name for plan in plans for name in plan.models}
    for name in sorted(models & by_agent.keys()):
        if by_agent[name].counted:
            own = summarise((one for one in episodes if one.agent == name), world_of, rule)
            typer.echo()
            print_scores(summary_table(f"Scores of {name} by world", "world", own.values(), _MEANS), wide=wide)
    for folder in folders:
        out.print(f"\nrun: {folder.path} (look at it with: corepath view {folder.path})", markup=False, soft_wrap=True)


def refuse_mixed_profiles(profiles: Iterable[str]) -> None:
    """Exit with code 1 if runs were scored with different profiles, since their means cannot be compared."""
    names = sorted(set(profiles))
    if len(names) > 1:
        fail(f"these runs were scored in different ways ({', '.join(names)}), and cannot be in one table. "
             "Score them alike with --profile")  # fmt: skip


def _read_scored(folder: RunFolder, plan: Plan) -> list[Episode]:
    """Read a run's episodes, and score those that have no scores yet."""
    return [line.episode for line in RunTasks(folder, plan).lines(plan.scoring) if line.episode is not None]


def check_failures(plan: Plan, folder: RunFolder) -> None:
    """Print how many of each agent's episodes failed and why. Exit with code 1 if the run failed.

    A run fails if all of an agent's episodes failed, or if one of the user's own agents raised an exception.
    """
    played = Counter[str]()
    failed: dict[str, list[Episode]] = {}
    for episode in folder.episodes():
        played[agent_of(episode)] += 1
        if episode.outcome == FAILED_OUTSIDE:
            failed.setdefault(agent_of(episode), []).append(episode)
    for name, own in failed.items():
        say(f"corepath: {_describe_failure(name, own, played[name], plan)}")
    others = [name for name in failed if name not in plan.own]
    retry = f"corepath run --resume {folder.path} --retry"
    if any(len(failed[name]) == played[name] for name in others):
        fail(f"when that is fixed, try again with: {retry}")
    if others:
        say(f"corepath: try what failed again with: {retry}")
    if len(others) < len(failed):
        raise typer.Exit(1)


def _describe_failure(name: str, failed: Sequence[Episode], played: int, plan: Plan) -> str:
    """Return a one-line message that says how many of an agent's episodes failed, and why."""
    failure = failed[0].failure
    if failure.get("kind") == RAISED:
        where = f"{len(failed)} of {count(played, 'episode')}" if len(failed) < played else "every episode"
        return f"{name} raised in {where}, which are in no mean; first at {failure.get('at')}: {failure['message']}"
    reason = f"{failure.get('kind')}: {failure.get('message')}"
    if len(failed) < played:
        return f"{len(failed)} of {count(played, 'episode')} of {name} failed outside it, the first by {reason}"
    address = f" at {plan.options['base_url']}" if plan.options.get("base_url") else ""
    untried = plan.share - played
    rest = f"; the other {untried} were not tried" if untried else ""
    return f"{name} was not reached{address}: {reason} ({count(played, 'episode')} failed{rest})"

"""What `corepath run` and `corepath rescore` print at the end: the paper's tables, and what failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import typer

from corepath.cli.printing import fail, out, print_scores, say
from corepath.episode import FAILED_OUTSIDE, Episode, agent_of, world_of
from corepath.errors import count
from corepath.play.own_agents import RAISED
from corepath.report.summary_table import MORE_COLUMNS, Means, summary_table
from corepath.runs.folder import Key, RunFolder, key_of
from corepath.runs.plan import Plan
from corepath.runs.tasks import RunTasks
from corepath.scoring.summary import Row, Summary, row_of

_MEANS: Final = Means(MORE_COLUMNS)


@dataclass
class Tally:
    """What is printed about runs, counted episode by episode, so that no episode stays in memory.

    `failures` has each agent's first failure outside the agent.
    """

    models: frozenset[str]
    undefined_efficiency: str
    by_agent: dict[str, Summary] = field(default_factory=dict)
    by_world: dict[str, dict[str, Summary]] = field(default_factory=dict)
    """A summary for each world, by model."""
    failures: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, *plans: Plan) -> Self:
        """Return the tally of runs that are scored alike, before their first episode."""
        models = frozenset(name for plan in plans for name in plan.models)
        return cls(models, plans[0].scoring.undefined_efficiency)

    def add(self, episode: Episode) -> Row:
        """Count a scored episode, and return its row of values."""
        agent, row = agent_of(episode), row_of(episode, self.undefined_efficiency)
        self._summary(self.by_agent, agent).add(episode, row)
        if agent in self.models:
            self._summary(self.by_world.setdefault(agent, {}), world_of(episode)).add(episode, row)
        if episode.outcome == FAILED_OUTSIDE:
            self.failures.setdefault(agent, episode.failure)
        return row

    def _summary(self, found: dict[str, Summary], name: str) -> Summary:
        if name not in found:
            found[name] = Summary(name, self.undefined_efficiency)
        return found[name]

    def add_run(self, folder: RunFolder, plan: Plan) -> set[Key]:
        """Count the episodes in a run's folder, and return the keys of all. Those without scores are scored."""
        tasks = RunTasks(folder, plan)
        found: set[Key] = set()
        for line in folder.lines():
            if line.episode is not None:
                found.add(key_of(line.episode))
            scored = tasks.score(line, plan.scoring).episode
            if scored is not None:
                self.add(scored)
        return found


def print_runs(folders: Sequence[RunFolder], *, as_json: bool, wide: bool = False) -> None:
    """Print a table of scores by agent, and a table of scores by world for each live model."""
    refuse_mixed_profiles(folder.manifest["profile"] for folder in folders)
    plans = [Plan.of(folder) for folder in folders]
    tally = Tally.of(*plans)
    for folder, plan in zip(folders, plans, strict=True):
        tally.add_run(folder, plan)
    print_tally(tally, folders, as_json=as_json, wide=wide)


def print_tally(tally: Tally, folders: Sequence[RunFolder], *, as_json: bool, wide: bool = False) -> None:
    """Print the tables of a tally, and where the runs are."""
    if as_json:
        for one in tally.by_agent.values():
            typer.echo(json.dumps({"agent": one.name, **one.to_dict()}))
        return
    print_scores(summary_table("Scores by agent", "agent", tally.by_agent.values(), _MEANS), wide=wide)
    for name, own in sorted(tally.by_world.items()):
        if tally.by_agent[name].counted:
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


def check_failures(tally: Tally, plan: Plan, folder: RunFolder) -> None:
    """Print how many of each agent's episodes failed and why. Exit with code 1 if the run failed.

    A run fails if all of an agent's episodes failed, or if one of the user's own agents raised an exception.
    """
    failed = {name: tally.by_agent[name] for name in tally.failures}
    for name, own in failed.items():
        say(f"corepath: {_describe_failure(own, tally.failures[name], plan)}")
    others = [name for name in failed if name not in plan.own]
    retry = f"corepath run --resume {folder.path} --retry"
    if any(failed[name].outside == failed[name].episodes for name in others):
        fail(f"when that is fixed, try again with: {retry}")
    if others:
        say(f"corepath: try what failed again with: {retry}")
    if len(others) < len(failed):
        raise typer.Exit(1)


def _describe_failure(own: Summary, failure: Mapping[str, Any], plan: Plan) -> str:
    """Return a one-line message that says how many of an agent's episodes failed, and why the first did."""
    name, failed, played = own.name, own.outside, own.episodes
    if failure.get("kind") == RAISED:
        where = f"{failed} of {count(played, 'episode')}" if failed < played else "every episode"
        return f"{name} raised in {where}, which are in no mean; first at {failure.get('at')}: {failure['message']}"
    reason = f"{failure.get('kind')}: {failure.get('message')}"
    if failed < played:
        return f"{failed} of {count(played, 'episode')} of {name} failed outside it, the first by {reason}"
    address = f" at {plan.options['base_url']}" if plan.options.get("base_url") else ""
    untried = plan.share - played
    rest = f"; the other {untried} were not tried" if untried else ""
    return f"{name} was not reached{address}: {reason} ({count(played, 'episode')} failed{rest})"

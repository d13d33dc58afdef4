"""Load scored episodes, with their tasks, from run folders and episode files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corepath.episode import Episode, agent_of, exclusion, reward_of, variant_name, variant_of, world_of
from corepath.errors import CorepathError, Problem, count, install
from corepath.files.episodes import EpisodeLine, read_episodes
from corepath.files.lookup import Tasks
from corepath.play.built_in import BUILT_IN
from corepath.play.play import rescore
from corepath.report.fixes import Diagnosis, Fixes
from corepath.report.summary_table import AGENTS, summary_table
from corepath.rules.rule import Rule
from corepath.runs.episode_check import scores_error
from corepath.runs.folder import EPISODES, RunFolder, is_run
from corepath.runs.plan import Plan
from corepath.runs.tasks import FoundTask, RunTasks
from corepath.scoring.agreement import Agreement, agreement
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.rules import RuleCounts, score_rules
from corepath.scoring.score import Score, score
from corepath.scoring.summary import BROKEN, REWARD, Summary, is_by_rules_alone, summarise
from corepath.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from corepath.explanation import Explanation


@dataclass(frozen=True)
class Result:
    """A scored episode and its task. The task is built when it is first needed.

    If the task is not available, `why` gives the reason, and `scores` are the recorded scores, or those by `rules`
    alone. `place` is the folder or file that the episode was read from, and `number` its number there, from 1.
    """

    episode: Episode
    find: Callable[[str], FoundTask] = field(repr=False, compare=False)
    rules: tuple[Rule, ...] = field(default=(), repr=False, compare=False)
    """The rules beside the task."""
    place: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)

    @property
    def task(self) -> Task | None:
        """The task that was played, or None if it is not available."""
        return self.find(self.episode.task)[0]

    @property
    def why(self) -> str | None:
        """The reason why the task is not available, or None if it is available."""
        return self.find(self.episode.task)[1]

    @property
    def agent(self) -> str:
        """The agent's name."""
        return agent_of(self.episode)

    @property
    def world(self) -> str:
        """The world's name."""
        return world_of(self.episode)

    @property
    def task_name(self) -> str:
        """The task's id, followed by the seed unless the seed is 0."""
        return variant_name(*variant_of(self.episode))

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores by name."""
        return self.episode.scores

    @property
    def explanation(self) -> Explanation:
        """An explanation of the episode's scores.

        Raises `CorepathError` if the task is not available and there are no rules.
        """
        return self.explain()[1]

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The cause of a failure, and how to fix it. It is kept, so that an episode is explained only once."""
        return Diagnosis.of(self.explanation)

    def explain(self) -> tuple[Score | None, Explanation]:
        """Score and explain the episode, as `explanation` does. By rules alone, there is no score."""
        from corepath.explanation import explain, explain_rules  # noqa: PLC0415  # not needed for tables

        scoring, task, scored = _recorded_scoring(self.episode), self.task, None
        if task is not None:
            scored = score(task, self.episode, scoring, rules=self.rules)
            found = explain(task, self.episode, scoring, scored=scored)
        elif self.rules:
            found = explain_rules(score_rules(self.rules, self.episode, scoring))
        else:
            raise CorepathError(f"{self.episode.task[:120]}: {self.why}")
        vars(self)["diagnosis"] = Diagnosis.of(found)
        return scored, found


@dataclass(frozen=True)
class Results:
    """Episodes that were all scored in the same way, so that they can share a table.

    `problems` are the lines that could not be read and the episodes that could not be scored. No table includes them.
    """

    results: tuple[Result, ...] = ()
    scoring: Scoring = PAPER
    problems: tuple[Problem, ...] = ()
    places: tuple[str, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Warnings for the reader, e.g. that a run is not complete."""
    rules: tuple[Rule, ...] = ()
    """The rules by which all episodes were judged, beside their tasks or alone."""

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def worst(self, number: int = 1) -> list[Result]:
        """Return the `number` worst episodes, ordered by PC, by the number of harms and by the number of broken rules.

        Episodes that the means leave out are skipped. Those without a PC are ordered as if it were 1.
        """
        counted = [result for result in self.results if exclusion(result.episode) is None]
        return sorted(counted, key=lambda one: _badness(one.scores))[:number]

    @property
    def episodes(self) -> list[Episode]:
        """The episodes without their tasks."""
        return [result.episode for result in self.results]

    @cached_property
    def by_rule(self) -> RuleCounts:
        """In how many episodes each rule was kept, broken, owed or unclear."""
        found = RuleCounts(self.rules)
        for result in self.results:
            found.add(one["state"] for one in result.scores["rules"])
        return found

    @cached_property
    def by_agent(self) -> dict[str, Summary]:
        """A summary for each agent."""
        return self._by(agent_of)

    @cached_property
    def by_world(self) -> dict[str, Summary]:
        """A summary for each world over all agents, sorted by name."""
        return dict(sorted(self._by(world_of).items()))

    @cached_property
    def by_task(self) -> dict[str, Summary]:
        """A summary for each task over all agents."""
        return self._by(lambda episode: variant_name(*variant_of(episode)))

    @cached_property
    def by_pair(self) -> dict[tuple[str, str], Summary]:
        """A summary for each (agent, world) pair."""
        return self._by(lambda episode: (agent_of(episode), world_of(episode)))

    @cached_property
    def fixes(self) -> Fixes:
        """What to fix: the failed episodes grouped by cause, the largest group first."""
        return Fixes.of(self.results, self.by_agent)

    @cached_property
    def agreements(self) -> list[Agreement]:
        """How far the scores agree with the source's own reward, for each agent and then over all agents.

        Agents without rewards are left out. The list is empty if no episode has a reward.
        """
        rule = self.scoring.undefined_efficiency
        groups: dict[str, list[Episode]] = {}
        for episode in self.episodes:
            groups.setdefault(agent_of(episode), []).append(episode)
        found = [one for name, own in groups.items() if (one := agreement(name, own, rule)) is not None]
        everyone = agreement("all agents", self.episodes, rule) if len(found) > 1 else None
        return found if everyone is None else [*found, everyone]

    def _by(self, key: Any) -> dict[Any, Summary]:
        return summarise(self.episodes, key, self.scoring.undefined_efficiency)

    def only(self, agents: Iterable[str]) -> Results:
        """Return the results for these agents only."""
        wanted = set(agents)
        return replace(self, results=tuple(result for result in self.results if result.agent in wanted))

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row per episode.

        The columns are agent, world, task, epoch, `ended` (the outcome), every numeric score, and the source's own
        `reward` if an episode has one.
        """
        try:
            import pandas as pd  # noqa: PLC0415  # an extra
        except ImportError as error:
            raise CorepathError(f"a data frame needs pandas ({error}): {install('pandas')}") from None

        frame = pd.DataFrame([_row(result) for result in self.results])
        return frame if self.agreements else frame.drop(columns=REWARD, errors="ignore")

    def __repr__(self) -> str:
        episodes, agents = count(len(self.results), "episode"), count(len(self.by_agent), "agent")
        return f"<Results: {episodes} of {agents}, {self.scoring.profile}>"

    def _repr_html_(self) -> str:
        return summary_table(AGENTS, "agent", self.by_agent.values()).html()


def _badness(scores: Mapping[str, Any]) -> tuple[float, int, int]:
    """Sort key that puts the worst episode first."""
    return 1.0 if scores["pc"] is None else scores["pc"], -scores["harm_count"], -scores.get(BROKEN, 0)


def _recorded_scoring(episode: Episode) -> Scoring:
    """Return the scoring options recorded in an episode, or the paper's options if none are recorded."""
    return PAPER if episode.scoring is None else Scoring.of(episode.scoring)


def _row(result: Result) -> dict[str, Any]:
    numbers = {
        name: value for name, value in result.scores.items() if value is None or isinstance(value, (bool, int, float))
    }
    own = {"agent": result.agent, "world": result.world, "task": result.episode.task, "epoch": result.episode.epoch}
    return {**own, "ended": result.episode.outcome, **numbers, REWARD: reward_of(result.episode)}


def load_results(
    *places: str | Path,
    tasks: Iterable[str | Path] = (),
    scoring: Scoring | None = None,
    rules: Iterable[Rule] = (),
) -> Results:
    """Load scored episodes from run folders and episode files.

    Episodes in a run folder already have scores. Episodes in a file are scored while loading, on `tasks` or on the
    tasks in installed worlds. If `scoring` is not None, all episodes are scored again with these options. If agents
    with the same name played the same episodes in two places, the place is added to their names. With `rules`, all
    episodes are scored again: on their task with the rules beside it, or by the rules alone if there is no task.
    """
    known, listed = Tasks(tasks), tuple(rules)
    loaded = [_load_place(Path(place), known, scoring, listed) for place in dict.fromkeys(map(str, places))]
    used = _common_scoring(loaded) or scoring or PAPER
    return Results(
        tuple(result for one in _disambiguate(loaded) for result in one.results),
        used,
        tuple(problem for one in loaded for problem in one.problems),
        tuple(place for one in loaded for place in one.places),
        (*(note for one in loaded for note in one.notes), *_seed_notes(loaded), *_rule_notes(loaded)),
        listed,
    )


def _load_place(path: Path, known: Tasks, scoring: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    return _load_run(path, known, scoring, rules) if path.is_dir() else _load_file(path, known, scoring, rules)


def _common_scoring(loaded: list[Results]) -> Scoring | None:
    """Return the scoring options that all episodes share, or None if there are no episodes.

    Raises `CorepathError` if the episodes were scored differently.
    """
    scorings = {one.scoring for one in loaded if one.results}
    if len(scorings) > 1:
        named = ", ".join(f"{one.places[0]}: {one.scoring.profile}" for one in loaded)
        raise CorepathError(f"these were scored in different ways ({named}), and are not put into one table; "
                            "score them alike with --profile")  # fmt: skip
    return scorings.pop() if scorings else None


def _seed_notes(loaded: list[Results]) -> Iterator[str]:
    """Yield a note if the episodes have different seeds, because tables then pool variants of the same task."""
    seeds = sorted({result.episode.seed or 0 for one in loaded for result in one.results})
    if len(seeds) > 1:
        listed = ", ".join(map(str, seeds[:8])) + (", …" if len(seeds) > 8 else "")
        yield f"episodes of {len(seeds)} seeds ({listed}) are pooled; the variants of a task count as one task"


def _rule_notes(loaded: list[Results]) -> Iterator[str]:
    """Yield a note if some episodes were judged by rules alone."""
    results = [result for one in loaded for result in one.results]
    alone = sum(is_by_rules_alone(result.scores) for result in results)
    if alone:
        yield f"{alone:,} of {count(len(results), 'episode')} judged by rules alone, without a task"


def _load_run(path: Path, known: Tasks, scoring: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    """Load a run's episodes in the order of its plan. Episodes without usable scores are scored while loading."""
    if not is_run(path):
        raise CorepathError(f"{path}: no run here; a run's folder has a manifest.json")
    folder = RunFolder.open(path)
    plan = Plan.of(folder)
    used = scoring or plan.scoring
    named = {one.id: known.sources[one.id].make(plan.seed) for one in plan.sources if one.id in known.sources}
    tasks = RunTasks(folder, plan, named)
    lines = (
        [_judge(path / EPISODES, line, tasks, used, rules) for line in folder.lines()]
        if rules
        else [*tasks.lines(used)]
    )
    results = [Result(line.episode, tasks, rules, str(path), line.number) for line in lines if line.episode is not None]
    results.sort(key=_plan_order(plan))
    notes: tuple[str, ...] = ()
    if len(results) < plan.size:
        there = f"{len(results):,} of {plan.size:,} planned episodes are there"
        notes = (f"{path}: {there}; go on with: corepath run --resume {path}",)
    problems = tuple(line.problem for line in lines if line.problem is not None)
    return Results(tuple(results), used, problems, (str(path),), notes)


def _judge(file: Path, line: EpisodeLine, tasks: RunTasks, scoring: Scoring, rules: tuple[Rule, ...]) -> EpisodeLine:
    """Score the episode of a run's line with rules. If it cannot be scored, the line has a problem instead."""
    if line.episode is None:
        return line
    try:
        return replace(line, episode=_apply_rules(line.episode, tasks(line.episode.task)[0], scoring, rules))
    except CorepathError as error:
        return EpisodeLine(line.line, None, Problem(str(file), line.line, 1, str(error)))


def _apply_rules(episode: Episode, task: Task | None, scoring: Scoring, rules: tuple[Rule, ...]) -> Episode:
    """Score an episode on its task with rules beside it, or by the rules alone if there is no task."""
    if task is not None:
        return rescore(task, episode, scoring, rules=rules)
    return replace(episode, scoring=scoring.recorded, scores=score_rules(rules, episode, scoring).to_dict())


def _plan_order(plan: Plan) -> Callable[[Result], tuple[Any, ...]]:
    """Return a sort key that orders results by task, agent and epoch.

    Tasks and agents are in the plan's order. Tasks and agents that are not in the plan come last.
    """
    agents = {name: place for place, name in enumerate((*plan.agents, *plan.models))}
    tasks = {source.id: place for place, source in enumerate(plan.sources)}
    return lambda result: (
        tasks.get(result.episode.task, len(tasks)), result.episode.task,
        agents.get(result.agent, len(agents)), result.agent, result.episode.epoch,
    )  # fmt: skip


def _load_file(path: Path, tasks: Tasks, wanted: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    """Load a file's episodes and score them.

    The scoring options are `wanted`, or each episode's recorded options if `wanted` is None. An episode whose task is
    not available is reported as a problem, unless it is judged by rules or its recorded scores can be used.
    """
    if not path.exists():
        raise CorepathError(f"no such file or folder: {path}")
    scorings: set[Scoring] = set()
    results: list[Result] = []
    problems: list[Problem] = []
    for line in read_episodes(path):
        if line.problem is not None:
            problems.append(line.problem)
            continue
        if line.episode is None:
            continue
        try:
            scoring = wanted or _recorded_scoring(line.episode)
            scorings.add(scoring)
            scored = _score(line.episode, tasks, scoring, rules)
            results.append(replace(scored, place=str(path), number=line.number))
        except CorepathError as error:
            problems.append(Problem(str(path), line.line, 1, str(error)))
    if len(scorings) > 1:
        named = ", ".join(sorted({one.profile for one in scorings}))
        raise CorepathError(f"{path}: its episodes were scored in different ways ({named}), and are not put into one "
                            "table; score them alike with --profile")  # fmt: skip
    return Results(tuple(results), scorings.pop() if scorings else PAPER, tuple(problems), (str(path),))


def _score(episode: Episode, tasks: Tasks, scoring: Scoring, rules: tuple[Rule, ...]) -> Result:
    """Score an episode. If the task is not available, judge it by rules, or keep its recorded scores.

    Raises `CorepathError` if the task is not available, there are no rules, and the recorded scores are not complete.
    """
    try:
        task = tasks.of(episode)
    except CorepathError as error:
        if rules and episode.task not in tasks.sources:
            why = str(error) if episode.task else "the episode names no task"
            return Result(_apply_rules(episode, None, scoring, rules), _always((None, why)), rules)
        if scores_error(episode.scores, scoring) is None:
            return Result(episode, _always((None, str(error))))
        raise
    return Result(rescore(task, episode, scoring, rules=rules), _always((task, None)), rules)


def _always(found: FoundTask) -> Callable[[str], FoundTask]:
    return lambda _: found


def _disambiguate(loaded: list[Results]) -> Iterator[Results]:
    """Yield the results with unambiguous agent names and without repeated episodes.

    If agents with the same name played the same episodes in two places, the place is added to their names. A built-in
    agent that made the same calls again is the same agent, so its repeated episode is dropped.
    """
    names = _short_names([one.places[0] for one in loaded])
    repeated, ambiguous = _find_repeats(loaded)
    for one in loaded:
        kept = [result for result in one.results if id(result) not in repeated]
        yield replace(one, results=tuple(
            replace(result, episode=replace(result.episode, agent=f"{result.agent} ({names[one.places[0]]})"))
            if result.agent in ambiguous else result
            for result in kept
        ))  # fmt: skip


def _find_repeats(loaded: list[Results]) -> tuple[set[int], set[str]]:
    """Return the `id()` of each repeated result, and the names of ambiguous agents.

    A result is repeated if a built-in agent made the same calls in a place that was loaded earlier. Any other agent
    that played the same episode in two places is ambiguous.
    """
    first: dict[tuple[str, str, int], tuple[int, Episode]] = {}
    repeated: set[int] = set()
    ambiguous: set[str] = set()
    for number, one in enumerate(loaded):
        for result in one.results:
            key = (result.agent, result.task_name, result.episode.epoch)
            place, episode = first.setdefault(key, (number, result.episode))
            if place == number:
                continue
            if result.agent.partition(":")[0] in BUILT_IN and result.episode.calls == episode.calls:
                repeated.add(id(result))
            else:
                ambiguous.add(result.agent)
    return repeated, ambiguous


def _short_names(places: list[str]) -> dict[str, str]:
    """Map each place to the last part of its path, or to the whole path if another place has the same last part."""
    ends = {place: Path(place).stem if Path(place).is_file() else Path(place).resolve().name for place in places}
    return {place: end if list(ends.values()).count(end) == 1 else place for place, end in ends.items()}

"""Loads scored episodes, with their tasks, from run folders and episode files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corepath.episode import Episode, agent_of, exclusion, variant_name, variant_of, world_of
from corepath.errors import CorepathError, Problem, count, install
from corepath.files.episodes import read_episodes
from corepath.files.lookup import Tasks
from corepath.play.built_in import BUILT_IN
from corepath.play.play import rescore
from corepath.report.summary_table import AGENTS, summary_table
from corepath.runs.episode_check import scores_error
from corepath.runs.folder import RunFolder, is_run
from corepath.runs.plan import Plan
from corepath.runs.tasks import FoundTask, RunTasks
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.summary import Summary, summarise
from corepath.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from corepath.explanation import Explanation


@dataclass(frozen=True)
class Result:
    """A scored episode and its task, which is built when it is first needed.

    If the task is not available, `why` gives the reason, and the scores are those that were recorded.
    """

    episode: Episode
    find: Callable[[str], FoundTask] = field(repr=False, compare=False)

    @property
    def task(self) -> Task | None:
        """The task that was played; None if it is not available."""
        return self.find(self.episode.task)[0]

    @property
    def why(self) -> str | None:
        """Why the task is not available; None if it is."""
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
        """The task's id, with the seed of its variant unless that is 0."""
        return variant_name(*variant_of(self.episode))

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores by name."""
        return self.episode.scores

    @property
    def explanation(self) -> Explanation:
        """Why the episode scores as it does. Raises `CorepathError` if its task is not available."""
        from corepath.explanation import explain  # noqa: PLC0415  # tables do without it

        if self.task is None:
            raise CorepathError(f"{self.episode.task[:120]}: {self.why}")
        return explain(self.task, self.episode, _recorded_scoring(self.episode))


@dataclass(frozen=True)
class Results:
    """Scored episodes that can share a table, because they were all scored in the same way.

    `problems` are the lines that could not be read and the episodes that could not be scored; no table includes them.
    """

    results: tuple[Result, ...] = ()
    scoring: Scoring = PAPER
    problems: tuple[Problem, ...] = ()
    places: tuple[str, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Warnings for the reader, such as that a run is not complete."""

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def worst(self, number: int = 1) -> list[Result]:
        """The worst episodes, by PC and then by number of harms, without those that the means leave out."""
        counted = [result for result in self.results if exclusion(result.episode) is None]
        return sorted(counted, key=lambda one: (one.scores["pc"], -one.scores["harm_count"]))[:number]

    @property
    def episodes(self) -> list[Episode]:
        """The episodes without their tasks."""
        return [result.episode for result in self.results]

    @cached_property
    def by_agent(self) -> dict[str, Summary]:
        """Summary for each agent."""
        return self._by(agent_of)

    @cached_property
    def by_world(self) -> dict[str, Summary]:
        """Summary for each world over all agents, sorted by name."""
        return dict(sorted(self._by(world_of).items()))

    @cached_property
    def by_task(self) -> dict[str, Summary]:
        """Summary for each task over all agents."""
        return self._by(lambda episode: variant_name(*variant_of(episode)))

    @cached_property
    def by_pair(self) -> dict[tuple[str, str], Summary]:
        """Summary for each pair of agent and world."""
        return self._by(lambda episode: (agent_of(episode), world_of(episode)))

    def _by(self, key: Any) -> dict[Any, Summary]:
        return summarise(self.episodes, key, self.scoring.undefined_efficiency)

    def only(self, agents: Iterable[str]) -> Results:
        """The results of some agents only."""
        wanted = set(agents)
        return replace(self, results=tuple(result for result in self.results if result.agent in wanted))

    def to_pandas(self) -> pd.DataFrame:
        """One row per episode: agent, world, task, epoch, outcome, and every numeric score."""
        try:
            import pandas as pd  # noqa: PLC0415  # an extra
        except ImportError as error:
            raise CorepathError(f"a data frame needs pandas ({error}): {install('pandas')}") from None

        return pd.DataFrame([_row(result) for result in self.results])

    def __repr__(self) -> str:
        episodes, agents = count(len(self.results), "episode"), count(len(self.by_agent), "agent")
        return f"<Results: {episodes} of {agents}, {self.scoring.profile}>"

    def _repr_html_(self) -> str:
        return summary_table(AGENTS, "agent", self.by_agent.values()).html()


def _recorded_scoring(episode: Episode) -> Scoring:
    """How an episode was scored when it was played: the paper's way unless it recorded another."""
    return PAPER if episode.scoring is None else Scoring.of(episode.scoring)


def _row(result: Result) -> dict[str, Any]:
    numbers = {
        name: value for name, value in result.scores.items() if value is None or isinstance(value, (bool, int, float))
    }
    own = {"agent": result.agent, "world": result.world, "task": result.episode.task, "epoch": result.episode.epoch}
    return {**own, "ended": result.episode.outcome, **numbers}


def load_results(*places: str | Path, tasks: Iterable[str | Path] = (), scoring: Scoring | None = None) -> Results:
    """Load scored episodes from run folders and episode files.

    Episodes of a run already have scores. Those of a file are scored now, on the given tasks or those of installed
    worlds. `scoring` scores everything anew. Agents of the same name that played the same episodes in two places get
    the place added to their names.
    """
    known = Tasks(tasks)
    loaded = [_load_place(Path(place), known, scoring) for place in dict.fromkeys(map(str, places))]
    used = _common_scoring(loaded) or scoring or PAPER
    return Results(
        tuple(result for one in _disambiguate(loaded) for result in one.results),
        used,
        tuple(problem for one in loaded for problem in one.problems),
        tuple(place for one in loaded for place in one.places),
        (*(note for one in loaded for note in one.notes), *_seed_notes(loaded)),
    )


def _load_place(path: Path, known: Tasks, scoring: Scoring | None) -> Results:
    return _load_run(path, known, scoring) if path.is_dir() else _load_file(path, known, scoring)


def _common_scoring(loaded: list[Results]) -> Scoring | None:
    """The scoring of all episodes; None if there are none. Raises `CorepathError` if they were scored differently."""
    scorings = {one.scoring for one in loaded if one.results}
    if len(scorings) > 1:
        named = ", ".join(f"{one.places[0]}: {one.scoring.profile}" for one in loaded)
        raise CorepathError(f"these were scored in different ways ({named}), and are not put into one table; "
                            "score them alike with --profile")  # fmt: skip
    return scorings.pop() if scorings else None


def _seed_notes(loaded: list[Results]) -> Iterator[str]:
    """A note if a table pools variants of the same task."""
    seeds = sorted({result.episode.seed or 0 for one in loaded for result in one.results})
    if len(seeds) > 1:
        listed = ", ".join(map(str, seeds[:8])) + (", …" if len(seeds) > 8 else "")
        yield f"episodes of {len(seeds)} seeds ({listed}) are pooled; the variants of a task count as one task"


def _load_run(path: Path, known: Tasks, scoring: Scoring | None) -> Results:
    """The episodes of a run in the order of its plan; those without usable scores are scored now."""
    if not is_run(path):
        raise CorepathError(f"{path}: no run here; a run's folder has a manifest.json")
    folder = RunFolder.open(path)
    plan = Plan.of(folder)
    used = scoring or plan.scoring
    named = {one.id: known.sources[one.id].make(plan.seed) for one in plan.sources if one.id in known.sources}
    tasks = RunTasks(folder, plan, named)
    lines = list(tasks.lines(used))
    results = [Result(line.episode, tasks) for line in lines if line.episode is not None]
    results.sort(key=_plan_order(plan))
    notes: tuple[str, ...] = ()
    if len(results) < plan.size:
        there = f"{len(results):,} of {plan.size:,} planned episodes are there"
        notes = (f"{path}: {there}; go on with: corepath run --resume {path}",)
    problems = tuple(line.problem for line in lines if line.problem is not None)
    return Results(tuple(results), used, problems, (str(path),), notes)


def _plan_order(plan: Plan) -> Callable[[Result], tuple[Any, ...]]:
    """A sort key: by task, agent and epoch, tasks and agents as the plan lists them and others last."""
    agents = {name: place for place, name in enumerate((*plan.agents, *plan.models))}
    tasks = {source.id: place for place, source in enumerate(plan.sources)}
    return lambda result: (
        tasks.get(result.episode.task, len(tasks)), result.episode.task,
        agents.get(result.agent, len(agents)), result.agent, result.episode.epoch,
    )  # fmt: skip


def _load_file(path: Path, tasks: Tasks, wanted: Scoring | None) -> Results:
    """The episodes of a file, scored as `wanted` says or as each was scored when it was played.

    An episode without a task is a problem, unless it already has scores.
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
            results.append(_score(line.episode, tasks, scoring))
        except CorepathError as error:
            problems.append(Problem(str(path), line.line, 1, str(error)))
    if len(scorings) > 1:
        named = ", ".join(sorted({one.profile for one in scorings}))
        raise CorepathError(f"{path}: its episodes were scored in different ways ({named}), and are not put into one "
                            "table; score them alike with --profile")  # fmt: skip
    return Results(tuple(results), scorings.pop() if scorings else PAPER, tuple(problems), (str(path),))


def _score(episode: Episode, tasks: Tasks, scoring: Scoring) -> Result:
    """Score an episode. Without its task, the recorded scores are used if they are complete."""
    try:
        task = tasks.of(episode)
    except CorepathError as error:
        if scores_error(episode.scores, scoring) is None:
            return Result(episode, _always((None, str(error))))
        raise
    return Result(rescore(task, episode, scoring), _always((task, None)))


def _always(found: FoundTask) -> Callable[[str], FoundTask]:
    return lambda _: found


def _disambiguate(loaded: list[Results]) -> Iterator[Results]:
    """Add the place to the names of agents that played the same episodes in two places.

    A built-in agent that made the same calls again is the same agent: the repeated episode is dropped.
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
    """The ids of results that repeat one of an earlier place, and the agents whose episodes there differ."""
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
    """The last part of each path, or the whole path if two end alike."""
    ends = {place: Path(place).stem if Path(place).is_file() else Path(place).resolve().name for place in places}
    return {place: end if list(ends.values()).count(end) == 1 else place for place, end in ends.items()}

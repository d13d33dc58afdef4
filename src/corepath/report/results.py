"""Scored episodes from run folders and episode files, with the tasks that they are of."""

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
from corepath.play.play import rescored
from corepath.report.summary_table import AGENTS, summary_table
from corepath.runs.folder import RunFolder, is_run
from corepath.runs.plan import Found, Plan, Played
from corepath.runs.record import wrong_scores
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.summary import Summary, summarise
from corepath.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from corepath.explanation import Explanation


@dataclass(frozen=True)
class Result:
    """One scored episode and its task; where the task cannot be had, `why` says so and the recorded scores stand.

    The task is made when it is first asked for.
    """

    episode: Episode
    find: Callable[[str], Found] = field(repr=False, compare=False)

    @property
    def task(self) -> Task | None:
        """The task that was played."""
        return self.find(self.episode.task)[0]

    @property
    def why(self) -> str | None:
        """Why there is no task."""
        return self.find(self.episode.task)[1]

    @property
    def agent(self) -> str:
        """Who acted."""
        return agent_of(self.episode)

    @property
    def world(self) -> str:
        """Where."""
        return world_of(self.episode)

    @property
    def task_name(self) -> str:
        """The task's id, and the seed of its variant where that is not 0."""
        return variant_name(*variant_of(self.episode))

    @property
    def scores(self) -> Mapping[str, Any]:
        """Every score by name."""
        return self.episode.scores

    @property
    def explanation(self) -> Explanation:
        """Why it scores as it does. Raises `CorepathError` where its task cannot be had."""
        from corepath.explanation import explain  # noqa: PLC0415  # tables need none

        if self.task is None:
            raise CorepathError(f"{self.episode.task[:120]}: {self.why}")
        recorded = self.episode.scoring
        return explain(self.task, self.episode, PAPER if recorded is None else Scoring.of(recorded))


@dataclass(frozen=True)
class Results:
    """Scored episodes that may stand in one table: they were all scored alike.

    `problems` are lines that could not be read, or episodes that could not be scored; they are in no table.
    """

    results: tuple[Result, ...] = ()
    scoring: Scoring = PAPER
    problems: tuple[Problem, ...] = ()
    places: tuple[str, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What a reader must know: that a run is not complete."""

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def worst(self, number: int = 1) -> list[Result]:
        """The worst of them: lowest PC first, then most harm; none that failed outside the agent."""
        counted = [result for result in self.results if exclusion(result.episode) is None]
        return sorted(counted, key=lambda one: (one.scores["pc"], -one.scores["harm_count"]))[:number]

    @property
    def episodes(self) -> list[Episode]:
        """The episodes."""
        return [result.episode for result in self.results]

    @cached_property
    def by_agent(self) -> dict[str, Summary]:
        """What each agent came to."""
        return self._by(agent_of)

    @cached_property
    def by_world(self) -> dict[str, Summary]:
        """What all agents came to in each world, sorted by name."""
        return dict(sorted(self._by(world_of).items()))

    @cached_property
    def by_task(self) -> dict[str, Summary]:
        """What all agents came to in each task."""
        return self._by(lambda episode: variant_name(*variant_of(episode)))

    @cached_property
    def by_pair(self) -> dict[tuple[str, str], Summary]:
        """What each agent came to in each world."""
        return self._by(lambda episode: (agent_of(episode), world_of(episode)))

    def _by(self, key: Any) -> dict[Any, Summary]:
        return summarise(self.episodes, key, self.scoring.undefined_efficiency)

    def only(self, agents: Iterable[str]) -> Results:
        """Those of some agents."""
        wanted = set(agents)
        return replace(self, results=tuple(result for result in self.results if result.agent in wanted))

    def to_pandas(self) -> pd.DataFrame:
        """One row an episode: agent, world, task, epoch, how it ended, and every score that is a number."""
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


def _row(result: Result) -> dict[str, Any]:
    numbers = {
        name: value for name, value in result.scores.items() if value is None or isinstance(value, (bool, int, float))
    }
    own = {"agent": result.agent, "world": result.world, "task": result.episode.task, "epoch": result.episode.epoch}
    return {**own, "ended": result.episode.outcome, **numbers}


def load_results(*places: str | Path, tasks: Iterable[str | Path] = (), scoring: Scoring | None = None) -> Results:
    """The scored episodes of run folders and of episode files.

    A run's episodes have their scores; those of a file are scored now, with the tasks that are named or those of
    installed worlds. With `scoring`, runs too are scored anew. Agents of the same name that played the same episodes in
    two places are told apart by the place.
    """
    known = Tasks(tasks)
    read = [_run(Path(place), known, scoring) if Path(place).is_dir() else _file(Path(place), known, scoring)
            for place in dict.fromkeys(map(str, places))]  # fmt: skip
    ways = {one.scoring for one in read if one.results}
    if len(ways) > 1:
        named = ", ".join(f"{one.places[0]}: {one.scoring.profile}" for one in read)
        raise CorepathError(f"these were scored in different ways ({named}), and are not put into one table; "
                            "score them alike with --profile")  # fmt: skip
    return Results(
        tuple(result for one in _told_apart(read) for result in one.results),
        ways.pop() if ways else scoring or PAPER,
        tuple(problem for one in read for problem in one.problems),
        tuple(place for one in read for place in one.places),
        (*(note for one in read for note in one.notes), *_pooled(read)),
    )


def _pooled(read: list[Results]) -> Iterator[str]:
    """A note where variants of tasks stand in one table."""
    seeds = sorted({result.episode.seed or 0 for one in read for result in one.results})
    if len(seeds) > 1:
        listed = ", ".join(map(str, seeds[:8])) + (", …" if len(seeds) > 8 else "")
        yield f"episodes of {len(seeds)} seeds ({listed}) are pooled; the variants of a task count as one task"


def _run(path: Path, known: Tasks, scoring: Scoring | None) -> Results:
    """A run's episodes in the order of its plan. Those without usable scores are scored anew, or told."""
    if not is_run(path):
        raise CorepathError(f"{path}: no run here; a run's folder has a manifest.json")
    folder = RunFolder.open(path)
    plan = Plan.of(folder)
    used = scoring or plan.scoring
    named = {one.id: known.sources[one.id].make(plan.seed) for one in plan.sources if one.id in known.sources}
    find = Played(folder, plan, named)
    results: list[Result] = []
    problems: list[Problem] = []
    for line in find.lines(used):
        if line.problem is not None:
            problems.append(line.problem)
        elif line.episode is not None:
            results.append(Result(line.episode, find))
    order = {name: place for place, name in enumerate((*plan.agents, *plan.models))}
    tasks = {source.id: place for place, source in enumerate(plan.sources)}
    last = len(order), len(tasks)
    results.sort(key=lambda one: (
        tasks.get(one.episode.task, last[1]), one.episode.task, order.get(one.agent, last[0]), one.agent,
        one.episode.epoch,
    ))  # fmt: skip
    notes: tuple[str, ...] = ()
    if len(results) < plan.size:
        there = f"{len(results):,} of {plan.size:,} planned episodes are there"
        notes = (f"{path}: {there}; go on with: corepath run --resume {path}",)
    return Results(tuple(results), used, tuple(problems), (str(path),), notes)


def _file(path: Path, tasks: Tasks, wanted: Scoring | None) -> Results:
    """The episodes of a file, scored as they were when they were played, or as is wanted.

    An episode without a task is a problem, unless it has scores already.
    """
    if not path.exists():
        raise CorepathError(f"no such file or folder: {path}")
    ways: set[Scoring] = set()
    results: list[Result] = []
    problems: list[Problem] = []
    for line in read_episodes(path):
        if line.problem is not None:
            problems.append(line.problem)
        elif line.episode is not None:
            try:
                scoring = wanted or (PAPER if line.episode.scoring is None else Scoring.of(line.episode.scoring))
            except CorepathError as error:
                problems.append(Problem(str(path), line.line, 1, str(error)))
                continue
            ways.add(scoring)
            found = _scored(line.episode, tasks, scoring)
            if isinstance(found, str):
                problems.append(Problem(str(path), line.line, 1, found))
            else:
                results.append(found)
    if len(ways) > 1:
        named = ", ".join(sorted({way.profile for way in ways}))
        raise CorepathError(f"{path}: its episodes were scored in different ways ({named}), and are not put into one "
                            "table; score them alike with --profile")  # fmt: skip
    return Results(tuple(results), ways.pop() if ways else PAPER, tuple(problems), (str(path),))


def _scored(episode: Episode, tasks: Tasks, scoring: Scoring) -> Result | str:
    try:
        task = tasks.of(episode)
    except CorepathError as error:
        if wrong_scores(episode.scores, scoring) is None:
            return Result(episode, _always((None, str(error))))
        return str(error)
    try:
        return Result(rescored(task, episode, scoring), _always((task, None)))
    except CorepathError as error:
        return str(error)


def _always(found: Found) -> Callable[[str], Found]:
    return lambda _: found


def _told_apart(read: list[Results]) -> Iterator[Results]:
    """The same agent on the same episodes in two places is two agents, named after the places.

    A built-in agent that made the same calls is the same one, and is kept once.
    """
    names = _short_names([one.places[0] for one in read])
    seen: dict[tuple[str, str, int], tuple[int, Episode]] = {}
    again: set[int] = set()
    twice: set[str] = set()
    for number, one in enumerate(read):
        for result in one.results:
            key = (result.agent, result.task_name, result.episode.epoch)
            first, episode = seen.setdefault(key, (number, result.episode))
            if first == number:
                continue
            if result.agent.partition(":")[0] in BUILT_IN and result.episode.calls == episode.calls:
                again.add(id(result))
            else:
                twice.add(result.agent)
    for one in read:
        kept = [result for result in one.results if id(result) not in again]
        yield replace(one, results=tuple(
            replace(result, episode=replace(result.episode, agent=f"{result.agent} ({names[one.places[0]]})"))
            if result.agent in twice else result
            for result in kept
        ))  # fmt: skip


def _short_names(places: list[str]) -> dict[str, str]:
    """The last part of each place, or all of it where two end alike."""
    ends = {place: Path(place).stem if Path(place).is_file() else Path(place).resolve().name for place in places}
    return {place: end if list(ends.values()).count(end) == 1 else place for place, end in ends.items()}

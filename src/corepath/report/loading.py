"""Load scored episodes, with their tasks, from run folders and episode files.

Episodes are read one by one, and only what tables need of each stays in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corepath.episode import Episode
from corepath.errors import CorepathError, Problem, count
from corepath.files.episodes import EpisodeLine
from corepath.files.lookup import Tasks
from corepath.play.built_in import BUILT_IN
from corepath.play.play import rescore
from corepath.report.results import Result, Results, recorded_scoring
from corepath.report.scores_file import is_scores, load_scores
from corepath.report.stored import EpisodeFile, StoredEpisode, content_hash, shorten
from corepath.rules.rule import Rule
from corepath.runs.episode_check import scores_error
from corepath.runs.folder import EPISODES, RunFolder, is_run
from corepath.runs.plan import Plan
from corepath.runs.tasks import FoundTask, RunTasks
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.rules import score_rules
from corepath.scoring.summary import is_by_rules_alone
from corepath.task import Task


def load_results(
    *places: str | Path,
    tasks: Iterable[str | Path] = (),
    scoring: Scoring | None = None,
    rules: Iterable[Rule] = (),
) -> Results:
    """Load scored episodes from run folders, episode files and files of scores.

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
        listed or _common_rules(loaded),
    )


def _load_place(path: Path, known: Tasks, scoring: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    if is_scores(path):
        return load_scores(path, known, scoring, rules)
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
    seeds = sorted({result.record.seed or 0 for one in loaded for result in one.results})
    if len(seeds) > 1:
        listed = ", ".join(map(str, seeds[:8])) + (", …" if len(seeds) > 8 else "")
        yield f"episodes of {len(seeds)} seeds ({listed}) are pooled; the variants of a task count as one task"


def _common_rules(loaded: list[Results]) -> tuple[Rule, ...]:
    """Return the rules by which all episodes were judged, or none if some were not, or by others."""
    found = {one.rules for one in loaded if one.results}
    return found.pop() if len(found) == 1 else ()


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

    def judge(line: EpisodeLine) -> EpisodeLine:
        return _judge(path / EPISODES, line, tasks, used, rules) if rules else tasks.score(line, used)

    file = EpisodeFile(
        path / EPISODES, str(path), lambda _: used, lambda episode: judge(EpisodeLine(1, episode)).episode
    )
    results: list[Result] = []
    problems: list[Problem] = []
    for line in map(judge, folder.lines()):
        if line.episode is not None:
            results.append(_keep(file, line, line.episode, tasks, rules))
        if line.problem is not None:
            problems.append(line.problem)
    results.sort(key=_plan_order(plan))
    notes: tuple[str, ...] = ()
    if len(results) < plan.size:
        there = f"{len(results):,} of {plan.size:,} planned episodes are there"
        notes = (f"{path}: {there}; go on with: corepath run --resume {path}",)
    return Results(tuple(results), used, tuple(problems), (str(path),), notes)


def _keep(
    file: EpisodeFile, line: EpisodeLine, episode: Episode, find: Callable[[str], FoundTask], rules: tuple[Rule, ...]
) -> Result:
    """Return the result of an episode that is read again from its file when it is needed."""
    return Result(shorten(episode), find, rules, StoredEpisode(file, line.offset, line.number, content_hash(episode)))


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
        tasks.get(result.record.task, len(tasks)), result.record.task,
        agents.get(result.agent, len(agents)), result.agent, result.epoch,
    )  # fmt: skip


def _load_file(path: Path, tasks: Tasks, wanted: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    """Load a file's episodes and score them.

    The scoring options are `wanted`, or each episode's recorded options if `wanted` is None. An episode whose task is
    not available is reported as a problem, unless it is judged by rules or its recorded scores can be used.
    """
    if not path.exists():
        raise CorepathError(f"no such file or folder: {path}")
    scorer = _Scorer(tasks, wanted, rules)
    file = EpisodeFile(path, str(path), scorer.options, lambda episode: scorer.score(episode)[0])
    scorings: set[Scoring] = set()
    results: list[Result] = []
    problems: list[Problem] = []
    for line in file.lines():
        if line.problem is not None:
            problems.append(line.problem)
            continue
        if line.episode is None:
            continue
        try:
            scorings.add(scorer.options(line.episode))
            results.append(_keep(file, line, *scorer.score(line.episode)))
        except CorepathError as error:
            problems.append(Problem(str(path), line.line, 1, str(error)))
    if len(scorings) > 1:
        named = ", ".join(sorted({one.profile for one in scorings}))
        raise CorepathError(f"{path}: its episodes were scored in different ways ({named}), and are not put into one "
                            "table; score them alike with --profile")  # fmt: skip
    return Results(tuple(results), scorings.pop() if scorings else PAPER, tuple(problems), (str(path),))


_Scored = tuple[Episode, Callable[[str], FoundTask], tuple[Rule, ...]]
"""A scored episode, a function that finds its task, and the rules beside the task."""


@dataclass
class _Scorer:
    """Scores the episodes of a file. If `wanted` is None, each is scored with the options in its record."""

    tasks: Tasks
    wanted: Scoring | None
    rules: tuple[Rule, ...]
    _finders: dict[tuple[int, str | None], Callable[[str], FoundTask]] = field(default_factory=dict)

    def options(self, episode: Episode) -> Scoring:
        """Return the scoring options for an episode."""
        return self.wanted or recorded_scoring(episode)

    def score(self, episode: Episode) -> _Scored:
        """Score an episode. If the task is not available, judge it by rules, or keep its recorded scores.

        Raises `CorepathError` if the task is not available, there are no rules, and the recorded scores are not
        complete.
        """
        scoring = self.options(episode)
        try:
            task = self.tasks.of(episode)
        except CorepathError as error:
            if self.rules and episode.task not in self.tasks.sources:
                why = str(error) if episode.task else "the episode names no task"
                return _apply_rules(episode, None, scoring, self.rules), self._always(None, why), self.rules
            if scores_error(episode.scores, scoring) is None:
                return episode, self._always(None, str(error)), ()
            raise
        return rescore(task, episode, scoring, rules=self.rules), self._always(task, None), self.rules

    def _always(self, task: Task | None, why: str | None) -> Callable[[str], FoundTask]:
        """Return a function that always finds this task, the same one for all episodes of the task."""
        return self._finders.setdefault((id(task), why), lambda _: (task, why))


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
            replace(result, record=replace(result.record, agent=f"{result.agent} ({names[one.places[0]]})"))
            if result.agent in ambiguous else result
            for result in kept
        ))  # fmt: skip


def _find_repeats(loaded: list[Results]) -> tuple[set[int], set[str]]:
    """Return the `id()` of each repeated result, and the names of ambiguous agents.

    A result is repeated if a built-in agent made the same calls in a place that was loaded earlier. Any other agent
    that played the same episode in two places is ambiguous.
    """
    first: dict[tuple[str, str, int], tuple[int, Result]] = {}
    repeated: set[int] = set()
    ambiguous: set[str] = set()
    for number, one in enumerate(loaded if len(loaded) > 1 else ()):
        for result in one.results:
            key = (result.agent, result.task_name, result.epoch)
            place, before = first.setdefault(key, (number, result))
            if place == number:
                continue
            if result.agent.partition(":")[0] in BUILT_IN and result.episode.calls == before.episode.calls:
                repeated.add(id(result))
            else:
                ambiguous.add(result.agent)
    return repeated, ambiguous


def _short_names(places: list[str]) -> dict[str, str]:
    """Map each place to the last part of its path, or to the whole path if another place has the same last part."""
    ends = {place: Path(place).stem if Path(place).is_file() else Path(place).resolve().name for place in places}
    return {place: end if list(ends.values()).count(end) == 1 else place for place, end in ends.items()}

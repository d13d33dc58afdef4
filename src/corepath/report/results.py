"""Scored episodes with their tasks, and their summaries by agent, world and task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from corepath.episode import Episode, agent_of, exclusion, reward_of, variant_name, variant_of, world_of
from corepath.errors import CorepathError, OptionError, Problem, count, install, nearest
from corepath.report.fixes import Diagnosis, Fixes
from corepath.report.stored import Stored, content_hash
from corepath.report.summary_table import AGENTS, summary_table
from corepath.rules.rule import Rule
from corepath.runs.tasks import FoundTask
from corepath.scoring.agreement import Agreement, agreement
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.rules import RuleCounts, score_rules
from corepath.scoring.score import Score, score
from corepath.scoring.summary import BROKEN, REWARD, Row, Summary, is_failed, row_of, summarise
from corepath.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from corepath.explanation import Explanation


MOST_DIAGNOSES: Final = 10_000
"""The most diagnoses that are kept."""


@dataclass(frozen=True, slots=True)
class Result:
    """A scored episode and its task. The task is built when it is first needed.

    `record` is the episode. If the episode is `stored` in a file, `record` only has its names, its outcome, its scores
    and what it took, and `episode` reads the rest again each time. So keep no episode longer than you need it.

    If the task or the episode is not available, `why` gives the reason, and `scores` are the recorded scores, or those
    by `rules` alone.
    """

    record: Episode
    find: Callable[[str], FoundTask] = field(repr=False, compare=False)
    rules: tuple[Rule, ...] = field(default=(), repr=False, compare=False)
    """The rules beside the task."""
    stored: Stored | None = field(default=None, repr=False, compare=False)

    @property
    def episode(self) -> Episode:
        """The whole episode, or the record if nothing more is at hand (see `why`)."""
        if self.stored is None or self.stored.lost is not None:
            return self.record
        found = self.stored.read()
        return found if found.agent == self.record.agent else replace(found, agent=self.record.agent)

    @property
    def unscored(self) -> tuple[Episode, Scoring]:
        """The whole episode as it is recorded, maybe with other scores or none, and the options to score it with."""
        return (self.record, recorded_scoring(self.record)) if self.stored is None else self.stored.read_unscored()

    @property
    def place(self) -> str:
        """The folder or file that the episode was read from. It is empty if the episode is not stored."""
        return "" if self.stored is None else self.stored.file.place

    @property
    def number(self) -> int:
        """The episode's number in its place, from 1. It is 0 if the episode is not stored."""
        return 0 if self.stored is None else self.stored.number

    @property
    def content(self) -> int:
        """A hash of what happened. Results of one task with equal hashes have the same scores and explanation."""
        return content_hash(self.record) if self.stored is None else self.stored.content

    @property
    def task(self) -> Task | None:
        """The task that was played, or None if it or the episode is not available."""
        return self._found[0]

    @property
    def why(self) -> str | None:
        """The reason why the task or the episode is not available, or None if both are."""
        return self._found[1]

    @property
    def _found(self) -> FoundTask:
        lost = None if self.stored is None else self.stored.lost
        return self.find(self.record.task) if lost is None else (None, lost)

    @property
    def can_be_explained(self) -> bool:
        """Whether the episode is at hand, with its task or with rules."""
        return self.task is not None or (bool(self.rules) and (self.stored is None or self.stored.lost is None))

    @property
    def agent(self) -> str:
        """The agent's name."""
        return agent_of(self.record)

    @property
    def world(self) -> str:
        """The world's name."""
        return world_of(self.record)

    @property
    def task_name(self) -> str:
        """The task's id, followed by the seed unless the seed is 0."""
        return variant_name(*variant_of(self.record))

    @property
    def epoch(self) -> int:
        """The number of the rollout, starting at 0."""
        return self.record.epoch

    @property
    def scores(self) -> Mapping[str, Any]:
        """The numbers by name, with the kinds and effects of `harms`. `episode.scores` has the other evidence too."""
        return self.record.scores

    @property
    def harms(self) -> Iterator[tuple[Mapping[str, Any], str | None]]:
        """The harms in `scores`, each with its call's tool, or with None if there is no such call."""
        for harm in self.scores["harms"]:
            index, calls = harm.get("index"), self.record.calls
            known = isinstance(index, int) and 0 <= index < len(calls)
            yield harm, calls[index].tool if known else harm.get("tool")

    @property
    def failed(self) -> bool:
        """Whether the episode failed, be it by the agent or by something outside the agent.

        Episodes that the means leave out for another reason did not fail.
        """
        reason = exclusion(self.record)
        return is_failed(self.scores) if reason is None else reason == "outside"

    @property
    def explanation(self) -> Explanation:
        """An explanation of the episode's scores.

        Raises `CorepathError` if it cannot be explained.
        """
        return self.explain()[1]

    @property
    def diagnosis(self) -> Diagnosis:
        """The cause of a failure. It is kept for a while, so that equal episodes share it.

        Raises `CorepathError` if the episode cannot be explained.
        """
        from corepath.explanation import find_cause_and_fix  # noqa: PLC0415  # not needed for tables

        key, task = self._key, self.task
        if key not in _DIAGNOSES:
            if task is None:
                self.explain()
            else:
                episode, scoring = self.unscored
                cause, fix = find_cause_and_fix(task, episode, scoring, rules=self.rules)
                self._keep_diagnosis(Diagnosis.of(cause, fix, len(episode.calls)))
        return _DIAGNOSES[key][1]

    @property
    def _key(self) -> tuple[int, str, int]:
        """The same for results that have the same task and content, and so the same explanation."""
        return id(self.find), self.task_name, self.content

    def explain(self) -> tuple[Score | None, Explanation]:
        """Score and explain the episode, as `explanation` does. By rules alone, there is no score."""
        from corepath.explanation import explain, explain_rules  # noqa: PLC0415  # not needed for tables

        task = self.task
        if not self.can_be_explained:
            raise CorepathError(f"{self.record.task[:120]}: {self.why}")
        episode, scoring = self.unscored
        if task is None:
            scored, found = None, explain_rules(score_rules(self.rules, episode, scoring))
        else:
            scored = score(task, episode, scoring, rules=self.rules)
            found = explain(task, episode, scoring, scored=scored)
        self._keep_diagnosis(Diagnosis.of_whole(found))
        return scored, found

    def _keep_diagnosis(self, found: Diagnosis) -> None:
        _DIAGNOSES[self._key] = self, found
        if len(_DIAGNOSES) > MOST_DIAGNOSES:
            _DIAGNOSES.popitem(last=False)


_DIAGNOSES: Final[OrderedDict[tuple[int, str, int], tuple[Result, Diagnosis]]] = OrderedDict()
"""The latest diagnoses by task and content. Each keeps its result, so that the id in its key stays unique."""


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
        counted = [result for result in self.results if exclusion(result.record) is None]
        return sorted(counted, key=lambda one: _badness(one.scores))[:number]

    @property
    def episodes(self) -> Sequence[Episode]:
        """The episodes without their tasks. Episodes that are stored in a file are read while you iterate."""
        return _Episodes(self.results)

    @property
    def records(self) -> Iterator[Episode]:
        """What tables need of each episode. Unlike `episodes`, this reads no file."""
        return (result.record for result in self.results)

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
        for episode in self.records:
            groups.setdefault(agent_of(episode), []).append(episode)
        found = [one for name, own in groups.items() if (one := agreement(name, own, rule)) is not None]
        everyone = agreement("all agents", self.records, rule) if len(found) > 1 else None
        return found if everyone is None else [*found, everyone]

    def _by(self, key: Any) -> dict[Any, Summary]:
        return summarise(self.records, key, self.scoring.undefined_efficiency, self._rows)

    @cached_property
    def _rows(self) -> list[Row]:
        """The values of each episode, which all summaries share."""
        return [row_of(record, self.scoring.undefined_efficiency) for record in self.records]

    def only(self, agents: Iterable[str]) -> Results:
        """Return the results for these agents only."""
        wanted = set(agents)
        return replace(self, results=tuple(result for result in self.results if result.agent in wanted))

    def narrow(self, names: Iterable[str]) -> Results:
        """Return the results of these agents, tasks and worlds only.

        If agents are named, the agent must be one of them. If tasks or worlds are named, the task must be one of them
        or of one of them. Raises `OptionError` if a name is none of these.
        """
        wanted = set(names)
        places = {(result.agent, result.record.task, result.task_name, result.world) for result in self.results}
        agents, others = {one[0] for one in places}, {name for one in places for name in one[1:]}
        for name in wanted - agents - others:
            raise OptionError(f"no agent, task or world '{name[:60]}'{nearest(name, agents | others)}")
        by_agent, by_task = wanted & agents, wanted & others
        kept = (
            result for result in self.results
            if (not by_agent or result.agent in by_agent)
            and (not by_task or by_task & {result.record.task, result.task_name, result.world})
        )  # fmt: skip
        return replace(self, results=tuple(kept))

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


@dataclass(frozen=True)
class _Episodes(Sequence[Episode]):
    """The episodes of results, each read when it is needed."""

    results: tuple[Result, ...]

    @overload
    def __getitem__(self, place: int) -> Episode: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Episode]: ...
    def __getitem__(self, place: int | slice) -> Episode | Sequence[Episode]:
        return _Episodes(self.results[place]) if isinstance(place, slice) else self.results[place].episode

    def __len__(self) -> int:
        return len(self.results)


def _badness(scores: Mapping[str, Any]) -> tuple[float, int, int]:
    """Sort key that puts the worst episode first."""
    return 1.0 if scores["pc"] is None else scores["pc"], -scores["harm_count"], -scores.get(BROKEN, 0)


def recorded_scoring(episode: Episode) -> Scoring:
    """Return the scoring options recorded in an episode, or the paper's options if none are recorded."""
    return PAPER if episode.scoring is None else Scoring.of(episode.scoring)


def _row(result: Result) -> dict[str, Any]:
    numbers = {
        name: value for name, value in result.scores.items() if value is None or isinstance(value, (bool, int, float))
    }
    own = {"agent": result.agent, "world": result.world, "task": result.record.task, "epoch": result.epoch}
    return {**own, "ended": result.record.outcome, **numbers, REWARD: reward_of(result.record)}

"""What to fix: failed episodes grouped by their cause, and harmful calls by tool and kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from corepath.automaton.harm import HarmKind
from corepath.episode import EXCLUSIONS, exclusion
from corepath.errors import count
from corepath.play.built_in import FLOOR
from corepath.rules.verdict import State
from corepath.scoring.cause_key import CauseKey
from corepath.scoring.summary import is_by_rules_alone, is_failed

if TYPE_CHECKING:
    from corepath.explanation import Cause, Edit, Explanation
    from corepath.report.results import Result

NOT_EXPLAINED: Final = "not explained"
"""The kind of cause of a failed episode that is not explained, as the task or the episode is not available."""
AGAINST_A_RULE: Final = "against a rule"
"""The kind of cause of an episode that was judged by rules alone."""
LEFT_OUT: Final = {**EXCLUSIONS, "floor": "of the floor agents, which fail by design"}
"""Why an episode is in no cluster although it may have failed, each reason with its description."""


class EpisodeName(NamedTuple):
    """Which episode it is. `number` counts from 1 in its place, as `corepath explain --episode` does."""

    place: str
    number: int
    task: str
    agent: str
    epoch: int

    def to_dict(self) -> dict[str, Any]:
        """Return the name as JSON."""
        return {"place": self.place, "episode": self.number, "task": self.task, "agent": self.agent,
                "epoch": self.epoch}  # fmt: skip


class Diagnosis(NamedTuple):
    """What clusters need of each failed episode: the cause, and the smallest repair in words."""

    kind: str | None
    tool: str | None = None
    argument: str | None = None
    effected: bool = False
    fix: tuple[str, ...] = ()
    calls: int = 0
    """The number of calls in the episode."""
    headline: str | None = None
    """What went wrong in one line, if the episode was explained as a whole."""

    @classmethod
    def of(cls, cause: Cause | None, fix: Iterable[Edit], calls: int) -> Diagnosis:
        """Take the diagnosis from the cause and the fix of an explanation."""
        edits = tuple(edit.text for edit in fix if edit.kind != "keep")
        if cause is None:
            return cls(None, fix=edits, calls=calls)
        return cls(cause.kind.value, cause.tool, cause.argument, cause.effected, edits, calls)

    @classmethod
    def of_whole(cls, explanation: Explanation) -> Diagnosis:
        """Take the diagnosis from an explanation. If it names no cause, its headline is the first broken rule."""
        found = cls.of(explanation.cause, explanation.fix, len(explanation.notes))
        broken = (one.text for one in explanation.findings if one.kind == "rule" and explanation.cause is None)
        return found._replace(headline=next(broken, explanation.headline))


class Example(NamedTuple):
    """An episode of a cluster that shows the cause: what went wrong in one line, and the smallest repair."""

    name: EpisodeName
    headline: str
    fix: tuple[str, ...]
    explained: bool
    """Whether `corepath explain` can explain the episode."""

    @classmethod
    def of(cls, result: Result, found: Diagnosis) -> Example:
        """Make an example of a failed episode. It is explained as a whole if it was not before."""
        if found.kind == NOT_EXPLAINED:
            return cls(name_of(result), f"Not explained: {result.why}.", (), explained=False)
        headline = found.headline or Diagnosis.of_whole(result.explanation).headline
        return cls(name_of(result), headline or "", found.fix, explained=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the example as JSON."""
        return {**self.name.to_dict(), "headline": self.headline, "fix": list(self.fix)}


_Rank = tuple[bool, bool, int, int, int, int]


@dataclass
class Cluster:
    """The failed episodes with the same first cause."""

    key: CauseKey
    effected: int = 0
    """In how many of the episodes the calls at fault took effect."""
    tasks: Counter[str] = field(default_factory=Counter)
    """The number of episodes by task. Episodes without a task are not in it."""
    agents: Counter[str] = field(default_factory=Counter)
    names: list[EpisodeName] = field(default_factory=list)
    """All episodes of the cluster, in the order in which they were read."""
    _best: tuple[_Rank, Result, Diagnosis] | None = None
    _example: Example | None = None

    def add(self, result: Result, found: Diagnosis) -> None:
        """Add a failed episode.

        The example is the episode in which the cause is easiest to see: the calls at fault took effect, a repair is
        known and short, and there are few other harmful calls and few calls at all.
        """
        name = name_of(result)
        self.effected += found.effected
        if result.record.task:
            self.tasks[name.task] += 1
        self.agents[name.agent] += 1
        self.names.append(name)
        harms = result.scores["harm_count"]
        rank = (not found.effected, not found.fix, len(found.fix), harms, found.calls, len(self.names))
        if self._best is None or rank < self._best[0]:
            self._best, self._example = (rank, result, found), None

    @property
    def example(self) -> Example:
        """The episode in which the cause is easiest to see. Raises `ValueError` if the cluster is empty."""
        if self._best is None:
            raise ValueError("a cluster without episodes has no example")
        if self._example is None:
            self._example = Example.of(*self._best[1:])
        return self._example

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return str(self.key)

    def to_dict(self, failed: int) -> dict[str, Any]:
        """Return the cluster as JSON. `failed` is the number of all failed episodes."""
        return {
            "cause": self.key.kind, "tool": self.key.tool, "argument": self.key.argument, "rule": self.key.rule,
            "name": str(self), "episodes": len(self), "share": len(self) / failed, "effected": self.effected,
            "tasks": _by_count(self.tasks), "agents": _by_count(self.agents), "example": self.example.to_dict(),
            "all": [name.to_dict() for name in self.names],
        }  # fmt: skip


def _by_count(counts: Counter[str]) -> dict[str, int]:
    """Sort counts: the largest first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class HarmCount(NamedTuple):
    """How many harmful calls of one tool and kind took effect, and how many were refused."""

    effected: int
    refused: int

    @property
    def total(self) -> int:
        """The number of harmful calls."""
        return self.effected + self.refused


@dataclass
class Fixes:
    """What to fix: every failed episode is in exactly one cluster, that of its first cause.

    An episode fails if it is not solved, breaks a rule, or ends with a wrong answer or in a wrong state. Episodes that
    the means leave out do not count, nor do those of the agents in `floor`. Both are counted in `left_out` by reason.
    """

    floor: frozenset[str] = frozenset()
    episodes: int = 0
    """The number of episodes that count."""
    left_out: Counter[str] = field(default_factory=Counter)
    harms: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    """Counts of harmful calls. Each key is a tool, a harm kind, and whether the call took effect."""
    _clusters: dict[CauseKey, Cluster] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[Result], agents: Iterable[str]) -> Fixes:
        """Find out what to fix in the results of `agents`."""
        found = cls(floor_of(agents))
        for result in results:
            found.add(result)
        return found

    def add(self, result: Result) -> None:
        """Add an episode. The cause of those that failed is found."""
        if reason := reason_to_leave_out(result, self.floor):
            self.left_out[reason] += 1
            return
        self.episodes += 1
        self.harms.update(harms_of(result))
        if is_failed(result.scores):
            found = diagnose(result)
            key = key_of(result, found)
            self._clusters.setdefault(key, Cluster(key)).add(result, found)

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters, the largest first. Of equal ones, that which took effect more often comes first."""
        return sorted(self._clusters.values(), key=lambda one: (-len(one), -one.effected, str(one)))

    @property
    def failed(self) -> int:
        """The number of failed episodes."""
        return sum(map(len, self._clusters.values()))

    @property
    def causes(self) -> dict[str, int]:
        """The number of failed episodes by kind of cause, the largest first."""
        found: Counter[str] = Counter()
        for one in self._clusters.values():
            found[one.key.kind] += len(one)
        return _by_count(found)

    @property
    def tools(self) -> list[str]:
        """The tools of harmful calls, those with the most calls that took effect first."""
        total: dict[str, list[int]] = {}
        for (tool, _, effected), number in self.harms.items():
            own = total.setdefault(tool, [0, 0])
            own[not effected] += number
        return sorted(total, key=lambda tool: (-total[tool][0], -total[tool][1], tool))

    @property
    def kinds(self) -> list[str]:
        """The kinds of harm that occurred, in the order of `HarmKind`."""
        seen = {kind for _, kind, _ in self.harms}
        return [kind.value for kind in HarmKind if kind.value in seen]

    def count_harms(self, tool: str, kind: str) -> HarmCount:
        """Count the harmful calls of one tool and kind."""
        return HarmCount(self.harms[tool, kind, True], self.harms[tool, kind, False])

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self._clusters)

    def __repr__(self) -> str:
        return f"<Fixes: {self.failed:,} of {count(self.episodes, 'episode')} failed, {count(len(self), 'cause')}>"

    def notes(self) -> Iterator[str]:
        """Yield notes on the episodes that do not count, and on those that could not be explained."""
        for reason, words in LEFT_OUT.items():
            if self.left_out[reason]:
                yield f"{count(self.left_out[reason], 'episode')} left out: {words}"
        if unexplained := self._clusters.get(CauseKey(NOT_EXPLAINED)):
            yield f"{count(len(unexplained), 'failed episode')} not explained: the task or the episode is not available"

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return the clusters and the harmful calls as JSON. With `top`, only the largest clusters are in it."""
        harms = [
            {"tool": tool, "kind": kind, **found._asdict()}
            for tool in self.tools
            for kind in self.kinds
            if (found := self.count_harms(tool, kind)).total
        ]
        return {
            "episodes": self.episodes, "failed": self.failed, "left_out": dict(self.left_out), "causes": self.causes,
            "clusters": [one.to_dict(self.failed) for one in self.clusters[:top]], "harms": harms,
        }  # fmt: skip


def floor_of(agents: Iterable[str]) -> frozenset[str]:
    """Return the floor agents that are left out. If there are no other agents, that is none."""
    names = set(agents)
    floor = names.intersection(FLOOR)
    return frozenset(floor if names > floor else ())


def reason_to_leave_out(result: Result, floor: frozenset[str]) -> str | None:
    """Return the key in `LEFT_OUT` that says why an episode does not count, or None if it counts."""
    return "floor" if result.agent in floor else exclusion(result.record)


def cause_of(result: Result, floor: frozenset[str]) -> CauseKey | None:
    """Return the cause by which an episode is clustered, or None if it did not fail or does not count."""
    if reason_to_leave_out(result, floor) or not is_failed(result.scores):
        return None
    return key_of(result, diagnose(result))


def name_of(result: Result) -> EpisodeName:
    """Return which episode a result is of."""
    return EpisodeName(result.place, result.number, result.task_name, result.agent, result.epoch)


def diagnose(result: Result) -> Diagnosis:
    """Return why an episode failed, if anything can say."""
    if not result.can_be_explained:
        return Diagnosis(NOT_EXPLAINED)
    if (rule := _rule_alone(result.scores)) is None:
        return result.diagnosis
    effected = any(harm["effected"] for harm in result.scores["harms"] if harm.get("rule") == rule)
    return result.diagnosis._replace(effected=effected)


def key_of(result: Result, found: Diagnosis) -> CauseKey:
    """Return the cause by which a failed episode is clustered. If it was judged by rules alone, that is the rule."""
    if (rule := _rule_alone(result.scores)) is not None:
        return CauseKey(AGAINST_A_RULE, rule=rule)
    return CauseKey.of(found.kind, found.tool, found.argument)


def _rule_alone(scores: Mapping[str, Any]) -> str | None:
    """Return the first broken rule of an episode that was judged by rules alone, or None if it was not."""
    rules = scores.get("rules", ()) if is_by_rules_alone(scores) else ()
    return next((one["rule"] for one in rules if one["state"] in (State.BROKEN, State.OWED)), None)


def harms_of(result: Result) -> Counter[tuple[str, str, bool]]:
    """Count an episode's harmful calls by tool, kind, and whether they took effect."""
    return Counter((tool, harm["kind"], bool(harm["effected"])) for harm, tool in result.harms if tool is not None)

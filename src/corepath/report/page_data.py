"""The data that the page's script reads: an index of all episodes, and the tasks with their episodes in full.

The data is JSON, deflated and base64-encoded, and `data.js` reads it. Lists of records are stored as columns, with one
list of values per key.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, Final
from zlib import compress

from corepath.automaton.condensation import Trace
from corepath.drawing.export import describe_size
from corepath.episode import FAILED_OUTSIDE, exclusion, reward_of, usage_of
from corepath.explanation import Explanation
from corepath.report.episode_data import episode_record, harm_kinds
from corepath.report.fixes import (
    EpisodeName,
    Fixes,
    cause_of,
    floor_of,
    harms_of,
    name_of,
    reason_to_leave_out,
)
from corepath.report.results import Result, Results
from corepath.report.task_drawings import TaskRuns
from corepath.rules.verdict import State
from corepath.scoring.agreement import disagreement
from corepath.scoring.cause_key import CauseKey
from corepath.scoring.score import Score, trace_episode
from corepath.scoring.summary import BROKEN, USAGE, has_effected_harm, is_by_rules_alone
from corepath.task import Task

BLOCK_SIZE: Final = 8_000_000
"""A block of tasks ends once its JSON is longer than this. Browsers parse a block in well under a second."""

_INDEXED: Final = (
    "pc", "pc_ktc", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "root_harms", "efficiency",
    "directness", "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "answer_match", "length",
    BROKEN,
)  # fmt: skip
"""The scores that the page shows. They are stored in the index only."""


def page_data(results: Results, shown: Iterable[Result] | None = None) -> Iterator[tuple[str, str]]:
    """Yield an (id, encoded data) pair for each block: `tasks-0`, `tasks-1`, …, and finally `index`.

    Only the episodes of `shown` are in the data, and only their tasks. If it is None, these are all.
    """
    listed = None if shown is None else {id(result) for result in shown}
    index = _Index(list(map(str, results.rules)), floor_of(results.by_agent))
    tasks: list[dict[str, Any]] = []
    size = block = 0
    for group in _follow_all(results, listed):
        tasks.append(_task(group, index))
        index.blocks.append(block)
        size += len(json.dumps(tasks[-1]))
        if size > BLOCK_SIZE:
            yield f"tasks-{block}", encode(_columns(tasks))
            tasks, size, block = [], 0, block + 1
    if tasks:
        yield f"tasks-{block}", encode(_columns(tasks))
    yield "index", encode(index.to_dict(results.fixes))


def encode(value: Any) -> str:
    """Encode a JSON value as deflated base64, which cannot be mistaken for HTML."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(compress(text.encode("ascii"), 9)).decode("ascii")


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into columns, with None for missing values.

    Columns compress better, because the values under one key resemble each other.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}


_Alike = tuple[int, int]
"""The same for results of a task in which the same happened, so that one trace and one explanation will do for all."""


def _alike(result: Result) -> _Alike:
    return id(result.find), result.content


@dataclass
class _Group:
    """The results of a task, and what its drawings show of them."""

    name: str
    task: Task | None = None
    """The task, or None if it is available for none of the results."""
    results: list[Result] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    """The places of the results whose episodes are in the page."""
    drawn: dict[_Alike, dict[str, Any]] = field(default_factory=dict)
    """What the records of episodes in the page say about their places in the drawing."""

    @cached_property
    def runs(self) -> TaskRuns:
        """What the drawings show. All results are to be added."""
        return TaskRuns(self.task)

    @cached_property
    def numbers(self) -> dict[_Alike, list[int]]:
        """The numbers of the episodes in the page, in which the same happened."""
        found: dict[_Alike, list[int]] = {}
        for number, place in enumerate(self.shown):
            found.setdefault(_alike(self.results[place]), []).append(number)
        return found

    def follow(self, result: Result, times: int) -> None:
        """Add a result to the drawings, in which the same happened as in so many results in all."""
        alike = _alike(result)
        numbers = self.numbers.get(alike, [])
        drawn = self.runs.add(_trace(result), numbers, times)
        if numbers:
            self.drawn[alike] = drawn


def _follow_all(results: Results, listed: Container[int] | None) -> list[_Group]:
    """Group results by task, and follow their runs. Tasks that are not in the page are left out.

    Only the episodes of results with an `id()` in `listed` are in the page, unless it is None. Episodes are read in the
    order of the results, since it takes long to go back in a packed file.
    """
    followed = [
        (group, result)
        for group, result in zip(_groups(results, listed), results.results, strict=True)
        if group.shown
    ]  # fmt: skip
    times = Counter((group.name, _alike(result)) for group, result in followed)
    for group, result in followed:
        if number := times.pop((group.name, _alike(result)), 0):
            group.follow(result, number)
    return list({group.name: group for group, _ in followed}.values())


def _groups(results: Results, listed: Container[int] | None) -> list[_Group]:
    """Return the group of each result. If different tasks have the same name, numbers are added to the names."""
    groups: dict[str, _Group] = {}
    found: list[_Group] = []
    for result in results.results:
        name, number = result.task_name, 1
        while name in groups and not _same(groups[name].task, result.task):
            number += 1
            name = f"{result.task_name} ({number})"
        group = groups.setdefault(name, _Group(name))
        if listed is None or id(result) in listed:
            group.shown.append(len(group.results))
        group.results.append(result)
        group.task = group.task or result.task
        found.append(group)
    return found


def _same(a: Task | None, b: Task | None) -> bool:
    return a is b or a is None or b is None or a.automaton == b.automaton


# The index


@dataclass
class _Index:
    """The index of all episodes: a table with one row per episode, stored as columns.

    Agents, worlds and tasks are stored as indexes into the lists in `names`, and the rules that an episode broke as
    indexes into `rules`. Its harmful calls are indexes into `harms`, unless it is in no cluster.
    """

    rules: list[str] = field(default_factory=list)
    floor: frozenset[str] = frozenset()
    names: dict[str, dict[str, int]] = field(default_factory=lambda: {"agent": {}, "world": {}, "task": {}})
    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    blocks: list[int] = field(default_factory=list)
    """The number of the block that holds each task."""
    harms: dict[tuple[str, str, bool], int] = field(default_factory=dict)
    rows: list[tuple[EpisodeName, CauseKey | None]] = field(default_factory=list)
    """The name and the cause of each episode."""

    def add(self, name: str, result: Result, nth: int, headline: str) -> None:
        """Add a row for an episode. `nth` numbers the episodes with the same agent, task and epoch, starting at 1."""
        for column, text in (("agent", result.agent), ("world", result.world), ("task", name)):
            self.columns[column].append(self.names[column].setdefault(text, len(self.names[column])))
        for score_name in _INDEXED:
            self.columns[score_name].append(_short_number(result.scores.get(score_name)))
        row = {
            "epoch": result.epoch,
            "nth": nth,
            "reward": _short_number(reward_of(result.record)),
            "disagrees": disagreement(result.record),
            "outside": result.record.outcome == FAILED_OUTSIDE,
            "excluded": exclusion(result.record),
            "effected": has_effected_harm(result.scores),
            **{name: _short_number(usage_of(result.record, name)) for name in USAGE},
            "harms": " ".join(dict.fromkeys(harm_kinds(result.scores).values())),
            "headline": headline,
            "broken": _broken_rules(result),
            "harmed": [self.harms.setdefault(harm, len(self.harms)) for harm in self._harms(result)],
        }
        self.rows.append((name_of(result), cause_of(result, self.floor)))
        for key, value in row.items():
            self.columns[key].append(value)

    def _harms(self, result: Result) -> Iterable[tuple[str, str, bool]]:
        return () if reason_to_leave_out(result, self.floor) else harms_of(result)

    def to_dict(self, fixes: Fixes) -> dict[str, Any]:
        """Return the index as JSON. The causes are stored as indexes into the clusters of `fixes`.

        The example of a cluster is stored as its row, or as None if it is not in the index.
        """
        names = {column: list(numbers) for column, numbers in self.names.items()}
        clusters, numbers = fixes.clusters, {one.key: number for number, one in enumerate(fixes.clusters)}
        places = {name: place for place, (name, _) in reversed(list(enumerate(self.rows)))}
        causes = {
            "names": [str(one) for one in clusters],
            "kinds": [one.key.kind for one in clusters],
            "examples": [places.get(one.example.name) for one in clusters],
        }
        columns = {**self.columns, "cause": [None if key is None else numbers[key] for _, key in self.rows]}
        return {"names": names, "columns": columns, "blocks": self.blocks, "rules": self.rules, "causes": causes,
                "harmed": list(self.harms)}  # fmt: skip


def _broken_rules(result: Result) -> list[int]:
    """Return the indexes of the rules that an episode broke, or that required something to the end."""
    verdicts = result.scores["rules"] if result.rules else ()
    return [number for number, one in enumerate(verdicts) if one["state"] in (State.BROKEN, State.OWED)]


def _short_number(value: Any) -> Any:
    """Round a float to five decimals. Integers are kept, and anything else becomes None."""
    if not _is_number(value):
        return None
    return round(value, 5) if isinstance(value, float) else value


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value))


# A task


@dataclass
class _Calls:
    """The distinct calls in a task's episodes, and the distinct requests (tool and arguments) in these calls."""

    requests: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def add(self, calls: list[dict[str, Any]]) -> list[int]:
        """Add an episode's calls, and return each call's number. Equal calls share a number."""
        return [_number(self.calls, {**call, "asked": _number(self.requests, call["asked"])}) for call in calls]

    def to_dict(self) -> dict[str, Any]:
        """Return the calls and requests as JSON."""
        return {"asked": list(map(json.loads, self.requests)), "calls": list(map(json.loads, self.calls))}


def _number(known: dict[str, int], record: dict[str, Any]) -> int:
    """Return a record's number in `known`. A new record is added with the next free number."""
    return known.setdefault(json.dumps(record), len(known))


def _task(group: _Group, index: _Index) -> dict[str, Any]:
    """Build the record for a task and its episodes in the page, and add these to the index."""
    first, seen, calls, episodes = group.results[0], Counter[tuple[str, int]](), _Calls(), []
    records = _explain_all(group)
    for place, result in enumerate(group.results):
        seen[result.agent, result.epoch] += 1
        if place in records:
            episode, headline = records.pop(place)
            index.add(group.name, result, seen[result.agent, result.epoch], headline)
            episodes.append({**episode, "calls": calls.add(episode["calls"]), "others": calls.add(episode["others"])})
    gone = {"gone": first.why, "alone": is_by_rules_alone(first.scores)}
    about = gone if group.task is None else {**_about(group.task), **group.runs.to_dict(first.rules)}
    return {"name": group.name, **about, "all": len(group.results), **calls.to_dict(), "episodes": episodes}


def _explain_all(group: _Group) -> dict[int, tuple[dict[str, Any], str]]:
    """Return the record and the headline of each episode in the page, keyed by its place in the group."""
    records = {}
    for alike, numbers in group.numbers.items():
        places = [group.shown[number] for number in numbers]
        first = group.results[places[0]]
        scored, explanation = _explain(first)
        headline = explanation.headline if explanation else f"not explained: {first.why}"
        for place in places:
            record = episode_record(group.results[place], scored, explanation)
            records[place] = {**record, **group.drawn[alike]}, headline
    return records


def _trace(result: Result) -> Trace | None:
    """Return the trace of an episode. If its task is not available, there is none."""
    if result.task is None:
        return None
    episode, scoring = result.unscored
    return trace_episode(result.task, episode, scoring, rules=result.rules)


def _explain(result: Result) -> tuple[Score | None, Explanation | None]:
    """Score and explain an episode, if anything explains it."""
    return result.explain() if result.can_be_explained else (None, None)


def _about(task: Task) -> dict[str, Any]:
    """Describe a task: its prompt, its actions and its rules."""
    alphabet = task.automaton.alphabet
    return {
        "prompt": task.prompt,
        "procedure": None if task.procedure is None else str(task.procedure),
        "actions": [[name, action.notation] for name, action in zip(alphabet.names, alphabet.actions, strict=True)],
        "rules": _rules(task),
        "unlisted": alphabet.unlisted,
        "counted": describe_size(task.automaton),
        "start": task.automaton.start,
    }


def _rules(task: Task) -> list[list[Any]]:
    """Return a task's rules as a list of [title, rules] pairs."""
    alphabet = task.automaton.alphabet
    forbidden = [
        f"{one.call.notation} ({one.severity}{f': {one.why}' if one.why else ''})" for one in alphabet.forbid
    ]  # fmt: skip
    return [
        ["reads", [pattern.notation for pattern in alphabet.reads]],
        ["neutral", [pattern.notation for pattern in alphabet.neutral]],
        ["forbidden", forbidden],
        ["policies", list(dict.fromkeys(policy.because or str(policy) for policy in task.policies))],
    ]

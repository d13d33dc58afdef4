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
from math import isfinite
from typing import Any, Final
from zlib import compress

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
from corepath.scoring.score import Score, score
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
    for name, group in _by_task(results).items():
        if listed is not None and not any(id(result) in listed for result in group):
            continue
        tasks.append(_task(name, group, index, listed))
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


def _by_task(results: Results) -> dict[str, list[Result]]:
    """Group results by task name. If different tasks have the same name, numbers are added to the names."""
    groups: dict[str, list[Result]] = {}
    tasks: dict[str, Task | None] = {}
    for result in results.results:
        name, number = result.task_name, 1
        while name in groups and not _same(tasks[name], result.task):
            number += 1
            name = f"{result.task_name} ({number})"
        groups.setdefault(name, []).append(result)
        tasks[name] = tasks.get(name) or result.task
    return groups


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


def _task(name: str, group: list[Result], index: _Index, listed: Container[int] | None) -> dict[str, Any]:
    """Build the record for a task and its episodes, and add the episodes to the index.

    Only the episodes of results with an `id()` in `listed` are in the record, unless it is None. The drawings count all
    episodes.
    """
    task = next((result.task for result in group if result.task is not None), None)
    places = [place for place, result in enumerate(group) if listed is None or id(result) in listed]
    runs, seen, calls, episodes = TaskRuns(task), Counter[tuple[str, int]](), _Calls(), []
    records = _explain_all(group, {place: number for number, place in enumerate(places)}, runs)
    for place, result in enumerate(group):
        seen[result.agent, result.epoch] += 1
        if place in records:
            episode, headline = records.pop(place)
            index.add(name, result, seen[result.agent, result.epoch], headline)
            episodes.append({**episode, "calls": calls.add(episode["calls"]), "others": calls.add(episode["others"])})
    gone = {"gone": group[0].why, "alone": is_by_rules_alone(group[0].scores)}
    about = gone if task is None else {**_about(task), **runs.to_dict(group[0].rules)}
    return {"name": name, **about, "all": len(group), **calls.to_dict(), "episodes": episodes}


def _explain_all(
    group: list[Result], numbers: Mapping[int, int], runs: TaskRuns
) -> dict[int, tuple[dict[str, Any], str]]:
    """Return the record and the headline of each episode in the page, and add all episodes to `runs`.

    Episodes are known by their place in the group. `numbers` has the places of those in the page, with their numbers.
    """
    records = {}
    for alike in _alike(group):
        shown, first = [place for place, _ in alike if place in numbers], alike[0][1]
        scored, explanation = _explain(first) if shown else (_score(first), None)
        drawn = runs.add(scored, [numbers[place] for place in shown], len(alike))
        headline = explanation.headline if explanation else f"not explained: {first.why}"
        for place in shown:
            records[place] = {**episode_record(group[place], scored, explanation), **drawn}, headline
    return records


def _alike(group: list[Result]) -> Iterable[list[tuple[int, Result]]]:
    """Group the results of a task, each with its place, by what happened. Each group needs only one explanation."""
    found: dict[tuple[int, int], list[tuple[int, Result]]] = {}
    for place, result in enumerate(group):
        found.setdefault((id(result.find), result.content), []).append((place, result))
    return found.values()


def _score(result: Result) -> Score | None:
    """Score an episode. If its task is not available, there is no score."""
    if result.task is None:
        return None
    episode, scoring = result.unscored
    return score(result.task, episode, scoring, rules=result.rules)


def _explain(result: Result) -> tuple[Score | None, Explanation | None]:
    """Score and explain an episode. If its task is not available, only rules explain it, or nothing does."""
    return (None, None) if result.task is None and not result.rules else result.explain()


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

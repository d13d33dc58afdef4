"""The data that the page's script reads: an index of all episodes, and the tasks with their episodes in full.

The data is JSON, deflated and base64-encoded, and `data.js` reads it. Lists of records are stored as columns, with one
list of values per key.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final
from zlib import compress

from corepath.drawing.export import describe_size
from corepath.episode import FAILED_OUTSIDE, reward_of
from corepath.explanation import Explanation, explain
from corepath.report.episode_data import episode_record, harm_kinds
from corepath.report.results import Result, Results
from corepath.report.task_drawings import TaskRuns
from corepath.rules.verdict import State
from corepath.scoring.agreement import disagreement
from corepath.scoring.options import Scoring
from corepath.scoring.score import Score, score
from corepath.scoring.summary import BROKEN, is_by_rules_alone
from corepath.task import Task

BLOCK_SIZE: Final = 8_000_000
"""A block of tasks ends once its JSON is longer than this. Browsers parse a block in well under a second."""

_INDEXED: Final = (
    "pc", "pc_ktc", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "root_harms", "efficiency",
    "directness", "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "answer_match", "length",
    BROKEN,
)  # fmt: skip
"""The scores that the page shows. They are stored in the index only."""


def page_data(results: Results) -> Iterator[tuple[str, str]]:
    """Yield an (id, encoded data) pair for each block: `tasks-0`, `tasks-1`, …, and finally `index`."""
    index = _Index(list(map(str, results.rules)))
    tasks: list[dict[str, Any]] = []
    size = block = 0
    for name, group in _by_task(results).items():
        tasks.append(_task(name, group, results.scoring, index))
        index.blocks.append(block)
        size += len(json.dumps(tasks[-1]))
        if size > BLOCK_SIZE:
            yield f"tasks-{block}", encode(_columns(tasks))
            tasks, size, block = [], 0, block + 1
    if tasks:
        yield f"tasks-{block}", encode(_columns(tasks))
    yield "index", encode(index.to_dict())


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
    indexes into `rules`.
    """

    rules: list[str] = field(default_factory=list)
    names: dict[str, dict[str, int]] = field(default_factory=lambda: {"agent": {}, "world": {}, "task": {}})
    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    blocks: list[int] = field(default_factory=list)
    """The number of the block that holds each task."""

    def add(self, name: str, result: Result, nth: int, headline: str) -> None:
        """Add a row for an episode. `nth` numbers the episodes with the same agent, task and epoch, starting at 1."""
        for column, text in (("agent", result.agent), ("world", result.world), ("task", name)):
            self.columns[column].append(self.names[column].setdefault(text, len(self.names[column])))
        for score_name in _INDEXED:
            self.columns[score_name].append(_short_number(result.scores.get(score_name)))
        row = {
            "epoch": result.episode.epoch,
            "nth": nth,
            "reward": _short_number(reward_of(result.episode)),
            "disagrees": disagreement(result.episode),
            "outside": result.episode.outcome == FAILED_OUTSIDE,
            "harms": " ".join(dict.fromkeys(harm_kinds(result.scores).values())),
            "headline": headline,
            "broken": _broken_rules(result),
        }
        for key, value in row.items():
            self.columns[key].append(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the index as JSON."""
        names = {column: list(numbers) for column, numbers in self.names.items()}
        return {"names": names, "columns": self.columns, "blocks": self.blocks, "rules": self.rules}


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


def _task(name: str, group: list[Result], scoring: Scoring, index: _Index) -> dict[str, Any]:
    """Build the record for a task and its episodes, and add the episodes to the index."""
    seen: Counter[tuple[str, int]] = Counter()
    task = next((result.task for result in group if result.task is not None), None)
    runs, calls = TaskRuns(task), _Calls()
    episodes = []
    for result in group:
        scored, explanation = _explain(result, scoring)
        seen[result.agent, result.episode.epoch] += 1
        headline = explanation.headline if explanation else f"not explained: {result.why}"
        index.add(name, result, seen[result.agent, result.episode.epoch], headline)
        episode = {**episode_record(result, scored, explanation), **runs.add(scored)}
        episodes.append({**episode, "calls": calls.add(episode["calls"]), "others": calls.add(episode["others"])})
    gone = {"gone": group[0].why, "alone": is_by_rules_alone(group[0].scores)}
    about = gone if task is None else {**_about(task), **runs.to_dict(group[0].rules)}
    return {"name": name, **about, **calls.to_dict(), "episodes": episodes}


def _explain(result: Result, scoring: Scoring) -> tuple[Score | None, Explanation | None]:
    """Score and explain an episode. If its task is not available, only rules explain it, or nothing does."""
    if result.task is None:
        return None, result.explanation if result.rules else None
    scored = score(result.task, result.episode, scoring, rules=result.rules)
    return scored, explain(result.task, result.episode, scoring, scored=scored)


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

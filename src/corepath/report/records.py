"""What the page's script is given: an index of all episodes, and a record of each task with its episodes in full."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.drawing.draw import STYLE, draw
from corepath.drawing.export import describe_size
from corepath.episode import FAILED_OUTSIDE, free_record
from corepath.explanation import Explanation, explain
from corepath.notation.call import UNANSWERED, Call
from corepath.report.packing import packed
from corepath.report.results import Result, Results
from corepath.scoring.evidence import Reference
from corepath.scoring.options import Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task

SMALL: Final = 30
"""Automata of more states are also drawn folded, and shown so first."""
MOST_STATES: Final = 400
"""Automata of more states are drawn only folded: nobody finds a way in the whole picture."""
ONE_LINE: Final = 76
"""JSON that is no longer stands in one line."""

_INDEXED: Final = (
    "pc", "pc_ktc", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "efficiency", "directness",
    "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "answer_match", "length",
)  # fmt: skip
"""The scores that are shown. They stand in the index alone."""


MOST_TOGETHER: Final = 8_000_000
"""Tasks of so many letters, and the one that goes beyond, are packed together: a page unpacks that in no time."""


def records(results: Results) -> Iterator[tuple[str, str]]:
    """The names of all records and the records, packed; of tasks many together, and the index last."""
    index = _Index()
    together: list[dict[str, Any]] = []
    size = block = 0
    for name, group in _by_task(results).items():
        together.append(_task(name, group, results.scoring, index))
        index.blocks.append(block)
        size += len(json.dumps(together[-1]))
        if size > MOST_TOGETHER:
            yield f"tasks-{block}", packed(together)
            together, size, block = [], 0, block + 1
    if together:
        yield f"tasks-{block}", packed(together)
    yield "index", packed(index.to_dict())


def _by_task(results: Results) -> dict[str, list[Result]]:
    """The results of each task; tasks of one name that are not the same are numbered."""
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
    """A row an episode, by columns; names are numbers of a list."""

    names: dict[str, dict[str, int]] = field(default_factory=lambda: {"agent": {}, "world": {}, "task": {}})
    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    blocks: list[int] = field(default_factory=list)
    """For each task, with which others it is packed."""

    def add(self, name: str, result: Result, nth: int, headline: str) -> None:
        for what, text in (("agent", result.agent), ("world", result.world), ("task", name)):
            self.columns[what].append(self.names[what].setdefault(text, len(self.names[what])))
        for score_name in _INDEXED:
            self.columns[score_name].append(_short_number(result.scores.get(score_name)))
        row = {
            "epoch": result.episode.epoch,
            "nth": nth,
            "outside": result.episode.outcome == FAILED_OUTSIDE,
            "harms": " ".join(dict.fromkeys(_harm_kinds(result.scores).values())),
            "headline": headline,
        }
        for key, value in row.items():
            self.columns[key].append(value)

    def to_dict(self) -> dict[str, Any]:
        names = {what: list(names) for what, names in self.names.items()}
        return {"names": names, "columns": self.columns, "blocks": self.blocks}


def _short_number(value: Any) -> Any:
    if not _is_number(value):
        return None
    return round(value, 5) if isinstance(value, float) else value


def _harm_kinds(scores: Mapping[str, Any]) -> dict[int, str]:
    """The kind of each harmful call by its number, from scores that may have been recorded by anything."""
    harms = scores.get("harms")
    return {
        harm["index"]: harm["kind"]
        for harm in (harms if isinstance(harms, (list, tuple)) else ())
        if isinstance(harm, Mapping) and isinstance(harm.get("index"), int) and harm.get("kind") in list(HarmKind)
    }


# A task


def _task(name: str, group: list[Result], scoring: Scoring, index: _Index) -> dict[str, Any]:
    """The record of a task; the index is told of its episodes.

    Calls that are alike are recorded once, and so is what was asked for in calls that went differently.
    """
    met: Counter[tuple[str, int]] = Counter()
    wrong: dict[int, Counter[str]] = defaultdict(Counter)
    asked: dict[str, int] = {}
    calls: dict[str, int] = {}
    episodes = []
    for result in group:
        scored = None if result.task is None else score(result.task, result.episode, scoring)
        found = None
        if result.task is not None and scored is not None:
            found = explain(result.task, result.episode, scoring, scored=scored)
            for step in scored.trace.steps:
                if step.kind is Kind.HARM:
                    wrong[step.before][step.call.label] += 1
        met[result.agent, result.episode.epoch] += 1
        nth = met[result.agent, result.episode.epoch]
        index.add(name, result, nth, found.headline if found else f"not explained: {result.why}")
        episode = _episode(result, scored, found)
        for key in ("calls", "others"):
            for call in episode[key]:
                call["asked"] = _number(asked, call["asked"])
            episode[key] = [_number(calls, call) for call in episode[key]]
        episodes.append(episode)
    task = next((result.task for result in group if result.task is not None), None)
    about = {"gone": next(result.why for result in group)} if task is None else _about(task, wrong)
    return {
        "name": name,
        **about,
        "asked": list(map(json.loads, asked)),
        "calls": list(map(json.loads, calls)),
        "episodes": episodes,
    }


def _number(known: dict[str, int], record: dict[str, Any]) -> int:
    """The number of a record among those that are known."""
    return known.setdefault(json.dumps(record), len(known))


def _about(task: Task, wrong: Mapping[int, Counter[str]]) -> dict[str, Any]:
    automaton, alphabet = task.automaton, task.automaton.alphabet
    harms = {
        state: sorted(calls.items(), key=lambda pair: (-pair[1], pair[0])) for state, calls in sorted(wrong.items())
    }
    size = len(automaton.states)
    full = draw(automaton, harms, name=task.id) if size <= MOST_STATES else None
    folded = draw(automaton, harms, collapsed=True, name=task.id) if size > SMALL else None
    if full is not None and folded is not None and not folded.hidden:
        folded = None
    return {
        "prompt": task.prompt,
        "procedure": None if task.procedure is None else str(task.procedure),
        "actions": [[name, action.notation] for name, action in zip(alphabet.names, alphabet.actions, strict=True)],
        "rules": [
            ["reads", [pattern.notation for pattern in alphabet.reads]],
            ["neutral", [pattern.notation for pattern in alphabet.neutral]],
            ["forbidden", [
                f"{one.call.notation} ({one.severity}{f': {one.why}' if one.why else ''})" for one in alphabet.forbid
            ]],
            ["policies", list(dict.fromkeys(policy.because or str(policy) for policy in task.policies))],
        ],
        "unlisted": alphabet.unlisted,
        "counted": describe_size(automaton),
        "start": automaton.start,
        "drawings": [
            {"svg": drawing.svg.replace(f"<style>{STYLE}</style>", "", 1), "left_out": drawing.hidden}
            for drawing in (folded, full)
            if drawing is not None
        ],
    }  # fmt: skip


# An episode


def _episode(result: Result, scored: Score | None, found: Explanation | None) -> dict[str, Any]:
    episode = result.episode
    record: dict[str, Any] = {
        "calls": [_call(call) for call in episode.calls],
        "answer": _shown(episode.answer) if episode.answer is not None else None,
        "params": _shown(episode.params) if episode.params else None,
        "messages": list(map(_message, episode.messages)),
        "others": [_call(call) for call in episode.other_calls],
        "ended": episode.outcome,
        "more": _shown({name: value for name, value in free_record(episode).items() if name != "scores"}),
    }
    if scored is None or found is None:
        for number, kind in _harm_kinds(result.scores).items():
            if 0 <= number < len(record["calls"]):
                record["calls"][number] |= {"kind": Kind.HARM.value, "harm": kind}
        return {**record, "why": result.why}
    explained = found.to_dict()
    for call, step, note in zip(record["calls"], scored.trace.steps, explained["steps"], strict=True):
        call |= {"kind": step.kind.value, "harm": step.harm, "before": step.before, "action": step.symbol,
                 **({} if step.after == step.before else {"after": step.after}), "text": note["text"]}  # fmt: skip
    golden = _aligned(scored, scored.reference)
    repair = list(map(list, found.repair)) if scored.harms else _aligned(scored, scored.repair)
    return {
        **record,
        "findings": explained["findings"],
        "golden": golden,
        "repair": None if not repair else True if repair == golden else repair,
    }


def _message(message: Any) -> dict[str, Any]:
    """A message: who said it and before which call, where that is known, and what."""
    if not isinstance(message, Mapping):
        return {"body": _shown(message)}
    who, before, content = message.get("role"), message.get("before_call"), message.get("content")
    plain = isinstance(content, str) and message.keys() <= {"role", "content", "before_call"}
    return {
        "who": who if isinstance(who, str) else None,
        "before": before if isinstance(before, int) else None,
        "body": _shown(content if plain else message),
    }


def _call(call: Call) -> dict[str, Any]:
    asked = {"label": call.label, "tool": call.tool, "arguments": _shown(call.arguments)}
    shown: dict[str, Any] = {"asked": asked}
    if call.error is not None:
        shown["error"] = _shown(call.error)
    if call.result is not UNANSWERED:
        shown["result"] = _shown(call.result)
    if call.turn is not None:
        shown["turn"] = call.turn
    if call.extra:
        shown["more"] = _shown(call.extra)
    return shown


def _aligned(scored: Score, reference: Reference) -> list[list[int | None]]:
    """The condensed path beside a reference: the number of a call, and of an action; None where there is none."""
    calls, names = scored.trace.condensed, scored.trace.automaton.alphabet.names
    return [
        [None if mine is None else calls[mine].index, None if theirs is None else names.index(reference.path[theirs])]
        for mine, theirs in reference.alignment
    ]


def _shown(value: Any) -> list[str]:
    """What a value is, and its text in full; JSON is written here, since a script would round large numbers."""
    if isinstance(value, str):
        return ["text", value]
    short = _json(value, None)
    return ["JSON", short if len(short) <= ONE_LINE else _json(value, 2)]


def _json(value: Any, indent: int | None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value))

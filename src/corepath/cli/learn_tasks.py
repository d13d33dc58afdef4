"""Learns tasks from good runs, for the command `learn`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from corepath.authoring.learning.learn import Judge, Learned, Question, Unseen, learn
from corepath.authoring.learning.simulation import check_world, judge_by_world
from corepath.authoring.tools import describe_tools
from corepath.automaton.alphabet import Refused
from corepath.cli.options import find_sources
from corepath.cli.printing import ask, say, usage_error
from corepath.cli.recorded_runs import RunReader
from corepath.episode import Episode, reward_of
from corepath.errors import TaskError, count
from corepath.files.tool_file import Tools, load_tools
from corepath.notation.call import Call
from corepath.task import Task
from corepath.values import canonical, visible


@dataclass(frozen=True)
class LearnOptions:
    """The options of `learn` for tasks."""

    tools: Path | None = None
    out_file: Path | None = None
    yes: bool = False
    world: str | None = None
    refused: Refused | None = None
    as_json: bool = False


def learn_tasks_command(paths: Sequence[Path], options: LearnOptions) -> None:
    """Learn a task from the runs of each task, and write a task file. Exit with code 1 if a task cannot be learned."""
    judged = None if options.world is None else _find_world(options.world)
    groups, is_whole = _read_runs(paths)
    tools = _load_tools(options.tools, groups)
    judge = _choose_judge(judged, options)
    found: list[Learned] = []
    for name, episodes in groups.items():
        try:
            if judged is not None:
                check_world(judged, episodes)
            unseen: Unseen | None = None if options.tools else "ignore"
            found.append(learn(episodes, tools, judge=judge, unseen=unseen, refused=options.refused))
        except TaskError as error:
            say(f"corepath: task '{visible(name)}': {error}")
            is_whole = False
    _write(found, options)
    if not is_whole:
        raise typer.Exit(1)


def _read_runs(paths: Sequence[Path]) -> tuple[dict[str, list[Episode]], bool]:
    """Return the runs of each task, and whether all could be read."""
    reader = RunReader()
    groups: dict[str, list[Episode]] = {}
    for _, episode in reader.read(paths):
        groups.setdefault(episode.task, []).append(episode)
    reader.print_problems()
    if not groups:
        say("corepath: no runs to learn from")
        raise typer.Exit(1)
    _warn_of_low_rewards(groups)
    return groups, not reader.problems


def _warn_of_low_rewards(groups: dict[str, list[Episode]]) -> None:
    """Warn of runs that were not good at their source, and of those that make the same calls as a good one."""
    low: list[str] = []
    good: set[str] = set()
    for task, episodes in groups.items():
        for episode in episodes:
            reward = reward_of(episode)
            path = canonical([task, [[call.tool, call.arguments] for call in episode.calls]])
            if reward is not None and reward < 1:
                low.append(path)
            elif reward is not None:
                good.add(path)
    if low:
        say(f"warning: {count(len(low), 'run')} got a reward below 1 at the source; learn from good runs only")
    if same := sum(path in good for path in low):
        say(f"warning: {same} of them made the same calls as a run with reward 1: no path can tell these apart")


def _load_tools(path: Path | None, groups: dict[str, list[Episode]]) -> Tools:
    if path is not None:
        tools = load_tools(path)
        for warning in tools.warnings:
            say(f"warning: {warning}")
        return tools
    if not any(episode.calls for episodes in groups.values() for episode in episodes):
        say("corepath: no run makes a call, so that there is nothing to learn")
        raise typer.Exit(1)
    described = describe_tools(episode for episodes in groups.values() for episode in episodes)
    if described.unsure:
        few = ", ".join(list(described.unsure)[:5]) + (" and more" if len(described.unsure) > 5 else "")
        number = len(described.unsure)
        they, read = (
            ("1 tool counts as a write", "it reads")
            if number == 1
            else (f"{number} tools count as writes", "they read")
        )
        say(
            f"note: {they}, because the runs do not show whether {read}: {visible(few)}; corepath tools writes a tool "
            "file for you to settle that"
        )
    return described.tools


def _find_world(name: str) -> Task:
    try:
        found = find_sources([name])
        if len(found) > 1:
            usage_error(f"--world: '{name}' has {len(found)} tasks; name one, as in {found[0].id}")
        task = found[0].make()
    except (TaskError, ValueError) as error:
        usage_error(f"--world: {error}")
    if task.simulator is None:
        usage_error(f"--world: task '{name}' has no world that could execute calls")
    return task


def _choose_judge(judged: Task | None, options: LearnOptions) -> Judge | None:
    if judged is not None:
        return judge_by_world(judged)
    if options.yes or options.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return _ask


def _ask(question: Question) -> list[bool | None]:
    """Ask the person at the terminal."""
    say("")
    say(question.text)
    say(f"  seen in a run:   {_path(question.seen)}")
    say(f"  in none so far:  {_path(question.examples[0])}")
    if question.is_one_choice:
        few, many = question.paths
        say(f"  no leaves {count(few, 'golden path')}, yes {count(many, 'golden path')}")
    with ask():
        agreed = typer.confirm("Is that right as well?", default=question.default, err=True)
    return [agreed, *[agreed if question.is_one_choice else None] * (len(question.examples) - 1)]


def _path(calls: Sequence[Call]) -> str:
    return visible(" → ".join(call.label for call in calls))


def _write(found: Sequence[Learned], options: LearnOptions) -> None:
    text = "---\n".join(one.text for one in found)
    if options.out_file is not None and text:
        options.out_file.write_text(text, encoding="utf-8")
    if options.as_json:
        for one in found:
            typer.echo(json.dumps(_as_json(one)))
    elif options.out_file is None:
        typer.echo(text, nl=False)
    where = f" in {options.out_file}" if options.out_file is not None else ""
    if len(found) == 1:
        (one,) = found
        parts = (count(len(one.support), "step"), count(one.task.automaton.golden.count, "golden path"))
        say(f"1 task{where}: {', '.join(parts)}, learned from {count(one.runs, 'run')}")
    elif found:
        say(f"{len(found):,} tasks{where}, learned from {count(sum(one.runs for one in found), 'run')}")
    if alone := sum(one.runs == 1 for one in found):
        which = (
            "the task is" if len(found) == 1 else f"{count(alone, 'task')} of them" + (" is" if alone == 1 else " are")
        )
        say(f"note: {which} learned from one run, which shows one way only; corepath learn --add widens a task")
    for warning in _warnings(found):
        say(f"warning: {warning}")


def _warnings(found: Sequence[Learned]) -> Iterator[str]:
    for one in found:
        yield from (f"{visible(one.task.id)}: {warning}" for warning in one.warnings)


def _as_json(learned: Learned) -> dict[str, object]:
    task = learned.task
    return {
        "task": task.id,
        "runs": learned.runs,
        "golden_paths": task.automaton.golden.count,
        "procedure": str(task.procedure),
        "steps": [
            {"name": action.name, "action": action.notation, "support": learned.support.get(str(action.name))}
            for action in task.actions
        ],
        "questions": [
            {"text": question.text, "right": right, "examples": len(question.examples)}
            for question, right in learned.asked
        ],
        "notes": list(learned.notes),
        "warnings": list(learned.warnings),
    }

"""τ-bench results: a list of runs with `task_id`, `reward`, `info`, `traj`, and `trial` where there are several.

An error is an answer that begins with "Error:" or "Unknown action": so the benchmark writes what a tool refused, and
that there is no such tool. Agents that call tools are read, and those that write "Action:" and JSON (`act`, `react`).
The task is `tau-bench/DOMAIN/NUMBER`, its domain taken from the policy that the agent was given. A run that broke off
with an error has no trajectory; it is kept as one that failed outside the agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.exchanges import why_no_record_fits
from corepath.importers.messages import Conversation, objects, result_value, text_of
from corepath.importers.reading import records
from corepath.values import parse_json

_FIELDS: Final = ("task_id", "reward", "info", "traj")
_POLICY: Final = re.compile(r"^#\s*(\w+) agent policy\b", re.IGNORECASE)
_FAILED: Final = ("Error:", "Unknown action ")
_ANSWERED: Final = "API output: "
_SPEAKS: Final = "respond"
_Read = TypeVar("_Read")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    if not isinstance(value, Mapping):
        return f"no object with {', '.join(_FIELDS)}"
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        return f"a run of τ-bench has {', '.join(_FIELDS)}; '{missing[0]}' is not there"
    if not isinstance(value["traj"], list) or not isinstance(value["info"], Mapping):
        return "in a run of τ-bench 'traj' is a list of messages and 'info' an object"
    return None


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_no_record_fits(path, fits)


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file; a run that broke off before it began is of the domain of the others."""
    yield from _each(path, episodes)


def expects(path: Path) -> str | None:
    """Why a file does not hold what the benchmark expects; None where it does: results say it too."""
    return fits_file(path)


def expectations(path: Path) -> Iterator[Expected | Problem]:
    """What the benchmark expects of the tasks of a file, once for each run."""
    yield from _each(path, expected)


def _each(path: Path, read: Callable[[Any, str | None], Iterator[_Read]]) -> Iterator[_Read | Problem]:
    runs = list(records(path, lambda one: fits(one) is None))
    domain = next((found for _, run in runs if isinstance(run, Mapping) and (found := _domain(run))), None)
    for place, run in runs:
        if isinstance(run, Problem):
            yield run
            continue
        try:
            yield from read(run, domain)
        except RecordError as error:
            yield place.problem(str(error))
    if not runs:
        yield Problem(str(path), 1, 1, "no runs in this file")


def episodes(value: Any, domain: str | None = None) -> Iterator[Episode]:
    """The episode of a run; `domain` is that of the task where the run does not say it."""
    if wrong := fits(value):
        raise RecordError(wrong)
    trial, info = value.get("trial") or 0, value["info"]
    if not isinstance(trial, int) or isinstance(trial, bool):
        raise RecordError("'trial' is a whole number")
    made = Conversation()
    messages = list(objects(value["traj"], "the messages of 'traj'"))
    for message, after in pairwise([*messages, {}]):
        _take(made, message, after)
    known = info.get("task")
    task = known if isinstance(known, Mapping) else {}
    metadata = {
        "task_id": value["task_id"],
        "trial": trial,
        "domain": _domain(value) or domain,
        "user_id": task.get("user_id"),
        "outputs": task.get("outputs") or None,
        "user_cost": info.get("user_cost"),
    }
    failed = {"ended": FAILED_OUTSIDE, "failure": _failure(info)} if "error" in info and not messages else {}
    episode = made.episode(
        benchmark="tau-bench",
        reward=value["reward"],
        reward_info=info.get("reward_info"),
        metadata={name: one for name, one in metadata.items() if one is not None},
        **failed,
    )
    yield replace(episode, task=_task_id(value, domain), epoch=trial)


def expected(value: Any, domain: str | None = None) -> Iterator[Expected]:
    """What the benchmark expects of the task of a run; nothing where the run broke off before it began."""
    if wrong := fits(value):
        raise RecordError(wrong)
    task = value["info"].get("task")
    if task is None and "error" in value["info"]:
        return
    if not isinstance(task, Mapping):
        raise RecordError("'info.task' is an object with 'actions'")
    calls = []
    for action in objects(task.get("actions"), "the expected actions"):
        name, arguments = action.get("name"), action.get("kwargs")
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise RecordError("an expected action has a 'name' and 'kwargs', which is an object")
        if name != _SPEAKS:
            calls.append(ExpectedCall(name, arguments))
    prompt = task.get("instruction")
    yield Expected(_task_id(value, domain), tuple(calls), prompt if isinstance(prompt, str) else "")


def _task_id(value: Mapping[str, Any], domain: str | None) -> str:
    return f"tau-bench/{_domain(value) or domain or 'unknown'}/{value['task_id']}"


def _domain(value: Mapping[str, Any]) -> str | None:
    """The domain, which the policy at the start of the conversation begins with."""
    messages = value.get("traj")
    first = messages[0] if isinstance(messages, list) and messages else None
    content = text_of(first.get("content")) if isinstance(first, Mapping) else None
    found = _POLICY.match(content) if isinstance(content, str) else None
    return found[1].lower() if found else None


def _failure(info: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "error", "message": str(info["error"]), "traceback": info.get("traceback")}


def _take(made: Conversation, message: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    content = text_of(message.get("content"))
    match message.get("role"):
        case "assistant":
            made.next_turn()
            calls = list(objects(message.get("tool_calls"), "tool calls"))
            if not calls and isinstance(content, str) and _is_answer(after):
                _written_call(made, content)
                return
            made.said(_words(content))
            for call in calls:
                function = call.get("function")
                if not isinstance(function, Mapping):
                    raise RecordError("the 'function' of a tool call is an object with 'name' and 'arguments'")
                made.call(function.get("name"), function.get("arguments"), call.get("id"))
        case "tool":
            _answer(made, message.get("tool_call_id"), content)
        case "user" if _is_answer(message):
            _answer(made, None, str(content).removeprefix(_ANSWERED))


def _answer(made: Conversation, id_: Any, content: Any) -> None:
    failed = isinstance(content, str) and content.startswith(_FAILED)
    made.result(id_, content if failed else result_value("" if content is None else content), error=failed)


def _is_answer(message: Mapping[str, Any]) -> bool:
    """Whether it is the answer to a call that was written as text."""
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(_ANSWERED)


def _action(content: str) -> tuple[Any, Any] | None:
    """Name and arguments of the action that a text ends with; None where it ends with none."""
    try:
        action = parse_json(content.rpartition("Action:")[2].strip(), stored=True)
    except ValueError:
        return None
    return (action.get("name"), action.get("arguments")) if isinstance(action, Mapping) and "name" in action else None


def _written_call(made: Conversation, content: str) -> None:
    action = _action(content)
    if action is None:
        raise RecordError("a message was answered by the API, and has no 'Action:' with a name and arguments")
    thought = content.rpartition("Action:")[0].strip()
    made.said(thought.removeprefix("Thought:").strip())
    made.call(*action)


def _words(content: Any) -> Any:
    """What was said to the user: the content of a `respond` action, or the text itself."""
    action = _action(content) if isinstance(content, str) and "Action:" in content else None
    if action is not None and action[0] == _SPEAKS and isinstance(action[1], Mapping):
        return action[1].get("content")
    return content

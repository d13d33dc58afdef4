"""Read τ-bench results: a list of runs with `task_id`, `reward`, `info` and `traj`.

Runs also have `trial` if each task ran several times. The agent may call tools, or write "Action:" and JSON (`act`,
`react`). Results that begin with "Error:" or "Unknown action" are errors. The benchmark writes these results when a
tool refuses a call or does not exist.

The task is `tau-bench/DOMAIN/NUMBER`. The domain is named in the policy at the start of the conversation. A run that
broke off with an error has no trajectory, and the failure does not count against the agent.
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
from corepath.importers.content import message_text, objects, parse_result, text_of
from corepath.importers.format import Format, Source, recognise_records
from corepath.importers.reading import Sample, read_records, try_record
from corepath.importers.transcript import Transcript
from corepath.values import parse_json

_FIELDS: Final = ("task_id", "reward", "info", "traj")
_POLICY: Final = re.compile(r"^#\s*(\w+) agent policy\b", re.IGNORECASE)
_ERRORS: Final = ("Error", "Unknown action ")
_API_OUTPUT: Final = "API output: "
_RESPOND: Final = "respond"
_Read = TypeVar("_Read")

TOOL_FILE: Final = Path(__file__).with_name("tau_tools.yaml")
"""The file that says which τ-bench and τ²-bench tools only read."""


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict):
        return f"no object with {', '.join(_FIELDS)}"
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        return f"a run of τ-bench has {', '.join(_FIELDS)}; '{missing[0]}' is missing"
    if not isinstance(value["traj"], list) or not isinstance(value["info"], dict):
        return "in a run of τ-bench, 'traj' must be a list of messages and 'info' an object"
    return None


def _recognise(sample: Sample) -> str | None:
    return recognise_records(sample, mismatch)


def _read_runs(path: Path, read: Callable[[Any, str | None], Iterator[_Read]]) -> Iterator[_Read | Problem]:
    """Yield what `read` finds in each run, and a `Problem` for each malformed run.

    `read` also receives the domain of the other runs, for a run that broke off before it named its own domain.
    """
    runs = list(read_records(path, lambda one: mismatch(one) is None))
    domain = next((found for _, run in runs if isinstance(run, dict) and (found := _domain(run))), None)
    for place, run in runs:
        yield from try_record(place, run, lambda one: read(one, domain))
    if not runs:
        yield Problem(str(path), 1, 1, "no runs in this file")


def read_record(value: Any, domain: str | None = None) -> Iterator[Episode]:
    """Yield a run's episode. `domain` is used if the run does not name its own domain."""
    if wrong := mismatch(value):
        raise RecordError(wrong)
    trial, info = value.get("trial") or 0, value["info"]
    if not isinstance(trial, int) or isinstance(trial, bool):
        raise RecordError("'trial' must be an integer")
    transcript = Transcript()
    messages = list(objects(value["traj"], "the messages of 'traj'"))
    for message, after in pairwise([*messages, {}]):
        _read_message(transcript, message, after)
    failed = {"ended": FAILED_OUTSIDE, "failure": _failure(info)} if "error" in info and not messages else {}
    episode = transcript.to_episode(
        benchmark="tau-bench",
        reward=value["reward"],
        reward_info=info.get("reward_info"),
        metadata=_metadata(value, trial, _domain(value) or domain),
        **failed,
    )
    yield replace(episode, task=_task_id(value, domain), epoch=trial, fingerprint=_fingerprint(value, domain))


def _fingerprint(value: Mapping[str, Any], domain: str | None) -> str | None:
    """Return the fingerprint of the calls that a run was judged by, or None if they are missing or malformed."""
    try:
        return next((one.fingerprint for one in read_expected(value, domain)), None)
    except RecordError:
        return None  # the problem is reported when the tasks are read


def _metadata(value: Mapping[str, Any], trial: int, domain: str | None) -> dict[str, Any]:
    info = value["info"]
    task = info["task"] if isinstance(info.get("task"), dict) else {}
    found = {
        "task_id": value["task_id"],
        "trial": trial,
        "domain": domain,
        "user_id": task.get("user_id"),
        "outputs": task.get("outputs") or None,
        "user_cost": info.get("user_cost"),
    }
    return {name: one for name, one in found.items() if one is not None}


def read_expected(value: Any, domain: str | None = None) -> Iterator[Expected]:
    """Yield the expected calls for a run's task, or nothing if the run broke off before it began."""
    if wrong := mismatch(value):
        raise RecordError(wrong)
    task = value["info"].get("task")
    if task is None and "error" in value["info"]:
        return
    if not isinstance(task, dict):
        raise RecordError("'info.task' must be an object with 'actions'")
    calls = []
    for action in objects(task.get("actions"), "the expected actions"):
        name, arguments = action.get("name"), action.get("kwargs")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RecordError("an expected action must have a 'name' and an object of 'kwargs'")
        if name != _RESPOND:
            calls.append(ExpectedCall(name, arguments))
    prompt = task.get("instruction")
    yield Expected(_task_id(value, domain), tuple(calls), prompt if isinstance(prompt, str) else "")


def _task_id(value: Mapping[str, Any], domain: str | None) -> str:
    return f"tau-bench/{_domain(value) or domain or 'unknown'}/{value['task_id']}"


def _domain(value: Mapping[str, Any]) -> str | None:
    """Return the domain named in the policy at the start of the conversation, or None if no domain is named."""
    messages = value.get("traj")
    first = messages[0] if isinstance(messages, list) and messages else None
    content = text_of(first.get("content")) if isinstance(first, dict) else None
    found = _POLICY.match(content) if isinstance(content, str) else None
    return found[1].lower() if found else None


def _failure(info: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "error", "message": str(info["error"]), "traceback": info.get("traceback")}


def _read_message(transcript: Transcript, message: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    content = text_of(message.get("content"))
    match message.get("role"):
        case "assistant":
            transcript.start_turn()
            calls = list(objects(message.get("tool_calls"), "tool calls"))
            if not calls and isinstance(content, str) and _is_answer(after):
                _read_written_call(transcript, content)
                return
            transcript.add_text(_text_to_user(content))
            for call in calls:
                function = call.get("function")
                if not isinstance(function, dict):
                    raise RecordError("the 'function' of a tool call must be an object with 'name' and 'arguments'")
                transcript.add_call(function.get("name"), function.get("arguments"), call.get("id"))
        case "tool":
            _read_answer(transcript, message.get("tool_call_id"), content)
        case "user" if _is_answer(message):
            _read_answer(transcript, None, str(content).removeprefix(_API_OUTPUT))
        case "user" | "system" as role:
            transcript.add_message(role, message_text(message.get("content")))


def _read_answer(transcript: Transcript, id_: Any, content: Any) -> None:
    failed = isinstance(content, str) and content.startswith(_ERRORS)
    transcript.add_result(id_, content if failed else parse_result("" if content is None else content), error=failed)


def _is_answer(message: Mapping[str, Any]) -> bool:
    """Return True if a user message is the result of a call that the agent wrote as text."""
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(_API_OUTPUT)


def _action(content: str) -> tuple[Any, Any] | None:
    """Return the name and arguments of the action at the end of a message, or None if there is none."""
    try:
        action = parse_json(content.rpartition("Action:")[2].strip(), stored=True)
    except ValueError:
        return None
    return (action.get("name"), action.get("arguments")) if isinstance(action, dict) and "name" in action else None


def _read_written_call(transcript: Transcript, content: str) -> None:
    action = _action(content)
    if action is None:
        raise RecordError("a message was answered by the API, but has no 'Action:' with a name and arguments")
    thought = content.rpartition("Action:")[0].strip()
    transcript.add_text(thought.removeprefix("Thought:").strip())
    transcript.add_call(*action)


def _text_to_user(content: Any) -> Any:
    """Return what the agent said to the user: the content of a `respond` action, or else `content` unchanged."""
    action = _action(content) if isinstance(content, str) and "Action:" in content else None
    if action is not None and action[0] == _RESPOND and isinstance(action[1], dict):
        return action[1].get("content")
    return content


FORMAT: Final = Format(
    "tau-bench",
    "an answer that begins with `Error` or `Unknown action`",
    _recognise,
    lambda path: _read_runs(path, read_record),
)
SOURCE: Final = Source("tau-bench", _recognise, lambda path: _read_runs(path, read_expected), TOOL_FILE)

"""Read trajectories of SWE-agent (`*.traj`): one JSON file for each instance.

The steps are in `trajectory`. If the model calls tools, a call's name and arguments are in the matching message of
`history`. Otherwise the step's action is a shell command, which is a call to `bash`, also if it uses a command of
SWE-agent such as `open` or `edit`. Steps that the model had to repeat are in `trajectory` only; their calls count. The
calls of old subroutines, which are only in `history`, do not. Demonstrations are messages, never calls.

If an agent made several attempts, each of them is an episode, and the copy of the best one is left out. Files are named
after their instance, which becomes the task, e.g. `swe-agent/django__django-1`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result, text_of
from corepath.importers.format import Format, record_format
from corepath.importers.transcript import Transcript
from corepath.values import parse_json

_ENDING: Final = ".traj"
_OUTSIDE: Final = ("exit_api", "exit_environment", "exit_error")
_COPIES: Final = ("edited_files30", "edited_files50", "edited_files70")
"""Fields of `info` that repeat the submission with its surroundings."""
_REFUSED: Final = "user"
"""The `message_type` of a message that asks the model to repeat its step."""


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict):
        return "no object with a 'trajectory' or a 'history' of SWE-agent"
    attempts = value.get("attempts")
    if isinstance(attempts, list) and any(isinstance(one, dict) and _is_attempt(one) for one in attempts):
        return None
    return None if _is_attempt(value) else "no 'trajectory' of steps with 'action' and 'observation', nor a 'history'"


def _is_attempt(value: Mapping[str, Any]) -> bool:
    steps, history = value.get("trajectory"), value.get("history")
    if isinstance(steps, list) and steps:
        return isinstance(steps[0], dict) and "action" in steps[0] and "observation" in steps[0]
    first = history[0] if isinstance(history, list) and history else None
    return isinstance(first, dict) and "role" in first and "agent" in first


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episodes in a record, one for each attempt. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    attempts = list(objects(value.get("attempts"), "attempts"))
    if not attempts:
        yield _read_attempt(value)
    info = _object(value.get("info"))
    for number, attempt in enumerate(attempts):
        episode = _read_attempt(attempt)
        chosen = {"best_attempt_idx": info["best_attempt_idx"]} if "best_attempt_idx" in info else {}
        metadata = {**(episode.extra.get("metadata") or {}), **chosen}
        yield replace(episode, epoch=number, extra={**episode.extra, "metadata": metadata})


def _read_attempt(value: Mapping[str, Any]) -> Episode:
    transcript = Transcript()
    history = list(objects(value.get("history"), "history"))
    _read_prompt(transcript, history)
    said: dict[str, deque[Any]] = {}
    for message in history:
        if message.get("role") == "assistant" and not message.get("is_demo"):
            said.setdefault(str(message.get("action")), deque()).append(message.get("tool_calls"))
    steps = list(objects(value.get("trajectory"), "trajectory")) or list(_steps_of(history))
    for step, after in zip(steps, [*steps[1:], {}], strict=True):
        refusal = _asked_again(step, after)
        same = said.get(str(step.get("action"))) if refusal is None else None
        _read_step(transcript, step, same.popleft() if same else None, refusal)
    return _episode(transcript, value)


def _read_prompt(transcript: Transcript, history: list[Mapping[str, Any]]) -> None:
    """Add what the model was told before its first step."""
    for message in history:
        role, demo = message.get("role"), bool(message.get("is_demo"))
        if role == "assistant" and not demo:
            return
        if role in ("system", "user"):
            marked = {"demonstration": True} if demo else {}
            transcript.add_message(role, message_text(message.get("content")), **marked)


def _steps_of(history: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield steps as in `trajectory` from a file that has only a history."""
    for message, after in zip(history, [*history[1:], {}], strict=True):
        if message.get("role") == "assistant" and not message.get("is_demo"):
            observed = text_of(after.get("content")) or "" if after.get("role") in ("user", "tool") else None
            yield {**message, "response": message.get("content"), "observation": observed}


def _read_step(transcript: Transcript, step: Mapping[str, Any], calls: Any, refusal: str | None) -> None:
    """Add a step. `calls` are its calls in the history. `refusal` is the message that asked to repeat the step."""
    action, observation = step.get("action"), step.get("observation")
    text = message_text(step.get("response")) or step.get("thought")
    if _is_exit(step):
        transcript.add_message("system", text)
        transcript.add_message("system", observation)
        return
    transcript.start_turn()
    transcript.add_text(text)
    place = len(transcript.calls)
    for call in objects(calls, "tool calls"):
        function = _object(call.get("function"))
        transcript.add_call(function.get("name"), function.get("arguments"), call.get("id"))
    if len(transcript.calls) == place and action:
        transcript.add_call("bash", {"command": action})
    if len(transcript.calls) == place:
        transcript.add_message("user", refusal or observation)
    elif refusal is not None and not observation:
        transcript.answer_call(place, refusal, error=True)
    elif observation is not None:
        transcript.answer_call(place, parse_result(observation), **_seconds(step))


def _seconds(step: Mapping[str, Any]) -> dict[str, Any]:
    seconds = step.get("execution_time")
    return {"seconds": seconds} if isinstance(seconds, (int, float)) and seconds else {}


def _is_exit(step: Mapping[str, Any]) -> bool:
    """Return True if SWE-agent wrote a step itself to end the run, e.g. when the cost limit was reached."""
    action, thought = step.get("action"), step.get("thought")
    if not action and step.get("query") == [{}]:
        return True
    is_note = isinstance(thought, str) and thought.lower().startswith(("exit due to", "exiting due to"))
    return is_note and (not action or (isinstance(action, str) and action.startswith("exit_")))


def _asked_again(step: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Return the message that asked the model to repeat a step, or None if the step was accepted."""
    query = after.get("query")
    if not isinstance(query, list) or len(query) < 2:
        return None
    given, told = _object(query[-2]), _object(query[-1])
    is_reply = told.get("role") == "user" and told.get("message_type") == _REFUSED
    text = message_text(told.get("content"))
    same = given.get("role") == "assistant" and given.get("content") == step.get("response")
    return text if is_reply and same and isinstance(text, str) else None


def _episode(transcript: Transcript, value: Mapping[str, Any]) -> Episode:
    info, config = _object(value.get("info")), _config(value.get("replay_config"))
    stats = _object(info.get("model_stats"))
    usage = {"input_tokens": stats.get("tokens_sent"), "output_tokens": stats.get("tokens_received")}
    model = _object(_object(config.get("agent")).get("model")).get("name")
    transcript.add_usage(usage, model=model, cost=stats.get("instance_cost"))
    if transcript.usage and isinstance(stats.get("api_calls"), int):
        transcript.usage["requests"] = stats["api_calls"]
    kept = {name: one for name, one in info.items() if name not in _COPIES}
    status = str(info.get("exit_status"))
    failed = any(name in status for name in _OUTSIDE)
    episode = transcript.to_episode(
        model if isinstance(model, str) else None,
        benchmark="swe-agent",
        metadata=metadata_of({**value, "info": kept}, "trajectory", "history", "replay_config", "attempts"),
        ended=FAILED_OUTSIDE if failed else CONTEXT_LIMIT if "exit_context" in status else None,
        failure={"kind": "error", "message": status} if failed else None,
    )
    instance = _object(config.get("problem_statement")).get("id")
    return replace(episode, task=f"swe-agent/{instance}") if isinstance(instance, str) and instance else episode


def _config(given: Any) -> Mapping[str, Any]:
    """Return a run's settings, which are an object or the JSON text of one, or nothing if they are malformed."""
    if isinstance(given, str):
        try:
            given = parse_json(given)
        except ValueError:
            return {}
    return _object(given)


def _object(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


_RECORDS: Final = record_format(
    "swe-agent",
    "a command that was not run, because it was blocked or not valid, so that the model was asked again",
    mismatch,
    read_record,
)


def _read(file: Path) -> Iterator[Episode | Problem]:
    """Yield a file's episodes. If an episode names no instance, the file's name does."""
    name = file.name.removesuffix(_ENDING) if file.name.endswith(_ENDING) else ""
    for one in _RECORDS.read(file):
        is_unnamed = isinstance(one, Episode) and not one.task and name
        yield replace(one, task=f"swe-agent/{name}") if isinstance(one, Episode) and is_unnamed else one


FORMAT: Final = Format(_RECORDS.name, _RECORDS.errors, _RECORDS.recognise, _read)

"""Read trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor and Terminal-Bench.

An episode is one trajectory. Trajectories of sub-agents, whether they are embedded or in other files, are not part of
it; embedded ones are listed in the metadata. A step that was copied from an earlier trajectory (`is_copied_context`)
keeps its messages, but its calls are left out, because the earlier trajectory has them.

If several commands share one output, as in Terminus 2, the output is the result of the last command. Output that
belongs to no call becomes a message of the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result
from corepath.importers.format import record_format
from corepath.importers.transcript import Transcript
from corepath.notation.call import UNANSWERED

_ERROR_MARKS: Final = ("is_error", "tool_result_is_error")
_TOTALS: Final = {
    "total_prompt_tokens": "prompt_tokens",
    "total_completion_tokens": "completion_tokens",
    "total_cached_tokens": "cached_input_tokens",
}


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, str) or not version.startswith("ATIF-v"):
        return "no object with a 'schema_version' of ATIF"
    return None if isinstance(value.get("steps"), list) else "'steps' must be a list"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    agent = _object(value.get("agent"))
    transcript = Transcript()
    transcript.add_usage(None, model=agent.get("model_name"))
    for step in objects(value["steps"], "steps"):
        role, text = step.get("source"), message_text(step.get("message"))
        if role not in ("user", "agent", "system"):
            raise RecordError("the 'source' of a step must be user, agent or system")
        if step.get("is_copied_context") is True:
            copied_from = "assistant" if role == "agent" else role
            transcript.add_message(copied_from, text, time=step.get("timestamp"), copied=True)
        elif role == "agent":
            _read_agent_step(transcript, step, text)
        else:
            transcript.add_message(role, text, time=step.get("timestamp"))
            _read_results(transcript, step)
    _read_totals(transcript, _object(value.get("final_metrics")))
    metadata = metadata_of({**value, "agent": _without(agent, "tool_definitions")}, "steps", "subagent_trajectories")
    subagents = [_describe(one) for one in objects(value.get("subagent_trajectories"), "subagent_trajectories")]
    if subagents:
        metadata = {**(metadata or {}), "subagents": subagents}
    yield transcript.to_episode(agent.get("name"), metadata=metadata)


def _read_agent_step(transcript: Transcript, step: Mapping[str, Any], text: Any) -> None:
    transcript.start_turn()
    time = step.get("timestamp")
    transcript.add_text(text, time=time)
    for call in objects(step.get("tool_calls"), "tool calls"):
        transcript.add_call(call.get("function_name"), call.get("arguments"), call.get("tool_call_id"), time=time)
    _read_results(transcript, step)
    metrics = _object(step.get("metrics"))
    usage = {**metrics, "cached_input_tokens": metrics.get("cached_tokens")}
    transcript.add_usage(usage, model=step.get("model_name"), cost=metrics.get("cost_usd"))


def _read_results(transcript: Transcript, step: Mapping[str, Any]) -> None:
    """Add the results in a step's observation to the step's calls. A call without one stays unanswered."""
    alone = len(step["tool_calls"]) == 1 if isinstance(step.get("tool_calls"), list) else False
    for result in objects(_object(step.get("observation")).get("results"), "results"):
        content, id_ = message_text(result.get("content")), result.get("source_call_id")
        error = _is_error(result) or (alone and _is_error(step))
        content = content if error else parse_result(content)
        if id_ is not None:
            transcript.add_result(id_, content, error=error)
        elif content is not None and (place := _last_command(transcript)) is not None:
            transcript.answer_call(place, content, error=error)
        else:
            transcript.add_message("system", content, time=step.get("timestamp"))
    for place in transcript.open_calls():
        transcript.answer_call(place, UNANSWERED)


def _last_command(transcript: Transcript) -> int | None:
    """Return the index of the call in this step that an output without an id belongs to, or None if there is none.

    It is the last call that waits for a result and is to the same tool as the first such call.
    """
    tools = {place: transcript.calls[place].tool for place in transcript.open_calls()}
    first = next(iter(tools.values()), None)
    return next((place for place in reversed(tools) if tools[place] == first), None)


def _is_error(part: Mapping[str, Any]) -> bool:
    extra = _object(part.get("extra"))
    return any(extra.get(name) is True for name in _ERROR_MARKS) or extra.get("status") in ("error", "failed")


def _read_totals(transcript: Transcript, totals: Mapping[str, Any]) -> None:
    """Use the totals of the trajectory for what the steps do not say."""
    whole = Transcript()
    whole.add_usage({_TOTALS.get(name, ""): one for name, one in totals.items()}, cost=totals.get("total_cost_usd"))
    whole.usage.pop("requests", None)
    transcript.usage = whole.usage | transcript.usage


def _describe(trajectory: Mapping[str, Any]) -> dict[str, Any]:
    steps = trajectory.get("steps")
    calls = [one.get("tool_calls") for one in steps if isinstance(one, dict)] if isinstance(steps, list) else []
    return {
        "trajectory_id": trajectory.get("trajectory_id"),
        "agent": _object(trajectory.get("agent")).get("name"),
        "calls": sum(len(one) for one in calls if isinstance(one, list)),
    }


def _without(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def _object(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


FORMAT: Final = record_format(
    "atif",
    "a result whose `extra` has `is_error`, `tool_result_is_error` or the status `error` or `failed`; "
    "ATIF itself has no field for it",
    mismatch,
    read_record,
)

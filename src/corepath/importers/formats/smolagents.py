"""Read runs of smolagents: a `RunResult`, the steps of an agent's memory as a list, or one step in each line.

The calls of a step are those that the model sent. The step itself has none if one of them failed. In a code agent, each
snippet is a call to `python_interpreter`, and the tools that the code uses are not calls. `final_answer` is the answer
and not a call. A managed agent is a call to a tool; its own steps are elsewhere.

Calls that ran in parallel share one observation. If it has a line for each call, each gets its line. Otherwise the last
call gets all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE, TURN_LIMIT, Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result, text_of
from corepath.importers.parts import parts_format
from corepath.importers.transcript import Transcript

_ACTION: Final = ("observations", "action_output", "model_output", "model_output_message", "tool_calls")
_LISTS: Final = ("steps", "messages", "logs")
_CODE: Final = "python_interpreter"
_ANSWER: Final = "final_answer"
_LIMITED: Final = "AgentMaxStepsError"
_OUTSIDE: Final = "AgentGenerationError"
"""The error of a step in which the model could not be reached."""


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if any(_is_action(one) for one in _steps(value) or []):
        return None
    return "no list of steps, nor an object with 'steps', in which a step has a 'step_number' and 'observations'"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    transcript, failure = Transcript(), None
    steps = list(objects(_steps(value), "steps"))
    _read_system_prompt(transcript, steps)
    for number, step in enumerate(steps, start=1):
        if _is_action(step):
            failure = _read_action(transcript, step, is_last=number == len(steps)) or failure
        else:
            _read_other(transcript, step)
    record = value if isinstance(value, dict) and not _is_action(value) else {}
    if transcript.answer is None:
        transcript.add_text(record.get("output"))
    kind = _LIMITED if record.get("state") == "max_steps_error" else _object(failure).get("kind")
    yield transcript.to_episode(
        metadata=metadata_of(record, *_LISTS, "output", "token_usage"),
        ended=FAILED_OUTSIDE if kind == _OUTSIDE else TURN_LIMIT if kind == _LIMITED else None,
        failure=failure if kind == _OUTSIDE else None,
    )


def _steps(value: Any) -> list[Any] | None:
    if _is_action(value):
        return [value]
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    return value if isinstance(value, list) else None


def _is_action(value: Any) -> bool:
    """Return True if `value` is a step in which the agent acted."""
    if not isinstance(value, dict) or not isinstance(value.get("step_number", value.get("step")), int):
        return False
    return "observations" in value and any(name in value for name in _ACTION[1:])


def _is_part(value: Any) -> bool:
    """Return True if `value` is a step, or a call or an answer in a stream of steps."""
    if not isinstance(value, dict) or isinstance(value.get("steps"), list):
        return False
    is_call = value.get("type") == "function" and "function" in value
    known = [*value] == ["output"] or any(name in value for name in ("task", "plan", "system_prompt", _ANSWER))
    return _is_action(value) or is_call or known


def _read_system_prompt(transcript: Transcript, steps: list[Mapping[str, Any]]) -> None:
    """Add the system prompt in the first request, unless the steps have it themselves."""
    if any("system_prompt" in one for one in steps):
        return
    sent = [one["model_input_messages"] for one in steps if isinstance(one.get("model_input_messages"), list)]
    firsts = [_object(messages[0]) for messages in sent if messages]
    prompt = next((one.get("content") for one in firsts if one.get("role") == "system"), None)
    transcript.add_message("system", message_text(prompt))


def _read_other(transcript: Transcript, step: Mapping[str, Any]) -> None:
    """Add a step in which the agent did not act: a task, a plan, the system prompt or the final answer."""
    transcript.add_message("system", step.get("system_prompt"))
    transcript.add_message("user", step.get("task"))
    if "plan" in step:
        transcript.start_turn()
        message = _object(step.get("model_output_message"))
        transcript.add_text(text_of(message.get("content")) or step.get("plan"), time=_time(step, "start_time"))
        transcript.add_usage(step.get("token_usage"))
    if transcript.answer is None and not step.keys() - {"output", _ANSWER}:
        transcript.add_text(step.get("output", step.get(_ANSWER)))


def _read_action(transcript: Transcript, step: Mapping[str, Any], *, is_last: bool) -> dict[str, Any] | None:
    """Add a step in which the agent acted, and return its error, or None if there was none."""
    end, place = _time(step, "end_time"), len(transcript.calls)
    answers = _read_response(transcript, step)
    error, output = _error(step.get("error")), step.get("action_output")
    if error is not None:
        _read_error(transcript, place, error["message"], end)
    else:
        _read_observations(transcript, place, step, end)
    if output is None and answers:
        output = _object(answers[0]).get("answer", answers[0])
    if answers or step.get("is_final_answer", is_last) or _object(error).get("kind") == _LIMITED:
        transcript.add_text(output, time=end)
    return error


def _read_response(transcript: Transcript, step: Mapping[str, Any]) -> list[Any]:
    """Add the text and the calls in a step's response, and return the arguments of the calls to `final_answer`."""
    message, start = _object(step.get("model_output_message")), _time(step, "start_time")
    transcript.start_turn()
    transcript.add_usage(step.get("token_usage"), model=_object(message.get("raw")).get("model"))
    transcript.add_text(text_of(message.get("content")) or text_of(step.get("model_output")), time=start)
    sent = list(_calls(message.get("tool_calls"))) or list(_calls(step.get("tool_calls")))
    for name, arguments, id_ in sent:
        if name != _ANSWER:
            transcript.add_call(name, arguments, id_, time=start)
    return [arguments for name, arguments, _ in sent if name == _ANSWER]


def _calls(calls: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the name, the arguments and the id of each call."""
    for call in objects(calls, "tool calls"):
        function = _object(call.get("function")) or call
        name, arguments = function.get("name"), function.get("arguments")
        is_code = name == _CODE and isinstance(arguments, str)
        yield name, {"code": arguments} if is_code else arguments, call.get("id")


def _read_error(transcript: Transcript, place: int, message: str, time: Any) -> None:
    """Add an error to the call that it names, or else to the first one. Without calls, it is a message."""
    places = range(place, len(transcript.calls))
    if not places:
        transcript.add_message("system", message, time=time)
        return
    named = [one for one in places if f"tool '{transcript.calls[one].tool}'" in message]
    named = named or [one for one in places if f"tool {transcript.calls[one].tool}" in message]
    transcript.answer_call((named or places)[0], message, error=True, time=time)


def _read_observations(transcript: Transcript, place: int, step: Mapping[str, Any], time: Any) -> None:
    observed = step.get("observations")
    places = range(place, len(transcript.calls))
    if not places or observed is None:
        return
    lines = observed.split("\n") if isinstance(observed, str) else []
    order = [id_ for _, _, id_ in _calls(step.get("tool_calls"))]
    ids = [transcript.calls[one].id for one in places]
    if len(lines) == len(order) == len(places) > 1 and sorted(map(str, order)) == sorted(map(str, ids)):
        for one, id_ in zip(places, ids, strict=True):
            transcript.answer_call(one, parse_result(lines[list(map(str, order)).index(str(id_))]), time=time)
    else:
        transcript.answer_call(places[-1], parse_result(observed), time=time)


def _error(error: Any) -> dict[str, Any] | None:
    """Return the kind and the message of a step's error, or None if there was none."""
    if not error:
        return None
    given = error if isinstance(error, dict) else {"message": error}
    return {"kind": str(given.get("type", "error")), "message": str(given.get("message", given))}


def _time(step: Mapping[str, Any], name: str) -> Any:
    return (_object(step.get("timing")) or step).get(name)


def _object(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


FORMAT: Final = parts_format(
    "smolagents",
    "a step with an `error`; if it has several calls, the one that the error names failed",
    mismatch,
    read_record,
    _is_part,
)

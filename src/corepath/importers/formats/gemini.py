"""Read Gemini contents: a list of contents, a response, or a request with its response.

The Gemini API calls a message a content. The list may be the whole record or be under `contents`. Field names may have
either spelling (`functionCall` or `function_call`). A function response goes to the call with the same id, or else to
the first call to the function that still waits for a response. If a function response is only `{"output": …}` or
`{"result": …}`, which is what the API asks for and its SDK writes, the value inside is the result. Code that the model
runs is a call to `code_execution`. Calls that the SDK made automatically are read from the history that the SDK keeps.

Consecutive contents from the model are one message. Thoughts are left out. The chunks of a stream are joined.
Only the first candidate is read. If exchanges in one file repeat each other, only the last one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, message_text, metadata_of, objects
from corepath.importers.exchange_log import exchange_format
from corepath.importers.exchanges import (
    as_exchange,
    exchange_field,
    exchange_metadata,
    exchange_time,
    explain_no_conversation,
    normalise,
)
from corepath.importers.gemini_streams import AUTOMATIC, USAGE, GeminiStreams, candidate_of
from corepath.importers.streams import explain_unless_stream, join_response, split_streams
from corepath.importers.transcript import Transcript

CALL: Final = ("functionCall", "function_call")
ANSWER: Final = ("functionResponse", "function_response")
CODE: Final = ("executableCode", "executable_code")
OUTCOME: Final = ("codeExecutionResult", "code_execution_result")
SERVER_CALL: Final = ("toolCall", "tool_call")
SERVER_ANSWER: Final = ("toolResponse", "tool_response")

_ACTIONS: Final = (*CALL, *ANSWER, *CODE, *OUTCOME, *SERVER_CALL, *SERVER_ANSWER)
_DATA: Final = ("inlineData", "inline_data", "fileData", "file_data")
_PARTS: Final = (*_ACTIONS, "text", *_DATA)
_INSTRUCTION: Final = ("systemInstruction", "system_instruction")
_MODEL: Final = ("modelVersion", "model_version", "model")
_FOREIGN: Final = ("type", "kind", "part_kind")
_EXCHANGE: Final = ("request", "response")
_CONVERSATION: Final = (
    "contents", "candidates", *_INSTRUCTION, "sdkHttpResponse", "sdk_http_response", *AUTOMATIC,
)  # fmt: skip


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    return explain_unless_stream(value, GeminiStreams, lambda one: _explain_mismatch(_normalise_record(one)))


def _explain_mismatch(value: Any) -> str | None:
    contents = _contents(value)
    if not contents:
        return explain_no_conversation(value, "no list of contents, nor an object with 'contents' or 'candidates'")
    if not any(_has_parts(one) for one in contents):
        return "no content has 'parts' with a text, a 'functionCall' or a 'functionResponse'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record, or one for each stream in it. Raises `RecordError` if the record is malformed."""
    for one in split_streams(value, GeminiStreams):
        yield _read_conversation(_normalise_record(one))


def _read_conversation(value: Any) -> Episode:
    contents = _contents(value)
    if not contents:
        raise RecordError(str(mismatch(value)))
    transcript = Transcript()
    transcript.add_message("system", _instruction_text(value))
    for role, group in groupby(objects(contents, "contents"), key=_role):
        if role == "model":
            transcript.start_turn()
        read = list(group)
        is_response = read[-1] is contents[-1] and isinstance(value, dict) and _candidate(value) is not None
        parts = [part for content in read for part in _parts(content)]
        _read_parts(transcript, parts, role, exchange_time(value) if is_response and role == "model" else None)
    transcript.add_usage(exchange_field(value, *USAGE), model=exchange_field(value, *_MODEL))
    return transcript.to_episode(agent=exchange_field(value, *_MODEL), metadata=_metadata(value))


# Parts


def _read_parts(transcript: Transcript, parts: list[Mapping[str, Any]], role: str, time: Any) -> None:
    for kind, group in groupby(parts, key=lambda part: _kind(part, role)):
        if kind == "action":
            for part in group:
                _read_part(transcript, part, time)
        elif role != "model":
            transcript.add_message(role, message_text([_typed(part) for part in group]))
        elif kind == "text":
            text = "".join(part["text"] for part in group if part.get("thought") is not True)
            transcript.add_text(text, time=time)


def _kind(part: Mapping[str, Any], role: str) -> str:
    """Return what a part is: `text`, an `action`, which is a call or a result, or `other`, which only models write."""
    if isinstance(part.get("text"), str):
        return "text"
    return "action" if first_of(part, *_ACTIONS) is not None else "other" if role == "model" else "text"


def _typed(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part with its type, which Gemini writes as the name of a field."""
    return part if isinstance(part.get("text"), str) else {"type": next((name for name in _DATA if name in part), None)}


def _read_part(transcript: Transcript, part: Mapping[str, Any], time: Any) -> None:
    if (call := _object(part, CALL)) is not None:
        transcript.add_call(call.get("name"), call.get("args"), call.get("id"), time=time)
    elif (answer := _object(part, ANSWER)) is not None:
        _read_answer(transcript, answer.get("name"), answer.get("id"), answer)
    elif (code := _object(part, CODE)) is not None:
        arguments = {name: code[name] for name in ("code", "language") if code.get(name) is not None}
        transcript.add_call("code_execution", arguments, code.get("id"), time=time, type="executable_code")
    elif (outcome := _object(part, OUTCOME)) is not None:
        _read_outcome(transcript, outcome)
    elif (call := _object(part, SERVER_CALL)) is not None:
        tool = first_of(call, "toolType", "tool_type")
        transcript.add_call(tool, call.get("args"), call.get("id"), time=time, type="tool_call")
    elif (answer := _object(part, SERVER_ANSWER)) is not None:
        _read_answer(transcript, first_of(answer, "toolType", "tool_type"), answer.get("id"), answer)


def _read_answer(transcript: Transcript, tool: Any, id_: Any, answer: Mapping[str, Any]) -> None:
    """Add a function response to the call with the same id, or else to the first call to `tool` without a result."""
    result, error = _unwrap(answer.get("response"))
    by_name = not transcript.waits_for(id_)
    if by_name and id_ and any(call.id for call in transcript.calls if call.tool == tool):
        raise RecordError(f"a response of {str(tool)[:60]!r} has the id {str(id_)[:60]!r}, but no call waits for it")
    if by_name and not isinstance(tool, str):
        raise RecordError("a 'functionResponse' needs the 'name' of the function, or the 'id' of its call")
    transcript.add_result(None if by_name else id_, result, error=error, tool=tool)


def _unwrap(response: Any) -> tuple[Any, bool]:
    """Return the result in a function response, and whether that result is an error."""
    if not isinstance(response, dict):
        return response, False
    error = response.get("error") not in (None, "", False)
    if len(response) == 1:
        return next((response[name] for name in ("error", "output", "result") if name in response), response), error
    return response, error


def _read_outcome(transcript: Transcript, outcome: Mapping[str, Any]) -> None:
    error = outcome.get("outcome") != "OUTCOME_OK"
    output = outcome.get("output") or (outcome.get("outcome") if error else "")
    id_ = outcome.get("id") if transcript.waits_for(outcome.get("id")) else None
    transcript.add_result(id_, output, error=error, tool="code_execution")


def _object(part: Mapping[str, Any], names: tuple[str, str]) -> Mapping[str, Any] | None:
    """Return the object under one of `names` in a part, or None if there is none.

    Raises `RecordError` if the value is not an object.
    """
    found = first_of(part, *names)
    if found is None or isinstance(found, dict):
        return found
    raise RecordError(f"'{names[0]}' must be an object, not {type(found).__name__}")


# Contents


def _instruction_text(value: Any) -> Any:
    """Return the text of the system instruction in a request or its `config`, or None if there is none."""
    config = exchange_field(value, "config", "generationConfig", "generation_config")
    given = exchange_field(value, *_INSTRUCTION) or exchange_field(config, *_INSTRUCTION)
    if isinstance(given, dict):
        given = given.get("parts", given)
    parts = given if isinstance(given, list) else [given]
    return message_text([_typed(part) if isinstance(part, dict) else part for part in parts])


def _role(content: Mapping[str, Any]) -> str:
    """Return who wrote a content: `model`, `system` or `user`."""
    return "model" if _is_by_model(content) else "system" if content.get("role") == "system" else "user"


def _is_by_model(content: Mapping[str, Any]) -> bool:
    """Return True if `content`, a Gemini message, is from the model.

    A message without a role counts as the model's if it contains a call.
    """
    role = content.get("role")
    return role == "model" or (role is None and any(first_of(part, *CALL) is not None for part in _parts(content)))


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = content.get("parts")
    if isinstance(parts, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in parts]
    return list(objects(parts, "parts of a content"))


def _has_parts(content: Any) -> bool:
    parts = content.get("parts") if isinstance(content, dict) else None
    return isinstance(parts, list) and any(isinstance(part, dict) and _is_part(part) for part in parts)


def _is_part(part: Mapping[str, Any]) -> bool:
    return any(name in part for name in _PARTS) and not any(name in part for name in _FOREIGN)


def _normalise_record(value: Any) -> Any:
    """Return a record with its bodies under `request` and `response`, and a streamed response joined."""
    return join_response(as_exchange(value), GeminiStreams)


def _candidate(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first candidate in a response, or in the response of a record, or None if there is none."""
    return candidate_of(value["response"] if isinstance(value.get("response"), dict) else value)


def _contents(value: Any) -> list[Any] | None:
    """Return a record's messages, with the response's message last, or None if there are none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    sent, candidate = _sent_contents(value), _candidate(value)
    if sent is None and candidate is None:
        return None
    content = candidate.get("content") if candidate else None
    answer = [{**content, "role": "model"}] if isinstance(content, dict) else []
    return [*(sent or ()), *answer]


def _sent_contents(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages sent to the model, or None if there are none.

    If the SDK made calls automatically, the messages come from the SDK's history.
    """
    request, response = (value[name] if isinstance(value.get(name), dict) else value for name in _EXCHANGE)
    sent = first_of(response, *AUTOMATIC) or request.get("contents")
    if isinstance(sent, str):
        return [{"role": "user", "parts": [{"text": sent}]}]
    if isinstance(sent, dict):
        return [sent]
    return sent if isinstance(sent, list) else None


def _metadata(value: Any) -> dict[str, Any] | None:
    """Return a record's fields other than the conversation, or None if there are none.

    The first candidate's fields, e.g. its finish reason, are included.
    """
    candidate = metadata_of(_candidate(value), "content") if isinstance(value, dict) else None
    return {**(candidate or {}), **(exchange_metadata(value, *_CONVERSATION) or {})} or None


def _history(value: Any) -> list[tuple[bool, Callable[[], Any]]]:
    """Return a record's messages in a form that can be compared.

    Each message is a pair: whether the agent wrote it, and a function that returns its content without thoughts.
    """
    contents = list(objects(_contents(_normalise_record(value)), "contents"))
    groups = [
        (by_model, [part for one in group for part in _parts(one)])
        for by_model, group in groupby(contents, _is_by_model)
    ]
    for part in (part for _, parts in groups for part in parts if part.get("thought") is not True):
        _object(part, CALL)
    return [(by_model, partial(_comparable_parts, by_model, parts)) for by_model, parts in groups]


def _comparable_parts(by_model: bool, parts: list[Mapping[str, Any]]) -> Any:  # noqa: FBT001
    return [by_model, [_comparable(part) for part in parts if part.get("thought") is not True]]


def _comparable(part: Mapping[str, Any]) -> Any:
    """Return only what stays the same when a later request repeats a part."""
    if (call := _object(part, CALL)) is not None:
        return [call.get("id"), call.get("name"), call.get("args") or {}]
    marks = ("thoughtSignature", "thought_signature")
    return normalise({name: value for name, value in part.items() if name not in marks})


FORMAT: Final = exchange_format(
    "gemini",
    "a function's `response` that has an `error`; code whose outcome is not `OUTCOME_OK`",
    mismatch,
    read_record,
    _history,
    streams=GeminiStreams,
)

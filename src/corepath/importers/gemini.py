"""Gemini contents: a list of them, alone or under `contents`, a response, or a `request` and its `response`.

An error is a function's `response` that has an `error`, and code whose outcome is not `OUTCOME_OK`.

Names are read in both spellings (`functionCall`, `function_call`). Answers are joined to calls by id where both have
one, else to the first call of that name that waits. A response that is `{"output": …}` or `{"result": …}` and nothing
else is what stands in there: so the API asks for it, and its package writes it. Code that the model runs is a call of
`code_execution`. Calls that the package made by itself are read from the history that it keeps of them. Contents of
the model that follow each other are pieces of one message; thoughts are left out. A list of responses of which none
but the last says why it ended is a stream, and so one response. Of several candidates the first is read. Of requests
and responses in one file, each of which repeats those before it, the last is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.exchanges import around, as_exchange, plain, said_of, streamed, why_no_record_fits, why_nothing
from corepath.importers.messages import Conversation, metadata_of, objects

CALL: Final = ("functionCall", "function_call")
ANSWER: Final = ("functionResponse", "function_response")
CODE: Final = ("executableCode", "executable_code")
OUTCOME: Final = ("codeExecutionResult", "code_execution_result")
SERVER_CALL: Final = ("toolCall", "tool_call")
SERVER_ANSWER: Final = ("toolResponse", "tool_response")

_PARTS: Final = (
    *CALL, *ANSWER, *CODE, *OUTCOME, *SERVER_CALL, *SERVER_ANSWER,
    "text", "inlineData", "inline_data", "fileData", "file_data",
)  # fmt: skip
_OF_OTHERS: Final = ("type", "kind", "part_kind")
_EXCHANGE: Final = ("request", "response")
_AUTOMATIC: Final = ("automaticFunctionCallingHistory", "automatic_function_calling_history")
_ENDED: Final = ("finishReason", "finish_reason")
_RESPONSE_ID: Final = ("responseId", "response_id")
_CONVERSATION: Final = (
    "contents", "candidates", "systemInstruction", "system_instruction", "sdkHttpResponse", "sdk_http_response",
    *_AUTOMATIC,
)  # fmt: skip


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    value = _opened(value)
    contents = _contents(value)
    if not contents:
        return why_nothing(value, "no list of contents, nor an object with 'contents' or 'candidates'")
    if _is_chunk(value):
        return "a piece of a stream, which does not say why it ended: put the pieces of a response into one list"
    if not any(_is_ours(one) for one in contents):
        return "no content of it has 'parts' with a text, a 'functionCall' or a 'functionResponse'"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record."""
    value = _opened(value)
    contents = _contents(value)
    if not contents or _is_chunk(value):
        raise RecordError(str(fits(value)))
    made = Conversation()
    for speaks, group in groupby(objects(contents, "contents"), key=_speaks):
        if speaks:
            made.next_turn()
        _read(made, [part for content in group for part in _parts(content)], speaks=speaks)
    yield made.episode(agent=said_of(value, "modelVersion", "model_version", "model"), metadata=_metadata(value))


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_no_record_fits(path, fits)


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, and a problem for each bad record."""
    return streamed(path, fits, episodes, _history)


# Parts


def _read(made: Conversation, parts: list[Mapping[str, Any]], *, speaks: bool) -> None:
    for is_text, group in groupby(parts, key=lambda part: isinstance(part.get("text"), str)):
        if not is_text:
            for part in group:
                _read_part(made, part)
        elif speaks:
            made.said("".join(part["text"] for part in group if part.get("thought") is not True))


def _read_part(made: Conversation, part: Mapping[str, Any]) -> None:
    if (call := _object(part, CALL)) is not None:
        made.call(call.get("name"), call.get("args"), call.get("id"))
    elif (answer := _object(part, ANSWER)) is not None:
        _answer(made, answer.get("name"), answer.get("id"), answer)
    elif (code := _object(part, CODE)) is not None:
        arguments = {name: code[name] for name in ("code", "language") if code.get(name) is not None}
        made.call("code_execution", arguments, code.get("id"), type="executable_code")
    elif (outcome := _object(part, OUTCOME)) is not None:
        error = outcome.get("outcome") != "OUTCOME_OK"
        output = outcome.get("output") or (outcome.get("outcome") if error else "")
        id_ = outcome.get("id") if made.waits_for(outcome.get("id")) else None
        made.result(id_, output, error=error, tool="code_execution")
    elif (call := _object(part, SERVER_CALL)) is not None:
        made.call(_get(call, "toolType", "tool_type"), call.get("args"), call.get("id"), type="tool_call")
    elif (answer := _object(part, SERVER_ANSWER)) is not None:
        _answer(made, _get(answer, "toolType", "tool_type"), answer.get("id"), answer)


def _answer(made: Conversation, tool: Any, id_: Any, answer: Mapping[str, Any]) -> None:
    response = answer.get("response")
    error = isinstance(response, Mapping) and response.get("error") not in (None, "", False)
    if isinstance(response, Mapping) and len(response) == 1:
        response = next((response[name] for name in ("error", "output", "result") if name in response), response)
    by_name = not made.waits_for(id_)
    if by_name and id_ and any(call.id for call in made.calls if call.tool == tool):
        raise RecordError(f"a response of {str(tool)[:60]!r} has the id {str(id_)[:60]!r}, and no call waits for it")
    if by_name and not isinstance(tool, str):
        raise RecordError("a 'functionResponse' needs the 'name' of the function, or the 'id' of its call")
    made.result(None if by_name else id_, response, error=error, tool=tool)


def _object(part: Mapping[str, Any], names: tuple[str, str]) -> Mapping[str, Any] | None:
    found = _get(part, *names)
    if found is None or isinstance(found, Mapping):
        return found
    raise RecordError(f"'{names[0]}' is an object with the fields that the API names, not {type(found).__name__}")


def _get(record: Mapping[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


# Contents


def _speaks(content: Mapping[str, Any]) -> bool:
    """Whether it is the model's; a content without a role is, where it calls something."""
    role = content.get("role")
    return role == "model" or (role is None and any(_get(part, *CALL) is not None for part in _parts(content)))


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = content.get("parts")
    if isinstance(parts, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in parts]
    return list(objects(parts, "parts of a content"))


def _is_ours(content: Any) -> bool:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return isinstance(parts, list) and any(isinstance(part, Mapping) and _is_part(part) for part in parts)


def _is_part(part: Mapping[str, Any]) -> bool:
    return any(name in part for name in _PARTS) and not any(name in part for name in _OF_OTHERS)


def _opened(value: Any) -> Any:
    """A record with what was sent under `request` and what came back under `response`; a stream is one response."""
    if _is_stream(value):
        return {"response": _joined(value)}
    value = as_exchange(value)
    if isinstance(value, Mapping) and isinstance(value.get("response"), list):
        return {**value, "response": _joined(value["response"])}
    return value


def _is_stream(value: Any) -> bool:
    """Whether it is a list of responses with one id, or of which none but the last says why it ended."""
    if not isinstance(value, list) or not all(_is_alone(one) for one in value):
        return False
    ends = [_get(candidate, *_ENDED) for one in value if (candidate := _candidate(one)) is not None]
    ids = {str(_get(one, *_RESPONSE_ID)) for one in value}
    return bool(ends) and (not any(ends[:-1]) or (len(ids) == 1 and ids != {"None"}))


def _is_chunk(value: Any) -> bool:
    candidate = _candidate(value) if _is_alone(value) else None
    return candidate is not None and _get(candidate, *_ENDED) is None


def _is_alone(value: Any) -> bool:
    """Whether it is a response without what was sent."""
    if not isinstance(value, Mapping) or _get(value, "contents", *_EXCHANGE, *_AUTOMATIC):
        return False
    return any(name in value for name in ("candidates", "usageMetadata", "usage_metadata"))


def _joined(responses: list[Any]) -> dict[str, Any]:
    """The pieces of a stream as one response."""
    pieces = [one for one in responses if isinstance(one, Mapping)]
    candidates = [one for one in map(_candidate, pieces) if one is not None]
    contents = [one["content"] for one in candidates if isinstance(one.get("content"), Mapping)]
    given = [one["parts"] for one in contents if one.get("parts") is not None]
    parts = [part for some in given for part in (some if isinstance(some, list) else [some])]
    made = {**_merged(candidates), "content": {"role": "model", "parts": parts}}
    return {**_merged(pieces), "candidates": [made] if candidates else []}


def _merged(values: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: one for value in values for name, one in value.items() if one is not None}


def _contents(value: Any) -> list[Any] | None:
    """The contents of a record, that of its response the last of them."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return None
    request, response = (value[name] if isinstance(value.get(name), Mapping) else value for name in _EXCHANGE)
    given = _get(response, *_AUTOMATIC) or request.get("contents")
    if isinstance(given, str):
        given = [{"role": "user", "parts": [{"text": given}]}]
    elif isinstance(given, Mapping):
        given = [given]
    candidate = _candidate(value)
    content = candidate.get("content") if candidate else None
    if not isinstance(given, list) and candidate is None:
        return None
    said = [{**content, "role": "model"}] if isinstance(content, Mapping) else []
    return [*(given if isinstance(given, list) else ()), *said]


def _candidate(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    response = value["response"] if isinstance(value.get("response"), Mapping) else value
    candidates = response.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, Mapping) else None


def _metadata(value: Any) -> dict[str, Any] | None:
    """What stands around the conversation, and why the model ended it."""
    ended = metadata_of(_candidate(value), "content") if isinstance(value, Mapping) else None
    return {**(ended or {}), **(around(value, *_CONVERSATION) or {})} or None


def _history(value: Any) -> list[tuple[bool, Any]] | None:
    """The contents of a record, the pieces of one message joined."""
    try:
        contents = list(objects(_contents(_opened(value)), "contents"))
        groups = [
            (speaks, [part for one in group for part in _parts(one)]) for speaks, group in groupby(contents, _speaks)
        ]
        return [
            (speaks, [speaks, [_said(part) for part in parts if part.get("thought") is not True]])
            for speaks, parts in groups
        ]
    except RecordError:
        return None


def _said(part: Mapping[str, Any]) -> Any:
    if (call := _object(part, CALL)) is not None:
        return [call.get("id"), call.get("name"), call.get("args") or {}]
    marks = ("thoughtSignature", "thought_signature")
    return plain({name: value for name, value in part.items() if name not in marks})

"""Read messages and results of the Vercel AI SDK, from version 4 on.

Messages are those of the user interface (`parts` with types such as `tool-NAME`), or those for the model (`content`
with `tool-call` and `tool-result`). They are a list, or under `messages`. Rows of a database, one for each message, are
grouped by `chatId`. If a chat with an `id` occurs several times in one file, the last one is read; a message whose `id`
occurs twice is read as it was last. The result of `generateText` has `steps`, which may come after the request's
`messages`.

Each step is a turn. An output that is marked as `preliminary` is no result. A call that the user did not approve
failed. In results, errors that JSON cannot hold are read from the messages of the response. Reasoning is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, is_text_part, metadata_of, objects, parse_result
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript
from corepath.values import canonical

_ROLES: Final = ("system", "user", "assistant", "tool")
_CHAT: Final = ("chatId", "chat_id", "conversationId", "threadId")
_CONVERSATION: Final = (
    "messages", "steps", "prompt", "system", "instructions", "response", "request", "content", "parts", "text",
    "toolCalls", "toolResults", "staticToolCalls", "staticToolResults", "dynamicToolCalls", "dynamicToolResults",
    "reasoning", "reasoningText", "reasoningDetails", "responseMessages", "initialResponseMessages", "finalStep",
    "usage", "totalUsage", "toolInvocations",
)  # fmt: skip
_NO_TEXT: Final = ("reasoning", "reasoning-file", "redacted-reasoning", "step-start", "source", "source-url", "custom",
                   "source-document", "tool-approval-request", "tool-approval-response")  # fmt: skip


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if isinstance(value, dict) and any(map(_is_step, _list(value, "steps"))):
        return None
    messages = _messages(value)
    if messages is None:
        return "no list of messages, nor an object with 'messages' or 'steps'"
    if not any(map(_is_typical, messages)):
        return "no message has parts such as 'tool-NAME' or 'tool-call' with a 'toolCallId'"
    return None


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episodes in the records of one chat, of which only the last is read if it has an id.

    Raises `RecordError` if a record is malformed.
    """
    if all(map(_is_message, records)):
        chat = first_of(records[0], *_CHAT)
        yield _read(records, {} if chat is None else {"chatId": chat})
        return
    whole = [record for record in records if not _is_message(record)]
    is_chat = _chat_id(whole[-1]) is not None
    for record in whole[-1:] if is_chat else whole:
        if (why := mismatch(record)) is not None:
            raise RecordError(why)
        yield _read(_messages(record) or [], record if isinstance(record, dict) else {})


def _read(messages: list[Any], record: Mapping[str, Any]) -> Episode:
    transcript = Transcript()
    transcript.add_message("system", _text(first_of(record, "system", "instructions")))
    transcript.add_message("user", _text(record.get("prompt")))
    latest = {str(one.get("id") or number): one for number, one in enumerate(objects(messages, "messages"))}
    for message in latest.values():
        _read_message(transcript, message)
    steps = list(objects(record.get("steps"), "steps"))
    errors = _errors_in(steps)
    for step in steps:
        _read_step(transcript, step, errors)
    model = first_of(record, "model", "modelId")
    return transcript.to_episode(
        model if isinstance(model, str) else None, metadata=metadata_of(record, *_CONVERSATION, "model", "modelId")
    )


# Messages


def _read_message(transcript: Transcript, message: Mapping[str, Any]) -> None:
    role = message.get("role")
    if role not in _ROLES:
        raise RecordError(f"the role of a message must be {', '.join(_ROLES)}, not {str(role)[:60]!r}")
    metadata = message.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    time = first_of(message, "createdAt", "created_at") or known.get("createdAt")
    if role == "assistant":
        transcript.start_turn()
        transcript.add_usage(first_of(known, "totalUsage", "usage"), model=known.get("model"))
    seen = len(transcript.calls)
    began = False
    for part in _parts(message):
        if part.get("type") == "step-start":
            if began:
                transcript.start_turn()
            began = True
        else:
            _read_part(transcript, part, str(role), time)
    if len(transcript.calls) == seen:  # version 4 repeats the calls in its parts, or has no parts
        _read_invocations(transcript, message, time)


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a message. A text becomes one part."""
    parts = message.get("parts")
    if isinstance(parts, str):  # a row of a database may have them as text
        parts = parse_result(parts)
    content = message.get("content") if parts is None else parts
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(objects(content, "the parts of a message"))


def _read_part(
    transcript: Transcript, part: Mapping[str, Any], role: str, time: Any, errors: Mapping[str, Any] | None = None
) -> None:
    """Add a part of a message by `role`. `errors` holds the texts of errors, keyed by call id."""
    kind = str(part.get("type"))
    if kind == "text" or not (_read_tool_part(transcript, part, kind, time, errors or {}) or kind in _NO_TEXT):
        text = part.get("text") if kind == "text" else f"[{str(part.get('mediaType') or kind)[:60]}]"
        add = transcript.add_text if role == "assistant" else partial(transcript.add_message, role)
        add(text, time=time)


def _read_tool_part(
    transcript: Transcript, part: Mapping[str, Any], kind: str, time: Any, errors: Mapping[str, Any]
) -> bool:
    """Add a part if it is a call, a result or an error. Return False if it is something that was said or shown."""
    if kind == "tool-call":
        _add_call(transcript, part, time)
    elif kind == "tool-result":
        _add_output(transcript, part, time)
    elif kind == "tool-error":
        error = part.get("error") or errors.get(str(part.get("toolCallId")))
        transcript.add_result(_id(part), error, error=True, time=time)
    elif (call := _invocation(part, kind)) is not None:
        _read_invocation(transcript, call, time)
    elif kind == "tool-approval-response":
        call = part.get("toolCall")
        if part.get("approved") is False and isinstance(call, dict) and transcript.waits_for(_id(call)):
            transcript.add_result(_id(call), part.get("reason") or "denied", error=True, time=time)
    else:
        return kind.startswith("data-")
    return True


def _invocation(part: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """Return the call in a part of the user interface, with its `toolName`, or None if the part is no call."""
    if kind == "tool-invocation":
        call = part.get("toolInvocation")
        if not isinstance(call, dict):
            raise RecordError("a part of the type 'tool-invocation' needs a 'toolInvocation'")
        return call
    if kind.startswith("tool-") and "toolCallId" in part and kind not in _NO_TEXT:
        return {**part, "toolName": kind.removeprefix("tool-")}
    return part if kind == "dynamic-tool" else None


def _read_invocations(transcript: Transcript, message: Mapping[str, Any], time: Any) -> None:
    step: Any = None
    for call in objects(message.get("toolInvocations"), "'toolInvocations'"):
        if step not in (None, call.get("step")):
            transcript.start_turn()
        step = call.get("step")
        _read_invocation(transcript, call, time)


def _read_invocation(transcript: Transcript, call: Mapping[str, Any], time: Any) -> None:
    """Add a call with its outcome, as the user interface keeps them."""
    _add_call(transcript, call, time)
    state, approval = call.get("state"), call.get("approval")
    given = approval if isinstance(approval, dict) else {}
    if state == "output-error":
        transcript.add_result(_id(call), call.get("errorText"), error=True)
    elif state == "output-denied" or (state == "approval-responded" and given.get("approved") is False):
        transcript.add_result(_id(call), given.get("reason") or "denied", error=True)
    elif state in ("output-available", "result") and call.get("preliminary") is not True:
        transcript.add_result(_id(call), parse_result(first_of(call, "output", "result")))


def _add_call(transcript: Transcript, call: Mapping[str, Any], time: Any) -> None:
    extra = {"providerExecuted": True} if call.get("providerExecuted") is True else {}
    transcript.add_call(
        call.get("toolName"), first_of(call, "input", "args", "rawInput"), _id(call), time=time, **extra
    )


def _add_output(transcript: Transcript, part: Mapping[str, Any], time: Any) -> None:
    """Add the result in a part for the model. In messages, an output has a type and a value."""
    if part.get("preliminary") is True:
        return
    output = part.get("output", part.get("result"))
    error = part.get("isError") is True
    kind = output.get("type") if isinstance(output, dict) and "input" not in part else None
    if kind in ("text", "json", "error-text", "error-json", "content") and "value" in output:
        output, error = output["value"], kind.startswith("error-")
        output = _join(output) if kind == "content" else output
    elif kind == "execution-denied":
        output, error = output.get("reason") or "denied", True
    transcript.add_result(_id(part), output if error else parse_result(output), error=error, time=time)


def _join(parts: Any) -> Any:
    """Join content that has only texts into one string. Other content is returned unchanged."""
    given = parts if isinstance(parts, list) else []
    if given and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in given):
        return "".join(one["text"] for one in given)
    return parts


def _id(part: Mapping[str, Any]) -> Any:
    if part.get("toolCallId") in (None, ""):
        raise RecordError("a call and its result need a 'toolCallId'")
    return part["toolCallId"]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# Steps of results


def _read_step(transcript: Transcript, step: Mapping[str, Any], errors: Mapping[str, Any]) -> None:
    response, model = step.get("response"), step.get("model")
    known = response if isinstance(response, dict) else {}
    name = model.get("modelId") if isinstance(model, dict) else known.get("modelId")
    transcript.start_turn()
    transcript.add_usage(step.get("usage"), model=name)
    parts = step.get("content")
    if not isinstance(parts, list):  # version 4 has texts, calls and results apart
        called = [{"type": "tool-call", **one} for one in objects(step.get("toolCalls"), "'toolCalls'")]
        made = [{"type": "tool-result", **one} for one in objects(step.get("toolResults"), "'toolResults'")]
        parts = [{"type": "text", "text": step.get("text")}, *called, *made]
    for part in objects(parts, "the content of a step"):
        _read_part(transcript, part, "assistant", known.get("timestamp"), errors)


def _errors_in(steps: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the errors in the messages of responses, keyed by call id."""
    errors: dict[str, Any] = {}
    for step in steps:
        for message in _list(step.get("response"), "messages"):
            for part in _list(message, "content"):
                output = part.get("output") if isinstance(part, dict) else None
                if isinstance(output, dict) and str(output.get("type")).startswith("error-"):
                    errors[str(part.get("toolCallId"))] = output.get("value")
    return errors


# Records


def _list(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _messages(value: Any) -> list[Any] | None:
    """Return the messages in a record, or None if there are none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if _is_message(value):
        return [value]
    sent = value.get("messages")
    if isinstance(sent, list) or "steps" in value:
        return sent if isinstance(sent, list) else []
    response = value.get("response")
    made = response.get("messages") if isinstance(response, dict) else None
    return made if isinstance(made, list) else None


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in _ROLES and ("parts" in value or "content" in value)


def _is_typical(message: Any) -> bool:
    """Return True if a message has a form that only this format uses."""
    if not _is_message(message):
        return False
    if "parts" not in message and not isinstance(message.get("content"), list) and "toolInvocations" not in message:
        return False
    parts = parse_result(message.get("parts"))
    if isinstance(parts, list) and "id" in message and any(map(is_text_part, parts)):
        return True
    content = parts if isinstance(parts, list) else _list(message, "content")
    return any(map(_is_call, [*content, *_list(message, "toolInvocations")]))


def _is_call(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    return "toolCallId" in part or part.get("type") in ("tool-invocation", "step-start")


def _is_step(step: Any) -> bool:
    if not isinstance(step, dict) or "finishReason" not in step:
        return False
    return isinstance(step.get("content"), list) or isinstance(step.get("toolCalls"), list)


def _chat_id(record: Any) -> str | None:
    id_ = record.get("id") if isinstance(record, dict) and "messages" in record else None
    return id_ if isinstance(id_, str) else None


def _key(record: Any) -> str | None:
    if _is_message(record):
        chat = first_of(record, *_CHAT)
        return None if chat is None else f"chat {chat}"
    return _chat_id(record) or blake2b(canonical(record).encode(), digest_size=8).hexdigest()


FORMAT: Final = session_format(
    "vercel-ai",
    "a part in the state `output-error` or `output-denied`, a `tool-error`, or a result that is marked as an error",
    mismatch,
    _key,
    read_session,
)

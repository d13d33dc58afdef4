"""Read messages of the Bedrock Converse API: a list of messages, a request, a response, or both.

Logs of model invocations are read as they are in S3 or CloudWatch, for `Converse` and for `InvokeModel` if the body has
messages (those of Converse or of Anthropic). Streams are joined, also the list of events in a log. If exchanges in one
file repeat each other, only the last one is read, so its usage is that of the last request. Requests for embeddings
have no conversation, and are left out. If the last request failed, the failure does not count against the agent.

Sessions that Strands agents store are such messages, with one file for each message. Files in one folder are one
episode if they are imported together.

Calls are `toolUse` blocks, and all calls in one message share a turn. Reasoning is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.content import first_of, message_text, metadata_of, objects, parse_result
from corepath.importers.exchange_log import exchange_format
from corepath.importers.exchanges import exchange_metadata, normalise
from corepath.importers.reading import Place, read_records, try_record
from corepath.importers.transcript import Transcript
from corepath.values import arguments_of

_ROLES: Final = ("user", "assistant", "system")
_BLOCKS: Final = (
    "text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio", "cachePoint",
    "guardContent", "citationsContent", "searchResult",
)  # fmt: skip
_EVENTS: Final = {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"}
_CONVERSATION: Final = ("messages", "system", "output", "stream", "toolConfig", "usage", "message", "ResponseMetadata")
_NO_TEXT: Final = ("reasoningContent", "cachePoint")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    exchange = _exchange(value)
    if exchange is None:
        return "no list of messages, nor a request, a response or a log entry of Bedrock"
    if exchange.is_logged:
        return None
    if not any(_is_typical(message) for message in exchange.messages):
        return "no message has blocks in the form of Bedrock, such as 'toolUse' or a text without a type"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    exchange = _exchange(value)
    if exchange is None or (not exchange.is_logged and (why := mismatch(value))):
        raise RecordError(str(mismatch(value) if exchange is None else why))
    if exchange.is_embedding:
        return
    if not exchange.messages:
        raise RecordError(exchange.explain_no_messages())
    transcript = Transcript()
    transcript.add_message("system", message_text(exchange.system))
    for message in objects(exchange.messages, "messages"):
        _read_message(transcript, message, exchange.time)
    transcript.add_usage(exchange.usage, model=exchange.model)
    ended = {"ended": FAILED_OUTSIDE, "failure": exchange.failure} if exchange.failure else {}
    metadata = exchange.metadata if exchange.is_logged else exchange_metadata(_unwrap(value), *_CONVERSATION)
    yield transcript.to_episode(exchange.model, metadata=metadata, **ended)


# Messages


def _read_message(transcript: Transcript, message: Mapping[str, Any], response_time: Any) -> None:
    role = message.get("role")
    if role not in _ROLES:
        raise RecordError(f"the role of a message must be user, assistant or system, not {str(role)[:60]!r}")
    time = response_time if message.get("is_response") is True else first_of(message, "created_at", "timestamp")
    if role == "assistant":
        transcript.start_turn()
    for kind, group in groupby(_blocks(message), key=_kind):
        blocks = list(group)
        if kind in ("toolUse", "toolResult"):
            for block in blocks:
                _read_tool_block(transcript, kind, block.get(kind), time)
        elif kind not in _NO_TEXT:
            text = "".join(map(_text, blocks)) if kind == "text" else f"[{kind}]"
            add = transcript.add_text if role == "assistant" else partial(transcript.add_message, role)
            add(text, time=time)
    metadata = message.get("metadata")
    transcript.add_usage(metadata.get("usage") if isinstance(metadata, dict) else None)


def _read_tool_block(transcript: Transcript, kind: str, inner: Any, time: Any) -> None:
    if not isinstance(inner, dict):
        raise RecordError(f"'{kind}' must be an object")
    if kind == "toolResult":
        _read_result(transcript, inner, time)
        return
    extra = {"type": inner["type"]} if isinstance(inner.get("type"), str) else {}
    transcript.add_call(inner.get("name"), inner.get("input"), inner.get("toolUseId"), time=time, **extra)


def _read_result(transcript: Transcript, result: Mapping[str, Any], time: Any) -> None:
    if not result.get("toolUseId"):
        raise RecordError("a 'toolResult' needs the 'toolUseId' of its call")
    error = result.get("status") == "error"
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        content = "".join(part["text"] for part in parts)
    elif len(parts) == 1 and isinstance(parts[0], dict) and "json" in parts[0]:
        content = parts[0]["json"]
    transcript.add_result(result["toolUseId"], content if error else parse_result(content), error=error, time=time)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}]
    return [_block(block) for block in objects(content, "blocks of content")]


def _block(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block in the form of Converse. In logs of `InvokeModel`, blocks have the form of Anthropic."""
    kind = block.get("type")
    if kind == "tool_use":
        return {"toolUse": {"toolUseId": block.get("id"), "name": block.get("name"), "input": block.get("input")}}
    if kind == "tool_result":
        status = {"status": "error"} if block.get("is_error") is True else {}
        return {"toolResult": {"toolUseId": block.get("tool_use_id"), "content": block.get("content"), **status}}
    if kind in ("thinking", "redacted_thinking"):
        return {"reasoningContent": {}}
    return block


def _kind(block: Mapping[str, Any]) -> str:
    known = next((name for name in _BLOCKS if block.get(name) is not None), None)
    return known or str(block.get("type") or next(iter(block), "empty"))[:60]


def _text(block: Mapping[str, Any]) -> str:
    return block["text"] if isinstance(block["text"], str) else str(block["text"])


def _is_typical(message: Any) -> bool:
    """Return True if a message has a block in the form that only Bedrock uses."""
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        return False
    content = message.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return any("type" not in block and any(name in block for name in _BLOCKS) for block in blocks)


# Exchanges


@dataclass(frozen=True)
class _Exchange:
    """A request and its response. Either may be missing."""

    messages: list[Any]
    system: Any = None
    model: str | None = None
    usage: Any = None
    time: Any = None
    failure: Mapping[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    is_logged: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_embedding(self) -> bool:
        """Whether a logged request has a text to embed instead of messages."""
        return self.is_logged and not self.messages and bool({"inputText", "texts", "embeddingConfig"} & {*self.body})

    def explain_no_messages(self) -> str:
        """Explain why there are no messages."""
        if "prompt" in self.body:
            return "the request has a 'prompt' and no 'messages', so its calls are not marked"
        return "the log entry has no messages; a body of more than 100 KB is in S3, at 'inputBodyS3Path'"


def _exchange(value: Any) -> _Exchange | None:
    value = _unwrap(value)
    if isinstance(value, list):
        return _of_parts(None, value) if any(map(_is_event, value)) else _of_parts({"messages": value}, None)
    if not isinstance(value, dict):
        return None
    if _is_log(value):
        return _of_log(value)
    if isinstance(value.get("message"), dict) and "message_id" in value:
        return _of_parts({"messages": [value]}, None)
    if "request" in value or "response" in value:
        return _of_parts(value.get("request"), value.get("response"))
    return _of_parts(value, value if "output" in value or "stream" in value else None)


def _unwrap(value: Any) -> Any:
    """Return the log entry in an event of CloudWatch, which has it as JSON text, or else the value itself."""
    text = first_of(value, "message", "@message") if isinstance(value, dict) else None
    found = parse_result(text) if isinstance(text, str) else text
    return found if isinstance(found, dict) and _is_log(found) else value


def _is_log(value: Mapping[str, Any]) -> bool:
    return value.get("schemaType") == "ModelInvocationLog" or (
        isinstance(value.get("input"), dict) and "inputBodyJson" in value["input"] and "modelId" in value
    )


def _of_log(value: Mapping[str, Any]) -> _Exchange:
    given, made = (_mapping(value.get(name)) for name in ("input", "output"))
    request, response = parse_result(given.get("inputBodyJson")), parse_result(made.get("outputBodyJson"))
    found = _of_parts(request, response) or _Exchange([])
    code, model = value.get("errorCode"), value.get("modelId")
    counted = {"inputTokens": given.get("inputTokenCount"), "outputTokens": made.get("outputTokenCount")}
    return replace(
        found,
        model=model if isinstance(model, str) else None,
        usage=found.usage if isinstance(found.usage, dict) else counted,
        time=value.get("timestamp"),
        failure={"kind": str(code), "message": ""} if code else None,
        metadata=metadata_of(value, "input", "output", "schemaType", "schemaVersion", "modelId"),
        is_logged=True,
        body=request if isinstance(request, dict) else {},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _of_parts(request: Any, response: Any) -> _Exchange | None:
    """Return the exchange with these bodies, or None if neither has messages."""
    sent = request.get("messages") if isinstance(request, dict) else None
    message, usage = _response(response)
    if not isinstance(sent, list) and message is None:
        return None
    messages = [_stored(one) for one in sent] if isinstance(sent, list) else []
    given = request if isinstance(request, dict) else {}
    if message is not None:
        messages.append({"role": "assistant", **message, "is_response": True})
    model = first_of(given, "modelId", "model")
    return _Exchange(messages, given.get("system"), model if isinstance(model, str) else None, usage)


def _stored(message: Any) -> Any:
    """Return the message that a Strands agent stored, without the fields around it, or else the message itself."""
    if not isinstance(message, dict) or not isinstance(message.get("message"), dict):
        return message
    redacted = message.get("redact_message")
    inner = redacted if isinstance(redacted, dict) else message["message"]
    return {"created_at": message.get("created_at"), **inner}


def _response(response: Any) -> tuple[Mapping[str, Any] | None, Any]:
    """Return the message in a response and its usage. Both are None if there is no message."""
    if isinstance(response, dict) and isinstance(response.get("stream"), list):
        response = response["stream"]
    if isinstance(response, list):
        return _join(response)
    if not isinstance(response, dict):
        return None, None
    output = response.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if message is None and response.get("type") == "message":
        message = {name: response[name] for name in ("role", "content") if name in response}
    return (message, response.get("usage")) if isinstance(message, dict) else (None, None)


# Streams


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and bool(_EVENTS & value.keys())


def _join(events: list[Any]) -> tuple[Mapping[str, Any] | None, Any]:
    """Join the events of a stream into a message and its usage, for Converse and for Anthropic."""
    blocks: dict[Any, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in map(_mapping, events):
        found = _mapping(first_of(event, "contentBlockStart", "contentBlockDelta") or event)
        index = str(first_of(found, "contentBlockIndex", "index") or 0)
        start, delta = first_of(found, "start", "content_block"), found.get("delta")
        if call := _mapping(_block(_mapping(start)).get("toolUse")):
            blocks[index] = {"toolUse": {**call, "input": ""}}
        elif isinstance(delta, dict):
            _extend(blocks, index, delta)
        usage |= _mapping(_mapping(first_of(event, "metadata", "message") or event).get("usage"))
    return ({"content": list(blocks.values())}, usage or None) if blocks else (None, None)


def _extend(blocks: dict[Any, dict[str, Any]], index: str, delta: Mapping[str, Any]) -> None:
    call = delta.get("toolUse")
    piece = call.get("input") if isinstance(call, dict) else delta.get("partial_json")
    if isinstance(piece, str) and "toolUse" in blocks.get(index, {}):
        blocks[index]["toolUse"]["input"] += piece
    elif isinstance(delta.get("text"), str):
        block = blocks.setdefault(index, {"text": ""})
        block["text"] = block.get("text", "") + delta["text"]


# Repeated exchanges


def _history(value: Any) -> list[tuple[bool, Callable[[], Any]]]:
    """Return a record's messages in a form that can be compared."""
    exchange = _exchange(value)
    messages = list(objects(exchange.messages, "messages")) if exchange is not None else []
    return [(one.get("role") == "assistant", partial(_comparable, one, _blocks(one))) for one in messages]


def _comparable(message: Mapping[str, Any], blocks: list[Mapping[str, Any]]) -> Any:
    """Return only what stays the same when a later request repeats a message."""
    found: list[Any] = [message.get("role")]
    for block in blocks:
        kind = _kind(block)
        call = block.get("toolUse")
        if kind == "toolUse" and isinstance(call, dict):
            found.append([call.get("toolUseId"), call.get("name"), _arguments(call.get("input"))])
        elif kind == "text":
            found.append(block.get("text"))
        elif kind not in _NO_TEXT:
            found.append(normalise(block))
    return found


def _arguments(given: Any) -> Any:
    return arguments_of(given) if isinstance(given, (str, dict)) else given


_SINGLE: Final = exchange_format(
    "bedrock",
    "a `toolResult` with the status `error`; in a logged body of Anthropic, a result with `is_error`",
    mismatch,
    read_record,
    _history,
)


# Stored sessions


def _read_together(files: Sequence[Path]) -> Iterator[Episode | Problem]:
    """Yield one episode for each folder of stored messages, and what is in the other files."""
    folders: dict[Path, list[tuple[Any, Any]]] = {}
    for file in files:
        records = list(read_records(file, lambda one: mismatch(one) is None))
        values = [value for _, value in records]
        if len(values) == 1 and isinstance(values[0], dict) and "message_id" in values[0]:
            id_ = values[0]["message_id"]
            folders.setdefault(file.parent, []).append((id_ if isinstance(id_, int) else 0, values[0]))
        else:
            yield from _SINGLE.read(file)
    for folder, stored in folders.items():
        messages = [message for _, message in sorted(stored, key=lambda one: one[0])]
        yield from try_record(Place(str(folder)), messages, read_record)


FORMAT: Final = replace(_SINGLE, read_together=_read_together)

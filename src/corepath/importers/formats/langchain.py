"""Read LangChain and LangGraph messages: a list of messages, or a state with a list under `messages`.

The state may be under `values`. A message may have one of three forms: its `model_dump()`, the object `{"type",
"data"}` that `messages_to_dict` writes, or the `lc` object that `dumpd` writes.

Calls that LangChain could not parse (`invalid_tool_calls`) keep their arguments as the string that was sent. They keep
their place among the calls if the message's `additional_kwargs` or content still shows this place. Otherwise they come
last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, is_text_part, message_text, metadata_of, objects, parse_result
from corepath.importers.exchanges import message_time
from corepath.importers.format import record_format
from corepath.importers.formats.anthropic import read_blocks
from corepath.importers.formats.openai_responses import ANSWERED_WITHIN, read_item
from corepath.importers.langchain_calls import read_calls
from corepath.importers.transcript import Transcript

KINDS: Final = ("ai", "human", "tool", "system", "function", "chat", "remove")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    messages = _messages(value)
    if not messages:
        return "no list of messages, nor a state that has one under 'messages'"
    if not any(_is_message(one) for one in messages):
        return f"no message has a 'type' among {', '.join(KINDS)}, nor 'lc'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    messages = _messages(value)
    if not messages:
        raise RecordError(str(mismatch(value)))
    transcript = Transcript()
    models: list[Any] = []
    for message in objects(messages, "messages"):
        kind, data = _form(message)
        if kind not in KINDS:
            raise RecordError(f"the 'type' of a message must be one of {', '.join(KINDS)}, not {kind[:60]!r}")
        _read_message(transcript, kind, data)
        if _is_by_agent(kind, data):
            transcript.add_usage(_usage(data), model=_model(data))
        models.append(_model(data) if _is_by_agent(kind, data) else None)
    agent = next((model for model in models if model is not None), None)
    yield transcript.to_episode(agent=agent, metadata=_metadata(value))


def _read_message(transcript: Transcript, kind: str, data: Mapping[str, Any]) -> None:
    if _is_by_agent(kind, data):
        transcript.start_turn()
        time = _time(data)
        _read_content(transcript, data.get("content"), time)
        for name, arguments, id_, extra in read_calls(data):
            transcript.add_call(name, arguments, id_, time=time, **extra)
    elif kind == "tool":
        _read_answer(transcript, data)
    elif kind == "function":
        transcript.add_result(None, parse_result(_text(data.get("content"))), tool=data.get("name"))
    elif kind != "remove":
        role = {"human": "user", "chat": str(data.get("role") or "user")}.get(kind, kind)
        transcript.add_message(role, message_text(data.get("content")), time=_time(data))


def _is_by_agent(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "ai" or (kind == "chat" and data.get("role") == "assistant")


def _messages(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and isinstance(value.get("values"), dict):
        value = value["values"]
    if isinstance(value, dict):
        value = value.get("messages")
    return value if isinstance(value, list) else None


def _metadata(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("values") if isinstance(value.get("values"), dict) else None
    return {**(metadata_of(inner, "messages") or {}), **(metadata_of(value, "messages", "values") or {})} or None


# Messages


def _form(message: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a message's kind, e.g. `ai`, and its fields. The message may have any of LangChain's three forms."""
    kind, data = message.get("type"), message.get("data")
    if "lc" in message:
        data, path = message.get("kwargs"), message.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else kind
    elif "content" in message or "data" not in message:
        data = message
    if not isinstance(data, dict):
        raise RecordError("a message must have its fields at the top level, in 'data', or in 'kwargs' next to 'lc'")
    return str(kind).removesuffix("Chunk").removesuffix("Message").lower(), data


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not ("type" in message or "lc" in message):
        return False
    try:
        kind, data = _form(message)
    except RecordError:
        return False
    return kind in KINDS and "content" in data


def _read_content(transcript: Transcript, content: Any, time: Any) -> None:
    """Add a message's text, and the calls and results from tools that the provider ran."""
    if not isinstance(content, list):
        transcript.add_text(content, time=time)
        return
    transcript.add_text(_text([part for part in content if isinstance(part, str) or is_text_part(part)]), time=time)
    for block in objects([part for part in content if not isinstance(part, str)], "blocks of content"):
        kind = str(block.get("type"))
        if kind == "server_tool_call":
            transcript.add_call(block.get("name"), block.get("args"), block.get("id"), type=kind)
        elif kind == "server_tool_result":
            failed = block.get("status") == "error"
            transcript.add_result(block.get("tool_call_id"), parse_result(block.get("output")), error=failed)
        elif kind in ANSWERED_WITHIN:
            read_item(transcript, block)
        elif kind != "tool_use":
            read_blocks(transcript, [block])


def _read_answer(transcript: Transcript, data: Mapping[str, Any]) -> None:
    if not data.get("tool_call_id"):
        raise RecordError("a tool message needs the 'tool_call_id' of the call that it answers")
    error = data.get("status") == "error"
    content = _text(data.get("content"))
    extra = {} if data.get("artifact") is None else {"artifact": data["artifact"]}
    transcript.add_result(data["tool_call_id"], content if error else parse_result(content), error=error, **extra)


def _text(content: Any) -> Any:
    """Join content that consists only of text into one string. Other content is returned unchanged."""
    if isinstance(content, list) and all(isinstance(part, str) or is_text_part(part) for part in content):
        return "".join(part if isinstance(part, str) else part["text"] for part in content)
    return content


def _model(data: Mapping[str, Any]) -> Any:
    about = data.get("response_metadata")
    if not isinstance(about, dict):
        return None
    return about.get("model_name") or about.get("model") or about.get("model_id")


def _usage(data: Mapping[str, Any]) -> Any:
    """Return the tokens that a response used, as LangChain counted them, or else as the provider did."""
    about = data.get("response_metadata")
    return data.get("usage_metadata") or (first_of(about, "token_usage", "usage") if isinstance(about, dict) else None)


def _time(data: Mapping[str, Any]) -> Any:
    """Return when a message was written, if the provider or the program around it says so."""
    about = data.get("response_metadata")
    told = first_of(about, "created_at", "created") if isinstance(about, dict) else None
    return message_time(data) if told is None else told


FORMAT: Final = record_format(
    "langchain",
    "a tool message with the status `error`",
    mismatch,
    read_record,
)

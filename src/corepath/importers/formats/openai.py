"""Read OpenAI chat completions: a list of messages, a response, or a request with its response.

The list may be the whole record or be under `messages`. Lines in batch files are read too, both from input and output
files. Legacy function calls (`function_call`, role `function`) are also read. A result without an id goes to the first
call to the same tool that waits for a result. A custom tool's input text becomes the argument `input`. Only the first
choice is read. The chunks of a stream are joined. If exchanges in one file repeat each other, only the last one is
read. A record that `corepath export` wrote is read back as the exported episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.chat_streams import ChatStreams
from corepath.importers.content import message_text, parse_result, require_objects, text_of
from corepath.importers.exchange_log import ends_with_agent, exchange_format
from corepath.importers.exchanges import (
    as_exchange,
    exchange_field,
    exchange_metadata,
    exchange_time,
    explain_no_conversation,
    message_time,
    normalise,
)
from corepath.importers.streams import explain_unless_stream, join_response, split_streams
from corepath.importers.transcript import Transcript
from corepath.play.episode_origin import KEY, origin_in, restore
from corepath.values import arguments_of

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_KNOWN_ROLES: Final = frozenset(ROLES)


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    return explain_unless_stream(value, ChatStreams, _explain_mismatch)


def _explain_mismatch(value: Any) -> None:
    _find_messages(_normalise_record(value))


def _find_messages(value: Any) -> tuple[list[Mapping[str, Any]], Mapping[str, Any] | None]:
    """Return a normalised record's messages, and the response's message or None if there is no response.

    Raises `RecordError` if the record is not in this format.
    """
    found = _messages(value)
    if found is None:
        raise RecordError(
            explain_no_conversation(
                value, "no list of messages, nor an object with 'messages', 'choices', or a 'request' that has them"
            )
        )
    sent, response = found
    _require_messages(sent)
    if response is not None:
        _require_messages([response])
    return found


def _require_messages(values: Iterable[Any]) -> None:
    """Raise `RecordError` if a value is not a message of this format."""
    for one in values:
        role = one.get("role") if type(one) is dict else None
        if type(role) is not str or role not in _KNOWN_ROLES:
            raise RecordError(f"not all messages have a 'role' among {', '.join(ROLES)}")
        if ("parts" in one or type(one.get("content")) is list) and _has_tool_parts(one):
            raise RecordError("tool calls are among the parts of a message's content")


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record, or one for each stream in it. Raises `RecordError` if the record is malformed."""
    for one in split_streams(value, ChatStreams):
        yield _read_conversation(one)


def _read_conversation(value: Any) -> Episode:
    value = _normalise_record(value)
    messages, response = _find_messages(value)
    transcript = Transcript()
    for message in messages:
        _read_message(transcript, message, message_time(message))
    if response is not None:
        _read_message(transcript, response, exchange_time(value))
    model = exchange_field(value, "model")
    transcript.add_usage(exchange_field(value, "usage"), model=model)
    origin = origin_in(value)
    metadata = exchange_metadata(value, "messages", "choices", *(() if origin is None else (KEY,)))
    return restore(transcript.to_episode(agent=model, metadata=metadata), origin)


def _read_message(transcript: Transcript, message: Mapping[str, Any], time: Any) -> None:
    role = message["role"]
    if role == "assistant":
        transcript.start_turn()
        content = message.get("content")
        text = (content if type(content) is str else text_of(content)) or message.get("refusal")
        if text is not None:
            transcript.add_text(text, time=time)
        for id_, tool, arguments in _calls(message):
            transcript.add_call(tool, arguments, id_, time=time)
    elif role in ("tool", "function"):
        _read_answer(transcript, message, time)
    else:
        transcript.add_message(role, message_text(message.get("content")), time=time)


def _read_answer(transcript: Transcript, message: Mapping[str, Any], time: Any) -> None:
    error = message.get("is_error") is True or message.get("status") == "error"
    content = message.get("content")
    if type(content) is list:
        content = text_of(content)
    id_ = message.get("tool_call_id")
    tool = None if id_ else message.get("name") or message.get("tool_name")
    transcript.add_result(id_, content if error else parse_result(content), error=error, tool=tool, time=time)


def _normalise_record(value: Any) -> Any:
    """Return a record with its bodies under `request` and `response`, and a streamed response joined."""
    return join_response(as_exchange(value), ChatStreams)


def _messages(value: Any) -> tuple[list[Any], Any] | None:
    """Return a record's messages, and the response's message if there is one, or None if there are neither."""
    if not isinstance(value, dict):
        return (value, None) if isinstance(value, list) and value else None
    request = value["request"] if isinstance(value.get("request"), dict) else value
    sent, response = request.get("messages"), _response_message(value)
    if isinstance(sent, list):
        return (sent, response) if sent or response is not None or _did_nothing(value) else None
    return ([], response) if sent is None and response is not None else None


def _did_nothing(value: Mapping[str, Any]) -> bool:
    """Return True if the agent did nothing: `messages` is empty, and no other list could be the conversation."""
    return value.get("messages") == [] and sum(isinstance(one, list) for one in value.values()) == 1


def _response_message(value: Mapping[str, Any]) -> Any:
    """Return the message in a response's first choice, or None if there is no response."""
    response = value.get("response")
    choices = response.get("choices") if isinstance(response, dict) else None
    choices = value.get("choices") if choices is None else choices
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return {"role": "assistant", **message} if isinstance(message, dict) else message


def _history(value: Any) -> Iterator[tuple[bool, Callable[[], Any]]]:
    """Yield a record's messages in a form that can be compared. Exported episodes cannot be continued.

    Each message is a pair: whether the agent wrote it, and a function that returns its content.
    """
    found = None if origin_in(value) is not None else _messages(_normalise_record(value))
    if found is None:
        return
    sent, response = found
    for message in sent if response is None else chain(sent, [response]):
        _require_messages([message])
        yield message["role"] == "assistant", partial(_comparable, message)


def _comparable(message: Mapping[str, Any]) -> Any:
    """Return only what stays the same when a later request repeats a message."""
    made = [[id_, tool, arguments_of(arguments)] for id_, tool, arguments in _calls(message)]
    content, answered = message.get("content") or None, message.get("tool_call_id") or None
    content = content if type(content) is str else normalise(content)
    return [message["role"], content, answered if type(answered) is str else normalise(answered), made]


def _calls(message: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    """Return the id, the tool and the arguments of each call."""
    calls = message.get("tool_calls")
    found = [] if calls is None else list(map(_call, require_objects(calls, "tool calls")))
    if "function_call" in message and isinstance(function := message["function_call"], dict):
        found.append((None, function.get("name"), function.get("arguments")))
    return found


def _call(call: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    is_custom = "function" not in call
    function = call.get("custom") if is_custom else call["function"]
    if type(function) is not dict:
        raise RecordError("the 'function' of a tool call must be an object with 'name' and 'arguments'")
    arguments = {"input": function.get("input")} if is_custom else function.get("arguments")
    return call.get("id"), function.get("name"), arguments


def _has_tool_parts(message: Mapping[str, Any]) -> bool:
    """Return True if a message has parts that are calls or results, which only other formats have."""
    lists = [one for one in (message.get("content"), message.get("parts")) if isinstance(one, list)]
    kinds = [
        f"{part.get('type')} {' '.join(part)}".lower() for some in lists for part in some if isinstance(part, dict)
    ]
    return any("tool" in kind or "function" in kind for kind in kinds)


FORMAT: Final = exchange_format(
    "openai",
    "a tool message with `is_error` or the status `error`; the API itself has no field for it",
    mismatch,
    read_record,
    _history,
    streams=ChatStreams,
    has_ended=ends_with_agent,
)

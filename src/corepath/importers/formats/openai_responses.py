"""Read OpenAI Responses: a list of items, or a response with its `input` or `request`.

The list may be the whole record or be under `items` or `data`. Responses linked by `previous_response_id` are one
conversation, whether they are in one list or on separate lines of one file. Lines in batch files are read too, both
from input and output files. The events of a stream are joined.

Function calls and their outputs are joined by `call_id`. The API itself does not mark a function that failed. Tools
that the API runs (web search, MCP, code) are calls named after the tool. A call with the status "incomplete" is kept
without a result. A custom tool's input text becomes the argument `input`. Reasoning, lists of tools and other items are
left out. Consecutive items from the model share a turn. If exchanges in one file repeat each other, only the last one
is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, message_text, objects, parse_result
from corepath.importers.exchange_log import exchange_format
from corepath.importers.exchanges import (
    as_exchange,
    exchange_field,
    exchange_metadata,
    exchange_time,
    explain_no_conversation,
    message_time,
    normalise,
)
from corepath.importers.response_streams import ResponseStreams
from corepath.importers.streams import CUT_OFF, explain_unless_stream, join_response, split_streams
from corepath.importers.transcript import Transcript
from corepath.values import arguments_of

ANSWERED_APART: Final = ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call",
                         "apply_patch_call", "tool_search_call", "program")  # fmt: skip
"""Types of calls whose result is a separate item."""
ANSWERED_WITHIN: Final = ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call",
                          "image_generation_call")  # fmt: skip
"""Types of calls that contain their own result."""
APPROVAL_REQUEST: Final = "mcp_approval_request"
APPROVAL_RESPONSE: Final = "mcp_approval_response"

_ANSWER_FIELDS: Final = ("output", "outputs", "result", "results", "tools")
_CALL_DETAILS: Final = ("server_label", "namespace", "caller", "environment")
_NOT_ARGUMENTS: Final = {
    *_ANSWER_FIELDS, *_CALL_DETAILS, "type", "id", "call_id", "status", "name", "error", "created_by", "async",
    "approval_request_id", "pending_safety_checks", "fingerprint",
}  # fmt: skip
_CONVERSATION: Final = ("input", "output", "items", "data", "instructions")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    return explain_unless_stream(value, ResponseStreams, lambda one: _explain_mismatch(_normalise_record(one)))


def _explain_mismatch(value: Any) -> str | None:
    if isinstance(value, list) and _is_chain(value):
        return None
    items = _items(value)
    if not items:
        return explain_no_conversation(
            value, "no list of items, nor an object that has one under 'input', 'output', 'items' or 'data'"
        )
    if not any(_is_typical(item) for item in items):
        return "no item is a call such as 'function_call', an answer such as 'function_call_output', or 'reasoning'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record, or one for each stream or each conversation in a list of linked responses."""
    for one in _split(value):
        if isinstance(one, list) and _is_chain(one):
            for chain in _chains(one):
                yield _episode(chain)
        elif not _items(one) and exchange_field(one, CUT_OFF) is not True:
            raise RecordError(str(mismatch(one)))
        else:
            yield _episode([one])


def read_item(transcript: Transcript, item: Mapping[str, Any], time: Any = None) -> None:
    """Add an item to a transcript if the item is a call, a result or a message. Other items are ignored."""
    kind = str(item.get("type", "message"))
    time = message_time(item) if time is None else time
    if kind == "message":
        _read_message(transcript, item, time)
    elif kind == APPROVAL_RESPONSE:
        if item.get("approve") is False:
            reason = item.get("reason") or "not approved"
            transcript.add_result(item.get("approval_request_id"), reason, error=True, time=time)
    elif kind.endswith("_output"):
        _read_answer(transcript, item, kind, time)
    elif kind in (APPROVAL_REQUEST, "program") or kind.endswith("_call"):
        _read_call(transcript, item, kind, time)


# Items


def _read_message(transcript: Transcript, item: Mapping[str, Any], time: Any) -> None:
    if item.get("role") == "assistant":
        transcript.add_text(_text_in(item.get("content")), time=time)
    else:
        transcript.add_message(str(item.get("role") or "user"), message_text(item.get("content")), time=time)


def _read_call(transcript: Transcript, item: Mapping[str, Any], kind: str, time: Any) -> None:
    """Add a call, and its result if the item contains one.

    If the call was already added as an approval request, only the result is added.
    """
    approval = item.get("approval_request_id")
    if transcript.waits_for(approval):
        id_ = approval
    else:
        id_ = item.get("call_id") or item.get("id")
        name = item.get("name") or kind.removesuffix("_call")
        transcript.add_call(name, _arguments(item, kind), id_, time=time, **_call_details(item, kind))
    if kind not in ANSWERED_APART and kind != APPROVAL_REQUEST:
        _read_own_answer(transcript, item, id_)


def _call_details(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    details = {name: item[name] for name in _CALL_DETAILS if item.get(name) is not None}
    if kind != ANSWERED_APART[0]:
        details["type"] = kind
    if item.get("status") not in (None, "completed"):
        details["status"] = item["status"]
    return details


def _read_own_answer(transcript: Transcript, item: Mapping[str, Any], id_: Any) -> None:
    """Add the result that a call item contains, if there is one."""
    answer = first_of(item, *_ANSWER_FIELDS)
    if item.get("error") or item.get("status") == "failed":
        transcript.add_result(id_, item.get("error") or answer or "failed", error=True)
    elif answer is not None or item.get("status") == "completed":
        transcript.add_result(id_, parse_result(answer))


def _arguments(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "custom_tool_call":
        return {"input": item.get("input")}
    if item.get("arguments") is not None:
        return item["arguments"]
    given = next((item[name] for name in ("action", "operation") if isinstance(item.get(name), dict)), None)
    rest = {name: value for name, value in item.items() if name not in _NOT_ARGUMENTS and value is not None}
    return rest if given is None else given


def _read_answer(transcript: Transcript, item: Mapping[str, Any], kind: str, time: Any) -> None:
    id_ = item.get("id") if kind == "local_shell_call_output" else item.get("call_id")
    tool = item.get("name") or ("tool_search" if kind == "tool_search_output" else None)
    if id_ is None and tool is None:
        raise RecordError(f"an item of the type {kind[:60]!r} needs the 'call_id' of the call that it answers")
    content = _join_texts(next((item[name] for name in _ANSWER_FIELDS if name in item), None))
    error = item.get("status") == "failed" or item.get("is_error") is True
    transcript.add_result(id_, content if error else parse_result(content), error=error, tool=tool, time=time)


def _join_texts(content: Any) -> Any:
    """Join content that consists only of text parts into one string. Other content is returned unchanged."""
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return "".join(part["text"] for part in content)
    return content


def _text_in(content: Any) -> str | None:
    """Return the text in a message's content, including refusals, or None if the content is None."""
    if isinstance(content, str) or content is None:
        return content
    texts = (part.get("text", part.get("refusal")) for part in objects(content, "parts of a message's content"))
    return "".join(text for text in texts if isinstance(text, str))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _is_typical(item: Any) -> bool:
    """Return True if an item has a form that only this format uses."""
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        return False
    kind = item["type"]
    if kind in ("function_call", "function_call_output"):
        return "call_id" in item or "name" in item
    if kind == "message":
        return isinstance(item.get("content"), list) and any(
            isinstance(part, dict) and part.get("type") in ("output_text", "input_text") for part in item["content"]
        )
    known = (*ANSWERED_APART, *ANSWERED_WITHIN, APPROVAL_REQUEST, APPROVAL_RESPONSE, "reasoning")
    return kind in known or kind.removesuffix("_output") in known


# Records


def _episode(chain: list[Any]) -> Episode:
    """Read a chain of linked responses as one episode."""
    transcript = Transcript()
    told: Any = None
    try:
        for record in chain:
            instructions = exchange_field(record, "instructions")
            if instructions != told:
                _read_instructions(transcript, instructions)
            told = instructions
            _read_items(transcript, *_input_and_output(record), exchange_time(record))
            transcript.add_usage(exchange_field(record, "usage"), model=exchange_field(record, "model"))
    except RecordError as error:
        previous = exchange_field(chain[0], "previous_response_id")
        if previous is None:
            raise
        raise RecordError(
            f"{error}; it continues the response {str(previous)[:60]!r}, which is not in this file"
        ) from None
    return transcript.to_episode(
        agent=exchange_field(chain[-1], "model"), metadata=exchange_metadata(chain[-1], *_CONVERSATION)
    )


def _read_instructions(transcript: Transcript, instructions: Any) -> None:
    """Add a response's instructions to `transcript`, which are text or a list of items."""
    if isinstance(instructions, str):
        transcript.add_message("system", instructions)
    elif isinstance(instructions, list):
        _read_items(transcript, instructions, None)


def _read_items(transcript: Transcript, given: Any, new: Any, time: Any = None) -> None:
    """Add a response's items to `transcript`.

    `given` holds the input items, which may be several turns. `new` holds the output items, which are one turn, and
    were made at `time`.
    """
    by_model = False
    for item in objects(given, "items"):
        was_by_model, by_model = by_model, _is_by_model(item)
        if by_model and not was_by_model:
            transcript.start_turn()
        read_item(transcript, item)
    if new:
        transcript.start_turn()
    for item in objects(new, "items"):
        read_item(transcript, item, time)


def _split(value: Any) -> list[Any]:
    """Return the conversations in a record: those of its streams, which may continue each other, or only `value`."""
    found = split_streams(value, ResponseStreams)
    return [found] if len(found) > 1 and _is_chain(found) else [_normalise_record(one) for one in found]


def _normalise_record(value: Any) -> Any:
    """Return a record with its bodies under `request` and `response`, and a streamed response joined."""
    if isinstance(value, list):
        return [join_response(as_exchange(one), ResponseStreams) for one in value]
    return join_response(as_exchange(value), ResponseStreams)


def _input_and_output(record: Any) -> tuple[Any, Any]:
    """Return the items that the model received and the items that it produced. Either may be None."""
    if isinstance(record, list):
        return record, None
    if not isinstance(record, dict):
        return None, None
    if "items" in record or "data" in record:
        return _oldest_first(record.get("items", record.get("data"))), None
    request, response = record.get("request") or record, record.get("response") or record
    given = request.get("input") if isinstance(request, dict) else None
    new = response.get("output") if isinstance(response, dict) else None
    return [{"role": "user", "content": given}] if isinstance(given, str) else given, new


def _items(record: Any) -> list[Any] | None:
    """Return all items in a record, or None if the record has no list of items."""
    given, new = _input_and_output(record)
    if not isinstance(given, list) and not isinstance(new, list):
        return None
    return [*(given if isinstance(given, list) else ()), *(new if isinstance(new, list) else ())]


def _oldest_first(items: Any) -> Any:
    """Return items oldest first. A list that is newest first is reversed.

    The API lists items newest first. Such a list is recognised by a result that comes before its call.
    """
    if not isinstance(items, list):
        return items
    called: set[str] = set()
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("call_id"), str):
            if str(item.get("type")).endswith("_output") and item["call_id"] not in called:
                return items[::-1]
            called.add(item["call_id"])
    return items


def _is_by_model(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type", "message"))
    return (
        item.get("role") == "assistant"
        if kind == "message"
        else not (kind.endswith("_output") or kind == APPROVAL_RESPONSE)
    )


def _is_chain(records: list[Any]) -> bool:
    """Return True if any response in a list continues another response in the list."""
    ids = {_response_id(record) for record in records} - {None}
    return any(_text(exchange_field(record, "previous_response_id")) in ids for record in records)


def _chains(records: list[Any]) -> list[list[Any]]:
    """Group linked responses into conversations.

    Each conversation ends with a response that no other response continues.
    """
    by_id: dict[str, Any] = {}
    for record in records:
        if _items(record) is None:
            raise RecordError(f"a response must have a list of items under 'output'; one of {len(records)} has none")
        if (own := _response_id(record)) in by_id:
            raise RecordError(f"two responses have the id {str(own)[:60]!r}")
        if own is not None:
            by_id[own] = record
    continued = {_text(exchange_field(record, "previous_response_id")) for record in records}
    ends = [record for record in records if _response_id(record) not in continued - {None}]
    chains = [_chain(record, by_id) for record in ends]
    if len({id(record) for chain in chains for record in chain}) < len(records):
        raise RecordError("some responses continue each other in a cycle")
    return chains


def _chain(last: Any, by_id: Mapping[str, Any]) -> list[Any]:
    """Return the response `last` and the responses that it continues, oldest first."""
    chain = [last]
    while (previous := _text(exchange_field(chain[-1], "previous_response_id"))) is not None and previous in by_id:
        chain.append(by_id[previous])
        if len(chain) > len(by_id) + 1:
            raise RecordError(f"the response {previous[:60]!r} continues itself")
    return chain[::-1]


def _response_id(record: Any) -> str | None:
    return (
        _text(exchange_field(record, "id"))
        if isinstance(record, dict) and _input_and_output(record)[1] is not None
        else None
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _link(value: Any) -> tuple[str | None, str | None]:
    """Return a response's id and the id of the response that it continues. Either id may be None."""
    try:
        value = _normalise_record(value)
    except RecordError:
        return None, None
    return _response_id(value), _text(exchange_field(value, "previous_response_id"))


def _history(value: Any) -> list[tuple[bool, Callable[[], Any]]]:
    """Return a record's items in a form that can be compared, or none if there is nothing to compare.

    Each item is a pair: whether the model wrote it, and a function that returns its content. Reasoning is left out. The
    first pair is for the id of the response that the record continues, or None.
    """
    value = _normalise_record(value)
    given, new = _input_and_output(value)
    if not isinstance(given, list):
        return []
    items = [item for item in (*given, *(new if isinstance(new, list) else ())) if isinstance(item, dict)]
    messages = [(_is_by_model(item), partial(_comparable, item)) for item in items if item.get("type") != "reasoning"]
    return [(False, partial(exchange_field, value, "previous_response_id")), *messages] if messages else []


def _comparable(item: Mapping[str, Any]) -> Any:
    """Return only what stays the same when a later request repeats an item."""
    try:
        if item.get("type", "message") == "message":
            return [item.get("role"), _text_in(item.get("content"))]
    except RecordError:
        pass
    if item.get("type") == ANSWERED_APART[0]:
        return [item.get("call_id"), item.get("name"), arguments_of(item.get("arguments"))]
    return normalise({name: value for name, value in item.items() if name not in ("id", "status")})


FORMAT: Final = exchange_format(
    "openai-responses",
    "an output with the status `failed` or `is_error`; an MCP call with an `error`, or one that was not approved",
    mismatch,
    read_record,
    _history,
    _link,
    streams=ResponseStreams,
)

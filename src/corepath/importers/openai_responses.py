"""OpenAI Responses: a list of items, alone or under `items` or `data`, or a response with its `input` or `request`.

Responses that go on from each other (`previous_response_id`) stand in one list, or in one file, one a line. The lines
of a batch are read too, both sent and answered.

An error is an answer with the status "failed" or with `is_error`, and a call of a tool on an MCP server that has an
`error` or was not approved. The API itself has no sign for a function that failed.

Calls of functions are joined to their outputs by `call_id`. Tools that the API runs (web search, MCP, code) are calls
by the name of the tool. A call that was cut off (status "incomplete") is kept as it is, and has no answer. The input
of a custom tool, which is a text, is its argument `input`. Items that are neither calls, answers nor words, such as
reasoning and lists of tools, are left out. Items that follow each other without an answer or a user between them are
of one turn. Of requests and responses in one file, each of which repeats those before it, the last is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.exchanges import (
    around,
    as_exchange,
    in_pieces,
    plain,
    said_of,
    streamed,
    why_no_record_fits,
    why_nothing,
)
from corepath.importers.messages import Conversation, objects, result_value
from corepath.values import arguments_of

ANSWERED_APART: Final = ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call",
                         "apply_patch_call", "tool_search_call", "program")  # fmt: skip
"""Calls whose answer is an item of its own."""
ANSWERED_WITHIN: Final = ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call",
                          "image_generation_call")  # fmt: skip
ASKED: Final = "mcp_approval_request"
ALLOWED: Final = "mcp_approval_response"

_ANSWER: Final = ("output", "outputs", "result", "results", "tools")
_ABOUT_A_CALL: Final = ("server_label", "namespace", "caller", "environment")
_NO_ARGUMENTS: Final = {
    *_ANSWER, *_ABOUT_A_CALL, "type", "id", "call_id", "status", "name", "error", "created_by", "async",
    "approval_request_id", "pending_safety_checks", "fingerprint",
}  # fmt: skip
_CONVERSATION: Final = ("input", "output", "items", "data", "instructions")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    value = _opened(value)
    if isinstance(value, list) and _is_chain(value):
        return None
    items = _items(value)
    if not items:
        return why_nothing(
            value, "no list of items, nor an object that has one under 'input', 'output', 'items' or 'data'"
        )
    if not any(_is_ours(item) for item in items):
        return (
            "no item of it is a call such as 'function_call', an answer such as 'function_call_output', or 'reasoning'"
        )
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record, or those of a list of responses."""
    value = _opened(value)
    if isinstance(value, list) and _is_chain(value):
        for chain in _chains(value):
            yield _episode(chain)
    else:
        if not _items(value):
            raise RecordError(str(fits(value)))
        yield _episode([value])


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_no_record_fits(path, fits)


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, and a problem for each bad record."""
    return streamed(path, fits, episodes, _history, _link)


def read_item(made: Conversation, item: Mapping[str, Any]) -> None:
    """One item: a call, an answer, or words of the agent."""
    kind = str(item.get("type", "message"))
    if kind == "message":
        if item.get("role") == "assistant":
            made.said(_words(item.get("content")))
    elif kind == ALLOWED:
        if item.get("approve") is False:
            made.result(item.get("approval_request_id"), item.get("reason") or "not approved", error=True)
    elif kind.endswith("_output"):
        _answer(made, item, kind)
    elif kind in (ASKED, "program") or kind.endswith("_call"):
        _call(made, item, kind)


# Items


def _call(made: Conversation, item: Mapping[str, Any], kind: str) -> None:
    asked = item.get("approval_request_id")
    id_ = asked if made.waits_for(asked) else item.get("call_id") or item.get("id")
    if not made.waits_for(asked):
        extra = {name: item[name] for name in _ABOUT_A_CALL if item.get(name) is not None}
        if kind != ANSWERED_APART[0]:
            extra["type"] = kind
        if item.get("status") not in (None, "completed"):
            extra["status"] = item["status"]
        made.call(item.get("name") or kind.removesuffix("_call"), _arguments(item, kind), id_, **extra)
    if kind in ANSWERED_APART or kind == ASKED:
        return
    answer = next((item[name] for name in _ANSWER if item.get(name) is not None), None)
    if item.get("error") or item.get("status") == "failed":
        made.result(id_, item.get("error") or answer or "failed", error=True)
    elif answer is not None or item.get("status") == "completed":
        made.result(id_, result_value(answer))


def _arguments(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "custom_tool_call":
        return {"input": item.get("input")}
    if item.get("arguments") is not None:
        return item["arguments"]
    given = next((item[name] for name in ("action", "operation") if isinstance(item.get(name), Mapping)), None)
    rest = {name: value for name, value in item.items() if name not in _NO_ARGUMENTS and value is not None}
    return rest if given is None else given


def _answer(made: Conversation, item: Mapping[str, Any], kind: str) -> None:
    id_ = item.get("id") if kind == "local_shell_call_output" else item.get("call_id")
    tool = item.get("name") or ("tool_search" if kind == "tool_search_output" else None)
    if id_ is None and tool is None:
        raise RecordError(f"an item of the type {kind[:60]!r} needs the 'call_id' of the call that it answers")
    content = next((item[name] for name in _ANSWER if name in item), None)
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        content = "".join(part["text"] for part in content)
    error = item.get("status") == "failed" or item.get("is_error") is True
    made.result(id_, content if error else result_value(content), error=error, tool=tool)


def _words(content: Any) -> str | None:
    if isinstance(content, str) or content is None:
        return content
    texts = (part.get("text", part.get("refusal")) for part in objects(content, "parts of a message's content"))
    return "".join(text for text in texts if isinstance(text, str))


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _is_ours(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
        return False
    kind = item["type"]
    if kind in ("function_call", "function_call_output"):
        return "call_id" in item or "name" in item
    if kind == "message":
        return isinstance(item.get("content"), list) and any(
            isinstance(part, Mapping) and part.get("type") in ("output_text", "input_text") for part in item["content"]
        )
    known = (*ANSWERED_APART, *ANSWERED_WITHIN, ASKED, ALLOWED, "reasoning")
    return kind in known or kind.removesuffix("_output") in known


# Records


def _episode(chain: list[Any]) -> Episode:
    """The episode of responses that go on from each other."""
    made = Conversation()
    try:
        for record in chain:
            given, new = _parts(record)
            speaks = False
            for item in objects(given, "items"):
                spoke, speaks = speaks, _speaks(item)
                if speaks and not spoke:
                    made.next_turn()
                read_item(made, item)
            if new:
                made.next_turn()
            for item in objects(new, "items"):
                read_item(made, item)
    except RecordError as error:
        before = said_of(chain[0], "previous_response_id")
        if before is None:
            raise
        raise RecordError(
            f"{error}; it goes on from the response {str(before)[:60]!r}, which is not in this file"
        ) from None
    return made.episode(agent=said_of(chain[-1], "model"), metadata=around(chain[-1], *_CONVERSATION))


def _opened(value: Any) -> Any:
    return [as_exchange(one) for one in value] if isinstance(value, list) else as_exchange(value)


def _parts(record: Any) -> tuple[Any, Any]:
    """The items that the model was given, and those that it made."""
    if in_pieces(record):
        return None, None
    if isinstance(record, list):
        return record, None
    if not isinstance(record, Mapping):
        return None, None
    if "items" in record or "data" in record:
        return _oldest_first(record.get("items", record.get("data"))), None
    request, response = record.get("request") or record, record.get("response") or record
    given = request.get("input") if isinstance(request, Mapping) else None
    new = response.get("output") if isinstance(response, Mapping) else None
    return [{"role": "user", "content": given}] if isinstance(given, str) else given, new


def _items(record: Any) -> list[Any] | None:
    given, new = _parts(record)
    if not isinstance(given, list) and not isinstance(new, list):
        return None
    return [*(given if isinstance(given, list) else ()), *(new if isinstance(new, list) else ())]


def _oldest_first(items: Any) -> Any:
    """Items as they came about: the API lists them newest first, so that answers stand before their calls."""
    if not isinstance(items, list):
        return items
    called: set[str] = set()
    for item in items:
        if isinstance(item, Mapping) and isinstance(item.get("call_id"), str):
            if str(item.get("type")).endswith("_output") and item["call_id"] not in called:
                return items[::-1]
            called.add(item["call_id"])
    return items


def _speaks(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type", "message"))
    return item.get("role") == "assistant" if kind == "message" else not (kind.endswith("_output") or kind == ALLOWED)


def _is_chain(records: list[Any]) -> bool:
    """Whether a response of the list goes on from another one of it."""
    ids = {_response_id(record) for record in records} - {None}
    return any(_text(said_of(record, "previous_response_id")) in ids for record in records)


def _chains(records: list[Any]) -> list[list[Any]]:
    """The responses that lead to each one from which no other goes on."""
    by_id: dict[str, Any] = {}
    for record in records:
        if _items(record) is None:
            raise RecordError(f"a response has a list of items under 'output'; one of {len(records)} has none")
        if (own := _response_id(record)) in by_id:
            raise RecordError(f"two responses have the id {str(own)[:60]!r}")
        if own is not None:
            by_id[own] = record
    gone_on_from = {_text(said_of(record, "previous_response_id")) for record in records}
    ends = [record for record in records if _response_id(record) not in gone_on_from - {None}]
    chains = [_chain(record, by_id) for record in ends]
    if len({id(record) for chain in chains for record in chain}) < len(records):
        raise RecordError("some responses go on from each other in a circle")
    return chains


def _chain(last: Any, by_id: Mapping[str, Any]) -> list[Any]:
    chain = [last]
    while (before := _text(said_of(chain[-1], "previous_response_id"))) is not None and before in by_id:
        chain.append(by_id[before])
        if len(chain) > len(by_id) + 1:
            raise RecordError(f"the response {before[:60]!r} goes on from itself")
    return chain[::-1]


def _response_id(record: Any) -> str | None:
    return _text(said_of(record, "id")) if isinstance(record, Mapping) and _parts(record)[1] is not None else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _link(value: Any) -> tuple[str | None, str | None]:
    """The id of a response, and of the one that it goes on from."""
    value = as_exchange(value)
    return _response_id(value), _text(said_of(value, "previous_response_id"))


def _history(value: Any) -> list[tuple[bool, Any]] | None:
    """The items of a record: what was said, called and answered, and after which response."""
    value = as_exchange(value)
    given, new = _parts(value)
    if not isinstance(given, list):
        return None
    items = [item for item in (*given, *(new if isinstance(new, list) else ())) if isinstance(item, Mapping)]
    said = [(_speaks(item), _said(item)) for item in items if item.get("type") != "reasoning"]
    return [(False, said_of(value, "previous_response_id")), *said] if said else None


def _said(item: Mapping[str, Any]) -> Any:
    try:
        if item.get("type", "message") == "message":
            return [item.get("role"), _words(item.get("content"))]
    except RecordError:
        pass
    if item.get("type") == ANSWERED_APART[0]:
        return [item.get("call_id"), item.get("name"), arguments_of(item.get("arguments"))]
    return plain({name: value for name, value in item.items() if name not in ("id", "status")})

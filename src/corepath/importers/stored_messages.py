"""Read the inputs and outputs of model calls as tracing platforms store them.

SDKs store what they are given, so a message may have any provider's form: OpenAI's chat messages and Responses items,
Anthropic's and Gemini's blocks, LangChain's messages in all three forms, the Vercel AI SDK's parts, or the parts of
OpenTelemetry. Thoughts are left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.content import first_of, message_text, objects, parse_result, text_of
from corepath.importers.langchain_calls import read_calls
from corepath.importers.span_content import ChatAnswer, ChatCall, ChatMessage
from corepath.values import why_not_json

_ROLES: Final = {
    "human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "function": "tool",
    "developer": "system",
}  # fmt: skip
_LANGCHAIN: Final = ("ai", "human", "tool", "system", "function", "chat")
_HOLDERS: Final = (
    "messages", "contents", "generations", "choices", "candidates", "message", "input", "output", "prompts", "prompt",
    "text", "completion",
)  # fmt: skip
"""Fields that hold the messages of a request or a response, in the order in which they are looked for."""
_INSTRUCTIONS: Final = ("instructions", "system", "system_instruction", "systemInstruction")
_CALLS: Final = (
    "tool_use", "tool-call", "tool_call", "function_call", "server_tool_use", "server_tool_call", "mcp_tool_use",
    "custom_tool_call",
)  # fmt: skip
_HOSTED: Final = ("server_tool_use", "server_tool_call", "mcp_tool_use")
"""Types of calls that the provider runs. LangChain does not list them among a message's calls."""
_ANSWERS: Final = ("tool-result", "tool_call_response", "function_call_output", "custom_tool_call_output",
                   "function_response", "server_tool_result")  # fmt: skip
_ANSWERED_WITHIN: Final = ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call",
                           "image_generation_call")  # fmt: skip
"""Types of items that are a call with its result."""
_NOT_ARGUMENTS: Final = (
    "type",
    "id",
    "status",
    "name",
    "error",
    "output",
    "outputs",
    "result",
    "results",
    "server_label",
)
_CALL_FIELDS: Final = frozenset(("functionCall", "function_call", "toolUse", "function", "toolName"))
_ANSWER_FIELDS: Final = frozenset(("functionResponse", "function_response", "toolResult"))
"""Fields that only a part with a call, or with a result, has."""
_PARTS: Final = ("text", "input_text", "output_text", "refusal", "image", "image_url", "input_image", "file")
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning")
_LONGEST_LITERAL: Final = 100_000


def read_messages(value: Any, role: str) -> list[ChatMessage]:
    """Return the messages in a stored input or output. Text that names no role has the role `role`."""
    if isinstance(value, str):
        parsed = parse_result(value) if value.lstrip()[:1] in ("[", "{") else value
        return [ChatMessage(role, value)] if isinstance(parsed, str) and value else _messages(parsed, role)
    return _messages(value, role)


def in_one_turn(messages: list[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return the messages of one response with the results of tools that the provider ran last.

    All calls of a response are in the same turn, even if it has the results of some of them.
    """
    if any(message.role == "tool" for message in messages):
        return tuple(messages)  # several turns
    return tuple(sorted(messages, key=lambda message: bool(message.answers)))


def agent_messages(given: Any, output: Any) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """Return the messages of a whole agent as two lists: up to the user's last message, and after that message.

    The output of an agent often repeats its input.
    """
    sent, said = read_messages(given, "user"), read_messages(output, "assistant")
    if sent and said[: len(sent)] == sent:
        said = said[len(sent) :]
    elif sent and said and said[-1] == sent[-1]:
        said = []
    whole = [*sent, *said]
    last = max((number for number, message in enumerate(whole) if message.is_by_user), default=-1)
    return whole[: last + 1], whole[last + 1 :]


def is_conversation(value: Any) -> bool:
    """Return True if a stored value is a list of messages, or an object that has one under `messages`."""
    value = parse_result(value) if isinstance(value, str) and value.lstrip()[:1] in ("[", "{") else value
    if isinstance(value, dict):
        value = value.get("messages")
    return isinstance(value, list) and any(isinstance(one, dict) and _role_of(one) for one in value)


def _messages(value: Any, role: str) -> list[ChatMessage]:
    if value in (None, "", [], {}):
        return []
    if isinstance(value, dict):
        return _in_object(value, role)
    return _in_list(value, role) if isinstance(value, list) else [ChatMessage(role, value)]


def _in_list(value: list[Any], role: str) -> list[ChatMessage]:
    """Return the messages in a list: of messages, of batches of which the first counts, or of a message's parts."""
    if isinstance(value[0], list):
        pairs = [ChatMessage(_normalise(one[0]), one[1]) for one in value if _is_pair(one)]
        return pairs or _messages(value[0], role)
    if any(isinstance(one, dict) and (_role_of(one) or _is_item(one)) for one in value):
        return [message for one in value for message in _messages(one, role)]
    return list(_message({"content": value, "role": role}, role))


def _is_pair(value: Any) -> bool:
    """Return True if a value is a message in the short form that LangChain accepts, e.g. `["user", "Hello"]`."""
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value)
    return is_pair and (value[0] in _LANGCHAIN or value[0] in ("user", "assistant", "developer"))


def _in_object(value: Mapping[str, Any], role: str) -> list[ChatMessage]:
    """Return the messages in an object: a message, an item, or a request or response that holds messages."""
    if _is_item(value):
        return list(_read_item(value))
    if _role_of(value) or any(name in value for name in ("tool_calls", "content", "parts")):
        return list(_message(value, role))
    name = next((one for one in _HOLDERS if value.get(one) not in (None, "", [])), None)
    if name is None:
        return [ChatMessage(role, dict(value))] if set(value).isdisjoint(_HOLDERS) else []
    if name in ("generations", "choices", "candidates"):
        return read_messages(_first_answer(value[name]), "assistant")
    before = _instructions(value) if name in ("messages", "contents", "input") else []
    return [*before, *read_messages(value[name], role)]


def _instructions(request: Mapping[str, Any]) -> list[ChatMessage]:
    """Return the system's message that stands beside the other messages of a request."""
    config = request["config"] if isinstance(request.get("config"), dict) else {}
    text = message_text(_parts(first_of({**config, **request}, *_INSTRUCTIONS)))
    return [ChatMessage("system", text)] if text else []


def _first_answer(answers: Any) -> Any:
    """Return the first of the answers that a model gave to one request. The others do not count."""
    while isinstance(answers, list) and answers:
        answers = answers[0]
    return first_of(answers, "message", "content", "text") if isinstance(answers, dict) else answers


# Messages


def _role_of(raw: Mapping[str, Any]) -> str | None:
    """Return the role of a message, or None if the object is no message."""
    kind = _stated_role(raw)
    if not isinstance(kind, str):
        return None
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    kind = str(_fields(raw).get("role") or "user").lower() if kind == "chat" else kind
    return _normalise(kind) if kind in _ROLES or kind in _LANGCHAIN or "role" in raw else None


def _stated_role(raw: Mapping[str, Any]) -> Any:
    """Return a message's role, or what LangChain writes instead of it, e.g. `human` or `HumanMessage`."""
    if isinstance(raw.get("role"), str):
        return raw["role"]
    if "lc" in raw:
        path = raw.get("id")
        return path[-1] if isinstance(path, list) and path else None
    return raw.get("type") if "data" in raw or "content" in raw else None


def _normalise(role: str) -> str:
    return _ROLES.get(role, role)


def _message(raw: Mapping[str, Any], role: str) -> Iterator[ChatMessage]:
    """Yield a stored message as one or two messages: the results in it are a message of their own."""
    role, raw = _role_of(raw) or role, _fields(raw)
    content = _parts(first_of(raw, "content", "parts"))
    blocks = list(filter(_is_object, content)) if isinstance(content, list) else []
    answers = tuple(map(_answer, filter(_is_answer, blocks)))
    calls, text = tuple(_calls(raw, blocks)), _text(content, role)
    if role == "tool" and not answers and not calls:
        yield from _tool_message(raw, content)
        return
    role = "assistant" if role == "tool" and calls else role  # koog stores calls so
    said = [ChatMessage(role, text, calls)] if text or calls else []
    if not answers:
        yield from said
    elif role == "assistant":
        yield from (*said, ChatMessage(role, answers=answers))
    else:
        yield from (ChatMessage("tool", answers=answers), *said)


def _is_object(part: Any) -> bool:
    return isinstance(part, dict)


def _fields(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a message, which LangChain may store under `kwargs` or `data`."""
    if "lc" in raw or ("data" in raw and "content" not in raw):
        return next((raw[name] for name in ("kwargs", "data") if isinstance(raw.get(name), dict)), {})
    return raw


def _text(content: Any, role: str) -> Any:
    said = [one for one in content if not _is_other(one)] if isinstance(content, list) else content
    return text_of(said) if role == "assistant" else message_text(said)


def _tool_message(raw: Mapping[str, Any], content: Any) -> Iterator[ChatMessage]:
    """Yield the message with the result of a call.

    Langfuse stores definitions of tools in this form too. They have no id, and are left out.
    """
    id_ = first_of(raw, "tool_call_id", "toolCallId", "tool_use_id")
    if id_ is not None or not isinstance(content, dict):
        yield ChatMessage("tool", answers=(ChatAnswer(id_, _join_texts(content), _is_error(raw)),))


def _join_texts(content: Any) -> Any:
    """Join the texts in a list of parts into one string. Content without text is returned unchanged."""
    return (text_of(content) or content) if isinstance(content, list) else content


def _parts(content: Any) -> Any:
    """Parse content that is a JSON string with a list of parts, and give OpenTelemetry's parts the field `text`."""
    if isinstance(content, str) and content.startswith("[{"):
        parsed = parse_result(content)
        content = parsed if isinstance(parsed, list) and all(map(_is_part, parsed)) else content
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        content = content["parts"]
    if not isinstance(content, list):
        return content
    return [{**one, "text": one["content"]} if _is_otel_text(one) else one for one in content]


def _is_part(value: Any) -> bool:
    """Return True if a value is a part of a message: text, an image, a call, a result or a thought."""
    return isinstance(value, dict) and (_is_other(value) or value.get("type") in _PARTS)


def _is_otel_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("content"), str)


def _is_other(part: Any) -> bool:
    """Return True if a part of a message is a call, a result or a thought."""
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return _is_call(part) or _is_answer(part) or kind in _THOUGHTS or part.get("thought") is True


# Calls and results


def _calls(raw: Mapping[str, Any], blocks: list[Mapping[str, Any]]) -> Iterator[ChatCall]:
    """Yield a message's calls. If the message lists them apart, the same calls in its content are not counted again."""
    listed = list(_listed_calls(raw))
    if not listed and isinstance(raw.get("function_call"), dict):
        listed = [_call(raw["function_call"])]
    yield from listed
    yield from (_call(one) for one in blocks if _is_call(one) and (not listed or one.get("type") in _HOSTED))


def _listed_calls(raw: Mapping[str, Any]) -> Iterator[ChatCall]:
    """Yield the calls under `tool_calls`, in the form of OpenAI, LangChain or the Vercel AI SDK."""
    listed = parse_result(first_of(raw, "tool_calls", "toolCalls"))
    if isinstance(listed, list):
        listed = [one for one in listed if one is not None]  # a stream that skipped an index
    if raw.get("invalid_tool_calls") or (not listed and isinstance(raw.get("additional_kwargs"), dict)):
        for name, arguments, id_, _ in read_calls({**raw, "tool_calls": listed}):
            yield ChatCall(name, arguments, id_)
    else:
        yield from (_call(one) for one in objects(listed, "tool calls"))


def _is_call(block: Mapping[str, Any]) -> bool:
    if block.get("type") in _CALLS:
        return True
    if _CALL_FIELDS.isdisjoint(block) or _is_answer(block):
        return False
    return "toolName" in block or any(isinstance(block.get(name), dict) for name in _CALL_FIELDS)


def _call(raw: Mapping[str, Any]) -> ChatCall:
    inner = first_of(raw, "function", "functionCall", "function_call", "toolUse")
    held = inner if isinstance(inner, dict) else raw
    name = first_of(held, "name", "toolName", "tool_name")
    arguments = first_of(held, "arguments", "args", "input")
    id_ = first_of({**held, **raw}, "call_id", "id", "toolCallId", "toolUseId", "tool_call_id")
    return ChatCall(name, arguments, id_ if isinstance(id_, (str, int)) else None)


def _is_answer(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind in _ANSWERS or (isinstance(kind, str) and kind.endswith("tool_result")):
        return True
    return not _ANSWER_FIELDS.isdisjoint(block)


def _answer(block: Mapping[str, Any]) -> ChatAnswer:
    inner = first_of(block, "functionResponse", "function_response", "toolResult")
    held = inner if isinstance(inner, dict) else block
    id_ = first_of(held, "tool_use_id", "toolCallId", "tool_call_id", "call_id", "toolUseId", "id")
    value = first_of(held, "content", "output", "result", "response")
    failed = _is_error(held)
    if isinstance(value, dict) and set(value) == {
        "type",
        "value",
    }:  # the Vercel AI SDK says what kind of output it is
        failed = failed or str(value["type"]).startswith("error")
        value = value["value"]
    if isinstance(value, dict) and str(value.get("type")).endswith("_error"):
        failed = True
    return ChatAnswer(id_ if isinstance(id_, (str, int)) else None, _join_texts(value), failed)


def _is_error(raw: Mapping[str, Any]) -> bool:
    return raw.get("is_error") is True or raw.get("isError") is True or raw.get("status") == "error"


# Items of the Responses API


def _is_item(value: Mapping[str, Any]) -> bool:
    """Return True if an object is an item of OpenAI's Responses API other than a message."""
    kind = value.get("type")
    if kind in ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"):
        return "call_id" in value
    return kind in _ANSWERED_WITHIN or (kind == "reasoning" and "role" not in value)


def _read_item(item: Mapping[str, Any]) -> Iterator[ChatMessage]:
    kind = item.get("type")
    if kind in _ANSWERED_WITHIN:
        yield from _read_answered_call(item, str(kind))
    elif kind in _CALLS:
        call = _call(item)
        arguments = {"input": item.get("input")} if kind == "custom_tool_call" else call.arguments
        yield ChatMessage("assistant", calls=(ChatCall(call.tool, arguments, call.id),))
    elif kind != "reasoning":
        yield ChatMessage("tool", answers=(_answer(item),))


def _read_answered_call(item: Mapping[str, Any], kind: str) -> Iterator[ChatMessage]:
    """Yield the call of a tool that the provider ran, and its result."""
    id_ = item.get("id")
    rest = {name: value for name, value in item.items() if name not in _NOT_ARGUMENTS and value is not None}
    arguments = first_of(item, "arguments", "action")
    name = item.get("name") or kind.removesuffix("_call")
    yield ChatMessage("assistant", calls=(ChatCall(name, rest if arguments is None else arguments, id_),))
    failed = bool(item.get("error")) or item.get("status") == "failed"
    value = first_of(item, "error", "output", "outputs", "result", "results")
    if failed or value is not None or item.get("status") == "completed":
        yield ChatMessage("assistant", answers=(ChatAnswer(id_, value, failed),))


# Arguments and results of tools


def read_arguments(value: Any) -> Any:
    """Return a tool's arguments as stored: an object, the JSON text of one, or a Python dict that was printed.

    Other text is returned unchanged.
    """
    value = parse_result(value)
    if not isinstance(value, str) or not value.startswith("{") or len(value) > _LONGEST_LITERAL:
        return value
    try:
        printed = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return value
    return value if why_not_json(printed) else printed


def unwrap_tool_message(value: Any) -> tuple[Any, Any, str | None]:
    """Return a tool's result, the call's id and the error message.

    LangChain's tools return a message, which holds all three. If `value` is not such a message, it is the result.
    """
    value = parse_result(value)
    if not isinstance(value, dict) or _role_of(value) != "tool" or "tool_call_id" not in _fields(value):
        return value, None, None
    raw = _fields(value)
    content = _join_texts(raw.get("content"))
    said = content if isinstance(content, str) else json.dumps(content)
    return parse_result(content), raw["tool_call_id"], (said or "error") if _is_error(raw) else None

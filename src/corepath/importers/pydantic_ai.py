"""Messages of pydantic-ai as `ModelMessagesTypeAdapter` writes them: a list, alone or under `messages`.

An error is a `retry-prompt` for a tool, a `tool-return` whose `outcome` is failed, retried or denied, and one that says
that the tool was not executed. A call that was interrupted has no answer.

Calls of an output tool are no calls: what they hold is the agent's answer. It is a tool that was answered with "Final
result processed."; where a tool never returned anything, one whose name is or begins with `final_result`. Prompts,
thinking and settings are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.messages import Conversation, metadata_of, objects, result_value
from corepath.notation.call import UNANSWERED
from corepath.values import arguments_of

CALL: Final = "tool-call"
RETURN: Final = "tool-return"
RETRY: Final = "retry-prompt"
ERRORS: Final = ("failed", "retried", "denied")
NOT_EXECUTED: Final = "Tool not executed"
OUTPUT_TOOL: Final = "final_result"
OUTPUT_DONE: Final = "Final result processed."
OUTPUT_NOT_USED: Final = ("Output tool not used", "Result tool not used")

_IDENTIFY: Final = ("run_id", "conversation_id", "provider_name")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    messages = _messages(value)
    if not messages:
        return "no list of messages, nor an object that has one under 'messages'"
    if not any(_is_ours(one) for one in messages):
        return "no message of it has the 'kind' request or response, and 'parts' with a 'part_kind'"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record."""
    messages = _messages(value)
    if not messages:
        raise RecordError(str(fits(value)))
    read = [(message, list(objects(message.get("parts"), "parts"))) for message in objects(messages, "messages")]
    outputs = _Outputs([part for _, parts in read for part in parts])
    made = Conversation()
    for message, parts in read:
        if message.get("kind") == "response":
            made.next_turn()
            _read_response(made, parts, outputs)
        elif message.get("kind") == "request":
            for part in parts:
                _read_answer(made, part, outputs)
        else:
            raise RecordError(f"the 'kind' of a message is request or response, not {str(message.get('kind'))[:60]!r}")
    yield made.episode(agent=_first(messages, "model_name"), metadata=_metadata(value, messages))


class _Outputs:
    """Which tools take the agent's output rather than do something."""

    def __init__(self, parts: list[Mapping[str, Any]]) -> None:
        returns = [part for part in parts if _kind(part) == RETURN and isinstance(part.get("content"), str)]
        self._tools = {str(part.get("tool_name")) for part in returns if _starts(part, OUTPUT_DONE, *OUTPUT_NOT_USED)}
        self._returned = {str(part.get("tool_name")) for part in parts if _kind(part) == RETURN}
        self._unused = {str(part.get("tool_call_id")) for part in returns if _starts(part, *OUTPUT_NOT_USED)}

    def takes(self, part: Mapping[str, Any]) -> bool:
        tool = str(part.get("tool_name"))
        named = tool == OUTPUT_TOOL or tool.startswith(f"{OUTPUT_TOOL}_")
        return tool in self._tools or (named and tool not in self._returned)

    def used(self, part: Mapping[str, Any]) -> bool:
        return str(part.get("tool_call_id")) not in self._unused


def _read_response(made: Conversation, parts: list[Mapping[str, Any]], outputs: _Outputs) -> None:
    """What the agent said and called, in its order; its output last, whatever it called beside."""
    said: list[Any] = []
    for is_text, group in groupby(parts, key=lambda part: _kind(part) in ("text", "speech")):
        if is_text:
            made.said("".join(str(part.get("content") or part.get("transcript") or "") for part in group))
            continue
        for part in group:
            if not _kind(part).endswith(CALL):
                _read_answer(made, part, outputs)
            elif not outputs.takes(part):
                native = {} if _kind(part) == CALL else {"type": _kind(part)}
                made.call(part.get("tool_name"), part.get("args"), part.get("tool_call_id"), **native)
            elif outputs.used(part):
                said.append(arguments_of(part.get("args")))
    for output in said:
        made.said(output)


def _read_answer(made: Conversation, part: Mapping[str, Any], outputs: _Outputs) -> None:
    kind, content = _kind(part), part.get("content")
    retry = kind == RETRY and part.get("tool_name") is not None
    if not (retry or kind.endswith(RETURN)) or outputs.takes(part):
        return
    if not part.get("tool_call_id"):
        raise RecordError(f"a part of the kind {kind[:60]!r} needs the 'tool_call_id' of the call that it answers")
    outcome = part.get("outcome")
    extra = {} if outcome in (None, "success") else {"outcome": outcome}
    if outcome == "interrupted":
        made.result(part["tool_call_id"], UNANSWERED, **extra)
    elif retry or outcome in ERRORS or _starts(part, NOT_EXECUTED):
        made.result(part["tool_call_id"], content, error=True, **extra)
    else:
        made.result(part["tool_call_id"], result_value(content), **extra)


def _kind(part: Mapping[str, Any]) -> str:
    return str(part.get("part_kind"))


def _starts(part: Mapping[str, Any], *texts: str) -> bool:
    content = part.get("content")
    return isinstance(content, str) and content.startswith(texts)


def _messages(value: Any) -> list[Any] | None:
    if isinstance(value, Mapping):
        value = value.get("messages")
    return value if isinstance(value, list) else None


def _is_ours(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("kind") not in ("request", "response"):
        return False
    parts = message.get("parts")
    return isinstance(parts, list) and any(isinstance(part, Mapping) and "part_kind" in part for part in parts)


def _first(messages: list[Any], name: str) -> Any:
    return next((one[name] for one in messages if one.get(name) is not None), None)


def _metadata(value: Any, messages: list[Any]) -> dict[str, Any] | None:
    """What identifies the run: fields and metadata of its messages, and what stands beside them."""
    found = {name: _first(messages, name) for name in _IDENTIFY}
    kept = {name: value for name, value in found.items() if value is not None}
    for message in messages:
        if isinstance(message.get("metadata"), Mapping):
            kept |= message["metadata"]
    return {**kept, **(metadata_of(value, "messages") or {})} or None

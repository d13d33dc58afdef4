"""A model in a session: it is told the rules and the prompt, calls tools, reads the results, and answers in the end.

What it sent is read from the service's own response, not from what a client library made of it: arguments that are no
JSON, values of a wrong type and calls to nothing count as what they were.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.tool import ToolCall, ToolCallError, ToolInfo, ToolParams

from corepath.action import Call
from corepath.aggregate import FAILED_OUTSIDE
from corepath.episode import ANSWERED, STEP_LIMIT, TURN_LIMIT
from corepath.errors import StepLimitError
from corepath.session import Session

warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)  # what a service sent is kept as it is

LONGEST_RESULT: Final = 100_000
"""Signs of a result that a model is shown; all of it is recorded."""


@dataclass
class Ending:
    """How a conversation ended, and what it cost."""

    ended: str = ANSWERED
    answer: str | None = None
    failure: dict[str, Any] | None = None
    usage: dict[str, float] = field(default_factory=dict)
    turns: int = 0
    messages: list[ChatMessage] = field(default_factory=list, repr=False)
    error: BaseException | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What is recorded of it besides how it ended."""
        failed = {} if self.failure is None else {"failure": self.failure}
        return {**failed, "turns": self.turns, "usage": self.usage}


async def converse(
    session: Session, model: Model, config: Callable[[int], GenerateConfig], most_turns: int | None = None
) -> Ending:
    """Let the model act until it answers, has no calls or turns left, or its service fails.

    `config` gives the options of a turn by its number, from 1.
    """
    tools = [
        ToolInfo(
            name=tool["name"],
            description=tool["description"],
            parameters=ToolParams.model_validate(tool["parameters"]),
        )
        for tool in session.tools
    ]
    ending = Ending(messages=[ChatMessageSystem(content=session.system), ChatMessageUser(content=session.prompt)])
    messages = ending.messages
    limit = most_turns or session.task.step_limit + 1
    while ending.turns < limit:
        ending.turns += 1
        try:
            output, response = await _generated(model, messages, tools, config(ending.turns))
            message = output.message
        except Exception as error:  # noqa: BLE001  # whatever a service or its client does wrong is not the agent's
            ending.ended, ending.failure, ending.error = FAILED_OUTSIDE, failure_of(error), error
            return ending
        _add_usage(ending.usage, output)
        if output.stop_reason == "content_filter":
            ending.ended, ending.failure = FAILED_OUTSIDE, {"kind": REFUSED, "message": _short(message.text)}
            return ending
        sent = sent_calls(message, response)
        messages.append(_reply(message, sent) if sent else message)
        if not sent:
            ending.answer = message.text
            return ending
        if message.text:
            session.say(message.text)
        try:
            messages += [_answered(session, call, ending.turns) for call in sent]
        except StepLimitError:
            ending.ended = STEP_LIMIT
            return ending
    ending.ended = TURN_LIMIT
    return ending


# What the model sent


@dataclass(frozen=True)
class Sent:
    """A call as the service's response has it: the arguments as text, or as the object that the service reads."""

    id: str
    name: str
    arguments: Any


def sent_calls(message: ChatMessageAssistant, response: Any) -> list[Sent]:
    """The calls of a turn, as they were sent."""
    raw = list(_in_response(response))
    read = message.tool_calls or []
    if raw and (not read or len(raw) == len(read)):
        ids = [call.id for call in read] if read else [one.id for one in raw]
        return [Sent(id_ or f"call_{place}", one.name, one.arguments) for place, (id_, one) in
                enumerate(zip(ids, raw, strict=True))]  # fmt: skip
    return [
        Sent(call.id, call.function, call.arguments if call.parse_error is None else call.parse_error) for call in read
    ]


def _in_response(value: Any) -> Iterator[Sent]:
    """Calls as the services write them, in their order."""
    if isinstance(value, list):
        for item in value:
            yield from _in_response(item)
    if not isinstance(value, Mapping):
        return
    id_ = str(value.get("call_id") or value.get("id") or "")
    inner = value.get("function") or value.get("function_call") or value.get("functionCall")
    if isinstance(inner, Mapping) and ("arguments" in inner or "args" in inner):
        yield Sent(id_, str(inner.get("name") or ""), inner.get("arguments", inner.get("args")))
    elif value.get("type") == "function_call" and "arguments" in value:
        yield Sent(id_, str(value.get("name") or ""), value["arguments"])
    elif value.get("type") == "tool_use" and "input" in value:
        yield Sent(id_, str(value.get("name") or ""), value["input"])
    else:
        for item in value.values():
            yield from _in_response(item)


def _reply(message: ChatMessageAssistant, sent: list[Sent]) -> ChatMessageAssistant:
    """The model's message as it is sent back: as it came, where it can be sent at all and its calls are all in it."""
    names = [call.function for call in message.tool_calls or []]
    if names == [call.name for call in sent] and _sendable(message.text, *names):
        return message
    calls = [
        ToolCall(call.id, _clean(call.name), call.arguments if isinstance(call.arguments, dict) else {})
        for call in sent
    ]
    return ChatMessageAssistant(content=_clean(message.text), tool_calls=calls)


def _answered(session: Session, sent: Sent, turn: int) -> ChatMessageTool:
    """Execute a call, and say what came of it."""
    arguments = sent.arguments if isinstance(sent.arguments, (str, Mapping)) else json.dumps(sent.arguments)
    call = session.call(sent.name, arguments if sent.arguments is not None else None, id=sent.id, turn=turn)
    text = _clean(shown(call))
    error = ToolCallError("unknown", text) if call.failed else None
    return ChatMessageTool(content=text, tool_call_id=sent.id, function=_clean(sent.name), error=error)


def shown(call: Call) -> str:
    """What a model is told of an executed call: its result as text or JSON, or its error."""
    if call.failed:
        text = f"Error: {call.error}"
    else:
        text = call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}… ({len(text)} signs)"


def _sendable(*texts: str) -> bool:
    return all(text.isascii() or text == _clean(text) for text in texts)


def _clean(text: str) -> str:
    """The text without halves of surrogate pairs, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


# How it is asked, and what fails

_RESPONSES: ContextVar[list[Any] | None] = ContextVar("corepath_responses", default=None)


def listened_to(model: Model) -> Model:
    """The model, with the responses of its service kept for `converse`."""
    api: Any = model.api
    if getattr(api, "corepath_listens", False):
        return model
    plain = api.generate

    async def generate(*args: Any, **kwargs: Any) -> Any:
        found = await plain(*args, **kwargs)
        kept = _RESPONSES.get()
        if kept is not None and isinstance(found, tuple) and found[1] is not None:
            kept.append(found[1].response)
        return found

    api.generate, api.corepath_listens = generate, True
    return model


async def _generated(
    model: Model, messages: list[ChatMessage], tools: list[ToolInfo], config: GenerateConfig
) -> tuple[ModelOutput, Any]:
    """The model's output, and its service's response."""
    kept: list[Any] = []
    token = _RESPONSES.set(kept)
    try:
        output = await model.generate(messages, tools=tools, config=config)
    finally:
        _RESPONSES.reset(token)
    return output, kept[-1] if kept else None


REFUSED: Final = "refused by the service"
NOT_ALLOWED: Final = "not allowed"
_KINDS: Final = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_ALLOWED, 408: "timeout", 429: "rate limit"}


def failure_of(error: BaseException) -> dict[str, Any]:
    """What failed outside the agent, and how it is called."""
    cause: BaseException = error
    while (type(cause).__name__ == "RetryError" or not str(cause)) and cause.__cause__ is not None:
        cause = cause.__cause__
    name = type(cause).__name__
    status = getattr(cause, "status_code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        kind = _KINDS.get(status, "server error" if status >= 500 else REFUSED)
    elif "Timeout" in name:
        kind = "timeout"
    elif "Connection" in name or isinstance(cause, OSError):
        kind = "connection"
    else:
        kind = "unreadable answer"
    return {"kind": kind, "message": _short(f"{name}: {cause}")}


def _short(text: str, most: int = 500) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _add_usage(usage: dict[str, float], output: ModelOutput) -> None:
    """Add up tokens and, where the provider's prices are known, cost."""
    usage["requests"] = usage.get("requests", 0) + 1
    if output.usage is not None:
        for name in ("input_tokens", "output_tokens", "input_tokens_cache_read", "reasoning_tokens", "total_cost"):
            value = getattr(output.usage, name, None)
            if value is not None:
                usage[name] = usage.get(name, 0) + value
    if output.time is not None:
        usage["seconds"] = round(usage.get("seconds", 0) + output.time, 6)

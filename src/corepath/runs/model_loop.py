"""A model in a session: it is told the rules and the prompt, calls tools, reads the results, and answers in the end.

What it sent is read from the service's own response, not from what a client library made of it: arguments that are no
JSON, values of a wrong type and calls to nothing count as what they were.
"""

from __future__ import annotations

import json
import re
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

from corepath.episode import ANSWERED, CONTEXT_LIMIT, FAILED_OUTSIDE, STEP_LIMIT, TURN_LIMIT
from corepath.errors import StepLimitError
from corepath.notation.call import Call
from corepath.play.session import Session

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
    limit = most_turns or session.task.step_limit + 1
    while ending.turns < limit:
        ending.turns += 1
        turn = await _turn(ending, model, tools, config(ending.turns))
        if turn is None:
            return ending
        message, sent = turn
        ending.messages.append(_reply(message, sent) if sent else message)
        if not sent:
            ending.answer = message.text
            return ending
        if message.text:
            session.say(message.text)
        try:
            ending.messages += [_answered(session, call, ending.turns) for call in sent]
        except StepLimitError:
            ending.ended = STEP_LIMIT
            return ending
    ending.ended = TURN_LIMIT
    return ending


async def _turn(
    ending: Ending, model: Model, tools: list[ToolInfo], config: GenerateConfig
) -> tuple[ChatMessageAssistant, list[Sent]] | None:
    """What the model says next, and the calls in it; None where the conversation ends without a word of its own."""
    try:
        output, response = await _generated(model, ending.messages, tools, config)
        message = output.message
        sent = sent_calls(message, response)
    except Exception as error:  # noqa: BLE001  # whatever a service or its client does wrong is not the agent's
        unread = _unread_call(error)
        if unread is not None:
            return ChatMessageAssistant(content=""), [unread]
        ending.ended, ending.failure, ending.error = FAILED_OUTSIDE, failure_of(error), error
        return None
    _add_usage(ending.usage, output)
    if output.stop_reason == "content_filter":
        ending.ended, ending.failure = FAILED_OUTSIDE, {"kind": REFUSED, "message": _short(message.text)}
        return None
    if output.stop_reason == "model_length" and not sent:
        ending.ended = CONTEXT_LIMIT
        return None
    return message, sent


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


_WHERE: Final = ("choices", "message", "tool_calls", "output", "content", "candidates", "parts")
"""Where in a response its calls stand. Elsewhere may stand what looks like one: the tools themselves, say."""


def _in_response(value: Any, within: str = "") -> Iterator[Sent]:
    """Calls as the services write them, in their order."""
    if isinstance(value, list):
        for item in value:
            yield from _in_response(item, within)
    if not isinstance(value, Mapping):
        return
    call = _call_in(value, within)
    if call is not None:
        name, arguments = call
        id_ = value.get("call_id") or value.get("id") or ""
        yield Sent(str(id_), str(name or ""), arguments)
        return
    for key in _WHERE:
        yield from _in_response(value.get(key), key)


def _call_in(value: Mapping[str, Any], within: str) -> tuple[Any, Any] | None:
    """The name and the arguments where an object of a response is a call."""
    kind = value.get("type")
    if within == "output" and kind == "function_call":
        return value.get("name"), value.get("arguments")
    if within == "content" and kind == "tool_use":
        return value.get("name"), value.get("input")
    keys = {"tool_calls": ("function",), "message": ("function_call",), "content": ("toolUse",),
            "parts": ("functionCall", "function_call")}  # fmt: skip
    for key in keys.get(within, ()):
        inner = value.get(key)
        if isinstance(inner, Mapping) and "name" in inner:
            return inner["name"], next((inner[one] for one in ("arguments", "args", "input") if one in inner), None)
    return None


def _unread_call(error: BaseException) -> Sent | None:
    """The call at whose arguments Inspect's own reading of them broke: that it is no JSON is the agent's doing."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "parse_tool_call":
            local = trace.tb_frame.f_locals
            return Sent(str(local.get("id") or "call_0"), str(local.get("function") or ""), local.get("arguments"))
        trace = trace.tb_next
    return None


def _reply(message: ChatMessageAssistant, sent: list[Sent]) -> ChatMessageAssistant:
    """The model's message as it is sent back: as it came, where a service takes it so and its calls are all in it."""
    names = [call.function for call in message.tool_calls or []]
    update: dict[str, Any] = {}
    if names != [_sendable(call.name) for call in sent]:
        update["tool_calls"] = [
            ToolCall(call.id, _sendable(call.name), call.arguments if isinstance(call.arguments, dict) else {})
            for call in sent
        ]
    if message.text != _clean(message.text):
        update["content"] = _clean(message.text)
    return message.model_copy(update=update) if update else message


def _answered(session: Session, sent: Sent, turn: int) -> ChatMessageTool:
    """Execute a call, and say what came of it."""
    arguments = sent.arguments if isinstance(sent.arguments, (str, Mapping)) else json.dumps(sent.arguments)
    call = session.call(sent.name, arguments if sent.arguments is not None else None, id=sent.id, turn=turn)
    text = _clean(shown(call))
    error = ToolCallError("unknown", text) if call.failed else None
    return ChatMessageTool(content=text, tool_call_id=sent.id, function=_sendable(sent.name), error=error)


def shown(call: Call) -> str:
    """What a model is told of an executed call: its result as text or JSON, or its error."""
    if call.failed:
        text = f"Error: {call.error}"
    else:
        text = call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}… ({len(text)} signs)"


def _sendable(name: str) -> str:
    """A tool's name as services take it back; what the model called is recorded as it was."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "_"


def _clean(text: str) -> str:
    """The text without halves of surrogate pairs, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


# How it is asked, and what fails

_RESPONSES: ContextVar[list[Any] | None] = ContextVar("corepath_responses", default=None)


def listened_to(model: Model) -> Model:
    """The model, with the responses of its service kept for `converse`, and whether there ever was one."""
    api: Any = model.api
    if hasattr(api, "corepath_reached"):
        return model
    plain = api.generate

    async def generate(*args: Any, **kwargs: Any) -> Any:
        found = await plain(*args, **kwargs)
        api.corepath_reached = True
        kept = _RESPONSES.get()
        if kept is not None and isinstance(found, tuple) and found[1] is not None:
            kept.append(found[1].response)
        return found

    api.generate, api.corepath_reached = generate, False
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
CONNECTION: Final = "connection"
TIMEOUT: Final = "timeout"
SERVER_ERROR: Final = "server error"
_KINDS: Final = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_ALLOWED, 408: TIMEOUT, 429: "rate limit"}


def failure_of(error: BaseException) -> dict[str, Any]:
    """What failed outside the agent, and how it is called."""
    cause: BaseException = error
    wrapped = ("RetryError", "ModelGenerateError")
    while (type(cause).__name__ in wrapped or not str(cause)) and cause.__cause__ is not None:
        cause = cause.__cause__
    name = type(cause).__name__
    status = getattr(cause, "status_code", None) or getattr(cause, "code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        kind = _KINDS.get(status, SERVER_ERROR if status >= 500 else REFUSED)
    elif "Timeout" in name:
        kind = TIMEOUT
    elif "Connection" in name or isinstance(cause, OSError):
        kind = CONNECTION
    else:
        kind = "unreadable answer"
    return {"kind": kind, "message": _short(f"{name}: {cause}{_beneath(cause) if kind == CONNECTION else ''}")}


def _beneath(error: BaseException) -> str:
    """What the system said, which a client library's `Connection error.` leaves out."""
    last = error
    while (under := last.__cause__ or last.__context__) is not None:
        last = under
    return f" ({last})" if isinstance(last, OSError) and last is not error else ""


def _short(text: str, most: int = 500) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


_COUNTED: Final = (
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read", "input_tokens_cache_write",
    "reasoning_tokens", "total_cost",
)  # fmt: skip


def _add_usage(usage: dict[str, float], output: ModelOutput) -> None:
    """Add up tokens and, where the provider's prices are known, cost."""
    usage["requests"] = usage.get("requests", 0) + 1
    if output.usage is not None:
        for name in _COUNTED:
            value = getattr(output.usage, name, None)
            if value is not None:
                usage[name] = usage.get(name, 0) + value
    if output.time is not None:
        usage["seconds"] = round(usage.get("seconds", 0) + output.time, 6)

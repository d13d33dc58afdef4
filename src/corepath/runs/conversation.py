"""Let a model play a task: send it the rules and the prompt, execute its calls, and read its answer."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
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
from corepath.play.session import Session, describe_result
from corepath.runs.failure import REFUSED, describe_failure, shorten
from corepath.runs.sent_calls import SentCall, sent_calls, unparsed_call

warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)  # responses are kept as they were sent


@dataclass
class Ending:
    """How a conversation ended, what it cost, and which messages were exchanged."""

    ended: str = ANSWERED
    answer: str | None = None
    failure: dict[str, Any] | None = None
    usage: dict[str, float] = field(default_factory=dict)
    turns: int = 0
    messages: list[ChatMessage] = field(default_factory=list, repr=False)
    error: BaseException | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that go into the episode's record: turns, usage, and the failure if there was one."""
        failure = {} if self.failure is None else {"failure": self.failure}
        return {**failure, "turns": self.turns, "usage": self.usage}


async def converse(
    session: Session, model: Model, config: Callable[[int], GenerateConfig], most_turns: int | None = None
) -> Ending:
    """Let the model act until it answers, reaches a limit, or its service fails.

    `config` takes the turn's number, counted from 1, and returns the request options. `most_turns` defaults to one more
    than the task's step limit.
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
            ending.messages += [_execute(session, call, ending.turns) for call in sent]
        except StepLimitError:
            ending.ended = STEP_LIMIT
            return ending
    ending.ended = TURN_LIMIT
    return ending


async def _turn(
    ending: Ending, model: Model, tools: list[ToolInfo], config: GenerateConfig
) -> tuple[ChatMessageAssistant, list[SentCall]] | None:
    """Return the model's next message and the calls in it, or None if the conversation ends here.

    If the conversation ends, the reason is stored in `ending`.
    """
    try:
        output, response = await _generate(model, ending.messages, tools, config)
        message = output.message
        sent = sent_calls(message, response)
    except Exception as error:  # noqa: BLE001  # a service's or client's error is not the agent's fault
        unparsed = unparsed_call(error)
        if unparsed is not None:
            return ChatMessageAssistant(content=""), [unparsed]
        ending.ended, ending.failure, ending.error = FAILED_OUTSIDE, describe_failure(error), error
        return None
    _add_usage(ending.usage, output)
    if output.stop_reason == "content_filter":
        ending.ended, ending.failure = FAILED_OUTSIDE, {"kind": REFUSED, "message": shorten(message.text)}
        return None
    if output.stop_reason == "model_length" and not sent:
        ending.ended = CONTEXT_LIMIT
        return None
    return message, sent


def _reply(message: ChatMessageAssistant, sent: list[SentCall]) -> ChatMessageAssistant:
    """Prepare the model's message to be sent back as part of the conversation.

    Calls that the client library dropped are restored, and characters that services reject are replaced.
    """
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


def _execute(session: Session, sent: SentCall, turn: int) -> ChatMessageTool:
    """Execute a call and return its result as a message."""
    arguments = sent.arguments if isinstance(sent.arguments, (str, Mapping)) else json.dumps(sent.arguments)
    call = session.call(sent.name, arguments if sent.arguments is not None else None, id=sent.id, turn=turn)
    text = _clean(describe_result(call))
    error = ToolCallError("unknown", text) if call.failed else None
    return ChatMessageTool(content=text, tool_call_id=sent.id, function=_sendable(sent.name), error=error)


def _sendable(name: str) -> str:
    """Replace characters that services do not accept in a tool's name, and cut the name to 64 characters."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "_"


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


# Requests

_RESPONSES: ContextVar[list[Any] | None] = ContextVar("corepath_responses", default=None)


def keep_responses(model: Model) -> Model:
    """Patch a model to keep raw responses for `converse`, and to note whether its service ever responded."""
    api: Any = model.api
    if hasattr(api, "corepath_reached"):
        return model
    original = api.generate

    async def generate(*args: Any, **kwargs: Any) -> Any:
        result = await original(*args, **kwargs)
        api.corepath_reached = True
        kept = _RESPONSES.get()
        if kept is not None and isinstance(result, tuple) and result[1] is not None:
            kept.append(result[1].response)
        return result

    api.generate, api.corepath_reached = generate, False
    return model


async def _generate(
    model: Model, messages: list[ChatMessage], tools: list[ToolInfo], config: GenerateConfig
) -> tuple[ModelOutput, Any]:
    """Return the model's output and its service's raw response.

    The response is None if Inspect does not provide it.
    """
    kept: list[Any] = []
    token = _RESPONSES.set(kept)
    try:
        output = await model.generate(messages, tools=tools, config=config)
    finally:
        _RESPONSES.reset(token)
    return output, kept[-1] if kept else None


_COUNTED: Final = (
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read", "input_tokens_cache_write",
    "reasoning_tokens", "total_cost",
)  # fmt: skip


def _add_usage(usage: dict[str, float], output: ModelOutput) -> None:
    """Add a request's tokens, time and, if known, cost to `usage`."""
    usage["requests"] = usage.get("requests", 0) + 1
    if output.usage is not None:
        for name in _COUNTED:
            value = getattr(output.usage, name, None)
            if value is not None:
                usage[name] = usage.get(name, 0) + value
    if output.time is not None:
        usage["seconds"] = round(usage.get("seconds", 0) + output.time, 6)

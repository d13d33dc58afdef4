"""Read AutoGen: results and streams of AgentChat, saved states, lines of its event logger, and chats of version 0.2.

A conversation is a `TaskResult`, a list of messages, or a file with one message or one line of the log per line. If a
stream ends with its result, it is read once. In a team, the calls of all agents belong to the episode, and their
`agent` says whose they are. The state of a team gives one episode if its messages have the calls, or else one for each
agent. A message that only sums up the results of calls is not the agent's text. A thought next to calls is the text
that came with them; a thought next to text is reasoning and left out.

In version 0.2, the roles depend on whose history it is. There, everyone who speaks is an agent, except the one who
began and those who only execute calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.autogen_log import LogReader, is_log_line
from corepath.importers.autogen_messages import CALLS, MessageReader, is_message, missing_from
from corepath.importers.content import message_text, metadata_of, objects, parse_result
from corepath.importers.parts import parts_format
from corepath.importers.transcript import Transcript

_ROLES: Final = ("user", "assistant")
_COSTS: Final = ("usage_including_cached_inference", "usage_excluding_cached_inference")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if _is_part(value) or _chat_history(value) is not None or list(_conversations(value)):
        return None
    return "no messages, state or log of AutoGen, nor a chat history with 'tool_responses'"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episodes in a record. Raises `RecordError` if the record is malformed."""
    history = _chat_history(value)
    if history is not None:
        yield _read_chat_history(value, history)
        return
    found = [("", [value])] if _is_part(value) else list(_conversations(value))
    if not found:
        raise RecordError(str(mismatch(value)))
    for name, messages in found:
        yield _read_messages(value, messages, name)


def _is_part(value: Any) -> bool:
    return is_message(value) or is_log_line(value)


def _conversations(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of the agent, if it is known, and the messages of each conversation in a record."""
    if isinstance(value, dict) and isinstance(value.get("agent_states"), dict):
        yield from _team_conversations(value["agent_states"])
        return
    if isinstance(value, dict) and isinstance(value.get("agent_state"), dict):
        value = value["agent_state"]
    if isinstance(value, dict):
        context = value["llm_context"] if isinstance(value.get("llm_context"), dict) else value
        value = context.get("messages", context.get("llm_messages", context.get("message_thread")))
    if isinstance(value, list) and any(_is_part(one) for one in value):
        yield "", value


def _team_conversations(states: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the messages of a team if they have its calls, or else those of each agent."""
    threads: list[list[Any]] = []
    agents: list[tuple[str, list[Any]]] = []
    for name, state in states.items():
        is_thread = isinstance(state, dict) and "message_thread" in state
        for _, messages in _conversations(state):
            threads += [messages] if is_thread else []
            agents += [] if is_thread else [(str(name), messages)]
    whole = [one for one in threads if not agents or any(is_message(part) and part["type"] in CALLS for part in one)]
    yield from [("", whole[0])] if whole else agents


def _read_messages(value: Any, messages: list[Any], name: str) -> Episode:
    transcript = Transcript()
    reader, log = MessageReader(transcript), LogReader(transcript)
    for message in objects(messages, "messages"):
        if is_log_line(message):
            log.read(message)
        else:
            reader.read(message)
    agent = name.partition("/")[0] or "+".join(reader.agents) or None
    is_record = isinstance(value, dict) and not _is_part(value)
    metadata = metadata_of(value, *_STATE) if is_record else None
    return transcript.to_episode(agent, metadata=metadata)


_STATE: Final = ("messages", "llm_context", "llm_messages", "message_thread", "agent_states", "agent_state")


def _chat_history(value: Any) -> list[Any] | None:
    """Return the messages in a chat of version 0.2, or None if it is not such a chat."""
    is_result = isinstance(value, dict) and "chat_history" in value
    messages = value["chat_history"] if is_result else value
    if not isinstance(messages, list) or not messages:
        return None
    if not all(isinstance(one, dict) and "role" in one and "content" in one for one in messages):
        return None
    return messages if is_result or any("tool_responses" in one for one in messages) else None


def _read_chat_history(value: Any, history: list[Any]) -> Episode:
    transcript = Transcript()
    messages = list(objects(history, "messages"))
    others, agents = _bystanders(messages), dict[str, None]()
    for message in messages:
        name = _speaker(message)
        if "tool_responses" in message or message.get("role") in ("tool", "function"):
            _read_responses(transcript, message)
        elif message.get("role") == "system":
            transcript.add_message("system", message_text(message.get("content")))
        elif name in others and not _has_calls(message):
            transcript.add_message("user", message_text(message.get("content")), name=name)
        else:
            agents.setdefault(name)
            _read_response(transcript, message, name)
    record = value if isinstance(value, dict) else {}
    _read_cost(transcript, record.get("cost"))
    agent = "+".join(one for one in agents if one not in _ROLES) or None
    return transcript.to_episode(agent, metadata=metadata_of(record, "chat_history"))


def _bystanders(messages: list[Mapping[str, Any]]) -> set[str]:
    """Return the names of those who are no agents: who began the chat, and who executes the calls of others."""
    callers = {_speaker(one) for one in messages if _has_calls(one)} - {*_ROLES}
    executors = {_speaker(one) for one in messages if "tool_responses" in one}
    return {_speaker(messages[0]), *executors} - callers


def _speaker(message: Mapping[str, Any]) -> str:
    """Return who sent a message. Early versions have no names, so there it is the role."""
    return str(message.get("name") or message.get("role"))


def _has_calls(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def _read_response(transcript: Transcript, message: Mapping[str, Any], name: str) -> None:
    transcript.start_turn()
    transcript.add_text(message_text(message.get("content")), agent=name)
    for call in objects(message.get("tool_calls"), "tool calls"):
        function = call["function"] if isinstance(call.get("function"), dict) else {}
        transcript.add_call(function.get("name"), function.get("arguments"), call.get("id"), agent=name)
    old = message.get("function_call")
    if isinstance(old, dict):
        transcript.add_call(old.get("name"), old.get("arguments"), agent=name)


def _read_responses(transcript: Transcript, message: Mapping[str, Any]) -> None:
    """Add the results in a message. Its text only repeats them."""
    if message.get("role") == "function":
        transcript.add_result(None, parse_result(message.get("content")), tool=message.get("name"))
        return
    for response in objects(message.get("tool_responses") or [message], "tool responses"):
        transcript.add_result(response.get("tool_call_id"), parse_result(response.get("content")))


def _read_cost(transcript: Transcript, cost: Any) -> None:
    """Add the tokens and the cost of each model."""
    kinds = [cost.get(name) for name in _COSTS] if isinstance(cost, dict) else []
    used = next((one for one in kinds if isinstance(one, dict)), {})
    for model, one in used.items():
        if isinstance(one, dict):
            transcript.add_usage(one, model=model, cost=one.get("cost"))
    transcript.usage.pop("requests", None)


def _repeats(parts: list[Any], value: Any) -> bool:
    """Return True if a result has all messages of the stream before it."""
    messages = value.get("messages") if isinstance(value, dict) else None
    return not list(missing_from(parts, messages))


FORMAT: Final = parts_format(
    "autogen",
    "a result with `is_error`; the event logger and version 0.2 have no field for it",
    mismatch,
    read_record,
    _is_part,
    _repeats,
)

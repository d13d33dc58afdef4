"""Read the messages of AutoGen 0.4 and later: those of AgentChat, and those in the context of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.importers.content import message_text, objects, parse_result
from corepath.importers.transcript import Transcript

_REQUEST: Final = "ToolCallRequestEvent"
CALLS: Final = (_REQUEST, "ToolCallExecutionEvent", "ToolCallSummaryMessage", "HandoffMessage")
_SKIPPED: Final = (
    "UserInputRequestedEvent", "MemoryQueryEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent",
    "SelectorEvent",
)  # fmt: skip
CHUNK: Final = "ModelClientStreamingChunkEvent"
CHAT: Final = (
    *CALLS, *_SKIPPED, "TextMessage", "StopMessage", "MultiModalMessage", "ThoughtEvent", "CodeGenerationEvent",
    "CodeExecutionEvent",
)  # fmt: skip
CONTEXT: Final = ("UserMessage", "SystemMessage", "AssistantMessage", "FunctionExecutionResultMessage")


def is_message(value: Any) -> bool:
    """Return True if `value` is a message of AgentChat or of a model's context."""
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        return False
    if kind in ("FunctionExecutionResultMessage", "CodeExecutionEvent", "SystemMessage"):
        return len({"content", "result"} & value.keys()) == 1
    known = kind in CHAT or kind in CONTEXT or kind.startswith("StructuredMessage")
    return known and "content" in value and "source" in value


@dataclass
class MessageReader:
    """Adds messages to a transcript, one by one. Messages that were read before are skipped."""

    transcript: Transcript
    agents: dict[str, None] = field(default_factory=dict)
    """The names of the agents that took part, in order of their first message."""
    _seen: set[str] = field(default_factory=set)
    _thought: tuple[Any, Any] = (None, None)
    """The last thought, with its source."""
    _executed: dict[str, set[str]] = field(default_factory=dict)
    """The ids of the calls that each source executed since its last summary."""

    def read(self, message: Mapping[str, Any]) -> None:
        """Add a message. Raises `RecordError` if the message is malformed."""
        id_ = message.get("id")
        if isinstance(id_, str) and id_ in self._seen:
            return
        self._seen.add(str(id_))
        kind, source = str(message.get("type")), message.get("source")
        if kind in CONTEXT:
            self._read_context(message, kind, source)
        elif kind == "ThoughtEvent":
            self._thought = (source, message.get("content"))
        elif kind == _REQUEST:
            self._read_request(message, source)
        elif kind == "ToolCallExecutionEvent":
            results = list(objects(message.get("content"), "results"))
            self._executed.setdefault(str(source), set()).update(str(one.get("call_id")) for one in results)
            self._read_results(results, message.get("created_at"))
        elif kind == "CodeGenerationEvent":
            self._start(message, source)
            self._say(message, source)
            self.transcript.add_call(
                "code_executor",
                {"code_blocks": message.get("code_blocks")},
                time=message.get("created_at"),
                agent=source,
            )
        elif kind == "CodeExecutionEvent" and self.transcript.open_calls():
            place = self.transcript.open_calls()[-1]
            self.transcript.answer_call(place, message.get("result"), time=message.get("created_at"))
        elif kind not in _SKIPPED:
            self._read_text(message, kind, source)

    def _start(self, message: Mapping[str, Any], source: Any) -> None:
        self.transcript.start_turn()
        self.transcript.add_usage(message.get("models_usage"))
        if isinstance(source, str):
            self.agents.setdefault(source)

    def _say(self, message: Mapping[str, Any], source: Any) -> None:
        content = message_text(message.get("content"))
        self.transcript.add_text(content, time=message.get("created_at"), agent=source)

    def _read_request(self, message: Mapping[str, Any], source: Any) -> None:
        self._start(message, source)
        time = message.get("created_at")
        if self._thought[0] == source:
            self.transcript.add_text(self._thought[1], time=time, agent=source)
        self._thought = (None, None)
        self._add_calls(message.get("content"), source, time)

    def _add_calls(self, calls: Any, source: Any, time: Any = None) -> None:
        for call in objects(calls, "calls"):
            self.transcript.add_call(call.get("name"), call.get("arguments"), call.get("id"), time=time, agent=source)

    def _read_results(self, results: list[Mapping[str, Any]], time: Any = None) -> None:
        for result in results:
            error, content = result.get("is_error") is True, result.get("content")
            self.transcript.add_result(
                result.get("call_id"), content if error else parse_result(content), error=error, time=time
            )

    def _read_text(self, message: Mapping[str, Any], kind: str, source: Any) -> None:
        """Add a chat message. Those that only repeat the results of calls add what is not known yet."""
        time, executed = message.get("created_at"), self._executed.pop(str(source), set())
        if source == "user":
            self.transcript.add_message("user", message_text(message.get("content")), time=time)
        elif kind == "ToolCallSummaryMessage":
            calls = [one for one in objects(message.get("tool_calls"), "calls") if str(one.get("id")) not in executed]
            if calls:
                self._start(message, source)
                self._add_calls(calls, source, time)
                done = objects(message.get("results"), "results")
                self._read_results([one for one in done if str(one.get("call_id")) not in executed], time)
        elif kind != "HandoffMessage" or not executed:
            self._start(message, source)
            self._say(message, source)

    def _read_context(self, message: Mapping[str, Any], kind: str, source: Any) -> None:
        content = message.get("content")
        if kind == "SystemMessage":
            self.transcript.add_message("system", content)
        elif kind == "UserMessage":
            extra = {} if source == "user" else {"agent": source}
            self.transcript.add_message("user", message_text(content), **extra)
        elif kind == "FunctionExecutionResultMessage":
            self._read_results(list(objects(content, "results")))
        elif isinstance(content, list):
            self._start(message, source)
            self.transcript.add_text(message.get("thought"), agent=source)
            self._add_calls(content, source)
        else:
            self._start(message, source)
            self._say(message, source)


def missing_from(messages: list[Any], others: Any) -> Iterator[Any]:
    """Yield the messages that are not among the others, apart from pieces of streamed messages."""
    known = {json.dumps(one, sort_keys=True) for one in others} if isinstance(others, list) else set()
    for one in messages:
        if one.get("type") != CHUNK and json.dumps(one, sort_keys=True) not in known:
            yield one

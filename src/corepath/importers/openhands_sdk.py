"""Read the events of the OpenHands SDK, which have a `kind` such as `ActionEvent`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers.content import message_text, parse_result, text_of
from corepath.importers.transcript import Transcript

_ANSWERS: Final = ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
KINDS: Final = (
    "SystemPromptEvent", "MessageEvent", "ActionEvent", *_ANSWERS, "ACPToolCallEvent", "Condensation",
    "CondensationRequest", "CondensationSummaryEvent", "ConversationErrorEvent", "ConversationStateUpdateEvent",
    "PauseEvent",
)  # fmt: skip
"""The kinds of events by which a conversation is recognised. Other kinds are skipped."""


@dataclass
class SdkReader:
    """Adds events of the SDK to a transcript, one by one."""

    transcript: Transcript
    failure: dict[str, Any] | None = None
    """The error that ended the conversation, with its `kind` and `message`."""
    stats: Mapping[str, Any] = field(default_factory=dict)
    """The last known tokens and cost of the agent."""
    _response: Any = None
    _finished: set[str] = field(default_factory=set)
    _parallel: dict[str, int] = field(default_factory=dict)
    """The index of each call that an agent behind the Agent Client Protocol made, keyed by call id."""

    def read(self, event: Mapping[str, Any]) -> None:
        """Add an event. Raises `RecordError` if the event is malformed."""
        kind = event.get("kind")
        if kind == "SystemPromptEvent":
            parts = [event.get("system_prompt"), event.get("dynamic_context")]
            self.transcript.add_message("system", text_of(parts), time=event.get("timestamp"))
        elif kind == "MessageEvent":
            self._read_message(event)
        elif kind == "ActionEvent":
            self._read_action(event)
        elif kind in _ANSWERS:
            self._read_answer(event)
        elif kind == "ACPToolCallEvent":
            self._read_acp_call(event)
        elif kind == "ConversationErrorEvent":
            self.failure = {"kind": str(event.get("code")), "message": str(event.get("detail"))}
        elif kind == "ConversationStateUpdateEvent" and event.get("key") in ("stats", "full_state"):
            self._read_stats(event.get("value"))

    def _read_message(self, event: Mapping[str, Any]) -> None:
        message, more = object_of(event.get("llm_message")), event.get("extended_content")
        content = message.get("content")
        parts = [*content, *(more if isinstance(more, list) else [])] if isinstance(content, list) else content
        text, time = message_text(parts), event.get("timestamp")
        if event.get("source") == "agent" or message.get("role") == "assistant":
            self._start_response(event)
            self.transcript.add_text(text, time=time)
        else:
            self.transcript.add_message("system" if message.get("role") == "system" else "user", text, time=time)

    def _start_response(self, event: Mapping[str, Any]) -> None:
        """Begin a turn unless the event belongs to the same response as the one before."""
        response = event.get("llm_response_id")
        if response is None or response != self._response:
            self.transcript.start_turn()
        self._response = response

    def _read_action(self, event: Mapping[str, Any]) -> None:
        self._start_response(event)
        time, call = event.get("timestamp"), object_of(event.get("tool_call"))
        self.transcript.add_text(text_of(event.get("thought")), time=time)
        id_, tool = event.get("tool_call_id"), event.get("tool_name") or call.get("name")
        action = object_of(event.get("action"))
        arguments = call.get("arguments")
        if action.get("kind") == "FinishAction":
            self._finished.add(str(id_))
            self.transcript.add_text(action.get("message"), time=time)
            return
        if arguments is None:
            arguments = {name: value for name, value in action.items() if name != "kind"}
        self.transcript.add_call(tool, arguments, id_, time=time)

    def _read_answer(self, event: Mapping[str, Any]) -> None:
        id_, observation = event.get("tool_call_id"), object_of(event.get("observation"))
        if str(id_) in self._finished:
            return
        why = event.get("error", event.get("rejection_reason"))
        error = why is not None or observation.get("is_error") is True
        value = why if why is not None else observation_value(observation)
        code = observation.get("exit_code")
        extra = {} if code is None else {"exit_code": code}
        time = event.get("timestamp")
        if error and not self.transcript.waits_for(id_):
            self.transcript.add_message("system", value, time=time)
        else:
            self.transcript.add_result(id_, value if error else parse_result(value), error=error, time=time, **extra)

    def _read_acp_call(self, event: Mapping[str, Any]) -> None:
        """Add a call, or update it. Such a call is written again whenever its status changes."""
        id_, time = event.get("tool_call_id"), event.get("timestamp")
        if not isinstance(id_, str):
            raise RecordError("the 'tool_call_id' of an ACPToolCallEvent must be a string")
        if id_ not in self._parallel:
            self._start_response(event)
            self._parallel[id_] = len(self.transcript.calls)
            tool = event.get("tool_kind") or event.get("title")
            self.transcript.add_call(tool, event.get("raw_input"), id_, time=time, title=event.get("title"))
        failed = event.get("is_error") is True or event.get("status") == "failed"
        if failed or event.get("status") == "completed":
            output = event.get("raw_output")
            value = output if output is not None else event.get("content")
            self.transcript.answer_call(self._parallel[id_], value, error=failed, time=time)

    def _read_stats(self, value: Any) -> None:
        stats = object_of(object_of(value).get("stats")) or object_of(value)
        used = object_of(stats.get("usage_to_metrics"))
        self.stats = object_of(used.get("agent")) or next(map(object_of, used.values()), {}) or self.stats


def observation_value(observation: Mapping[str, Any]) -> Any:
    """Return what an observation tells the model. Early versions of the SDK wrote `output` instead of `content`."""
    content = observation.get("content", observation.get("output"))
    if content is None:
        return {name: value for name, value in observation.items() if name not in ("kind", "is_error")}
    return message_text(content) or ""


def object_of(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def is_sdk_event(value: Any) -> bool:
    """Return True if `value` is an event of the SDK."""
    return isinstance(value, dict) and value.get("kind") in KINDS and isinstance(value.get("source"), str)

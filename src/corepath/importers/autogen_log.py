"""Read the lines that AutoGen's event logger writes about calls of models and tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.importers.content import message_text, objects, parse_result, text_of
from corepath.importers.transcript import Transcript
from corepath.values import arguments_of

_LINES: Final = {
    "LLMCall": ("messages", "response"),
    "LLMStreamStart": ("messages", "agent_id"),
    "LLMStreamEnd": ("response", "prompt_tokens"),
    "ToolCall": ("tool_name", "arguments"),
    "Message": ("payload", "delivery_stage"),
}
"""The types of lines, with two fields by which each is recognised."""


def is_log_line(value: Any) -> bool:
    """Return True if `value` is a line of the event logger."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    fields = _LINES.get(value["type"])
    return fields is not None and all(name in value for name in fields)


@dataclass
class LogReader:
    """Adds lines of a log to a transcript, one by one.

    A response of a model has its calls, and a line about the tool has the result. The messages of a later request have
    the results of calls that failed. If only tools were logged, each line is a call.
    """

    transcript: Transcript
    _said: Counter[str] = field(default_factory=Counter)
    """How often each text occurred, to find what is new in a request that repeats the conversation."""

    def read(self, line: Mapping[str, Any]) -> None:
        """Add a line. Raises `RecordError` if the line is malformed."""
        if line["type"] in ("LLMCall", "LLMStreamStart"):
            self._read_request(line.get("messages"))
        if line["type"] in ("LLMCall", "LLMStreamEnd"):
            self._read_response(line)
        if line["type"] == "ToolCall":
            self._read_tool(line)

    def _read_request(self, messages: Any) -> None:
        now: Counter[str] = Counter()
        for message in objects(messages, "messages"):
            for id_, content, error in _results(message):
                if self.transcript.waits_for(id_):
                    self.transcript.add_result(id_, content if error else parse_result(content), error=error)
            role, text = message.get("role"), message_text(message.get("content"))
            if role not in ("system", "developer", "user", "assistant") or not isinstance(text, str):
                continue
            now[text] += 1
            if now[text] > self._said[text]:
                self._said[text] += 1
                if role != "assistant":
                    self.transcript.add_message(role, text)

    def _read_response(self, line: Mapping[str, Any]) -> None:
        response = line["response"] if isinstance(line.get("response"), dict) else {}
        agent = {"agent": line["agent_id"]} if line.get("agent_id") else {}
        self.transcript.start_turn()
        self.transcript.add_usage(line, model=response.get("model"))
        message = _message(response)
        text = text_of(message.get("content"))
        self._said[str(text)] += 1
        self.transcript.add_text(text, **agent)
        for id_, name, arguments in _calls(message):
            self.transcript.add_call(name, arguments, id_, **agent)

    def _read_tool(self, line: Mapping[str, Any]) -> None:
        tool, arguments = line.get("tool_name"), arguments_of(line.get("arguments"))
        waiting = [place for place in self.transcript.open_calls() if self.transcript.calls[place].tool == tool]
        same = [place for place in waiting if self.transcript.calls[place].arguments == arguments]
        if not waiting:
            agent = {"agent": line["agent_id"]} if line.get("agent_id") else {}
            self.transcript.start_turn()
            self.transcript.add_call(tool, line.get("arguments"), **agent)
            same = [len(self.transcript.calls) - 1]
        self.transcript.answer_call((same or waiting)[0], parse_result(line.get("result")))


def _message(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message in a response of OpenAI or Ollama, or the response itself if it is one of Anthropic."""
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else response
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else response


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the id, the name and the arguments of each call."""
    for call in objects(message.get("tool_calls"), "tool calls"):
        function = call["function"] if isinstance(call.get("function"), dict) else {}
        yield call.get("id"), function.get("name"), function.get("arguments")
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            yield block.get("id"), block.get("name"), block.get("input")


def _results(message: Mapping[str, Any]) -> Iterator[tuple[Any, Any, bool]]:
    """Yield the call id, the content, and whether it is an error, of each result in a message."""
    content = message.get("content")
    if message.get("role") == "tool":
        yield message.get("tool_call_id"), text_of(content) or "", False
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield block.get("tool_use_id"), text_of(block.get("content")) or "", block.get("is_error") is True

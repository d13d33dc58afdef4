"""The same conversation in the formats of several providers.

The agent looks at two plants in one turn and gives too much water. The user asks for less of it, beside the result of
that call where a format allows it. The agent sends arguments that are not JSON in a call that is never answered, and
says what it did.
"""

from __future__ import annotations

from typing import Any, Final

from corepath import Call, Episode, Message
from corepath.importers.formats import anthropic, gemini, langchain, openai, openai_responses, pydantic_ai

CUT_OFF: Final = '{"litres": 2'

CALLS: Final = (
    Call("look", {"plant": "A"}, {"dry": True}, id="c1", turn=1),
    Call("look", {"plant": "B"}, "wet", id="c2", turn=1),
    Call("water", {"plant": "A", "litres": 9}, error="too much", id="c3", turn=2),
    Call("water", CUT_OFF, id="c4", turn=3),
)
MESSAGES: Final = (
    Message("system", "You care for plants.", 0),
    Message("user", "Water A.", 0),
    Message("assistant", "I look.", 0),
    Message("user", "Use less.", 3),
    Message("assistant", "I could not.", 4),
)
OPENAI: Final[dict[str, Any]] = {
    "model": "gpt-x",
    "metadata": {"flow": "water"},
    "messages": [
        {"role": "system", "content": "You care for plants."},
        {"role": "user", "content": "Water A."},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"plant": "A"}'}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"plant": "B"}'}}]},
        {"role": "tool", "tool_call_id": "c2", "content": "wet"},
        {"role": "tool", "tool_call_id": "c1", "content": '{"dry": true}'},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c3", "function": {"name": "water", "arguments": '{"plant": "A", "litres": 9}'}}]},
        {"role": "tool", "tool_call_id": "c3", "content": "too much", "is_error": True},
        {"role": "user", "content": [{"type": "text", "text": "Use less."}]},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c4", "type": "function", "function": {"name": "water", "arguments": CUT_OFF}}]},
        {"role": "assistant", "content": "I could not."},
    ],
}  # fmt: skip
RESPONSES: Final[dict[str, Any]] = {
    "id": "resp_1", "object": "response", "model": "gpt-x", "status": "completed", "metadata": {"flow": "water"},
    "instructions": "You care for plants.",
    "input": [
        {"role": "user", "content": "Water A."},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"plant": "A"}', "id": "fc_1"},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": '{"plant": "B"}'},
        {"type": "function_call_output", "call_id": "c2", "output": "wet"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"dry": true}'},
        {"type": "function_call", "call_id": "c3", "name": "water", "arguments": '{"plant": "A", "litres": 9}'},
        {"type": "function_call_output", "call_id": "c3", "output": "too much", "is_error": True},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Use less."}]},
    ],
    "output": [
        {"type": "function_call", "call_id": "c4", "name": "water", "arguments": CUT_OFF, "status": "incomplete"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I could not."}]},
    ],
}  # fmt: skip
ANTHROPIC: Final[dict[str, Any]] = {
    "model": "claude-x",
    "metadata": {"flow": "water"},
    "system": "You care for plants.",
    "messages": [
        {"role": "user", "content": "Water A."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Which one?", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"plant": "A"}},
            {"type": "tool_use", "id": "c2", "name": "look", "input": {"plant": "B"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": "wet"},
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"dry": true}'}]}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c3", "name": "water", "input": {"plant": "A", "litres": 9}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c3", "content": "too much", "is_error": True},
            {"type": "text", "text": "Use less."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c4", "name": "water", "input": CUT_OFF}]},
        {"role": "assistant", "content": "I could not."},
    ],
}  # fmt: skip
GEMINI: Final[dict[str, Any]] = {
    "model": "gemini-x",
    "metadata": {"flow": "water"},
    "systemInstruction": {"parts": [{"text": "You care for plants."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Water A."}]},
        {"role": "model", "parts": [
            {"text": "Which one?", "thought": True}, {"text": "I look."},
            {"functionCall": {"id": "c1", "name": "look", "args": {"plant": "A"}}},
            {"functionCall": {"id": "c2", "name": "look", "args": {"plant": "B"}}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c2", "name": "look", "response": {"output": "wet"}}},
            {"functionResponse": {"id": "c1", "name": "look", "response": {"dry": True}}}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "c3", "name": "water", "args": {"plant": "A", "litres": 9}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c3", "name": "water", "response": {"error": "too much"}}},
            {"text": "Use less."}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "c4", "name": "water", "args": CUT_OFF}}, {"text": "I could "}]},
        {"role": "model", "parts": [{"text": "not."}]},
    ],
}  # fmt: skip
LANGCHAIN: Final[dict[str, Any]] = {
    "metadata": {"flow": "water"},
    "messages": [
        {"type": "system", "content": "You care for plants."},
        {"type": "human", "content": "Water A."},
        {"type": "ai", "content": "I look.", "response_metadata": {"model_name": "gpt-x"}, "tool_calls": [
            {"name": "look", "args": {"plant": "A"}, "id": "c1", "type": "tool_call"},
            {"name": "look", "args": {"plant": "B"}, "id": "c2", "type": "tool_call"}], "invalid_tool_calls": []},
        {"type": "tool", "tool_call_id": "c2", "content": "wet", "status": "success", "artifact": None},
        {"type": "tool", "tool_call_id": "c1", "content": '{"dry": true}', "status": "success"},
        {"type": "ai", "content": "", "tool_calls": [
            {"name": "water", "args": {"plant": "A", "litres": 9}, "id": "c3", "type": "tool_call"}]},
        {"type": "tool", "tool_call_id": "c3", "content": "too much", "status": "error"},
        {"type": "human", "content": [{"type": "text", "text": "Use less."}]},
        {"type": "ai", "content": [], "tool_calls": [], "invalid_tool_calls": [
            {"name": "water", "args": CUT_OFF, "id": "c4", "error": "no JSON", "type": "invalid_tool_call"}]},
        {"type": "ai", "content": [{"type": "text", "text": "I could "}, "not."], "tool_calls": []},
    ],
}  # fmt: skip
PYDANTIC_AI: Final[dict[str, Any]] = {
    "metadata": {"flow": "water"},
    "messages": [
        {"kind": "request", "parts": [
            {"part_kind": "system-prompt", "content": "You care for plants."},
            {"part_kind": "user-prompt", "content": "Water A."}]},
        {"kind": "response", "model_name": "gpt-x", "parts": [
            {"part_kind": "thinking", "content": "Which one?"},
            {"part_kind": "text", "content": "I look."},
            {"part_kind": "tool-call", "tool_name": "look", "args": {"plant": "A"}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "look", "args": '{"plant": "B"}', "tool_call_id": "c2"}]},
        {"kind": "request", "parts": [
            {"part_kind": "tool-return", "tool_name": "look", "content": "wet", "tool_call_id": "c2"},
            {"part_kind": "tool-return", "tool_name": "look", "content": {"dry": True}, "tool_call_id": "c1"}]},
        {"kind": "response", "parts": [
            {"part_kind": "tool-call", "tool_name": "water", "tool_call_id": "c3",
             "args": {"plant": "A", "litres": 9}}]},
        {"kind": "request", "parts": [
            {"part_kind": "retry-prompt", "tool_name": "water", "content": "too much", "tool_call_id": "c3"},
            {"part_kind": "user-prompt", "content": ["Use less."]}]},
        {"kind": "response", "parts": [
            {"part_kind": "tool-call", "tool_name": "water", "args": CUT_OFF, "tool_call_id": "c4"}]},
        {"kind": "response", "parts": [
            {"part_kind": "text", "content": "I could "}, {"part_kind": "text", "content": "not."}]},
    ],
}  # fmt: skip

ALL: Final[dict[str, tuple[Any, Any, str]]] = {
    "openai": (openai, OPENAI, "gpt-x"),
    "openai-responses": (openai_responses, RESPONSES, "gpt-x"),
    "anthropic": (anthropic, ANTHROPIC, "claude-x"),
    "gemini": (gemini, GEMINI, "gemini-x"),
    "langchain": (langchain, LANGCHAIN, "gpt-x"),
    "pydantic-ai": (pydantic_ai, PYDANTIC_AI, "gpt-x"),
}
"""For each format: its module, the conversation in it, and the model's name in the conversation."""


def bare(record: dict[str, Any]) -> list[Any]:
    """The bare list of messages of a conversation."""
    if "output" in record:
        return [*record["input"], *record["output"]]
    found: list[Any] = record.get("messages") or record["contents"]
    return found


def plain(episode: Episode) -> tuple[Any, ...]:
    """The calls and the answer of an episode."""
    return episode.calls, episode.answer

"""Messages and results of the Vercel AI SDK, by what its versions 4 to 7 write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import Episode
from corepath.importers.formats import anthropic, gemini, openai, vercel_ai
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, mismatch_of, read, records_of, survives, write

SUNNY = {"city": "Oslo", "sunny": True}


def part(tool: str, id_: str, state: str, given: Any, **fields: Any) -> dict[str, Any]:
    return {"type": f"tool-{tool}", "toolCallId": id_, "state": state, "input": given, **fields}


UI: list[Any] = [
    {"id": "u1", "role": "user", "parts": [
        {"type": "text", "text": "Weather?"}, {"type": "file", "mediaType": "image/png", "url": "data:"},
        {"type": "data-where", "data": {"at": "home"}},
    ]},
    {"id": "m1", "role": "assistant", "metadata": {"totalUsage": {"inputTokens": 10, "outputTokens": 5}}, "parts": [
        {"type": "step-start"}, {"type": "reasoning", "text": "Hm.", "state": "done"},
        {"type": "text", "text": "I look.", "state": "done"},
        part("getWeather", "a1", "output-available", {"city": "Oslo"}, output=SUNNY),
        part("pay", "a2", "output-error", {"amount": 3}, errorText="no money"),
        {"type": "step-start"},
        {"type": "dynamic-tool", "toolName": "nope", "toolCallId": "a3", "state": "output-error",
         "rawInput": {"x": 1}, "errorText": "no such tool"},
        {"type": "step-start"},
        part("delete", "a4", "output-denied", {}, approval={"id": "p1", "approved": False, "reason": "too risky"}),
        part("watch", "a5", "output-available", {}, output="so far", preliminary=True),
        part("ask", "a6", "input-available", {"q": "ok?"}),
        {"type": "source-url", "sourceId": "s1", "url": "https://example.org"},
    ]},
]  # fmt: skip


def called(id_: str, tool: str, given: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": id_, "toolName": tool, "input": given}


def returned(id_: str, tool: str, output: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": id_, "toolName": tool, "output": output}


MODEL: list[Any] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "Weather?"},
                                 {"type": "file", "data": "AA==", "mediaType": "image/png"}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "I look."},
        called("a1", "getWeather", {"city": "Oslo"}), called("a2", "pay", {"amount": 3}),
    ]},
    {"role": "tool", "content": [
        returned("a2", "pay", {"type": "error-text", "value": "no money"}),
        returned("a1", "getWeather", {"type": "json", "value": SUNNY}),
    ]},
    {"role": "assistant", "content": [called("a3", "nope", {"x": 1})]},
    {"role": "tool", "content": [returned("a3", "nope", {"type": "error-text", "value": "no such tool"})]},
    {"role": "assistant", "content": [
        called("a4", "delete", {}), called("a5", "watch", {}), called("a6", "ask", {"q": "ok?"}),
        {"type": "tool-approval-request", "approvalId": "p1", "toolCallId": "a4"},
    ]},
    {"role": "tool", "content": [
        {"type": "tool-approval-response", "approvalId": "p1", "approved": False},
        returned("a4", "delete", {"type": "execution-denied", "reason": "too risky"}),
    ]},
]  # fmt: skip


def step(number: int, *content: Any) -> dict[str, Any]:
    return {
        "stepNumber": number, "model": {"provider": "openai", "modelId": "gpt-x"}, "content": list(content),
        "finishReason": "tool-calls", "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        "response": {"id": "r", "timestamp": f"2025-01-01T00:00:0{number}.000Z", "modelId": "gpt-x",
                     "messages": MODEL[2:4]},
    }  # fmt: skip


STEPS: list[Any] = [
    step(
        0, *MODEL[2]["content"],
        {**returned("a1", "getWeather", SUNNY), "input": {"city": "Oslo"}},
        {"type": "tool-error", "toolCallId": "a2", "toolName": "pay", "input": {"amount": 3}, "error": {}},
    ),
    step(
        1, called("a3", "nope", {"x": 1}),
        {"type": "tool-error", "toolCallId": "a3", "toolName": "nope", "input": {"x": 1}, "error": "no such tool"},
    ),
    step(
        2, *MODEL[6]["content"],
        {"type": "tool-approval-response", "approvalId": "p1", "approved": False, "reason": "too risky",
         "toolCall": called("a4", "delete", {})},
    ),
]  # fmt: skip


def check(episode: Episode) -> None:
    assert [(one.id, one.tool, one.arguments, one.turn) for one in episode.calls] == [
        ("a1", "getWeather", {"city": "Oslo"}, 1), ("a2", "pay", {"amount": 3}, 1), ("a3", "nope", {"x": 1}, 2),
        ("a4", "delete", {}, 3), ("a5", "watch", {}, 3), ("a6", "ask", {"q": "ok?"}, 3),
    ]  # fmt: skip
    assert [one.result for one in episode.calls] == [SUNNY, *[UNANSWERED] * 5]
    assert [one.error for one in episode.calls] == [None, "no money", "no such tool", "too risky", None, None]


FORMS: dict[str, list[Any]] = {
    "messages of the interface": [UI],
    "a chat": [{"id": "chat1", "messages": UI}],
    "a chat that grew": [{"id": "chat1", "messages": UI[:1]}, {"id": "chat1", "messages": UI}],
    "rows of a database": [{**one, "chatId": "chat1", "parts": json.dumps(one["parts"])} for one in UI],
    "a message that grew": [[UI[0], {**UI[1], "parts": UI[1]["parts"][:4]}, UI[1]]],
    "messages for the model": [MODEL],
    "a request": [{"model": "gpt-x", "messages": MODEL, "tools": {}}],
    "a response": [{"response": {"messages": MODEL[1:]}}],
}


@pytest.mark.parametrize("records", FORMS.values(), ids=FORMS)
def test_calls_results_errors_and_messages(tmp_path: Path, records: list[Any]) -> None:
    (episode,) = read(write(tmp_path, *records), "vercel-ai")
    check(episode)
    assert [(one.role, one.content, one.before_call) for one in episode.messages if one.role != "system"] == [
        ("user", "Weather?", 0), ("user", "[image/png]", 0), ("assistant", "I look.", 0),
    ]  # fmt: skip
    assert episode.answer is None


def test_steps_of_a_result_after_its_request(tmp_path: Path) -> None:
    record = {"instructions": "You help.", "prompt": "Weather?", "steps": STEPS, "totalUsage": {}, "metadata": {"n": 1}}
    (episode,) = read(write(tmp_path, record, name="a.json"), "vercel-ai")
    check(episode)
    assert [(one.role, one.content) for one in episode.messages] == [
        ("system", "You help."), ("user", "Weather?"), ("assistant", "I look."),
    ]  # fmt: skip
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 30, "output_tokens": 15, "total_tokens": 45}
    assert (episode.agent, episode.extra["metadata"]) == ("gpt-x", {"n": 1})
    assert [one.time for one in episode.calls[:3]] == [1735689600.0, 1735689600.0, 1735689601.0]


def test_usage_in_the_metadata_of_a_message(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, UI, name="a.json"), "vercel-ai")
    assert episode.extra["usage"] == {"requests": 1, "input_tokens": 10, "output_tokens": 5}


# Version 4


INVOCATIONS: list[Any] = [
    {"state": "result", "step": 0, "toolCallId": "a1", "toolName": "roll", "args": {"sides": 6}, "result": 4},
    {"state": "result", "step": 0, "toolCallId": "a2", "toolName": "look", "args": {}, "result": '{"x": 1}'},
    {"state": "call", "step": 1, "toolCallId": "a3", "toolName": "ask", "args": {}},
]
OLD_UI: dict[str, Any] = {
    "id": "m1", "role": "assistant", "createdAt": "2025-01-01T00:00:00.000Z", "content": "Done.",
    "toolInvocations": INVOCATIONS,
    "parts": [
        {"type": "step-start"}, *({"type": "tool-invocation", "toolInvocation": one} for one in INVOCATIONS[:2]),
        {"type": "step-start"}, {"type": "tool-invocation", "toolInvocation": INVOCATIONS[2]},
        {"type": "text", "text": "Done."},
    ],
}  # fmt: skip
OLD_MODEL: list[Any] = [
    {"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "a1", "toolName": "roll", "args": {"sides": 6}},
        {"type": "tool-call", "toolCallId": "a2", "toolName": "look", "args": {}},
    ]},
    {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "a1", "toolName": "roll", "result": 4},
        {"type": "tool-result", "toolCallId": "a2", "toolName": "look", "result": {"x": 1}},
    ]},
    {"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "a3", "toolName": "ask", "args": {}}, {"type": "text", "text": "Done."},
    ]},
]  # fmt: skip
OLD_STEPS: dict[str, Any] = {"steps": [
    {"stepType": "initial", "text": "", "toolCalls": OLD_MODEL[0]["content"],
     "toolResults": [{**one, "args": {}} for one in OLD_MODEL[1]["content"]], "finishReason": "tool-calls",
     "usage": {"promptTokens": 10, "completionTokens": 5, "totalTokens": 15}},
    {"stepType": "tool-result", "text": "Done.", "toolCalls": OLD_MODEL[2]["content"][:1], "toolResults": [],
     "finishReason": "stop", "usage": {"promptTokens": 10, "completionTokens": 5, "totalTokens": 15}},
]}  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [[OLD_UI], [{name: one for name, one in OLD_UI.items() if name != "parts"}], OLD_MODEL, OLD_STEPS],
    ids=["parts", "invocations", "for the model", "steps"],
)
def test_version_4(tmp_path: Path, record: Any) -> None:
    (episode,) = read(write(tmp_path, record, name="a.json"), "vercel-ai")
    assert [(one.id, one.tool, one.arguments, one.result, one.turn) for one in episode.calls] == [
        ("a1", "roll", {"sides": 6}, 4, 1), ("a2", "look", {}, {"x": 1}, 1), ("a3", "ask", {}, UNANSWERED, 2),
    ]  # fmt: skip
    assert [one.content for one in episode.messages] == ["Done."]


def test_a_result_that_is_marked_as_an_error(tmp_path: Path) -> None:
    failed = {"type": "tool-result", "toolCallId": "a1", "toolName": "roll", "result": "no dice", "isError": True}
    texts = returned("a2", "look", {"type": "content", "value": [{"type": "text", "text": "4"}]})
    messages = [OLD_MODEL[0], {"role": "tool", "content": [failed, texts]}]
    (episode,) = read(write(tmp_path, messages, name="a.json"), "vercel-ai")
    assert (episode.calls[0].error, episode.calls[1].result) == ("no dice", 4)


# Other records and formats


def test_conversations_and_chats_are_kept_apart(tmp_path: Path) -> None:
    rows = [{**one, "chatId": chat} for one in UI for chat in ("c1", "c2")]
    episodes = read(write(tmp_path, *rows), "vercel-ai")
    assert [(len(one.calls), one.extra["metadata"]) for one in episodes] == [
        (6, {"chatId": "c1"}),
        (6, {"chatId": "c2"}),
    ]
    assert len(read(write(tmp_path, MODEL, MODEL, OLD_MODEL), "vercel-ai")) == 3, "without an id, nothing is repeated"


def test_other_formats_do_not_take_it() -> None:
    for format_ in (openai.FORMAT, anthropic.FORMAT, gemini.FORMAT):
        for value in (UI, [OLD_UI]):
            assert mismatch_of(format_, value) is not None
    assert vercel_ai.mismatch([{"role": "user", "content": "Hi"}]) is not None
    assert vercel_ai.mismatch([{"role": "user", "parts": [{"text": "Hi"}]}]) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from([UI, MODEL, {"steps": STEPS}, [OLD_UI], OLD_STEPS, {"id": "c", "messages": UI}]))
    survives(records_of(vercel_ai.FORMAT), data.draw(damaged(record)))

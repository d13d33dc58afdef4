"""Messages, logs and streams of Bedrock, and sessions of Strands agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import RecordError
from corepath.importers.formats import anthropic, bedrock, openai
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, good, mismatch_of, read, survives, write


def use(id_: str, name: str, **given: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id_, "name": name, "input": given}}


def result(id_: str, content: Any, status: str | None = "success") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id_, "content": [content], **({"status": status} if status else {})}}


MESSAGES: list[Any] = [
    {"role": "user", "content": [{"text": "Weather?"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]},
    {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}}, {"text": "I look."},
        use("t1", "get_weather", city="Oslo"), use("t2", "pay", amount=3),
    ]},
    {"role": "user", "content": [
        result("t2", {"text": "Error: no money"}, "error"), result("t1", {"json": {"sunny": True}}),
        {"cachePoint": {"type": "default"}},
    ]},
    {"role": "assistant", "content": [use("t3", "roll")]},
    {"role": "user", "content": [result("t3", {"text": "4"}, None)]},
    {"role": "assistant", "content": [{"text": "Done."}]},
]  # fmt: skip
SYSTEM = [{"text": "You help."}]
USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 2}


def request(count: int) -> dict[str, Any]:
    return {"messages": MESSAGES[:count], "system": SYSTEM, "toolConfig": {"tools": []}, "inferenceConfig": {}}


def response(place: int) -> dict[str, Any]:
    return {"output": {"message": MESSAGES[place]}, "stopReason": "x", "usage": USAGE, "metrics": {"latencyMs": 1}}


def log(count: int, output: Any, operation: str = "Converse", **fields: Any) -> dict[str, Any]:
    return {
        "schemaType": "ModelInvocationLog", "schemaVersion": "1.0", "timestamp": f"2025-01-01T00:00:0{count}Z",
        "accountId": "1", "region": "us-east-1", "requestId": f"r{count}", "operation": operation,
        "modelId": "anthropic.claude-x", "requestMetadata": {"case": "c7"},
        "input": {"inputContentType": "application/json", "inputBodyJson": request(count), "inputTokenCount": 10},
        "output": {"outputContentType": "application/json", "outputBodyJson": output, "outputTokenCount": 5}, **fields,
    }  # fmt: skip


def stream(message: dict[str, Any]) -> list[Any]:
    """The events in which Converse streams a message, with texts and inputs in two pieces."""
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for place, block in enumerate(message["content"]):
        if "toolUse" in block:
            known = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            events.append({"contentBlockStart": {"start": {"toolUse": known}, "contentBlockIndex": place}})
            text = json.dumps(block["toolUse"]["input"])
            deltas: list[Any] = [{"toolUse": {"input": piece}} for piece in (text[:3], text[3:])]
        elif "text" in block:
            deltas = [{"text": piece} for piece in (block["text"][:3], block["text"][3:])]
        else:
            deltas = [{"reasoningContent": {"text": "Hm."}}]
        events += [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": place}} for delta in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": place}})
    return [*events, {"messageStop": {"stopReason": "x"}}, {"metadata": {"usage": USAGE, "metrics": {}}}]


def check(episode: Episode) -> None:
    assert [(one.id, one.tool, one.arguments, one.turn) for one in episode.calls] == [
        ("t1", "get_weather", {"city": "Oslo"}, 1), ("t2", "pay", {"amount": 3}, 1), ("t3", "roll", {}, 2),
    ]  # fmt: skip
    assert [one.result for one in episode.calls] == [{"sunny": True}, UNANSWERED, 4]
    assert [one.error for one in episode.calls] == [None, "Error: no money", None]
    assert [(one.role, one.content, one.before_call) for one in episode.messages if one.role != "system"] == [
        ("user", "Weather?", 0), ("user", "[image]", 0), ("assistant", "I look.", 0), ("assistant", "Done.", 3),
    ]  # fmt: skip
    assert episode.answer == "Done."


FORMS: dict[str, list[Any]] = {
    "messages": [MESSAGES],
    "a conversation": [{"messages": MESSAGES, "system": SYSTEM, "modelId": "m"}],
    "a request and its response": [{"request": request(5), "response": response(5)}],
    "a request with its response": [{**request(5), **response(5)}],
    "logged requests": [{"request": request(n), "response": response(n)} for n in (1, 3, 5)],
    "streams": [{"request": request(n), "response": {"stream": stream(MESSAGES[n])}} for n in (1, 3, 5)],
    "a log": [log(n, response(n)) for n in (1, 3, 5)],
    "a log of streams": [log(n, stream(MESSAGES[n]), "ConverseStream") for n in (1, 3, 5)],
    "a log with bodies as text": [
        {**log(5, None), "input": {"inputBodyJson": json.dumps(request(5))},
         "output": {"outputBodyJson": json.dumps(response(5))}}
    ],
    "events of CloudWatch": [{"timestamp": n, "message": json.dumps(log(n, response(n)))} for n in (1, 3, 5)],
    "rows of CloudWatch": [{"@timestamp": "x", "@message": log(n, response(n))} for n in (1, 3, 5)],
    "a throttled request": [
        {**log(3, None), "errorCode": "ThrottlingException", "output": None}, log(3, response(3)), log(5, response(5)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("records", FORMS.values(), ids=FORMS)
def test_calls_results_errors_and_messages(tmp_path: Path, records: list[Any]) -> None:
    (episode,) = read(write(tmp_path, *records), "bedrock")
    check(episode)


def test_what_a_log_tells(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *FORMS["a log"]), "bedrock")
    assert (episode.agent, episode.messages[0].content) == ("anthropic.claude-x", "You help.")
    assert episode.messages[-1].time == 1735689605.0
    assert episode.extra["usage"] == {
        "requests": 3, "input_tokens": 30, "output_tokens": 15, "total_tokens": 45, "input_tokens_cache_read": 6,
    }  # fmt: skip
    assert episode.extra["metadata"]["requestMetadata"] == {"case": "c7"}
    assert "input" not in episode.extra["metadata"]


def test_a_request_that_failed_at_the_end_is_not_the_agents_failure(tmp_path: Path) -> None:
    last = {**log(3, None), "errorCode": "ThrottlingException", "output": None}
    (episode,) = read(write(tmp_path, log(1, response(1)), last), "bedrock")
    assert (episode.outcome, len(episode.calls)) == (FAILED_OUTSIDE, 2)
    assert episode.failure["kind"] == "ThrottlingException"


ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 3}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "no"}], "is_error": True},
    ]},
]  # fmt: skip
CHUNKS: list[Any] = [
    {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Again."}},
    {"type": "content_block_start", "index": 1,
     "content_block": {"type": "tool_use", "id": "t2", "name": "pay", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"amou'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": 'nt": 1}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
]  # fmt: skip
WHOLE = {
    "type": "message", "role": "assistant", "stop_reason": "tool_use",
    "usage": {"input_tokens": 9, "output_tokens": 4},
    "content": [{"type": "text", "text": "Again."},
                {"type": "tool_use", "id": "t2", "name": "pay", "input": {"amount": 1}}],
}  # fmt: skip


@pytest.mark.parametrize("output", [WHOLE, CHUNKS], ids=["whole", "streamed"])
def test_logs_of_invoke_model_with_bodies_of_anthropic(tmp_path: Path, output: Any) -> None:
    entry = log(1, output, "InvokeModel")
    entry["input"]["inputBodyJson"] = {"anthropic_version": "x", "system": "You help.", "messages": ANTHROPIC}
    embedding = {**log(1, {"embedding": [0.1]}, "InvokeModel"), "input": {"inputBodyJson": {"inputText": "x"}}}
    (episode,) = read(write(tmp_path, embedding, entry), "bedrock")
    assert [(one.tool, one.arguments, one.error) for one in episode.calls] == [
        ("pay", {"amount": 3}, "no"), ("pay", {"amount": 1}, None),
    ]  # fmt: skip
    assert [one.content for one in episode.messages] == ["You help.", "Weather?", "I look.", "Again."]
    assert episode.extra["usage"]["input_tokens"] == 9
    assert episode.extra["usage"]["output_tokens"] == 4


def test_entries_without_messages_say_why() -> None:
    for body, why in (({"prompt": "Hi"}, "has a 'prompt'"), (None, "inputBodyS3Path")):
        with pytest.raises(RecordError, match=why):
            list(bedrock.read_record({**log(1, {}), "input": {"inputBodyJson": body}}))


def stored(place: int) -> dict[str, Any]:
    message = {**MESSAGES[place], "metadata": {"usage": USAGE}} if place % 2 else MESSAGES[place]
    made = {"created_at": f"2025-01-01T00:00:0{place}+00:00", "updated_at": "2025-01-01T00:01:00+00:00"}
    return {"message": message, "message_id": place, "redact_message": None, **made}


def test_sessions_of_strands_agents(tmp_path: Path) -> None:
    files = []
    for session in ("s1", "s2"):
        (folder := tmp_path / session).mkdir()
        files += [write(folder, stored(place), name=f"message_{place}.json") for place in range(6)]
    assert bedrock.FORMAT.read_together is not None
    for episode in (episodes := good(bedrock.FORMAT.read_together(files[::-1]))):
        check(episode)
        assert episode.messages[-1].time == 1735689605.0
        assert episode.extra["usage"]["requests"] == 3
    assert len(episodes) == 2
    (episode,) = read(write(tmp_path, [stored(place) for place in range(6)], name="all.json"), "bedrock")
    check(episode)
    assert [len(one.calls) for one in read(files[1], "bedrock")] == [2], "a file alone is one message"


def test_other_formats_do_not_take_it() -> None:
    for value in (MESSAGES, FORMS["a log"][0], {"messages": MESSAGES}):
        assert mismatch_of(anthropic.FORMAT, value) is not None
    assert mismatch_of(openai.FORMAT, FORMS["a log"][0]) is not None
    assert bedrock.mismatch(ANTHROPIC) is not None
    assert bedrock.mismatch([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    forms = [
        FORMS[name][0] for name in ("messages", "streams", "a log", "a log of streams", "a request and its response")
    ]
    survives(bedrock.read_record, data.draw(damaged(data.draw(st.sampled_from(forms)))))

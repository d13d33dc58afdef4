"""Messages by the user and the system in every format, with times, tokens and models where a source has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode
from corepath.episode import events
from corepath.importers import import_trace
from corepath.importers.formats import (
    agentdojo,
    anthropic,
    bfcl,
    gemini,
    generic,
    inspect,
    langchain,
    mini_swe_agent,
    openai,
    openai_responses,
    pydantic_ai,
)

from . import test_agentdojo, test_bfcl, test_mini_swe_agent
from .damage import good, records_of, write
from .tau_runs import REAL, TAU2, read_json, real

NOON = "2026-01-01T12:00:00Z"
THEN = 1767268800.0
"""The same time in seconds since 1970."""


def one(value: Any, module: Any) -> Episode:
    (episode,) = module.read_record(value)
    assert isinstance(episode, Episode)
    return episode


def said(episode: Episode) -> list[tuple[Any, ...]]:
    return [(message.role, message.content, message.before_call) for message in episode.messages]


def happened(episode: Episode) -> list[tuple[str, Any]]:
    """The role and text of each message, and the tool of each call, in order."""
    return [
        ("call", event.tool) if isinstance(event, Call) else (event.role, event.content) for event in events(episode)
    ]


# Parts that are not text

IMAGES: dict[str, tuple[Any, Any, str]] = {
    "openai": (openai, [{"role": "user", "content": [
        {"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "x"}}]}], "[image_url]"),
    "openai-responses": (openai_responses, {"input": [{"role": "user", "content": [
        {"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": "x"}]}], "output": [
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}]}, "[input_image]"),
    "anthropic": (anthropic, [{"role": "user", "content": [
        {"type": "text", "text": "What is it?"}, {"type": "image", "source": {}}]}], "[image]"),
    "gemini": (gemini, [{"role": "user", "parts": [
        {"text": "What is it?"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]}], "[inlineData]"),
    "langchain": (langchain, [{"type": "human", "content": [
        "What is it?", {"type": "image_url", "image_url": "x"}]}], "[image_url]"),
    "pydantic-ai": (pydantic_ai, [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": [
        "What is it?", {"kind": "cache-point"}, {"kind": "image-url", "url": "x"}]}]}], "[image-url]"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_a_part_that_is_not_text_is_shown_by_its_type(name: str) -> None:
    module, record, shown = IMAGES[name]
    assert said(one(record, module))[:1] == [("user", f"What is it?\n{shown}", 0)]


# Times, tokens and models

USAGE = {"requests": 1, "input_tokens": 7, "output_tokens": 2}


def test_a_chat_completion_has_a_time_and_tokens() -> None:
    message = {"role": "assistant", "content": "Hm.", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}  # fmt: skip
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    asked = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Look.", "timestamp": NOON}]
    response = {"created": int(THEN) + 2, "model": "gpt-x-2026", "choices": [{"message": message}], "usage": usage}
    episode = one({"request": {"model": "gpt-x", "messages": asked}, "response": response}, openai)
    assert [(event.time, getattr(event, "role", "call")) for event in events(episode)] == [
        (None, "system"), (THEN, "user"), (THEN + 2, "assistant"), (THEN + 2, "call")
    ]  # fmt: skip
    assert episode.extra["usage"] == {**USAGE, "reasoning_tokens": 1}
    assert (episode.agent, episode.extra["seconds"]) == ("gpt-x-2026", 2)


def test_responses_that_continue_each_other_have_their_own_times_and_tokens() -> None:
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "1", "output": "dry"}
    end = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Dry."}]}
    usage = {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}
    first: dict[str, Any] = {"id": "a", "instructions": "Be brief.", "model": "gpt-x", "created_at": THEN,
                             "input": "Look.", "output": [call], "usage": usage}  # fmt: skip
    second = {**first, "id": "b", "previous_response_id": "a", "created_at": THEN + 5, "input": [answer],
              "output": [end], "model": "gpt-y"}  # fmt: skip
    episode = one([first, second], openai_responses)
    assert said(episode) == [("system", "Be brief.", 0), ("user", "Look.", 0), ("assistant", "Dry.", 1)]
    assert (episode.calls[0].time, episode.messages[-1].time) == (THEN, THEN + 5)
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 14, "output_tokens": 4, "input_tokens_cache_read": 6
    }  # fmt: skip
    assert episode.extra["models"] == ["gpt-x", "gpt-y"]
    changed = one([first, {**second, "instructions": "Be kind."}], openai_responses)
    assert said(changed)[2] == ("system", "Be kind.", 1)


def test_a_response_of_anthropic_has_tokens_and_its_request_a_system_prompt() -> None:
    response = {"type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Hi."}],
                "usage": {"input_tokens": 7, "output_tokens": 2}}  # fmt: skip
    request = {"system": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}], "messages": [
        {"role": "user", "content": "Hello."}]}  # fmt: skip
    episode = one({"timestamp": NOON, "request": request, "response": response}, anthropic)
    assert said(episode) == [("system", "Be\nbrief.", 0), ("user", "Hello.", 0), ("assistant", "Hi.", 0)]
    assert (episode.extra["usage"], episode.messages[-1].time, episode.answer) == (USAGE, THEN, "Hi.")


@pytest.mark.parametrize("where", ["systemInstruction", "system_instruction", "config"])
def test_a_response_of_gemini_has_tokens_and_its_request_a_system_instruction(where: str) -> None:
    response = {"createTime": NOON, "modelVersion": "gemini-x", "usageMetadata": {
        "promptTokenCount": 7, "candidatesTokenCount": 2}, "candidates": [
            {"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "Hi."}]}}]}  # fmt: skip
    told: Any = {"config": {"system_instruction": "Be brief."}} if where == "config" else {
        where: {"role": "user", "parts": [{"text": "Be brief."}]}}  # fmt: skip
    episode = one({"request": {"contents": "Hello.", **told}, "response": response}, gemini)
    assert said(episode) == [("system", "Be brief.", 0), ("user", "Hello.", 0), ("assistant", "Hi.", 0)]
    assert (episode.extra["usage"], episode.messages[-1].time) == (USAGE, THEN)


def test_messages_of_langchain_have_tokens_models_and_times() -> None:
    def says(text: str, **about: Any) -> dict[str, Any]:
        return {"type": "ai", "content": text, "response_metadata": about.pop("about"), **about}

    episode = one([
        {"type": "chat", "role": "developer", "content": "Be brief."},
        says("Hm.", about={"model_name": "m", "created_at": NOON},
             usage_metadata={"input_tokens": 3, "output_tokens": 1, "total_tokens": 4,
                             "input_token_details": {"cache_read": 2}, "output_token_details": {"reasoning": 1}}),
        {"type": "remove", "content": "", "id": "x"},
        says("Done.", about={"model_name": "n", "token_usage": {"prompt_tokens": 4, "completion_tokens": 1}}),
    ], langchain)  # fmt: skip
    assert said(episode) == [("system", "Be brief.", 0), ("assistant", "Hm.", 0), ("assistant", "Done.", 0)]
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 7, "output_tokens": 2, "total_tokens": 4, "input_tokens_cache_read": 2,
        "reasoning_tokens": 1,
    }  # fmt: skip
    assert (episode.agent, episode.extra["models"], episode.messages[1].time) == ("m", ["m", "n"], THEN)


def test_instructions_of_pydantic_ai_are_told_once_and_again_where_they_change() -> None:
    def request(instructions: str | None, *parts: Any) -> dict[str, Any]:
        return {"kind": "request", "instructions": instructions, "parts": [*parts]}

    def response(text: str, **usage: int) -> dict[str, Any]:
        return {"kind": "response", "parts": [{"part_kind": "text", "content": text}], "usage": usage,
                "timestamp": NOON, "model_name": "m"}  # fmt: skip

    episode = one([
        request("Be brief.", {"part_kind": "user-prompt", "content": "Hello.", "timestamp": NOON}),
        response("Hi.", input_tokens=3, output_tokens=1),
        request("Be brief.", {"part_kind": "retry-prompt", "content": [{"msg": "no JSON"}], "tool_name": None}),
        response("Hm.", request_tokens=4, response_tokens=1),
        request("Be kind.", {"part_kind": "user-prompt", "content": "Again."}),
    ], pydantic_ai)  # fmt: skip
    assert said(episode) == [
        ("system", "Be brief.", 0), ("user", "Hello.", 0), ("assistant", "Hi.", 0),
        ("user", '[{"msg":"no JSON"}]', 0), ("assistant", "Hm.", 0), ("system", "Be kind.", 0), ("user", "Again.", 0),
    ]  # fmt: skip
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 7, "output_tokens": 2}
    assert (episode.messages[1].time, episode.messages[2].time) == (THEN, THEN)


# Inspect


def inspected(events: list[Any], **sample: Any) -> Episode:
    whole = {"id": 1, "epoch": 1, "messages": [], "events": events, **sample}
    (episode,) = records_of(inspect.FORMAT)({"eval": {"task": "t", "model": "m"}, "samples": [whole]})
    return episode


def model_event(given: Any, text: str, *calls: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "tool_calls": [
        {"id": id_, "function": "f", "arguments": {}} for id_ in calls]}  # fmt: skip
    output = {"choices": [{"message": message}], "usage": {"input_tokens": 7, "output_tokens": 2, "total_cost": 0.5}}
    return {"event": "model", "model": "m", "input": given, "output": output, "timestamp": NOON, **more}


def tool_event(id_: str, **more: Any) -> dict[str, Any]:
    return {"event": "tool", "id": id_, "function": "f", "arguments": {}, "result": "ok", **more}


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_each_message_that_a_model_was_given_is_kept_once(with_ids: bool, pooled: bool) -> None:
    pool = [{"role": role, "content": text, **({"id": f"m{n}"} if with_ids else {})} for n, (role, text) in enumerate([
        ("system", "Be brief."), ("user", "Go on."), ("user", "Go on."), ("user", "Stop.")])]  # fmt: skip

    def given(*places: int) -> dict[str, Any]:
        chosen = [pool[place] for place in places]
        return {"input_refs": [[place, place + 1] for place in places]} if pooled else {"input": chosen}

    log = [
        model_event([], "Hm.", "1", completed="2026-01-01T12:00:03Z", **given(0, 1)),
        tool_event("1", timestamp="2026-01-01T12:00:04Z", completed="2026-01-01T12:00:06Z"),
        model_event([], "Done.", **given(0, 1, 2)),
    ]
    episode = inspected(log, messages=pool, events_data={"messages": pool, "calls": []})
    assert said(episode) == [
        ("system", "Be brief.", 0), ("user", "Go on.", 0), ("assistant", "Hm.", 0), ("user", "Go on.", 1),
        ("assistant", "Done.", 1), ("user", "Stop.", 1),
    ]  # fmt: skip
    assert episode.answer == "Done."
    assert (episode.calls[0].time, episode.calls[0].extra["seconds"]) == (THEN + 4, 2)
    assert [message.time for message in episode.messages] == [None, None, THEN + 3, None, THEN, None]
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 14, "output_tokens": 4, "total_cost": 1}


def test_what_a_model_with_a_role_was_given_is_not_in_the_conversation() -> None:
    asked = [{"role": "user", "content": "Is it right?"}]
    log = [model_event([{"role": "user", "content": "Go."}], "Done."), model_event(asked, "Yes.", role="grader")]
    episode = inspected(log)
    assert (said(episode), episode.extra["usage"]["requests"]) == (
        [("user", "Go.", 0), ("assistant", "Done.", 0)], 1
    )  # fmt: skip


# Benchmarks


def test_what_the_user_said_in_bfcl_is_in_the_log() -> None:
    episode = one(test_bfcl.ENTRY, bfcl)
    assert said(episode) == [
        ("user", "Look.", 0), ("assistant", "There is nothing.", 2), ("assistant", "Done.", 4)
    ]  # fmt: skip
    assert episode.extra["usage"] == {"requests": 5, "input_tokens": 150}


@pytest.mark.parametrize("content", [
    'I look.\n<tool_call>{"name": "ls", "arguments": {}}</tool_call>', ["I look.", {"ls": "{}"}]
])  # fmt: skip
def test_prose_beside_a_call_of_bfcl_is_kept(content: Any) -> None:
    episode = one({"id": "multi_turn_base_1", "result": [[content, "Done."]]}, bfcl)
    assert happened(episode) == [("assistant", "I look."), ("call", "ls"), ("assistant", "Done.")]


def test_agentdojo_keeps_the_user_and_the_system() -> None:
    assert said(one(test_agentdojo.RECORD, agentdojo)) == [
        ("system", "You are a clerk.", 0), ("user", "Pay the bill.", 0), ("assistant", "I could not pay it.", 2)
    ]  # fmt: skip


def test_mini_swe_agent_keeps_what_is_no_output() -> None:
    episode = one(test_mini_swe_agent.CALLS, mini_swe_agent)
    assert [(role, text[:8]) for role, text in happened(episode)] == [
        ("system", "You fix "), ("user", "Fix it.\n"), ("assistant", "I look."), ("call", "bash"), ("call", "bash"),
        ("call", "bash"), ("system", "diff"),
    ]  # fmt: skip
    in_text = one(test_mini_swe_agent.TEXT, mini_swe_agent)
    assert [text for role, text in happened(in_text) if role == "user"] == [
        "Fix it.", "Please always provide EXACTLY ONE action"
    ]  # fmt: skip


def test_mini_swe_agent_has_times_costs_and_interruptions() -> None:
    response = {"model": "gpt-x", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    messages = [
        {"role": "assistant", "content": "", "extra": {
            "actions": [{"command": "ls"}], "timestamp": THEN, "cost": 0.5, "response": response}},
        {"role": "user", "content": "Stop.", "extra": {"interrupt_type": "UserInterruption"}},
        {"role": "user", "content": "", "extra": {"raw_output": "x", "returncode": 0, "timestamp": THEN + 3}},
        {"role": "user", "content": "Two at once.", "extra": {
            "interrupt_type": "FormatError", "cost": 0.25, "response": response}},
    ]  # fmt: skip
    record = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages}
    episode = one(record, mini_swe_agent)
    assert said(episode) == [("user", "Stop.", 1), ("user", "Two at once.", 1)]
    assert (episode.calls[0].time, episode.calls[0].extra) == (THEN, {"seconds": 3})
    assert episode.calls[0].result == {"returncode": 0, "output": "x"}
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 14, "output_tokens": 4, "total_cost": 0.75}


# Maps


@pytest.mark.parametrize("paths", [
    {"calls": "turns.calls", "messages": "turns"},
    {"calls": "turns.calls", "messages": "turns", "message_role": "by", "message_text": "content",
     "message_time": "at", "time": "at"},
    {"calls": "turns.calls", "messages": "turns.content"},
    {"calls": "flat", "messages": "turns", "message_role": "by"},
])  # fmt: skip
def test_a_map_says_where_messages_are(paths: dict[str, str], tmp_path: Path) -> None:
    call = {"tool": "look", "at": NOON}
    record = {"flat": [call], "turns": [
        {"by": "human", "content": "Look.", "at": NOON}, {"by": "ai", "content": "I look.", "calls": [call]},
        {"by": "system", "content": "Stop."}, {"by": "ai", "content": None}]}  # fmt: skip
    file = tmp_path / "map.yaml"
    file.write_text("\n".join(f"{name}: {path}" for name, path in {"tool": "tool", **paths}.items()))
    (episode,) = good(import_trace(write(tmp_path, record), f"generic:{file}"))
    roles = ["user", "assistant", "system"] if "message_role" in paths else ["assistant"] * 3
    places = [0, 0, 1] if paths["calls"].startswith("turns") else [None] * 3
    assert said(episode) == list(zip(roles, ["Look.", "I look.", "Stop."], places, strict=True))
    if "message_time" in paths:
        assert (episode.messages[0].time, episode.calls[0].time) == (THEN, THEN)


def test_a_map_may_name_something_that_is_no_message() -> None:
    paths = generic.Paths(("tool",), ("calls",), messages=("odd",), message_role=("role",))
    (episode,) = generic.read_record(paths, {"calls": [], "odd": [5, None, {"role": []}, {"content": "x"}]})
    assert said(episode) == [("", 5, None), ("", "x", None)]


# The real runs of τ-bench and τ²-bench, counted without the importers


def expected_of_tau(run: dict[str, Any]) -> tuple[list[tuple[str, Any]], int]:
    """What happened in a run of τ-bench, whose calls are all the agent's, and how many calls others made."""
    found: list[tuple[str, Any]] = []
    for message in run["traj"]:
        if message["role"] != "tool" and message.get("content"):
            found.append((message["role"], message["content"]))
        found += [("call", call["function"]["name"]) for call in message.get("tool_calls") or []]
    return found, 0


def expected_of_tau2(simulation: dict[str, Any]) -> tuple[list[tuple[str, Any]], int]:
    found: list[tuple[str, Any]] = []
    others = 0
    for message in simulation["messages"]:
        if message["role"] != "tool" and message["content"]:
            found.append((message["role"], message["content"]))
        calls = [("call", call["name"]) for call in message.get("tool_calls") or []]
        if message["role"] == "assistant":
            found += calls
        else:
            others += len(calls)
    return found, others


@pytest.mark.parametrize("file", REAL)
def test_every_text_in_real_runs_is_there_once_and_in_order(file: str) -> None:
    path = real(file)
    value = read_json(path)
    count = expected_of_tau if file.startswith("tau-bench") else expected_of_tau2
    runs = value if isinstance(value, list) else value["simulations"]
    episodes = good(import_trace(path))
    assert len(episodes) == len(runs) == REAL[file]
    for run, episode in zip(runs, episodes, strict=True):
        assert (happened(episode), len(episode.other_calls)) == count(run)


@pytest.mark.parametrize("file", [file for file in REAL if file.startswith("tau2")])
def test_times_and_tokens_of_real_runs_add_up(file: str) -> None:
    path = real(file)
    for run, episode in zip(read_json(path)["simulations"], good(import_trace(path)), strict=True):
        by_agent = [one for one in run["messages"] if one["role"] == "assistant" and one["usage"]]
        usage = episode.extra["usage"]
        assert usage["requests"] == len(by_agent)
        assert usage["input_tokens"] == sum(one["usage"]["prompt_tokens"] for one in by_agent)
        assert usage["output_tokens"] == sum(one["usage"]["completion_tokens"] for one in by_agent)
        assert usage["total_cost"] == pytest.approx(sum(one["cost"] for one in by_agent))
        assert all(event.time is not None for event in (*events(episode), *episode.other_calls))
        times = [event.time or 0 for event in events(episode)]
        assert times == sorted(times)
        assert episode.extra["seconds"] == pytest.approx(times[-1] - times[0], abs=60)


def test_texts_of_the_user_of_tau2_are_messages_and_its_commands_other_calls(tmp_path: Path) -> None:
    episode = good(import_trace(write(tmp_path, TAU2, name="results.json"), "tau2"))[0]
    assert happened(episode)[:4] == [
        ("assistant", "Hi!"), ("user", "No data abroad."), ("call", "get_customer"), ("call", "get_line")
    ]  # fmt: skip
    assert [call.tool for call in episode.other_calls] == ["toggle_roaming"]


# Exchanges that repeat each other


def chat_exchange(messages: list[Any], message: Any, created: int, model: str = "gpt-x") -> dict[str, Any]:
    response = {"created": created, "model": model, "choices": [{"message": message}],
                "usage": {"prompt_tokens": len(messages), "completion_tokens": 1}}  # fmt: skip
    return {"request": {"model": "gpt", "messages": messages}, "response": response}


def test_the_times_and_tokens_of_exchanges_that_a_later_one_repeats_are_kept(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "Look."}]
    looks = {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}  # fmt: skip
    seen = {"role": "tool", "tool_call_id": "1", "content": "dry"}
    ends = {"role": "assistant", "content": "Dry."}
    again = [{"role": "user", "content": "Sure?"}]
    log = [
        chat_exchange(asked, looks, 100),
        chat_exchange([*asked, looks, seen], ends, 105, "gpt-y"),
        {"request": {"model": "gpt", "messages": [*asked, looks, seen, ends, *again]}},
        chat_exchange([*asked, looks, seen, ends, *again], {"role": "assistant", "content": "Yes."}, 110),
    ]
    (episode,) = good(import_trace(write(tmp_path, *log), "openai"))
    assert [event.time for event in events(episode)] == [None, 100, 100, 105, None, 110]
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 9, "output_tokens": 3}
    assert (episode.agent, episode.extra["models"], episode.extra["seconds"]) == ("gpt-x", ["gpt-x", "gpt-y"], 10)
    alone = good(import_trace(write(tmp_path, *log[:1], *log[:1]), "openai"))
    assert [one.extra["usage"]["requests"] for one in alone] == [1, 1]
    unanswered = good(import_trace(write(tmp_path, *log[:3]), "openai"))
    assert [(one.extra["usage"]["requests"], one.extra["models"]) for one in unanswered] == [(2, ["gpt-x", "gpt-y"])]

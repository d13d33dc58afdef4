"""Streams in pieces are joined: those that the SDKs of OpenAI and Anthropic yield, raw, cut, split and mixed ones."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import Problem, RecordError
from corepath.importers import import_trace
from corepath.importers.registry import load_format
from corepath.values import arguments_of

from .damage import damaged, good, outcomes, read, write
from .streaming import (
    ASKED,
    CHAT,
    EVENTS,
    MESSAGE,
    RESPONSE,
    Events,
    StreamServer,
    event_text,
    response_events,
)

names = pytest.mark.parametrize("name", EVENTS)


def bare(value: Any) -> Any:
    """A value without its nulls, which the SDKs add."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if one is not None}
    return [bare(one) for one in value] if isinstance(value, list) else value


def whole(name: str) -> dict[str, Any]:
    return dict(EVENTS[name][0])


def pieces(name: str, size: int = 3) -> Events:
    response, events = EVENTS[name]
    return events(response, size)


def joined(name: str, *records: Any) -> list[Episode | Problem]:
    """What the records of a file give."""
    with TemporaryDirectory() as folder:
        return list(import_trace(write(Path(folder), *records), name))


def episodes(name: str, *records: Any) -> list[Episode]:
    return good(iter(joined(name, *records)))


@cache
def expected(name: str) -> Episode:
    """The episode of the response that was not streamed."""
    (episode,) = episodes(name, whole(name))
    return episode


def test_what_is_streamed_here_says_something() -> None:
    for name in EVENTS:
        assert [call.id for call in expected(name).calls] == ["c1", "c2", "c3"]
        assert expected(name).messages[-1].content == "I look – at both."
        assert expected(name).extra["usage"]["output_tokens"] == 2


# What the SDKs yield


def dump(value: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a union in OpenAI's SDK
        dumped: dict[str, Any] = value.model_dump(mode="json")
    return dumped


def sent(name: str) -> dict[str, Any]:
    if name == "anthropic":
        return {"model": "claude-x", "max_tokens": 9, "messages": ASKED}
    return {"model": "gpt-x", "input" if name == "openai-responses" else "messages": ASKED}


Create = Callable[..., Any]


def clients(url: str) -> Iterator[tuple[str, Create, Create]]:
    """Each API with the functions of its SDK that create a response, and stream it with helpers."""
    import anthropic  # both are slow to import
    import openai

    of_openai = openai.OpenAI(api_key="none", base_url=url, max_retries=0)
    of_anthropic = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)
    with of_openai, of_anthropic:
        chat, responses, messages = of_openai.chat.completions, of_openai.responses, of_anthropic.messages
        yield "openai", chat.create, chat.stream
        yield "openai-responses", responses.create, responses.stream
        yield "anthropic", messages.create, messages.stream


def test_what_the_sdks_yield_gives_the_episode_of_the_whole_response(tmp_path: Path) -> None:
    with StreamServer() as server:
        for name, create, stream in clients(server.url):
            (once,) = read(write(tmp_path, dump(create(**sent(name)))), name)
            raw = [dump(event) for event in create(**sent(name), stream=True)]
            with stream(**sent(name)) as helped:
                with_helpers = [dump(event) for event in helped]
            assert len(raw) > 20
            for events in (raw, with_helpers):
                assert read(write(tmp_path, *events), name) == [once]
                assert read(write(tmp_path, events, name="list.json"), name) == [once]
                exchange = {"request": sent(name), "response": events}
                (asked,) = read(write(tmp_path, exchange), name)
                assert (asked.calls, asked.extra["usage"]) == (once.calls, once.extra["usage"])
                assert [one for one in asked.messages if one.role != "user"] == list(once.messages)


# Forms of a log


def forms(name: str, events: Events) -> dict[str, str]:
    """Files with a stream alone."""
    text = event_text(name, events)
    named = [{"event": one.get("type"), "data": json.dumps(one)} for one in events]
    return {
        "lines": "\n".join(map(json.dumps, events)),
        "list": json.dumps(events, indent=1),
        "a list in a line": json.dumps(events) + "\n" + json.dumps(events),
        "events": text,
        "events with carriage returns": text.replace("\n", "\r\n"),
        "events without empty lines": text.replace("\n\n", "\n"),
        "events with comments": ": ping\n\n" + text.replace("data: ", "data:"),
        "events with a byte order mark": "\ufeff" + text,
        "events of several lines": "".join(
            "".join(f"data: {line}\n" for line in json.dumps(one, indent=1).splitlines()) + "\n" for one in events
        ),
        "names and data": "\n".join(map(json.dumps, named)),
    }


@names
@pytest.mark.parametrize("form", forms("openai", []))
def test_a_stream_alone_is_joined_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    file = tmp_path / "stream.log"
    file.write_text(forms(name, pieces(name))[form], encoding="utf-8", newline="")
    count = 2 if form == "a list in a line" else 1
    assert read(file, name) == [expected(name)] * count


@names
def test_a_streamed_response_in_an_exchange_is_joined(name: str) -> None:
    events = pieces(name)
    text = event_text(name, events)
    (once,) = episodes(name, {"request": sent(name), "response": whole(name)})
    for response in (events, text, text.splitlines(), {"status": 200, "body": text}, {"status": 200, "body": events}):
        (episode,) = episodes(name, {"request": sent(name), "response": response})
        assert (episode.calls, episode.messages, episode.agent) == (once.calls, once.messages, once.agent)
        assert episode.extra["usage"] == once.extra["usage"]
        assert "cut_off" not in episode.extra["metadata"]


@names
def test_of_streamed_exchanges_that_repeat_each_other_the_last_is_read(name: str) -> None:
    key = "input" if name == "openai-responses" else "messages"
    said: dict[str, list[Any]] = {
        "openai": [CHAT["choices"][0]["message"], {"role": "tool", "tool_call_id": "c1", "content": "dry"}],
        "openai-responses": [*RESPONSE["output"], {"type": "function_call_output", "call_id": "c1", "output": "dry"}],
        "anthropic": [{"role": "assistant", "content": MESSAGE["content"]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "dry"}]}],
    }  # fmt: skip
    first = {"request": {key: ASKED}, "response": pieces(name)}
    again = renamed(pieces(name))
    second = {"request": {key: [*ASKED, *said[name]]}, "response": again}
    (episode,) = episodes(name, first, second)
    assert [(call.id, call.turn) for call in episode.calls] == [
        ("c1", 1), ("c2", 1), ("c3", 1), ("d1", 2), ("d2", 2), ("d3", 2)
    ]  # fmt: skip
    assert episode.calls[0].result == "dry"


@names
def test_no_other_format_takes_a_piece(name: str) -> None:
    for other in ("openai-responses", "anthropic", "gemini", "langchain", "pydantic-ai", "openai"):
        module = __import__(f"corepath.importers.formats.{other.replace('-', '_')}", fromlist=["mismatch"])
        taken = [piece for piece in pieces(name) if module.mismatch(piece) is None]
        assert bool(taken) is (other == name), (other, taken[:1])
        assert (module.mismatch(pieces(name)) is None) is (other == name)


# Streams that were cut


def check_cut(name: str, episode: Episode) -> None:
    """An episode has nothing that the whole one has not, and what it has is in its place."""
    full = expected(name)
    for call, meant in zip(episode.calls, full.calls, strict=False):
        assert (call.tool, call.id) == (meant.tool, meant.id)
        arrived, all_of_it = (as_text(one.arguments) for one in (call, meant))
        assert call.arguments in (meant.arguments, {}) or all_of_it.startswith(arrived)
    assert len(episode.calls) <= len(full.calls)
    said = [str(one.content) for one in episode.messages if one.role == "assistant"]
    assert str(full.messages[-1].content).startswith("".join(said))


def as_text(arguments: Any) -> str:
    """Arguments as they are streamed. Those of a custom tool are its input."""
    if not isinstance(arguments, dict):
        return str(arguments)
    return str(arguments["input"] or "") if "input" in arguments else json.dumps(arguments)


@names
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_that_was_cut_keeps_what_arrived(name: str, size: int) -> None:
    events = pieces(name, size)
    sizes: list[int] = []
    for end in range(1, len(events) + 1):
        (episode,) = load_episodes(name, events[:end])
        check_cut(name, episode)
        said = "".join(str(one.content) for one in episode.messages if one.role == "assistant")
        sizes.append(len(episode.calls) * 1000 + len(said))
        is_cut = episode.extra["metadata"].get("cut_off") is True
        ends = {"chat.completion.chunk": 1, "message_stop": 1, "response.completed": 0}
        last = str(events[-1].get("type") or events[-1].get("object"))
        assert is_cut is (end < len(events) - ends[last]), end
    assert sizes == sorted(sizes), "what arrived is never lost again"
    assert sizes[-1] == 3000 + len("I look – at both.")


def load_episodes(name: str, events: Events) -> list[Episode]:
    module = __import__(f"corepath.importers.formats.{name.replace('-', '_')}", fromlist=["read_record"])
    return list(module.read_record(events))


@names
def test_the_arguments_of_a_call_that_was_cut_stay_text(name: str) -> None:
    texts = set()
    for end in range(1, len(pieces(name, 1))):
        (episode,) = load_episodes(name, pieces(name, 1)[:end])
        texts |= {call.arguments for call in episode.calls if isinstance(call.arguments, str)}
    sent_text = '{"plant": "A", "deep": true}'
    assert {sent_text[:end] for end in range(1, len(sent_text))} <= texts
    assert all(arguments_of(text) == text for text in texts)


@names
def test_events_that_are_cut_anywhere_keep_what_arrived(name: str, tmp_path: Path) -> None:
    text = event_text(name, pieces(name))
    first = text.index("\n\n")
    for end in range(first + 2, len(text), 7):
        file = tmp_path / "cut.log"
        file.write_text(text[:end], encoding="utf-8")
        found = list(import_trace(file, name))
        kept = [one for one in found if isinstance(one, Episode)]
        problems = [one for one in found if isinstance(one, Problem)]
        assert len(kept) == 1
        check_cut(name, kept[0])
        assert len(problems) <= 1
        assert all("not JSON" in one.message and one.line == text[:end].count("\n") + 1 for one in problems)


@names
def test_a_stream_that_ends_with_an_error_keeps_it(name: str) -> None:
    error = {"message": "overloaded", "code": 529}
    ends = {"type": "error", **error} if name == "openai-responses" else {"type": "error", "error": error}
    events = pieces(name)
    (episode,) = episodes(name, *events[: len(events) // 2], ends)
    metadata = episode.extra["metadata"]
    assert (metadata["error"]["message"], metadata["cut_off"]) == ("overloaded", True)
    assert outcomes(iter(joined(name, ends)))[0] != 0


# Streams that are split elsewhere


@names
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 21, 34])
def test_it_does_not_matter_where_texts_are_split(name: str, size: int) -> None:
    assert episodes(name, *pieces(name, size)) == [expected(name)]


# Streams that are mixed


def renamed(events: Events) -> Events:
    """The events of another stream, with its own ids."""
    text = json.dumps(events)
    for old in ("chatcmpl-1", "resp_1", "msg_1", "fc_1", "fc_2", "rs_1", "ct_1"):
        text = text.replace(f'"{old}"', f'"{old}b"')
    for number in "123":
        text = text.replace(f'"c{number}"', f'"d{number}"')
    return list(json.loads(text))


@st.composite
def shuffled(draw: st.DrawFn, *streams: Events) -> Events:
    """The events of several streams, each in its order."""
    waiting = [list(events) for events in streams]
    mixed: Events = []
    while any(waiting):
        chosen = draw(st.sampled_from([events for events in waiting if events]))
        for _ in range(draw(st.integers(1, 12))):
            if chosen:
                mixed.append(chosen.pop(0))
    return mixed


def both(name: str) -> tuple[Events, Events, list[Episode]]:
    first, second = pieces(name, 8), renamed(pieces(name, 5))
    return first, second, [*load_episodes(name, first), *load_episodes(name, second)]


def told_apart(found: list[Episode], meant: list[Episode]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, meant))


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
@given(st.data())
def test_streams_that_are_logged_at_the_same_time_are_told_apart_by_their_ids(name: str, data: st.DataObject) -> None:
    first, second, meant = both(name)
    assert told_apart(load_episodes(name, data.draw(shuffled(first, second))), meant)


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
@given(st.data())
def test_one_of_two_mixed_streams_may_be_cut(name: str, data: st.DataObject) -> None:
    first, second, (_, meant) = both(name)
    end = data.draw(st.integers(1, len(first) - 3))
    cut = load_episodes(name, first[:end])
    assert told_apart(load_episodes(name, data.draw(shuffled(first[:end], second))), [*cut, meant])


@given(st.data())
def test_mixed_streams_of_anthropic_are_told_apart_by_the_ids_that_were_logged_with_them(data: st.DataObject) -> None:
    first, second, meant = both("anthropic")
    marked = [[{**event, "request_id": id_} for event in events] for id_, events in (("a", first), ("b", second))]
    assert told_apart(load_episodes("anthropic", data.draw(shuffled(*marked))), meant)


@given(st.data())
def test_mixed_streams_without_ids_are_never_taken_for_something_else(data: st.DataObject) -> None:
    first, second, meant = both("anthropic")
    mixed = data.draw(shuffled(first, second))
    if mixed in ([*first, *second], [*second, *first]):
        assert told_apart(load_episodes("anthropic", mixed), meant)
    else:
        with pytest.raises(RecordError, match="mixed"):
            load_episodes("anthropic", mixed)


@names
@given(st.data())
def test_a_stream_after_one_that_was_cut_is_another(name: str, data: st.DataObject) -> None:
    first, second, _ = both(name)
    ends = [data.draw(st.integers(1, len(events))) for events in (first, second)]
    begun, after = first[: ends[0]], second[: ends[1]]
    assert load_episodes(name, [*begun, *after]) == [*load_episodes(name, begun), *load_episodes(name, after)]


def test_two_cut_responses_that_cannot_be_told_apart_are_refused() -> None:
    first, second, _ = both("openai-responses")
    mixed = [one for pair in zip(first[:9], second[:9], strict=True) for one in pair]
    problems = joined("openai-responses", *mixed)
    assert ["cannot be told apart" in str(one) for one in problems] == [True, True]


def test_mixed_streams_without_ids_are_named_with_their_places() -> None:
    first, second, _ = both("anthropic")
    problems = joined("anthropic", first[0], second[0], *first[1:], *second[1:])
    assert [one.line for one in problems if isinstance(one, Problem)] == [1, 2]
    assert "request_id" in str(problems[0])


def test_streams_and_other_records_may_be_in_one_log(tmp_path: Path) -> None:
    chat = {"messages": [*ASKED, {"role": "assistant", "content": "No."}]}
    found = episodes("openai", *pieces("openai")[:5], chat, *pieces("openai")[5:])
    assert [one.answer for one in found] == ["No.", None]
    assert found[1] == expected("openai")


# What providers do differently


def chunk(delta: dict[str, Any], reason: str | None = None, id_: str | None = "x", **more: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return {"id": id_, "object": "chat.completion.chunk", "model": "m", "choices": choices, **more}


def part(arguments: str, name: Any = None, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]}


def one_of(*chunks: Any) -> Episode:
    (episode,) = load_episodes("openai", list(chunks))
    return episode


def test_parts_of_a_call_may_repeat_its_id_and_name() -> None:
    parts = [part('{"a"', "look", index=0, id="1"), part(": 1}", "look", index=0, id="1")]
    assert one_of(*map(chunk, parts)).calls == (Call("look", {"a": 1}, id="1", turn=1),)


def test_the_name_of_a_call_may_come_in_parts() -> None:
    parts = [part("", "lo", index=0, id="1"), part("{}", "ok", index=0)]
    assert one_of(*map(chunk, parts)).calls == (Call("look", {}, id="1", turn=1),)


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_calls_without_indexes_of_their_own_are_told_apart_by_their_ids(index: dict[str, int]) -> None:
    parts = [part('{"n": 1}', "look", id="1", **index), part('{"n": ', "look", id="2", **index), part("2}", **index)]
    assert [(call.id, call.arguments) for call in one_of(*map(chunk, parts)).calls] == [
        ("1", {"n": 1}), ("2", {"n": 2})
    ]  # fmt: skip


def test_an_id_that_is_used_again_after_the_end_of_a_stream_is_another_stream() -> None:
    stream = [chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop"), chunk({"content": ""}, usage={})]
    found = load_episodes("openai", [*stream, *stream])
    assert [one.answer for one in found] == ["Hi", "Hi"]


def test_chunks_in_one_exchange_belong_together_whatever_their_ids() -> None:
    chunks = [chunk({"content": text}, id_=id_) for id_, text in (("1", "Hi"), ("2", " you"))]
    (episode,) = episodes("openai", {"request": {"messages": ASKED}, "response": chunks})
    assert episode.answer == "Hi you"
    with pytest.raises(RecordError, match="the response holds 2 streams"):
        load_episodes("anthropic", {"request": {"messages": ASKED}, "response": 2 * pieces("anthropic")})  # type: ignore[arg-type]


def test_chunks_with_an_id_each_are_one_stream() -> None:
    texts = ["I ", "look", "."]
    chunks = [chunk({"content": text}, id_=f"x{n}") for n, text in enumerate(texts)]
    ends = [*chunks, chunk({}, "stop", "stub")]
    assert [one.answer for one in load_episodes("openai", ends)] == ["I look."]
    whole_ones = [chunk({"content": text}, "stop", text) for text in texts]
    assert [one.answer for one in load_episodes("openai", whole_ones)] == texts


def test_a_stream_may_end_with_its_usage_alone_and_begin_later_than_its_last_chunk() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    last = {**chunk({}, created=9), "choices": [], "usage": usage}
    episode = one_of(chunk({"content": "Hi"}, created=5), last)
    assert ("cut_off" in episode.extra["metadata"], episode.messages[0].time) == (False, 5)
    of_groq = one_of(chunk({"content": "Hi"}), chunk({}, "stop", x_groq={"id": "r", "usage": usage}))
    assert of_groq.extra["usage"] == episode.extra["usage"] == {"requests": 1, "input_tokens": 7, "output_tokens": 2}


def test_what_azure_says_of_the_prompt_is_no_stream() -> None:
    preface = {"id": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    assert episodes("openai", preface, *pieces("openai")) == [expected("openai")]


def test_legacy_functions_refusals_and_other_choices() -> None:
    other = {**chunk({"content": "no"}), "choices": [{"index": 1, "delta": {"content": "no"}}]}
    parts = [{"function_call": {"name": "look", "arguments": "{"}}, {"function_call": {"arguments": "}"}}]
    assert one_of(other, *map(chunk, parts)).calls == (Call("look", {}, turn=1),)
    assert one_of(chunk({"refusal": "I can"}), other, chunk({"refusal": "not."}, "stop")).answer == "I cannot."


def test_a_completed_response_without_its_output_has_the_items_that_arrived() -> None:
    events = response_events(RESPONSE)
    stripped = [*events[:-1], {**events[-1], "response": {**RESPONSE, "output": []}}]
    again = renamed(stripped)
    found = load_episodes("openai-responses", [*stripped, *again])
    assert [[call.arguments for call in one.calls] for one in found] == [
        [call.arguments for call in expected("openai-responses").calls]
    ] * 2
    assert found[0] == expected("openai-responses")


@given(st.data())
def test_a_whole_response_may_give_other_ids_to_its_items(data: st.DataObject) -> None:
    events = response_events(RESPONSE, 8)
    other = [{**item, "id": f"{item['id']}_new"} for item in RESPONSE["output"]]
    changed = [*events[:-1], {**events[-1], "response": {**RESPONSE, "output": other}}]
    assert load_episodes("openai-responses", changed) == [expected("openai-responses")]
    mixed = data.draw(shuffled(changed, renamed(events)))
    assert [len(one.calls) for one in load_episodes("openai-responses", mixed)] == [3, 3]


def test_events_without_the_ids_of_items_are_joined_by_their_place() -> None:
    events = copy.deepcopy(response_events(RESPONSE)[:-1])
    for event in events:
        event.pop("item_id", None)
        event.get("item", {}).pop("id", None)
        event.pop("sequence_number")
    (episode,) = load_episodes("openai-responses", events)
    assert episode.calls == expected("openai-responses").calls


def test_streamed_responses_that_continue_each_other_are_one_conversation(tmp_path: Path) -> None:
    answers = [{"type": "function_call_output", "call_id": f"c{n}", "output": "ok"} for n in (1, 2, 3)]
    end = {"type": "message", "id": "m2", "role": "assistant", "content": [
        {"type": "output_text", "text": "Done.", "annotations": []}]}  # fmt: skip
    second = {**RESPONSE, "id": "resp_2", "previous_response_id": "resp_1", "output": [end]}
    exchange = {"request": {"input": answers, "previous_response_id": "resp_1"}, "response": response_events(second)}
    for log in ([*response_events(RESPONSE), exchange], [exchange, *response_events(RESPONSE)]):
        (episode,) = episodes("openai-responses", *log)
        assert ([call.result for call in episode.calls], episode.answer) == (["ok"] * 3, "Done.")
        assert episode.extra["usage"]["requests"] == 2


def test_the_start_of_a_stream_may_be_missing() -> None:
    for name in EVENTS:
        found = load_episodes(name, pieces(name)[4:-3])
        assert [len(one.calls) for one in found] == [3], name


def test_many_comments_may_come_before_the_first_event(tmp_path: Path) -> None:
    file = tmp_path / "stream.log"
    file.write_text(": PROCESSING\n\n" * 500 + event_text("openai", pieces("openai")), encoding="utf-8")
    assert read(file, "openai") == [expected("openai")]


def test_text_that_only_looks_like_events_is_no_stream(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("data: none\nevent: x\n", encoding="utf-8")
    assert "not JSON" in str(outcomes(import_trace(file, "openai"))[0])
    (episode,) = episodes("openai", [{"role": "assistant", "content": "data: {}"}])
    assert episode.answer == "data: {}"


# Gemini


def gemini_chunk(text: str, reason: str | None = None, id_: str | None = "r") -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": id_}


@given(st.data())
def test_chunks_of_gemini_are_joined_too(data: st.DataObject) -> None:
    first = [gemini_chunk("I "), gemini_chunk("look."), gemini_chunk("", "STOP")]
    second = [gemini_chunk("Not ", id_="s"), gemini_chunk("I.", "STOP", id_="s")]
    found = load_episodes("gemini", data.draw(shuffled(first, second)))
    assert sorted(str(one.answer) for one in found) == ["I look.", "Not I."]
    unnamed = [[{**one, "responseId": None} for one in events] for events in (first, second)]
    assert [one.answer for one in load_episodes("gemini", [*unnamed[0], *unnamed[1]])] == ["I look.", "Not I."]
    (cut,) = load_episodes("gemini", first[:2])
    assert (cut.answer, cut.extra["metadata"]["cut_off"]) == ("I look.", True)


def test_events_of_gemini_are_joined(tmp_path: Path) -> None:
    text = "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in (gemini_chunk("I "), gemini_chunk("look.", "STOP")))
    file = tmp_path / "gemini.log"
    file.write_text(text, encoding="utf-8", newline="")
    assert [one.answer for one in read(file, "gemini")] == ["I look."]
    (asked,) = episodes("gemini", {"request": {"contents": "Look."}, "response": text})
    assert [one.content for one in asked.messages] == ["Look.", "I look."]


# Damage


@names
@given(st.data())
def test_damaged_streams_give_episodes_or_problems(name: str, data: st.DataObject) -> None:
    events = data.draw(damaged(pieces(name, 8)))
    with TemporaryDirectory() as folder:
        for records in (events, [events], [{"request": sent(name), "response": events}]):
            file = write(Path(folder), *records, None)
            assert outcomes(load_format(name).read(file))
        text = event_text(name, [one for one in events if isinstance(one, dict)])
        file.write_text(text or "{}", encoding="utf-8")
        assert outcomes(load_format(name).read(file))

"""Gemini contents: both spellings, calls without ids, code execution, and the SDK's automatic calls."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from corepath import Call, Episode
from corepath.errors import RecordError
from corepath.importers.formats.gemini import mismatch, read_record
from corepath.notation.call import UNANSWERED

from .damage import read, write


@pytest.fixture(scope="module")
def genai() -> Any:
    """The package of Google, which is slow to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of its own texts where it was not compiled before
        from google import genai
    return genai


def one(contents: Any) -> Any:
    (episode,) = read_record(contents)
    return episode


def call(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args or {}, **more}}


def answer(name: str, response: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


@pytest.mark.parametrize("by_alias", [True, False])
def test_contents_that_the_package_of_google_dumps(genai: Any, tmp_path: Path, by_alias: bool) -> None:
    types = genai.types
    contents = [
        types.UserContent("Look."),
        types.ModelContent([
            types.Part(text="hm", thought=True), types.Part.from_text(text="I look."),
            types.Part.from_function_call(name="look", args={"plant": "A"}),
            types.Part.from_function_call(name="look", args={"plant": "B"})]),
        types.UserContent([
            types.Part.from_function_response(name="look", response={"result": "dry"}),
            types.Part.from_function_response(name="look", response={"error": "no such plant"})]),
        types.ModelContent([
            types.Part.from_executable_code(code="1/0", language=types.Language.PYTHON),
            types.Part.from_code_execution_result(outcome=types.Outcome.OUTCOME_FAILED, output="ZeroDivisionError"),
            types.Part.from_text(text="Done.")]),
    ]  # fmt: skip
    dumped = [content.model_dump(mode="json", by_alias=by_alias) for content in contents]
    (episode,) = read(write(tmp_path, dumped), "gemini")
    assert episode.calls == (
        Call("look", {"plant": "A"}, "dry", turn=1),
        Call("look", {"plant": "B"}, error="no such plant", turn=1),
        Call("code_execution", {"code": "1/0", "language": "PYTHON"}, error="ZeroDivisionError", turn=2),
    )
    assert episode.answer == "Done."
    assert [one.content for one in episode.messages] == ["Look.", "I look.", "Done."]


class _Api(BaseHTTPRequestHandler):
    """A fake API: it requests a call, then one that fails, and then answers."""

    turns: ClassVar[list[Any]] = []
    asked: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        content = self.turns[len(self.asked) - 1]
        candidate = {"content": content, "finishReason": "STOP"}
        body = json.dumps({"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    _Api.asked.clear()
    _Api.turns[:] = [
        model({"text": "I water."}, call("water", {"litres": 2})),
        model(call("water", {"litres": 9})),
        model({"text": "Watered "}, {"text": "once."}),
    ]
    server = HTTPServer(("127.0.0.1", 0), _Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def check_watered(episode: Episode) -> None:
    """The two calls of the fake API: one with a result, and one with an error message of the SDK."""
    first, second = episode.calls
    assert first == Call("water", {"litres": 2}, {"left": 5}, turn=1)
    assert (second.tool, second.arguments, second.result, second.turn) == ("water", {"litres": 9}, UNANSWERED, 2)
    assert second.error.endswith("because of error too much")
    assert episode.answer == "Watered once."


def water(litres: int) -> dict[str, int]:
    """Give water."""
    if litres > 5:
        raise ValueError("too much")
    return {"left": 5}


def test_calls_that_the_package_of_google_makes_by_itself_are_in_its_response(
    genai: Any, api: str, tmp_path: Path
) -> None:
    with genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=api)) as client:
        config = genai.types.GenerateContentConfig(tools=[water])
        response = client.models.generate_content(model="gemini-x", contents="Water it.", config=config)
    assert len(_Api.asked) == 3
    file = tmp_path / "response.json"
    file.write_text(response.model_dump_json())
    (episode,) = read(file, "gemini")
    check_watered(episode)
    assert episode.agent == "gemini-x"


def test_requests_and_responses_that_were_logged_are_one_episode(genai: Any, api: str, tmp_path: Path) -> None:
    with genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=api)) as client:
        client.models.generate_content(
            model="gemini-x", contents="Water it.", config=genai.types.GenerateContentConfig(tools=[water])
        )
    log = [
        {"request": asked, "response": {"candidates": [{"content": content, "finishReason": "STOP"}]}, "session": "s"}
        for asked, content in zip(_Api.asked, _Api.turns, strict=True)
    ]
    (episode,) = read(write(tmp_path, *log), "gemini")
    check_watered(episode)
    assert (episode.extra["metadata"]["session"], episode.extra["metadata"]["finishReason"]) == ("s", "STOP")


def test_a_stream_is_one_message(tmp_path: Path) -> None:
    chunks: list[Any] = [
        {"candidates": [{"content": model(part)}], "modelVersion": "gemini-x", "responseId": "r"}
        for part in ({"text": "I "}, {"text": "look."}, call("look", {"plant": "A"}))
    ]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    chunks.append({"usageMetadata": {"totalTokenCount": 9}})
    exchange = {"request": {"contents": [user({"text": "Look."})]}, "response": chunks}
    for file in (write(tmp_path, chunks, name="stream.json"), write(tmp_path, exchange)):
        (episode,) = read(file, "gemini")
        assert episode.calls == (Call("look", {"plant": "A"}, turn=1),)
        assert [one.content for one in episode.messages if one.role == "assistant"] == ["I look."]
        assert episode.extra["usage"] == {"requests": 1, "total_tokens": 9}
        assert episode.agent == "gemini-x"
        metadata = episode.extra["metadata"]
        assert (metadata["finishReason"], metadata["usageMetadata"]) == ("STOP", {"totalTokenCount": 9})
    for lines in (chunks, chunks[:3]):
        (episode,) = read(write(tmp_path, *lines), "gemini")
        assert episode.calls == (Call("look", {"plant": "A"}, turn=1),)


def test_a_list_of_whole_responses_is_no_stream(tmp_path: Path) -> None:
    whole = {"candidates": [{"content": model({"text": "Hi."}), "finishReason": "STOP"}]}
    assert [one.answer for one in read(write(tmp_path, [whole, whole], name="list.json"), "gemini")] == ["Hi.", "Hi."]


def test_a_call_that_is_sent_back_in_the_other_spelling_is_the_same(tmp_path: Path) -> None:
    asked = user({"text": "Look."})
    sent = model({"function_call": {"name": "look", "args": None, "id": None}, "thought_signature": "s"})
    log = [
        {"request": {"contents": [asked]}, "response": {"candidates": [{"content": model(call("look"))}]}},
        {"request": {"contents": [asked, sent, user(answer("look", {"output": 1}))]}, "response": {}},
    ]
    (episode,) = read(write(tmp_path, *log), "gemini")
    assert episode.calls == (Call("look", {}, 1, turn=1),)


def test_answers_without_ids_are_joined_by_name_in_their_order() -> None:
    contents = [model(call("a", {"n": 1}), call("b"), call("a", {"n": 2})),
                {"role": "function", "parts": [answer("b", {}), answer("a", {"x": 1})]},
                {"parts": [answer("a", {"x": 2})]}]  # fmt: skip
    assert [made.result for made in one(contents).calls] == [{"x": 1}, {}, {"x": 2}]


def test_an_answer_with_an_id_is_joined_to_a_call_without_one_but_not_to_another_id() -> None:
    assert one([model(call("a")), user(answer("a", {"x": 1}, id="new"))]).calls[0].result == {"x": 1}
    with pytest.raises(RecordError, match="a response of 'a' has the id 'new', but no call waits for it"):
        one([model(call("a", id="old")), user(answer("a", {"x": 1}, id="new"))])
    with pytest.raises(RecordError, match="a result for the tool 'a', but no call waits for it"):
        one([model(call("b")), user(answer("a", {}))])


@pytest.mark.parametrize(
    ("response", "result", "error"),
    [
        ({"output": 5}, 5, None),
        ({"result": [1]}, [1], None),
        ({"output": 5, "unit": "l"}, {"output": 5, "unit": "l"}, None),
        ({"error": None, "ok": True}, {"error": None, "ok": True}, None),
        ({"error": {"code": 1}}, UNANSWERED, {"code": 1}),
        ({"error": "no", "hint": "yes"}, UNANSWERED, {"error": "no", "hint": "yes"}),
        ({}, {}, None),
        (None, None, None),
    ],
)
def test_what_a_response_is(response: Any, result: Any, error: Any) -> None:
    (made,) = one([model(call("a")), user(answer("a", response))]).calls
    assert (made.result, made.error) == (result, error)


def test_tools_that_the_api_runs_are_calls() -> None:
    parts = [{"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
             {"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": 3}}},
             {"executable_code": {"code": "print(1)", "language": "PYTHON", "id": "2"}},
             {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1", "id": "2"}}]  # fmt: skip
    first, second = one([model(*parts)]).calls
    assert (first.tool, first.arguments, first.result) == ("GOOGLE_SEARCH_WEB", {"queries": ["q"]}, {"found": 3})
    assert (second.tool, second.result, second.turn) == ("code_execution", "1", 1)


def test_a_response_that_was_blocked_has_no_words_and_says_why() -> None:
    episode = one(
        {"contents": "Hi.", "candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "x("}]}
    )
    assert (episode.calls, episode.answer) == ((), None)
    assert episode.extra["metadata"] == {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "x("}


def test_contents_may_be_plain_texts() -> None:
    episode = one({"contents": {"role": "user", "parts": ["Look."]}, "candidates": [{"content": {"parts": ["Seen."]}}]})
    assert episode.answer == "Seen."


def test_parts_of_other_formats_are_not_taken() -> None:
    assert mismatch([{"role": "model", "parts": [{"type": "text", "content": "x"}]}])
    assert mismatch([{"role": "agent", "parts": [{"kind": "text", "text": "x"}]}])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (model({"functionCall": "look"}), "'functionCall' must be an object"),
        (model(5), "parts of a content must be objects; number 1 is a number"),
        ({"role": "model", "parts": "x"}, "parts of a content must be a list, not a string"),
        (user({"functionResponse": {"response": {}}}), "needs the 'name' of the function"),
    ],
)
def test_what_is_wrong_with_a_content_is_said(content: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        one([content])

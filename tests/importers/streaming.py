"""Streams as the APIs of OpenAI and Anthropic send them, and a local server that speaks their protocols."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

Events = list[dict[str, Any]]

ASKED: Final = [{"role": "user", "content": "Water A and B."}]
CHAT: Final[dict[str, Any]] = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1767268800, "model": "gpt-x", "system_fingerprint": "f",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": {
        "role": "assistant", "content": "I look – at both.", "refusal": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"plant": "A", "deep": true}'}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"plant": "B"}'}},
            {"id": "c3", "type": "function", "function": {"name": "wait", "arguments": "{}"}}]}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}  # fmt: skip
RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1", "object": "response", "created_at": 1767268800.0, "model": "gpt-x", "status": "completed",
    "instructions": "Be brief.", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "I look – ", "annotations": []},
            {"type": "output_text", "text": "at both.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "status": "completed",
         "arguments": '{"plant": "A", "deep": true}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "look", "status": "completed",
         "arguments": '{"plant": "B"}'},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c3", "name": "run", "input": "print(1)"}],
    "usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9, "input_tokens_details": {"cached_tokens": 3},
              "output_tokens_details": {"reasoning_tokens": 1}},
}  # fmt: skip
MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "tool_use",
    "stop_sequence": None, "content": [
        {"type": "thinking", "thinking": "Which one?", "signature": "s1"},
        {"type": "text", "text": "I look – at both."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"plant": "A", "deep": True}},
        {"type": "tool_use", "id": "c2", "name": "look", "input": {"plant": "B"}},
        {"type": "tool_use", "id": "c3", "name": "wait", "input": {}}],
    "usage": {"input_tokens": 7, "output_tokens": 2},
}  # fmt: skip


def split(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def chat_chunks(response: Mapping[str, Any], size: int = 3) -> Events:
    """The chunks of a chat completion, whose texts come in parts of this size."""
    whole = response["choices"][0]["message"]
    deltas: Events = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in split(whole["content"], size)]
    for index, call in enumerate(whole["tool_calls"]):
        function = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]})
    longest = max(len(split(call["function"]["arguments"], size)) for call in whole["tool_calls"])
    for number in range(longest):  # the parts of parallel calls alternate
        for index, call in enumerate(whole["tool_calls"]):
            parts = split(call["function"]["arguments"], size)[number : number + 1]
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in parts]
    common = {name: response[name] for name in ("id", "created", "model", "system_fingerprint")}
    common["object"] = "chat.completion.chunk"
    chunks = [{**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    reason = response["choices"][0]["finish_reason"]
    chunks.append({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return [*chunks, {**common, "choices": [], "usage": response["usage"]}]


def response_events(response: Mapping[str, Any], size: int = 3) -> Events:
    """The events of a response, whose texts come in parts of this size."""
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    found: Events = [{"type": f"response.{name}", "response": begun} for name in ("created", "in_progress")]
    for index, item in enumerate(response["output"]):
        found += _item_events(item, {"output_index": index, "item_id": item["id"]}, size)
    found.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


def _item_events(item: Mapping[str, Any], about: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    empty = {name: value for name, value in {"content": [], "arguments": "", "input": ""}.items() if name in item}
    index = {"output_index": about["output_index"]}
    yield {"type": "response.output_item.added", **index, "item": {**item, **empty, "status": "in_progress"}}
    for number, part in enumerate(item.get("content", ())):
        place = {**about, "content_index": number}
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        for text in split(part["text"], size):
            yield {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}
    for kind, name in (("function_call_arguments", "arguments"), ("custom_tool_call_input", "input")):
        if name in item:
            for text in split(item[name], size):
                yield {"type": f"response.{kind}.delta", **about, "delta": text}
            yield {"type": f"response.{kind}.done", **about, name: item[name]}
    yield {"type": "response.output_item.done", **index, "item": item}


def message_events(message: Mapping[str, Any], size: int = 3) -> Events:
    """The events of a message, whose texts come in parts of this size."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    found: Events = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        kinds = {"thinking": ("thinking", "signature"), "text": ("text",), "tool_use": ("input",)}[block["type"]]
        start = {**block, **{name: {} if name == "input" else "" for name in kinds}}
        found.append({"type": "content_block_start", "index": index, "content_block": start})
        for name in kinds:
            value = block[name] if name != "input" else json.dumps(block[name]) if block[name] else ""
            field, kind = ("partial_json", "input_json") if name == "input" else (name, name)
            parts = [value] if name == "signature" else split(value, size)
            found += [{"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", field: part}}
                      for part in parts]  # fmt: skip
        found.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    return [*found, {"type": "message_delta", "delta": ended, "usage": usage}, {"type": "message_stop"}]


EVENTS: Final[dict[str, tuple[Mapping[str, Any], Callable[..., Events]]]] = {
    "openai": (CHAT, chat_chunks),
    "openai-responses": (RESPONSE, response_events),
    "anthropic": (MESSAGE, message_events),
}
"""For each API: a response, and how it is streamed."""
_PATHS: Final = {"/chat/completions": "openai", "/responses": "openai-responses", "/v1/messages": "anthropic"}


def event_text(name: str, events: Events) -> str:
    """The server-sent events of a stream."""
    named = [f"event: {one['type']}\n" if "type" in one else "" for one in events]
    lines = [f"{event}data: {json.dumps(one)}\n\n" for event, one in zip(named, events, strict=True)]
    return "".join(lines) + ("data: [DONE]\n\n" if name == "openai" else "")


class StreamServer:
    """A local server that answers each API with its response, as a stream if the request asks for one."""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = _PATHS[self.path.partition("?")[0]]
        response, events = EVENTS[name]
        streamed = body.get("stream") is True
        sent = (event_text(name, events(response)) if streamed else json.dumps(response)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        pass

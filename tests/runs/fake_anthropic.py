"""A local server of Anthropic's Messages API that refuses what the real one refuses.

with FakeAnthropic(lambda prompt, turn: [("move", {"to": "A"})] if turn == 0 else []) as server:
    ...  # server.url; then server.requests
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from jsonschema import Draft202012Validator

Plan = Callable[[str, int], Sequence[tuple[str, Any]]]
"""The calls of a turn, by the first text of the user and the number of the turn; none ends the conversation."""


class FakeAnthropic:
    """A context manager that serves the plan at `url`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests: list[dict[str, Any]] = []
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._listener.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._listener.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The next message of the model."""
        self.requests.append(body)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        calls = self.plan(_text(body["messages"][0]["content"]), turn)
        blocks: list[dict[str, Any]] = [
            {"type": "tool_use", "id": f"toolu_{turn}_{place}", "name": name, "input": given}
            for place, (name, given) in enumerate(calls)
        ]
        return {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": "I act." if blocks else "Done."}, *blocks],
            "stop_reason": "tool_use" if blocks else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wrong = "no such path" if self.path != "/v1/messages" else _why_refused(self.headers, body)
        owner: FakeAnthropic = self.server.owner  # type: ignore[attr-defined]
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}
        sent = json.dumps(error if wrong else owner.answer(body)).encode()
        self.send_response(400 if wrong else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as in the base class
        pass


def _why_refused(headers: Any, body: Mapping[str, Any]) -> str:
    """Why Anthropic's own server would refuse a request, or an empty text."""
    if not (headers["x-api-key"] or headers["authorization"]) or not headers["anthropic-version"]:
        return "a key and anthropic-version are required"
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            return f"{name}: Field required"
    for tool in body.get("tools", []):
        if tool.keys() - {"name", "description", "input_schema"} or tool["input_schema"]["type"] != "object":
            return f"tools: {tool} is none"
        Draft202012Validator.check_schema(tool["input_schema"])
    waiting: list[str] = []
    for place, message in enumerate(body["messages"]):
        if message["role"] != ("user", "assistant")[place % 2]:
            return f"messages.{place}: roles must alternate"
        blocks = message["content"] if isinstance(message["content"], list) else []
        if [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] != waiting:
            return f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return ""


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)

"""A local server of OpenAI's chat completions API, whose script decides how well or badly it answers.

with BadServer(lambda request: says("Done.") if request.number else calls(("move", {"to": "A"}))) as server:
    ...  # server.url; then server.requests and server.times
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

# Requests


@dataclass(frozen=True)
class Request:
    """A request as a script sees it; it has all that a script needs to answer without memory of its own."""

    body: Mapping[str, Any]
    number: int  # of assistant messages in it: 0 in the first turn of a conversation
    attempt: int  # how often this very body has come, this time included: 1 the first time
    system: str  # "" where there is none
    user: str  # the first message of a user


def _text(messages: Sequence[Mapping[str, Any]], *roles: str) -> str:
    content = next((message.get("content") for message in messages if message.get("role") in roles), None)
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


# Replies

Ending = Literal["whole", "cut", "cut unseen", "nothing"]


@dataclass(frozen=True)
class Reply:
    """A reply: a completion, sent as JSON or as a stream of events as the request asks, or raw bytes."""

    content: Mapping[str, Any] | bytes
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0  # seconds before anything is sent
    ends: Ending = "whole"  # "cut" promises all in Content-Length; "cut unseen" promises nothing
    streams: bool = False  # even where the request does not ask for it


Script = Callable[[Request], Reply]
FRESH_ID = "an id of its own"  # becomes call_TURN_PLACE when it is sent


def call(name: str | None, arguments: object, **changes: object) -> dict[str, Any]:
    """A tool call in a completion. Arguments in a dict are dumped as JSON; anything else is sent unchanged."""
    sent = json.dumps(arguments) if isinstance(arguments, dict) else arguments
    return {"id": FRESH_ID, "type": "function", "function": {"name": name, "arguments": sent}, **changes}


def completion(message: Mapping[str, Any], finish: str, tokens: tuple[int, int] | None = (10, 5)) -> Reply:
    """A completion with any assistant message; `tokens` are the tokens of the prompt and of the answer."""
    made: dict[str, Any] = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
    }
    if tokens is not None:
        prompt, answer = tokens
        made["usage"] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return Reply(made)


def says(text: str | None, tokens: tuple[int, int] | None = (10, 5)) -> Reply:
    return completion({"content": text}, "stop", tokens)


def calls(
    *made: tuple[str | None, object] | dict[str, Any],
    text: str | None = None,
    tokens: tuple[int, int] | None = (10, 5),
) -> Reply:
    """`calls(("move", {"to": "A"}), ("scan", '{"plant": '))`; a dict made by `call` is sent unchanged."""
    sent = [one if isinstance(one, dict) else call(*one) for one in made]
    return completion({"content": text, "tool_calls": sent}, "tool_calls", tokens)


def status(
    number: int, message: str = "The server says no.", *, code: str | None = None, retry_after: float | None = None
) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return replace(
        _error({"message": message, "type": None, "param": None, "code": code}), status=number, headers=headers
    )


def error_in_200(message: str = "The server says no.", code: str | int | None = 502) -> Reply:
    """An error in place of a completion, as gateways send it after the headers are out."""
    return _error({"message": message, "code": code})


def error_in_stream(message: str = "The server says no.", code: str | int | None = 502) -> Reply:
    """A stream that starts well and then sends an error."""
    begun = {"index": 0, "delta": {"role": "assistant", "content": "Do"}, "finish_reason": None}
    chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [begun]}
    lines = [json.dumps(one) for one in (chunk, {"error": {"message": message, "code": code}})]
    return Reply("".join(f"data: {line}\n\n" for line in lines).encode(), kind="text/event-stream")


def _error(error: Mapping[str, Any]) -> Reply:
    return Reply(json.dumps({"error": error}).encode())


def filtered(text: str | None = "I ca") -> Reply:
    return completion({"content": text}, "content_filter")


def filtered_by_azure() -> Reply:
    result = {"hate": {"filtered": False, "severity": "safe"}, "violence": {"filtered": True, "severity": "high"}}
    error = {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": result},
    }
    return replace(_error(error), status=400)


def later(seconds: float, reply: Reply) -> Reply:
    return replace(reply, wait=seconds)


def hangs(seconds: float) -> Reply:
    """Send no answer, and then close the connection."""
    return Reply(b"", wait=seconds, ends="nothing")


def cuts_off(reply: Reply | None = None) -> Reply:
    """Send less than Content-Length promises."""
    return replace(reply or says("Done."), ends="cut")


def cuts_off_stream(reply: Reply | None = None) -> Reply:
    """A stream that ends in the middle of a line, without any error in the protocol."""
    return replace(reply or says("Done."), ends="cut unseen", streams=True)


def not_json(kind: str = "application/json") -> Reply:
    return Reply(b"<html><body>Bad gateway</body></html>", kind=kind)


def empty(kind: str = "application/json") -> Reply:
    return Reply(b"", kind=kind)


def no_choices(choices: Sequence[object] | None = ()) -> Reply:
    content = says("").content
    assert isinstance(content, dict)
    return Reply(content | {"choices": choices})


def null_content() -> Reply:
    return says(None)


def huge(characters: int) -> Reply:
    return says("x" * characters)


def legacy_call(name: str, arguments: Mapping[str, Any]) -> Reply:
    """A call in the deprecated field `function_call`."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return completion({"content": None, "function_call": function}, "function_call")


def odd_replies() -> dict[str, Reply]:
    """Odd replies without a call, by a sentence that says what is odd."""
    return {
        "the model says nothing": says(""),
        "content is null": null_content(),
        "ten million characters": huge(10_000_000),
        "half of a sign": says("\ud800"),
        "signs that steer a terminal": says("\x1b[2J\x1b]0;title\x07<script>alert(1)</script>\x00\r"),
        "no usage": says("Done.", tokens=None),
        "no choices": no_choices(),
        "choices are null": no_choices(None),
        "the answer is filtered": filtered(),
        "the prompt is filtered, as Azure says it": filtered_by_azure(),
        "too many requests": status(429, retry_after=0),
        "the server fails": status(500),
        "the request is wrong": status(400),
        "the key is wrong": status(401),
        "an error that is no error by its status": error_in_200(),
        "an error in a stream": error_in_stream(),
        "no answer": hangs(0.1),
        "an answer cut off": cuts_off(),
        "a stream cut off": cuts_off_stream(),
        "not JSON": not_json(),
        "a page": not_json("text/html"),
        "JSON that is no object": Reply(b'"Done."'),
        "an empty body": empty(),
    }


def odd_calls(tool: str = "move", argument: str = "to", value: object = "A") -> dict[str, Reply]:
    """Odd replies that call a tool, or almost do, by a sentence that says what is odd."""
    good = {argument: value}
    key, shown = json.dumps(argument), json.dumps(value)
    unknown = call(tool, good, nobody=1)
    unknown["function"]["knows"] = {"this": []}
    return {
        "no calls in the list": calls(),
        "ten calls at once": calls(*[(tool, good)] * 10),
        "text and a call": calls((tool, good), text="I move."),
        "an empty name": calls(("", good)),
        "no name": calls((None, good)),
        "a name nobody knows": calls((f"{tool}s", good)),
        "a name of 10,000 signs": calls((tool[:1] * 10_000, good)),
        "a name that steers a terminal": calls((f"\x1b[31m{tool}\x00\r\n<script>alert(1)</script>", good)),
        "half of a sign in the name": calls((f"{tool}\ud800", good)),
        "no id": calls({part: what for part, what in call(tool, good).items() if part != "id"}),
        "an empty id": calls(call(tool, good, id="")),
        "the same id twice": calls(call(tool, good, id="same"), call(tool, good, id="same")),
        "no type": calls({part: what for part, what in call(tool, good).items() if part != "type"}),
        "a type nobody knows": calls(call(tool, good, type="magic")),
        "no function": calls(call(tool, good, function=None)),
        "arguments are null": calls((tool, None)),
        "arguments are empty": calls((tool, "")),
        "arguments are the word null": calls((tool, "null")),
        "arguments are cut off": calls((tool, f'{{{key}: "')),
        "arguments are a list": calls((tool, f"[{shown}]")),
        "arguments are a bare value": calls((tool, shown)),
        "arguments are an object and not its text": calls(call(tool, None, function={"name": tool, "arguments": good})),
        "arguments are a list and not its text": calls((tool, [value])),
        "arguments 2000 deep": calls((tool, f"{{{key}: {'[' * 2000}{']' * 2000}}}")),
        "arguments 200,000 deep": calls((tool, f"{{{key}: {'[' * 200_000}{']' * 200_000}}}")),
        "an integer of 5,000 digits": calls((tool, f"{{{key}: {'9' * 5_000}}}")),
        "NaN": calls((tool, f"{{{key}: NaN}}")),
        "infinity": calls((tool, f"{{{key}: -Infinity, {key}: 1e999}}")),
        "half of a sign in the arguments": calls((tool, f'{{{key}: "\\ud800"}}')),
        "half of a sign in the text of the arguments": calls((tool, f'{{{key}: "\ud800"}}')),
        "the same key twice": calls((tool, f'{{{key}: "first", {key}: {shown}}}')),
        "arguments and two quotes more": calls((tool, json.dumps(good) + '""')),
        "arguments and more arguments": calls((tool, json.dumps(good) * 2)),
        "fields nobody knows": calls(unknown),
        "a call, and the model says it is done": completion(
            {"content": None, "tool_calls": [call(tool, good)]}, "stop"
        ),
        "a call cut off by the length": completion(
            {"content": None, "tool_calls": [call(tool, f"{{{key}: ")]}, "length"
        ),
        "a call as before there were tools": legacy_call(tool, good),
        "a call in the text": says(f"<tool_call>{json.dumps({'name': tool, 'arguments': good})}</tool_call>"),
    }


# Scripts


def echo_oracle(plans: Mapping[str, Sequence[tuple[str, object]]], wait: float = 0.0) -> Script:
    """A script that makes the calls planned for the first user message, one per turn, and then answers."""

    def script(request: Request) -> Reply:
        if request.user not in plans:
            raise LookupError(f"no plan for {request.user!r}; there are plans for {', '.join(map(repr, plans))}")
        plan = plans[request.user]
        return later(wait, calls(plan[request.number]) if request.number < len(plan) else says("Done."))

    return script


# The server


class BadServer:
    """A context manager that serves at `url` what the script answers; it raises the errors of the script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []  # the bodies, in the order of their coming
        self.times: list[float] = []  # when they came, by time.monotonic()
        self.failures: list[Exception] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._sent: Counter[str] = Counter()
        self._listener = _Listener(self)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._listener.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.hang_up()
        self._listener.server_close()
        if self.failures and error is None:
            raise self.failures[0]

    def answer(self, body: dict[str, Any]) -> tuple[Request, Reply]:
        messages = body.get("messages") or []
        with self._lock:
            self.requests.append(body)
            self.times.append(time.monotonic())
            same = json.dumps(body, sort_keys=True)
            self._sent[same] += 1
            attempt = self._sent[same]
        number = sum(message.get("role") == "assistant" for message in messages)
        request = Request(body, number, attempt, _text(messages, "system", "developer"), _text(messages, "user"))
        try:
            return request, self.script(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, the test is to hear of it
            self.failures.append(error)
            return request, status(400, f"the script failed: {error!r}")


class _Listener(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = False  # so that closing waits for them

    def __init__(self, owner: BadServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        with self._lock:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Close the connections that clients keep open, whose threads would wait for them."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  # as in the base class
        """Ignore clients that disconnect in the middle of a reply."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.owner.failures.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "tests"}]}
        self._send(Reply(json.dumps(models).encode()) if self.path == "/v1/models" else status(404))

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self._send(status(404))
            return
        request, reply = self.server.owner.answer(json.loads(text))
        if reply.wait:
            self.server.owner.closing.wait(reply.wait)
        self._send(_written(reply, request))

    def _send(self, reply: Reply) -> None:
        assert isinstance(reply.content, bytes)
        sent = whole = reply.content
        if reply.ends != "whole":
            self.close_connection = True
            sent = _cut(whole)
        if reply.ends == "nothing":
            return
        head = {"Content-Type": reply.kind, **reply.headers}
        if reply.ends != "cut unseen":
            head["Content-Length"] = str(len(whole))
        if self.close_connection:
            head["Connection"] = "close"
        lines = [f"HTTP/1.1 {reply.status} {self.responses.get(reply.status, ('Odd',))[0]}"]
        lines += [f"{name}: {value}" for name, value in head.items()]
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode() + sent)  # all at once: no delayed ACK

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as in the base class
        pass


def _cut(text: bytes) -> bytes:
    """The first half of a reply; of a stream, cut inside the event in the middle."""
    middle = len(text) // 2
    end = text.find(b"\n\n", middle)
    return text[:middle] if end < 0 else text[: end - 10]


def _written(reply: Reply, request: Request) -> Reply:
    """The bytes of a reply to a request."""
    if isinstance(reply.content, bytes):
        return reply
    content = _with_ids(reply.content, request.number)
    if not (reply.streams or request.body.get("stream")):
        return replace(reply, content=json.dumps(content).encode())
    chunks = [json.dumps(chunk) for chunk in _chunks(content)]
    events = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])
    return replace(reply, content=events.encode(), kind="text/event-stream")


def _with_ids(content: Mapping[str, Any], number: int) -> dict[str, Any]:
    def named(place: int, one: dict[str, Any]) -> dict[str, Any]:
        return one | {"id": f"call_{number}_{place}"} if one.get("id") == FRESH_ID else one

    def choice(one: dict[str, Any]) -> dict[str, Any]:
        message = one["message"]
        if "tool_calls" in message:
            message = message | {"tool_calls": [named(*pair) for pair in enumerate(message["tool_calls"])]}
        return one | {"message": message}

    choices = content["choices"]
    return {**content, "choices": choices if choices is None else [choice(one) for one in choices]}


def _chunks(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A completion as stream chunks: the role, texts in two pieces, the end, the usage."""
    base = {**content, "object": "chat.completion.chunk"}
    usage = base.pop("usage", None)
    chunks: list[dict[str, Any]] = []
    for choice in content["choices"] or []:
        message = dict(choice["message"])
        text, made = message.pop("content", None), message.pop("tool_calls", [])
        deltas = [message | {"content": None if text is None else ""}]
        deltas += [{"content": piece} for piece in _halves(text)]
        for place, one in enumerate(made):
            function = one.get("function")
            if function is None or not isinstance(function["arguments"], str):
                deltas.append({"tool_calls": [{"index": place, **one}]})
                continue
            deltas.append({"tool_calls": [{"index": place, **one, "function": {**function, "arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
                for piece in _halves(function["arguments"])
            ]
        ends = [None] * len(deltas) + [choice["finish_reason"]]
        chunks += [
            base | {"choices": [{"index": choice["index"], "delta": delta, "finish_reason": end}]}
            for delta, end in zip([*deltas, {}], ends, strict=True)
        ]
    if not chunks:
        chunks.append(base)
    if usage is not None:
        chunks.append(base | {"choices": [], "usage": usage})
    return chunks


def _halves(text: str | None) -> list[str]:
    if not text:
        return []
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]

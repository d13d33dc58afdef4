"""A local server that takes scores as an OpenTelemetry collector, Langfuse and Phoenix do, and checks what it gets.

with Platforms() as server:
    ...  # server.url; then server.events, server.scores, server.annotations
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

PUBLIC, SECRET, PHOENIX, COLLECTOR = "pk-lf-1234", "sk-lf-5678", "phoenix-key-90", "collector key"
KEYS = {
    "LANGFUSE_PUBLIC_KEY": PUBLIC,
    "LANGFUSE_SECRET_KEY": SECRET,
    "PHOENIX_API_KEY": PHOENIX,
    "OTEL_EXPORTER_OTLP_HEADERS": "x-key=collector%20key",
}
"""The environment with the keys that the server accepts."""

_SCORE = {"id", "traceId", "sessionId", "observationId", "name", "value", "dataType", "comment", "metadata"}
_SUBJECTS = {"trace": 32, "span": 16, "session": None}


@dataclass(frozen=True)
class Reply:
    """An answer. The status 0 closes the connection without one."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class WrongRequestError(Exception):
    """A request that the platform would refuse as a whole."""


class Platforms:
    """A context manager that serves at `url`. The first requests get the `replies`, if there are any."""

    def __init__(self, *replies: Reply, ingestion: bool = True, refuse: Callable[[Any], bool] | None = None) -> None:
        self.replies = list(replies)
        self.ingestion = ingestion
        self.refuse = refuse or (lambda _: False)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.events: list[Any] = []
        self.scores: dict[str, dict[str, Any]] = {}
        self.annotations: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.wrong: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        assert not self.wrong, self.wrong

    def answer(self, path: str, headers: dict[str, str], raw: bytes) -> Reply:
        self.requests.append((path, headers, raw))
        if self.replies:
            return self.replies.pop(0)
        if headers["content-type"] != "application/json" or len(raw) > 1_000_000:
            return Reply(415)
        try:
            return self._route(path, headers, json.loads(raw.decode()))
        except (WrongRequestError, KeyError, TypeError, ValueError) as error:
            self.wrong.append(f"{path}: {error!r}")
            return Reply(400, {"message": str(error)})

    def _route(self, path: str, headers: dict[str, str], body: Any) -> Reply:
        given = headers.get("authorization")
        if path == "/v1/logs":
            return self._logs(body) if headers.get("x-key") == COLLECTOR else Reply(401)
        if path.startswith("/api/public/"):
            if given != "Basic " + base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode():
                return Reply(401, {"message": f"Invalid credentials: {given} with {headers}"})
            if path == "/api/public/ingestion" and self.ingestion:
                return self._ingest(body)
            return self._score(body) if path == "/api/public/scores" else Reply(404)
        kind = path.removeprefix("/v1/").removesuffix("_annotations")
        if kind not in _SUBJECTS:
            return Reply(404)
        return self._annotate(kind, body) if given == f"Bearer {PHOENIX}" else Reply(401)

    def _logs(self, body: Any) -> Reply:
        """OTLP/HTTP: the body must be the JSON of a protobuf message, with ids in hexadecimal."""
        records = [one for logs in body["resourceLogs"] for scope in logs["scopeLogs"] for one in scope["logRecords"]]
        taken = [one for one in records if not self.refuse(one)]
        self.events += [json.loads(json.dumps(one)) for one in taken]
        for record in records:
            for name in {"traceId", "spanId"} & record.keys():
                record[name] = base64.b64encode(bytes.fromhex(record[name])).decode()
        ParseDict(body, ExportLogsServiceRequest())
        lost = len(records) - len(taken)
        partial = {"partialSuccess": {"rejectedLogRecords": str(lost), "errorMessage": "too old"}} if lost else {}
        return Reply(200, partial)

    def _ingest(self, body: Any) -> Reply:
        """Langfuse's batches answer 207, with the errors of single events."""
        good, bad = [], []
        for event in body["batch"]:
            if event["type"] != "score-create" or not event["timestamp"].endswith("+00:00"):
                raise WrongRequestError("not an event of a score")
            if self.refuse(event["body"]):
                bad.append({"id": event["id"], "status": 400, "message": "Invalid", "error": f"no {SECRET} here"})
            else:
                self._score(event["body"])
                good.append({"id": event["id"], "status": 201})
        return Reply(207, {"successes": good, "errors": bad})

    def _score(self, score: Any) -> Reply:
        if unknown := score.keys() - _SCORE:
            raise WrongRequestError(f"unknown fields {unknown}")
        if ("traceId" in score) == ("sessionId" in score):
            raise WrongRequestError("exactly one of traceId and sessionId")
        if score["dataType"] == "BOOLEAN" and score["value"] not in (0, 1):
            raise WrongRequestError("a boolean is 0 or 1")
        if score["dataType"] not in ("BOOLEAN", "NUMERIC") or not isinstance(score["value"], (int, float)):
            raise WrongRequestError("a value is a number")
        self.scores[score["id"]] = score
        return Reply(200, {"id": score["id"]})

    def _annotate(self, kind: str, body: Any) -> Reply:
        for one in body["data"]:
            id_, digits = one[f"{kind}_id"], _SUBJECTS[kind]
            if digits is not None and (len(id_) != digits or id_ != id_.lower() or not int(id_, 16)):
                raise WrongRequestError(f"{id_} is no id of a {kind}")
            if one["annotator_kind"] != "CODE" or not isinstance(one["result"]["score"], float):
                raise WrongRequestError("not an annotation by code")
            self.annotations[one["name"], id_, one["identifier"]] = one
        return Reply(200, {"data": []})


def _handler(owner: Platforms) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            reply = owner.answer(self.path, {name.lower(): one for name, one in self.headers.items()}, raw)
            if reply.status == 0:
                self.close_connection = True
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body or {}).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(body)), "Connection": "close", **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            owner.wrong.append("a redirect was followed")

        def log_message(self, *_: object) -> None:
            pass

    return Handler

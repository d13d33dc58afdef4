"""Serve a task to MCP clients over stdio or HTTP."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from mcp_types import INVALID_REQUEST
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from corepath.episode import ANSWERED
from corepath.runs.mcp_server import mcp_server
from corepath.runs.served_task import IDLE, STOPPED, Refusal, ServedTask
from corepath.values import parse_json, why_not_json

LARGEST_BODY: Final = 20 * 1024 * 1024
"""The largest request body, in bytes."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def serve_stdio(served: ServedTask) -> None:
    """Serve one episode on standard input and output, until the client closes them or a signal arrives."""
    name = next(name for number in itertools.count(1) if (name := f"stdio-{number}") not in served.over)
    asyncio.run(_stdio(served, name))


async def _stdio(served: ServedTask, name: str) -> None:
    def stop() -> None:
        served.end_all(STOPPED)
        os._exit(0)  # a normal exit would wait for the thread that reads standard input

    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop)
    server = mcp_server(served, lambda _: name)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
    served.end_all(ANSWERED)  # at once, because clients send a signal to servers that are slow to stop


# HTTP


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket. Port 0 picks a free port."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024)


def serve_http(served: ServedTask, host: str, listener: socket.socket) -> None:
    """Serve episodes at `/e/NAME/mcp`, one for each name, until a signal arrives."""
    config = uvicorn.Config(
        http_app(served, host), access_log=False, log_config=None, ws="none", lifespan="on", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)

    def stop(_: int, __: object) -> None:
        server.should_exit = True

    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, stop)
    address = f"[{host}]" if ":" in host else host
    served.tell(f"an episode of {served.task.id}: http://{address}:{listener.getsockname()[1]}/e/NAME/mcp")
    try:
        asyncio.run(server.serve(sockets=[listener]))
    finally:
        served.end_all(STOPPED)


def http_app(served: ServedTask, host: str) -> Starlette:
    """Create the web application for a task.

    If `host` is a loopback address, the application rejects requests that name any other host.
    """
    own = [f"[{one}]" if ":" in one else one for one in _LOOPBACK]
    names = [name for one in own for name in (one, f"{one}:*")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=host in _LOOPBACK,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    manager = StreamableHTTPSessionManager(
        mcp_server(served, lambda context: cast("Request", context.request).path_params["episode"]),
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=LARGEST_BODY,
    )
    checks = TransportSecurityMiddleware(security)

    async def end(request: Request) -> Response:
        return await checks.validate_request(request) or await _end(served, request)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_end_idle(served))
        async with manager.run():
            yield
        watch.cancel()

    return Starlette(
        routes=[
            Route("/e/{episode}/mcp", _Gate(served, manager.handle_request), methods=["POST"]),
            Route("/e/{episode}/end", end, methods=["POST"]),
        ],
        middleware=[Middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY)],
        lifespan=lifespan,
    )


@dataclass(frozen=True)
class _Gate:
    """ASGI app that forwards a request if its episode can be played, and otherwise responds with an error."""

    served: ServedTask
    inside: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self.served.refusal(scope["path_params"]["episode"])
        await (_rpc_error(refusal) if refusal else self.inside)(scope, receive, send)


async def _end(served: ServedTask, request: Request) -> Response:
    """End the episode in the request's path, and respond with the scores."""
    name = request.path_params["episode"]
    body = await request.body()
    if name not in served.open:
        refusal = served.refusal(name) or Refusal(404, f"no episode '{name}' was begun")
        return JSONResponse({"error": refusal.message}, refusal.status)
    try:
        answer = _answer_in(body)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 400)
    episode = served.end(name, ANSWERED, answer)
    identity = {"task": episode.task, "agent": episode.agent, "epoch": episode.epoch, "ended": episode.outcome}
    return JSONResponse({**identity, **episode.scores})


def _rpc_error(refusal: Refusal) -> Response:
    error = {"code": INVALID_REQUEST, "message": refusal.message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, refusal.status)


def _answer_in(body: bytes) -> Any:
    """Read the final answer from the body of a request to end an episode. Return None if there is no answer.

    Raises `ValueError` if the body is invalid.
    """
    if not body.strip():
        return None
    try:
        read = parse_json(body.decode())
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from None
    if not isinstance(read, dict) or read.keys() - {"answer"}:
        raise ValueError('the body must be empty, or {"answer": "..."}')
    if wrong := why_not_json([read]):
        raise ValueError(wrong)
    return read.get("answer")


async def _end_idle(served: ServedTask) -> None:
    """Check for idle episodes at regular intervals, and end them. This never returns."""
    while True:
        await asyncio.sleep(min(1.0, served.idle / 4))
        served.end_all(IDLE, untouched=served.idle)

"""A task's world offered to MCP clients; every episode that is played in it is recorded, scored and kept.

The calls of an open episode stand in `open/NAME.jsonl` of the run's folder, one a line, until it ends and is written
with the others. What a killed server left there, the next one on the folder makes into episodes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_INFO_META_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    TextContent,
    Tool,
)
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from corepath import __version__
from corepath.episode import ANSWERED, STEP_LIMIT, Episode
from corepath.errors import InputError, Problem, StepLimitError, count
from corepath.files.episodes import episode_json, read_episodes
from corepath.files.lookup import Source
from corepath.notation.call import Call
from corepath.play.origin import KEY, identity
from corepath.play.play import recorded
from corepath.play.session import Session
from corepath.runs.folder import RunFolder, is_run
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import is_number, parse_json, why_not_json

STOPPED: Final = "stopped"
IDLE: Final = "idle"
INTERRUPTED: Final = "interrupted"
"""How an episode ends besides: the server was stopped, no request came for a while, or the server was killed."""

MOST_OPEN: Final = 1000
"""Episodes that are open at once."""
LARGEST_BODY: Final = 20 * 1024 * 1024
"""Bytes of a request."""
PROMPT: Final = "task"
"""The name under which MCP clients find the task's prompt."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_Context = ServerRequestContext[Any, Any]


def folder_for(path: Path, source: Source, seed: int) -> RunFolder:
    """The folder in which a task's served episodes are kept: a new one, or one that keeps those of the same task."""
    manifest = {"kind": "serve", **Plan((source,), seed=seed).manifest()}
    if not is_run(path):
        return RunFolder.create(path, manifest)
    folder = RunFolder.open(path)
    if any(folder.manifest.get(key) != manifest[key] for key in ("kind", "tasks", "seed")):
        message = f"is not of serving '{source.id}', seed {seed}, as it is now; give another folder with --out"
        raise InputError([Problem(str(path), 1, 1, message)])
    return folder


@dataclass
class Served:
    """An episode while clients play it."""

    session: Session
    journal: Path
    client: dict[str, str]
    touched: float
    limited: bool = False


@dataclass(frozen=True)
class Refusal:
    """Why a name is of no episode that can be played, and HTTP's number for it."""

    status: int
    message: str


@dataclass
class Offer:
    """A task on offer: its open episodes by name, and the names of those that are over.

    The folder is held for writing. `tell` is given a line for every episode that ends.
    """

    task: Task
    folder: RunFolder
    tell: Callable[[str], None]
    seed: int = 0
    agent: str | None = None
    idle: float = 600.0
    open: dict[str, Served] = field(default_factory=dict, init=False)
    over: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._epochs: Counter[str] = Counter()
        self._scoring = Scoring(**self.folder.manifest["scoring"])
        for episode in self.folder.episodes():
            self._count(episode)
        self._journals = self.folder.path / "open"
        self._journals.mkdir(exist_ok=True)
        for journal in sorted(self._journals.glob("*.jsonl")):
            self._recover(journal)

    # While it is played

    def refusal(self, name: str) -> Refusal | None:
        """Why no episode of that name can be played, or None where one is open or can be begun."""
        if not _NAME.fullmatch(name):
            return Refusal(404, "the name of an episode has letters, digits, '_', '-' and '.', and 80 of them at most")
        if name in self.over:
            return Refusal(410, f"episode '{name}' is over; begin another one under another name")
        if name not in self.open and len(self.open) >= MOST_OPEN:
            return Refusal(503, f"{len(self.open)} episodes are open, and no more can be; end one of them")
        return None

    def visit(self, name: str, client: dict[str, str]) -> None:
        """A request came for an episode, the first one begins it; the client is kept that first says what it is."""
        now = time.monotonic()
        served = self.open.get(name)
        if served is None:
            session = Session(self.task, clock=time.monotonic)
            served = self.open[name] = Served(session, self._journals / f"{name}.jsonl", client, now)
            self._note(served)
        elif client and not served.client:
            served.client = client
            self._note(served)
        served.touched = now

    def call(self, name: str, tool: str, arguments: Any) -> Call:
        """Execute a call in an open episode and journal it. Raises `StepLimitError` where no more are allowed."""
        served = self.open[name]
        try:
            call = served.session.call(tool, arguments)
        except StepLimitError:
            served.limited = True
            raise
        self._note(served, call)
        return call

    def origin(self, name: str) -> dict[str, Any]:
        """What the answers say of an open episode, so that a log of the messages is imported as what was played."""
        agent = self._agent(self.open[name].client)
        of_task = identity(self.task, self.seed, self._scoring)
        return {**of_task, "agent": agent, "epoch": self._epochs[agent], "episode": name}

    # How it ends

    def end(self, name: str, ended: str, answer: Any = None) -> Episode:
        """Score an open episode, keep it and tell of it."""
        served = self.open[name]
        ended = STEP_LIMIT if served.limited else ended
        episode = self._keep(name, served.session, served.client, self._agent(served.client), ended, answer)
        del self.open[name]
        served.journal.unlink(missing_ok=True)
        self._say(_score_line(name, episode))
        return episode

    def end_all(self, ended: str, *, untouched: float = 0.0) -> None:
        """End the open episodes, or those to which no request came for so many seconds."""
        now = time.monotonic()
        for name in [name for name, served in self.open.items() if now - served.touched >= untouched]:
            try:
                self.end(name, ended)
            except OSError as error:
                self._say(f"{self.open[name].journal}: its episode cannot be stored: {error.strerror}; it is left here")

    def _agent(self, client: Mapping[str, str]) -> str:
        return self.agent or client.get("name") or "client"

    def _keep(
        self, name: str, session: Session, client: Any, agent: str, ended: str, answer: Any = None, **more: Any
    ) -> Episode:
        said = {"client": client} if client else {}
        episode = recorded(
            session, agent, epoch=self._epochs[agent], seed=self.seed, answer=answer, ended=ended,
            scoring=self._scoring,
            more={"episode": name, **said, **more},
        )  # fmt: skip
        self.folder.append(episode)
        self._count(episode)
        return episode

    def _count(self, episode: Episode) -> None:
        agent = str(episode.agent)
        self._epochs[agent] = max(self._epochs[agent], episode.epoch + 1)
        self.over.add(str(episode.extra.get("episode")))

    def _say(self, text: str) -> None:
        with suppress(OSError):  # that nobody reads it must not keep an episode from being stored
            self.tell(text)

    # What is left of it after a kill

    def _note(self, served: Served, *calls: Call) -> None:
        """Write a line of the journal: an episode with what is new in it."""
        news = Episode(self.task.id, calls, self._agent(served.client), extra={"client": served.client})
        try:
            with served.journal.open("a", encoding="utf-8") as journal:
                journal.write(episode_json(news) + "\n")
        except OSError as error:
            self._say(f"{served.journal}: cannot be written: {error.strerror}; the episode goes on without it")

    def _recover(self, journal: Path) -> None:
        """Make a journal that was left over into an episode."""
        name = journal.name.removesuffix(".jsonl")
        lines = list(read_episodes(journal))
        news = [line.episode for line in lines if line.episode is not None]
        if not news and journal.stat().st_size:
            aside = journal.replace(journal.with_suffix(".unreadable"))
            self._say(f"{lines[0].problem}; it is kept as {aside}")
            return
        for line in lines[:-1]:  # the last one may be cut short
            if line.problem is not None:
                self._say(f"{line.problem}; the call in it is lost")
        if news and name not in self.over:  # else the kill came before its first line, or after it was kept
            session = Session(self.task)
            calls = [call for one in news for call in one.calls]
            for call in calls:
                session.call(call.tool, call.arguments)
            session.calls[:] = calls  # as they were answered when they were made
            at: Any = calls[-1].extra.get("at") if calls else None
            seconds = at if is_number(at) and at >= 0 else 0.0
            said = news[-1].extra.get("client")
            client = {name: str(text) for name, text in said.items()} if isinstance(said, dict) else {}
            agent = str(news[-1].agent)
            episode = self._keep(name, session, client, agent, INTERRUPTED, seconds=seconds)
            self._say(f"recovered from {journal}: {_score_line(name, episode)}")
        journal.unlink()


def _score_line(name: str, episode: Episode) -> str:
    scores = episode.scores
    numbers = {"PC": "pc", "KTC": "pc_ktc", "Prefix": "prefix_criticality", "HLR": "pc_hlr"}
    shown = ", ".join(f"{short} {scores[key]:.3f}" for short, key in numbers.items())
    calls, harms = count(scores["length"], "call"), count(scores["harm_count"], "harm")
    accepted = "accepted" if scores["accepted"] else f"not accepted (−{scores['missing_steps']})"
    who = f"{episode.task} {episode.agent} #{episode.epoch}"
    return f"{who}, episode {name}, {episode.outcome}: {calls}, {harms}, {shown}, {accepted}"


# As MCP


def mcp_server(offer: Offer, name_of: Callable[[_Context], str]) -> Server[Any]:
    """The task as an MCP server; `name_of` says to which episode a request belongs.

    It is the official SDK's low-level server: it hands over every call, also of a tool that is not there and with
    arguments that no tool takes, as it was sent.
    """
    session = Session(offer.task)
    tools = [
        Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
        for tool in session.tools
    ]

    async def list_tools(_: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: _Context, _: CallToolRequestParams) -> CallToolResult:
        return _answered(offer, name_of(context), context.params)

    async def list_prompts(_: _Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=PROMPT, description="What is to be done.")])

    async def get_prompt(_: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(code=INVALID_PARAMS, message=f"no prompt '{params.name[:80]}'; there is '{PROMPT}'")
        said = TextContent(type="text", text=session.prompt)
        return GetPromptResult(description=offer.task.id, messages=[PromptMessage(role="user", content=said)])

    async def through(ctx: _Context, call_next: CallNext) -> HandlerResult:
        """What every message passes before anything is made of it."""
        if ctx.request_id is None:
            return await call_next(ctx)
        name = name_of(ctx)
        if refused := offer.refusal(name):
            raise MCPError(code=INVALID_REQUEST, message=refused.message)
        offer.visit(name, _client(ctx))
        said = offer.origin(name)
        try:
            result = await call_next(ctx)
        except ValidationError:
            if ctx.method != "tools/call":
                raise
            result = _answered(offer, name, ctx.params)  # no name, or arguments that are no object: an attempt too
        return result if ctx.method == "ping" else _with_origin(result, said)

    server: Server[Any] = Server(
        "corepath",
        version=__version__,
        instructions=session.system,
        get_tool_input_schema=lambda _: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    server.middleware.append(through)
    return server


def _with_origin(result: HandlerResult, said: dict[str, Any]) -> dict[str, Any]:
    """A result with what it says of its episode."""
    sent = result.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(result, BaseModel) else result
    meta = (sent or {}).get("_meta") or {}
    return {**(sent or {}), "_meta": {**meta, KEY: {**said, **meta.get(KEY, {})}}}


def _answered(offer: Offer, name: str, params: Mapping[str, Any] | None) -> CallToolResult:
    """The answer to a call; where the call is recorded otherwise than it was sent, or not at all, that says so."""
    sent = params or {}
    tool, arguments = sent.get("name", ""), sent.get("arguments")
    as_text = _utf8(tool if isinstance(tool, str) else json.dumps(tool))
    as_json = kept(arguments)
    try:
        call = offer.call(name, as_text, as_json)
    except StepLimitError as error:
        return _failure(str(error), {KEY: {"recorded": False}})
    as_sent = as_text == tool and as_json is arguments
    meta = None if as_sent else {KEY: {"recorded": {"tool": call.tool, "arguments": call.arguments}}}
    if call.failed:
        return _failure(str(call.error), meta)
    text = _utf8(json.dumps(call.result, ensure_ascii=False))
    structured = json.loads(text) if isinstance(call.result, dict) else None
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured, _meta=meta)


def _failure(message: str, meta: dict[str, Any] | None) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=_utf8(message))], is_error=True, _meta=meta)


def kept(arguments: Any) -> Any:
    """Arguments as an episode can keep them: as they were sent, or as text where a reader of JSON refuses them."""
    wrong = why_not_json([[[[arguments]]]])  # in an episode they stand that deep
    if wrong is None:
        return arguments
    try:
        text = json.dumps(arguments)
    except (ValueError, RecursionError):
        return wrong
    return text if why_not_json(arguments) else f"{wrong}: {text}"


def _utf8(text: str) -> str:
    """The text with halves of surrogate pairs replaced, which can stand in JSON and cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _client(context: _Context) -> dict[str, str]:
    """What the client says that it is: when it connects, or since 2026 with every request."""
    params = context.params or {}
    meta = params.get("_meta")
    said = params.get("clientInfo") or (meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None)
    if not isinstance(said, Mapping):
        return {}
    return {key: _utf8(said[key])[:200] for key in ("name", "version") if isinstance(said.get(key), str)}


# Over stdio


def over_stdio(offer: Offer) -> None:
    """One episode with the client at the other end of standard input and output, until it closes or a signal comes."""
    name = next(name for number in itertools.count(1) if (name := f"stdio-{number}") not in offer.over)
    asyncio.run(_stdio(offer, name))


async def _stdio(offer: Offer, name: str) -> None:
    def stop() -> None:
        offer.end_all(STOPPED)
        os._exit(0)  # a thread waits for standard input, and would have to be waited for

    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop)
    server = mcp_server(offer, lambda _: name)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
    offer.end_all(ANSWERED)  # here, where a signal waits: clients send one to servers that are slow to end


# Over HTTP


def listening(host: str, port: int) -> socket.socket:
    """A socket on which clients can already knock; port 0 takes a free one."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024)


def over_http(offer: Offer, host: str, door: socket.socket) -> None:
    """An episode for every name, at `/e/NAME/mcp`, until a signal comes."""
    config = uvicorn.Config(
        http_app(offer, host), access_log=False, log_config=None, ws="none", lifespan="on", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)

    def stop(_: int, __: object) -> None:
        server.should_exit = True

    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, stop)
    shown = f"[{host}]" if ":" in host else host
    offer.tell(f"an episode of {offer.task.id}: http://{shown}:{door.getsockname()[1]}/e/NAME/mcp")
    try:
        asyncio.run(server.serve(sockets=[door]))
    finally:
        offer.end_all(STOPPED)


def http_app(offer: Offer, host: str) -> Starlette:
    """The task as a web application. On a loopback host it answers none but those who call it by such a name."""
    own = [f"[{one}]" if ":" in one else one for one in _LOOPBACK]
    names = [name for one in own for name in (one, f"{one}:*")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=host in _LOOPBACK,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    manager = StreamableHTTPSessionManager(
        mcp_server(offer, lambda context: cast("Request", context.request).path_params["episode"]),
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=LARGEST_BODY,
    )
    checks = TransportSecurityMiddleware(security)

    async def end(request: Request) -> Response:
        if wrong := await checks.validate_request(request):
            return wrong
        name = request.path_params["episode"]
        body = await request.body()
        if name not in offer.open:
            refused = offer.refusal(name) or Refusal(404, f"no episode '{name}' was begun")
            return JSONResponse({"error": refused.message}, refused.status)
        try:
            answer = _answer_in(body)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        episode = offer.end(name, ANSWERED, answer)
        who = {"task": episode.task, "agent": episode.agent, "epoch": episode.epoch, "ended": episode.outcome}
        return JSONResponse({**who, **episode.scores})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_end_idle(offer))
        async with manager.run():
            yield
        watch.cancel()

    return Starlette(
        routes=[
            Route("/e/{episode}/mcp", _Door(offer, manager.handle_request), methods=["POST"]),
            Route("/e/{episode}/end", end, methods=["POST"]),
        ],
        middleware=[Middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY)],
        lifespan=lifespan,
    )


@dataclass(frozen=True)
class _Door:
    """Lets a request through to the episode that its path names, where that can be played."""

    offer: Offer
    inside: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self.offer.refusal(scope["path_params"]["episode"])
        await (_refused(refused) if refused else self.inside)(scope, receive, send)


def _refused(why: Refusal) -> Response:
    error = {"code": INVALID_REQUEST, "message": why.message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, why.status)


def _answer_in(body: bytes) -> Any:
    """The final answer in the body of a request that ends an episode, where there is one."""
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


async def _end_idle(offer: Offer) -> None:
    while True:
        await asyncio.sleep(min(1.0, offer.idle / 4))
        offer.end_all(IDLE, untouched=offer.idle)

"""An MCP server for a served task: it offers the tools and the prompt, and executes the clients' calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
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

from corepath import __version__
from corepath.errors import StepLimitError
from corepath.play.episode_origin import KEY
from corepath.play.session import Session
from corepath.runs.served_task import ServedTask
from corepath.values import why_not_json

PROMPT: Final = "task"
"""The name of the MCP prompt that holds the task's prompt."""

_Context = ServerRequestContext[Any, Any]
_NameOf = Callable[[_Context], str]
"""A function that returns the name of the episode that a request belongs to."""


def mcp_server(served: ServedTask, name_of: _NameOf) -> Server[Any]:
    """Create an MCP server for a task. `name_of` returns the name of the episode that a request belongs to.

    This is the official SDK's low-level server. It passes on every call as it was sent, even if the tool is unknown or
    the arguments are invalid.
    """
    handlers = _Handlers(served, name_of)
    server: Server[Any] = Server(
        "corepath",
        version=__version__,
        instructions=handlers.session.system,
        get_tool_input_schema=lambda _: None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.append(handlers.pass_message)
    return server


class _Handlers:
    """Handlers for the MCP messages to a served task."""

    def __init__(self, served: ServedTask, name_of: _NameOf) -> None:
        self.served, self.name_of = served, name_of
        self.session = Session(served.task)

    async def list_tools(self, _: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
                for tool in self.session.tools
            ]
        )

    async def call_tool(self, context: _Context, _: CallToolRequestParams) -> CallToolResult:
        return _call(self.served, self.name_of(context), context.params)

    async def list_prompts(self, _: _Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=PROMPT, description="What is to be done.")])

    async def get_prompt(self, _: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(code=INVALID_PARAMS, message=f"no prompt '{params.name[:80]}'; there is '{PROMPT}'")
        text = TextContent(type="text", text=self.session.prompt)
        return GetPromptResult(description=self.served.task.id, messages=[PromptMessage(role="user", content=text)])

    async def pass_message(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Handle every message as middleware.

        A message for a new episode begins the episode. The response carries the episode's identity.
        """
        if ctx.request_id is None:
            return await call_next(ctx)
        name = self.name_of(ctx)
        if refusal := self.served.refusal(name):
            raise MCPError(code=INVALID_REQUEST, message=refusal.message)
        self.served.visit(name, _client(ctx))
        origin = self.served.origin(name)
        try:
            result = await call_next(ctx)
        except ValidationError:
            if ctx.method != "tools/call":
                raise
            result = _call(self.served, name, ctx.params)  # a call without a name or with invalid arguments
        return result if ctx.method == "ping" else _with_origin(result, origin)


def _with_origin(result: HandlerResult, origin: dict[str, Any]) -> dict[str, Any]:
    """Add the episode's identity to the result's `_meta`."""
    sent = result.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(result, BaseModel) else result
    meta = (sent or {}).get("_meta") or {}
    return {**(sent or {}), "_meta": {**meta, KEY: {**origin, **meta.get(KEY, {})}}}


def _call(served: ServedTask, name: str, params: Mapping[str, Any] | None) -> CallToolResult:
    """Execute the tool call in `params` as part of the episode named `name`.

    If the call is recorded differently from how it was sent, or not at all, the result's `_meta` says so.
    """
    sent = params or {}
    tool, arguments = sent.get("name", ""), sent.get("arguments")
    as_text = _utf8(tool if isinstance(tool, str) else json.dumps(tool))
    as_json = storable(arguments)
    try:
        call = served.call(name, as_text, as_json)
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


def storable(arguments: Any) -> Any:
    """Return the arguments in a form that an episode file can hold.

    Valid arguments are returned as they were sent. Invalid arguments become a string.
    """
    wrong = why_not_json([[[[arguments]]]])  # arguments are nested this deep in an episode file
    if wrong is None:
        return arguments
    try:
        text = json.dumps(arguments)
    except (ValueError, RecursionError):
        return wrong
    return text if why_not_json(arguments) else f"{wrong}: {text}"


def _utf8(text: str) -> str:
    """Replace lone surrogates, which JSON can hold but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _client(context: _Context) -> dict[str, str]:
    """Return the client's name and version, as far as they are known.

    Clients send both when they connect or, since the protocol's 2026 version, with every request.
    """
    params = context.params or {}
    meta = params.get("_meta")
    info = params.get("clientInfo") or (meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None)
    if not isinstance(info, Mapping):
        return {}
    return {key: _utf8(info[key])[:200] for key in ("name", "version") if isinstance(info.get(key), str)}

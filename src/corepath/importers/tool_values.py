"""Unwrap what frameworks put around a tool's arguments and its result when they record them in a span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from corepath.importers.content import parse_result
from corepath.importers.span_content import ToolRun

_PYTHON_CALL: Final = {"args", "kwargs"}


def unwrap_run(run: ToolRun, parameters: Iterable[str] = ()) -> ToolRun:
    """Return a tool run with the tool's own arguments and result.

    `parameters` names the tool's parameters, for arguments that are recorded by position.
    """
    run = _unwrap_arguments(run, list(parameters))
    result = run.result
    if isinstance(result, dict) and set(result) <= {"output", "kwargs"} and "output" in result:
        result = parse_result(result["output"])  # the callback of LangChain, recorded by OpenLLMetry
    if isinstance(result, dict) and set(result) == {"id", "name", "response"}:
        return replace(run, result=result["response"])  # a function response of Gemini
    message = _tool_message(result)
    if message is None:
        return replace(run, result=result)
    error = str(message["content"]) or "error" if message.get("status") == "error" else None
    return replace(
        run,
        id=run.id or message["tool_call_id"] or None,
        result=parse_result(message["content"]),
        error=run.error or error,
    )


def _unwrap_arguments(run: ToolRun, parameters: list[str]) -> ToolRun:
    """Unwrap the arguments of LangChain's callbacks and of Python functions that were called with `*args, **kwargs`."""
    given = parse_result(run.arguments)
    if not isinstance(given, dict):
        return run
    kwargs = given.get("kwargs")
    if {"input_str", "inputs"} <= set(given):
        id_ = kwargs.get("tool_call_id") if isinstance(kwargs, dict) else None
        inputs = given["inputs"] if isinstance(given["inputs"], dict) else given["input_str"]
        return replace(run, arguments=inputs, id=run.id or id_)
    args = given.get("args")
    if not set(given) >= _PYTHON_CALL or not isinstance(args, list) or not isinstance(kwargs, dict):
        return run
    if set(given) - _PYTHON_CALL - {"sanitize_inputs_outputs"} or len(args) > len(parameters):
        return run
    return replace(run, arguments={**dict(zip(parameters, args, strict=False)), **kwargs})


def _tool_message(value: Any) -> Mapping[str, Any] | None:
    """Return the message if `value` is a whole tool message of LangChain in one of its three forms, or else None."""
    if not isinstance(value, dict):
        return None
    for inner in (value, value.get("data"), value.get("kwargs")):
        if isinstance(inner, dict) and "tool_call_id" in inner and "content" in inner:
            return inner
    return None

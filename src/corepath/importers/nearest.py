"""Find the format that a file comes nearest to, to say what the file lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from corepath.errors import Problem
from corepath.importers.reading import Sample

SIGNS: Final[Mapping[str, tuple[str, ...]]] = {
    "openinference": ("openinference.span.kind", "llm.input_messages", "spanId"),
    "otel": ("resourceSpans", "scopeSpans", "spans", "traceId", "spanId"),
    "corepath": ("version", "task", "calls", "tool", "arguments"),
    "inspect": ("eval", "samples", "plan", "stats"),
    "mcp": ("jsonrpc", "method", "params"),
    "tau-bench": ("task_id", "reward", "info", "traj"),
    "tau2": ("simulations", "tasks", "info", "task_id", "reward_info"),
    "bfcl": ("id", "result", "inference_log"),
    "agentdojo": ("suite_name", "pipeline_name", "user_task_id", "messages"),
    "mini-swe-agent": ("trajectory_format", "info", "messages"),
    "langfuse": ("traceId", "observations", "parentObservationId", "startTime", "type"),
    "langsmith": ("run_type", "trace_id", "inputs", "outputs", "dotted_order"),
    "claude-code": ("sessionId", "uuid", "parentUuid", "message", "type"),
    "codex": ("payload", "timestamp", "type", "call_id"),
    "gemini-cli": ("sessionId", "projectHash", "messages", "toolCalls"),
    "atif": ("schema_version", "session_id", "steps", "agent"),
    "swe-agent": ("trajectory", "history", "info", "action", "observation"),
    "openhands": ("action", "observation", "source", "args", "timestamp"),
    "autogen": ("source", "models_usage", "type", "content"),
    "smolagents": ("step_number", "tool_calls", "observations", "action_output"),
    "google-adk": ("app_name", "user_id", "events", "invocation_id", "author"),
    "openai-agents": ("span_data", "trace_id", "started_at", "object"),
    "bedrock": ("toolUse", "toolResult", "toolUseId", "modelId"),
    "vercel-ai": ("parts", "toolCallId", "toolName", "steps"),
    "openai-responses": ("output", "input", "call_id", "function_call"),
    "anthropic": ("messages", "tool_use_id", "stop_reason", "input"),
    "gemini": ("contents", "parts", "functionCall", "candidates"),
    "langchain": ("messages", "tool_calls", "additional_kwargs", "response_metadata"),
    "pydantic-ai": ("parts", "kind", "part_kind"),
    "openai": ("messages", "role", "content", "tool_calls", "choices"),
}
"""Field names that are typical of each format, by which the nearest format is found."""

_MOST: Final = 5_000
_DEEPEST: Final = 6


def nearest_format(sample: Sample) -> str | None:
    """Return the name of the format that a file comes nearest to, or None if the file comes near none.

    That is the format with the largest share of its typical field names in the file.
    """
    values = [value for value in sample.records(lambda _: True) if not isinstance(value, Problem)]
    names = set(islice(_field_names(values, 0), _MOST))
    found = {name: sum(sign in names for sign in signs) / len(signs) for name, signs in SIGNS.items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] >= 0.5 else None


def _field_names(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _field_names(one, depth + 1)

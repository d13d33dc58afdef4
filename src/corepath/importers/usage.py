"""Read how many tokens a request to a model used, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": (
        "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "prompt_token_count",
        "request_tokens", "input",
    ),
    "output_tokens": (
        "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "candidatesTokenCount",
        "candidates_token_count", "response_tokens", "output",
    ),
    "total_tokens": ("total_tokens", "totalTokens", "totalTokenCount", "total_token_count", "total"),
    "input_tokens_cache_read": (
        "input_tokens_cache_read", "cache_read_input_tokens", "cacheReadInputTokens", "cached_input_tokens",
        "cachedContentTokenCount", "cached_content_token_count", "cache_read_tokens", "cached_tokens", "cache_read",
        "cached",
    ),
    "input_tokens_cache_write": (
        "input_tokens_cache_write", "cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_tokens",
        "cache_creation",
    ),
    "reasoning_tokens": (
        "reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "thoughtsTokenCount", "thoughts_token_count",
        "thoughts", "reasoning",
    ),
}  # fmt: skip
"""The names of counted tokens in the records of live runs, and the names that providers give to them."""

_FIELDS: Final = frozenset(name for some in _NAMES.values() for name in some)
_MOST: Final = 1e15
"""Counts from this size on are not taken for counts."""


def read_usage(usage: Any, cost: Any = None) -> dict[str, float]:
    """Return the tokens and the cost of a request, under the names in the records of live runs.

    `usage` may have the field names of any known provider, also within objects such as `prompt_tokens_details`. What is
    missing or malformed is left out.
    """
    if not usage and cost is None:
        return {}
    given = _with_details(usage) if isinstance(usage, dict) else {}
    counted = [(name, _first_number(given, names)) for name, names in _counted(_FIELDS.intersection(given))]
    if cost is not None:
        counted.append(("total_cost", _first_number({"cost": cost}, ("cost",))))
    return {name: one for name, one in counted if one is not None}


@lru_cache(1000)
def _counted(fields: frozenset[str]) -> list[tuple[str, list[str]]]:
    """Return what is counted in an object with these fields, each with the fields that may have it, best first."""
    found = [(name, [one for one in names if one in fields]) for name, names in _NAMES.items()]
    return [(name, names) for name, names in found if names]


def _with_details(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of `usage` and of the details in it. The fields of `usage` itself take precedence."""
    details = [one for name, one in usage.items() if isinstance(one, dict) and name.endswith("_details")]
    return {**{name: one for some in details for name, one in some.items()}, **usage} if details else usage


def _first_number(given: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """Return the first value among `names` that is a number, or None if there is none."""
    for name in names:
        value = given.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST:
            return value
    return None

"""Warnings about tool file entries that have no effect on the expected calls. Such entries are often misspelt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from corepath.authoring.derive import Expected, named_arguments
from corepath.authoring.list_orders import field_path
from corepath.files.tool_file import ArgumentRule, Tools, is_glob, parse_rule
from corepath.notation.action import Tool
from corepath.values import is_number

_Values = Mapping[str, list[Any]]
"""Maps the path of an argument to its values in a tool's calls."""


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


_WANTED: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "approx": ("number", is_number),
    "unordered": ("list", _is_list),
    "open": ("object", _is_object),
    "paired with": ("list", _is_list),
}
"""The values that each kind of rule applies to: what a warning calls them, and a function that tests for them."""


def unused_entries(tools: Tools, expected: Iterable[Expected]) -> list[str]:
    """Return a warning for each entry in the tool file that has no effect on the expected calls."""
    seen: dict[str, dict[str, list[Any]]] = {}
    for call in (call for one in expected for call in one.calls):
        values = seen.setdefault(call.tool, {name: [] for name in tools.parameters(call.tool) or ()})
        for path, value in _values_by_path(named_arguments(call, tools)):
            values.setdefault(path, []).append(value)
    names = _misspelt_names(tools, seen) if tools.tools is None else _unknown_names(tools, tools.tools)
    return [*names, *_unused_rules(tools, seen)]


def _unknown_names(tools: Tools, listed: Sequence[Tool]) -> Iterator[str]:
    """Yield a warning for each name or glob that matches none of the listed tools."""
    for name in tools.names:
        if not any(fnmatchcase(tool.name, name) for tool in listed):
            yield f"no tool fits '{name}'"


def _misspelt_names(tools: Tools, seen: Collection[str]) -> Iterator[str]:
    """Yield a warning for each unused name that looks like a misspelling of an expected tool's name."""
    writes = [tool for tool in seen if tools.kind(tool) == "write"]
    without_rules = [tool for tool in seen if tool not in tools.arguments]
    pairs = (*product((*tools.reads, *tools.neutral), writes), *product(tools.arguments, without_rules))
    for name, tool in pairs:
        if name not in seen and not is_glob(name) and _is_similar(name, tool):
            yield f"no call of '{name}' is expected; did you mean '{tool}'?"


def _unused_rules(tools: Tools, seen: Mapping[str, _Values]) -> Iterator[str]:
    """Yield a warning for each rule whose argument never occurs, or never has a value that the rule applies to."""
    for glob, rules in tools.arguments.items():
        calls = [values for tool, values in seen.items() if fnmatchcase(tool, glob)]
        if not calls:
            continue
        for path, text in rules.items():
            if warning := _rule_warning(f"{glob}.{path}", path, parse_rule(text), calls):
                yield warning


def _rule_warning(name: str, path: str, rule: ArgumentRule, calls: list[_Values]) -> str | None:
    if not any(path in one for one in calls):
        return f"no call is expected with the argument of the rule '{name}'"
    if rule.other is not None and not any(rule.other in one for one in calls):
        return f"no call is expected with the argument '{rule.other}' of the rule '{name}: {rule}'"
    values = [value for one in calls for value in one.get(path, ()) if value is not None]
    if values and rule.kind in _WANTED:
        wanted, fits = _WANTED[rule.kind]
        if not any(map(fits, values)):
            return f"no {wanted} is expected for the rule '{name}: {rule}'"
    return None


def _is_similar(one: str, other: str) -> bool:
    """Whether two names differ only by a typo: one wrong character, or up to two that are added, missing or swapped."""
    equal = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return len(one) + len(other) - 2 * equal <= 2 <= equal


def _values_by_path(value: Any, path: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each item nested in `value` at any depth. List items have their list's path."""
    if isinstance(value, Mapping):
        parts = [(field_path(path, name), item) for name, item in value.items()]
    else:
        parts = [(path or "", item) for item in value] if isinstance(value, list) else []
    for part in parts:
        yield part
        yield from _values_by_path(part[1], part[0])

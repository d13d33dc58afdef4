"""Paired lists: lists in an expected call that may be permuted together, e.g. items and their replacements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, permutations, product
from typing import Any, Final, TypeVar

from corepath.errors import TaskError, count
from corepath.files.tool_file import ArgumentRule
from corepath.values import canonical

_T = TypeVar("_T")

MOST_PAIRS: Final = 6
"""Maximum number of items in a paired list."""
MOST_ORDERS: Final = 720
"""Maximum number of orders for a call's paired lists. Each order becomes an action, and 6 pairs have 720 orders."""


def permute_pairs(value: Any, rules: Mapping[str, ArgumentRule], path: str | None = None) -> list[Any]:
    """List the variants of a value in which lists that belong together are reordered together.

    `rules` says which lists belong together. Raises `TaskError` if there are too many variants.
    """
    if not any(rule.kind == "paired with" for rule in rules.values()):
        return [value]
    if isinstance(value, list):
        rows = product(*(permute_pairs(item, rules, path) for item in value))
        return [list(row) for row in _limit(rows)]
    if not isinstance(value, Mapping):
        return [value]
    rows = product(*(permute_pairs(item, rules, field_path(path, name)) for name, item in value.items()))
    variants = [dict(zip(value, row, strict=True)) for row in _limit(rows)]
    for names in _paired_names(value, rules, path):
        variants = _limit(order for variant in variants for order in _permute(variant, names))
    return variants


def field_path(path: str | None, name: str) -> str:
    """Return the path to the field `name` in the object at `path`, e.g. `guests.age`. The top-level path is None."""
    return name if path is None else f"{path}.{name}"


def _paired_names(value: Mapping[str, Any], rules: Mapping[str, ArgumentRule], path: str | None) -> list[list[str]]:
    """Return groups of names of lists that are permuted together. Pairs that share a list form one group."""
    groups: list[list[str]] = []
    for one, other in _pairs(value, rules, path):
        linked = [group for group in groups if one in group or other in group]
        groups = [group for group in groups if group not in linked]
        groups.append(list(dict.fromkeys((one, other, *(name for group in linked for name in group)))))
    return groups


def _pairs(value: Mapping[str, Any], rules: Mapping[str, ArgumentRule], path: str | None) -> Iterator[tuple[str, str]]:
    """Yield the names of both lists for each rule that pairs two lists.

    Raises `TaskError` if the lists differ in length or are too long.
    """
    lists = {field_path(path, name): name for name, item in value.items() if isinstance(item, list)}
    for here, one in lists.items():
        rule = rules.get(here)
        if rule is None or rule.kind != "paired with" or rule.other not in lists:
            continue
        other = lists[rule.other]
        length, others = len(value[one]), len(value[other])
        if length != others:
            raise TaskError.of(f"'{here}' and '{rule.other}' are paired, but have {length} and {count(others, 'item')}")
        if length > MOST_PAIRS:
            raise TaskError.of(f"'{here}' and '{rule.other}' have {length} pairs; at most {MOST_PAIRS} can be permuted")
        yield one, other


def _permute(value: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """List an object's variants, one for each distinct order in which the lists in `names` are permuted together."""
    orders = permutations(zip(*(value[name] for name in names), strict=True))
    return [
        {**value, **{name: [row[place] for row in order] for place, name in enumerate(names)}}
        for order in {canonical(order): order for order in orders}.values()
    ]


def _limit(orders: Iterable[_T]) -> list[_T]:
    """Collect the orders in a list. Raises `TaskError` if there are more than `MOST_ORDERS`."""
    found = list(islice(orders, MOST_ORDERS + 1))
    if len(found) > MOST_ORDERS:
        raise TaskError.of(f"the paired lists have more than {MOST_ORDERS} orders in all, which is the most allowed")
    return found

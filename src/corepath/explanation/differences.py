"""Compare a call's arguments with those of a step as values, and list only what differs, by path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corepath.explanation.contrast import contrast
from corepath.explanation.findings import ABSENT, Difference
from corepath.explanation.sentences import cut
from corepath.explanation.value_text import LONGEST_NAME, expected_text, value_text
from corepath.notation.action import Action
from corepath.notation.matchers import Fields, Items, Literal, Matcher, OneOf, Scope, Unordered, Variable
from corepath.notation.patterns import as_matcher
from corepath.values import is_name, to_notation

UNWANTED = "nothing"
"""The text for a value that is not expected at all."""
LONGEST_ADDED = 160
"""Maximum length of a value that is missing. It is longer than others, since someone may have to put it in."""
LONGEST_LIST = 200
"""Maximum length of lists that are compared item by item."""

_Pairs = Iterator[tuple[int | None, int | None]]
"""Places in the list that was given and in the one that was expected. Either may be None."""


def find_differences(action: Action, arguments: Mapping[str, Any], scope: Scope) -> tuple[Difference, ...]:
    """List the places where `arguments` differ from those that `action` expects."""
    return tuple(_compare(action.arguments, arguments, scope, ""))


def _compare(pattern: Matcher, given: Any, scope: Scope, path: str) -> Iterator[Difference]:
    """Yield the differences between a value and a pattern. Lists and objects are compared part by part."""
    if _matches(pattern, given, scope):
        return
    match _open_up(pattern, scope):
        case Fields() as fields if isinstance(given, Mapping):
            yield from _compare_fields(fields, given, scope, path)
        case Items(items) if _is_list(given) and max(len(items), len(given)) <= LONGEST_LIST:
            pairs = _pair_in_order(items, given, scope)
            yield from _compare_items(items, given, scope, path, pairs)
        case Unordered(items) if _is_list(given) and max(len(items), len(given)) <= LONGEST_LIST:
            pairs = _pair_in_any_order(items, given, scope)
            yield from _compare_items(items, given, scope, path, pairs, len(given))
        case _:
            yield Difference(path, *contrast(given, pattern, scope))


def _open_up(pattern: Matcher, scope: Scope) -> Matcher:
    """Turn a known list or object into a matcher with parts, so that the parts can be compared."""
    match pattern:
        case Literal(value=dict() as fields):
            return Fields(tuple((name, as_matcher(value)) for name, value in fields.items()))
        case Literal(value=list() as items):
            return Items(tuple(map(as_matcher, items)))
        case Variable(name) if name in scope.variables and isinstance(scope.variables[name], (dict, list)):
            return _open_up(as_matcher(scope.variables[name]), scope)
        case OneOf((only,)):
            return _open_up(only, scope)
    return pattern


def _matches(pattern: Matcher, given: Any, scope: Scope) -> bool:
    """Whether a value matches. Variables that have no value yet are left without one."""
    return pattern.matches(given, Scope(dict(scope.variables), scope.results, scope.lenient))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _compare_fields(pattern: Fields, given: Mapping[str, Any], scope: Scope, path: str) -> Iterator[Difference]:
    """Yield what differs in an object: wrong fields, then missing ones, then fields that are not expected."""
    for name, part in pattern.fields:
        if name in given:
            yield from _compare(part, given[name], scope, _join(path, name))
        else:
            yield Difference(_join(path, name), ABSENT, expected_text(part, scope, LONGEST_ADDED))
    if not pattern.open:
        known = {name for name, _ in pattern.fields}
        for name in given:
            if name not in known:
                yield Difference(_join(path, str(name)), value_text(given[name]), UNWANTED)


def _compare_items(
    items: Sequence[Matcher], given: Sequence[Any], scope: Scope, path: str, pairs: _Pairs, end: int | None = None
) -> Iterator[Difference]:
    """Yield what differs between two lists whose items are paired.

    Missing items are where they are expected, or from place `end` on if the order does not matter.
    """
    places = None if end is None else itertools.count(end)
    for mine, theirs in pairs:
        lacking = theirs if places is None or mine is not None else next(places)
        place = f"{path}[{mine if mine is not None else lacking}]"
        if theirs is None and mine is not None:
            yield Difference(place, value_text(given[mine]), UNWANTED)
        elif mine is None and theirs is not None:
            yield Difference(place, ABSENT, expected_text(items[theirs], scope, LONGEST_ADDED))
        elif mine is not None and theirs is not None:
            yield from _compare(items[theirs], given[mine], scope, place)


def _pair_in_order(items: Sequence[Matcher], given: Sequence[Any], scope: Scope) -> _Pairs:
    """Pair lists of the same length place by place. In other lists, pair the longest common part first."""
    if len(items) == len(given):
        yield from zip(range(len(given)), range(len(items)), strict=True)
        return
    mine = theirs = 0
    for anchor in (*_common_part(items, given, scope), (len(given), len(items))):
        while mine < anchor[0] or theirs < anchor[1]:
            yield mine if mine < anchor[0] else None, theirs if theirs < anchor[1] else None
            mine, theirs = min(mine + 1, anchor[0]), min(theirs + 1, anchor[1])
        mine, theirs = anchor[0] + 1, anchor[1] + 1


def _common_part(items: Sequence[Matcher], given: Sequence[Any], scope: Scope) -> list[tuple[int, int]]:
    """Find the longest common subsequence of two lists, as pairs of places."""
    fits = [[_matches(item, value, scope) for item in items] for value in given]
    length = [[0] * (len(items) + 1) for _ in range(len(given) + 1)]
    for mine in reversed(range(len(given))):
        for theirs in reversed(range(len(items))):
            skip = max(length[mine + 1][theirs], length[mine][theirs + 1])
            length[mine][theirs] = max(skip, length[mine + 1][theirs + 1] + 1) if fits[mine][theirs] else skip
    found: list[tuple[int, int]] = []
    mine = theirs = 0
    while mine < len(given) and theirs < len(items):
        if fits[mine][theirs] and length[mine][theirs] == length[mine + 1][theirs + 1] + 1:
            found.append((mine, theirs))
            mine, theirs = mine + 1, theirs + 1
        elif length[mine + 1][theirs] >= length[mine][theirs + 1]:
            mine += 1
        else:
            theirs += 1
    return found


def _pair_in_any_order(items: Sequence[Matcher], given: Sequence[Any], scope: Scope) -> _Pairs:
    """Pair as many items as possible with values that match, and the rest with the values that are most like them.

    The pairs come in the order of the values that were given. Items that are missing come last.
    """
    fits = [[mine for mine, value in enumerate(given) if _matches(item, value, scope)] for item in items]
    owner: dict[int, int] = {}
    for item in range(len(items)):
        _assign(item, fits, owner, set())
    values = [mine for mine in range(len(given)) if mine not in owner]
    pairs: list[tuple[int | None, int | None]] = []
    for item in sorted(set(range(len(items))).difference(owner.values())):
        like = min(values, key=lambda mine: len(list(_compare(items[item], given[mine], scope, ""))), default=None)
        if like is not None:
            values.remove(like)
        pairs.append((like, item))
    pairs += [(value, None) for value in values]
    yield from sorted(pairs, key=lambda pair: len(given) if pair[0] is None else pair[0])


def _assign(item: int, fits: Sequence[Sequence[int]], owner: dict[int, int], tried: set[int]) -> bool:
    """Give `item` a value that fits it, moving other items to other values if need be. Return whether that worked."""
    for value in fits[item]:
        if value not in tried:
            tried.add(value)
            if value not in owner or _assign(owner[value], fits, owner, tried):
                owner[value] = item
                return True
    return False


def _join(path: str, name: str) -> str:
    """Add a key to a path. A key that is no plain name is put in brackets and quotes."""
    shown = cut(name, LONGEST_NAME)
    if not is_name(name):
        return f"{path}[{to_notation(shown)}]" if path else to_notation(shown)
    return f"{path}.{shown}" if path else shown

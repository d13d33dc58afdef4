"""Say in words how a call's arguments differ, e.g. `flights 3 and 4 were HAT229, HAT266; expected HAT290, HAT175`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from corepath.errors import count
from corepath.explanation.differences import UNWANTED
from corepath.explanation.findings import ABSENT, Difference
from corepath.explanation.sentences import MOST_LISTED, join

_IN_LIST = re.compile(r"(.*)\[(\d+)\](.*)", re.DOTALL)
_IDENTIFIER = re.compile(r'"[A-Za-z#][\w#-]*"', re.ASCII)


def describe_differences(differences: Sequence[Difference], most: int = MOST_LISTED) -> str:
    """Describe differences in words. Those in the same place of several items of a list are told together."""
    texts = [_describe_group(group) for group in _group(differences)]
    more = [f"and {count(len(texts) - most, 'more difference')}"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def describe_changes(differences: Sequence[Difference]) -> list[str]:
    """Describe how to mend each difference, e.g. `change amount to 50`."""
    return [_describe_change(group) for group in _group(differences)]


def _group(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Group differences that can be told together."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for one in differences:
        groups.setdefault(_shape(one), []).append(one)
    return list(groups.values())


def _describe_change(group: Sequence[Difference]) -> str:
    place, (given, expected) = _place(group), _sides(group)
    if group[0].given == ABSENT:
        return f"add {place}: {expected}" if _IN_LIST.fullmatch(group[0].path) else f"add {place}={expected}"
    if group[0].expected == UNWANTED:
        return f"leave out {place}"
    return f"change {place} from {given} to {expected}"


def argument_of(difference: Difference) -> str:
    """Return the name of the argument that a difference is in."""
    return re.split(r"[.\[]", difference.path, maxsplit=1)[0] if difference.path[:1] != '"' else difference.path


def _shape(one: Difference) -> tuple[str, ...]:
    """Return a key that is the same for differences that can be told together."""
    found = _IN_LIST.fullmatch(one.path)
    kind = ABSENT if one.given == ABSENT else UNWANTED if one.expected == UNWANTED else ""
    return (one.path,) if found is None else (found[1], found[3], kind)


def _describe_group(group: Sequence[Difference]) -> str:
    """Describe differences of the same shape."""
    place = _place(group)
    if group[0].given == ABSENT:
        return f"{place} {_be(group)} not given, expected {_values(one.expected for one in group)}"
    if group[0].expected == UNWANTED:
        if _IN_LIST.fullmatch(group[0].path):
            return f"{place} {'is' if len(group) == 1 else 'are'} not expected"
        return f"{place} was {group[0].given}, but no such argument is expected"
    given, expected = _sides(group)
    return (
        f"{place} was {given}, expected {expected}" if len(group) == 1 else f"{place} were {given}; expected {expected}"
    )


def _sides(group: Sequence[Difference]) -> tuple[str, str]:
    """Return what was given and what was expected. In lists, identifiers need no quotes."""
    given, expected = [one.given for one in group], [one.expected for one in group]
    if len(group) > 1 and all(map(_IDENTIFIER.fullmatch, [*given, *expected])):
        given, expected = [one[1:-1] for one in given], [one[1:-1] for one in expected]
    return _values(given), _values(expected)


def _be(group: Sequence[Difference]) -> str:
    return "was" if len(group) == 1 else "were"


def _values(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _place(group: Sequence[Difference]) -> str:
    """Name the place of differences, e.g. `amount`, `flights 3 and 4` or `amount of payment 2`."""
    found = _IN_LIST.fullmatch(group[0].path)
    if found is None:
        return group[0].path
    name, field = found[1], found[3].lstrip(".")
    numbers = [int(match[2]) + 1 for one in group if (match := _IN_LIST.fullmatch(one.path))]
    one = _singular(name.rsplit(".", 1)[-1])
    noun = f"{name[: len(name) - len(name.rsplit('.', 1)[-1])]}{one}" if len(numbers) == 1 else name
    items = f"{noun} {join(list(map(str, numbers)), most=8)}"
    return items if not field or one in field else f"{field} of {items}"


def _singular(name: str) -> str:
    """Return the singular of a plain English plural."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name

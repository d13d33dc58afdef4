"""Say in words how a call's arguments differ, e.g. `flights 3 and 4 were A and B, expected C and D`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from corepath.errors import count
from corepath.explanation.differences import UNWANTED
from corepath.explanation.findings import ABSENT, Difference
from corepath.explanation.sentences import MOST_LISTED, cut, join
from corepath.explanation.value_text import LONGEST_NAME

LONGEST_TEXT: Final = 230
"""How long a text about several differences may be. Those that do not fit are counted."""
LONGEST_BESIDE: Final = 110
"""How long a text about differences may be that is not the main thing told."""
_IN_LIST = re.compile(r"(.*)\[(\d+)\](.*)", re.DOTALL)
_IDENTIFIER = re.compile(r'"[A-Za-z#][\w#-]*"', re.ASCII)


def describe_differences(differences: Sequence[Difference], most: int = MOST_LISTED) -> str:
    """Describe differences in words, those of whole arguments first, and those in lists item by item."""
    clauses = _clauses(differences)
    texts, room = list[str](), LONGEST_TEXT
    for clause in clauses[:most]:
        text = _describe_clause(clause)
        room -= len(text)
        if texts and room < 0:
            break
        texts.append(text)
    rest = [one for clause in clauses[len(texts) :] for one in clause]
    return "; ".join([*texts, *_describe_rest(rest, clauses[: len(texts)])])


def _describe_rest(rest: Sequence[Difference], told: Iterable[Sequence[Difference]]) -> Iterator[str]:
    """Name the arguments with differences that there is no room for, or count them if their arguments are named."""
    names = {argument_of(one) for clause in told for one in clause}
    others = [name for name in dict.fromkeys(map(argument_of, rest)) if name not in names]
    if others:
        listed = join([cut(name, LONGEST_NAME) for name in others])
        yield f"{listed} {'is' if len(others) == 1 else 'are'} wrong too"
    elif rest:
        listed = join([cut(name, LONGEST_NAME) for name in dict.fromkeys(map(argument_of, rest))])
        yield f"and {count(len(rest), 'more difference')} in {listed}"


def describe_changes(differences: Sequence[Difference]) -> list[str]:
    """Describe how to mend each difference, e.g. `change amount from 40 to 50`."""
    return [text for clause in _clauses(differences) for text in _describe_changes(clause)]


def _clauses(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Group differences that are told together: all those of an item, or the same one in several items of a list."""
    items: dict[str, list[Difference]] = {}
    for one in differences:
        found = _IN_LIST.fullmatch(one.path)
        items.setdefault(one.path if found is None else f"{found[1]}[{found[2]}]", []).append(one)
    clauses: dict[tuple[str, ...], list[Difference]] = {}
    for path, group in items.items():
        clauses.setdefault(_shape(group[0]) if len(group) == 1 else (path,), []).extend(group)
    return sorted(clauses.values(), key=lambda clause: _IN_LIST.fullmatch(clause[0].path) is not None)


def _is_of_one_item(clause: Sequence[Difference]) -> bool:
    """Whether a clause holds several differences of one item."""
    return len({match[2] for one in clause if (match := _IN_LIST.fullmatch(one.path))}) < len(clause)


def _describe_clause(clause: Sequence[Difference]) -> str:
    """Describe differences that are told together."""
    if len(clause) == 1 or not _is_of_one_item(clause):
        return _describe_group(clause, _place(clause))
    first, *others = clause
    texts = [_describe_group([first], _place([first])), *(_describe_group([one], _its(one)) for one in others)]
    return f"{', '.join(texts[:-1])}, and {texts[-1]}"


def _describe_changes(clause: Sequence[Difference]) -> list[str]:
    """Describe how to mend differences that are told together."""
    if len(clause) == 1 or not _is_of_one_item(clause):
        return [_describe_change(clause, _place(clause))]
    first, *others = clause
    return [_describe_change([first], _place([first])), *(_describe_change([one], _its(one)) for one in others)]


def _its(one: Difference) -> str:
    """Name the place of a difference in an item that was named before."""
    found = _IN_LIST.fullmatch(one.path)
    return f"its {one.path if found is None else found[3].lstrip('.')}"


def _describe_change(group: Sequence[Difference], place: str) -> str:
    given, expected = _sides(group)
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


def _describe_group(group: Sequence[Difference], place: str) -> str:
    """Describe differences of the same shape in the place that is named."""
    if group[0].given == ABSENT:
        return f"{place} {_be(group)} not given, expected {_values(one.expected for one in group)}"
    if group[0].expected == UNWANTED:
        if _IN_LIST.fullmatch(group[0].path):
            return f"{place} {'is' if len(group) == 1 else 'are'} not expected"
        return f"{place} was {group[0].given}, but no such argument is expected"
    given, expected = _sides(group)
    return f"{place} {_be(group)} {given}, expected {expected}"


def _sides(group: Sequence[Difference]) -> tuple[str, str]:
    """Return what was given and what was expected. In lists, identifiers need no quotes."""
    given, expected = [one.given for one in group], [one.expected for one in group]
    if len(group) > 1 and all(map(_IDENTIFIER.fullmatch, [*given, *expected])):
        given, expected = [one[1:-1] for one in given], [one[1:-1] for one in expected]
    return _values(given), _values(expected)


def _be(group: Sequence[Difference]) -> str:
    return "was" if len(group) == 1 else "were"


def _values(texts: Iterable[str]) -> str:
    listed = list(texts)
    return join(listed, most=len(listed))


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

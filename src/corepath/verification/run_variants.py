"""Faulty variants of recorded runs, and the questions that they raise if nothing notices them.

A variant leaves out a call, swaps two calls, repeats a call, or gives it another argument. Nothing is executed: calls
keep their recorded results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, Final, Literal, TypeVar

from corepath.notation.call import Call
from corepath.play import edits
from corepath.rules.samples import Item
from corepath.values import canonical, is_number, to_notation

MOST_QUESTIONS: Final = 20
MOST_VARIANTS: Final = 4_000
"""How many variants are tried in all. If there are more, some of each run are taken, spread evenly."""

Fault = Literal["repeated", "other argument", "exchanged", "added", "left out", "stopped early", "swapped", "not shown"]
"""What a question is about. All but the last are kinds of variants; see `task_mutants` for those of tasks alone."""
Values = Mapping[tuple[str, str], Sequence[Any]]
"""The values that each argument of each tool has in the runs."""
T = TypeVar("T")


@dataclass(frozen=True)
class Variant:
    """A faulty variant of a run. Variants with the same kind and `about` raise the same question.

    `changed` holds the places of the calls that are new or have other arguments. `without` holds the places, in the
    run, of the calls that are left out.
    """

    kind: Fault
    about: tuple[str, ...]
    items: tuple[Item, ...]
    example: str
    changed: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


@dataclass
class Question:
    """A kind of fault that is not noticed in `missed` of `tried` cases. `example` is one of them, in the run `run`.

    For rules a case is a variant, and for tasks a run. `run` is empty if the example is not a variant of a run.
    """

    kind: Fault
    about: tuple[str, ...]
    example: str = ""
    run: str = ""
    missed: int = 0
    tried: int = 0

    def add(self, example: str, run: str, *, noticed: bool) -> None:
        """Count a case. The first that is not noticed is the example."""
        self.tried += 1
        if not noticed:
            self.missed += 1
        if not noticed and self.missed == 1:
            self.example, self.run = example, run

    def __str__(self) -> str:
        return f"{_describe(self.kind, self.about)}: intended?"

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON."""
        return {"question": str(self), **vars(self), "about": list(self.about)}


def _describe(kind: Fault, about: tuple[str, ...]) -> str:
    match kind, tuple(map(_cut, about)):
        case "left out", (call,):
            return f"{call} left out"
        case "swapped", (early, late):
            return f"{early} before {late}"
        case "swapped", (*calls, last):
            return f"another order of {', '.join(calls)} and {last}"
        case "repeated", (call,):
            return f"{call} called twice"
        case "other argument", (call, argument):
            return f"{call} with another {argument}"
        case "exchanged", (one, other, argument):
            return f"{one} and {other} with each other's {argument}"
        case "added", (tool,):
            return f"one more {tool}, with other arguments"
        case "added", ():
            return "calls of tools that the task does not name"
        case "stopped early", (call,):
            return f"stopping after {call}"
        case "stopped early", ():
            return "stopping before the first step"
        case "not shown", (call,):
            return f"{call}, which no good run calls"
    raise AssertionError(kind, about)


def _cut(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class Questions:
    """The questions, those with the most cases first, and how many variants were tried, not noticed and not tried.

    At most `MOST_QUESTIONS` are kept; `more` says how many there are besides.
    """

    questions: tuple[Question, ...]
    tried: int
    missed: int
    skipped: int
    more: int = 0

    @classmethod
    def of(cls, found: Iterable[Question], tried: int, missed: int, skipped: int) -> Questions:
        """Sort questions, and leave out those on faults that are always noticed."""
        listed = sorted((one for one in found if one.missed), key=lambda one: -one.missed)
        return cls(tuple(listed[:MOST_QUESTIONS]), tried, missed, skipped, max(0, len(listed) - MOST_QUESTIONS))


def make_variants(items: Sequence[Item], names: Mapping[int, str], values: Values, most: int = 1) -> Iterator[Variant]:
    """Yield the faulty variants of a run: those that change the calls at the places in `names`.

    `names` also says what questions call them. `most` is the number of other values that each argument gets.
    """
    calls = [(place, item) for place in sorted(names) if isinstance(item := items[place], Call)]
    for place, call in calls:
        name = names[place]
        yield Variant("left out", (name,), edits.drop(items, place), f"without {call.label}", without=(place,))
        again = end_of_turn(items, place)
        made = edits.insert(items, again, replace(call, turn=None, time=items[again - 1].time))
        yield Variant("repeated", (name,), made, f"{call.label} twice", (again,))
        for argument, other in other_arguments(call, values, most):
            text = f"{call.tool} with {argument}={to_notation(other.arguments[argument])} in place of "
            text += to_notation(call.arguments[argument])
            made = edits.exchange(items, place, other)
            yield Variant("other argument", (name, argument), made, text, (place,))
    for (one, first), (other_place, second) in pairwise(calls):
        if names[one] != names[other_place]:
            text = f"{second.label} before {first.label}"
            yield Variant("swapped", (names[other_place], names[one]), _swap(items, one, other_place), text)


def other_arguments(call: Call, values: Values, most: int = 1) -> Iterator[tuple[str, Call]]:
    """Yield the call with another value for one argument, and the argument's name: at most `most` for each argument."""
    for name, value in call.arguments.items() if not call.malformed else ():
        for other in islice(_other_values(value, values.get((call.tool, name), ())), most):
            yield name, replace(call, arguments={**call.arguments, name: other})


def _swap(items: Sequence[Item], one: int, other: int) -> tuple[Item, ...]:
    """Swap two events. Each takes the time and the turn of the other."""
    made = list(edits.swap(items, one, other))
    for place in (one, other):
        made[place] = replace(made[place], time=items[place].time, turn=items[place].turn)
    return tuple(made)


def end_of_turn(items: Sequence[Item], place: int) -> int:
    """Return the place after the turn that a call is in."""
    call = items[place]
    end = place + 1
    while end < len(items) and call.turn is not None and items[end].turn == call.turn:
        end += 1
    return end


def argument_values(calls: Iterable[Call]) -> dict[tuple[str, str], list[Any]]:
    """Collect the values that each argument of each tool has in calls, each value once."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for call in calls:
        for name, value in call.arguments.items() if not call.malformed else ():
            found.setdefault((call.tool, name), {}).setdefault(canonical(value), value)
    return {key: list(values.values()) for key, values in found.items()}


def _other_values(value: Any, known: Sequence[Any]) -> Iterator[Any]:
    """Yield other values for an argument: those that occur in the runs, and then one that resembles it."""
    yield from (one for one in known if type(one) is type(value) and canonical(one) != canonical(value))
    if isinstance(value, bool) or value is None:
        yield not value
    elif is_number(value):
        yield value + 1
    else:
        yield f"{value} (other)" if isinstance(value, str) else None


def spread(variants: Sequence[T], most: int) -> list[T]:
    """Return at most `most` variants, spread evenly."""
    step = max(1.0, len(variants) / most)
    return [variants[int(number * step)] for number in range(min(most, len(variants)))]

"""Faulty variants of good runs, and the questions that they raise if no rule notices them.

A variant leaves out a call, swaps two calls, repeats a call, or gives it another argument. Nothing is executed: calls
keep their recorded results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

from corepath.notation.call import Call
from corepath.play import edits
from corepath.rules.rule import Rule
from corepath.rules.samples import Item
from corepath.rules.verdict import judge
from corepath.values import canonical, is_number, to_notation
from corepath.verification.rule_runs import Run

MOST_QUESTIONS: Final = 20
MOST_VARIANTS: Final = 4_000
"""How many variants are tried in all. If there are more, some of each run are taken, spread evenly."""

Kind = Literal["left out", "swapped", "repeated", "other argument"]
Values = Mapping[tuple[str, str], Sequence[Any]]
"""The values that each argument of each tool has in the runs."""


@dataclass(frozen=True)
class Variant:
    """A faulty variant of a run. Variants with the same kind and `about` raise the same question."""

    kind: Kind
    about: tuple[str, ...]
    items: tuple[Item, ...]
    example: str


@dataclass
class RuleQuestion:
    """A kind of fault that no rule notices in `missed` of `tried` variants. `example` is one of them, in run `run`."""

    kind: Kind
    about: tuple[str, ...]
    example: str = ""
    run: str = ""
    missed: int = 0
    tried: int = 0

    def add(self, variant: Variant, run: Run, *, noticed: bool) -> None:
        """Count a variant. The first that no rule notices is the example."""
        self.tried += 1
        if not noticed:
            self.missed += 1
        if not noticed and self.missed == 1:
            self.example, self.run = variant.example, run.name

    def __str__(self) -> str:
        match self.kind, self.about:
            case "left out", (tool,):
                return f"{tool} left out: intended?"
            case "swapped", (early, late):
                return f"{early} before {late}: intended?"
            case "repeated", (tool,):
                return f"{tool} called twice: intended?"
            case _, (tool, argument):
                return f"{tool} with any {argument}: intended?"
        raise AssertionError(self.about)


@dataclass(frozen=True)
class MutantFindings:
    """The questions, those with the most variants that no rule notices first."""

    questions: tuple[RuleQuestion, ...]
    tried: int
    missed: int
    skipped: int


def find_questions(rules: Sequence[Rule], runs: Sequence[Run]) -> MutantFindings:
    """Make faulty variants of good runs, and collect those that no rule notices."""
    values = _values([call for run in runs for call in run.items if isinstance(call, Call)])
    most = max(1, MOST_VARIANTS // max(1, len(runs)))
    found: dict[tuple[str, ...], RuleQuestion] = {}
    skipped = 0
    for run in runs:
        before = _count_breaches(rules, run.items)
        variants = list(make_variants(run.items, values))
        chosen = _spread(variants, most)
        skipped += len(variants) - len(chosen)
        for variant in chosen:
            question = found.setdefault((variant.kind, *variant.about), RuleQuestion(variant.kind, variant.about))
            after = _count_breaches(rules, variant.items)
            question.add(variant, run, noticed=any(now > then for then, now in zip(before, after, strict=True)))
    tried, missed = (sum(getattr(one, name) for one in found.values()) for name in ("tried", "missed"))
    listed = sorted((one for one in found.values() if one.missed), key=lambda one: -one.missed)
    return MutantFindings(tuple(listed[:MOST_QUESTIONS]), tried, missed, skipped)


def make_variants(items: Sequence[Item], values: Values) -> Iterator[Variant]:
    """Yield the faulty variants of a run. Calls that failed are left as they are."""
    places = [place for place, item in enumerate(items) if isinstance(item, Call) and not item.failed]
    calls = [(place, item) for place in places if isinstance(item := items[place], Call)]
    for place, call in calls:
        yield Variant("left out", (call.tool,), edits.drop(items, place), f"without {call.label}")
        yield Variant("repeated", (call.tool,), _repeat(items, place), f"{call.label} twice")
        for name, value in call.arguments.items() if not call.malformed else ():
            other = _other_value(value, values.get((call.tool, name), ()))
            changed = replace(call, arguments={**call.arguments, name: other})
            text = f"{call.tool} with {name}={to_notation(other)} in place of {to_notation(value)}"
            yield Variant("other argument", (call.tool, name), edits.exchange(items, place, changed), text)
    for (one, first), (other, second) in pairwise(calls):
        if first.tool != second.tool:
            text = f"{second.label} before {first.label}"
            yield Variant("swapped", (second.tool, first.tool), _swap(items, one, other), text)


def _swap(items: Sequence[Item], one: int, other: int) -> tuple[Item, ...]:
    """Swap two events. Each takes the time and the turn of the other."""
    made = list(edits.swap(items, one, other))
    for place in (one, other):
        made[place] = replace(made[place], time=items[place].time, turn=items[place].turn)
    return tuple(made)


def _repeat(items: Sequence[Item], place: int) -> tuple[Item, ...]:
    """Repeat a call in a turn of its own, after the turn that it is in."""
    call = items[place]
    end = place + 1
    while end < len(items) and call.turn is not None and items[end].turn == call.turn:
        end += 1
    return edits.insert(items, end, replace(call, turn=None, time=items[end - 1].time))


def _values(calls: Sequence[Call]) -> Values:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for call in calls:
        for name, value in call.arguments.items() if not call.malformed else ():
            found.setdefault((call.tool, name), {}).setdefault(canonical(value), value)
    return {key: list(values.values()) for key, values in found.items()}


def _other_value(value: Any, known: Sequence[Any]) -> Any:
    """Return another value for an argument: one that occurs in the runs, or else one that resembles it."""
    others = (one for one in known if type(one) is type(value) and canonical(one) != canonical(value))
    found = next(others, None)
    if found is not None:
        return found
    if isinstance(value, bool) or value is None:
        return not value
    if is_number(value):
        return value + 1
    return f"{value} (other)" if isinstance(value, str) else None


def _count_breaches(rules: Sequence[Rule], items: Sequence[Item]) -> list[int]:
    """Count how often each rule is broken. A rule that would need times to decide counts as broken once."""
    return [len(one.offences) + len(one.owed) + one.unclear for one in judge(rules, items)]


def _spread(variants: list[Variant], most: int) -> list[Variant]:
    """Return at most `most` variants, spread evenly."""
    step = max(1.0, len(variants) / most)
    return [variants[int(number * step)] for number in range(min(most, len(variants)))]

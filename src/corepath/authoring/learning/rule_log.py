"""Runs as numbers, for learning rules: tools are letters, and the arguments of tools are slots.

Rules are learned about tools that occur in enough good runs. Other calls are all the letter `OTHER`, and messages in
which the user agrees are the letter `CONSENT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from corepath.notation.call import Call
from corepath.notation.matchers import Fields
from corepath.notation.message import Message
from corepath.notation.patterns import search
from corepath.rules.event import bind
from corepath.rules.rule import Said

Item = Call | Message
Run = tuple[Item, ...]
"""The calls and messages of a run, in order."""
OTHER: Final = 0
"""The letter of calls to other tools. In rules it stands for any call."""
CONSENT: Final = 1
YES: Final = Said("user", Fields((("text", search(r"(?i)\b(yes|sure|ok|okay|confirm|correct|go ahead|proceed)\b")),)))
"""A message in which the user agrees."""
MOST_TOOLS: Final = 1_000
MOST_SLOTS: Final = 3_000
LONGEST_VALUE: Final = 200
"""Longer texts are not compared with other values."""

Event = tuple[int, bool, tuple[tuple[int, Any], ...]]
"""A letter, whether the call failed, and the slots with their values."""
Shape = tuple[tuple[int, bool], ...]
"""The letters of a run, each with whether the call failed."""


@dataclass(frozen=True)
class RuleLog:
    """Good and bad runs as numbers.

    `left_out` counts the tools that rules could be learned about, and that are left out because there are too many.
    """

    tools: tuple[str, ...]
    slots: tuple[tuple[int, str], ...]
    good: tuple[tuple[Event, ...], ...]
    bad: tuple[tuple[Event, ...], ...]
    left_out: int = 0

    @cached_property
    def good_shapes(self) -> Counter[Shape]:
        """The shapes of the good runs, counted."""
        return Counter(map(_shape, self.good))

    @cached_property
    def bad_shapes(self) -> Counter[Shape]:
        """The shapes of the bad runs, counted."""
        return Counter(map(_shape, self.bad))

    @cached_property
    def presence(self) -> Counter[int]:
        """In how many good runs each letter occurs. `OTHER` occurs wherever there is a call."""
        found: Counter[int] = Counter()
        for shape, times in self.good_shapes.items():
            letters = {letter for letter, _ in shape}
            for letter in letters | ({OTHER} if letters - {CONSENT} else set()):
                found[letter] += times
        return found

    @cached_property
    def mean_count(self) -> Mapping[int, float]:
        """How often each letter occurs in a good run in which it occurs at all."""
        found: Counter[int] = Counter()
        for shape, times in self.good_shapes.items():
            for letter, _ in shape:
                found[letter] += times
                found[OTHER] += times if letter not in (OTHER, CONSENT) else 0
        return {letter: number / self.presence[letter] for letter, number in found.items()}


def _shape(run: Iterable[Event]) -> Shape:
    return tuple((letter, failed) for letter, failed, _ in run)


def make_log(good: Sequence[Run], bad: Sequence[Run], least: int, wanted: Callable[[str], bool]) -> RuleLog:
    """Write runs as numbers. Rules are learned about tools that are wanted and occur in at least `least` good runs."""
    seen = count_tools(good)
    frequent = [tool for tool, times in seen.most_common() if times >= least and wanted(tool)]
    kept = frequent[:MOST_TOOLS]
    letters = {tool: number for number, tool in enumerate(kept, CONSENT + 1)}
    coder = _Coder(letters, _find_slots(good, letters, least))
    coded_good, coded_bad = (tuple(tuple(coder.code(run)) for run in runs) for runs in (good, bad))
    return RuleLog(("", "", *kept), tuple(coder.slots), coded_good, coded_bad, len(frequent) - len(kept))


def count_tools(runs: Iterable[Run]) -> Counter[str]:
    """Count in how many runs each tool is called."""
    return Counter(tool for run in runs for tool in dict.fromkeys(item.tool for item in run if isinstance(item, Call)))


def _find_slots(runs: Sequence[Run], letters: Mapping[str, int], least: int) -> dict[tuple[int, str], int]:
    """Number the arguments that occur in enough runs, the most frequent first."""
    seen: Counter[tuple[int, str]] = Counter()
    for run in runs:
        seen.update(dict.fromkeys(
            (letters[item.tool], name)
            for item in run
            if isinstance(item, Call) and item.tool in letters and not item.malformed
            for name, value in item.arguments.items()
            if is_comparable(value)
        ).keys())  # fmt: skip
    return {slot: number for number, (slot, times) in enumerate(seen.most_common(MOST_SLOTS)) if times >= least}


@dataclass
class _Coder:
    letters: Mapping[str, int]
    slots: dict[tuple[int, str], int]

    def code(self, run: Run) -> Iterator[Event]:
        """Yield the events of a run."""
        for item in run:
            if isinstance(item, Call):
                yield self._code_call(item)
            elif bind(YES, item) is not None:
                yield (CONSENT, False, ())

    def _code_call(self, call: Call) -> Event:
        letter = self.letters.get(call.tool, OTHER)
        if letter == OTHER or call.malformed:
            return (letter, call.failed, ())
        slots = [
            (slot, value)
            for name, value in call.arguments.items()
            if is_comparable(value) and (slot := self.slots.get((letter, name))) is not None
        ]
        return (letter, call.failed, tuple(slots))


def is_comparable(value: Any) -> bool:
    """Whether a value may be the same in two calls by intention: a number or a text that is not too long."""
    kind = type(value)
    return (kind is str and 0 < len(value) <= LONGEST_VALUE) or kind is int or kind is float

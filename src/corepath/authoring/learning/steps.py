"""Steps of good runs: which calls are the same step, and which values its arguments may have.

Calls of a tool are one step if the arguments that recur from run to run are equal. Arguments whose values differ from
run to run are not looked at, and `arguments` finds a pattern for them afterwards.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.authoring.derive import pattern_of
from corepath.authoring.learning.good_run import GoodRun
from corepath.authoring.list_orders import permute_pairs
from corepath.files.tool_file import ArgumentRule, Tools
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, Scope
from corepath.notation.patterns import as_matcher
from corepath.values import canonical

Place = tuple[int, int]
"""Where a call stands: the number of its run, and its place in the run."""
FEWEST_TO_VARY: Final = 3
"""With fewer runs, an argument is not said to differ from run to run."""
_RARE: Final = 0.15
"""A value is rare if a smaller share of the runs has it."""
_PROSE: Final = 6
"""A text with so many words is free text if there are too few runs to see that it differs."""


@dataclass
class SeenStep:
    """Calls that are the same step. `fixed` holds the arguments that are equal in all of them."""

    tool: str
    fixed: dict[str, Any]
    varying: tuple[str, ...]
    reads: bool
    rules: Mapping[str, ArgumentRule] = field(default_factory=dict)
    names: Sequence[str] = ()
    """The names of all arguments, in the order of the first call."""
    places: list[Place] = field(default_factory=list)
    patterns: dict[str, Any] = field(default_factory=dict)
    """The patterns of the arguments that are not fixed, once they are known."""
    support: dict[str, str] = field(default_factory=dict)
    """What speaks for each of these patterns."""
    result: Any = None
    """What the result must be, if that tells the step apart from others."""
    decides: bool = False
    """Whether it is a read whose result decides what follows."""

    @property
    def runs(self) -> set[int]:
        """The numbers of the runs that have the step."""
        return {run for run, _ in self.places}

    def make_actions(self) -> tuple[Action, ...]:
        """Return the step as an action, or as one for each order of lists that are permuted together."""
        actions = []
        for variant in permute_pairs(self.fixed, self.rules):
            patterns = {name: pattern_of(value, name, self.rules) for name, value in variant.items()} | self.patterns
            ordered = sorted(patterns, key=lambda name: self.names.index(name) if name in self.names else 0)
            fields = tuple((name, as_matcher(patterns[name])) for name in ordered)
            action = Action(self.tool, Fields(fields))
            actions.append(action if self.result is None else action.returns(self.result))
        return tuple(dict.fromkeys(actions))


def find_steps(runs: Sequence[GoodRun], tools: Tools, *, literal: bool = False) -> list[SeenStep]:
    """Group the calls of all runs into steps, in the order in which they first come.

    If `literal`, all values count, so that no argument varies.
    """
    shapes: dict[tuple[str, tuple[str, ...]], list[Place]] = defaultdict(list)
    for number, run in enumerate(runs):
        for place, call in enumerate(run.calls):
            shapes[call.tool, tuple(sorted(call.arguments))].append((number, place))
    found = [
        step
        for (tool, names), places in shapes.items()
        for step in _split_shape(
            runs, places, () if literal else names, tools.rules(tool), reads=tools.kind(tool) == "read"
        )
    ]
    return sorted(found, key=lambda step: min(place for _, place in step.places))


def _split_shape(
    runs: Sequence[GoodRun], places: Sequence[Place], names: Sequence[str], rules: Mapping[str, ArgumentRule], *,
    reads: bool,
) -> Iterator[SeenStep]:  # fmt: skip
    """Split calls of one tool, with arguments of the same names, into steps."""
    varying = tuple(name for name in names if name not in rules and _varies(runs, places, name))
    groups: dict[str, SeenStep] = {}
    calls = [runs[run].calls[place] for run, place in places]
    known = _EqualCalls(rules) if rules else None
    for place, call in zip(places, calls, strict=True):
        fixed = {name: value for name, value in call.arguments.items() if name not in varying}
        key = canonical(fixed) if known is None else known.find(call.tool, fixed)
        if key not in groups:
            groups[key] = SeenStep(call.tool, fixed, varying, reads, rules, tuple(call.arguments))
        groups[key].places.append(place)
    yield from groups.values()


class _EqualCalls:
    """Finds calls that are equal under the rules for their arguments, e.g. with lists in another order."""

    def __init__(self, rules: Mapping[str, ArgumentRule]) -> None:
        self.rules = rules
        self._keys: dict[str, str] = {}
        self._steps: list[tuple[str, tuple[Action, ...]]] = []

    def find(self, tool: str, arguments: dict[str, Any]) -> str:
        """Return a key that equal calls share."""
        text = canonical(arguments)
        if text not in self._keys:
            actions = SeenStep(tool, arguments, (), reads=False, rules=self.rules).make_actions()
            self._keys[text] = next(
                (key for key, known in self._steps if any(one.arguments.matches(arguments, Scope()) for one in known)),
                text,
            )
            if self._keys[text] == text:
                self._steps.append((text, actions))
        return self._keys[text]


def _varies(runs: Sequence[GoodRun], places: Iterable[Place], name: str) -> bool:
    """Whether most values of an argument occur in few runs only. With few runs, long texts are taken to vary."""
    holders: dict[str, set[int]] = defaultdict(set)
    calls: Counter[str] = Counter()
    longest = 0
    for run, place in places:
        value = runs[run].calls[place].arguments[name]
        text = canonical(value)
        holders[text].add(run)
        calls[text] += 1
        longest = max(longest, len(value.split()) if isinstance(value, str) else 0)
    number = len(set().union(*holders.values()))
    if number < FEWEST_TO_VARY:
        return longest >= _PROSE
    share = sum(len(holders[text]) * times for text, times in calls.items()) / number / calls.total()
    return share < max(_RARE, 1.5 / number)


def call_at(runs: Sequence[GoodRun], place: Place) -> Call:
    """Return the call at a place."""
    return runs[place[0]].calls[place[1]]

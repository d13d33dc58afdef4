"""Monitor rules: which event breaks a rule, and what the rules still require.

monitor = Monitor(rules)
memory = monitor.begin()
broken, memory = monitor.observe(memory, call, state, after)

A memory is immutable and hashable. Two runs with equal memories are the same to every rule from then on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from corepath.memory import remember
from corepath.notation.call import Call
from corepath.rules.event import Event, Mark, bind
from corepath.rules.rule import Eventually, Never, Rule
from corepath.rules.segments import make_watch
from corepath.rules.watch import Watch, is_forbidden


@dataclass(frozen=True, eq=False)
class Memory:
    """What the rules remember after some calls. `keys` identifies what each watch remembers."""

    watches: tuple[Watch, ...]
    keys: tuple[Hashable, ...]
    calls: int = 0

    @cached_property
    def _hash(self) -> int:
        return hash(self.keys)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Memory) and self.keys == other.keys)

    def __hash__(self) -> int:
        return self._hash


_Outcome = tuple[bool, Watch, Hashable]
"""Whether a call breaks a rule, and the rule's watch after the call with its key."""
_Step = tuple[Sequence[int], Sequence[int], Memory]
"""The places of the rules that a call breaks, of those that it breaks in some states only, and the memory after it."""

MOST_CACHED: Final = 2_000
"""The most calls whose effect on all rules, or on one rule, is cached per monitor."""


@dataclass(eq=False)
class Monitor:
    """Applies rules to calls, one call at a time. What a call does to the rules is cached."""

    policies: Sequence[Rule]
    _by_tool: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False)
    _steps: dict[tuple[Memory, str], _Step] = field(default_factory=dict, init=False, repr=False)
    _memories: dict[Memory, Memory] = field(default_factory=dict, init=False, repr=False)
    _outcomes: dict[tuple[int, Hashable, str], _Outcome] = field(default_factory=dict, init=False, repr=False)

    def begin(self) -> Memory:
        """Return the memory before the first call."""
        return self._start

    @cached_property
    def _start(self) -> Memory:
        watches = tuple(make_watch(rule) for rule in self.policies)
        return Memory(watches, tuple(watch.key() for watch in watches))

    def observe(self, memory: Memory, call: Call, state: Any, after: Any) -> tuple[list[Rule], Memory]:
        """Return the rules that `call` breaks, and the memory after the call.

        `state` is the world's state before the call, and `after` is the state after it.
        """
        concerned = self._concerned(call.tool)
        if not concerned:
            return [], replace(memory, calls=memory.calls + 1) if self._has_windows else memory
        step = None if self._has_windows else self._steps.get((memory, call.text))
        if step is None:
            step = self._take(memory, call)
        broken, in_some_states, reached = step
        if in_some_states:
            broken = sorted([*broken, *(place for place in in_some_states if self._forbids(place, state, after))])
        return [self.policies[place] for place in broken], reached

    def _forbids(self, place: int, state: Any, after: Any) -> bool:
        rule = self.policies[place]
        return isinstance(rule, Never) and is_forbidden(rule, state, after)

    def _take(self, memory: Memory, call: Call) -> _Step:
        """Let the watches see a call."""
        number = memory.calls + 1
        event = Event(call, Mark(number - 1, number, call.time), number)
        watches, keys = list(memory.watches), list(memory.keys)
        broken: list[int] = []
        in_some_states: list[int] = []
        for place in self._concerned(call.tool):
            rule = self.policies[place]
            if isinstance(rule, Never) and _depends_on_state(rule):
                in_some_states += [place] if _fits(rule, event) else []
                continue
            breaks, watches[place], keys[place] = self._let_see(place, memory, event, call.text)
            broken += [place] if breaks else []
        reached = Memory(tuple(watches), tuple(keys), number)
        if self._has_windows:  # the place and the time of the call count too
            return broken, in_some_states, reached
        reached = self._memories.get(reached) or remember(self._memories, reached, reached, MOST_CACHED)
        step = (tuple(broken), tuple(in_some_states), reached)
        return remember(self._steps, (memory, call.text), step, MOST_CACHED)

    def _let_see(self, place: int, memory: Memory, event: Event, text: str) -> _Outcome:
        """Let the watch at `place` see an event. `text` identifies the call and its result."""
        if _has_window(self.policies[place]):
            return _see(memory.watches[place], event)
        key = (place, memory.keys[place], text)
        found = self._outcomes.get(key)
        if found is None:
            found = remember(self._outcomes, key, _see(memory.watches[place], event), MOST_CACHED)
        return found

    @cached_property
    def _has_windows(self) -> bool:
        return any(map(_has_window, self.policies))

    def owed(self, memory: Memory) -> list[Rule]:
        """Return the rules that still require a call."""
        return [rule for rule, watch in zip(self.policies, memory.watches, strict=True) if watch.owed()]

    def _concerned(self, tool: str) -> list[int]:
        """Return the indexes of the rules that a call to `tool` may concern."""
        if tool not in self._by_tool:
            self._by_tool[tool] = [number for number, rule in enumerate(self.policies) if concerns(rule, tool)]
        return self._by_tool[tool]


def _see(watch: Watch, event: Event) -> _Outcome:
    forked = watch.fork()
    breaks = bool(list(forked.see(event)))
    return breaks, forked, forked.key()


def _fits(rule: Never, event: Event) -> bool:
    """Whether a call is one that a rule is about, whatever the state of the world."""
    about = rule.call is None or bind(rule.call, event.item) is not None
    return about and (rule.attempted or not event.failed)


def _depends_on_state(rule: Never) -> bool:
    """Whether a rule looks at the state of the world, and so remembers nothing."""
    return rule.when is not None or rule.leaves is not None


def _has_window(rule: Rule) -> bool:
    return getattr(rule, "within", None) is not None


def concerns(rule: Rule, tool: str) -> bool:
    """Whether a call to `tool` can matter to a rule, because it matches a pattern or lets a deadline pass."""
    return sees_all(rule) or any(pattern.fits_tool(tool) for pattern in rule.patterns)


def sees_all(rule: Rule) -> bool:
    """Whether a rule must see every event, because deadlines pass, turns end, or it is about every call."""
    if isinstance(rule, Eventually):
        return rule.within is not None
    return isinstance(rule, Never) and (rule.call is None or rule.beside is not None)


def find_breaches(monitor: Monitor, calls: Sequence[Call], states: Sequence[Any]) -> dict[int, Rule]:
    """Return the first rule that each call breaks, keyed by the call's index. Other calls are left out.

    `states` holds the state before the first call and the state after each call.
    """
    found: dict[int, Rule] = {}
    memory = monitor.begin()
    for index, call in enumerate(calls):
        broken, memory = monitor.observe(memory, call, states[index], states[index + 1])
        if broken:
            found[index] = broken[0]
    return found

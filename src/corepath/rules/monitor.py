"""Monitor rules: which event breaks a rule, and what the rules still require.

monitor = Monitor(rules)
memory = monitor.begin()
broken, memory = monitor.observe(memory, call, state, after)

A memory is immutable and hashable. Two runs with equal memories are the same to every rule from then on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from corepath.notation.call import Call
from corepath.rules.event import Event, Mark
from corepath.rules.rule import Eventually, Never, Rule
from corepath.rules.segments import make_watch
from corepath.rules.watch import Watch


@dataclass(frozen=True, eq=False)
class Memory:
    """What the rules remember after some calls."""

    watches: tuple[Watch, ...]
    calls: int = 0

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """What tells this memory from others."""
        return tuple(watch.key() for watch in self.watches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(eq=False)
class Monitor:
    """Applies rules to calls, one call at a time."""

    policies: Sequence[Rule]
    _by_tool: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False)

    def begin(self) -> Memory:
        """Return the memory before the first call."""
        return Memory(tuple(make_watch(rule) for rule in self.policies))

    def observe(self, memory: Memory, call: Call, state: Any, after: Any) -> tuple[list[Rule], Memory]:
        """Return the rules that `call` breaks, and the memory after the call.

        `state` is the world's state before the call, and `after` is the state after it.
        """
        number = memory.calls + 1
        concerned = self._concerned(call.tool)
        if not concerned:
            return [], Memory(memory.watches, number)
        event = Event(call, Mark(number - 1, number, call.time), number, state, after)
        watches, broken = list(memory.watches), []
        for place in concerned:
            watches[place] = memory.watches[place].fork()
            if any(True for _ in list(watches[place].see(event))):
                broken.append(self.policies[place])
        return broken, Memory(tuple(watches), number)

    def owed(self, memory: Memory) -> list[Rule]:
        """Return the rules that still require a call."""
        return [rule for rule, watch in zip(self.policies, memory.watches, strict=True) if watch.owed()]

    def _concerned(self, tool: str) -> list[int]:
        """Return the indexes of the rules that a call to `tool` may concern."""
        if tool not in self._by_tool:
            self._by_tool[tool] = [number for number, rule in enumerate(self.policies) if concerns(rule, tool)]
        return self._by_tool[tool]


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

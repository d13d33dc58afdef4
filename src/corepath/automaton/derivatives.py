"""From a procedure to its automaton: a state is what remains to be done.

Each state is an expression; taking a step leaves another expression (its derivative). Expressions are held once
each and known by number, so equal remainders are one state, and none is walked deeper than one level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from corepath.automaton.golden_paths import Golden, minimal
from corepath.errors import TaskError
from corepath.notation.action import Action
from corepath.notation.procedure import AnyOrder, Choice, Procedure, Repeat, Seq

MOST_STATES: Final = 100_000
"""A procedure that needs more states is refused."""

_NOTHING: Final = 0
_Node = tuple[str, tuple[int, ...]]


def compiled(procedure: Procedure, number_of: Callable[[Action], int]) -> Golden:
    """The smallest automaton that takes exactly the orders that the procedure allows."""
    remainders = _Remainders(number_of)
    start = remainders.of(procedure)
    numbers = {start: 0}
    states = [start]
    edges: list[dict[int, int]] = []
    for state in states:
        after: dict[int, int] = {}
        for symbol, remainder in remainders.after(state).items():
            if remainder not in numbers:
                if len(states) >= MOST_STATES:
                    raise TaskError.of(
                        f"the procedure needs more than {MOST_STATES:,} states, which is the limit; "
                        "split the task, or fix the order of some of its steps",
                        "procedure",
                    )
                numbers[remainder] = len(states)
                states.append(remainder)
            after[symbol] = numbers[remainder]
        edges.append(after)
    accepting = frozenset(numbers[state] for state in states if remainders.may_end[state])
    return minimal([tuple(after.items()) for after in edges], accepting, 0)[0]


class _Remainders:
    """Expressions by number; 0 is nothing to do."""

    def __init__(self, number_of: Callable[[Action], int]) -> None:
        self.number_of = number_of
        self.nodes: list[_Node] = [("seq", ())]
        self.may_end: list[bool] = [True]
        self._numbers: dict[_Node, int] = {("seq", ()): _NOTHING}
        self._after: dict[int, dict[int, int]] = {_NOTHING: {}}
        self._joined: dict[tuple[int, int], int] = {}

    def of(self, procedure: Procedure) -> int:
        """The number of an expression."""
        match procedure:
            case Action():
                return self._number("step", (self.number_of(procedure),), may_end=False)
            case Seq(parts):
                rest = _NOTHING
                for part in reversed(parts):
                    rest = self._seq(self.of(part), rest)
                return rest
            case AnyOrder(parts):
                return self._shuffle(map(self.of, parts))
            case Choice(parts):
                return self._choice(map(self.of, parts))
            case Repeat(step, least, most):
                return self._repeat(self.of(step), least, most)
        raise TypeError(procedure)

    def after(self, number: int) -> dict[int, int]:
        """What remains after each step that the expression can begin with."""
        waiting = [number]
        while waiting:
            # What an expression needs is worked out before it, by a stack rather than by recursion.
            here = waiting[-1]
            needs = [] if here in self._after else [part for part in self._heads(here) if part not in self._after]
            waiting.extend(needs)
            if not needs:
                waiting.pop()
                if here not in self._after:
                    self._after[here] = self._steps(here)
        return self._after[number]

    def _heads(self, number: int) -> Iterable[int]:
        """The parts that the first step can belong to."""
        kind, parts = self.nodes[number]
        match kind:
            case "seq":
                return parts if self.may_end[parts[0]] else parts[:1]
            case "any_order" | "choice":
                return parts
            case "repeat":
                return parts[:1]
        return ()

    def _steps(self, number: int) -> dict[int, int]:
        kind, parts = self.nodes[number]
        found: dict[int, int] = {}
        match kind:
            case "step":
                found[parts[0]] = _NOTHING
            case "seq":
                head, rest = parts
                for symbol, left in self._after[head].items():
                    found[symbol] = self._seq(left, rest)
                if self.may_end[head]:
                    self._add(found, self._after[rest])
            case "choice":
                for part in parts:
                    self._add(found, self._after[part])
            case "any_order":
                for place, part in enumerate(parts):
                    if place == 0 or part != parts[place - 1]:
                        others = parts[:place] + parts[place + 1 :]
                        steps = self._after[part].items()
                        self._add(found, {symbol: self._shuffle((left, *others)) for symbol, left in steps})
            case "repeat":
                step, least, most = parts
                again = self._repeat(step, max(0, least - 1), most - 1)
                for symbol, left in self._after[step].items():
                    found[symbol] = self._seq(left, again)
        return found

    def _add(self, found: dict[int, int], more: dict[int, int]) -> None:
        for symbol, remainder in more.items():
            known = found.get(symbol)
            found[symbol] = remainder if known is None else self._choice((known, remainder))

    def _seq(self, head: int, rest: int) -> int:
        """Head, then rest; lists lean to the right, so that equal remainders are equal."""
        if _NOTHING in (head, rest):
            return head or rest
        chain: list[int] = []
        while (head, rest) not in self._joined and self.nodes[head][0] == "seq":
            chain.append(head)
            head = self.nodes[head][1][1]
        if (head, rest) not in self._joined:
            may_end = self.may_end[head] and self.may_end[rest]
            self._joined[head, rest] = self._number("seq", (head, rest), may_end=may_end)
        joined = self._joined[head, rest]
        for whole in reversed(chain):
            first = self.nodes[whole][1][0]
            joined = self._number("seq", (first, joined), may_end=self.may_end[first] and self.may_end[joined])
            self._joined[whole, rest] = joined
        return joined

    def _shuffle(self, parts: Iterable[int]) -> int:
        flat: list[int] = []
        for part in parts:
            kind, inner = self.nodes[part]
            flat.extend(inner if kind == "any_order" else (part,) if part != _NOTHING else ())
        if len(flat) < 2:
            return flat[0] if flat else _NOTHING
        return self._number("any_order", tuple(sorted(flat)), may_end=all(self.may_end[part] for part in flat))

    def _choice(self, parts: Iterable[int]) -> int:
        flat: set[int] = set()
        for part in parts:
            kind, inner = self.nodes[part]
            flat.update(inner if kind == "choice" else (part,))
        if len(flat) == 1:
            return flat.pop()
        return self._number("choice", tuple(sorted(flat)), may_end=any(self.may_end[part] for part in flat))

    def _repeat(self, step: int, least: int, most: int) -> int:
        if most == 0 or step == _NOTHING:
            return _NOTHING
        if self.may_end[step]:
            least = 0
        if least == most == 1:
            return step
        return self._number("repeat", (step, least, most), may_end=least == 0)

    def _number(self, kind: str, parts: tuple[int, ...], *, may_end: bool) -> int:
        number = self._numbers.setdefault((kind, parts), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((kind, parts))
            self.may_end.append(may_end)
        return number

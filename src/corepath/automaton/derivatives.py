"""Compile a procedure to its automaton with Brzozowski derivatives.

A state is an expression that describes what remains to be done. The derivative of an expression by a symbol (an
action's number) is what remains after that step. The automaton's states are all derivatives of the procedure, found
breadth-first. The result is minimised.

Expressions are hash-consed: each expression is stored once and identified by its number. The parts of `choice` and
`any_order` are flattened and sorted, and sequences are nested to the right. As a result, equal remainders usually have
the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from corepath.automaton.golden_paths import GoldenGraph, minimise
from corepath.errors import TaskError
from corepath.notation.action import Action
from corepath.notation.procedure import AnyOrder, Choice, Procedure, Repeat, Seq

MOST_STATES: Final = 100_000
"""The most states that a procedure may need before minimisation."""

_NOTHING: Final = 0
_Node = tuple[str, tuple[int, ...]]


def compile_procedure(procedure: Procedure, number_of: Callable[[Action], int]) -> GoldenGraph:
    """Build the minimal automaton that accepts exactly the step orders that the procedure allows.

    `number_of` returns an action's symbol. Raises `TaskError` if more than `MOST_STATES` states are needed.
    """
    expressions = _Expressions(number_of)
    start = expressions.intern(procedure)
    numbers = {start: 0}
    states = [start]
    edges: list[dict[int, int]] = []
    for state in states:
        after: dict[int, int] = {}
        for symbol, remainder in expressions.derivatives(state).items():
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
    accepting = frozenset(numbers[state] for state in states if expressions.nullable[state])
    return minimise([tuple(after.items()) for after in edges], accepting, 0)[0]


def follow(procedure: Procedure, numbers: Mapping[Action, int], run: Sequence[tuple[int | None, bool]]) -> int:
    """Return how many calls of a run a procedure allows one after the other, and one more if it is then done.

    Each call is the symbol that it is read as, and whether it is a self-loop where it is not due. Only the states on
    the way are computed. `numbers` holds the symbols of all actions.
    """
    expressions = _Expressions(lambda action: numbers[action])
    state = expressions.intern(procedure)
    for place, (symbol, loops) in enumerate(run):
        after = None if symbol is None else expressions.derivatives(state).get(symbol)
        if after is None and not loops:
            return place
        state = state if after is None else after
    return len(run) + expressions.nullable[state]


class _Expressions:
    """A store of numbered expressions. Number 0 is the empty sequence: nothing to do.

    `nodes[number]` is a pair of the expression's kind and the numbers of its parts. For a step, the second member holds
    the step's symbol instead. For a repeat, it holds the repeated part's number, followed by the minimum and maximum
    number of repetitions. `nullable[number]` says whether the expression can be skipped.
    """

    def __init__(self, number_of: Callable[[Action], int]) -> None:
        self.number_of = number_of
        self.nodes: list[_Node] = [("seq", ())]
        self.nullable: list[bool] = [True]
        self._numbers: dict[_Node, int] = {("seq", ()): _NOTHING}
        self._derivatives: dict[int, dict[int, int]] = {_NOTHING: {}}
        self._sequences: dict[tuple[int, int], int] = {}

    def intern(self, procedure: Procedure) -> int:
        """Store a procedure as an expression, and return its number. Equal procedures get the same number."""
        match procedure:
            case Action():
                return self._number("step", (self.number_of(procedure),), nullable=False)
            case Seq(parts):
                rest = _NOTHING
                for part in reversed(parts):
                    rest = self._seq(self.intern(part), rest)
                return rest
            case AnyOrder(parts):
                return self._any_order(map(self.intern, parts))
            case Choice(parts):
                return self._choice(map(self.intern, parts))
            case Repeat(step, least, most):
                return self._repeat(self.intern(step), least, most)
        raise TypeError(procedure)

    def derivatives(self, number: int) -> dict[int, int]:
        """Return an expression's derivatives, keyed by the symbols with which the expression can begin.

        Parts are derived first. A stack replaces recursion, because expressions can be nested more deeply than Python's
        recursion limit.
        """
        stack = [number]
        while stack:
            here = stack[-1]
            known = self._derivatives
            needed = [] if here in known else [part for part in self._heads(here) if part not in known]
            stack.extend(needed)
            if not needed:
                stack.pop()
                if here not in known:
                    known[here] = self._derive(here)
        return self._derivatives[number]

    def _heads(self, number: int) -> Iterable[int]:
        """Return the parts that can contain an expression's first step."""
        kind, parts = self.nodes[number]
        match kind:
            case "seq":
                return parts if self.nullable[parts[0]] else parts[:1]
            case "any_order" | "choice":
                return parts
            case "repeat":
                return parts[:1]
        return ()

    def _derive(self, number: int) -> dict[int, int]:
        """Compute an expression's derivatives from those of its parts, which must already be stored."""
        kind, parts = self.nodes[number]
        match kind:
            case "step":
                return {parts[0]: _NOTHING}
            case "seq":
                return self._derive_seq(*parts)
            case "any_order":
                return self._derive_any_order(parts)
            case "repeat":
                step, least, most = parts
                again = self._repeat(step, max(0, least - 1), most - 1)
                return {symbol: self._seq(rest, again) for symbol, rest in self._derivatives[step].items()}
        return self._union(self._derivatives[part] for part in parts)

    def _derive_seq(self, head: int, rest: int) -> dict[int, int]:
        """∂(h·r) = ∂h·r, and also ∂r if h is nullable."""
        found = {symbol: self._seq(left, rest) for symbol, left in self._derivatives[head].items()}
        return self._union([found, self._derivatives[rest]]) if self.nullable[head] else found

    def _derive_any_order(self, parts: tuple[int, ...]) -> dict[int, int]:
        """∂(p₁ ∥ … ∥ pₙ) = the union over i of ∂pᵢ ∥ all other parts.

        Parts are sorted, so equal parts are neighbours. Only the first of several equal parts is derived.
        """
        places = [place for place, part in enumerate(parts) if place == 0 or part != parts[place - 1]]
        return self._union(
            {
                symbol: self._any_order((left, *parts[:place], *parts[place + 1 :]))
                for symbol, left in self._derivatives[parts[place]].items()
            }
            for place in places
        )

    def _union(self, alternatives: Iterable[dict[int, int]]) -> dict[int, int]:
        """Merge the derivatives of several alternatives.

        If a symbol occurs in more than one alternative, its derivative is a choice between the remainders.
        """
        found: dict[int, int] = {}
        for derivatives in alternatives:
            for symbol, remainder in derivatives.items():
                known = found.get(symbol)
                found[symbol] = remainder if known is None else self._choice((known, remainder))
        return found

    def _seq(self, head: int, rest: int) -> int:
        """Return the number of the sequence `head`, `rest`.

        Sequences are nested to the right: (a·b)·c becomes a·(b·c).
        """
        if _NOTHING in (head, rest):
            return head or rest
        chain: list[int] = []
        while (head, rest) not in self._sequences and self.nodes[head][0] == "seq":
            chain.append(head)
            head = self.nodes[head][1][1]
        if (head, rest) not in self._sequences:
            nullable = self.nullable[head] and self.nullable[rest]
            self._sequences[head, rest] = self._number("seq", (head, rest), nullable=nullable)
        sequence = self._sequences[head, rest]
        for whole in reversed(chain):
            first = self.nodes[whole][1][0]
            nullable = self.nullable[first] and self.nullable[sequence]
            sequence = self._number("seq", (first, sequence), nullable=nullable)
            self._sequences[whole, rest] = sequence
        return sequence

    def _any_order(self, parts: Iterable[int]) -> int:
        """Return the number of the expression for `parts` in any order (their shuffle), flattened and sorted."""
        flat: list[int] = []
        for part in parts:
            kind, inner = self.nodes[part]
            flat.extend(inner if kind == "any_order" else (part,) if part != _NOTHING else ())
        if len(flat) < 2:
            return flat[0] if flat else _NOTHING
        return self._number("any_order", tuple(sorted(flat)), nullable=all(self.nullable[part] for part in flat))

    def _choice(self, parts: Iterable[int]) -> int:
        """Return the number of the choice between `parts`, flattened, sorted and without duplicates."""
        flat: set[int] = set()
        for part in parts:
            kind, inner = self.nodes[part]
            flat.update(inner if kind == "choice" else (part,))
        if len(flat) == 1:
            return flat.pop()
        return self._number("choice", tuple(sorted(flat)), nullable=any(self.nullable[part] for part in flat))

    def _repeat(self, step: int, least: int, most: int) -> int:
        """Return the number of the expression for `step` repeated `least` to `most` times."""
        if most == 0 or step == _NOTHING:
            return _NOTHING
        if self.nullable[step]:
            least = 0
        if least == most == 1:
            return step
        return self._number("repeat", (step, least, most), nullable=least == 0)

    def _number(self, kind: str, parts: tuple[int, ...], *, nullable: bool) -> int:
        """Return the number of an expression. A new expression is stored first."""
        number = self._numbers.setdefault((kind, parts), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((kind, parts))
            self.nullable.append(nullable)
        return number

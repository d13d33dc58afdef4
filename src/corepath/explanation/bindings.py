"""Keep track of the variables and results that are known at each place of a search for a repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corepath.automaton.reading import Reading
from corepath.explanation.facts import Facts
from corepath.notation.call import UNANSWERED
from corepath.notation.matchers import ResultOf, walk
from corepath.values import canonical


@dataclass(frozen=True)
class _Known:
    """Variables and results. `sources` says which call did each step. It has None for a step that is new."""

    variables: Mapping[str, Any]
    results: Mapping[Any, Any]
    sources: frozenset[tuple[int, int | None]] = frozenset()


class Bindings:
    """Numbers the sets of variables and results that a search meets, and classifies calls with them.

    If no step depends on the calls before it, there is only the set 0.
    """

    def __init__(self, facts: Facts) -> None:
        begin = facts.score.trace.begin
        self._facts = facts
        self._alphabet = facts.automaton.alphabet
        self._known = [_Known(begin.variables, begin.results)]
        self._numbers: dict[Any, int] = {}
        self._readings: dict[tuple[int, int], Reading] = {}

    def read(self, index: int, bound: int) -> Reading:
        """Classify a call with the variables and results in the set `bound`."""
        step = self._facts.steps[index]
        if not self._alphabet.binds:
            return step.reading
        if (index, bound) not in self._readings:
            known = self._known[bound]
            failed = step.call.failed and self._facts.score.trace.begin.errors != "as_called"
            self._readings[index, bound] = self._alphabet.read(step.call, known.variables, known.results, failed=failed)
        return self._readings[index, bound]

    def assumed(self, index: int, bound: int) -> tuple[int, ...]:
        """Return the steps that a call may be if the results of new steps are what the call uses."""
        early = self.read(index, bound).early
        return tuple(symbol for symbol in early if self._needs(symbol, bound) <= self._new(bound))

    def _new(self, bound: int) -> set[int]:
        """Return the steps that are new, so that their results are not known."""
        return {symbol for symbol, call in self._known[bound].sources if call is None}

    def _needs(self, symbol: int, bound: int) -> set[int]:
        """Return the steps whose results a step refers to, and that are not known."""
        actions, results = self._alphabet.actions, self._known[bound].results
        parts = walk(self._alphabet.patterns[symbol].arguments)
        return {
            actions.index(part.action) for part in parts if isinstance(part, ResultOf) and part.action not in results
        }

    def after_step(self, bound: int, index: int, reading: Reading) -> int:
        """Return the set that is known after a call that stays as a step."""
        if not self._alphabet.binds or reading.symbol is None:
            return bound
        return self._next(bound, reading.symbol, index, reading.variables)

    def after_edit(self, bound: int, symbol: int, call: int | None) -> int:
        """Return the set that is known after a new step, or after a call that was moved."""
        return self._next(bound, symbol, call, None) if self._alphabet.binds else bound

    def _next(self, bound: int, symbol: int, call: int | None, variables: Mapping[str, Any] | None) -> int:
        """Return the set that is known after a step. `call` is the call that did it, or None if it is new."""
        known, action = self._known[bound], self._alphabet.actions[symbol]
        result = UNANSWERED if call is None else self._facts.steps[call].call.result
        sources = frozenset({*(one for one in known.sources if one[0] != symbol), (symbol, call)})
        bindings = known.variables if variables is None else variables
        key = canonical(dict(bindings)) if bindings else "", sources
        if key not in self._numbers:
            results = {key: value for key, value in known.results.items() if key != action}
            if result is not UNANSWERED:
                results[action] = result
            self._numbers[key] = len(self._known)
            self._known.append(_Known(bindings, results, sources))
        return self._numbers[key]

"""Keep track of the variables and results that are known at each place of a search for a repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corepath.automaton.alphabet import Reading
from corepath.explanation.facts import Facts
from corepath.notation.call import UNANSWERED
from corepath.notation.matchers import ResultOf, walk
from corepath.values import canonical


@dataclass(frozen=True)
class _Known:
    """Variables and results, and the numbers of new steps whose results are not known."""

    variables: Mapping[str, Any]
    results: Mapping[Any, Any]
    new: frozenset[int] = frozenset()


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
        return (
            tuple(symbol for symbol in early if self._needs(symbol, bound) <= self._known[bound].new) if early else ()
        )

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
        known, result = self._known[bound], self._facts.steps[index].call.result
        results = dict(known.results)
        if result is not UNANSWERED:
            results[self._alphabet.actions[reading.symbol]] = result
        return self._number(_Known(reading.variables, results, known.new - {reading.symbol}))

    def after_edit(self, bound: int, symbol: int, call: int | None) -> int:
        """Return the set that is known after a new step, or after a call that was moved."""
        if not self._alphabet.binds:
            return bound
        known, action = self._known[bound], self._alphabet.actions[symbol]
        result = UNANSWERED if call is None else self._facts.steps[call].call.result
        results = {key: value for key, value in known.results.items() if key != action}
        if result is not UNANSWERED:
            results[action] = result
        return self._number(_Known(known.variables, results, known.new | {symbol}))

    def _number(self, known: _Known) -> int:
        results = canonical([[str(action), result] for action, result in known.results.items()])
        key = canonical(dict(known.variables)), results, known.new
        if key not in self._numbers:
            self._numbers[key] = len(self._known)
            self._known.append(known)
        return self._numbers[key]

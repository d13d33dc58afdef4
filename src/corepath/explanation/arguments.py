"""Find the step that a call nearly matches, and describe which arguments differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.step import Kind
from corepath.explanation.difference_text import argument_of, describe_differences
from corepath.explanation.differences import find_differences
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Difference
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher, ResultOf, Scope, walk


@dataclass(frozen=True)
class NearestStep:
    """The step that a call nearly matches.

    `symbol` is the step's number, and `due` says whether the step was expected when the call was made. `str()`
    describes how the arguments differ.
    """

    symbol: int
    due: bool
    differences: tuple[Difference, ...]
    needs: tuple[Action, ...]
    """The actions whose results are missing, if nothing else is wrong with the call. Otherwise empty."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments that differ."""
        return tuple(dict.fromkeys(map(argument_of, self.differences)))

    def __str__(self) -> str:
        return describe_differences(self.differences)


def nearest_step(facts: Facts, index: int, among: frozenset[int] | None = None) -> NearestStep | None:
    """Find the step with the same tool that call `index` most nearly matches.

    Steps expected at that point are preferred to later steps, and later steps to all others. Ties are broken by the
    number of differing arguments. Only the steps in `among` are compared, unless `among` is None.

    Return None if the call is malformed, if no step has the same tool, or if the arguments do not differ.
    """
    alphabet, position, call = facts.automaton.alphabet, facts.positions[index], facts.steps[index].call
    if call.malformed:
        return None
    arguments, scope = _complete_arguments(alphabet, call), facts.scope(index)
    due, ahead = set(facts.automaton.due(position.state)), facts.automaton.ahead[position.state]
    candidates = [
        symbol for symbol in sorted(alphabet.steps if among is None else among)
        if alphabet.actions[symbol].tool == call.tool
    ]  # fmt: skip
    nearest = min(
        candidates,
        key=lambda one: (one not in due, not ahead >> one & 1, len(differing_arguments(facts, index, one))),
        default=None,
    )
    if nearest is None:
        return None
    found = _compare(alphabet.patterns[nearest], nearest, arguments, scope, due=nearest in due)
    return found if found.differences else None


def differing_arguments(facts: Facts, index: int, symbol: int) -> tuple[str, ...]:
    """Return the names of the arguments in which a call differs from a step with the same tool."""
    alphabet = facts.automaton.alphabet
    arguments, fields = _complete_arguments(alphabet, facts.steps[index].call), alphabet.patterns[symbol].arguments
    wrong = [
        name for name, part in fields.fields if name not in arguments or not _fits(facts, index, part, arguments[name])
    ]
    known = {name for name, _ in fields.fields}
    return (*wrong, *(() if fields.open else (name for name in arguments if name not in known)))


def _fits(facts: Facts, index: int, pattern: Matcher, value: Any) -> bool:
    return pattern.matches(value, facts.scope(index))


def compare_with_step(facts: Facts, index: int, symbol: int) -> NearestStep:
    """Compare a call with a step that has the same tool."""
    alphabet, state = facts.automaton.alphabet, facts.positions[index].state
    arguments = _complete_arguments(alphabet, facts.steps[index].call)
    due = symbol in facts.automaton.due(state)
    return _compare(alphabet.patterns[symbol], symbol, arguments, facts.scope(index), due=due)


def _complete_arguments(alphabet: Alphabet, call: Call) -> Mapping[str, Any]:
    """Return the call's arguments, with the tool's defaults filled in if the tool is known."""
    if alphabet.tools is not None and call.tool in alphabet.tools:
        return alphabet.tools[call.tool].fill_defaults(call.arguments)
    arguments: Mapping[str, Any] = call.arguments
    return arguments


def _compare(action: Action, symbol: int, arguments: Mapping[str, Any], scope: Scope, *, due: bool) -> NearestStep:
    """Compare `arguments` with those that `action` expects, and return the differences as a `NearestStep`."""
    return NearestStep(symbol, due, find_differences(action, arguments, scope), _needs(action, arguments, scope))


def _needs(action: Action, arguments: Mapping[str, Any], scope: Scope) -> tuple[Action, ...]:
    """Return the actions whose results the call lacks, or nothing if it is wrong in other ways too."""
    fields = dict(action.arguments.fields)
    if fields.keys() - arguments.keys() or (not action.arguments.open and arguments.keys() - fields.keys()):
        return ()
    wrong = [part for name, part in fields.items() if not part.matches(arguments[name], scope)]
    lacking = [_missing_results(part, scope) for part in wrong]
    return tuple(dict.fromkeys(action for one in lacking for action in one)) if all(lacking) else ()


def _missing_results(pattern: Matcher, scope: Scope) -> list[Action]:
    """List the actions whose results `pattern` needs but does not find in `scope`."""
    return [part.action for part in walk(pattern) if isinstance(part, ResultOf) and not part.values(scope)]


def near_misses(facts: Facts, steps: frozenset[int]) -> dict[int, NearestStep]:
    """Find legal calls that fit an expected step in `steps` except for their arguments.

    The keys are call indexes, and the values are the steps that the calls nearly matched.
    """
    tools = {facts.automaton.alphabet.actions[symbol].tool for symbol in steps}
    return {
        step.index: nearest for step in facts.steps
        if step.kind is Kind.LOOP and step.symbol is None and not step.reading.fits and step.call.tool in tools
        and (nearest := nearest_step(facts, step.index, steps)) is not None and nearest.due
    }  # fmt: skip

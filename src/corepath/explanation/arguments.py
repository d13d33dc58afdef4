"""Find the step that a call nearly matches, and describe which arguments differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.step import Kind
from corepath.explanation.facts import Facts
from corepath.explanation.sentences import MOST_LISTED, cut
from corepath.explanation.value_text import LONGEST_NAME, expected_text, mismatch_text, value_text
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher, ResultOf, Scope, walk
from corepath.values import key_text


@dataclass(frozen=True)
class NearestStep:
    """The step that a call nearly matches.

    `symbol` is the step's number, and `due` says whether the step was expected when the call was made. `str()`
    describes how the arguments differ.
    """

    symbol: int
    due: bool
    wrong: tuple[str, ...]
    """A description of each argument that differs."""
    needs: tuple[Action, ...]
    """The actions whose results are missing, if nothing else is wrong with the call. Otherwise empty."""

    def __str__(self) -> str:
        more = [f"and {len(self.wrong) - MOST_LISTED} more"] if len(self.wrong) > MOST_LISTED else []
        return "; ".join([*self.wrong[:MOST_LISTED], *more])


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
    candidates = (
        _compare(alphabet.patterns[symbol], symbol, arguments, scope, due=symbol in due)
        for symbol in sorted(alphabet.steps if among is None else among)
        if alphabet.actions[symbol].tool == call.tool
    )
    nearest = min(
        candidates, key=lambda step: (not step.due, not ahead >> step.symbol & 1, len(step.wrong)), default=None
    )
    return nearest if nearest is not None and nearest.wrong else None


def _complete_arguments(alphabet: Alphabet, call: Call) -> Mapping[str, Any]:
    """Return the call's arguments, with the tool's defaults filled in if the tool is known."""
    if alphabet.tools is not None and call.tool in alphabet.tools:
        return alphabet.tools[call.tool].fill_defaults(call.arguments)
    arguments: Mapping[str, Any] = call.arguments
    return arguments


def _compare(action: Action, symbol: int, arguments: Mapping[str, Any], scope: Scope, *, due: bool) -> NearestStep:
    """Compare `arguments` with those that `action` expects, and return the differences as a `NearestStep`."""
    mismatches = [*_wrong_arguments(action, arguments, scope), *_extra_arguments(action, arguments)]
    needs = [needed for _, lacks in mismatches for needed in lacks] if all(lacks for _, lacks in mismatches) else []
    return NearestStep(symbol, due, tuple(text for text, _ in mismatches), tuple(dict.fromkeys(needs)))


Mismatch = tuple[str, list[Action]]
"""A description of an argument that differs, and the actions whose missing results the argument depends on."""


def _wrong_arguments(action: Action, arguments: Mapping[str, Any], scope: Scope) -> Iterator[Mismatch]:
    """Yield a mismatch for each argument of `action` that is missing from `arguments` or has the wrong value."""
    for name, pattern in action.arguments.fields:
        shown = cut(key_text(name), LONGEST_NAME)
        if name not in arguments:
            yield f"{shown} was not given, expected {expected_text(pattern, scope)}", []
        elif not pattern.matches(arguments[name], scope):
            yield f"{shown} {mismatch_text(arguments[name], pattern, scope)}", _missing_results(pattern, scope)


def _missing_results(pattern: Matcher, scope: Scope) -> list[Action]:
    """List the actions whose results `pattern` needs but does not find in `scope`."""
    return [part.action for part in walk(pattern) if isinstance(part, ResultOf) and not part.values(scope)]


def _extra_arguments(action: Action, arguments: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Yield a mismatch for each argument that `action` does not have."""
    if action.arguments.open:
        return
    known = {name for name, _ in action.arguments.fields}
    for name in arguments:
        if name not in known:
            shown = cut(key_text(str(name)), LONGEST_NAME)
            yield f"{shown} was {value_text(arguments[name])}, and the step has no such argument", []


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

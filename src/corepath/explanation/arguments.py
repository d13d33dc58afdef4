"""A wrong argument: the value that was given beside the one that was wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corepath.automaton.step import Kind
from corepath.explanation.facts import Facts
from corepath.explanation.values import LONGEST_NAME, given_beside, value_text, wanted_text
from corepath.explanation.words import MOST_LISTED, cut
from corepath.notation.action import Action
from corepath.notation.matchers import ResultOf, Scope, walk
from corepath.values import key_text


@dataclass(frozen=True)
class Meant:
    """The step that a call comes nearest to, and where its arguments are not the step's."""

    symbol: int
    due: bool
    wrong: tuple[str, ...]
    needs: tuple[Action, ...]
    """The actions whose results all of it lacks; empty where something else is wrong too."""

    def __str__(self) -> str:
        more = [f"and {len(self.wrong) - MOST_LISTED} more"] if len(self.wrong) > MOST_LISTED else []
        return "; ".join([*self.wrong[:MOST_LISTED], *more])


def meant(facts: Facts, index: int, among: frozenset[int] | None = None) -> Meant | None:
    """The step of the same tool that a call is nearest to: one that was due, else one still to come, else any.

    `among` are the steps that are looked at, unless it is all of them.
    """
    alphabet, position, call = facts.automaton.alphabet, facts.positions[index], facts.steps[index].call
    if call.malformed:
        return None
    arguments: Mapping[str, Any] = call.arguments
    if alphabet.tools is not None and call.tool in alphabet.tools:
        arguments = alphabet.tools[call.tool].fill_defaults(arguments)
    due = set(facts.automaton.due(position.state))
    ahead = facts.automaton.ahead[position.state]
    best: tuple[tuple[bool, bool, int], Meant] | None = None
    for symbol in sorted(alphabet.steps if among is None else among):
        if alphabet.actions[symbol].tool != call.tool:
            continue
        found = list(_wrong(alphabet.patterns[symbol], arguments, facts.scope(index)))
        rank = (symbol not in due, not ahead >> symbol & 1, len(found))
        if best is None or rank < best[0]:
            needs = {action: None for _, lacks in found for action in lacks} if all(lacks for _, lacks in found) else {}
            best = rank, Meant(symbol, symbol in due, tuple(text for text, _ in found), tuple(needs))
    return best[1] if best is not None and best[1].wrong else None


def near_misses(facts: Facts, steps: frozenset[int]) -> dict[int, Meant]:
    """The legal calls that were nearly one of these steps where it was due: a read of something else."""
    tools = {facts.automaton.alphabet.actions[symbol].tool for symbol in steps}
    return {
        step.index: nearby for step in facts.steps
        if step.kind is Kind.LOOP and step.symbol is None and not step.reading.fits and step.call.tool in tools
        and (nearby := meant(facts, step.index, steps)) is not None and nearby.due
    }  # fmt: skip


def _wrong(action: Action, arguments: Mapping[str, Any], scope: Scope) -> Iterator[tuple[str, list[Action]]]:
    """Each argument that is not the step's, in words, with the actions whose results it would have to be."""
    fields = action.arguments.fields
    for name, pattern in fields:
        shown = cut(key_text(name), LONGEST_NAME)
        if name not in arguments:
            yield f"{shown} was not given, expected {wanted_text(pattern, scope)}", []
        elif not pattern.matches(arguments[name], scope):
            lacks = [one.action for one in walk(pattern) if isinstance(one, ResultOf) and not one.values(scope)]
            yield f"{shown} {given_beside(arguments[name], pattern, scope)}", lacks
    if not action.arguments.open:
        known = {name for name, _ in fields}
        for name in arguments:
            if name not in known:
                shown = cut(key_text(str(name)), LONGEST_NAME)
                yield f"{shown} was {value_text(arguments[name])}, and the step has no such argument", []

"""Of several tries of one step, change the one that needs the fewest new arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from corepath.automaton.step import Kind, effect
from corepath.explanation.arguments import compare_with_step, differing_arguments
from corepath.explanation.edits import Move
from corepath.explanation.facts import Facts


def change_nearest_tries(facts: Facts, moves: list[Move], works: Callable[[list[Move]], bool]) -> list[Move]:
    """For each call that is changed into a step, change another try of the step if fewer arguments differ there.

    Of equals, one that took effect is changed, or else the one that differs in the fewest places, or else the last.
    The other tries are left out, so the number of edits stays the same. `works` says whether moves still make a valid
    path.
    """
    for number in range(len(moves)):
        if moves[number].kind == "change" and _is_try(facts, moves[number].call, moves[number].symbol):
            better = (one for one in _exchanges(facts, moves, number) if works(one))
            moves = next(better, moves)
    return moves


def _is_try(facts: Facts, call: int | None, symbol: int | None) -> bool:
    """Whether a call uses the tool of a step, so that only its arguments can be wrong."""
    if call is None or symbol is None or facts.steps[call].call.malformed:
        return False
    return facts.steps[call].call.tool == facts.automaton.alphabet.actions[symbol].tool


def _exchanges(facts: Facts, moves: list[Move], number: int) -> Iterator[list[Move]]:
    """Yield the moves with another try changed instead of the one at `number`, the best first."""
    change, returns = moves[number], {move.call for move in moves if move.kind == "put back"}
    assert change.symbol is not None
    others = [
        (cost_of_change(facts, move.call, change.symbol), place) for place, move in enumerate(moves)
        if move.kind == "leave out" and move.call is not None and move.call not in returns
        and _is_try(facts, move.call, change.symbol) and facts.steps[move.call].kind is Kind.HARM
    ]  # fmt: skip
    assert change.call is not None
    own = cost_of_change(facts, change.call, change.symbol)
    for cost, place in sorted(others):
        if cost < own:
            tried = list(moves)
            tried[number] = replace(change, kind="leave out", symbol=None)
            tried[place] = replace(moves[place], kind="change", symbol=change.symbol)
            yield tried


def cost_of_change(facts: Facts, call: int, symbol: int) -> tuple[int, bool, int, int]:
    """Return how much must be changed to make a call a step. Of equals, a call that took effect costs less."""
    places = len(compare_with_step(facts, call, symbol).differences)
    return len(differing_arguments(facts, call, symbol)), facts.is_refused(call), places, -call


def is_legal_path(facts: Facts, moves: Sequence[Move]) -> bool:
    """Whether the task accepts moves, by the record alone. The steps must not depend on results."""
    automaton, state = facts.automaton, facts.score.trace.begin.state
    if automaton.alphabet.binds:
        return False
    for move in moves:
        if move.kind == "keep" and move.symbol is None and move.call is not None:
            step = facts.steps[move.call]
            kind, after = effect(automaton, state, step.call, step.reading, failed=step.call.failed)
            if kind is Kind.HARM or after != state:
                return False
        elif move.symbol is not None and move.kind != "taken":
            before, state = state, automaton.delta[state].get(move.symbol, state)
            if before == state:
                return False
    return state in automaton.accepting

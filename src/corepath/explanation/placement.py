"""Put the steps that a repair adds where people would put them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corepath.explanation.edits import Move, PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.notation.action import Action


def add_rather_than_replace(facts: Facts, moves: list[Move]) -> list[Move]:
    """Add steps and leave out calls that the tool refused, rather than replace such calls by steps with other tools.

    A refused call has little to do with a step that uses another tool. If that is the only edit, the call stands for
    the step.
    """
    if sum(move.kind not in ("keep", "taken") for move in moves) > 1:
        moves = [one for move in moves for one in _set_apart(facts, move)]
    moves = [_put_behind(facts, moves, number) for number in range(len(moves))]
    for number, move in enumerate(moves):
        if move.kind == "change" and _uses_other_tool(facts, move):
            _replace_first(facts, moves, number)
    return moves


def _set_apart(facts: Facts, move: Move) -> Iterator[Move]:
    """Leave out a refused call and add the step, if a move changes the call into a step with another tool."""
    if (
        move.call is None
        or move.kind != "change"
        or not (facts.is_refused(move.call) and _uses_other_tool(facts, move))
    ):
        yield move
        return
    yield replace(move, kind="leave out", symbol=None)
    yield replace(move, kind="add", call=None)


def _replace_first(facts: Facts, moves: list[Move], number: int) -> None:
    """Let a replaced call become the first of the steps that are added just before it, and add the rest after it."""
    change, first = moves[number], _first_before(facts, moves, number)
    added = [move for move in moves[first:number] if move.kind == "add"]
    steps = [*(move.symbol for move in added), change.symbol]
    is_moved = any(move.kind == "taken" and move.symbol in steps for move in moves)
    if change.call is None or is_moved or not _uses_other_tool(facts, replace(change, symbol=steps[0])):
        return
    others = [move for move in moves[first:number] if move.kind != "add"]
    after = [Move("add", None, symbol, change.call + 1) for symbol in steps[1:]]
    moves[first : number + 1] = [*others, replace(change, symbol=steps[0]), *after]


def _first_before(facts: Facts, moves: Sequence[Move], number: int) -> int:
    """Return the number of the first move from which on steps are added, and all calls do not matter."""
    while number and (moves[number - 1].kind == "add" or _does_not_matter(facts, moves[number - 1])):
        number -= 1
    return number


def _uses_other_tool(facts: Facts, move: Move) -> bool:
    """Whether a move changes a call into a step with another tool."""
    if move.call is None or move.symbol is None:
        return False
    return facts.steps[move.call].call.tool != facts.automaton.alphabet.actions[move.symbol].tool


def _put_behind(facts: Facts, moves: list[Move], number: int) -> Move:
    """Put an added step behind calls that do not matter, so that it goes right before a step."""
    if moves[number].kind != "add":
        return moves[number]
    for move in moves[number + 1 :]:
        if move.call is not None and not _does_not_matter(facts, move):
            return replace(moves[number], place=move.place)
    return replace(moves[number], place=len(facts.steps))


def _does_not_matter(facts: Facts, move: Move) -> bool:
    """Whether a call is left out because the tool refused it, or stays but only looks."""
    if move.call is None:
        return False
    if move.kind == "leave out":
        return facts.is_refused(move.call)
    step = facts.steps[move.call]
    is_step = facts.automaton.alphabet.steps.intersection((*step.reading.fits, facts.symbol(step)))
    return move.kind == "keep" and move.symbol is None and step.reading.loops and not is_step


def keep_listed_order(facts: Facts, repair: Repair) -> Repair:
    """Put each added step before the first step about the same thing that is listed after it, if the task allows.

    Steps in any order may be added at the end. If they concern the same thing, the last one may overwrite the others,
    as a change of flights does. Without a world to try that in, the order in which they are listed is the best guess.
    """
    if facts.automaton.alphabet.binds:
        return repair
    path = list(repair.path)
    for edit in repair.path:
        later = next((place for place, one in enumerate(path) if _is_listed_later(facts, one, edit)), None)
        if edit.kind == "add" and later is not None and later < (place := path.index(edit)):
            call = path[later].call
            moved = replace(edit, place=edit.place if call is None else call)
            tried = [*path[:later], moved, *path[later:place], *path[place + 1 :]]
            path = tried if _is_accepted(facts, tried) else path
    return replace(repair, path=tuple(path))


def _is_listed_later(facts: Facts, one: PathEdit, edit: PathEdit) -> bool:
    """Whether `one` is a call that does a step about the same thing as `edit`, and that is listed after it."""
    if one.call is None or one.kind == "move" or one.symbol is None or edit.symbol is None or one.symbol <= edit.symbol:
        return False
    actions = facts.automaton.alphabet.actions
    return _about(actions[one.symbol]) == _about(actions[edit.symbol])


def _about(action: Action) -> object:
    """Return what an action is about: its first argument, or the tool if it has no arguments."""
    return next(iter(action.arguments.fields), action.tool)


def _is_accepted(facts: Facts, path: list[PathEdit]) -> bool:
    """Whether the task accepts the steps in this order."""
    state = facts.score.trace.begin.state
    for one in path:
        if one.symbol is not None:
            before, state = state, facts.automaton.delta[state].get(one.symbol, state)
            if before == state:
                return False
    return state in facts.automaton.accepting

"""Put the steps that a repair adds where the procedure lists them, so that a later step does not undo an earlier one.

Steps in any order may be added at the end. If they concern the same thing, the last one may overwrite the others, as a
change of flights does. Without a world to try that in, the order in which the steps are listed is the safest guess.
"""

from __future__ import annotations

from dataclasses import replace

from corepath.explanation.edits import PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.notation.action import Action


def keep_listed_order(facts: Facts, repair: Repair) -> Repair:
    """Put each added step before the first step about the same thing that is listed after it, if the task allows."""
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

"""Inclusion: whether a task accepts every path that another one accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.automaton import Automaton
from corepath.notation.action import Action
from corepath.notation.call import Call


def includes(wide: Automaton, narrow: Automaton, image: Mapping[Action, Action]) -> bool:
    """Return True if `wide` accepts every golden path of `narrow`.

    Both graphs of golden paths are walked together. An action of `narrow` is the same action in `wide`, or the one that
    `image` says. Example calls of each action must be read as that action by both automata.
    """
    symbols = _map_symbols(wide.alphabet, narrow.alphabet, image)
    if symbols is None:
        return False
    ours, theirs = wide.golden, narrow.golden
    pairs = {(ours.start, theirs.start)}
    waiting = list(pairs)
    while waiting:
        mine, other = waiting.pop()
        if other in theirs.accepting and mine not in ours.accepting:
            return False
        edges = dict(ours.edges[mine])
        for symbol, after in theirs.edges[other]:
            target = edges.get(symbols[symbol])
            if target is None:
                return False
            if (target, after) not in pairs:
                pairs.add((target, after))
                waiting.append((target, after))
    return True


def _map_symbols(wide: Alphabet, narrow: Alphabet, image: Mapping[Action, Action]) -> dict[int, int] | None:
    """Map each step's number to the number of the step that it became, or return None if calls are read otherwise."""
    numbers = {wide.actions[number]: number for number in wide.steps}
    found: dict[int, int] = {}
    for number in narrow.steps:
        action = narrow.actions[number]
        target = numbers.get(image.get(action, action))
        if target is None or not all(_is_read_as(wide, target, call) for call in _examples(narrow, number)):
            return None
        found[number] = target
    return found


def _examples(alphabet: Alphabet, number: int) -> Iterator[Call]:
    """Yield example calls that an alphabet reads as the action with this number."""
    action = alphabet.patterns[number]
    for call in action.examples():
        for result in (None,) if action.result is None else action.result.examples():
            answered = Call(call.tool, call.arguments, result)
            if alphabet.read(answered, {}, {}, failed=False).symbol == number:
                yield answered


def _is_read_as(alphabet: Alphabet, number: int, call: Call) -> bool:
    return alphabet.read(call, {}, {}, failed=False).symbol == number

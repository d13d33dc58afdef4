"""Numbers for world states and automaton positions, so that the search can compare them quickly."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

from corepath.automaton.step import Kind, Position, step
from corepath.notation.call import Call
from corepath.task import Task
from corepath.values import canonical
from corepath.world.world import World


class Positions:
    """Numbers for the automaton's positions, and the position after each call."""

    def __init__(self, task: Task) -> None:
        self.kept: list[Position] = []
        self._binds = task.automaton.alphabet.depends_on_results
        self._numbers: dict[tuple[int, str], int] = {}
        self._after: dict[tuple[int, int, str], int | None] = {}

    def number(self, position: Position) -> int:
        """Return a position's number."""
        bound = ""
        if self._binds:
            results = [[str(action), result] for action, result in position.results.items()]
            bound = canonical([position.variables, results])
        key = (position.state, bound)
        if key not in self._numbers:
            self._numbers[key] = len(self.kept)
            self.kept.append(position)
        return self._numbers[key]

    def after(self, position: int, number: int, call: Call) -> int | None:
        """Return the position's number after a call, or None if the call is harmful."""
        key = (position, number, call.text)
        if key not in self._after:
            taken, after = step(self.kept[position], call)
            self._after[key] = None if taken.kind is Kind.HARM else self.number(after)
        return self._after[key]


class States:
    """Numbers for the world's states. Equal states have the same number.

    Freezing and thawing states is faster than copying them, because the search does it a million times.
    """

    def __init__(self, task: Task, world: World[Any]) -> None:
        self.kept: list[Any] = []
        self._frozen: list[bytes] = []
        self._numbers: dict[Any, int] = {}
        self._freeze, self._thaw = _codec(task.start)
        self._key = world.key

    def number(self, state: Any) -> int:
        """Return a state's number."""
        frozen = self._freeze(state)
        if frozen in self._numbers:
            return self._numbers[frozen]
        key = self._key(state)  # the same for states whose dictionaries were filled in another order
        if key not in self._numbers:
            self._numbers[key] = len(self.kept)
            self.kept.append(state)
            self._frozen.append(frozen)
        self._numbers[frozen] = self._numbers[key]
        return self._numbers[key]

    def copy(self, number: int) -> Any:
        """Return a copy of the state with this number."""
        return self._thaw(self._frozen[number])


def _codec(start: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Return fast functions that freeze and thaw a state."""
    kind = type(start)

    def freeze(state: Any) -> bytes:
        return marshal.dumps(vars(state), 2)

    def thaw(blob: bytes) -> Any:
        made = object.__new__(kind)
        made.__dict__.update(marshal.loads(blob))  # noqa: S302  # this process wrote it itself
        return made

    return (pickle.dumps, pickle.loads) if _nests_dataclasses(kind) else (freeze, thaw)


def _nests_dataclasses(kind: Any) -> bool:
    """Whether a state may contain other dataclasses. Return True if the type hints cannot be resolved."""
    try:
        waiting = list(get_type_hints(kind).values())
    except NameError:
        return True
    while waiting:
        hint = waiting.pop()
        if is_dataclass(hint) or hint is Any:
            return True
        waiting += get_args(hint)
    return False

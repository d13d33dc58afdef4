"""Languages of paths, and whether two of them are equal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corepath.automaton.golden_paths import GoldenGraph, fold

VERDICTS = ("exact", "narrow", "wide", "both")
"""Whether the same paths are right as in truth, too few, too many, or some are missing and others are too many."""
Letter = Any
Tree = Sequence[Any]
"""A process tree as JSON: `["step", letter]`, `["tau"]`, or the name of an operator followed by trees."""


@dataclass(frozen=True)
class Language:
    """A set of paths. Every state leads to an accepting one, and `step` returns None where no path goes on."""

    start: Hashable
    letters: Callable[[Any], Iterable[Letter]]
    step: Callable[[Any, Letter], Any]
    is_accepting: Callable[[Any], bool]

    def __contains__(self, path: Sequence[Letter]) -> bool:
        state: Any = self.start
        for letter in path:
            state = self.step(state, letter)
            if state is None:
                return False
        return self.is_accepting(state)


def compare(truth: Language, other: Language) -> str:
    """Return one of `VERDICTS`."""
    missing = extra = False
    waiting = [(truth.start, other.start)]
    seen = set(waiting)
    while waiting and not (missing and extra):
        mine, theirs = waiting.pop()
        right, allowed = truth.is_accepting(mine), other.is_accepting(theirs)
        missing, extra = missing or (right and not allowed), extra or (allowed and not right)
        for letter in {*truth.letters(mine), *other.letters(theirs)}:
            after = truth.step(mine, letter), other.step(theirs, letter)
            missing, extra = missing or (after[0] is not None is after[1]), extra or (after[0] is None is not after[1])
            if None not in after and after not in seen:
                seen.add(after)
                waiting.append(after)
    return VERDICTS[missing + 2 * extra]


def of_graph(graph: GoldenGraph, names: Sequence[Letter] | None = None) -> Language:
    """Return the paths of a golden graph. `names` gives the letters of its symbols."""
    edges = [{symbol if names is None else names[symbol]: after for symbol, after in found} for found in graph.edges]
    return Language(
        graph.start, edges.__getitem__, lambda node, letter: edges[node].get(letter), graph.accepting.__contains__
    )


def of_list(paths: Iterable[Sequence[int]]) -> Language:
    """Return a language that has the listed paths only."""
    return of_graph(fold(paths))


def of_machine(start: int, edges: Sequence[Mapping[str, int]], accepting: Iterable[int]) -> Language:
    """Return the language of a machine, without the states that lead to no accepting one."""
    live = set(accepting)
    while grown := {one for one, found in enumerate(edges) if one not in live and not live.isdisjoint(found.values())}:
        live |= grown
    kept = [{int(name): after for name, after in found.items() if after in live} for found in edges]
    return Language(
        start, kept.__getitem__, lambda node, letter: kept[node].get(letter), frozenset(accepting).__contains__
    )


# process trees, by partial derivatives: a state is a set of trees, what may remain to be done

DONE = ("tau",)


def of_tree(tree: Tree) -> Language:
    """Return the language of a process tree."""
    known: dict[Any, frozenset[tuple[int, Any]]] = {}

    def steps(state: frozenset[Any]) -> set[tuple[int, Any]]:
        found: set[tuple[int, Any]] = set()
        for one in state:
            if one not in known:
                known[one] = frozenset(_derive(one))
            found |= known[one]
        return found

    return Language(
        frozenset((_freeze(tree),)),
        lambda state: {letter for letter, _ in steps(state)},
        lambda state, letter: frozenset(after for one, after in steps(state) if one == letter) or None,
        lambda state: any(map(_is_nullable, state)),
    )


def _freeze(tree: Tree) -> Any:
    return tuple(_freeze(one) if isinstance(one, (list, tuple)) else one for one in tree)


def _is_nullable(tree: Any) -> bool:
    match tree[0]:
        case "tau":
            return True
        case "step":
            return False
        case "xor":
            return any(map(_is_nullable, tree[1:]))
        case "loop":
            return _is_nullable(tree[1])
    return all(map(_is_nullable, tree[1:]))


def _derive(tree: Any) -> Iterable[tuple[int, Any]]:
    """Yield each letter that may come first, with what remains to be done."""
    parts = tree[1:]
    match tree[0]:
        case "step":
            yield parts[0], DONE
        case "xor":
            for part in parts:
                yield from _derive(part)
        case "seq":
            for number, part in enumerate(parts):
                for letter, rest in _derive(part):
                    yield letter, _join("seq", rest, *parts[number + 1 :])
                if not _is_nullable(part):
                    break
        case "and":
            for number, part in enumerate(parts):
                for letter, rest in _derive(part):
                    yield letter, _join("and", *parts[:number], rest, *parts[number + 1 :])
        case "loop":
            again = ("xor", DONE, ("seq", parts[1], tree))
            yield from _derive(("seq", parts[0], again))


def _join(operator: str, *parts: Any) -> Any:
    kept = [part for part in parts if part != DONE]
    return (operator, *kept) if len(kept) > 1 else kept[0] if kept else DONE

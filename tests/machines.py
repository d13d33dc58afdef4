"""Random automata and calls, as plain dictionaries and as tasks of the package."""

from __future__ import annotations

import random
from collections.abc import Sequence

from corepath import Automaton, Call, Task, action
from tests.brute_force import Machine


def random_machine(rng: random.Random, *, states: int = 6, symbols: int = 4, cyclic: bool = False) -> Machine:
    """A trimmed random automaton: repeated symbols, self-loops, several accepting states, maybe an accepting start."""
    while True:
        names = [f"q{number}" for number in range(rng.randint(1, states))]
        letters = [f"a{number}" for number in range(rng.randint(1, symbols))]
        delta: dict[str, dict[str, str]] = {name: {} for name in names}
        for place, name in enumerate(names):
            for letter in letters:
                kind = rng.random()
                others = [other for other in names if other != name] if cyclic else names[place + 1 :]
                if kind < 0.25:
                    delta[name][letter] = name
                elif kind < 0.65 and others:
                    delta[name][letter] = rng.choice(others)
        accept = {name for name in names if rng.random() < 0.3} | {names[-1]}
        kept = _reached(delta) & _alive(delta, accept)
        if "q0" in kept:
            trimmed = {
                name: {letter: target for letter, target in edges.items() if target in kept}
                for name, edges in delta.items()
                if name in kept
            }
            return Machine("q0", frozenset(accept & kept), trimmed)


def random_calls(rng: random.Random, machine: Machine, edits: int = 4) -> list[str]:
    """A golden path with omissions, insertions, swaps and unknown calls, or a random sequence."""
    letters = sorted({letter for edges in machine.delta.values() for letter in edges} | {"a0"})
    calls = [rng.choice(letters) for _ in range(rng.randint(0, 8))]
    if rng.random() < 0.8:
        calls = list(rng.choice(machine.golden()))
    for _ in range(rng.randint(0, edits)):
        kind = rng.random()
        if kind < 0.3 and calls:
            del calls[rng.randrange(len(calls))]
        elif kind < 0.7:
            calls.insert(rng.randint(0, len(calls)), rng.choice([*letters, "zz", "yy"]))
        elif len(calls) > 1:
            i, j = rng.sample(range(len(calls)), 2)
            calls[i], calls[j] = calls[j], calls[i]
    return calls


def as_task(machine: Machine, *, reads: Sequence[str] = (), cyclic: bool = False) -> Task:
    """Convert a machine to a task whose actions are tools without arguments."""
    letters = sorted({letter for edges in machine.delta.values() for letter in edges})
    automaton = Automaton.from_transitions(
        {letter: action(f"{letter}()") for letter in letters},
        machine.start,
        sorted(machine.accept),
        machine.delta,
        golden="simple_paths" if cyclic else "acyclic",
        reads=tuple(action(f"{read}()") for read in reads),
    )
    return Task("random", automaton=automaton)


def as_calls(names: Sequence[str]) -> list[Call]:
    """Convert names to calls without arguments."""
    return [Call(name) for name in names]


def _reached(delta: dict[str, dict[str, str]]) -> set[str]:
    reached, waiting = {"q0"}, ["q0"]
    while waiting:
        for target in delta[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _alive(delta: dict[str, dict[str, str]], accept: set[str]) -> set[str]:
    alive = set(accept)
    while more := {name for name in delta if name not in alive and alive & set(delta[name].values())}:
        alive |= more
    return alive

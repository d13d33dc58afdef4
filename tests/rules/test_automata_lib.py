"""Rules without variables and windows accept what automata accept that are made from their formulas by automata-lib.

The automata follow the table of formulas in docs/rules.md. Several rules are the product of their automata.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

import pytest

from corepath.notation.call import Call
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Rule
from corepath.rules.verdict import judge

DFA = pytest.importorskip("automata.fa.dfa").DFA

CALLS = {
    "k": Call("ask", {}, result="ok"),
    "K": Call("ask", {}, error="refused"),
    "t": Call("act", {}, result="ok"),
    "b": Call("ban", {}, result="ok"),
}
"""The letters, and the calls that they stand for. A capital is a call that failed."""
WORDS = [word for length in range(6) for word in product(CALLS, repeat=length)]
PATTERNS = {"ask(...)": "kK", "ban(...)": "b", "a*(...)": "kKt", "call": "kKtb"}
"""Patterns, and the letters that they match."""
DEAD = "dead"


@dataclass(frozen=True)
class Machine:
    """A deterministic automaton as functions of its states. Every state but `DEAD` may be anything."""

    start: Hashable
    step: Callable[[Any, str], Hashable]
    accepts: Callable[[Any], bool]

    def build(self) -> Any:
        """Make the automaton with automata-lib."""
        table: dict[Hashable, dict[str, Hashable]] = {}
        found = [self.start]
        while found:
            state = found.pop()
            if state not in table:
                moves = {letter: DEAD if state == DEAD else self.step(state, letter) for letter in CALLS}
                table[state] = moves
                found += moves.values()
        final = {state for state in table if state != DEAD and self.accepts(state)}
        return DFA(states=set(table), input_symbols=set(CALLS), transitions=table, initial_state=self.start,
                   final_states=final)  # fmt: skip


def always(_: object) -> bool:
    return True


def done(pattern: str) -> str:
    """The letters of a pattern that did not fail."""
    return "".join(letter for letter in PATTERNS[pattern] if letter.islower())


def never(a: str) -> Machine:
    """G ¬A."""
    return Machine("fine", lambda state, letter: DEAD if letter in a else state, always)


def requires(a: str, b: str, c: str = "") -> Machine:
    """G(A → Y(¬C S B)): the state says whether there was a B since the last C."""

    def step(state: bool, letter: str) -> Hashable:
        if letter in a and not state:
            return DEAD
        return letter in b or (state and letter not in c)

    return Machine(False, step, always)


def eventually(a: str, b: str) -> Machine:
    """G(A → X F B): the state says whether a B must follow."""
    return Machine(False, lambda state, letter: letter in a or (state and letter not in b), lambda state: not state)


def never_after(a: str, b: str) -> Machine:
    """G(B → X G ¬A): the state says whether there was a B."""
    return Machine(False, lambda state, letter: DEAD if state and letter in a else state or letter in b, always)


def at_most(a: str, most: int) -> Machine:
    """The state is the number of A."""

    def step(state: int, letter: str) -> Hashable:
        number = state + (letter in a)
        return DEAD if number > most else number

    return Machine(0, step, always)


def at_least(a: str, least: int) -> Machine:
    """F(A ∧ X F(A ∧ …)): the state is the number of A, up to `least`."""
    return Machine(0, lambda state, letter: min(state + (letter in a), least), lambda state: state == least)


def between(inner: Machine, a: str, b: str) -> Machine:
    """G(A → X(R W B)): the state is that of R in the open stretch, if there is one."""

    def step(state: Any, letter: str) -> Hashable:
        if state and letter not in b:
            moved = inner.step(state[0], letter)
            return moved if moved == DEAD else (moved,)
        if state and not inner.accepts(state[0]):
            return DEAD
        return (inner.start,) if letter in a else ()

    return Machine((), step, lambda state: not state or inner.accepts(state[0]))


def templates(attempted: bool) -> Iterator[tuple[str, Machine]]:
    """Every template with every choice of patterns."""
    for one, letters in PATTERNS.items():
        a = letters if attempted else done(one)
        yield f"never {one}", never(a)
        for number in range(3):
            yield f"at most {number} {one}", at_most(a, number)
            yield f"at least {number + 1} {one}", at_least(done(one), number + 1)
        for other in PATTERNS:
            b = done(other)
            yield f"{one} requires {other}", requires(a, b)
            yield f"after {one} eventually {other}", eventually(done(one), b)
            yield f"never {one} after {other}", never_after(a, b)
            for third in PATTERNS:
                yield f"{one} requires {other} since {third}", requires(a, b, done(third))


def rules() -> Iterator[tuple[Rule, Machine]]:
    """All templates, and some of them between two events."""
    random = Random(17)
    for attempted in (True, False):
        for text, machine in templates(attempted):
            yield replace(parse_rule(text), attempted=attempted), machine
            first, last = random.choices(list(PATTERNS), k=2)
            bounded = parse_rule(f"{text} between {first} and {last}")
            yield replace(bounded, attempted=attempted), between(machine, done(first), done(last))


ALL = list(rules())


def kept(given: list[Rule], word: tuple[str, ...]) -> list[bool]:
    return [verdict.is_kept for verdict in judge(given, [CALLS[letter] for letter in word])]


def test_each_rule_accepts_the_words_of_its_automaton(request: pytest.FixtureRequest) -> None:
    chosen = ALL if request.config.getoption("--long") else Random(0).sample(ALL, 60)
    automata = [machine.build() for _, machine in chosen]
    given = [rule for rule, _ in chosen]
    accepted = 0
    for word in WORDS:
        expected = [automaton.accepts_input(word) for automaton in automata]
        found = kept(given, word)
        assert found == expected, [
            (word, str(rule)) for rule, one, other in zip(given, found, expected, strict=True) if one != other
        ]
        accepted += sum(expected)
    assert 0.2 < accepted / (len(WORDS) * len(chosen)) < 0.8


def test_several_rules_accept_the_words_of_the_product(request: pytest.FixtureRequest) -> None:
    random = Random(1)
    count = 200 if request.config.getoption("--long") else 15
    states = accepted = 0
    for _ in range(count):
        chosen = random.sample(ALL, random.choice((2, 3)))
        automaton = chosen[0][1].build()
        for _, machine in chosen[1:]:
            automaton = automaton.intersection(machine.build())
        given = [rule for rule, _ in chosen]
        for word in WORDS:
            expected = automaton.accepts_input(word)
            assert all(kept(given, word)) == expected, (word, list(map(str, given)))
            accepted += expected
        states = max(states, len(automaton.states))
    assert states > 5
    assert 0.05 < accepted / (len(WORDS) * count) < 0.8

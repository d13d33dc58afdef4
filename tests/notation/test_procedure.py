"""Compiled procedures: they allow exactly the orders of the expression, with as few states as possible."""

from __future__ import annotations

import random
from functools import reduce
from math import comb, factorial
from typing import cast

import pytest

from corepath import Procedure, Task, TaskError, any_order, choice, optional, repeat, seq, tool
from corepath.automaton.derivatives import MOST_STATES
from corepath.notation.procedure import AnyOrder, Choice, Repeat, Seq

a, b, c, d = (tool(name)() for name in "abcd")
Words = frozenset[tuple[str, ...]]
NOTHING: Words = frozenset([()])


def words(procedure: Procedure) -> Words:
    """Every order that a procedure allows, by the definition of its parts."""
    match procedure:
        case Seq(parts):
            return reduce(joined, map(words, parts), NOTHING)
        case Choice(parts):
            return frozenset().union(*map(words, parts))
        case AnyOrder(parts):
            return reduce(shuffled, map(words, parts), NOTHING)
        case Repeat(step, least, most):
            rows = [reduce(joined, [words(step)] * times, NOTHING) for times in range(least, most + 1)]
            return frozenset().union(*rows)
    return frozenset([(procedure.tool,)])  # type: ignore[attr-defined]


def joined(first: Words, second: Words) -> Words:
    return frozenset(x + y for x in first for y in second)


def shuffled(first: Words, second: Words) -> Words:
    return frozenset(word for x in first for y in second for word in interleaved(x, y))


def interleaved(x: tuple[str, ...], y: tuple[str, ...]) -> list[tuple[str, ...]]:
    if not x or not y:
        return [x + y]
    return [(x[0], *rest) for rest in interleaved(x[1:], y)] + [(y[0], *rest) for rest in interleaved(x, y[1:])]


def random_procedure(rng: random.Random, depth: int = 3) -> Procedure:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([a, b, c, d])
    parts = [random_procedure(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    match rng.randrange(5):
        case 0 | 1:
            return seq(*parts)
        case 2:
            return any_order(*parts[:2])
        case 3:
            return choice(*parts)
    least = rng.randint(0, 2)
    return repeat(parts[0], least, least + rng.randint(0, 1))


def test_a_compiled_procedure_allows_exactly_its_orders(times: int) -> None:
    rng = random.Random(5)
    compared = 0
    while compared < 300 * times:
        procedure = random_procedure(rng)
        wanted = words(procedure)
        if len(wanted) > 3000:
            continue
        compared += 1
        automaton = Task("t", procedure=procedure).automaton
        paths = list(automaton.golden_paths())
        assert len(paths) == len(set(paths)) == automaton.count == len(wanted)
        assert set(paths) == wanted
        assert automaton.lengths == sorted({len(word) for word in wanted})
        rests = {frozenset(word[n:] for word in wanted if word[:n] == word_[:n]) for word_ in wanted
                 for n in range(len(word_) + 1)}  # fmt: skip
        assert len(automaton.states) == len(rests), "a minimal automaton has one state for each remainder"


@pytest.mark.parametrize(
    ("procedure", "orders"),
    [
        (seq(), {""}),
        (any_order(seq(a, b), c), {"abc", "acb", "cab"}),
        (any_order(a, a), {"aa"}),
        (any_order(a, a, b), {"aab", "aba", "baa"}),
        (choice(seq(a, b), seq(a, c)), {"ab", "ac"}),
        (seq(optional(a), b), {"ab", "b"}),
        (repeat(a, times=3), {"aaa"}),
        (repeat(a, 2, 4), {"aa", "aaa", "aaaa"}),
        (repeat(a, 0), {""}),
        (repeat(optional(a), times=2), {"", "a", "aa"}),
        (repeat(choice(a, seq(b, c)), 1, 2), {"a", "bc", "aa", "abc", "bca", "bcbc"}),
    ],
)
def test_procedures_mean_what_they_say(procedure: Procedure, orders: set[str]) -> None:
    assert {"".join(path) for path in Task("t", procedure=procedure).automaton.golden_paths()} == orders


def test_operators_are_the_functions() -> None:
    assert a >> b >> c == seq(a, b, c)
    assert a & b & c == any_order(a, b, c)
    assert a | b | c == choice(a, b, c)
    assert (a >> b) & c == any_order(seq(a, b), c)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (choice, "at least one part"),
        (lambda: repeat(a), "needs a number"),
        (lambda: repeat(a, 2, 1), "from 2 to 1"),
        (lambda: repeat(a, 1, 2, times=3), "not both"),
        (lambda: repeat(a, -1), "0 or more"),
        (lambda: seq(a, cast("Procedure", "b")), "consists of actions and procedures, not of 'b'"),
    ],
)
def test_a_wrong_procedure_says_what_would_be_right(make: object, says: str) -> None:
    with pytest.raises(TaskError, match=says):
        make()  # type: ignore[operator]


def test_counts_are_exact_at_any_size() -> None:
    ten = [tool(f"s{number}")() for number in range(10)]
    assert Task("t", procedure=any_order(*ten)).automaton.count == factorial(10)
    halves = any_order(repeat(a, times=60), repeat(b, times=60))
    assert Task("t", procedure=halves).automaton.count == comb(120, 60) > 10**34
    choices = seq(*(choice(tool(f"x{n}")(), tool(f"y{n}")()) for n in range(110)))
    assert Task("t", procedure=choices).automaton.count == 2**110 > 10**30


def test_fifty_thousand_states_are_compiled() -> None:
    long = Task("t", procedure=repeat(a, 0, 50_000)).automaton
    assert len(long.states) == 50_001
    assert (long.count, long.lengths[-1]) == (50_001, 50_000)
    assert len(Task("t", procedure=any_order(*(tool(f"s{n}")() for n in range(15)))).automaton.states) == 2**15


def test_a_procedure_past_the_limit_is_refused_with_the_number() -> None:
    with pytest.raises(TaskError, match=f"more than {MOST_STATES:,} states"):
        Task("t", procedure=any_order(*(tool(f"s{n}")() for n in range(40))))
    with pytest.raises(TaskError, match=f"more than {MOST_STATES:,} states"):
        Task("t", procedure=repeat(a, 10**9))


def test_long_sequences_and_nested_repeats_need_no_recursion() -> None:
    long = seq(*(tool(f"s{n}")() for n in range(3000)))
    assert Task("t", procedure=long).automaton.count == 1
    assert Task("t", procedure=repeat(long, 1, 3)).automaton.lengths == [3000, 6000, 9000]
    assert Task("t", procedure=seq(*(optional(tool(f"s{n}")()) for n in range(300)))).automaton.count == 2**300

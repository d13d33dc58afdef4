"""Which steps must come before a step, compared with all paths listed one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator

from corepath import Automaton, Task, any_order, choice, seq, tool
from corepath.explanation import explain
from corepath.explanation.necessity import is_needed, times_needed
from tests.machines import as_task, random_machine


def paths(automaton: Automaton, state: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of steps from `state` on, whether or not it ends in an accepting state."""
    yield ()
    for symbol, after in automaton.delta[state].items():
        if after != state:
            for rest in paths(automaton, after):
                yield (symbol, *rest)


def fewest_before(automaton: Automaton, state: int, step: int, before: int, times: int) -> int:
    """How often `step` comes before `before` is done for the last of `times` times, on the path where it is fewest."""
    found = [path for path in paths(automaton, state) if path.count(before) == times and path[-1] == before]
    return min((path[:-1].count(step) for path in found), default=0)


def test_a_step_is_needed_as_often_as_on_the_path_that_has_it_least_often(times):
    seen = 0
    for seed in range(100 * times):
        rng = random.Random(seed)
        automaton = as_task(random_machine(rng)).automaton
        symbols, state = sorted(automaton.alphabet.steps), automaton.start
        for step in symbols:
            for before in symbols:
                for often in (1, 2):
                    expected = fewest_before(automaton, state, step, before, often)
                    assert times_needed(automaton, state, step, before, often) == expected, (seed, step, before, often)
                    seen += expected > 0
    assert seen > 50


def test_a_step_is_needed_if_it_is_on_every_right_path(times):
    seen = set()
    for seed in range(100 * times):
        automaton = as_task(random_machine(random.Random(seed))).automaton
        right = [path for path in paths(automaton, automaton.start) if _ends_well(automaton, path)]
        for step in sorted(automaton.alphabet.steps):
            expected = all(step in path for path in right)
            assert is_needed(automaton, automaton.start, step) == expected, (seed, step)
            seen.add(expected)
    assert seen == {True, False}


def _ends_well(automaton: Automaton, path: tuple[int, ...]) -> bool:
    state = automaton.start
    for symbol in path:
        state = automaton.delta[state][symbol]
    return state in automaton.accepting


def test_only_the_step_that_a_call_cannot_do_without_is_told_as_skipped():
    first, second = (seq(*(tool(verb)(it=name) for verb in ("hold", "check", "release"))) for name in "AB")
    task = Task("blocks", procedure=choice(seq(first, second), seq(second, first)))
    found = explain(task, ['check(it="B")'])
    assert found.headline == 'Skipped hold(it="B"): check (call 1) was made without it; 5 of the 6 steps are missing.'
    assert found.notes[0].text == 'comes too early: hold(it="B") must come first'


def test_if_several_ways_lead_to_a_call_the_step_of_the_fix_is_an_example():
    task = Task("ways", procedure=seq(choice(tool("a")(), tool("b")()), tool("c")()))
    found = explain(task, ["c()"])
    assert found.headline == "Skipped a step such as b(): c (call 1) was made without it."
    assert [str(edit) for edit in found.fix] == ["Call b() before call 1."]


def test_steps_in_any_order_are_all_told_as_skipped_before_a_call_that_needs_them_all():
    task = Task("both", procedure=seq(any_order(tool("a")(), tool("b")()), tool("c")()))
    assert explain(task, ["c()"]).headline == "Skipped a() and b(): c (call 1) was made without them."

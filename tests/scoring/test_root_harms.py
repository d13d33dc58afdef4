"""How many mistakes an agent made, beside how many calls were harmful."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from corepath import Call, Task, any_order, optional, result_of, score, seq, task, tool
from corepath.scoring.causes import find_roots

steps = [tool(f"s{number}")() for number in range(10)]
names = [f"s{number}()" for number in range(10)]


def count(calls: Sequence[str | Call], made: Task) -> tuple[int, int]:
    found = score(made, calls)
    return found.harm_count, found.root_harms


def test_one_skipped_step_is_one_mistake() -> None:
    assert count(names[1:], Task(procedure=seq(*steps))) == (9, 1)


def test_one_early_step_is_one_mistake() -> None:
    assert count([names[1], names[0], *names[2:]], Task(procedure=seq(*steps))) == (9, 1)


def test_two_skipped_steps_are_two_mistakes() -> None:
    calls = [name for name in names if name not in ("s2()", "s6()")]
    assert count(calls, Task(procedure=seq(*steps))) == (6, 2)


def test_a_wrong_value_and_what_follows_from_it_are_one_mistake() -> None:
    set_to, send = tool("set")(value=5), tool("send")()
    assert count(["set(value=4)", "send()"], Task(procedure=seq(set_to, send))) == (2, 1)


def test_calls_that_were_refused_because_of_a_skipped_step_follow_from_it() -> None:
    calls = [Call(f"s{number}", error="locked") for number in range(1, 5)]
    assert count(calls, Task(procedure=seq(*steps[:5]))) == (4, 1)


def test_each_repetition_is_a_mistake_of_its_own() -> None:
    assert count(["s0()"] * 3, Task(procedure=seq(steps[0]))) == (2, 2)


def test_a_call_that_nobody_asked_for_is_a_mistake_of_its_own() -> None:
    assert count(["x()", names[0], "y()", names[1]], Task(procedure=seq(*steps[:2]))) == (2, 2)


def test_a_step_before_the_result_that_it_needs_is_out_of_order() -> None:
    look = tool("look")(id=1)
    made = Task(procedure=seq(look, tool("move")(amount=result_of(look)), tool("end")()), reads=[look])
    found = score(made, [Call("move", {"amount": 5}), Call("look", {"id": 1}, 5), Call("end", {})])
    assert [harm.kind for harm in found.harms] == ["out_of_order", "out_of_order"]
    assert found.root_harms == 1
    found = score(made, [Call("look", {"id": 1}, 5), Call("move", {"amount": 4})])
    assert [harm.kind for harm in found.harms] == ["wrong_argument"], "the result is known, and it is another one"


@pytest.mark.parametrize("seed", range(15))
def test_there_is_a_mistake_where_there_is_harm_and_not_more_of_them(seed: int) -> None:
    random = Random(seed)
    made = Task(procedure=seq(steps[0], any_order(steps[1], seq(*steps[2:4])), optional(steps[4]), *steps[5:]))
    for _ in range(40):
        found = score(made, random.choices([*names, "x()"], k=random.randint(0, 12)))
        assert (found.root_harms == 0) == (found.harm_count == 0)
        assert found.root_harms <= found.harm_count
        if found.harms:
            assert find_roots(found.trace)[0] == found.harms[0].index, "nothing comes before the first"


def test_root_harms_are_part_of_the_score() -> None:
    made = task("farm/rover_example")
    found = score(made, ['open_valve(plant="B")'])
    assert found.to_dict()["root_harms"] == found.root_harms == 1

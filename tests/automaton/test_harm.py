"""The kind of each harmful call: the first one that applies."""

from __future__ import annotations

import pytest

from corepath import (
    Call,
    Procedure,
    action,
    between,
    choice,
    tool,
)
from tests.automaton.helpers import CHECK, a, b, c, harms, task_of

STEPS: Procedure = tool("unlock")() >> tool("water")(litres=between(1, 5)) >> tool("log")()


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        ([Call("unlock", "{broken")], ["malformed"]),
        ([Call("unlock", [1])], ["malformed"]),
        ([Call("unlock", None)], ["malformed"]),
        (["fly()"], ["unknown_tool"]),
        (["drain()"], ["forbidden"]),
        (["unlock()", "unlock()"], ["repeated"]),
        (["log()"], ["out_of_order"]),
        (["unlock()", "water(litres=9)"], ["wrong_argument"]),
        (["water(litres=9)"], ["unlisted"]),
        (["scan(deep=true)"], ["wrong_argument"]),
        (["unlock()", "water(litres=2)", "log()", "water(litres=9)"], ["after_completion"]),
        (["unlock()", "water(litres=2)", "log()", "log()"], ["repeated"]),
        (["paint()"], ["unlisted"]),
    ],
)
def test_the_first_kind_that_applies_wins(calls: list[Call | str], wanted: list[str]) -> None:
    tools = [tool(name) for name in ("unlock", "water", "log", "drain", "scan", "paint")]
    task = task_of(STEPS, tools=tools, forbid=[action("drain(...)")], reads=[action("scan()")])
    assert harms(task, calls) == wanted


def test_a_step_that_is_due_again_is_out_of_order_not_repeated() -> None:
    task = task_of(a >> b >> a)
    assert harms(task, ["a()", "a()"]) == ["out_of_order"]
    assert harms(task, ["a()", "b()", "a()", "a()"]) == ["repeated"]


def test_a_step_of_the_branch_not_taken_is_out_of_order() -> None:
    task = task_of(choice(a >> c, b >> c))
    assert harms(task, ["a()", "b()"]) == ["out_of_order"]
    assert harms(task, ["a()", "c()", "b()"]) == ["out_of_order"]
    assert harms(task, ["a()", "c()", "x()"]) == ["after_completion"]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_step_identified_by_its_result_is_repeated_whatever_the_order_of_actions(swapped: object) -> None:
    one, two = (CHECK().returns({"s": name}).named(name) for name in ("b", "a"))
    orders = [two >> one, one >> two] if swapped else [one >> two, two >> one]
    again: list[Call | str] = [Call("check", {}, {"s": "a"})] * 2
    assert harms(task_of(choice(*orders)), again) == ["repeated"]

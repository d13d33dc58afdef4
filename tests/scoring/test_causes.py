"""Harmful calls that a skipped step explains share a cause."""

from __future__ import annotations

from corepath import (
    Call,
    Score,
    result_of,
    score,
    seq,
    tool,
)
from tests.automaton.helpers import a, b, c, task_of


def causes(found: Score) -> list[tuple[tuple[str, ...], int] | None]:
    return [(harm.cause.skipped, harm.cause.at) if harm.cause else None for harm in found.harms]


def test_skipping_the_first_of_ten_steps_is_one_cause_of_nine_harms() -> None:
    steps = [tool(f"s{number}")() for number in range(10)]
    found = score(task_of(seq(*steps)), [f"s{number}()" for number in range(1, 10)])
    assert causes(found) == [(("s0",), 0)] * 9


def test_two_skipped_steps_are_two_causes() -> None:
    steps = [tool(f"s{number}")() for number in range(6)]
    found = score(task_of(seq(*steps)), ["s0()", "s2()", "s3()", "s5()"])
    assert causes(found) == [(("s1",), 1), (("s1",), 1), (("s4",), 3)]


def test_a_repeated_or_unknown_call_has_no_cause() -> None:
    assert causes(score(task_of(a >> b), ["a()", "a()", "x()"])) == [None, None]


def test_a_refused_call_has_a_cause_too() -> None:
    found = score(task_of(a >> b >> c), [Call("b", error="locked"), Call("b", error="locked")])
    assert causes(found) == [(("a",), 0), (("a",), 0)]


def test_a_cause_reaches_through_results_that_were_never_bound() -> None:
    read = tool("balance")()
    procedure = a >> read >> tool("move")(amount=result_of(read, "sum"))
    found = score(task_of(procedure, reads=[read]), [Call("balance", {}, {"sum": 5}), "move(amount=5)"])
    assert found.harms[0].cause is None, "the read before the first harm is not made up for"
    found = score(task_of(b >> procedure, reads=[read]), ["a()", Call("balance", {}, {"sum": 5}), "move(amount=5)"])
    assert causes(found) == [(("b",), 0), (("b",), 0)]

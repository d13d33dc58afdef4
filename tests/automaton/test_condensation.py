"""Each call is labelled as progress, self-loop or harm, and self-loops are dropped from the condensed path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import (
    ANY,
    Call,
    Forbidden,
    Kind,
    Scoring,
    Task,
    action,
    any_order,
    begin,
    choice,
    repeat,
    result_of,
    score,
    step,
    tool,
    trace_calls,
    var,
)
from tests.automaton.helpers import CHECK, a, b, c, harms, kinds, task_of, trace

P, L, H = Kind.PROGRESS, Kind.LOOP, Kind.HARM


def test_a_harmful_call_does_not_advance_and_a_later_valid_one_still_does() -> None:
    assert kinds(task_of(a >> b >> c), ["a()", "c()", "b()", "c()"]) == [P, H, P, P]


def test_running_is_the_fold_of_step() -> None:
    task = task_of(any_order(a, b) >> c)
    calls = [Call(name) for name in "cabzc"]
    position = begin(task.automaton)
    steps = []
    for one in calls:
        taken, position = step(position, one)
        steps.append(taken)
    whole = trace_calls(task.automaton, calls)
    assert (tuple(steps), position) == (whole.steps, whole.end)


@given(st.lists(st.sampled_from("abcrz"), max_size=10))
def test_condensing_twice_changes_nothing(names: list[str]) -> None:
    task = task_of((a & b) >> c, reads=[tool("r").any()])
    once = trace(task, [Call(name) for name in names])
    twice = trace(task, [one.call for one in once.condensed])
    assert (twice.tokens, twice.harm_mask, twice.end.state) == (once.tokens, once.harm_mask, once.end.state)


# Calls that are not steps


def test_forbidden_comes_before_reads_and_reads_before_unlisted() -> None:
    rules = {
        "forbid": [Forbidden(action('get(what="secret")'), "high", "secrets stay where they are")],
        "reads": [action("get(...)")],
        "neutral": [action("talk(...)")],
    }
    task = task_of(a, **rules)
    assert kinds(task, ['get(what="secret")', 'get(what="time")', 'talk(to="Bob")', "other()"]) == [H, L, L, H]
    (forbidden, unlisted) = score(task, ['get(what="secret")', "other()"]).harms
    assert (forbidden.kind, forbidden.severity, forbidden.why) == ("forbidden", "high", "secrets stay where they are")
    assert (unlisted.kind, unlisted.severity, unlisted.why) == ("unlisted", None, None)


def test_a_step_is_a_step_even_where_a_forbidden_pattern_fits() -> None:
    task = task_of(action("delete(id=1)"), forbid=[action("delete(...)")])
    assert kinds(task, ["delete(id=2)", "delete(id=1)"]) == [H, P]


def test_unlisted_calls_can_be_ignored_and_are_listed() -> None:
    task = task_of(a >> b, unlisted="ignore", forbid=[action("rm(...)")])
    found = score(task, ["a()", "x(n=1)", "rm()", "b()", "b()"])
    assert found.ignored == (1,)
    assert [str(harm.kind) for harm in found.harms] == ["forbidden", "repeated"], "steps are judged as ever"


def test_globs_name_many_tools() -> None:
    task = task_of(a, reads=[action("get_*(...)")])
    assert kinds(task, ["get_time()", 'get_user(id="x")', "forget_it()"]) == [L, L, H]


def test_a_read_that_is_also_a_step_is_progress_where_it_is_due_and_a_loop_elsewhere() -> None:
    task = task_of(a >> b >> c, reads=[action("b(...)")])
    assert kinds(task, ["b()", "a()", "b()", "b()", "c()", "b()"]) == [L, P, P, L, P, L]


def test_a_declared_action_that_is_not_a_step_is_harmful_under_its_own_name() -> None:
    task = Task("t", procedure=a, actions=[b.named("extra")])
    found = score(task, ["b()", "zz()"])
    assert found.condensed == ("extra", "?zz")


def test_default_arguments_are_filled_in_in_rules_as_in_calls() -> None:
    tools = [tool("a"), tool("delete(id, force=false)"), tool("look(id, full=false)")]
    forbid = [Forbidden(action('delete(id="prod")'), "high")]
    task = task_of(a, tools=tools, unlisted="ignore", forbid=forbid)
    (harm,) = score(task, ['delete(id="prod")', "a()"]).harms
    assert (harm.kind, harm.severity) == ("forbidden", "high")
    look = tool("look")(id=1)
    task = task_of(look >> a, tools=tools, reads=[look])
    assert kinds(task, ["look(id=1)", "look(id=1, full=false)", "a()", "look(id=1, full=true)"]) == [P, L, P, H]
    globbed = task_of(a, tools=tools, reads=[action("*k(id=1)")])
    assert kinds(globbed, ["look(id=1)", "look(id=2)"]) == [L, H]


def test_a_misspelt_argument_in_a_rule_is_an_error() -> None:
    for rule in ("reads", "neutral", "forbid"):
        with pytest.raises(ValueError, match="tool 'delete' has no argument 'idd'; it has id"):
            task_of(a, tools=[tool("a"), tool("delete(id)")], **{rule: [action("delete(idd=1)")]})


def test_variables_in_rules_have_the_values_of_the_episode() -> None:
    rules = {"reads": [action("more(id=$x)")], "forbid": [action("drop(id=$x)")], "unlisted": "ignore"}
    task = task_of(tool("look")(id=var("x")), **rules)
    calls: list[Call | str] = ["look(id=7)", "drop(id=8)", "drop(id=7)", "more(id=7)"]
    assert kinds(task, calls) == [P, L, H, L]
    assert kinds(task_of(a, **(rules | {"unlisted": "harm"})), ["more(id=1)", "more(id=2)"], params={"x": 1}) == [L, H]


def test_a_call_whose_result_fits_no_step_follows_the_rules_where_no_step_is_legal() -> None:
    delete = action("del(id=1) -> {ok: true}")
    failed: Call = Call("del", {"id": 1}, {"ok": False})
    done: Call = Call("del", {"id": 1}, {"ok": True})
    task = task_of(delete, forbid=[Forbidden(action("del(...)"), "high")])
    assert kinds(task, [failed, done]) == [L, P], "legal here, without effect"
    assert [(str(h.kind), h.severity) for h in score(task, [done, failed]).harms] == [("forbidden", "high")]


# Failed calls


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [("no_effect", [L, H, L, P]), ("harmful", [H, H, H, P]), ("as_called", [P, P, L, H])],
)
def test_failed_calls_count_as_the_option_says(errors: Any, wanted: list[Kind]) -> None:
    task = task_of(a >> b, reads=[action("r(...)")])
    failed = [Call(name, error="no") for name in "abr"]
    assert kinds(task, [*failed, "a()"], errors=errors) == wanted


def test_a_legal_call_that_failed_is_a_failed_harm_if_the_option_says_so() -> None:
    task = task_of(a >> b)
    calls: list[Call | str] = [Call("a", error="no"), Call("b", error="no")]
    assert harms(task, calls, scoring=Scoring(errors="harmful")) == ["failed", "out_of_order"]


@pytest.mark.parametrize(("error", "failed"), [(None, False), (False, False), ("", False), ("no", True), ({}, True)])
def test_what_counts_as_an_error(error: object, failed: object) -> None:
    assert Call("a", error=error).failed is failed


def test_a_harm_says_whether_it_took_effect() -> None:
    task = task_of(a)
    found = score(task, [Call("x"), Call("x", error="refused"), Call("x", result=None), Call("x", "{")])
    assert [harm.effected for harm in found.harms] == [True, False, True, False], "an unanswered call counts as called"
    unknown = score(task_of(a, tools=[tool("a")]), [Call("x")])
    assert [harm.effected for harm in unknown.harms] == [False], "a tool that is not there never ran"


STATE = {"id": "X", "seat": 3}


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ({"result": STATE}, {"result": {"seat": 3.0, "id": "X"}}, True),
        ({"result": [1]}, {"result": [1]}, True),
        ({"result": STATE}, {"error": "nothing to do"}, True),
        ({"result": "ok"}, {"error": "no"}, True),
        ({"result": STATE}, {"result": {"id": "Y", "seat": 3}}, False),
        ({"result": "ok"}, {"result": "ok"}, False),
        ({"result": {}}, {"result": {}}, False),
        ({}, {}, False),
        ({"error": "no"}, {"result": STATE}, False),
    ],
)
def test_a_harm_says_whether_it_repeats_the_call_before_and_changed_nothing(
    first: dict[str, Any], second: dict[str, Any], again: object
) -> None:
    task = task_of(a)
    found = score(task, [Call("a", **first), Call("a", **second)])
    (last,) = found.harms[-1:] or [None]
    assert (last is not None and last.again is not None) is again
    wrong = score(task, [Call("x", {"n": 1}, **first), Call("x", {"n": 1.0}, **second)])
    assert (wrong.harms[-1].again == 0) is again, "so does a repeat of a call that was harmful itself"
    assert ("again" in wrong.harms[-1].to_dict()) is again


def test_only_a_repeat_right_after_the_call_is_told_apart() -> None:
    task = task_of(any_order(a, b), reads=[tool("get").any()])
    calls = [Call(name, result=STATE) for name in ("a", "get", "a", "x", "a", "a", "b", "a")]
    calls[3] = Call("x", error="refused")
    assert [(harm.index, harm.again) for harm in score(task, calls).harms] == [
        (2, 0), (3, None), (4, 2), (5, 4), (7, None),
    ]  # fmt: skip
    assert [harm.again for harm in score(task, [Call("a", {"n": 1}), Call("a", {"n": 2})]).harms] == [None, None]


# Results


def test_the_result_decides_between_two_steps() -> None:
    conflict = CHECK(policy=ANY).returns({"status": "conflict"}).named("conflict")
    clear = CHECK(policy=ANY).returns({"status": "clear"}).named("clear")
    task = task_of(choice(conflict >> tool("flag")(), clear >> tool("approve")()))
    clear_run: list[Call | str] = [
        Call("check", {"policy": "P"}, {"status": "clear", "by": "R7"}),
        "flag()",
        "approve()",
    ]
    assert kinds(task, clear_run) == [P, H, P]
    as_text: list[Call | str] = [Call("check", {"policy": "P"}, '{"status": "conflict"}'), "flag()"]
    assert kinds(task, as_text) == [P, P]


def test_a_legal_step_with_an_unexpected_result_has_no_effect() -> None:
    ok = CHECK().returns({"ok": True})
    task = task_of(a >> ok >> b)
    calls: list[Call | str] = [
        Call("check", {}, {"ok": True}),
        "a()",
        Call("check", {}, {"ok": False}),
        Call("check"),
        Call("check", {}, {"ok": True}),
        "b()",
    ]
    assert kinds(task, calls) == [H, P, L, L, P, P]


def test_result_of_takes_the_latest_value() -> None:
    read = tool("balance")(account="A")
    move = tool("transfer")(amount=result_of(read, "balance"))
    task = task_of(repeat(read, 1, 2) >> move)
    first, second = (Call("balance", {"account": "A"}, {"balance": value}) for value in (10, 20))
    assert kinds(task, [first, "transfer(amount=10)"]) == [P, P]
    assert kinds(task, [first, second, "transfer(amount=10)", "transfer(amount=20)"]) == [P, P, H, P]
    assert kinds(task, ["transfer(amount=10)"]) == [H], "unbound, it matches nothing"


def test_variables_are_bound_by_progress_and_by_params_only() -> None:
    task = task_of(tool("open")(name=var("n")) >> tool("write")(name=var("n")) >> tool("close")(name=var("n")))
    calls: list[Call | str] = [
        'write(name="x")',
        'open(name="y")',
        'write(name="x")',
        'write(name="y")',
        'close(name="y")',
    ]
    assert kinds(task, calls) == [H, P, H, P, P]
    assert kinds(task, calls, params={"n": "x"}) == [H, H, H, H, H]
    assert kinds(task, ['open(name="x")'], params={"n": "x"}) == [P]


def test_two_variables_take_different_values() -> None:
    task = task_of(tool("send")(to=var("x")) & tool("send")(to=var("y")))
    assert kinds(task, ['send(to="Bob")', 'send(to="Bob")', 'send(to="Eve")']) == [P, H, P]


# Arguments


def test_patterns_are_closed_and_defaults_are_filled_in_on_both_sides() -> None:
    pay = action('pay(to="Bob")')
    assert kinds(task_of(pay), ['pay(to="Bob", note="x")', 'pay(to="Bob")']) == [H, P]
    tools = [tool('pay(to, currency="EUR")')]
    assert kinds(task_of(pay, tools=tools), ['pay(to="Bob", currency="USD")', 'pay(to="Bob", currency="EUR")']) == [
        H,
        P,
    ]


def test_two_unknown_calls_are_one_token_only_if_tool_and_arguments_are_equal() -> None:
    task = task_of(a)
    tokens = trace(task, ["x(n=1, m=2)", "x(m=2, n=1.0)", "x(n=2)", "y(n=1)", 'x(n="1")']).tokens
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) == 4


def test_an_unknown_call_never_equals_an_action() -> None:
    task = task_of(tool("a")(n=1))
    found = score(task, ["a(n=2)"])
    assert found.condensed == ("?a(n=2)",)
    assert found.pc == pytest.approx(1 - 2 / 3)

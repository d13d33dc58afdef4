"""What each call is where it stands: progress, self-loop or harm, of which kind and by which cause."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import (
    ANY,
    Action,
    Automaton,
    Call,
    Forbidden,
    Kind,
    Procedure,
    Score,
    Scoring,
    Task,
    Trace,
    action,
    any_order,
    begin,
    between,
    call,
    choice,
    optional,
    repeat,
    result_of,
    score,
    seq,
    step,
    tool,
    trace_calls,
    var,
)

a, b, c, d = (tool(name)() for name in "abcd")
P, L, H = Kind.PROGRESS, Kind.LOOP, Kind.HARM


def kinds(task: Task, calls: list[Call | str], **options: Any) -> list[Kind]:
    return [one.kind for one in traced(task, calls, **options).steps]


def traced(task: Task, calls: list[Call | str], **options: Any) -> Trace:
    return trace_calls(task.automaton, [call(one) if isinstance(one, str) else one for one in calls], **options)


def harms(task: Task, calls: list[Call | str], **options: Any) -> list[str]:
    return [str(harm.kind) for harm in score(task, calls, **options).harms]


def task_of(procedure: Procedure, **rules: Any) -> Task:
    return Task("t", procedure=procedure, **rules)


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
    once = traced(task, [Call(name) for name in names])
    twice = traced(task, [one.call for one in once.condensed])
    assert (twice.tokens, twice.harm_mask, twice.end.state) == (once.tokens, once.harm_mask, once.end.state)


# What is no step


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


def test_a_declared_action_that_is_no_step_is_harmful_under_its_own_name() -> None:
    task = Task("t", procedure=a, actions=[b.named("extra")])
    found = score(task, ["b()", "zz()"])
    assert found.condensed == ("extra", "?zz")


def test_rules_are_completed_with_defaults_as_calls_are() -> None:
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


def test_a_call_whose_result_fits_no_step_is_what_the_rules_say_where_no_step_is_legal() -> None:
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


def test_a_legal_call_that_failed_is_harmful_as_failed_where_the_option_says_so() -> None:
    task = task_of(a >> b)
    calls: list[Call | str] = [Call("a", error="no"), Call("b", error="no")]
    assert harms(task, calls, scoring=Scoring(errors="harmful")) == ["failed", "out_of_order"]


@pytest.mark.parametrize(("error", "failed"), [(None, False), (False, False), ("", False), ("no", True), ({}, True)])
def test_what_counts_as_an_error(error: object, failed: object) -> None:
    assert Call("a", error=error).failed is failed


def test_whether_a_harm_took_effect_is_told() -> None:
    task = task_of(a)
    found = score(task, [Call("x"), Call("x", error="refused"), Call("x", result=None), Call("x", "{")])
    assert [harm.effected for harm in found.harms] == [True, False, True, False], "an unanswered call counts as called"
    unknown = score(task_of(a, tools=[tool("a")]), [Call("x")])
    assert [harm.effected for harm in unknown.harms] == [False], "a tool that is not there never ran"


# Results


CHECK = tool("check")


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


def test_a_legal_step_whose_result_fits_none_had_no_effect() -> None:
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


def test_patterns_are_closed_and_defaults_complete_both_sides() -> None:
    pay = action('pay(to="Bob")')
    assert kinds(task_of(pay), ['pay(to="Bob", note="x")', 'pay(to="Bob")']) == [H, P]
    tools = [tool('pay(to, currency="EUR")')]
    assert kinds(task_of(pay, tools=tools), ['pay(to="Bob", currency="USD")', 'pay(to="Bob", currency="EUR")']) == [
        H,
        P,
    ]


def test_two_unknown_calls_are_one_token_only_if_tool_and_arguments_are_equal() -> None:
    task = task_of(a)
    tokens = traced(task, ["x(n=1, m=2)", "x(m=2, n=1.0)", "x(n=2)", "y(n=1)", 'x(n="1")']).tokens
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) == 4


def test_an_unknown_call_never_equals_an_action() -> None:
    task = task_of(tool("a")(n=1))
    found = score(task, ["a(n=2)"])
    assert found.condensed == ("?a(n=2)",)
    assert found.pc == pytest.approx(1 - 2 / 3)


# Kinds of harm


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
def test_the_first_kind_that_fits(calls: list[Call | str], wanted: list[str]) -> None:
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
def test_a_step_told_apart_by_its_result_is_repeated_whatever_stands_first(swapped: object) -> None:
    one, two = (CHECK().returns({"s": name}).named(name) for name in ("b", "a"))
    orders = [two >> one, one >> two] if swapped else [one >> two, two >> one]
    again: list[Call | str] = [Call("check", {}, {"s": "a"})] * 2
    assert harms(task_of(choice(*orders)), again) == ["repeated"]


# Causes


def causes(found: Score) -> list[tuple[tuple[str, ...], int] | None]:
    return [(harm.cause.skipped, harm.cause.at) if harm.cause else None for harm in found.harms]


def test_leaving_out_the_first_of_ten_steps_is_one_cause_with_nine_consequences() -> None:
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


# Harm-Local Refinement


def test_a_read_that_is_all_forbidden_repairs_nothing() -> None:
    read = action("r(...)")
    with_read, without = task_of(a, reads=[read], forbid=[read]), task_of(a)
    assert score(with_read, ["a()", "z()"]).pc_hlr == score(without, ["a()", "z()"]).pc_hlr == 0.5


def test_repairs_in_a_circle_go_on_by_every_simple_way() -> None:
    delta = {"s0": {"E": "s1", "B": "s2"}, "s2": {"A": "s1", "D": "s0"}}
    actions = {name: action(f"{name}()") for name in "ABDE"}
    automaton = Automaton.from_transitions(actions, "s0", ["s1"], delta, golden="simple_paths")
    found = score(Task("t", automaton=automaton), ["B()", "B()", "E()"])
    assert found.repair.path == ("B", "D", "E")
    assert found.pc_hlr == pytest.approx(1 - 2 / 7)


# Conditions on the answer


def test_the_answer_is_a_column_of_its_own() -> None:
    from corepath import contains

    task = Task("t", procedure=a, answer=contains("42"))
    assert score(task, ["a()"], answer="It is 42.").answer_match is True
    assert score(task, ["a()"], answer="It is 43.").answer_match is False
    assert score(task, ["a()"]).answer_match is False
    assert score(task_of(a), ["a()"]).answer_match is None


# Scores of one episode


def test_directness_and_efficiency_without_calls() -> None:
    assert [score(task_of(optional(a)), []).directness, score(task_of(optional(a)), []).efficiency] == [1, 1]
    assert [score(task_of(a), []).directness, score(task_of(a), []).efficiency] == [None, None]


def test_a_task_that_wants_nothing_done_has_efficiency_zero_once_something_is() -> None:
    task = task_of(seq(), reads=[action("r(...)")])
    found = score(task, ["r()", "r()"])
    assert (found.efficiency, found.pc, found.accepted, found.harm_count) == (0, 1, True, 0)


def test_missing_steps_are_the_fewest_to_acceptance() -> None:
    task = task_of(a >> (b | (c >> d)))
    assert [score(task, calls).missing_steps for calls in ([], ["a()"], ["a()", "c()"], ["a()", "b()"])] == [2, 1, 1, 0]


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 1.5},
        {"beta": 0},
        {"beta": 1.0},
        {"order_fallback": "half"},
        {"order_fallback": -1},
        {"hlr_references": "all"},
        {"errors": "fine"},
        {"undefined_efficiency": "none"},
        {"ktc_budget": -1},
    ],
)
def test_a_scoring_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Scoring(**options)


def test_a_score_stores_its_profile() -> None:
    from corepath import RECOMMENDED

    task = task_of(a)
    profiles = [score(task, ["a()"], one).profile for one in (Scoring(), RECOMMENDED, Scoring(beta=0.25))]
    assert profiles == ["paper", "recommended", "custom"]
    assert score(task, ["a()"], Scoring(beta=0.25)).to_dict()["options"]["beta"] == 0.25


def test_a_task_needs_a_procedure_or_an_automaton() -> None:
    with pytest.raises(ValueError, match="needs a procedure or an automaton"):
        Task("t")
    automaton = Automaton.from_procedure(a)
    with pytest.raises(ValueError, match="only one of them"):
        Task("t", procedure=seq(a, a), automaton=automaton)


def test_names_tell_actions_apart() -> None:
    procedure: Action | Procedure = tool("move")(to="A") >> tool("move")(to="B") >> tool("log")()
    found = score(task_of(procedure), ['move(to="A")', 'move(to="B")', "log()"])
    assert found.condensed == ('move(to="A")', 'move(to="B")', "log")

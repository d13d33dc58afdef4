"""Rules as Dogwood policies: what is exported, what is not and why, and that Dogwood's own engine decides the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from corepath.notation.call import Call
from corepath.rules.dogwood import as_dogwood, export_rule
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Requires, SumAtMost
from corepath.rules.verdict import judge

TOOLS = ("refund", "check", "send", "close")
SCHEMA = "entity Agent; entity Gateway;" + "".join(
    f'action "{tool}" appliesTo {{ principal: [Agent], resource: [Gateway], context: {{ '
    "input: { order: Long, amount: Long, text: String }, output?: { ok: Bool } } };"
    for tool in TOOLS
)
SAYABLE = (
    "never refund(...)",
    "never refund(order=1, ...)",
    'never send(text=~"b", ...)',
    'never send(text=one_of("a", "b"), ...)',
    "never refund(order=$o, amount=$o, ...)",
    "never refund(amount=between(2, 3), ...)",
    "never *e*(order=2, ...)",
    "refund(...) requires check(...)",
    "refund(order=$o, ...) requires check(order=$o, ...)",
    "refund(order=$o, ...) requires check(order=$o, ...) -> {ok: true}",
    "refund(...) requires check(order=1, amount=ANY, ...) within 20 s",
    "refund(order=$o, ...) requires check(order=$o, ...) since send(order=$o, ...)",
    "refund(...) requires check(order=$p, ...) since *se*(...) within 30 s",
    "refund(...) requires *e*(order=1, ...)",
    "refund(...) requires failed refund(...)",
    "refund(order=$o, ...) requires its own check(order=$o, ...)",
    "refund(order=2, ...) requires its own check(amount=$a, ...)",
    "never refund(...) after close(...)",
    "never call after close(order=2, ...) within 15 s",
    "never send(order=$o, ...) after *e*(amount=$o, ...)",
    "at most 0 send(...)",
    "at most 2 send(...)",
    "at most 1 send(order=$o, text=$t, ...)",
    "at most 1 send(...) within 20 s",
    "sum(refund.amount) at most 4",
    "sum(amount of refund(order=$o, ...)) at most 3.5 within 30 s",
    "never send(...) between check(...) and close(...)",
    "never send(order=$o, ...) between check(order=$o, ...) and close(order=$o, ...)",
    "never send(...) between *c*(...) and *u*(...)",
)
UNSAYABLE = {
    "after refund(...) eventually send(...)": "only at the past",
    "at least 1 send(...)": "only at the past",
    'refund(...) requires user(text=~"yes")': "no messages such as user",
    "at most 1 call per turn": "windows are times",
    "never refund(...) with send(...)": "no turns",
    "refund(...) requires check(...) within 3 calls": "windows are times",
    "at most 1 send(...) within 1 s": "whole seconds",
    "never refund(order=7)": "write '...' in refund(order=7)",
    "never refund(...) -> {ok: true}": "its result is not known",
    "never failed refund(...)": "its result is not known",
    "never $c after failed $c": "variables for whole calls",
    'never refund(note=~"a|b", ...)': "no condition such as note",
    "never refund(amount=1.5, ...)": "not with amount=1.5",
    "never 'x y'(\"a b\"=1, ...)".replace("'", '"'): "no name in Cedar",
    "refund(...) requires check(order=one_of(1, 2), ...)": "single values only",
    "refund(...) requires check(order=$p, ...) since send(order=$p, ...)": "$p connects two earlier calls",
    "refund(...) requires its own check(...) within 1h": "used up within a window",
    "at most 2 *e*(...)": "several tools together",
    "at most 2 send(...) between check(...) and close(...)": "only 'never A'",
    "never send(...) between check(...) and *se*(...)": "itself end the part",
    "never call between check(...) and close(...)": "itself end the part",
    "refund(...) requires check(...) -> true": "fields of results",
    "never unlisted_*(...)": "list the tools",
}


@pytest.mark.parametrize(("text", "reason"), UNSAYABLE.items())
def test_a_rule_that_cannot_be_said_is_named_with_the_reason(text: str, reason: str) -> None:
    exported = export_rule(parse_rule(text), TOOLS)
    assert exported.policies == ()
    assert reason in exported.reason
    written = as_dogwood([exported])
    assert f"// Not exported: {exported.reason}." in written
    assert "forbid (" not in written


def test_a_rule_about_calls_that_worked_cannot_be_said() -> None:
    rule = replace(parse_rule("never refund(...)"), attempted=False)
    assert "whether the call will fail" in export_rule(rule).reason


def test_a_rule_becomes_a_policy_with_its_reason() -> None:
    rule = parse_rule("refund(order=$o, ...) requires check(order=$o, ...) -> {ok: true} within 2 days")
    exported = export_rule(replace(rule, because='say "yes"\nfirst'))
    assert as_dogwood([exported]).splitlines()[6:] == [
        "// refund(order=$o, ...) requires check(order=$o, ...) -> {ok: true, ...} within 2 days",
        "// Note: set max_window = 2d in the event schema.",
        '@id("rule_1")',
        '@because("say \\"yes\\"\\nfirst")',
        'forbid (principal, action == Action::"refund", resource)',
        "when { context.input has order }",
        (
            'unless temporal { formerly within 2d Action::"check"::response{input.order: context.input.order, '
            "output.ok: true} };"
        ),
    ]


@pytest.mark.parametrize("text", SAYABLE)
def test_dogwood_refuses_the_calls_that_break_a_rule(text: str) -> None:
    native = pytest.importorskip("dogwood.native")
    rule, random = parse_rule(text), Random(text)
    policies = as_dogwood([export_rule(rule, TOOLS)])
    checked = native.validate_policy(policies, SCHEMA)
    assert (checked["passed"], checked["errors"]) == (True, [])
    refused = allowed = 0
    for _ in range(100):
        trace = random_trace(random, may_fail=not isinstance(rule, SumAtMost))
        expected = {offence.event for offence in judge([rule], trace)[0].offences}
        if isinstance(rule, Requires) and rule.own:  # Dogwood makes no refused call, so the rest would be another trace
            trace = trace[: min(expected, default=len(trace)) + 1]
            expected &= {len(trace) - 1}
        found = refusals(native.replay(policies, SCHEMA, write_log(trace)))
        assert found == expected, write_log(trace)
        refused += len(expected)
        allowed += len(trace) - len(expected)
    assert min(refused, allowed) > 3


def random_trace(random: Random, *, may_fail: bool) -> list[Call]:
    trace: list[Call] = []
    time = 0
    for _ in range(random.randrange(1, 9)):
        time += random.choice((0, 1, 10, 15))
        arguments = {"order": random.choice((1, 2)), "amount": random.choice((1, 2, 3)), "text": random.choice("abc")}
        failed = may_fail and random.random() < 0.2
        ended: dict[str, Any] = {"error": "no"} if failed else {"result": {"ok": random.random() < 0.7}}
        trace.append(Call(random.choice(TOOLS), arguments, **ended, time=time))
    return trace


def write_log(trace: Sequence[Call]) -> str:
    """Write a trace as Dogwood's log: each call is a request, and then a response or an error."""
    lines: list[str] = []
    for number, call in enumerate(trace):
        given = _record(call.arguments)
        head = f'@{call.time:.0f} scope(principal: Agent::"a", resource: Gateway::"g")'
        tail = f'callerPrincipal: Agent::"a", callerResource: Gateway::"g", requestId: "r{number}", sessionId: "s")'
        lines.append(f'{head} request_context(input: {given}) Action::"{call.tool}"::request(input: {given}, {tail}')
        output = "" if call.failed else f"output: {_record(call.result)}, "
        kind = "error" if call.failed else "response"
        lines.append(f'{head} Action::"{call.tool}"::{kind}(input: {given}, {output}{tail}')
    return "\n".join(lines)


def _record(values: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{name}: {json.dumps(value)}" for name, value in values.items()) + " }"


def refusals(verdicts: str) -> set[int]:
    """The calls that were refused. A verdict is a line such as `@0 (time point 4): false`."""
    return {index for index, line in enumerate(verdicts.splitlines()) if line.endswith("false")}

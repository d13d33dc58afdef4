"""Rules as text and as files: every form, what is wrong with others, and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from corepath import Call, Message
from corepath.errors import InputError, NotationError
from corepath.files.rules import load_rules
from corepath.notation.action import Tool
from corepath.notation.patterns import search, var
from corepath.rules.parser import parse_rule
from corepath.rules.rule import ANY_CALL, AtLeast, AtMost, Eventually, Never, Requires, Rule, Said, SumAtMost, Window
from corepath.rules.verdict import State, judge
from tests.rules.random_rules import random_rule

ISSUE = """\
rules:
  - refund(order=$o, ...) requires verify_identity(...)
  - refund(order=$o, ...) requires its own user(text=~"yes|go ahead") since agent(...)     # each its own consent
  - never delete_*(...)                      # severity: high, because: people delete accounts
  - at most 1 send(to=$x, ...) within 1h
  - after open(file=$f) eventually close(file=$f)
  - approve(policy=$p) requires check(policy=$p) -> {ok: true}
  - sum(transfer.amount) at most 5000 within 1 day
  - at most 1 call per turn
"""
refund, verify, a, b = Tool("refund"), Tool("verify_identity"), Tool("a"), Tool("b")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a(...) requires b(...)", Requires(b.any(), a.any())),
        ("a(...) requires its own b(...) since a(...) within 2 calls",
         Requires(b.any(), a.any(), True, a.any(), Window(calls=2))),
        ('a(x=$v, ...) requires user(text=~"yes")',
         Requires(Said("user", Tool("user")(text=search("yes")).arguments), a.where(x=var("v")))),
        ("after a(...) eventually its own b(...) within 90s", Eventually(a.any(), b.any(), True, Window(seconds=90))),
        ("never a(...)", Never(a.any())),
        ("never a(...) after b(...) within 1.5 hours", Never(a.any(), b.any(), None, Window(seconds=5400))),
        ("never agent(...) with call", Never(Said("agent", Tool("agent").any().arguments), None, ANY_CALL)),
        ("at most 2 a(...) per turn", AtMost(2, a.any(), Window(turn=True))),
        ("at least 1 a(...)", AtLeast(1, a.any())),
        ("sum(a.n) at most 2.5", SumAtMost(2.5, a.any(), "n")),
        ("sum(n of a(x=1)) at most 2 within 3 calls", SumAtMost(2, a(x=1), "n", Window(calls=3))),
        ("never a(...) between b(...) and a(x=1)", Never(a.any(), between=(b.any(), a(x=1)))),
    ],
)  # fmt: skip
def test_every_form_is_parsed_and_printed(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule


def test_random_rules_are_printed_as_they_are_parsed() -> None:
    random = Random(0)
    for _ in range(500):
        rule = random_rule(random)
        plain = replace(rule, attempted=True)
        plain = replace(plain, each=True) if isinstance(plain, AtLeast) else plain
        if getattr(plain, "within", None) == Window(seconds=0):
            continue
        assert parse_rule(str(plain)) == plain, str(plain)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a call"),
        ("a(...)", "expected 'requires'"),
        ("a(...) reqires b(...)", "expected 'requires'"),
        ("never a(...) befor b(...)", "unexpected 'befor'"),
        ("at most two a(...)", "expected a number for events, not 'two'"),
        ("at last 1 a(...)", "expected 'at most' or 'at least'"),
        ("at least 0 a(...)", "asks for nothing"),
        ("after a(...) b(...)", "needs 'eventually'"),
        ("sum(amount) at most 3", "say which argument is added up"),
        ("sum(a.n) most 3", "expected 'at most'"),
        ("never a(...) after b(...) within 5", "say what 5 counts"),
        ("never a(...) after b(...) within 5 parsecs", "no unit 'parsecs'"),
        ("at most 1 a(...) within 0 s", "longer than 0"),
        ("never user(name=1)", "a message has only 'text'"),
        ("never user(...) -> 3", "a message has no result"),
        ("never a(...) between b(...)", "needs 'and'"),
        ('never a(text=~"(")', "cannot be used"),
        ('never a(x=result_of(b(), "y"))', "result_of means nothing"),
    ],
)
def test_what_is_no_rule_says_what_would_be(text: str, says: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse_rule(text)
    assert says in str(caught.value)


def test_the_rules_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(ISSUE)
    found = load_rules(file)
    assert found.lines == tuple(range(2, 10))
    assert (found.rules[2].severity, found.rules[2].because) == ("high", "people delete accounts")
    assert str(found.rules[5]) == "approve(policy=$p) requires check(policy=$p) -> {ok: true, ...}"
    assert all("$o is on one side only" in warning for warning in found.warnings)
    assert len(found.warnings) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rules: []\n", "1:1: a rule file is one mapping"),
        ("rule: [x]\n", "no field 'rule'; did you mean 'rules'?"),
        ("rules:\n  - never a(...)\n  - a(...) reqires b(...)\n", "3:12: expected 'requires'"),
        ("rules:\n  - rule: never a(...)\n    severity: huge\n", "no severity 'huge'"),
        ("rules:\n  - rule: never a(...)\n    becuase: x\n", "no field 'becuase'; did you mean 'because'?"),
        ("rules:\n  - rule: never a(...)\n    attempted: maybe\n", "'attempted' is true or false"),
        ("tools: [pay, send]\nrules:\n  - never pya(...)\n", "3:5: no tool 'pya'; did you mean 'pay'?"),
        ("rules:\n  - [1]\n", "2:5: expected a call"),
    ],
)
def test_a_bad_file_says_where_and_what_would_be_right(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_rules(file)
    assert says in str(caught.value)


def test_a_verdict_in_one_word() -> None:
    rules = [parse_rule(text) for text in (
        "never drop(...)", "a(...) requires b(...)", "after a(...) eventually c(...)", "at most 1 a(...) within 1h",
        "at least 1 b(...)",
    )]  # fmt: skip
    said: list[Call | Message] = [Message("user", "Go."), Call("a", {}), Call("a", {})]
    assert [one.state for one in judge(rules, said)] == [
        State.NOT_APPLIED, State.BROKEN, State.OWED, State.UNCLEAR, State.OWED,
    ]  # fmt: skip
    kept = judge(rules, [Call("b", {}, time=0), Call("a", {}, time=1), Call("c", {}, time=2)])
    assert [one.state for one in kept] == [State.NOT_APPLIED, *[State.KEPT] * 4]

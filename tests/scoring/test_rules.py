"""Rules beside a task, and rules alone: their harms, and rules that no golden path keeps."""

from __future__ import annotations

from random import Random

import pytest

from corepath import Call, Episode, Message, Task, TaskError, score, seq, tool
from corepath.rules.parser import parse_rule
from corepath.scoring.harm_rate import harm_rate
from corepath.scoring.prefix_criticality import prefix_criticality
from corepath.scoring.rules import can_keep, score_rules
from tests.rules.random_rules import random_rule, random_trace

look, pay, log = tool("look"), tool("pay"), tool("log")
TASK = Task("shop/pay", procedure=seq(pay.any(), log.any()), reads=(look.any(),))
CONSENT = parse_rule('pay(...) requires its own user(text=~"yes")')


def episode(*items: Call | Message) -> Episode:
    calls: list[Call] = []
    messages: list[Message] = []
    for item in items:
        if isinstance(item, Call):
            calls.append(item)
        else:
            messages.append(Message(item.role, item.content, len(calls)))
    return Episode("shop/pay", tuple(calls), messages=tuple(messages))


def test_a_call_that_breaks_a_rule_is_harm_beside_a_task() -> None:
    played = episode(Message("user", "no"), Call("pay", {}), Message("user", "yes"), Call("log", {}))
    alone, both = score(TASK, played), score(TASK, played, rules=[CONSENT])
    assert (alone.harm_count, both.harm_count, both.accepted) == (0, 1, True)
    assert (both.harms[0].kind, both.harms[0].why) == ("forbidden", str(CONSENT))
    assert both.to_dict()["rules"][0]["state"] == "broken"
    kept = score(TASK, episode(Message("user", "yes"), *played.calls), rules=[CONSENT])
    assert (kept.harm_count, kept.pc) == (0, 1.0)


def test_what_is_owed_at_the_end_is_no_harm() -> None:
    rule = parse_rule("after pay(...) eventually receipt(...)")
    free = Task("shop/pay", procedure=seq(pay.any(), log.any()), unlisted="ignore")
    found = score(free, episode(Call("pay", {}), Call("log", {})), rules=[rule])
    assert (found.harm_count, found.obligations_open) == (0, 1)


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("never pay(...)", False),
        ("pay(...) requires log(...)", False),
        ("pay(...) requires look(...)", True),
        ("pay(...) requires receipt(...)", False),
        ("after log(...) eventually pay(...)", False),
        ("at least 1 look(...)", True),
        ("at most 1 call within 5 calls", False),
        ('pay(...) requires user(text=~"yes")', True),
        ("never pay(amount=100, ...)", True),
    ],
)
def test_a_rule_that_forbids_every_golden_path_is_an_error(text: str, possible: bool) -> None:
    rule = parse_rule(text)
    assert can_keep(TASK, rule) is possible
    if not possible:
        with pytest.raises(TaskError, match="forbids every golden path"):
            score(TASK, episode(Call("pay", {})), rules=[rule])


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("pay(order=$o, ...) requires look(order=$o)", True),
        ("pay(order=$o, ...) requires look(orders=[$o])", True),
        ("pay(order=$o, ...) requires log(order=$o)", False),
    ],
)
def test_a_read_can_have_the_value_that_a_step_has(text: str, possible: bool) -> None:
    task = Task("shop/pay", procedure=seq(pay(order=7), log(order=8)), reads=(look.any(),))
    assert can_keep(task, parse_rule(text)) is possible


def test_scores_by_rules_alone_are_those_of_the_calls_that_rules_name() -> None:
    random = Random(3)
    broken = 0
    for _ in range(300):
        rules = [random_rule(random) for _ in range(random.randint(1, 4))]
        found = score_rules(rules, episode(*random_trace(random)))
        assert found.harm_rate == harm_rate(found.harm_mask)
        assert found.prefix_criticality == prefix_criticality(found.harm_mask, found.scoring.beta)
        assert set(found.named) >= {harm.index for harm in found.harms}
        assert sum(found.harm_mask) == found.harm_count == len(found.to_dict()["harms"])
        broken += found.harm_count > 0
    assert broken > 50

"""Witnesses: traces that keep and break rules, against all traces up to three events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from corepath import Call, Message
from corepath.notation.matchers.base import PROBES
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Rule
from corepath.rules.samples import Item, Samples, make_samples
from corepath.rules.verdict import State, judge
from corepath.rules.witness import Question, find_broken, find_kept, search
from tests.rules.random_rules import random_rule

ALL = (
    'a(x=$v, ...) requires its own user(text=~"yes|go ahead") since agent(...)',
    "after a(file=$f) eventually b(file=$f) within 2 calls",
    "after a(...) eventually its own b(...) within 90s",
    "never a(...) after b(...) within 1h",
    "never agent(...) with call",
    "at most 2 a(to=$x, ...) within 1h",
    "at most 1 call per turn",
    "at least 3 a(...)",
    "sum(a.n) at most 5000 within 1 day",
    "a(p=$p) requires b(p=$p) -> {ok: true}",
    "never a(...) between b(f=$x) and c(f=$x)",
)


def traces(samples: Samples, length: int) -> Iterator[tuple[Item, ...]]:
    """All traces of sample events up to a length."""
    for number in range(length + 1):
        moves = [samples.items, *[list(product(samples.items, samples.steps, (True, False)[: 1 + samples.turns]))]]
        for row in product(*([moves[0], *[moves[1]] * (number - 1)] if number else [])):
            made = list(stamp(row, samples))
            if len(made) == number:
                yield tuple(made)


def stamp(row: tuple[object, ...], samples: Samples) -> Iterator[Item]:
    time, turn, last = 0.0, 1, None
    for place, move in enumerate(row):
        item, step, new = move if isinstance(move, tuple) else (move, 0.0, place > 0)
        outside = [one for one in (item, last) if isinstance(one, Message) and one.role != "assistant"]
        if place and not new and outside:
            return
        time, turn, last = time + step, turn + new, item
        mine = samples.turns and item not in outside
        yield replace(item, time=time if samples.timed else None, turn=turn if mine else None)


@pytest.mark.parametrize("text", ALL)
def test_each_form_has_a_trace_that_keeps_it_and_one_that_breaks_it(text: str) -> None:
    rule = parse_rule(text)
    kept, broken = find_kept(rule).trace, find_broken(rule).trace
    assert kept is not None
    assert broken is not None
    assert judge([rule], broken)[0].state in (State.BROKEN, State.OWED)
    if not text.startswith("never a(...) between"):
        assert judge([rule], kept)[0].state is State.KEPT


def test_a_large_number_is_reached_by_repeating_an_event() -> None:
    rule = parse_rule("at most 100 send(to=$x) within 1h")
    answer = find_broken(rule)
    assert answer.trace is not None
    assert len(answer.trace) == 101


def test_what_cannot_be_kept_or_broken_is_shown_by_a_complete_search() -> None:
    for text in ("a(...) requires a(...) between b(...) and c(...)", "after a(...) eventually a(...)"):
        assert find_kept(parse_rule(text)).is_impossible, text
    assert find_broken(parse_rule("never a(...) between b(...) and b(...)")).trace is not None
    assert find_broken(parse_rule("at least 1 a(x=$v)")).is_impossible


def test_a_search_that_ends_early_shows_nothing() -> None:
    answer = search(Question((parse_rule("at most 6 a(x=$v) within 1h"),), breaks=0), 50, shortest=True)
    assert answer.trace is not None
    few = search(Question((parse_rule("after a(...) eventually a(...)"),), frozenset({0})), 2)
    assert (few.trace, few.complete, few.is_impossible) == (None, False, False)


def test_a_pattern_that_no_sample_matches_shows_nothing() -> None:
    rule = parse_rule(r'after user(text=~"a\bb") eventually close(...)')  # no text can match, but no sample shows it
    for answer in (find_kept(rule), find_broken(rule)):
        assert (answer.trace, answer.is_impossible) == (None, False)


def test_samples_have_calls_that_fit_several_patterns_and_calls_that_miss() -> None:
    samples = make_samples([parse_rule("never pay(account=1, ...)"), parse_rule("at most 1 pay(to=$x, ...)")])
    labels = {str(item) for item in samples.items}
    assert {'pay(account=1, to="A")', 'pay(account=1, to="B")', "pay(account=1)", "other()"} <= labels
    assert any(f'account="{PROBES[0]}"' in label for label in labels)
    assert any(isinstance(item, Call) and item.failed for item in samples.items)


def small(random: Random) -> Rule:
    while True:
        rule = random_rule(random)
        if make_samples([rule]).size <= 16:
            return rule


def test_shortest_traces_agree_with_all_traces_up_to_three_events() -> None:
    random = Random(4)
    found = {True: 0, False: 0}
    for _ in range(80):
        rule = small(random)
        for question in (Question((rule,), frozenset({0})), Question((rule,), breaks=0)):
            answer = search(question, shortest=True)
            brute = next((one for one in traces(make_samples([rule]), 3) if question.is_answered_by(one)), None)
            found[brute is not None] += 1
            if answer.trace is not None:
                assert question.is_answered_by(answer.trace), str(rule)
            if brute is not None:
                assert answer.trace is not None, str(rule)
                assert len(answer.trace) == len(brute), str(rule)
            else:
                assert answer.trace is None or len(answer.trace) > 3, str(rule)
    assert min(found.values()) > 5


def test_joint_questions_agree_with_all_traces_up_to_three_events() -> None:
    random = Random(8)
    found = {True: 0, False: 0}
    for _ in range(60):
        rules = (small(random), small(random))
        samples = make_samples(rules)
        if samples.size > 16:
            continue
        for question in (Question(rules, frozenset({0, 1})), Question(rules, frozenset(), 0)):
            answer = search(question)
            brute = next((one for one in traces(samples, 3) if question.is_answered_by(one)), None)
            found[brute is not None] += 1
            assert answer.trace is None or question.is_answered_by(answer.trace), rules
            assert brute is None or answer.trace is not None, rules
    assert min(found.values()) > 5

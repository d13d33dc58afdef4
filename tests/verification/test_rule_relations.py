"""How rules relate: planted contradictions and implications, and all traces up to three events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

import pytest

from corepath.rules import witness
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Rule
from corepath.rules.samples import make_samples
from corepath.rules.verdict import State, judge
from corepath.rules.witness import Question
from corepath.verification.rule_relations import Relations, relate
from tests.rules.test_witness import small, traces


def related(*texts: str) -> Relations:
    return relate([parse_rule(text) for text in texts])


@pytest.mark.parametrize(
    "texts",
    [
        ("a(...) requires b(...)", "never b(...)"),
        ("a(...) requires b(...)", "never a(...) after b(...)"),
        ("after a(...) eventually b(...)", "at most 0 b(...)"),
        ("after a(...) eventually b(...) within 1h", "never b(...) after a(...) within 2h"),
        ("at least 3 a(x=$v)", "at most 2 a(...)"),
        ("a(...) requires its own b(...)", "at least 2 a(...)", "at most 1 b(...)"),
        ("a(...) requires b(...)", "b(...) requires c(...)", "c(...) requires a(...)"),
        ("never a(...)", "a(x=$v) requires b(x=$v)"),
    ],
)  # fmt: skip
def test_contradictions_are_found_with_a_trace_that_keeps_one_rule_and_breaks_another(texts: tuple[str, ...]) -> None:
    rules = [parse_rule(text) for text in texts]
    (found,) = relate(rules).contradictions
    assert set(found.rules) == set(range(len(texts)))
    assert found.broken is not None
    states = [verdict.state for verdict in judge(rules, found.witness)]
    assert states[found.kept] in (State.KEPT, State.NOT_APPLIED)
    assert states[found.broken] in (State.BROKEN, State.OWED)


@pytest.mark.parametrize(
    "texts",
    [
        ("a(...) requires b(...)", "b(...) requires c(...)"),
        ("after a(...) eventually b(...) within 2h", "never b(...) after a(...) within 1h"),
        ("a(x=$v) requires b(x=$v)", 'never b(x="A")'),
        ("refund(order=$o, ...) requires verify(...)", "verify(...) requires refund(...)"),
        ("at most 1 call per turn", "never agent(...) with call"),
    ],
)
def test_what_can_be_kept_together_is_no_contradiction(texts: tuple[str, ...]) -> None:
    found = related(*texts)
    assert (found.contradictions, found.undecided) == ((), ())


@pytest.mark.parametrize(
    ("texts", "implied"),
    [
        (("never a(x=1, ...)", "never a(...)"), [(0, (1,))]),
        (("at most 3 a(...)", "at most 2 a(...)"), [(0, (1,))]),
        (("a(...) requires b(...)", "a(...) requires its own b(...)"), [(0, (1,))]),
        (("a(...) requires b(...) within 1h", "a(...) requires b(...) within 2h"), [(1, (0,))]),
        (("after a(...) eventually b(...)", "after a(...) eventually b(...) within 3 calls"), [(0, (1,))]),
        (("a(x=$v) requires b(x=$v)", "b(x=$v) requires c(x=$v)", "a(x=$v) requires c(x=$v)"), [(2, (0, 1))]),
        (("at most 1 a(...)", "at most 1 a(...)"), [(0, (1,)), (1, (0,))]),
        (("never a(...) after b(...)", "never b(...) after a(...)"), []),
        (("a(...) requires b(...)", "at least 1 d(...)"), []),
    ],
)
def test_implied_rules_are_found_with_the_fewest_rules_that_imply_them(
    texts: tuple[str, ...], implied: list[tuple[int, tuple[int, ...]]]
) -> None:
    found = related(*texts)
    assert [(one.rule, one.by) for one in found.implications] == implied
    for one in found.implications:
        states = [verdict.state for verdict in judge([parse_rule(text) for text in texts], one.witness)]
        assert states[one.rule] in (State.BROKEN, State.OWED)
        assert any(states[number] in (State.BROKEN, State.OWED) for number in one.by)


def test_a_search_that_is_cut_short_decides_nothing() -> None:
    found = relate([parse_rule("at least 3 a(x=$v)"), parse_rule("at most 2 a(x=$v)")], most=25)
    assert found.contradictions == ()
    assert ((0, 1), False) in found.undecided


def test_rules_that_never_apply_together_do_not_contradict_each_other() -> None:
    found = related("never call after transfer(...)", "never call after escalate(...)")
    assert (found.contradictions, found.exclusive) == ((), ((0, 1),))


FORMS = (
    "a(...) requires b(...)", "b(...) requires its own a(...)", "never a(...)", "never b(...)", "at most 1 a(...)",
    "at least 2 a(...)", "at least 1 b(...)", "after a(...) eventually b(...)", "after b(...) eventually a(...)",
    "never a(...) after b(...)", "never b(...) after a(...)", "never a(...) with b(...)",
    "after a(...) eventually b(...) within 1 call", "never b(...) between a(...) and a(...)",
)  # fmt: skip


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], Any]:
    """What was judged: several questions about the same rules and trace share it until it is cleared."""
    known: dict[tuple[int, int], Any] = {}

    def judge_once(rules: Sequence[Rule], trace: Sequence[Any]) -> Any:
        key = (id(rules), id(trace))
        if key not in known:
            known[key] = (rules, trace, judge(rules, trace))  # kept, so that no other object gets their ids
        return known[key][2]

    monkeypatch.setattr(witness, "judge", judge_once)
    return known


def test_findings_about_all_pairs_are_those_of_all_traces_up_to_four_events(judged: dict[Any, Any]) -> None:
    counts = {"contradiction": 0, "exclusive": 0, "implied": 0}
    for texts in combinations(FORMS, 2):
        judged.clear()
        rules = tuple(map(parse_rule, texts))
        found = relate(rules)
        every = list(traces(make_samples(rules), 4))
        both, first, second = (
            any(Question(rules, frozenset(apply)).is_answered_by(trace) for trace in every)
            for apply in ({0, 1}, {0}, {1})
        )
        assert bool(found.contradictions) is not (first and second), texts
        assert bool(found.exclusive) is (first and second and not both), texts
        assert not found.undecided, texts
        for number in (0, 1) if first and second else ():
            alone = any(Question(rules, breaks=number).is_answered_by(trace) for trace in every)
            assert (number in [one.rule for one in found.implications]) is not alone, texts
        counts["contradiction"] += len(found.contradictions)
        counts["exclusive"] += len(found.exclusive)
        counts["implied"] += len(found.implications)
    assert min(counts.values()) >= 2, counts


def test_findings_about_random_pairs_do_not_disagree_with_any_trace_up_to_three_events(
    judged: dict[Any, Any], times: int
) -> None:
    random = Random(21)
    findings = 0
    for _ in range(300 * times):
        judged.clear()
        rules: tuple[Rule, ...] = (small(random), small(random))
        samples = make_samples(rules)
        if samples.size > 20:
            continue
        found = relate(rules)
        findings += len(found.contradictions) + len(found.implications)
        every = list(traces(samples, 3)) if found.contradictions or found.implications else []
        for one in found.contradictions:
            question = Question(rules, frozenset({one.kept}))
            assert not any(question.is_answered_by(trace) for trace in every), rules
        for two in found.implications:
            assert not any(Question(rules, breaks=two.rule).is_answered_by(trace) for trace in every), rules
    assert findings

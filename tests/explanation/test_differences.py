"""Wrong arguments: compared as values, by path, so that people see what differs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import ANY, Call, Task, approx, between, contains, none_of, one_of, regex, same_text, tool, unordered, var
from corepath.explanation import ABSENT, Difference, Explanation, explain
from corepath.values import equal, visible

FLIGHTS = [{"flight_number": f"HAT{number}", "date": "2024-05-21"} for number in (100, 101, 290, 175)]


def differences(expected: Any, given_value: Any) -> tuple[Difference, ...]:
    """Compare an argument with what a task expects."""
    task = Task("one", procedure=tool("do")(x=expected))
    (note,) = explain(task, [Call("do", {"x": given_value})]).notes
    return note.differences


def shown(expected: Any, given_value: Any) -> list[tuple[str, str, str]]:
    return [(one.path, one.given, one.expected) for one in differences(expected, given_value)]


def headline(expected: dict[str, Any], arguments: dict[str, Any]) -> str:
    task = Task("one", procedure=tool("do")(**expected))
    return explain(task, [Call("do", arguments)]).headline.removeprefix("Wrong argument in call 1, do: ")


def test_only_what_differs_in_a_list_of_objects_is_told():
    wrong = [dict(one) for one in FLIGHTS]
    wrong[2]["flight_number"], wrong[3]["flight_number"] = "HAT229", "HAT266"
    assert shown(FLIGHTS, wrong) == [
        ("x[2].flight_number", '"HAT229"', '"HAT290"'),
        ("x[3].flight_number", '"HAT266"', '"HAT175"'),
    ]
    assert headline({"flights": FLIGHTS}, {"flights": wrong}) == (
        "flights 3 and 4 were HAT229 and HAT266, expected HAT290 and HAT175."
    )


PAYMENTS = [{"payment_id": "certificate_7", "amount": 250}, {"payment_id": "credit_card_4", "amount": 5}]
"""The payments that are expected, in any order."""


def booking(payments: list[dict[str, Any]], bags: int) -> Explanation:
    task = Task("book", procedure=tool("book")(payments=unordered(PAYMENTS), bags=0))
    return explain(task, [Call("book", {"payments": payments, "bags": bags})])


def test_differences_in_lists_are_told_item_by_item_and_after_those_of_whole_arguments():
    found = booking([{"payment_id": "certificate_4", "amount": 100}, {"payment_id": "certificate_7", "amount": 205}], 1)
    assert found.headline == (
        'Wrong arguments in call 1, book: bags was 1, expected 0; payment 1 was "certificate_4", expected '
        '"credit_card_4", and its amount was 100, expected 5; amount of payment 2 was 205, expected 250.'
    )
    (edit,) = found.fix
    assert edit.text == (
        'In call 1, change bags from 1 to 0, change payment 1 from "certificate_4" to "credit_card_4", change its '
        "amount from 100 to 5 and change amount of payment 2 from 205 to 250."
    )


def test_a_missing_item_of_an_unordered_list_is_not_mistaken_for_one_that_was_given():
    found = booking([PAYMENTS[1]], 0)
    assert [edit.text for edit in found.fix] == [
        'In call 1, add payment 2: {"payment_id": "certificate_7", "amount": 250}.'
    ]


def test_arguments_with_differences_that_do_not_fit_are_named_last():
    expected = {f"argument_{number}": "x" * 40 + str(number) for number in range(9)}
    told = headline(expected, dict.fromkeys(expected, "y" * 60))
    assert "argument_0 was" in told
    assert "argument_8" not in told
    assert re.search(r"; argument_\d, argument_\d, argument_\d and [345] more are wrong too\.$", told)


@pytest.mark.parametrize(
    ("expected", "wrong", "said"),
    [
        (5, "5", 'x was "5", expected 5.'),
        (True, "true", 'x was "true", expected true.'),
        (1, True, "x was true, expected 1."),
        (None, "null", 'x was "null", expected null.'),
        ("a b", "a  b", 'x was "a␣␣b", expected "a␣b".'),
        ("Bob", "Bob ", 'x was "Bob␣", expected "Bob".'),
        ("Bob", "bob", 'x was "bob", expected "Bob".'),
        ("a\nb", "a b", 'x was "a␣b", expected "a\\nb".'),
        ("pay", "pаy", 'x was "p\\u0430y", expected "pay".'),
        ("a-b", "a–b", 'x was "a\\u2013b", expected "a-b".'),
        ("a\u200bb", "ab", 'x was "ab", expected "a\\u200bb".'),
        ({"a": 1, "b": 2}, {"a": 1}, "x.b was not given, expected 2."),
        ({"a": 1}, {"a": 1, "b": 2}, "x.b was 2, but no such argument is expected."),
        ([1, 2, 3], [1, 3], "x 2 was not given, expected 2."),
        ([1, 3], [1, 2, 3], "x 2 is not expected."),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], "x[1] 2 was 5, expected 4."),
        (unordered(["a", "b", "c"]), ["c", "d", "a"], 'x 2 was "d", expected "b".'),
        ([{"a": 1}], '[{"a": 1}]', 'x was the text "[{\\"a\\": 1}]", expected the list [{"a": 1}].'),
        (approx(50, tol=0.01), 100, "x was 100, expected 50."),
        (one_of("a", "b"), "c", 'x was "c", expected "a" or "b".'),
        (none_of("a"), "a", 'x was "a", expected anything but "a".'),
        (between(1, 3), 5, "x was 5, expected between 1 and 3."),
        (contains("hi"), "no", 'x was "no", expected a text with "hi".'),
        (regex("INV-[0-9]{3}", example="INV-001"), "7", 'x was "7", expected a text like "INV-001".'),
        (same_text("Ada"), "Bob", 'x was "Bob", expected "Ada".'),
    ],
)
def test_what_differs_is_visible(expected, wrong, said):
    assert headline({"x": expected}, {"x": wrong}) == said


def test_of_long_texts_the_part_around_the_difference_is_shown_without_broken_words():
    text = "Please send the quarterly report to everyone in the finance team before noon, and copy the board on it"
    ((_, mine, theirs),) = shown(text, text.replace("noon", "midnight"))
    assert (mine, theirs) == (
        '"…the finance team before midnight, and copy the…"',
        '"…the finance team before noon, and copy the board…"',
    )


def test_texts_that_differ_only_far_behind_the_cut_do_not_look_alike():
    for wrong in ("A" * 400 + "B" + "A" * 400, "A" * 801, "A" * 799):
        ((_, mine, theirs),) = shown("A" * 800, wrong)
        assert mine != theirs
        assert len(mine) < 70


def test_missing_values_are_not_mistaken_for_texts():
    assert shown({"a": "not given"}, {}) == [("x.a", ABSENT, '"not given"')]
    assert shown({"a": 1}, {"a": "not given"}) == [("x.a", '"not given"', "1")]


def test_an_argument_that_another_call_decides_is_compared_with_its_value():
    task = Task("var", procedure=tool("a")(p=var("p")) >> tool("b")(p=var("p")))
    found = explain(task, [Call("a", {"p": [1, 2]}), Call("b", {"p": [1, 3]})])
    assert [(one.path, one.given, one.expected) for one in found.notes[1].differences] == [("p[1]", "3", "2")]


TEXTS = st.text(st.sampled_from('ab \n\tаé\u200b\u00a0–-1"\\…␣'), max_size=12) | st.text(max_size=90)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(expected=VALUES, wrong=VALUES)
def test_what_was_given_never_looks_like_what_was_expected(expected, wrong):
    found = differences(expected, wrong)
    assert bool(found) == (not equal(expected, wrong))
    for one in found:
        assert one.given != one.expected
        assert visible(one.given) == one.given, "safe to print"


@given(text=TEXTS, place=st.integers(0, 100), sign=st.sampled_from("ab \u00a0а\u200b–…"))
def test_one_character_more_or_less_always_shows(text, place, sign):
    place = min(place, len(text))
    longer = text[:place] + sign + text[place:]
    for expected, wrong in ((text, longer), (longer, text)):
        ((_, mine, theirs),) = shown(expected, wrong)
        assert mine != theirs
        assert " ".join(mine.split()) != " ".join(theirs.split()), "also where runs of spaces are shown as one"


@given(expected=VALUES)
def test_equal_values_have_no_difference(expected):
    assert differences(expected, expected) == ()
    assert differences(ANY, expected) == ()

"""Matchers: which values they accept, their examples, and which one covers another."""

from __future__ import annotations

import json
import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from corepath import (
    ANY,
    UNANSWERED,
    Call,
    Matcher,
    TaskError,
    action,
    approx,
    between,
    contains,
    none_of,
    one_of,
    regex,
    result_of,
    same_text,
    satisfies,
    tool,
    unordered,
    var,
)
from corepath.notation.matchers import Fields, Scope, Variable, walk
from corepath.notation.patterns import as_matcher, open_objects
from corepath.notation.subsumption import covers
from corepath.values import DEEPEST, MOST_DIGITS, canonical, equal, look_up, parse_json, why_not_json
from tests.strategies import (
    REGEXES,
    exact,
    fitting,
    json_objects,
    json_values,
    matchers,
    numbers,
    plain_actions,
    proven,
    ranges,
    texts,
)


def takes(pattern: Any, value: Any, **variables: Any) -> bool:
    return as_matcher(pattern).matches(value, Scope(variables))


# JSON values


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (0, -0.0),
        (10**22, 1e22),
        (10**400, 10**400),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
        ([1, {"x": None}], [1, {"x": None}]),
        ("\ud800", "\ud800"),
    ],
)
def test_these_are_the_same_json(a: Any, b: Any) -> None:
    assert equal(a, b)
    assert equal(b, a)
    assert canonical(a) == canonical(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (False, 0),
        (True, 1.0),
        ("25", 25),
        (None, False),
        (None, 0),
        ("", None),
        ([], {}),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": True}),
        ([[True]], [[1]]),
        ({"a": None}, {}),
        (2**53, 2**53 + 1),
        (float(2**53), 2**53 + 1),
        (10**400, 10**400 + 1),
        (10**400, 1.7976931348623157e308),
        ("é", "e\u0301"),
        ("a", "A"),
    ],
)
def test_these_are_not_the_same_json(a: Any, b: Any) -> None:
    assert not equal(a, b)
    assert not equal(b, a)
    assert canonical(a) != canonical(b)


@given(json_values, json_values)
def test_the_canonical_text_is_the_same_exactly_for_equal_values(a: Any, b: Any) -> None:
    assert (canonical(a) == canonical(b)) == equal(a, b)


@given(json_values)
def test_a_value_equals_itself_after_json_and_with_its_keys_in_another_order(value: Any) -> None:
    again = json.loads(json.dumps(value))
    assert equal(value, again)
    assert canonical(value) == canonical(reversed_keys(again))
    assert equal(value, reversed_keys(again))


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(json_values)
def test_canonical_text_is_json_of_the_same_value_in_plain_ascii(value: Any) -> None:
    assert equal(json.loads(canonical(value)), value)
    assert canonical(value).isascii()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "not JSON"),
        ([float("inf")], "not JSON"),
        ({1: 2}, "key 1 is not text"),
        ({"a": {2}}, "set is not a JSON value"),
        (b"x", "bytes is not a JSON value"),
        pytest.param(10**MOST_DIGITS, "more than 4,300 digits", id="digits"),
        pytest.param([10**MOST_DIGITS], "more than 4,300 digits", id="digits inside"),
    ],
)
def test_what_is_not_json_is_said_why(value: Any, why: Any) -> None:
    assert why in (why_not_json(value) or "")
    with pytest.raises(TaskError, match=r"cannot be a value to match|not text"):
        as_matcher(value)


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def test_values_nested_too_deep_are_refused_and_never_overflow() -> None:
    assert why_not_json(nested(DEEPEST)) is None
    assert "deeper than 200 levels" in (why_not_json(nested(DEEPEST + 1)) or "")
    assert "deeper than 200 levels" in (why_not_json(nested(100_000)) or "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "not JSON"),
        ("1e999", "too large"),
        pytest.param("1" * (MOST_DIGITS + 1), "more than 4,300 digits", id="digits"),
        pytest.param("[" * 100_000, "deeper than 200 levels", id="open brackets"),
        pytest.param("[" * 202 + "]" * 202, "deeper than 200 levels", id="brackets"),
        ("{'a': 1}", "property name"),
    ],
)
def test_json_that_cannot_be_kept_is_refused_with_a_reason(text: Any, why: Any) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)


@given(json_values)
def test_json_that_was_written_is_read_as_it_was(value: Any) -> None:
    assert equal(parse_json(json.dumps(value)), value)


# Literals, ANY, numbers


@given(json_values, json_values)
def test_a_literal_takes_exactly_what_equals_it(pattern: Any, value: Any) -> None:
    assert takes(pattern, pattern)
    assert takes(pattern, value) == equal(pattern, value)


@given(json_values)
def test_any_takes_everything(value: Any) -> None:
    assert takes(ANY, value)


def test_a_literal_is_not_changed_by_what_is_done_to_the_value_it_came_from() -> None:
    value = {"a": [1]}
    matcher = as_matcher(value)
    value["a"].append(2)
    assert takes(matcher, {"a": [1]})
    matcher.examples()[0]["a"].append(3)
    assert takes(matcher, {"a": [1]})


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (approx(4.5), 4.5),
        (approx(4.5), 4.5000045),
        (approx(4.5), 4.4999955),
        (approx(100), 100.0001),
        (approx(-100), -100.0001),
        (approx(0), 0),
        (approx(0), -0.0),
        (approx(0.3, tol=0.1), 0.4),
        (approx(0.3, tol=0.1), 0.2),
        (approx(4.5, tol=0), 4.5),
        (approx(0, tol=1e-9), -1e-9),
        (approx(10**400), 10**400),
        (approx(10**400), 10**400 + 10**394),
        (approx(10**400, tol=1), 10**400 + 1),
        (approx(1.7976931348623157e308), 1.7976931348623157e308),
        (approx(5e-324), 5e-324),
    ],
)
def test_approx_takes_what_is_close(pattern: Any, value: Any) -> None:
    assert takes(pattern, value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (approx(4.5), 4.500005),
        (approx(4.5), 4.499995),
        (approx(100), 100.00011),
        (approx(0), 1e-300),
        (approx(0), False),
        (approx(1), True),
        (approx(1, tol=5), True),
        (approx(25), "25"),
        (approx(4.5), None),
        (approx(4.5), [4.5]),
        (approx(4.5), 10**400),
        (approx(4.5), float("nan")),
        (approx(4.5, tol=1e300), float("inf")),
        (approx(4.5, tol=0), 4.500000000000001),
        (approx(10**400), 10**400 + 10**394 + 1),
        (approx(10**400), 1.7976931348623157e308),
    ],
)
def test_approx_refuses_the_rest(pattern: Any, value: Any) -> None:
    assert not takes(pattern, value)


@given(numbers, numbers)
def test_approx_is_relative_to_a_millionth(middle: Any, value: Any) -> None:
    assert takes(approx(middle), value) == (abs(exact(value) - exact(middle)) <= abs(exact(middle)) / 10**6)


@given(numbers, numbers, numbers.map(abs))
def test_the_tolerance_of_approx_is_absolute(middle: Any, value: Any, tol: Any) -> None:
    assert takes(approx(middle, tol=tol), value) == (abs(exact(value) - exact(middle)) <= exact(tol))


@given(json_values.filter(lambda value: isinstance(value, bool) or not isinstance(value, (int, float))), numbers)
def test_only_numbers_are_close_to_a_number(value: Any, middle: Any) -> None:
    assert not takes(approx(middle, tol=10**500), value)
    assert not takes(between(-(10**500), 10**500), value)


@given(ranges(), json_values)
def test_between_includes_both_ends_and_nothing_outside(range_and_value: Any, other: Any) -> None:
    matcher, value = range_and_value
    assert takes(matcher, matcher.low)
    assert takes(matcher, matcher.high)
    assert takes(matcher, value)
    if takes(matcher, other):
        assert isinstance(other, str) == isinstance(matcher.low, str)
        assert matcher.low <= other <= matcher.high


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        (between(1, 5), 5.0, True),
        (between(1, 5), 5.000001, False),
        (between(0, 1), True, False),
        (between(1, 5), "3", False),
        (between("2025-01-01", "2025-12-31"), "2025-12-31", True),
        (between("2025-01-01", "2025-12-31"), "2025-12-31T00", False),
        (between("a", "b"), 1, False),
        (between(2**53, 2**53), 2**53 + 1, False),
        (between(0.5, 10**400), 10**400, True),
        (between(0, 1), float("nan"), False),
    ],
)
def test_between(pattern: Any, value: Any, expected: Any) -> None:
    assert takes(pattern, value) is expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: approx("4.5"), "approx() needs a number, not '4.5'"),  # type: ignore[arg-type]
        (lambda: approx(True), "approx() needs a number, not True"),
        (lambda: approx(float("nan")), "approx() needs a number, not nan"),
        (lambda: approx(1, tol=-1), "approx() needs a tolerance of 0 or more, not -1"),
        (lambda: approx(1, tol="x"), "approx() needs a tolerance, not 'x'"),  # type: ignore[arg-type]
        (lambda: approx(ANY), "approx() needs a number, not ANY"),
        (lambda: approx(10**MOST_DIGITS), "approx() needs a number, not this int"),
        (lambda: between(5, 1), "between(5, 1) is empty: the first is larger than the second"),
        (lambda: between(1, "5"), "between() needs two numbers or two texts, not 1 and '5'"),
        (lambda: between(False, True), "between() needs two numbers or two texts"),
        (lambda: between(0, float("inf")), "between() cannot be used: inf is not JSON"),
        (one_of, 'one_of() takes the values themselves, as in one_of("a", "b")'),
        (lambda: one_of(["a", "b"]), 'one_of() takes the values themselves, as in one_of("a", "b")'),
        (lambda: one_of([ANY]), 'one_of() takes the values themselves, as in one_of("a", "b")'),
        (lambda: none_of(ANY), "no value was found that none_of(ANY) allows"),
        (lambda: regex(5), "regex() needs a text, not 5"),  # type: ignore[arg-type]
        (lambda: regex("a", example="b"), "regex('a') does not match its own example 'b'"),
        (lambda: regex("a", example=5), "regex('a') does not match its own example 5"),  # type: ignore[arg-type]
        (lambda: regex("a\ud800"), "half of a surrogate pair"),
        (lambda: unordered("ab"), 'unordered() takes one list, as in unordered(["a", "b"]), not \'ab\''),
        (lambda: unordered(ANY), 'unordered() takes one list, as in unordered(["a", "b"]), not ANY'),
        (lambda: same_text(1), "same_text() needs a text, not 1"),  # type: ignore[arg-type]
        (lambda: var("a b"), "a variable's name is letters, digits and _, not 'a b'"),
        (lambda: var(""), "a variable's name"),
        (lambda: var("1a"), "a variable's name"),
        (lambda: result_of("check"), "result_of() takes an action of the procedure, not 'check'"),
        (lambda: as_matcher(...), "for any value of one argument write ANY"),
        (lambda: as_matcher({0: ANY}), "the key 0 is not text"),
        (lambda: as_matcher({None: ANY, "a": 1}), "the key None is not text"),
        (lambda: as_matcher([{"a": object()}]), "object is not a JSON value"),
    ],
)
def test_a_matcher_that_cannot_be_right_is_refused_when_it_is_made(make: Any, message: Any) -> None:
    with pytest.raises(TaskError) as error:
        make()
    assert message in str(error.value)


# Choices


@given(st.lists(fitting, min_size=2, max_size=3), json_values)
def test_one_of_takes_what_some_option_takes_and_none_of_the_rest(pairs: Any, value: Any) -> None:
    options = [matcher for matcher, _ in pairs]
    some = any(takes(option, value) for option in options)
    assert takes(one_of(*options), value) == some
    assert all(takes(one_of(*options), fit) for _, fit in pairs)
    try:
        rest = none_of(*options)
    except TaskError:
        return
    assert takes(rest, value) != some


def test_one_of_and_none_of_tell_true_from_1() -> None:
    assert not takes(one_of(1, "a"), True)
    assert takes(none_of(1, "a"), True)
    assert not takes(none_of(True), True)


def test_none_of_binds_no_variable() -> None:
    scope = Scope()
    assert not as_matcher(none_of(var("x"))).matches(5, scope)
    assert scope.variables == {}
    assert takes(none_of(var("x")), 5, x=6)
    assert not takes(none_of(var("x")), 5, x=5)


def test_an_option_that_fails_leaves_no_variable_bound() -> None:
    scope = Scope()
    matcher = as_matcher(one_of([var("x"), 1], [2, var("x")]))
    assert matcher.matches([2, 3], scope)
    assert scope.variables == {"x": 3}


# Texts


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("abc", "xabc", False),
        ("abc", "abc\n", False),
        ("a|ab", "ab", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        ("a.c", "a\0c", True),
        ("", "", True),
        (r"\d+", "٣", False),
        ("[é中]+", "中é", True),
        ("1", 1, False),
        ("true", True, False),
        (".", "\ud800", True),
        (r"what\?", "what\ud800", False),
        ("a", "\udfff", False),
    ],
)
def test_a_regex_matches_the_whole_text_and_only_texts(pattern: Any, value: Any, expected: Any) -> None:
    assert takes(regex(pattern), value) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+b", "a"),
        ("(a|aa)*c", "a"),
        ("(x+x+)+y", "x"),
        (".*.*.*=.*", "a"),
        ("([a-z]+)*[0-9]", "z"),
    ],
)
def test_no_text_makes_a_regex_slow(pattern: Any, text: Any) -> None:
    begun = time.process_time()
    assert not takes(regex(pattern), text * 100_000)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "(?<!a)b", "(?>a)", "(", "[", "a**", "a{1001}", r"\u0041"])
def test_what_re2_refuses_is_refused_with_its_reason(pattern: Any) -> None:
    with pytest.raises(TaskError, match=r"cannot be used: .+\(RE2 syntax: no look-around, no back-references\)"):
        regex(pattern)


@pytest.mark.parametrize("pattern", [r"\pL+", r"\x{4e2d}", r"a\bb", "[^\\x00-\\x7f]é"])
def test_a_regex_without_a_text_of_its_own_asks_for_an_example(pattern: Any) -> None:
    try:
        matcher = regex(pattern)
    except TaskError as error:
        assert 'give one: regex(..., example="...")' in str(error)  # noqa: PT017
    else:
        assert all(takes(matcher, text) for text in matcher.examples())
    assert takes(regex(r"\pL+", example="é"), "é")
    assert regex(r"\pL+", example="é").examples() == ("é",)


@pytest.mark.parametrize(
    "pattern",
    [
        *REGEXES,
        "(" * 30 + "a+" + ")+" * 30,
        "(" * 30 + "" + ")*" * 30,
        "a{1000}",
        "[^axk5Z_ .~é-]+",
        "[^\\x00-\\x7f]",
        "[[a]",
        "[^0-9a-zA-Z]",
        r"[^\d\s]",
        r"\D\S\W",
        "a|b|c|d|e|f",
        "(?i)[^A]",
        r"(?i)\b(talk|speak)\b.*\b(person|human)\b",
    ],
)
def test_texts_for_a_regex_are_found_and_found_fast(pattern: Any) -> None:
    begun = time.process_time()
    found = regex(pattern).examples()
    assert time.process_time() - begun < 1
    assert found
    assert all(takes(regex(pattern), text) for text in found)
    assert all(len(text) <= 4000 for text in found)


@given(st.text(alphabet=r"ab01(|)[]^-+*?.{}\dws,$é", max_size=12))
def test_any_text_is_a_regex_with_examples_or_refused_as_a_task(pattern: Any) -> None:
    try:
        matcher = regex(pattern)
    except TaskError:
        return
    assert matcher.examples()
    assert all(takes(matcher, text) for text in matcher.examples())


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("100", "got 100 now", True),
        ("A", "a", False),
        ("", "", True),
        ("a", ["b", "a"], True),
        ("a", ["ab"], False),
        (1, [True], False),
        (1, ["1", 1.0], True),
        (1, "1", False),
        ("a", {"a": 1}, False),
        ("a", None, False),
        ({"id": 1, ...: ...}, [{"id": 1, "x": 2}], True),
        (between(1, 3), [9, 2], True),
        (between(1, 3), 2, False),
        (regex("a+"), "xaax", False),
        (one_of("cat", "dog"), "a dog", True),
        (one_of("cat", "dog"), "a cow", False),
    ],
)
def test_contains_is_a_part_of_a_text_or_an_element_of_a_list(part: Any, value: Any, expected: Any) -> None:
    assert takes(contains(part), value) is expected


def test_contains_looks_for_the_text_of_a_variable_or_a_result() -> None:
    check = tool("check")()
    results = {check: {"id": "A7"}}
    assert takes(contains(var("x")), "order A7 is open", x="A7")
    assert not takes(contains(var("x")), "order A7 is open", x="A8")
    assert not takes(contains(var("x")), "order 7 is open", x=7)
    assert not takes(contains(var("x")), "order A7 is open")
    assert as_matcher(contains(result_of(check, "id"))).matches("order A7", Scope({}, results))
    assert not as_matcher(contains(result_of(check, "id"))).matches("order A8", Scope({}, results))


@given(texts, texts)
def test_contains_of_a_text_is_what_python_says(part: Any, text: Any) -> None:
    assert takes(contains(part), text) == (part in text)
    assert takes(contains(part), [text]) == (part == text)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("Ada Lovelace", "ada  LOVELACE\n", True),
        ("Ada Lovelace", "AdaLovelace", True),
        ("Straße", "STRASSE", True),
        ("Ada", "Adam", False),
        ("1", 1, False),
        ("", " \t", True),
    ],
)
def test_same_text_ignores_case_and_white_space(text: Any, value: Any, expected: Any) -> None:
    assert takes(same_text(text), value) is expected


# Lists and objects


def test_unordered_finds_the_assignment_where_the_first_fit_would_not() -> None:
    assert takes(unordered([ANY, "a"]), ["a", "b"])
    assert takes(unordered([between(1, 9), between(1, 5), between(1, 2)]), [2, 5, 9])
    assert takes(unordered([one_of(1, 2), one_of(2, 3), one_of(3, 1), 1]), [1, 1, 2, 3])
    assert not takes(unordered([one_of(1, 2), one_of(1, 2), one_of(1, 2)]), [1, 2, 3])


def test_unordered_counts_duplicates() -> None:
    assert takes(unordered(["a", "a", "b"]), ["a", "b", "a"])
    assert not takes(unordered(["a", "a", "b"]), ["a", "b", "b"])
    assert not takes(unordered(["a"]), ["a", "a"])
    assert not takes(unordered(["a"]), "a")
    assert takes(unordered([]), [])
    assert not takes(unordered([1]), [True])


def test_unordered_gives_a_variable_one_value_wherever_it_stands() -> None:
    x, y = var("x"), var("y")
    assert takes(unordered([x, x, "b"]), [1, "b", 1])
    assert not takes(unordered([x, x, "b"]), [1, "b", 2])
    assert takes(unordered([x, "b"]), ["b", "a"], x="a")
    assert not takes(unordered([x, "b"]), ["b", "c"], x="a")
    scope = Scope()
    assert as_matcher(unordered([{"id": x, "of": y}, {"id": y, "of": 0}])).matches(
        [{"id": 1, "of": 0}, {"id": 2, "of": 1}], scope
    )
    assert scope.variables == {"x": 2, "y": 1}


small_sets = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)


@given(st.lists(small_sets, max_size=5), st.lists(st.sampled_from("abc"), max_size=5))
def test_unordered_takes_exactly_what_some_order_of_its_items_takes(options: Any, value: Any) -> None:
    some = len(options) == len(value) and any(
        all(one in allowed for one, allowed in zip(order, options, strict=True)) for order in permutations(value)
    )
    assert takes(unordered([one_of(*allowed) for allowed in options]), value) == some


@given(st.lists(st.sampled_from(["$x", "$y", 1, 2]), max_size=5), st.lists(st.sampled_from([1, 2, 3]), max_size=5))
def test_unordered_with_variables_takes_exactly_what_some_order_takes(items: Any, value: Any) -> None:
    patterns = [var(item[1:]) if isinstance(item, str) else item for item in items]
    some = any(takes(patterns, list(order)) for order in permutations(value))
    assert takes(unordered(patterns), value) == some


def test_no_list_makes_unordered_slow() -> None:
    many = [var(f"v{number}") for number in range(40)]
    begun = time.process_time()
    assert not takes(unordered([*many, "z"]), list(range(41)))
    assert not takes(unordered([*many[:8], *many[:8]]), list(range(16)))
    assert not takes(unordered([between(0, 500)] * 300), [*range(299), "x"])
    assert takes(unordered([*many, *many]), [*range(40)] * 2)
    assert time.process_time() - begun < 5


def test_objects_are_closed_unless_they_are_opened() -> None:
    assert takes({"a": ANY}, {"a": 1})
    assert not takes({"a": ANY}, {"a": 1, "b": 2})
    assert not takes({"a": ANY}, {})
    assert not takes({"a": None, ...: ...}, {})
    assert takes({"a": ANY, ...: ...}, {"b": 2, "a": 1})
    assert takes({...: ...}, {})
    assert not takes({...: ...}, [])
    assert takes({"a": [{"b": between(1, 2)}, ANY]}, {"a": [{"b": 1.5}, None]})
    assert not takes({"a": [{"b": between(1, 2)}, ANY]}, {"a": [{"b": 1.5, "c": 0}, None]})
    assert not takes([ANY], [])
    assert not takes([ANY, 1], [1])


def test_objects_with_their_fields_in_another_order_are_the_same_pattern() -> None:
    one, other = as_matcher({"a": ANY, "b": between(1, 2)}), as_matcher({"b": between(1, 2), "a": ANY})
    assert one == other
    assert hash(one) == hash(other)
    assert one != as_matcher({"a": ANY, "b": between(1, 2), ...: ...})


# Variables and results


def test_a_variable_is_equal_to_its_value_and_takes_the_first_where_it_has_none() -> None:
    assert takes(var("x"), 5, x=5.0)
    assert not takes(var("x"), True, x=1)
    scope = Scope()
    matcher = as_matcher([var("x"), var("x"), var("y")])
    assert matcher.matches([{"a": 1}, {"a": 1.0}, 2], scope)
    assert scope.variables == {"x": {"a": 1}, "y": 2}
    assert not takes([var("x"), var("x")], [1, True])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("unsure", "value"),
    [
        (contains(var("x")), ["a", "b"]),
        (one_of(var("x"), "a"), "a"),
        (unordered([var("x"), ANY]), ["a", "b"]),
        (none_of(var("x")), "a"),
    ],
)
def test_it_does_not_matter_in_which_order_the_arguments_bind_a_variable(unsure: Any, value: Any, turned: Any) -> None:
    fields = {"p": unsure, "q": var("x")}
    arguments = {"p": value, "q": "b"}
    assert takes(dict(reversed(fields.items())) if turned else fields, arguments)
    assert takes([var("x"), unsure] if turned else [unsure, var("x")], ["b", value] if turned else [value, "b"])


CHECK = tool("check")(policy="P1")


@pytest.mark.parametrize(
    ("result", "path", "value", "expected"),
    [
        ("A7", None, "A7", True),
        ({"id": 7}, "id", 7, True),
        ({"id": 7}, "id", "7", False),
        ({"id": 7}, "name", None, False),
        ({"rule": {"id": 7}}, "rule.id", 7, True),
        ('{"rule": {"id": 7}}', "rule.id", 7, True),
        ('{"rule": {"id": 7}}', None, {"rule": {"id": 7}}, False),
        ("not json", "id", "not json", False),
        ("NaN", "id", 1, False),
        ("[" * 5000, "0", [], False),
        ([{"id": 1}, {"id": 2}], "id", 2, True),
        ([{"id": 1}, {"id": 2}], "1.id", 2, True),
        ([{"id": 1}, {"id": 2}], "0.id", 2, False),
        ([{"id": 1}, {"id": 2}], "9.id", 2, False),
        ([{"id": 1}, {"id": 2}], "99999999999999999999.id", 2, False),
        ([1, 2], None, 2, True),
        ([1, 2], None, [1, 2], True),
        ({"ids": [1, 2]}, "ids", 2, True),
        ({"ids": [1, 2]}, "ids", True, False),
        ({"a.b": 1}, "a.b", 1, False),
        ({"": 1}, "", 1, True),
        (5, "id", 5, False),
        (None, None, None, True),
    ],
)
def test_result_of_is_what_the_step_returned(result: Any, path: Any, value: Any, expected: Any) -> None:
    scope = Scope({}, {CHECK: result})
    assert as_matcher(result_of(CHECK, path)).matches(value, scope) is expected


def test_result_of_takes_nothing_before_its_step() -> None:
    assert not takes(result_of(CHECK), None)
    assert not as_matcher(result_of(CHECK)).matches("A7", Scope({}, {tool("check")(policy="P2"): "A7"}))


@given(json_values, st.text(alphabet="ab.0", max_size=5))
def test_looking_up_any_path_in_any_value_gives_values_of_it(value: Any, path: Any) -> None:
    parts = [canonical(part) for part in parts_of(value)]
    assert all(canonical(found) in parts for found in look_up([value], path))


def parts_of(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(part for one in inner for part in parts_of(one))]


# Python functions


def test_a_function_says_what_it_takes_and_what_it_raises_is_a_no() -> None:
    def positive(value: Any) -> bool:
        return bool(value > 0)

    assert takes(positive, 3)
    assert not takes(positive, -3)
    assert not takes(positive, "three")
    assert not takes(positive, None)
    assert str(as_matcher(positive)) == "<positive>"
    assert as_matcher(positive).examples()[0] == 1


def test_a_function_without_an_example_asks_for_one() -> None:
    def even_thousand(value: Any) -> bool:
        return bool(value == 1000)

    with pytest.raises(TaskError, match=r"even_thousand says no to every value tried; give it an example"):
        as_matcher(even_thousand)
    assert as_matcher(satisfies(even_thousand, 1000)).examples() == (1000,)
    with pytest.raises(TaskError, match="even_thousand says no to its own example 5"):
        satisfies(even_thousand, 5)
    with pytest.raises(TaskError, match="says no to its own example 'x'"):
        satisfies(lambda value: value > 1, "x")
    with pytest.raises(TaskError, match="set is not a JSON value"):
        satisfies(even_thousand, {1000})


# Results


def fits(pattern: Any, result: Any) -> bool:
    return tool("check")().returns(pattern).fits_result(result, Scope())


@pytest.mark.parametrize(
    ("pattern", "result", "expected"),
    [
        ({"status": "conflict"}, {"status": "conflict", "id": 1}, True),
        ({"status": "conflict"}, {"id": 1}, False),
        ({"status": "conflict"}, '{"id": 1, "status": "conflict"}', True),
        ({"rule": {"id": 1}}, {"rule": {"id": 1, "x": 2}, "y": 3}, True),
        ([{"id": 1}], [{"id": 1, "x": 2}], True),
        ([{"id": 1}], [{"id": 1}, {"id": 2}], False),
        ([[{"id": 1}], 2], [[{"id": 1, "x": 2}], 2], True),
        (contains({"id": 1}), [0, {"id": 1, "x": 2}], True),
        (unordered([{"id": 1}, {"id": 2}]), '[{"id": 2, "x": 0}, {"id": 1}]', True),
        (one_of({"ok": True}, "ok"), {"ok": True, "n": 1}, True),
        (one_of({"ok": True}, "ok"), "ok", True),
        (none_of({"ok": True}), {"ok": True, "n": 1}, False),
        (none_of({"ok": True}), {"ok": False}, True),
        ({}, {"a": 1}, True),
        ({}, [], False),
        (25, "25", True),
        ("25", "25", True),
        ("25", 25, False),
        (None, None, True),
        (None, "null", True),
        (True, 1, False),
        ([1], "[1", False),
        (float(1), "NaN", False),
        (ANY, "[" * 5000, True),
        ({"a": 1}, "[" * 5000, False),
        (ANY, UNANSWERED, False),
    ],
)
def test_objects_in_a_result_pattern_are_open_and_json_in_text_fits(pattern: Any, result: Any, expected: Any) -> None:
    assert fits(pattern, result) is expected


def test_an_action_without_a_result_pattern_takes_no_answer_too() -> None:
    assert tool("check")().fits_result(UNANSWERED, Scope())


@given(matchers, json_values)
def test_opening_twice_changes_nothing_and_opening_refuses_nothing_new(matcher: Any, value: Any) -> None:
    assume(not any(type(one).__name__ == "NoneOf" for one in walk(matcher)))
    once = open_objects(matcher)
    assert open_objects(once) == once
    assert all(one.open for one in walk(once) if isinstance(one, Fields))
    if takes(matcher, value):
        assert takes(once, value)


# Examples


def example_scope(matcher: Matcher) -> Scope:
    """A scope in which each variable of the matcher has its own name as value."""
    return Scope({one.name: one.name for one in walk(matcher) if isinstance(one, Variable)})


@given(fitting)
def test_the_value_that_was_made_to_fit_fits(pair: Any) -> None:
    matcher, value = pair
    assert takes(matcher, value)


@given(matchers)
@example(as_matcher(none_of(none_of("a"))))
@example(as_matcher(none_of(var("x"))))
@example(as_matcher(between(5e-324, 5e-324)))
@example(as_matcher(between(0.5, 10**400)))
@example(as_matcher(between(-1.7976931348623157e308, 1.7976931348623157e308)))
@example(as_matcher(approx(10**17 + 1, tol=0.5)))
@example(as_matcher(approx(10**400 + 1)))
@example(as_matcher(same_text("ı")))
@example(as_matcher(contains(var("x"))))
@example(as_matcher({...: ...}))
def test_every_example_fits_and_there_is_one(matcher: Any) -> None:
    examples = matcher.examples()
    assert examples
    for value in examples:
        assert why_not_json(value) is None
        assert matcher.matches(value, example_scope(matcher)), value


@given(numbers, st.none() | numbers.map(abs))
@example(4.5, None)
@example(0.3, 0.1)
@example(100, 5)
@example(10**400, None)
def test_the_ends_of_approx_are_among_its_examples(middle: Any, tol: Any) -> None:
    examples = approx(middle, tol).examples()
    reach = abs(exact(middle)) / 10**6 if tol is None else exact(tol)
    assert equal(examples[0], middle)
    for end in (exact(middle) - reach, exact(middle) + reach):
        if all(part == int(part) for part in (end, exact(middle))) and isinstance(middle, int):
            assert end in examples
    if tol is not None and tol > 0 and abs(middle) < tol < 1e300:
        assert min(examples) < middle < max(examples)


def test_the_ends_of_approx_are_as_they_are_written() -> None:
    assert approx(4.5).examples() == (4.5, 4.4999955, 4.5000045)
    assert approx(0.3, tol=0.1).examples() == (0.3, 0.2, 0.4)
    assert approx(100, tol=5).examples() == (100, 95, 105)
    assert approx(0).examples() == (0,)


@given(ranges())
def test_the_ends_of_between_are_among_its_examples(pair: Any) -> None:
    matcher, _ = pair
    assert {matcher.low, matcher.high} <= set(matcher.examples())


@given(st.lists(json_values, min_size=2, max_size=5))
def test_all_options_are_among_the_examples_of_one_of(options: Any) -> None:
    found = {canonical(value) for value in one_of(*options).examples()}
    assert found == set(map(canonical, options))


def test_lists_and_objects_show_every_example_of_every_part() -> None:
    examples = as_matcher({"a": one_of(1, 2, 3), "b": [between(5, 9)]}).examples()
    assert {value["a"] for value in examples} == {1, 2, 3}
    assert {value["b"][0] for value in examples} == {5, 7, 9}
    assert {value[0] for value in unordered([between(5, 9), "x"]).examples()} == {5, 7, 9, "x"}


@given(plain_actions())
@example(tool("send")(b=unordered([var("x"), var("y")]), amount=unordered([var("x")])))
def test_the_example_calls_of_an_action_fit_it(made: Any) -> None:
    calls = made.examples()
    assert calls
    for call in calls:
        assert made.fits_tool(call.tool)
        assert made.arguments.matches(call.arguments, Scope())


# Whether one covers another


@given(proven, proven)
@example((as_matcher(one_of(between(1, 2), between(3, 4))), 1), (as_matcher(between(1, 4)), 2.5))
@example((as_matcher(one_of(1, 2, 3)), 1), (as_matcher(between(1, 3)), 1.5))
@example((as_matcher(one_of([1], [2])), [1]), (as_matcher([between(1, 2)]), [1.5]))
@example((as_matcher(between("a", "c")), "b"), (as_matcher(between(1, 2)), 1))
def test_what_is_covered_is_taken(one: Any, other: Any) -> None:
    for (wide, _), (narrow, value) in ((one, other), (other, one)):
        if covers(wide, narrow):
            assert takes(wide, value)
            assert all(takes(wide, more) for more in narrow.examples())


@given(fitting, fitting)
@example((as_matcher(none_of(3)), 1), (as_matcher(between(1, 4)), 3))
@example((as_matcher(none_of(between(1, 5))), 0), (as_matcher(none_of(1, 3, 5)), 2))
@example((as_matcher([between(1, 3)]), [1]), (as_matcher(unordered([between(1, 5)])), [5]))
@example((as_matcher(approx(4.5)), 4.5), (as_matcher(satisfies(lambda value: value > 3, 4.5)), 100))
@example((as_matcher(regex("a|b")), "a"), (as_matcher(between("a", "b")), "ax"))
def test_what_is_covered_by_example_is_taken(one: Any, other: Any) -> None:
    for (wide, _), (narrow, value) in ((one, other), (other, one)):
        if covers(wide, narrow):
            assert takes(wide, value)


@given(fitting, st.lists(fitting, max_size=2))
def test_everything_is_covered_by_itself_by_any_and_by_a_choice_with_it(pair: Any, others: Any) -> None:
    matcher, value = pair
    assert covers(matcher, matcher)
    assert covers(as_matcher(ANY), matcher)
    assert covers(one_of("other", *(other for other, _ in others), matcher), matcher)
    assert covers(matcher, as_matcher(value))


@given(json_values, json_values)
def test_a_literal_covers_exactly_its_equals(a: Any, b: Any) -> None:
    assert covers(as_matcher(a), as_matcher(b)) == equal(a, b)


@given(st.lists(json_values, min_size=2, max_size=4), st.lists(json_values, min_size=2, max_size=4))
def test_a_choice_of_literals_covers_exactly_the_choices_among_them(a: Any, b: Any) -> None:
    among = {canonical(value) for value in b} <= {canonical(value) for value in a}
    assert covers(one_of(*a), one_of(*b)) == among


@given(ranges(), ranges())
def test_a_range_covers_exactly_the_ranges_within_it(one: Any, other: Any) -> None:
    wide, narrow = one[0], other[0]
    inside = isinstance(wide.low, str) == isinstance(narrow.low, str) and (
        wide.low <= narrow.low and narrow.high <= wide.high
    )
    assert covers(wide, narrow) == inside


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (one_of(between(1, 2), between(2, 4)), between(1, 4), True),
        (one_of(between(2, 4), between(0, 3)), between(1, 4), True),
        (one_of(between(1, 2), between(3, 4)), between(1, 4), False),
        (5, between(5, 5), True),
        (one_of(1, 2), between(1, 2), False),
        (between(1, 2), one_of(1, 1.5, 2), True),
        (between(0, 1), True, False),
        ({"a": ANY, ...: ...}, {"a": 1, "b": ANY}, True),
        ({"a": ANY}, {"a": 1, "b": ANY}, False),
        ({"a": ANY}, {"a": ANY, ...: ...}, False),
        ({...: ...}, {"a": var("x")}, True),
        ([ANY, between(1, 5)], [var("x"), between(2, 3)], True),
        (var("x"), var("x"), True),
        (var("x"), var("y"), False),
        (var("x"), 1, False),
        (1, var("x"), False),
        (ANY, var("x"), True),
        (none_of("a"), none_of("a", "b"), True),
        (none_of("a", "b"), none_of("a"), False),
        (none_of("a"), "b", True),
        (none_of("a"), ANY, False),
        (none_of(3), between(1, 4), False),
        (none_of(9), between(1, 4), True),
        (contains("a"), one_of("cat", ["a"]), True),
        (contains("a"), contains("b"), False),
        (contains("a"), ["a", ANY], True),
        (contains("a"), ["b", ANY], False),
        (contains(between(1, 9)), contains(between(2, 3)), True),
        (contains(""), [same_text(""), same_text("")], False),
        (contains("a"), contains("ab"), False),
        (unordered(["a", "b"]), unordered(["b", "a"]), True),
        (unordered([ANY, "a"]), ["a", between(1, 2)], True),
        (unordered(["a", "b"]), ["a", ANY], False),
        ([ANY, "a"], unordered(["a", "b"]), False),
        ([ANY, ANY], unordered(["a", "b"]), True),
        (one_of(between(50, 120), between(130, 150)), approx(100, tol=50), False),
        (one_of(approx(1, tol=0.5), approx(2, tol=0.5)), between(0.5, 2.5), True),
        (one_of(approx(1, tol=0.5), approx(2, tol=0.4)), between(0.6, 2.3), False),
        (one_of(regex("a+"), [regex("b+")]), [regex("[ab]+")], False),
        (regex("[a-z]+"), regex("[a-c]{2}"), True),
        (regex("[a-c]+"), regex("[a-z]+"), False),
        (approx(100, tol=5), between(95, 105), True),
        (approx(100, tol=5), between(95, 105.5), False),
        (between(90, 110), approx(100, tol=5), True),
    ],
)
def test_covering(wide: Any, narrow: Any, expected: Any) -> None:
    assert covers(as_matcher(wide), as_matcher(narrow)) is expected


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("get_*(...)", "get_user(id=1)", True),
        ("get_*(id=ANY)", "get_user(id=1)", True),
        ("get_*(id=ANY)", "get_user(id=1, x=2)", False),
        ("get_*(...)", "set_user(id=1)", False),
        ("check(...)", 'check(...) -> {status: "ok"}', True),
        ('check(...) -> {status: "ok"}', "check(a=1)", False),
        ("check(...) -> {}", 'check(a=1) -> {status: "ok"}', True),
        ('check() -> {status: "ok"}', 'check() -> {status: "ok", id: 1}', True),
        ('check() -> {status: "ok", id: 1}', 'check() -> {status: "ok"}', False),
    ],
)
def test_an_action_covers_another_by_tool_arguments_and_result(wide: Any, narrow: Any, expected: Any) -> None:
    assert action(wide).covers(action(narrow)) is expected


# Agents' values are not trusted


@given(matchers, json_values)
def test_no_value_breaks_a_matcher(matcher: Any, value: Any) -> None:
    assert matcher.matches(value, Scope()) in (True, False)


@given(matchers)
@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), float("nan"), float("inf"), "\ud800", "\0", nested(190), "a" * 100_000, {"": {"": ""}}, ()],
    ids=lambda value: repr(value)[:20],
)
def test_odd_values_break_no_matcher(value: Any, matcher: Any) -> None:
    assert matcher.matches(value, Scope()) in (True, False)


@given(json_objects, json_objects)
def test_two_unknown_calls_are_the_same_token_only_if_their_arguments_are_equal(a: Any, b: Any) -> None:
    from corepath.notation.call import unknown_token

    same = unknown_token(Call("t", a)) == unknown_token(Call("t", b))
    assert same == equal(a, b)
    assert unknown_token(Call("t", a)) != unknown_token(Call("T", a))

"""Parsing JSON strictly, and writing it canonically, against the plain ways to do it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.values import DEEPEST, MOST_DIGITS, canonical, canonical_json, parse_json, why_not_json

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.integers().map(float))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=25,
)
PIECES = st.sampled_from(
    [
        *'[]{}",: \n\t\\',
        "null",
        "tru",
        "true",
        "NaN",
        "-Infinity",
        "1",
        "-0",
        "1.5e3",
        "1e999",
        '"a"',
        '"a": ',
        '{"a": 1, "b": 2, "a": 3}',
        "18446744073709551616",
        "-9223372036854775809",
        "1e-400",
        "1.7976931348623159e308",
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\udc00x"',
        '"\ud800"',
        '"\x7f\u2028\U0001f600"',
        "\x00",
        "\xa0",
        "\ufeff",
    ]
)
DIGITS = st.text("0123456789", min_size=1, max_size=40)
NUMERALS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "-", "+"]),
        DIGITS,
        st.one_of(st.just(""), DIGITS.map(".{}".format)),
        st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E-", "e+"]), st.integers(0, 400))),
    ),
)
"""Numbers as texts, some of which no JSON has or no float can hold."""
BIG = "9" * MOST_DIGITS


def parse_plainly(text: str, *, stored: bool) -> Any:
    """Parse with hooks for every number, and look at all of the value afterwards."""

    def whole(digits: str) -> Any:
        if len(digits) <= MOST_DIGITS:
            return int(digits)
        if stored:
            return digits
        raise ValueError(f"the number {digits[:40]}… has more than {MOST_DIGITS:,} digits")

    def finite(digits: str) -> Any:
        if not math.isinf(float(digits)):
            return float(digits)
        if stored:
            return digits
        raise ValueError(f"the number {digits[:40]} is too large for a JSON reader to keep")

    def constant(word: str) -> str:
        if stored:
            return word
        raise ValueError(f"{word} is not JSON; use a number, a text or null")

    value = json.loads(text, parse_int=whole, parse_float=finite, parse_constant=constant)
    if wrong := why_not_json(value):
        raise ValueError(wrong)
    return value


def outcome(text: str | bytes, *, stored: bool, plainly: bool) -> tuple[str, Any]:
    try:
        return "value", repr(parse_plainly(str(text), stored=stored) if plainly else parse_json(text, stored=stored))
    except ValueError as error:
        return type(error).__name__, str(error)


def is_the_same(text: str) -> bool:
    """Whether a text, and its bytes if it has any, are parsed as the standard library does."""
    right = [outcome(text, stored=stored, plainly=True) for stored in (True, False)]
    has_bytes = not any("\ud800" <= letter <= "\udfff" for letter in text)
    forms: list[str | bytes] = [text, text.encode()] if has_bytes and not text.startswith("\ufeff") else [text]
    return all([outcome(form, stored=stored, plainly=False) for stored in (True, False)] == right for form in forms)


def nested(depth: int, inner: str = "", before: str = "") -> str:
    return before + '{"a": [' * (depth // 2) + "[" * (depth % 2) + inner + "]" * (depth % 2) + "]}" * (depth // 2)


@given(st.one_of(VALUES.map(json.dumps), VALUES.map(lambda value: json.dumps(value, indent=1, ensure_ascii=False))))
def test_valid_json_is_parsed_as_the_standard_library_does(text: str) -> None:
    assert is_the_same(text)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_errors_are_those_of_the_standard_library(text: str) -> None:
    assert is_the_same(text)


@given(st.lists(NUMERALS, max_size=3).map(lambda some: f'{{"a": [{", ".join(some)}]}}'))
def test_numbers_are_parsed_as_the_standard_library_does(text: str) -> None:
    assert is_the_same(text)


@given(VALUES.map(json.dumps), st.data())
def test_json_that_was_cut_or_changed_is_parsed_as_the_standard_library_does(text: str, data: st.DataObject) -> None:
    begin, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    assert is_the_same(text[:begin] + data.draw(PIECES) + text[end:])


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, DEEPEST + 1, DEEPEST + 2])
@pytest.mark.parametrize("inner", ["", "1", '"x"', "{}"])
@pytest.mark.parametrize("before", ["", " " * 9_000])
def test_the_limit_of_nesting_does_not_depend_on_the_length_of_a_text(depth: int, inner: str, before: str) -> None:
    text = nested(depth, inner, before)
    assert is_the_same(text)
    assert outcome(text, stored=True, plainly=False)[0] == (
        "value" if depth + (inner != "") <= DEEPEST + 1 else "ValueError"
    )


def test_nesting_beyond_the_stack_is_refused() -> None:
    with pytest.raises(ValueError, match="nested deeper than 200 levels"):
        parse_json(nested(200_000))


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        parse_json(b'{"a": "\xff"}', stored=True)


def test_many_brackets_side_by_side_or_in_texts_are_no_nesting() -> None:
    for text in ("[" + "[], " * 5_000 + "[]]", json.dumps(["[" * 500, "{" * 50_000]), json.dumps({"a": "]" * 20_000})):
        assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("text", [BIG, BIG[1:], f"{BIG}9", f"[{BIG}]", f"[1, {BIG}9]", f'{{"a": {BIG[2:]}}}'])
def test_integers_of_very_many_digits(sign: str, text: str) -> None:
    assert is_the_same(text.replace("9" * 4_000, sign + "9" * 4_000, 1))


@given(VALUES)
def test_the_quick_way_to_write_canonically_gives_the_same_text(value: Any) -> None:
    parsed = json.loads(json.dumps(value))
    assert canonical_json(parsed) == canonical(parsed)


def test_equal_numbers_are_written_alike_however_they_were_sent() -> None:
    assert canonical_json({"b": [1.0, 1e22], "a": "1.0"}) == canonical_json({"a": "1.0", "b": [1, 10**22]})

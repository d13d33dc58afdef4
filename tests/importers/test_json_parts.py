"""JSON parsed in parts is equal to JSON parsed at once."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.importers.json_parts import PartError, read_parts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=30,
)


class InPieces:
    """A text that is read a few characters at a time."""

    def __init__(self, text: str, piece: int) -> None:
        self._read, self._piece = io.StringIO(text), piece

    def read(self, size: int, /) -> str:
        return self._read.read(min(size, self._piece))


def built(found: list[tuple[Any, int, Any]], whole: Any) -> Any:
    """Rebuild a value from its parts; empty containers have no parts and are taken from the original."""
    made = type(whole)() if isinstance(whole, (dict, list)) else None
    if not isinstance(whole, (dict, list)):
        ((path, _, value),) = found
        assert len(path) == 0
        return value
    for name in whole if isinstance(whole, dict) else range(len(whole)):
        inner = [(path[1:], line, value) for path, line, value in found if path[:1] == (name,)]
        value = built(inner, whole[name]) if inner or not isinstance(whole[name], (dict, list)) else whole[name]
        if isinstance(made, dict):
            made[name] = value
        elif isinstance(made, list):
            made.append(value)
    return made


@given(values, st.integers(1, 9), st.sampled_from([None, 1]))
def test_all_parts_together_are_the_value(value: Any, piece: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = [(path[1:], line, one) for path, line, one in read_parts(InPieces(text, piece), lambda _: True)]
    if found or value not in ({}, []):
        assert built(found, value) == value


@given(st.lists(values, min_size=1, max_size=4), st.integers(1, 9))
def test_values_that_are_not_gone_into_are_given_whole_with_their_lines(given_: list[Any], piece: int) -> None:
    text = "\n".join(json.dumps(value, indent=1) for value in given_)
    found = list(read_parts(InPieces(text, piece), lambda _: False))
    assert [one for _, _, one in found] == given_
    lines = [
        1 + sum(json.dumps(value, indent=1).count("\n") + 1 for value in given_[:place]) for place in range(len(found))
    ]
    assert [line for _, line, _ in found] == lines


@given(values, st.data(), st.integers(1, 9))
def test_what_ends_early_is_an_error_or_a_shorter_value(value: Any, data: st.DataObject, piece: int) -> None:
    text = json.dumps({"a": [value]})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(PartError, match="not JSON"):
        list(read_parts(InPieces(cut, piece), lambda path: len(path) < 3))


def test_what_no_number_can_hold_is_kept_as_text() -> None:
    text = '{"a": [NaN, -Infinity, 1e999, ' + "9" * 5000 + ", 1.5]}"
    expected = ["NaN", "-Infinity", "1e999", "9" * 5000, 1.5]
    assert [one for _, _, one in read_parts(InPieces(text, 7), lambda _: True)] == expected
    assert [one for _, _, one in read_parts(InPieces(text, 7), lambda _: False)] == [{"a": expected}]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('{"a": 1,\n "b" 2}', 2, "'2' instead of ':'"),
        ("[1,\n\n 2 3]", 3, "'3' instead of ','"),
        ('{"a": [\n{"b": nul}]}', 2, "Expecting value"),
        ("{a: 1}", 1, "a key in double quotes is missing"),
        ('[\n"a\tb"]', 2, "Invalid control character"),
        ('{"a": ' + "[" * 3000 + "]" * 3000 + "}", 1, "nested"),
    ],
)
def test_wrong_json_is_named_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(PartError, match=why) as raised:
        list(read_parts(io.StringIO(text), lambda path: len(path) < 2))
    assert raised.value.line == line

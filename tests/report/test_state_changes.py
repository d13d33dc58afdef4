"""What a call changed in a world's state, as the page lists it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.report.state_changes import LONGEST, MOST_CHANGES, changed_values
from corepath.values import equal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("b", "2", "3")]),
        ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, [("a.b[1].c", '"x"', '"y"')]),
        ({"a": [1]}, {"a": [1, 2]}, [("a[1]", None, "2")]),
        ({"a": 1}, {}, [("a", "1", None)]),
        ({"a b": 1, 'q"': 0}, {"a b": 2, 'q"': 0}, [('["a b"]', "1", "2")]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": None}, {}, [("a", "null", None)]),
        ({"a": True}, {"a": 1}, [("a", "true", "1")]),
    ],
)
def test_only_what_differs_is_listed_by_path(before: Any, after: Any, changes: list[Any]):
    assert changed_values(before, after) == changes


@given(JSON, JSON)
def test_there_are_changes_exactly_if_the_states_differ_and_both_sides_never_look_alike(before: Any, after: Any):
    changes = changed_values({"state": before}, {"state": after})
    assert bool(changes) == (not equal(before, after))
    assert all(old != new for _, old, new in changes)


def test_long_texts_are_cut_around_the_first_difference():
    text = "x" * 1000
    ((_, old, new),) = changed_values({"a": text + "old"}, {"a": text + "new"})
    assert old is not None
    assert new is not None
    assert old.endswith('old"')
    assert new.endswith('new"')
    assert max(len(old), len(new)) <= LONGEST + 2


def test_the_list_is_bounded():
    before, after = ({str(n): n + more for n in range(1000)} for more in (0, 1))
    assert len(changed_values(before, after)) == MOST_CHANGES

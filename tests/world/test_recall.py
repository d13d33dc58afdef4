"""A memo recalls what functions returned for the same objects."""

from __future__ import annotations

import gc
import weakref

from corepath.world.recall import Memo, compute


def test_a_memo_calls_a_function_once_for_the_same_objects() -> None:
    calls = []

    def length(values: list[int]) -> int:
        calls.append(values)
        return len(values)

    memo, one, equal = Memo(10), [1, 2], [1, 2]
    assert [memo(length, one), memo(length, one), memo(length, equal)] == [2, 2, 2]
    assert [id(values) for values in calls] == [id(one), id(equal)]
    assert memo(sum, one) == 3


def test_objects_that_are_gone_are_not_taken_for_new_ones() -> None:
    memo = Memo(3)
    for number in range(1_000):
        made = [number]
        assert memo(sum, made) == compute(sum, made) == number
        del made


def test_a_memo_that_is_an_argument_itself_is_freed_at_once():
    memo = Memo(10)
    assert memo(lambda recall, one: recall(len, one), memo, "abc") == 3
    gone = weakref.ref(memo)
    gc.disable()
    try:
        del memo
        assert gone() is None
    finally:
        gc.enable()

"""Calls, messages and episodes are made and copied quickly, and otherwise behave as the dataclasses that they are."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from inspect import signature

import pytest

from corepath import UNANSWERED, Call, Episode, Message
from corepath.episode import change_fields

CALL = Call("look", {"a": 1}, "wet", "no", "c1", 2, 3.5, {"b": 4})
MESSAGE = Message("user", "Hello.", 1, 2.5, {"a": 3}, 4)


@pytest.mark.parametrize("one", [CALL, MESSAGE])
def test_each_field_is_a_parameter_of_the_same_name_and_place(one: Call | Message) -> None:
    names = [field.name for field in fields(one)]
    assert list(signature(type(one)).parameters) == names
    assert list(vars(one)) == names
    assert replace(one) == one == pickle.loads(pickle.dumps(one))
    assert vars(replace(one)) == vars(one) == vars(type(one)(**vars(one)))


def test_fields_that_are_left_out_have_their_defaults() -> None:
    defaults = {"arguments": {}, "result": UNANSWERED, "error": None, "id": None, "turn": None, "time": None}
    assert vars(Call("look")) == {"tool": "look", **defaults, "extra": {}}
    assert Call("look", None).arguments is None
    assert vars(Message("user", "")) == {"role": "user", "content": "", "before_call": None, "time": None} | {
        "extra": {},
        "turn": None,
    }
    assert Call("look").arguments is not Call("look").arguments
    assert Call("look").extra is not Call("look").extra


def test_calls_and_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        CALL.tool = "see"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        MESSAGE.role = "system"  # type: ignore[misc]


def test_changing_fields_of_an_episode_is_the_same_as_replacing_them() -> None:
    episode = Episode("a/b", (CALL,), "m", messages=(MESSAGE,), seed=3, scores={"pc": 1}, extra={"x": 1})
    changed = change_fields(episode, task="c/d", seed=None, scores={})
    assert changed == replace(episode, task="c/d", seed=None, scores={})
    assert list(vars(changed)) == list(vars(episode))
    assert episode.task == "a/b"

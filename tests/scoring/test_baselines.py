"""The two final-state baselines of BFCL equal their definition, which lists all golden paths."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corepath import (
    Action,
    Call,
    Procedure,
    Task,
    World,
    any_order,
    choice,
    contains,
    one_of,
    replay,
    result_of,
    score,
    seq,
    var,
)
from corepath.scoring.baselines import baselines
from corepath.values import canonical


@dataclass
class Desk:
    notes: dict[str, str] = field(default_factory=dict)
    lamp: bool = False
    _touched: int = 0


world = World("desk", Desk)


@world.read
def read(desk: Desk, name: str) -> str:
    """Read a note."""
    return desk.notes.get(name, "empty")


@world.write
def write(desk: Desk, name: str, text: str) -> str:
    """Write a note."""
    desk.notes[name] = text
    desk._touched += 1
    return "done"


@world.write
def switch(desk: Desk, on: bool) -> str:
    """Switch the lamp."""
    desk.lamp = on
    return f"lamp {on}"


STEPS: list[Action] = [read("a"), read("b"), write("a", "x"), write("b", "y"), switch(True), switch(False)]


def make_task(procedure: Procedure, **more: Any) -> Task:
    return world.complete(Task("desk/t", procedure=procedure, goal=lambda _: True, **more))


def by_listing(task: Task, calls: list[Call]) -> tuple[bool, bool]:
    """Compute both baselines from their definition: execute every golden path."""
    actions = task.automaton.alphabet.actions
    agent = replay(task, calls)
    end = canonical(world.public(agent.end))
    own = Counter(canonical(call.result) for call in agent.calls if not call.failed)
    state = response = False
    for path in task.automaton.golden.paths():
        run = replay(task, [actions[symbol] for symbol in path])
        state |= canonical(world.public(run.end)) == end
        response |= not Counter(canonical(call.result) for call in run.calls) - own
    return state, response


procedures = st.recursive(
    st.sampled_from(STEPS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: seq(*parts)),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: any_order(*parts)),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: choice(*parts)),
    ),
    max_leaves=6,
)


@given(procedures, st.lists(st.sampled_from([step.examples()[0] for step in STEPS]), max_size=7))
@settings(max_examples=300, deadline=None)
def test_both_baselines_equal_those_from_listing_every_golden_path(procedure: Procedure, calls: list[Call]) -> None:
    task = make_task(procedure)
    assert baselines(task, calls) == by_listing(task, calls)


def test_order_and_private_fields_do_not_matter() -> None:
    task = make_task(seq(write("a", "x"), write("b", "y")))
    calls = [Call("write", {"name": "b", "text": "y"}), Call("write", {"name": "a", "text": "x"})]
    assert baselines(task, calls) == (True, True)
    assert baselines(task, [*calls, calls[0]]) == (True, True)
    assert baselines(task, calls[:1]) == (False, False)


def test_a_response_must_come_as_often_as_on_the_golden_path() -> None:
    task = make_task(seq(write("a", "x"), write("b", "y")))
    assert baselines(task, [Call("write", {"name": "a", "text": "x"})])[1] is False


def test_free_text_does_not_make_a_perfect_run_fail() -> None:
    task = make_task(write("a", contains("hello")))
    mine = [Call("write", {"name": "a", "text": "well, hello there"})]
    assert baselines(task, mine) == (True, True)
    assert score(task, replay(task, mine).calls).pc == 1


def test_a_value_returned_by_a_step_is_passed_on() -> None:
    first = read("a")
    task = make_task(seq(first, write("b", result_of(first))), start=Desk(notes={"a": "secret"}))
    assert baselines(task, [Call("read", {"name": "a"}), Call("write", {"name": "b", "text": "secret"})]) == (
        True,
        True,
    )
    assert baselines(task, [Call("read", {"name": "a"}), Call("write", {"name": "b", "text": "guess"})])[0] is False


def test_errors_are_not_responses_and_recorded_results_are_not_used() -> None:
    task = make_task(switch(True))
    assert baselines(task, [Call("switch", {"on": "yes"}, result="lamp True")]) == (False, False)
    assert baselines(task, [Call("switch", {"on": True}, result="something else")]) == (True, True)


def test_params_give_variables_their_values() -> None:
    task = make_task(write(var("name"), "x"))
    mine = [Call("write", {"name": "a", "text": "x"})]
    assert baselines(task, mine) == (True, True)
    assert baselines(task, mine, {"name": "a"}) == (True, True)
    assert baselines(task, mine, {"name": "b"})[0] is False


def test_baselines_without_a_world_are_undefined() -> None:
    scored = score(Task("t", procedure=switch(True)), ["switch(on=true)"])
    assert (scored.state_match, scored.response_match) == (None, None)


def test_baselines_are_undefined_if_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from corepath.scoring import baselines as module

    monkeypatch.setattr(module, "MOST_PAIRS", 3)
    task = make_task(any_order(write("a", "x"), write("b", "y"), switch(True)))
    assert baselines(task, []) == (None, None)


@dataclass
class Shelf:
    put: str = ""


def test_the_agent_chooses_between_a_value_it_read_and_a_literal():
    """The example argument is the literal before anything is read, and the value read after that."""

    shelf: World[Shelf] = World("shelf", Shelf)

    @shelf.read
    def find(shelf: Shelf) -> dict[str, str]:
        """Find the thing."""
        return {"id": "t7"}

    @shelf.write
    def put(shelf: Shelf, thing: str) -> str:
        """Put a thing on the shelf."""
        shelf.put = thing
        return f"put {thing}"

    task = shelf.complete(
        Task("shelf/put", procedure=seq(find(), put(thing=one_of(result_of(find(), "id"), "lit")))), "shelf/put"
    )
    for thing in ("lit", "t7", "lit"):
        found = score(task, replay(task, ["find()", f'put(thing="{thing}")']).calls)
        assert (found.accepted, found.state_match, found.response_match) == (True, True, True), thing

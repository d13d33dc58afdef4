"""The two final-state baselines of BFCL, held against their definition by listing golden paths."""

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


def task(procedure: Procedure, **more: Any) -> Task:
    return world.complete(Task("desk/t", procedure=procedure, goal=lambda _: True, **more))


def by_listing(made: Task, calls: list[Call]) -> tuple[bool, bool]:
    """Both baselines by their definition: every golden path is executed whole."""
    actions = made.automaton.alphabet.actions
    agent = replay(made, calls)
    end = canonical(world.public(agent.end))
    own = Counter(canonical(call.result) for call in agent.calls if not call.failed)
    state = response = False
    for path in made.automaton.golden.paths():
        run = replay(made, [actions[symbol] for symbol in path])
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
def test_both_are_what_listing_every_golden_path_gives(procedure: Procedure, calls: list[Call]) -> None:
    made = task(procedure)
    assert baselines(made, calls) == by_listing(made, calls)


def test_order_plays_no_part_and_private_fields_do_not_count() -> None:
    made = task(seq(write("a", "x"), write("b", "y")))
    calls = [Call("write", {"name": "b", "text": "y"}), Call("write", {"name": "a", "text": "x"})]
    assert baselines(made, calls) == (True, True)
    assert baselines(made, [*calls, calls[0]]) == (True, True)
    assert baselines(made, calls[:1]) == (False, False)


def test_responses_are_counted_as_often_as_they_come() -> None:
    made = task(seq(write("a", "x"), write("b", "y")))
    assert baselines(made, [Call("write", {"name": "a", "text": "x"})])[1] is False


def test_free_text_does_not_make_a_perfect_run_fail() -> None:
    made = task(write("a", contains("hello")))
    mine = [Call("write", {"name": "a", "text": "well, hello there"})]
    assert baselines(made, mine) == (True, True)
    assert score(made, replay(made, mine).calls).pc == 1


def test_a_value_that_a_step_returned_is_carried_over() -> None:
    first = read("a")
    made = task(seq(first, write("b", result_of(first))), start=Desk(notes={"a": "secret"}))
    assert baselines(made, [Call("read", {"name": "a"}), Call("write", {"name": "b", "text": "secret"})]) == (
        True,
        True,
    )
    assert baselines(made, [Call("read", {"name": "a"}), Call("write", {"name": "b", "text": "guess"})])[0] is False


def test_errors_are_no_responses_and_recorded_results_are_not_used() -> None:
    made = task(switch(True))
    assert baselines(made, [Call("switch", {"on": "yes"}, result="lamp True")]) == (False, False)
    assert baselines(made, [Call("switch", {"on": True}, result="something else")]) == (True, True)


def test_variables_take_their_values_from_the_params() -> None:
    made = task(write(var("name"), "x"))
    mine = [Call("write", {"name": "a", "text": "x"})]
    assert baselines(made, mine) == (True, True)
    assert baselines(made, mine, {"name": "a"}) == (True, True)
    assert baselines(made, mine, {"name": "b"})[0] is False


def test_without_a_world_they_are_undefined() -> None:
    scored = score(Task("t", procedure=switch(True)), ["switch(on=true)"])
    assert (scored.state_match, scored.response_match) == (None, None)


def test_where_there_are_too_many_pairs_the_answer_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from corepath.scoring import baselines as module

    monkeypatch.setattr(module, "MOST_PAIRS", 3)
    made = task(any_order(write("a", "x"), write("b", "y"), switch(True)))
    assert baselines(made, []) == (None, None)


@dataclass
class Shelf:
    put: str = ""


def test_a_choice_between_a_value_read_and_a_literal_is_the_agents():
    """The literal is the example before anything is read, and the value read is it later."""

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
    for chosen in ("lit", "t7", "lit"):
        found = score(task, replay(task, ["find()", f'put(thing="{chosen}")']).calls)
        assert (found.accepted, found.state_match, found.response_match) == (True, True, True), chosen

"""Findings about the whole path: circles, checks and acts in one turn, do and undo, the answer."""

from __future__ import annotations

from dataclasses import replace

import corepath
from corepath import (
    Automaton,
    Call,
    Episode,
    Task,
    action,
    any_order,
    contains,
    play,
    seq,
    tool,
)
from corepath.explanation import FindingKind, explain
from corepath.play.built_in import built_in
from tests.explanation.helpers import (
    ANSWERED,
    BOUND,
    called,
    kinds,
    texts,
)


def test_a_way_round_in_a_task_with_circles_is_seen():
    actions = {name: action(f"{name}()") for name in "abcd"}
    delta = {"q0": {"a": "q1"}, "q1": {"b": "q2", "c": "q3"}, "q3": {"d": "q1"}, "q2": {}}
    automaton = Automaton.from_transitions(actions, "q0", ["q2"], delta, golden="simple_paths")
    task = Task("circles", automaton=automaton)
    found = explain(task, called(*"acdb"))
    assert found.headline == "Followed the procedure: 4 steps, no harm; but call 2 makes a detour."
    assert texts(found, FindingKind.DIVERGED) == ["The path was right up to call 1; at call 2 b() was expected."]
    assert explain(task, called(*"ac")).headline == "Call 2, c(), is a detour, and b() is missing."


def test_a_check_and_its_act_in_one_turn_are_acted_before_seeing():
    act = Call("approve", {"policy": "P1", "rule": "R1"}, turn=1)
    found = explain(BOUND, [ANSWERED, act])
    assert found.headline == "Followed the procedure: 2 steps, no harm; but call 2 went out before call 1 was answered."
    assert texts(found, FindingKind.UNSEEN) == [
        (
            'Call 2, approve(policy="P1", rule="R1"), depends on call 1, check(policy="P1"), and both went out in one '
            "turn: it acted before it had seen the answer."
        )
    ]
    assert kinds(explain(BOUND, [ANSWERED, replace(act, turn=2)])) == []


def test_only_what_depends_on_a_check_must_wait_for_it():
    check, free, act = tool("check")(), tool("free")(), tool("act")()
    task = Task("turns", procedure=any_order(seq(check, act), free), reads=[tool("check").any()])
    calls = [Call("check", turn=1), Call("free", turn=1), Call("act", turn=1)]
    assert [finding.calls for finding in explain(task, calls).findings] == [(0, 2)]
    assert explain(task, [*calls[:2], Call("act", turn=2)]).findings == ()


def farm(*calls: str) -> tuple[Task, tuple[Call, ...]]:
    task = corepath.task("farm/rover_example")
    return task, corepath.replay(task, calls).calls


REST = (
    'scan(plant="B")',
    'open_valve(plant="B")',
    'water_plant(plant="B", litres=3.0)',
    'log_dose(plant="B", litres=3.0)',
)


def test_do_and_undo_says_what_stood_wrong_and_how_long():
    task, calls = farm(
        "unlock_safety()", 'move_to(place="B")', "lock_safety()", "rover_status()", "unlock_safety()", *REST
    )
    timed = [replace(call, extra={"at": 1.5 * index}) for index, call in enumerate(calls)]
    found = explain(task, timed)
    assert (
        found.headline
        == "Call 3, lock_safety(), was not expected; call 5 undid call 3; the task was complete after call 9."
    )
    assert texts(found, FindingKind.UNDONE) == [
        (
            "Call 3, lock_safety(), changed locked from false to true, and call 5, unlock_safety(), put that back; "
            "in between the world stood wrong for 1 call (3 s)."
        )
    ]
    assert "1 call." in texts(explain(task, calls), FindingKind.UNDONE)[0], "without times only calls are counted"
    at_once, calls = farm("unlock_safety()", 'move_to(place="B")', "lock_safety()", "unlock_safety()", *REST)
    assert (
        "put that back at once; the final state shows nothing of it"
        in texts(explain(at_once, calls), FindingKind.UNDONE)[0]
    )


def test_do_and_undo_that_the_procedure_asks_for_is_not_told():
    task = corepath.task("arm/swap_two")
    whole = play(built_in("oracle"), task)
    assert explain(task, whole).findings == ()
    late = explain(task, replace(whole, calls=whole.calls[1:]))
    assert FindingKind.HARM in kinds(late)
    assert FindingKind.UNDONE not in kinds(late), "steps without what must come first are still what was asked for"


def test_the_answer_is_told_where_the_task_asks_for_one():
    task = Task("answer", procedure=tool("a")(), answer=contains("100"))
    wrong = explain(task, Episode("answer", (Call("a"),), answer="It is 99."))
    assert wrong.headline == "Followed the procedure: 1 step, no harm; but the answer is not what was asked for."
    assert texts(wrong, FindingKind.ANSWER) == ['The answer was "It is 99."; expected a text with "100".']
    assert explain(task, Episode("answer", (Call("a"),), answer="It is 100.")).findings == ()
    assert explain(task, ["a()"]).findings == (), "of calls alone the answer is not known"

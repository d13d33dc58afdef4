"""Questions about orders: wrong answers are respected, and examples are what they are said to be."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise, permutations
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from corepath import Call, learn, task
from corepath.authoring.learning.early import Early, find_early
from corepath.authoring.learning.forks import Forks
from corepath.authoring.learning.learn import Question, accepts
from corepath.authoring.learning.log import Log, Run
from corepath.authoring.learning.occurrences import find_numbering
from corepath.authoring.learning.orders import learn_orders
from corepath.authoring.learning.questions import Answer, OrderQuestion, learn_by_asking
from corepath.authoring.learning.recombination import recombine
from corepath.authoring.learning.simulation import judge_by_world
from corepath.authoring.learning.wrong_orders import learn_without
from corepath.episode import Episode
from corepath.files.tool_file import Tools
from corepath.play.built_in import built_in
from corepath.play.play import play

PATIENCE = 60
ORDERS = st.permutations(range(5)).map(tuple)


@given(st.lists(ORDERS, min_size=1, max_size=12), st.lists(ORDERS, max_size=6), st.lists(ORDERS, max_size=20))
@settings(max_examples=150, deadline=None)
def test_wrong_orders_are_excluded_and_runs_and_right_orders_are_not(
    runs: list[Run], right: list[Run], wrong: list[Run]
) -> None:
    found = learn_without(Log.of(runs, right), wrong, Forks())
    assert all(run in found for run in (*runs, *right))
    assert not any(order in found for order in {*wrong} - {*runs, *right})


def test_one_wrong_order_does_not_leave_a_list() -> None:
    wide = [order for order in permutations(range(5)) if order.index(1) < order.index(2)]
    right = [order for order in wide if order.index(0) < order.index(3) or order.index(0) < order.index(4)]
    runs, wrong = right[::4], [order for order in wide if order not in right][:1]
    assert any(order in learn_orders(runs) for order in wrong)
    found = learn_without(Log.of(runs), wrong, Forks())
    assert len(set(runs)) < found.count
    assert not any(order in found for order in wrong)


def _answer_by(right: set[Run]) -> Answer:
    return lambda question: [example in right for example in question.examples]


def test_five_answers_find_orders_that_runs_alone_do_not_show() -> None:
    right = {
        order for order in permutations(range(5))
        if order[0] in (0, 4) and order.index(1) < order.index(2) and (order[0] == 0 or order.index(3) < order.index(0))
    }  # fmt: skip
    runs = sorted(right)[::4] * 4
    alone = learn_orders(runs)
    asked, questions = learn_by_asking(runs, range(5), _answer_by(right))
    assert len(questions) <= 5
    assert {order for order in permutations(range(5)) if order in alone} != right
    assert {order for order in permutations(range(5)) if order in asked} == right


def test_what_was_said_to_be_right_is_allowed_and_not_asked_again() -> None:
    for runs in ([(0,), (2, 3, 0, 1)], [(0, 1, 2), (2, 0), (1, 2, 0), (1, 0), (0,), (0, 1), (3,)]):
        found, asked = learn_by_asking(runs, range(4), lambda question: [True] * len(question.examples))
        right = [one for each in asked for one in each.question.examples]
        assert asked
        assert all(one in found for one in right)
        assert len({*right}) == len(right)


def test_no_example_has_the_steps_of_a_run_or_of_another_example() -> None:
    paths = [(1, 1, 0), (0, 1, 1), (1, 1, 0, 0), (1, 0, 1), (1, 0, 1, 0), (1,)]
    numbering = find_numbering(paths)
    runs = [numbering.number(path) for path in paths]
    for right in (True, False):
        _, asked = learn_by_asking(runs, numbering.steps, lambda question: [right] * len(question.examples))  # noqa: B023
        shown = [tuple(numbering.steps[event] for event in one) for each in asked for one in each.question.examples]
        assert shown
        assert not {*shown} & {*paths}
        assert len({*shown}) == len(shown)


def test_answers_that_cannot_be_told_change_nothing() -> None:
    runs = [(0, 1, 2), (1, 0, 2), (0, 1, 2)]

    def answer(question: OrderQuestion) -> list[None]:
        return [None] * len(question.examples)

    asked, _ = learn_by_asking(runs, range(3), answer)
    assert asked == learn_orders(runs)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_in_recombined_orders_steps_follow_each_other_as_in_runs(paths: list[Run]) -> None:
    numbers: dict[tuple[int, int], int] = {}
    runs = [
        tuple(numbers.setdefault((step, path[:place].count(step)), len(numbers)) for place, step in enumerate(path))
        for path in paths
    ]
    steps = [step for step, _ in numbers]
    follows = {pair for path in paths for pair in pairwise(("start", *path, "end"))}
    known = {frozenset(run) for run in runs}
    for run in recombine(runs, steps):
        assert frozenset(run) in known
        assert set(pairwise(("start", *(steps[event] for event in run), "end"))) <= follows


def test_a_call_comes_too_early_if_it_uses_what_only_the_other_tells() -> None:
    tools = Tools(reads=["get_*"])
    divide = Call("divide", {"number": 100, "by": 7}, {"result": 14.29})
    look, open_, close = Call("get_page", {}), Call("open", {"page": "a"}, "ok"), Call("close", {})

    def early(first: Call, second: Call) -> Early:
        return find_early((0, 1), [(1, 0)], [[first], [second]].__getitem__, tools)

    assert early(Call("write", {"values": [14.29, 3]}), divide).is_sure
    assert early(Call("book", {"code": "XK-12"}), Call("get_offer", {}, "the code is XK-12")).is_sure
    assert not early(Call("write", {"values": [100]}), divide).is_sure
    assert early(look, open_) == Early(reads=(0,))
    assert early(close, open_) == Early()
    assert find_early((0, 1), [(1, 0)], [[look, Call("get_page", {}, "b")], [open_]].__getitem__, tools).is_sure
    assert find_early((0, 1), [(0, 1)], [[look], [open_]].__getitem__, tools) == Early()


def test_a_person_answers_for_the_example_that_is_shown() -> None:
    asked: list[Question] = []

    def judge(question: Question) -> list[bool | None]:
        asked.append(question)
        return [False, *[False if question.is_one_choice else None] * (len(question.examples) - 1)]

    calls = [Call(name, {}, "ok") for name in "abcd"]
    orders = [(0, 1, 2, 3), (1, 0, 3, 2), (0, 1, 3, 2), (3, 2, 0, 1), (2, 0, 3, 1), (1, 3, 0, 2)]
    runs = [Episode("shop/order", tuple(calls[one] for one in order)) for order in orders]
    made = learn(runs, Tools(), judge=judge)
    wrong = [question.examples[0] for question in asked]
    assert wrong
    assert not any(accepts(made.task, Episode("shop/order", example)) for example in wrong)
    assert all(accepts(made.task, run) for run in runs)


def test_a_world_makes_a_task_exact_that_runs_alone_do_not() -> None:
    chosen = task("transactions/wrong_payee")
    oracle = built_in("oracle")
    runs = [play(oracle, chosen, epoch=epoch) for epoch in range(8)]
    alone, asked = (learn(runs, Tools(), judge=judge).task for judge in (None, judge_by_world(chosen)))
    assert alone.automaton.golden.count < asked.automaton.golden.count == chosen.automaton.golden.count


def test_ctrl_c_at_a_question_ends_with_130_and_writes_nothing(tmp_path: Path) -> None:
    runs = [[order[place] for place in range(5)] for order in ([0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [3, 0, 4, 1, 2])]
    lines = [
        {"task": "t", "calls": [{"tool": f"do_{one}", "arguments": {}, "result": "ok"} for one in run]} for run in runs
    ]
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines * 3))
    command = [sys.executable, "-m", "corepath", "learn", "good.jsonl", "--out", "task.yaml"]
    ours, theirs = pty.openpty()
    asked = b""
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path) as running:
        os.close(theirs)
        while b"right as well" not in asked:
            asked += os.read(ours, 4096)
        for _ in range(PATIENCE // 3):  # a signal just before the command begins to read does not wake it
            running.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                running.wait(3)
                break
        assert running.poll() == 130
    asked += os.read(ours, 4096)
    os.close(ours)
    assert b"nothing is written" in asked
    assert not (tmp_path / "task.yaml").exists()

"""Repairs: the fewest edits that make a path valid."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import corepath
from corepath import Call, Task, any_order, play, score, seq, tool
from corepath.explanation import Explanation, explain
from corepath.play.built_in import built_in
from tests.explanation.helpers import ABC, called, chain, is_repaired
from tests.machines import as_calls, as_task, random_calls, random_machine


def count_edits(found: Explanation) -> int:
    return sum(1 + len(edit.then) for edit in found.fix)


def fix_of(found: Explanation) -> list[str]:
    return [edit.text for edit in found.fix]


def fix_in_world(name: str, *calls: str | Call) -> list[str]:
    """Execute calls in the world of a task, and return the fix."""
    task = corepath.task(name)
    found = explain(task, corepath.replay(task, calls).calls)
    assert is_repaired(task, found)
    return fix_of(found)


# Each kind of edit


@pytest.mark.parametrize(
    ("calls", "fix"),
    [
        (["b(x=1)", "c()"], ["Call a() before call 1."]),
        (["a()", "z()", "b(x=1)", "c()"], ["Leave out call 2, z()."]),
        (["a()", "c()", "b(x=1)"], ["Swap call 2, c(), and call 3, b(x=1)."]),
        (["a()", "b(x=2)", "c()"], ["In call 2, change x from 2 to 1."]),
        (["a()", "b(x=1, y=2)", "c()"], ["In call 2, leave out y."]),
        (["a()", "b()", "c()"], ["In call 2, add x=1."]),
        (["a()", "z()", "c()"], ["Instead of call 2, z(), call b(x=1)."]),
        (["a()"], ["At the end, call b(x=1), then c()."]),
        ([], ["Call a(), then b(x=1), then c()."]),
        (["a()", "b(x=1)", "c()"], []),
    ],
)
def test_every_kind_of_edit_reads_as_an_instruction(calls, fix):
    found = explain(ABC, calls)
    assert fix_of(found) == fix
    assert not fix or is_repaired(ABC, found)


def test_steps_that_are_added_at_the_same_place_are_one_sentence():
    task = chain(*"abcdef")
    assert fix_of(explain(task, called("a", "d", "e"))) == [
        "Before call 2, call b(), then c().",
        "At the end, call f().",
    ]
    assert fix_of(explain(task, called("a", "f"))) == ["Before call 2, call in this order: b(), c(), d(), e()."]
    assert fix_of(explain(task, called("a", "b"))) == ["At the end, call in this order: c(), d(), e(), f()."]
    assert explain(task, called("a", "f")).fix[0].then == (2, 3, 4)


def test_a_step_after_a_call_that_is_moved_is_put_after_it():
    assert fix_of(explain(chain(*"abcde"), called(*"dabc"))) == [
        "Move call 1, d(), to the end.",
        "After that, call e().",
    ]


def test_a_call_that_moves_further_than_its_neighbour_is_moved():
    assert fix_of(explain(chain(*"abcd"), called(*"bcda"))) == ["Move call 4, a(), to before call 1."]
    assert fix_of(explain(chain(*"abcd"), called(*"dabc"))) == ["Move call 1, d(), to the end."]
    assert fix_of(explain(chain(*"abcdef"), called(*"badcfe"))) == [
        "Swap call 1, b(), and call 2, a().",
        "Swap call 3, d(), and call 4, c().",
        "Swap call 5, f(), and call 6, e().",
    ]


def test_the_try_with_the_fewest_wrong_arguments_is_changed():
    task = Task("pay", procedure=tool("pay")(to="Bob", amount=5))
    refused = Call("pay", {"to": "Bob", "amount": 6}, error="no")
    ran = Call("pay", {"to": "Ann", "amount": 6}, result="ok")
    assert fix_of(explain(task, [refused, ran])) == [
        "In call 1, change amount from 6 to 5.",
        'Leave out call 2, pay(to="Ann", amount=6).',
    ]


def test_before_a_hand_over_the_missing_steps_come_first():
    task = Task("bank", procedure=tool("pay")(amount=5), neutral=[tool("transfer_to_human_agents").any()])
    found = explain(task, ['transfer_to_human_agents(summary="?")'])
    assert fix_of(found) == ["Before handing over (call 1), call pay(amount=5)."]


def test_a_read_in_the_wrong_place_needs_only_what_is_missing_before_it():
    task = Task("see", procedure=seq(tool("write")(), tool("look")()), reads=[tool("look").any()])
    found = explain(task, ["look()"])
    assert fix_of(found) == ["Call write() before call 1."]
    assert found.headline == "Skipped write(): look (call 1) does not count without it."


def test_edits_name_calls_and_actions():
    found = explain(ABC, ["a()", "c()", "b(x=2)"])
    assert [(edit.kind, edit.call, edit.action) for edit in found.fix] == [("change", 2, 1), ("move", 1, 2)]
    added = explain(ABC, ["a()"]).fix
    assert [(edit.kind, edit.call, edit.action, edit.then) for edit in added] == [("add", 1, 1, (2,))]
    assert added[0].to_dict()["then"] == [2]


def test_the_path_beside_the_repair_has_a_row_for_all_that_is_put_in_left_out_and_kept():
    assert explain(ABC, ["a()", "z()", "c()"]).repair == ((0, 0), (1, 1), (2, 2))
    assert explain(ABC, ["a()", "get_x()", "c()"]).repair == ((0, 0), (None, 1), (2, 2))
    assert explain(chain(*"ab"), called(*"ba")).repair == ((1, 0), (None, 1)), "a call that is moved is made anew"
    sent = Task("send", procedure=tool("send")(), reads=[tool("look").any()])
    assert explain(sent, called("send", "send")).repair == ((0, 0), (1, None)), "no read stands in for a call"
    assert explain(ABC, ["a()"]).repair == ((0, 0), (None, 1), (None, 2))


# In worlds


def test_where_one_more_step_mends_the_path_it_is_the_repair():
    assert fix_in_world(
        "transactions/three_bills", 'get_account(account="A100")',
        'transfer(source="A100", target="B200", amount=200.0)', 'transfer(source="A100", target="C300", amount=450.0)',
        'revoke(account="A100")', 'request_approval(account="A100", amount=620.0)',
    ) == ['Call authorise(account="A100") before call 2.']  # fmt: skip


def test_calls_that_failed_or_returned_something_else_because_of_a_mistake_need_no_repair_of_their_own():
    facts, back = "get_page_facts()", "go_back()"
    assert fix_in_world(
        "web/look_and_return", 'log_in(reader="ada7")', "list_links()", 'click_link(name="Tickets")', facts,
        'click_link(name="Archive")', facts, back, "log_out()", 'click_link(name="Help")', facts, back,
    ) == ["Call go_back() before call 5."]  # fmt: skip


@pytest.mark.parametrize("agent", ["left_out", "swapped", "wrong_argument", "wrong_tool", "harmful_early"])
def test_a_planted_mistake_takes_one_edit(agent, times):
    for name in corepath_tasks(12 * times):
        task = corepath.task(name)
        episode = play(built_in(agent), task, name=agent)
        if episode.mistake == "planted":
            assert len(explain(task, episode).fix) == 1, name


def corepath_tasks(most: int) -> list[str]:
    """Names of built-in tasks, spread over the worlds."""
    names = sorted(source.id for source in corepath.files.lookup.all_sources([]))
    return random.Random(7).sample(names, min(most, len(names)))


def test_no_repair_is_longer_than_leaving_out_what_is_wrong_and_going_on():
    verify = 'verify_field(user_id="u2", field="email", value="alice@example.com")'
    update = 'update_user_email(user_id="u2", email="alice@example.com")'
    assert fix_in_world("crud/update_email", verify, update, "show_users()") == [
        f"Swap call 2, {update}, and call 3, show_users().",
        f"At the end, call {verify}.",
    ]


# Minimal, by brute force


def neighbours(path: tuple[str, ...], letters: list[str]) -> Iterator[tuple[str, ...]]:
    """All paths that are one edit away: a call left out, added, changed or moved."""
    for place in range(len(path) + 1):
        for letter in letters:
            yield (*path[:place], letter, *path[place:])
    for place in range(len(path)):
        rest = (*path[:place], *path[place + 1 :])
        yield rest
        for letter in letters:
            yield (*path[:place], letter, *path[place + 1 :])
        for other in range(len(rest) + 1):
            yield (*rest[:other], path[place], *rest[other:])


def fewest_edits(task: Task, path: tuple[str, ...], letters: list[str], most: int) -> int | None:
    """The fewest edits after which the task accepts the path without harm, or None if that takes more than `most`."""

    def is_valid(one: tuple[str, ...]) -> bool:
        scored = score(task, as_calls(one))
        return scored.accepted and not scored.harms

    seen, level = {path}, {path}
    for edits in range(most + 1):
        if any(map(is_valid, level)):
            return edits
        if edits < most:
            level = {near for one in level for near in neighbours(one, letters)} - seen
            seen |= level
    return None


@pytest.mark.parametrize("cyclic", [False, True])
def test_no_smaller_edit_set_is_accepted(cyclic, times):
    checked = 0
    for seed in range(60 * times):
        rng = random.Random(f"repair:{seed}:{cyclic}")
        machine = random_machine(rng, states=5, symbols=3, cyclic=cyclic)
        task = as_task(machine, reads=rng.choice([(), ("zz",)]), cyclic=cyclic)
        path = tuple(random_calls(rng, machine, edits=3))[:6]
        letters = sorted({letter for edges in machine.delta.values() for letter in edges})
        found = explain(task, as_calls(path))
        least = fewest_edits(task, path, letters, 2)
        if least is None:
            assert count_edits(found) > 2, (seed, path, found)
        else:
            assert count_edits(found) == least, (seed, path, found)
            checked += least > 0
    assert checked > 15


def test_no_smaller_edit_set_is_accepted_for_steps_in_any_order(times):
    rng = random.Random(5)
    letters = [*"abcde"]
    task = Task("mix", procedure=seq(any_order(*(tool(one)() for one in "abc")), tool("d")(), tool("e")()))
    for _ in range(25 * times):
        path = tuple(rng.choice([*letters, "z"]) for _ in range(rng.randint(2, 6)))
        found = explain(task, as_calls(path))
        least = fewest_edits(task, path, letters, 2)
        assert count_edits(found) == least if least is not None else count_edits(found) > 2, (path, found)


# The order of steps that are added


FLY = {place: tool("fly")(id="R1", to=place) for place in "ABC"}


@pytest.mark.parametrize(
    ("calls", "fix"),
    [
        (['fly(id="R1", to="B")'], ['Call fly(id="R1", to="A") before call 1.']),
        (['fly(id="R1", to="A")'], ['At the end, call fly(id="R1", to="B").']),
        (["look()", 'fly(id="R1", to="B")', "look()"], ['Call fly(id="R1", to="A") before call 2.']),
    ],
)
def test_a_step_in_any_order_is_added_where_it_is_listed_among_those_about_the_same_thing(calls, fix):
    task = Task("fly", procedure=any_order(FLY["A"], FLY["B"]), reads=[tool("look").any()])
    assert fix_of(explain(task, calls)) == fix


def test_steps_about_other_things_are_added_at_the_end():
    task = Task("fly", procedure=any_order(FLY["A"], tool("fly")(id="R2", to="B")))
    found = explain(task, ['fly(id="R2", to="B")'])
    assert fix_of(found) == ['At the end, call fly(id="R1", to="A").']
    assert found.headline == 'Stopped after 1 of 2 steps: fly(id="R1", to="A") is missing.'


def test_who_did_a_later_step_about_the_same_thing_did_not_stop():
    task = Task("fly", procedure=any_order(FLY["A"], FLY["B"]))
    found = explain(task, ['fly(id="R1", to="B")'])
    assert found.headline == 'Did 1 of 2 steps: fly(id="R1", to="A") is missing.'


def test_the_listed_order_does_not_break_the_order_that_the_task_asks_for():
    task = Task("fly", procedure=any_order(FLY["A"] >> FLY["B"], FLY["C"]))
    found = explain(task, ['fly(id="R1", to="A")', 'fly(id="R1", to="C")'])
    assert is_repaired(task, found)
    backwards = Task("fly", procedure=seq(tool("open")(id="R1"), tool("shut")(id="R1"), tool("open")(id="R1")))
    assert is_repaired(backwards, explain(backwards, ['open(id="R1")', 'shut(id="R1")']))


def test_results_are_named_by_the_call_that_returns_them_if_several_steps_use_its_tool():
    task = corepath.task("computations/alarm_level")
    assert fix_of(explain(task, []))[-1].endswith(
        ", calculate_average(numbers=[150, "
        '<what convert_unit(number=1.35, unit="m", …) returns as result>, '
        '<what convert_unit(number=1650, unit="mm", …) returns as result>]).'
    )
    single = corepath.task("crud/successor")
    assert "<what add_user returns as id>" in " ".join(fix_of(explain(single, [])))

"""Deriving tasks from expected calls: the choices, the rules for arguments, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Task, TaskError, load_tasks, score
from corepath.authoring.derive import Derived, Expected, ExpectedCall, GoldenReads, Writes, derive
from corepath.errors import InputError, Problem
from corepath.files.tool_file import Tools
from corepath.importers.expected_calls import read_expected_calls
from corepath.notation.parser import call as read_call
from corepath.notation.parser import tool

ROOT = Path(__file__).parents[2]
TAU_TOOLS = ROOT / "src" / "corepath" / "importers" / "formats" / "tau_tools.yaml"
TOOLS = Tools(reads=["get_*"], neutral=["hand_over"])


def expected(*calls: str, id: str = "t", tags: Sequence[str] = ()) -> Expected:  # noqa: A002
    read = [read_call(text) for text in calls]
    return Expected(id, tuple(ExpectedCall(one.tool, one.arguments) for one in read), "Do it.", tuple(tags))


def golden(derived: Derived) -> list[str]:
    return sorted(" ".join(map(str, path)) for path in derived.task.automaton.golden_paths())


def reload(derived: Derived, folder: Path) -> Task:
    """The task, written to its file and loaded again."""
    file = folder / "task.yaml"
    file.write_text(derived.text, encoding="utf-8")
    (task,) = load_tasks(file).values()
    return task


def is_same(one: Task, two: Task) -> bool:
    rules = ("id", "prompt", "tags", "unlisted", "reads", "neutral", "tools")
    return one.automaton == two.automaton and all(getattr(one, name) == getattr(two, name) for name in rules)


# Choices

LISTED = ("get_a()", "pay(to=1)", "get_b()", "get_c()", "send(to=2)", "hand_over(why=3)", "get_d()")


@pytest.mark.parametrize(
    ("writes", "reads", "procedure", "paths"),
    [
        ("sequence", "loops", "pay >> send", ["pay send"]),
        ("any_order", "loops", "pay & send", ["pay send", "send pay"]),
        ("sequence", "progress", "get_a >> pay >> get_b >> get_c >> send >> get_d", None),
        ("any_order", "progress", "(get_a >> pay) & (get_b >> get_c >> send) & get_d", None),
    ],
)
def test_the_order_of_writes_and_what_expected_reads_are(
    writes: Writes, reads: GoldenReads, procedure: str, paths: list[str] | None, tmp_path: Path
) -> None:
    made = derive(expected(*LISTED), TOOLS, writes=writes, golden_reads=reads)
    assert str(made.task.procedure) == procedure
    assert paths is None or golden(made) == paths
    assert is_same(made.task, reload(made, tmp_path))


def test_every_choice_stands_in_the_file() -> None:
    made = derive(expected("get_a()", 'pay(to="Ann")', "hand_over(why=3)"), TOOLS)
    assert made.text == (
        "# Derived from 3 expected calls: writes in any order, expected reads are loops.\n"
        "# Expected, and no step (read): get_a()\n"
        "# Expected, and no step (neutral): hand_over(why=3)\n"
        "version: 1\n"
        "id: t\n"
        "prompt: Do it.\n"
        "actions:\n"
        "  pay: 'pay(to=\"Ann\")'\n"
        "procedure: 'pay'\n"
        "reads:\n"
        "- 'get_*(...)'\n"
        "neutral:\n"
        "- 'hand_over(...)'\n"
        "unlisted: harm\n"
        f"source: {made.expected.fingerprint}\n"
    )


def test_reads_and_neutral_calls_are_loops_and_any_other_call_is_harmful() -> None:
    made = derive(expected("get_a()", "pay(to=1)"), TOOLS)
    scored = score(made.task, ["get_z(x=1)", "hand_over()", "pay(to=1)", "cancel()", "pay(to=1)"])
    assert [(harm.index, harm.kind.value) for harm in scored.harms] == [(3, "after_completion"), (4, "repeated")]


def test_where_nothing_is_expected_the_right_path_changes_nothing(tmp_path: Path) -> None:
    made = derive(expected("get_a()", "hand_over()"), TOOLS)
    assert golden(made) == [""]
    task = reload(made, tmp_path)
    assert is_same(made.task, task)
    assert (score(task, ["get_a()"]).pc, score(task, []).accepted) == (1.0, True)
    assert score(task, ["pay(to=1)"]).harm_count == 1
    assert "# No write is expected: the right path changes nothing.\n" in made.text


def test_where_only_others_are_asked_nothing_is_held_against_the_agent(tmp_path: Path) -> None:
    made = derive(expected(tags=["no_agent_actions"]), TOOLS)
    task = reload(made, tmp_path)
    assert task.tags == ("no_agent_actions",)
    assert score(task, ["pay(to=1)"]).harm_count == 0
    assert "changes nothing" not in made.text


def test_equal_calls_are_one_action_that_is_due_so_many_times() -> None:
    made = derive(expected("pay(to=1)", "pay(to=2)", "pay(to=1.0)"), TOOLS, writes="any_order")
    assert [str(one.name) for one in made.task.actions] == ["pay", "pay_2"]
    assert str(made.task.procedure) == "pay & pay_2 & pay"


def test_a_tool_that_is_called_as_an_action_is_named_apart() -> None:
    made = derive(expected("pay(to=1)", "pay_2()", "pay(to=2)"), TOOLS)
    assert {str(one.name): one.notation for one in made.task.actions} == {
        "pay": "pay(to=1)", "pay_2": "pay_2()", "pay_3": "pay(to=2)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ({"writes": "anyorder"}, "no choice 'anyorder' of writes; did you mean 'any_order'?"),
        ({"golden_reads": "steps"}, "no choice 'steps' of golden_reads; there is loops, progress"),
        ({"writes": None}, "no choice 'None' of writes; there is any_order, sequence"),
    ],
)
def test_a_choice_that_there_is_not_is_reported(chosen: dict[str, Any], why: str) -> None:
    with pytest.raises(TaskError) as caught:
        derive(expected("pay()"), TOOLS, **chosen)
    assert str(caught.value) == why


# Replaying the expected calls


@pytest.mark.parametrize("writes", ["sequence", "any_order"])
def test_expected_calls_that_a_rule_makes_one_are_reported(writes: Writes) -> None:
    tools = Tools(arguments={"*": {"to": "any", "amount": "approx 1"}})
    with pytest.raises(TaskError) as caught:
        derive(expected("pay(to=1, amount=5)", "pay(to=1, amount=5.5)"), tools, writes=writes)
    assert str(caught.value) == (
        "task 't': the action of the expected call pay(to=1, amount=5) also takes pay(to=1, amount=5.5), "
        "by the rule 'amount: approx 1'; make it narrower"
    )
    assert derive(expected("pay(amount=5)", "pay(amount=6.5)"), tools, writes=writes)
    with pytest.raises(TaskError, match=r"call pay\(amount=5\) also takes pay\(amount=6\), by the rule"):
        derive(expected("pay(amount=5)", "pay(amount=6)", "pay(amount=5)"), tools, writes=writes)


def test_expected_calls_that_an_open_rule_makes_one_are_reported() -> None:
    tools = Tools(arguments={"fly": {"legs": "open"}})
    with pytest.raises(TaskError, match=r"task 't': action 'fly_2' is shadowed"):
        derive(expected("fly(legs=[{no: 1}])", "fly(legs=[{no: 1, to: 2}])"), tools)


def test_an_expected_read_that_is_taken_for_another_is_reported() -> None:
    tools = Tools(["get_*"], arguments={"get_a": {"at.x": "approx 2", "n": "approx"}})
    calls = expected("get_a(n=1, at={x: 1})", "get_a(n=1, at={x: 2})")
    with pytest.raises(TaskError, match=r"takes get_a\(n=1, at={\"x\": 2}\), by the rule 'at.x: approx 2'; make"):
        derive(calls, tools, golden_reads="progress")
    assert derive(calls, tools).dropped


def test_expected_calls_that_are_one_in_what_is_compared_are_reported() -> None:
    calls = (ExpectedCall("a", {"x": 1, "y": 5}, compared=["x"]), ExpectedCall("a", {"x": 1, "y": 2}, compared=["y"]))
    with pytest.raises(TaskError, match=r"a\(x=1, y=5\) also takes a\(x=1, y=2\), by the arguments that are compared"):
        derive(Expected("t", calls), Tools())


def test_an_expected_read_of_no_known_tool_is_reported() -> None:
    tools = Tools(["get_*"], tools=[tool("pay()"), tool("get_a()")])
    with pytest.raises(TaskError, match=r"task 't': it does not accept the expected call get_b: unknown_tool"):
        derive(expected("get_b()", "pay()"), tools)


paying = st.builds(
    ExpectedCall,
    st.sampled_from(["pay", "get_x"]),
    st.fixed_dictionaries({"n": st.lists(st.sampled_from([0, 1, 1.5, 3]), max_size=2), "by": st.sampled_from("ab")}),
)


@given(
    calls=st.lists(paying, max_size=4),
    rule=st.sampled_from(["approx 1", "unordered", "any", "approx"]),
    chosen=st.tuples(st.sampled_from(["sequence", "any_order"]), st.sampled_from(["loops", "progress"])),
)
def test_the_expected_calls_are_accepted_or_the_task_is_refused(
    calls: list[ExpectedCall], rule: str, chosen: Any
) -> None:
    try:
        made = derive(
            Expected("t", calls),
            Tools(["get_*"], arguments={"*": {"n": rule}}),
            writes=chosen[0],
            golden_reads=chosen[1],
        )
    except TaskError as error:
        assert rule.startswith("approx") and "by the rule 'n: approx" in str(error)  # noqa: PT017, PT018
        return
    orders = [tuple(calls), *(permutations(calls) if chosen == ("any_order", "loops") else ())]
    for order in orders:
        scored = score(made.task, [Call(call.tool, call.arguments) for call in order])
        assert (scored.accepted, scored.harm_count, scored.pc) == (True, 0, 1.0)


# How arguments are compared


@pytest.mark.parametrize(
    ("rules", "call", "fits", "fits_not"),
    [
        ({"text": "any"}, 'send(to=1, text="Hi")', ['send(to=1, text="Bye")', "send(to=1, text=null)"],
         ['send(to=2, text="Hi")', "send(to=1)", 'send(to=1, text="Hi", more=1)']),
        ({"n": "approx"}, "pay(n=100)", ["pay(n=100.00005)"], ["pay(n=100.001)", 'pay(n="100")']),
        ({"n": "approx 0.5"}, "pay(n=[100, 2])", ["pay(n=[100.5, 1.5])"], ["pay(n=[100.6, 2])", "pay(n=[2, 100])"]),
        ({"n": "approx"}, 'pay(n="a")', ['pay(n="a")'], ['pay(n="b")']),
        ({"ids": "unordered"}, "back(ids=[1, 2, 2])", ["back(ids=[2, 1, 2])"],
         ["back(ids=[1, 2])", "back(ids=[1, 1, 2])"]),
        ({"who": "unordered", "who.age": "approx 1", "who.note": "any"},
         'book(who=[{name: "A", age: 5, note: ""}, {name: "B", age: 9}])',
         ['book(who=[{name: "B", age: 10}, {name: "A", age: 4, note: 7}])'],
         ['book(who=[{name: "B", age: 5}, {name: "A", age: 9, note: ""}])']),
        ({"old": "paired with new"}, 'swap(old=["a", "b", "c"], new=[1, 2, 3], by="x")',
         ['swap(old=["c", "a", "b"], new=[3, 1, 2], by="x")', 'swap(old=["a", "b", "c"], new=[1, 2, 3], by="x")'],
         ['swap(old=["c", "a", "b"], new=[1, 2, 3], by="x")', 'swap(old=["a", "b"], new=[1, 2], by="x")']),
        ({"old": "paired with new"}, 'swap(old="a", new=[1])', [], ['swap(old=["a"], new=[1])']),
        ({"ids": "unordered"}, "back(ids=[[1, 2], [3, 4]])", ["back(ids=[[3, 4], [1, 2]])"],
         ["back(ids=[[2, 1], [3, 4]])"]),
        ({"n": "approx 1"}, "pay(n=[[5], 6])", ["pay(n=[[5.5], 5.5])"], ["pay(n=[6, [5]])"]),
        ({"i": "paired with n", "n": "paired with m"}, 'ex(i=["a", "b"], n=["x", "y"], m=[1, 2])',
         ['ex(i=["b", "a"], n=["y", "x"], m=[2, 1])'],
         ['ex(i=["b", "a"], n=["x", "y"], m=[1, 2])', 'ex(i=["b", "a"], n=["y", "x"], m=[1, 2])',
          'ex(i=["a", "b"], n=["y", "x"], m=[2, 1])']),
        ({"i": "paired with n", "m": "paired with n", "j": "paired with k"},
         "ex(i=[1, 2], n=[3, 4], m=[5, 6], j=[7, 8], k=[9, 0])",
         ["ex(i=[2, 1], n=[4, 3], m=[6, 5], j=[7, 8], k=[9, 0])",
          "ex(i=[2, 1], n=[4, 3], m=[6, 5], j=[8, 7], k=[0, 9])"],
         ["ex(i=[2, 1], n=[4, 3], m=[5, 6], j=[7, 8], k=[9, 0])",
          "ex(i=[1, 2], n=[3, 4], m=[5, 6], j=[8, 7], k=[9, 0])"]),
        ({"o.i": "paired with o.n"}, "ex(o={i: [1, 2], n: [3, 4]}, i=[1, 2], n=[3, 4])",
         ["ex(o={i: [2, 1], n: [4, 3]}, i=[1, 2], n=[3, 4])"],
         ["ex(o={i: [2, 1], n: [3, 4]}, i=[1, 2], n=[3, 4])", "ex(o={i: [1, 2], n: [3, 4]}, i=[2, 1], n=[4, 3])"]),
        ({"o": "unordered", "o.i": "paired with o.n"}, "ex(o=[{i: [1, 2], n: [3, 4]}, {i: [5, 6], n: [7, 8]}])",
         ["ex(o=[{i: [5, 6], n: [7, 8]}, {i: [2, 1], n: [4, 3]}])",
          "ex(o=[{i: [1, 2], n: [3, 4]}, {i: [6, 5], n: [8, 7]}])"],
         ["ex(o=[{i: [5, 6], n: [7, 8]}, {i: [2, 1], n: [3, 4]}])"]),
        ({"legs": "open"}, "fly(legs=[{no: 1, on: {day: 2}}, {no: 3, on: 4}])",
         ["fly(legs=[{no: 1, on: {day: 2}, to: 9}, {price: 5, no: 3, on: 4}])"],
         ["fly(legs=[{no: 3, on: 4}, {no: 1, on: {day: 2}}])", "fly(legs=[{no: 1}, {no: 3, on: 4}])",
          "fly(legs=[{no: 1, on: {day: 2, hour: 3}}, {no: 3, on: 4}])", "fly(legs=[{no: 1, on: {day: 2}}])",
          "fly(legs=[{no: 1, on: {day: 2}}, {no: 3, on: 4}, {no: 5}])", "fly(legs=[{no: 1, on: {day: 2}}, 3], to=1)"]),
        ({"who": "unordered open", "who.age": "approx 1"}, "fly(who=[{name: 1, age: 30, ids: [1, 2]}, {name: 2}])",
         ["fly(who=[{name: 2, seat: 7}, {name: 1, age: 31, ids: [1, 2], seat: 8}])"],
         ["fly(who=[{name: 2}, {name: 1, age: 33, ids: [1, 2]}])",
          "fly(who=[{name: 2}, {name: 1, age: 30, ids: [2, 1]}])"]),
        ({"at": "open", "at.on": "open"}, "fly(at={on: {day: 1}, x: [{y: 1}]})",
         ["fly(at={on: {day: 1, hour: 2}, x: [{y: 1}], z: 3})"],
         ["fly(at={on: {day: 1}, x: [{y: 1, z: 2}]})", "fly(at={on: {hour: 1}, x: [{y: 1}]})"]),
        ({"legs": "open"}, "fly(legs=[[{no: 1}], 2])", ["fly(legs=[[{no: 1, to: 2}], 2])"], ["fly(legs=[{no: 1}, 2])"]),
    ],
)  # fmt: skip
def test_rules_for_arguments(
    rules: dict[str, str], call: str, fits: list[str], fits_not: list[str], tmp_path: Path
) -> None:
    made = derive(expected(call), Tools(arguments={"*": rules}))
    task = reload(made, tmp_path)
    assert is_same(made.task, task)
    for text in (call, *fits):
        assert score(task, [text]).accepted, text
    for text in fits_not:
        assert not score(task, [text]).accepted, text


def test_a_rule_for_a_tool_overrides_one_for_many() -> None:
    tools = Tools(arguments={"pay": {"n": "approx 1"}, "*": {"n": "any"}})
    made = derive(expected("pay(n=1)", "send(n=1)"), tools)
    assert [one.notation for one in made.task.actions] == ["pay(n=approx(1, tol=1.0))", "send(n=ANY)"]
    globs = Tools(["p*"], ["pa*"], {"*": {"n": "any", "m": "any"}, "s*": {"n": "approx 1"}})
    assert derive(expected("send(n=1, m=2)"), globs).task.actions[0].notation == "send(n=approx(1, tol=1.0), m=ANY)"
    assert globs.kind("pay") == "neutral"


def test_pairs_are_permuted_once_each_and_steps_stay_one_step(tmp_path: Path) -> None:
    tools = Tools(arguments={"swap": {"old": "paired with new"}})
    made = derive(expected("swap(old=[1, 1, 2], new=[5, 5, 6])", "pay()"), tools, writes="any_order")
    assert len(made.task.actions) == 4
    assert made.task.automaton.lengths == [2]
    assert str(made.task.procedure) == "(swap | swap_2 | swap_3) & pay"
    assert is_same(made.task, reload(made, tmp_path))


def test_pairs_that_do_not_pair_or_are_too_many_are_reported() -> None:
    tools = Tools(arguments={"swap": {"old": "paired with new"}})
    with pytest.raises(TaskError, match="task 't': 'old' and 'new' are paired, but have 2 and 1 item"):
        derive(expected("swap(old=[1, 2], new=[1])"), tools)
    seven = list(range(7))
    with pytest.raises(TaskError, match="have 7 pairs; at most 6 can be permuted"):
        derive(Expected("t", (ExpectedCall("swap", {"old": seven, "new": seven}),)), tools)
    two = Tools(arguments={"swap": {"old": "paired with new", "a": "paired with b"}})
    with pytest.raises(TaskError, match="paired lists have more than 720 orders in all"):
        derive(Expected("t", (ExpectedCall("swap", dict.fromkeys(("old", "new", "a", "b"), seven[:6])),)), two)


def test_arguments_that_do_not_count_are_left_open() -> None:
    calls = (ExpectedCall("a", {"x": 1, "y": 2}, compared=["x"]), ExpectedCall("b", {"x": 1}, compared=[]))
    made = derive(Expected("t", calls), Tools())
    assert [one.notation for one in made.task.actions] == ["a(x=1, ...)", "b(...)"]


def test_the_defaults_of_known_tools_count(tmp_path: Path) -> None:
    tools = Tools(reads=["get_*", "look"], tools=[tool('pay(n, by="card")'), tool("look(at)")])
    made = derive(expected("pay(n=1)"), tools)
    task = reload(made, tmp_path)
    assert is_same(made.task, task)
    assert [one.notation for one in task.reads] == ["look(...)"]
    assert score(task, ['pay(n=1, by="card")']).accepted
    assert [harm.kind.value for harm in score(task, ["fly()"]).harms] == ["unknown_tool"]


texts = st.text(st.characters(codec="utf-8"), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
calls_of = st.builds(
    ExpectedCall,
    st.sampled_from(["pay", "send it", "get_x", "hand_over"]) | texts.filter(lambda name: not set(name) & set("*?[")),
    st.dictionaries(st.sampled_from(["a", "b", "c d"]) | texts, values, max_size=3),
)
choices = st.tuples(st.sampled_from(["sequence", "any_order"]), st.sampled_from(["loops", "progress"]))


@given(calls=st.lists(calls_of, max_size=4), id_=texts.filter(bool), prompt=texts, chosen=choices)
def test_the_file_says_what_the_task_says(
    calls: list[ExpectedCall], id_: str, prompt: str, chosen: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tools = Tools(["get_*"], ["hand_over"], {"*": {"a": "unordered", "b": "any", "c d": "approx 0.5"}})
    try:
        made = derive(Expected(id_, tuple(calls), prompt), tools, writes=chosen[0], golden_reads=chosen[1])
    except TaskError as error:
        assert "by the rule 'c d: approx 0.5'" in str(error)  # noqa: PT017  # two of the calls are too near
        return
    assert is_same(made.task, reload(made, tmp_path_factory.mktemp("derived")))


# Files of expected calls


def test_expected_calls_in_yaml_and_in_json_are_the_same(tmp_path: Path) -> None:
    in_yaml, in_json = tmp_path / "calls.yaml", tmp_path / "calls.json"
    in_yaml.write_text("id: t\nprompt: Do it.\ncalls: ['pay(to=\"Ann\", n=5)', 'send()']\n")
    record = {"id": "t", "prompt": "Do it.", "calls": [{"tool": "pay", "arguments": {"to": "Ann", "n": 5}}, "send()"]}
    in_json.write_text(json.dumps([record]))
    assert (
        list(read_expected_calls(in_yaml))
        == list(read_expected_calls(in_json))
        == [expected('pay(to="Ann", n=5)', "send()")]
    )


def test_what_is_wrong_with_expected_calls_is_reported_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(
        "- {id: a, calls: ['pay(5)']}\n"
        "- {id: b, calls: [{tool: pay, arguments: {n: 5}}]}\n"
        "- {id: c, calls: pay()}\n"
        "- {calls: [], cals: []}\n"
        "- 5\n"
        "- {id: d, calls: []}\n"
        "- {id: d, calls: ['pay()']}\n"
    )
    found = list(read_expected_calls(file))
    assert found.pop(-2) == Expected("d", ())
    assert [f"{one.line}:{one.column} {one.message}" for one in found if isinstance(one, Problem)] == [
        "1:24 arguments have names: pay(name=value), or pay(...) for any",
        "2:19 a call must be a string in the call notation, as in 'pay(to=\"Ann\", amount=5)'",
        "3:18 'calls' must be a list; it is empty if nothing should change",
        "4:15 no field 'cals'; did you mean 'calls'?",
        "4:3 'id' must be a non-empty string",
        "5:3 expected calls must be a mapping with 'id' and 'calls'",
        "1:1 task 'd' appears twice, with different expected calls",
    ]


def test_a_file_of_no_source_says_why_each_failed(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"a": 1}')
    with pytest.raises(InputError) as caught:
        list(read_expected_calls(file))
    assert all(f"{name}: " in str(caught.value) for name in ("tau-bench", "tau2", "bfcl", "calls"))


# The command

Run = Callable[..., Any]


def test_the_command_writes_a_file_that_check_accepts(corepath: Run, tmp_path: Path) -> None:
    (tmp_path / "calls.yaml").write_text(
        "- {id: bank/pay, calls: ['get_a()', 'pay(n=5)', 'send()']}\n- {id: bank/look, calls: ['get_a()']}\n"
    )
    (tmp_path / "tools.yaml").write_text("reads: []\nreads: [get_*]\narguments: {pay: {n: approx, to: any}}\n")
    done = corepath("derive", "calls.yaml", "--tools", "tools.yaml", "--out", "t.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "warning: tools.yaml:2:1: 'reads' is given twice; the last one counts",
        "warning: tools.yaml: no call is expected with the argument of the rule 'pay.to'",
        "2 tasks in t.yaml; 1 of them asks that nothing be changed",
    ]
    checked = corepath("check", "t.yaml", "--json", cwd=tmp_path)
    assert [json.loads(line)["golden_paths"] for line in checked.stdout.splitlines()] == [2, 1]


@pytest.mark.parametrize(
    ("options", "procedure"),
    [
        ([], "pay & send"),
        (["--writes", "sequence"], "pay >> send"),
        (["--reads", "progress"], "(get_a >> pay) & send"),
        (["--golden-reads", "progress", "--writes", "sequence"], "get_a >> pay >> send"),
    ],
)
def test_the_command_takes_writes_in_any_order_and_reads_as_loops_unless_told(
    corepath: Run, tmp_path: Path, options: list[str], procedure: str
) -> None:
    (tmp_path / "calls.yaml").write_text("- {id: bank/pay, calls: ['get_a()', 'pay(n=5)', 'send()']}\n")
    (tmp_path / "tools.yaml").write_text("reads: [get_*]\n")
    done = corepath("derive", "calls.yaml", "--tools", "tools.yaml", "--out", "t.yaml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(load_tasks(tmp_path / "t.yaml")["bank/pay"].procedure) == procedure


def test_the_command_keeps_what_is_good_and_fails_where_something_is_wrong(corepath: Run, tmp_path: Path) -> None:
    (tmp_path / "calls.yaml").write_text(
        "- {id: a, calls: ['pay(5)']}\n- {id: b, calls: ['swap(x=[1], y=[])']}\n- {id: c, calls: []}\n"
    )
    (tmp_path / "tools.yaml").write_text("arguments: {swap: {x: paired with y}}\n")
    done = corepath("derive", "calls.yaml", "--tools", "tools.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "id: c\n" in done.stdout
    assert "calls.yaml:1:24: arguments have names" in done.stderr
    assert "task 'b': 'x' and 'y' are paired" in done.stderr
    assert corepath("derive", "no.yaml", "--tools", "tools.yaml", cwd=tmp_path).returncode == 2
    assert corepath("derive", "calls.yaml", "--tools", "no.yaml", cwd=tmp_path).returncode == 2
    wrong = corepath("derive", "calls.yaml", "--tools", "tools.yaml", "--from", "tau", cwd=tmp_path)
    assert (wrong.returncode, "no source 'tau'" in wrong.stderr) == (2, True)

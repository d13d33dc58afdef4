"""A task is widened by one more good run as little as possible, and narrowed by a bad run that it accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corepath import Call, Procedure, Task, any_order, choice, parse_tasks, repeat, seq, tool
from corepath.authoring.learning.inclusion import includes
from corepath.authoring.learning.narrow import find_doubts
from corepath.authoring.learning.widen import Widened, accepts, widen
from corepath.authoring.learning.widenings import widen_pattern
from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import trace_calls
from corepath.episode import Episode
from corepath.errors import InputError, TaskError
from corepath.files.task_edit import edit_task, find_document
from corepath.files.task_writer import as_yaml
from corepath.files.tasks import build_task, read_text
from corepath.notation import parser
from corepath.notation.patterns import as_matcher
from corepath.verification.narrowing import find_witness, narrow, rebuild_task
from corepath.world.discovery import world
from corepath.world.world import Pick
from tests.conftest import Run

LETTERS = {name: f"{name}()" for name in "abcdef"}


def make(procedure: str, more: str = "", actions: dict[str, str] | None = None) -> Task:
    lines = [f"  {name}: '{notation}'" for name, notation in (LETTERS if actions is None else actions).items()]
    text = "\n".join(["id: t", *(["actions:", *lines] if lines else []), f"procedure: '{procedure}'", more])
    return parse_tasks(text)["t"]


def run_of(calls: str | Iterable[Call]) -> Episode:
    """A run of task t: calls in notation, or letters, which are calls without arguments."""
    if isinstance(calls, str):
        calls = [parser.call(one if "(" in one else f"{one}()") for one in calls.split()]
    return Episode("t", tuple(calls))


def after(widened: Widened) -> str:
    return str(widened.after.procedure)


@pytest.mark.parametrize(
    ("procedure", "run", "wider"),
    [
        ("a >> b >> c", "b c", "a? >> b >> c"),
        ("a >> b >> c", "a", "a >> (b >> c)?"),
        ("a >> b >> c", "b a c", "(a & b) >> c"),
        ("a >> b >> c", "b c a", "a & (b >> c)"),
        ("a >> b", "a b b b", "a >> b{1,3}"),
        ("a >> b >> c", "a b a c", "a >> b >> a? >> c"),
        ("a >> b >> c", "a d b c", "a >> d? >> b >> c"),
        ("a >> b >> c", "a d c", "a >> (b | d) >> c"),
        ("a >> b >> c", "d e c", "((a >> b) | (d >> e)) >> c"),
        ("(a & b & c) >> d", "a d", "(a & b? & c?) >> d"),
        ("(a >> b) | (c >> d)", "c", "(a >> b) | (c >> d?)"),
        ("a >> b", "b d", "a? >> b >> d?"),
        ("a >> (b & (c >> d >> e))", "c a d e b", "(a >> (b & (c >> d >> e))) | (c >> a >> (b & (d >> e)))"),
    ],
)
def test_the_smallest_change_is_found(procedure: str, run: str, wider: str) -> None:
    assert after(widen(make(procedure), run_of(run))) == wider


def test_nothing_changes_if_the_run_is_accepted() -> None:
    widened = widen(make("a >> b?"), run_of("a"))
    assert not widened.changed
    assert widened.diff == ""
    assert widened.reasons == ("The task accepts the run already, so nothing changes.",)


def test_the_change_is_shown_and_said() -> None:
    widened = widen(make("a >> b"), run_of("b"))
    assert widened.diff == "- procedure: a >> b\n+ procedure: a? >> b"
    assert widened.reasons == (
        "a may be left out now: the run has none before b (call 1).",
        "2 golden paths, 1 before.",
    )


def test_a_run_that_no_small_change_accepts_becomes_another_way() -> None:
    widened = widen(make("a >> b >> c >> d >> e >> f"), run_of("c a c b c a d d e b"))
    assert widened.task.automaton.count == 2
    assert after(widened) == "(a >> b >> c >> d >> e >> f) | (c >> a >> c >> b >> c >> a >> d >> d >> e >> b)"


def test_runs_are_added_one_after_the_other() -> None:
    task = make("a >> b >> c")
    for run in ("b c", "b a c", "a b c d"):
        task = widen(task, run_of(run)).task
    assert all(accepts(trace_calls(task.automaton, run_of(run).calls)) for run in ("a b c", "b c", "b a c", "a b c d"))
    assert not accepts(trace_calls(task.automaton, run_of("c a b").calls))


# Arguments


@pytest.mark.parametrize(
    ("pattern", "value", "wider"),
    [
        (100, 200, "one_of(100, 200)"),
        (100, 101, "one_of(100, 101)"),
        (4.5, 4.51, "approx(4.5, tol=0.01)"),
        (4.5, 9.0, "one_of(4.5, 9.0)"),
        ("low", "high", 'one_of("low", "high")'),
        ("low", "a text of more than five words", "ANY"),
        (["a"], ["b"], 'one_of(["a"], ["b"])'),
        (True, 1, "one_of(true, 1)"),
    ],
)
def test_a_pattern_allows_another_value(pattern: object, value: object, wider: str) -> None:
    assert str(widen_pattern(as_matcher(pattern), value)) == wider


def test_an_argument_with_another_value_is_one_of_both() -> None:
    task = make("pay >> b", actions={"pay": 'pay(to="Ann", amount=100)', "b": "b()"})
    widened = widen(task, run_of('pay(to="Ann",amount=200) b'))
    assert after(widened) == "pay >> b"
    assert [action.notation for action in widened.task.actions][:1] == ['pay(to="Ann", amount=one_of(100, 200))']


def test_a_call_that_differs_in_two_arguments_is_a_step_of_its_own() -> None:
    task = make("pay >> b", actions={"pay": 'pay(to="Ann", amount=100)', "b": "b()"})
    assert after(widen(task, run_of('pay(to="Bob",amount=200) b'))) == "(pay | pay_2) >> b"


def test_steps_without_names_stay_without_names() -> None:
    task = make("a(x=1) >> b(x=1)", actions={})
    assert after(widen(task, run_of("a(x=2) c(x=1) b(x=1)"))) == "a(x=one_of(1, 2)) >> c(x=1)? >> b(x=1)"


# What cannot be accepted


def test_refused_calls_are_not_accepted_unless_they_are_tries() -> None:
    calls = (Call("pay", {"amount": 300}, error="too much"), Call("pay", {"amount": 100}), Call("b", {}))
    actions = {"pay": "pay(amount=100)", "b": "b()", "c": "c()"}
    with pytest.raises(TaskError, match=r"call 1, pay\(amount=300\), was refused.*add 'refused: try' to the task"):
        widen(make("pay >> c >> b", actions=actions), run_of(calls))
    widened = widen(make("pay >> c >> b", "refused: try", actions), run_of(calls))
    assert after(widened) == "pay >> c? >> b"


@pytest.mark.parametrize(
    ("more", "calls", "message"),
    [
        ("forbid: [{call: 'x()', why: never x}]", [Call("x", {})], "call 1, x, cannot be part of a good run: never x"),
        ("", [Call("a", "no object")], "its arguments are no object"),
        ("tools: ['a()', 'b()', 'c()', 'd()', 'e()', 'f()']", [Call("y", {})], "the task's tools have none of this"),
        ("", [], "no calls"),
    ],
)
def test_some_runs_are_never_good(more: str, calls: list[Call], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        widen(make("a >> b", more), run_of(calls))


def test_a_run_of_another_task_is_refused() -> None:
    with pytest.raises(TaskError, match="the run is of task 'u', not of 't'"):
        widen(make("a"), Episode("u", (Call("a", {}),)))


def test_a_task_with_an_automaton_is_refused() -> None:
    text = "id: t\nactions: {a: 'a()'}\nstart: q\naccept: [r]\ntransitions: {q: {a: r}}\n"
    with pytest.raises(TaskError, match="gives its automaton outright"):
        widen(parse_tasks(text)["t"], run_of("a"))


# Random procedures, against all listed paths


STEPS = {name: tool(name)().named(name) for name in ("a", "b", "c", "get")}


def combine(parts: st.SearchStrategy[Procedure]) -> st.SearchStrategy[Procedure]:
    several = st.lists(parts, min_size=2, max_size=3)
    joins = [st.builds(lambda found, join: join(*found), several, st.sampled_from([seq, any_order, choice]))]
    times = st.sampled_from([(0, 1), (1, 2), (0, 2), (2, 2)])
    return st.one_of(*joins, st.builds(lambda part, pair: repeat(part, *pair), parts, times))


random_procedures = st.recursive(st.sampled_from(list(STEPS.values())), combine, max_leaves=6)
random_runs = st.lists(st.sampled_from(["a", "b", "c", "get", "new"]), min_size=1, max_size=6)


@settings(max_examples=50)
def same_paths(one: Automaton, other: Automaton) -> bool:
    return includes(one, other, {}) and includes(other, one, {})


@given(random_procedures, random_runs)
def test_a_widened_task_accepts_the_run_and_all_that_it_did(procedure: Procedure, names: list[str]) -> None:
    task = Task(id="t", procedure=procedure, actions=tuple(STEPS.values()), reads=(tool("get").any(),))
    assume(task.automaton.count <= 200)
    episode = run_of([Call(name, {"n": 1} if name == "new" else {}) for name in names])
    widened = widen(task, episode)
    assert accepts(trace_calls(widened.task.automaton, episode.calls))
    for path in task.automaton.golden_paths():
        assert accepts(trace_calls(widened.task.automaton, [Call(name, {}) for name in path]))
    (document,) = read_text("t.yaml", as_yaml(task), is_json=False)
    fresh = {str(one.name): one.notation for one in widened.after.actions if one not in task.actions}
    text = edit_task(document, str(widened.after.procedure) or "()", fresh)
    assert same_paths(parse_tasks(text)["t"].automaton, widened.task.automaton)


def test_inclusion_is_found_and_refuted() -> None:
    wide, small = make("a & b & c").automaton, make("a >> (b & c)").automaton
    assert includes(wide, small, {})
    assert not includes(small, wide, {})
    assert not includes(make("a >> b").automaton, make("a >> b >> c?").automaton, {})


def test_a_right_way_deleted_from_a_world_is_accepted_again() -> None:
    outcomes = []
    transactions = world("transactions")
    for name in list(transactions.makers)[:4]:
        raw = transactions.makers[name](Pick(f"transactions/{name}", 0))
        whole = transactions.complete(raw, f"transactions/{name}")
        for change in list(narrow(whole))[:2]:
            task = rebuild_task(transactions, raw, change.procedure, whole.id)
            witness = find_witness(whole, task)
            if witness is not None:
                widened = widen(task, Episode(whole.id, tuple(witness)))
                assert accepts(trace_calls(widened.task.automaton, witness))
                assert includes(widened.task.automaton, task.automaton, widened.after.image)
                outcomes.append(same_paths(widened.task.automaton, whole.automaton))
    assert True in outcomes


# Task files


FILE = """# by hand
version: 1
id: t      # a name
actions:
  # the first
  a: 'a()'   # quoted
  b: "b(x=1)"

procedure: a >> b  # in this order
reads: ['get_*(...)']
"""


def edited(text: str, procedure: str, name: str = "t.yaml", **actions: str) -> str:
    documents = read_text(name, text, is_json=name.endswith(".json"))
    return edit_task(next(one for one in documents if one.data["id"] == "t"), procedure, actions)


def test_only_the_lines_that_change_are_changed() -> None:
    text = edited(FILE, "a? >> b >> c", b="b(x=one_of(1, 2))", c="c()")
    assert text == FILE.replace("a >> b ", "a? >> b >> c ").replace('"b(x=1)"', "'b(x=one_of(1, 2))'\n  c: 'c()'")


@pytest.mark.parametrize(
    "text",
    [
        "id: t\nactions: {a: 'a()', b: 'b()'}\nprocedure: a >> b\n",
        "id: t\nprocedure: >-\n  a() >>\n  b()\nunlisted: ignore\n",
        "{id: t, actions: {a: 'a()'}, procedure: a >> b()}",
        "- id: u\n  procedure: a()\n- id: t\n  procedure: a()\n  actions:\n    z: 'z()'\n- {id: v, procedure: b()}\n",
        "id: u\nprocedure: a()\n---\nid: t\nprocedure: |\n  a() >> b()\n\n# the end\n---\nid: v\nprocedure: c()\n",
        '{"id": "t", "actions": {"a": "a()"},\n\t"procedure": "a >> b()"}',
        '[{"id": "t", "procedure": "a() >> b()"}, {"id": "u", "procedure": "a()"}]',
    ],
)
def test_files_of_any_layout_can_be_edited(text: str) -> None:
    name = "t.json" if text[0] in "{[" and '"id"' in text else "t.yaml"
    wanted = 'new >> other? >> c(x="it\'s: #1")'
    made = edited(text, wanted, name, new='new(x={"y": 1})', other='other(z="a, b")')
    tasks = parse_tasks(made)
    assert str(tasks["t"].procedure) == wanted
    assert [one.notation for one in tasks["t"].actions if one.name == "new"] == ['new(x={"y": 1})']
    assert tasks.keys() == parse_tasks(text).keys()
    assert made.count("#") == text.count("#") + 1


def test_a_file_that_uses_an_alias_is_not_edited() -> None:
    text = "- id: t\n  procedure: &p a()\n- id: u\n  procedure: *p\n"
    with pytest.raises(TaskError, match="cannot be edited"):
        edited(text, "a()?")


def test_one_of_several_tasks_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("id: t\nprocedure: a()\n---\nid: u\nprocedure: b()\n", encoding="utf-8")
    assert build_task(find_document(f"{path}::u")).id == "u"
    with pytest.raises(InputError, match=r"has 2 tasks \(t, u\); name one, as in .*two.yaml::t"):
        find_document(str(path))
    with pytest.raises(InputError, match="has no task 'v'"):
        find_document(f"{path}::v")


# Bad runs


def questions(task: Task, bad: str, *good: str) -> list[str]:
    doubts = find_doubts(task, run_of(bad), [run_of(one) for one in good])
    for doubt in doubts:
        assert not accepts(trace_calls(doubt.task.automaton, run_of(bad).calls))
        assert all(accepts(trace_calls(doubt.task.automaton, run_of(one).calls)) for one in good)
    return [f"{doubt.question} {doubt.after.procedure}" for doubt in doubts]


def test_a_read_that_only_good_runs_have_may_be_required() -> None:
    found = questions(make("a >> b", "reads: ['get(...)']"), "a b", "get(i=1) a b", "a get(i=1) b")
    assert found == [
        "Is get(i=1) required before b? It is in both good runs, and not in this one. (get & a) >> b",
    ]


def test_a_bad_run_without_calls_is_rejected_like_any_other() -> None:
    assert find_doubts(make("a >> b"), run_of([]), [run_of("a b")]) == []


def test_values_of_reads_that_differ_are_any() -> None:
    found = questions(make("a", "reads: ['get(...)']"), "a", "get(i=1) a", "get(i=2) a", "get(i=3) a")
    assert found == ["Is get(i=ANY) required before a? It is in all 3 good runs, and not in this one. get >> a"]


@pytest.mark.parametrize(
    ("procedure", "bad", "good", "question"),
    [
        ("a >> b?", "a", ["a b"], "Is b required? So far it is optional. a >> b"),
        ("a?", "", ["a"], "Is a required? So far it is optional. a"),
        ("a >> (b | c)", "a c", ["a b"], "Was it wrong to do c instead of b? a >> b"),
        ("a & b", "b a", ["a b"], "Must a come before b? a >> b"),
        ("a{1,2}", "a a", ["a"], "Was it wrong to do a more than 1 time? a{1}"),
    ],
)
def test_what_distinguishes_a_bad_run_is_asked(procedure: str, bad: str, good: list[str], question: str) -> None:
    assert question.replace("a{1}", "a") in questions(make(procedure), bad, *good)


def test_a_wrong_value_is_asked_about() -> None:
    task = make("pay", actions={"pay": "pay(n=one_of(1, 2, 3))"})
    assert questions(task, "pay(n=3)") == [
        "Was n=3 wrong in pay (call 1)? Then it must be one_of(1, 2). pay",
    ]
    task = make("pay", actions={"pay": "pay(n=ANY)"})
    assert questions(task, "pay(n=3)", "pay(n=1)") == ["Was n=3 wrong in pay (call 1)? Then it must be 1. pay"]
    assert questions(task, "pay(n=3)") == []


def test_a_bad_run_that_is_rejected_raises_no_question() -> None:
    assert questions(make("a >> b"), "b a", "a b") == []


def test_good_runs_must_be_accepted_as_they_are() -> None:
    with pytest.raises(TaskError, match="good run 1 is not accepted"):
        find_doubts(make("a?"), run_of("a"), [run_of("b")])


# The command


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.yaml").write_text(FILE, encoding="utf-8")
    b = {"tool": "b", "arguments": {"x": 1}}
    look = {"tool": "get_it", "arguments": {}}
    runs = {"bad": [b], "good": [look, b], "other": [b, {"tool": "c", "arguments": {"n": 1}}]}
    for name, calls in runs.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"task": "t", "calls": calls}), encoding="utf-8")
    (tmp_path / "u.jsonl").write_text(json.dumps({"task": "u", "calls": [b]}), encoding="utf-8")
    return tmp_path


def test_the_command_shows_the_change_and_writes_it_if_told(corepath: Run, files: Path) -> None:
    shown = corepath("learn", "--add", "good.jsonl", "t.yaml", cwd=files)
    assert shown.stdout.startswith("- procedure: a >> b\n+ procedure: a? >> b\ngood.jsonl: a may be left out now")
    assert "nothing is written" in shown.stderr
    assert (files / "t.yaml").read_text("utf-8") == FILE
    assert corepath("learn", "--add", "good.jsonl", "t.yaml", "--yes", cwd=files).returncode == 0
    assert (files / "t.yaml").read_text("utf-8") == FILE.replace("a >> b ", "a? >> b ")
    again = corepath("learn", "--add", "good.jsonl", "t.yaml", "--yes", cwd=files)
    assert again.stdout == "good.jsonl: The task accepts the run already, so nothing changes.\n"


def test_the_command_says_where_the_task_stands_if_there_is_none(corepath: Run, files: Path) -> None:
    done = corepath("learn", "--add", "t.yaml", "good.jsonl", cwd=files)
    assert done.returncode == 2
    assert "good.jsonl is no task file" in done.stderr
    assert "as in corepath learn --add RUN TASK.yaml" in done.stderr


def test_several_runs_are_added_into_another_file(corepath: Run, files: Path) -> None:
    done = corepath(
        "learn", "--add", "good.jsonl", "--add", "other.jsonl", "t.yaml", "--out", "u.yaml", "--json", cwd=files
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["procedure"] for row in rows] == ["a? >> b", "a? >> b >> c?"]
    assert [row["golden_paths"] for row in rows] == [2, 4]
    assert (files / "t.yaml").read_text("utf-8") == FILE
    assert "  c: 'c(n=1)'\n" in (files / "u.yaml").read_text("utf-8")


def test_the_command_asks_about_a_bad_run(corepath: Run, files: Path) -> None:
    corepath("learn", "--add", "good.jsonl", "t.yaml", "--yes", cwd=files)
    asked = corepath("learn", "--bad", "bad.jsonl", "t.yaml", "good.jsonl", cwd=files)
    assert "1. Is get_it() required before b? It is in the good run, and not in this one." in asked.stdout
    assert "nothing is written" in asked.stderr
    done = corepath("learn", "--bad", "bad.jsonl", "t.yaml", "good.jsonl", "--yes", cwd=files)
    assert "+ procedure: get_it >> a? >> b" in done.stdout
    assert "procedure: get_it >> a? >> b  # in this order" in (files / "t.yaml").read_text("utf-8")
    again = corepath("learn", "--bad", "bad.jsonl", "t.yaml", "good.jsonl", "--yes", cwd=files)
    assert "The task rejects the run already: call 1, b(x=1), is harmful (out of order)." in " ".join(
        again.stdout.split()
    )


CHAT = {
    "messages": [
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "b", "arguments": '{"x": 1}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ]
}


def test_runs_of_any_format_that_name_no_task_are_of_the_task_in_the_file(corepath: Run, files: Path) -> None:
    (files / "chat.json").write_text(json.dumps(CHAT), encoding="utf-8")
    widened = corepath("learn", "--add", "chat.json", "t.yaml", "--yes", cwd=files)
    assert widened.stdout.startswith("- procedure: a >> b\n+ procedure: a? >> b\nchat.json: a may be left out now")
    narrowed = corepath("learn", "--bad", "chat.json", "t.yaml", "good.jsonl", "--yes", cwd=files)
    assert "+ procedure: get_it >> a? >> b" in narrowed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--add", "nope.jsonl", "t.yaml"], 2, "no such file or folder: nope.jsonl"),
        (["--add", "good.jsonl", "nope.yaml"], 2, "no such file or folder: nope.yaml"),
        (["--add", "u.jsonl", "t.yaml"], 2, "u.jsonl has no run of task 't', but of 'u'"),
        (["--add", "good.jsonl", "farm/dry_plants"], 2, "no such file or folder: farm/dry_plants"),
        (["--bad", "bad.jsonl", "--add", "good.jsonl", "t.yaml"], 2, "do one after the other"),
        (["--add", "good.jsonl", "t.yaml", "bad.jsonl"], 2, "bad.jsonl is no task file"),
        (["--add", "good.jsonl", "t.yaml::v"], 1, "has no task 'v'"),
    ],
)
def test_wrong_uses_are_named(corepath: Run, files: Path, arguments: list[str], code: int, message: str) -> None:
    done = corepath("learn", *arguments, cwd=files)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr

"""Tasks and episodes on disk, read and written through Python."""

from __future__ import annotations

import json
import re
from math import inf
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from corepath import (
    UNANSWERED,
    Call,
    Episode,
    InputError,
    episode_json,
    load_episodes,
    load_task,
    load_tasks,
    score,
)
from corepath.files.schema import TYPED, TaskFile, schema
from corepath.files.task_writer import as_json
from corepath.values import canonical
from corepath.world.discovery import installed_worlds, world

BANK = Path(__file__).parents[2] / "examples" / "bank"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


# Tasks


def test_a_folder_gives_the_tasks_of_all_folders_below_it_but_hidden_ones(tmp_path):
    write(tmp_path, "a.yaml", "id: a\nprocedure: a()")
    write(tmp_path, "deep/er/b.yml", "id: b\nprocedure: b()")
    write(tmp_path, "deep/c.json", '{"id": "c", "procedure": "c()"}')
    write(tmp_path, ".git/d.yaml", "id: d\nprocedure: d()")
    write(tmp_path, "deep/.e.yaml", "id: e\nprocedure: e()")
    write(tmp_path, "deep/notes.txt", "no task")
    assert list(load_tasks(tmp_path)) == ["a", "c", "b"]


def test_a_hidden_folder_that_is_named_is_read(tmp_path):
    write(tmp_path, ".tasks/a.yaml", "id: a\nprocedure: a()")
    assert list(load_tasks(tmp_path / ".tasks")) == ["a"]


def test_a_file_holds_several_tasks_as_documents_or_as_a_list(tmp_path):
    write(tmp_path, "1.yaml", "id: a\nprocedure: a()\n---\nid: b\nprocedure: b()\n---\n")
    write(tmp_path, "2.yaml", "- {id: c, procedure: c()}\n- id: d\n  procedure: d()\n")
    write(tmp_path, "3.json", '[{"id": "e", "procedure": "e()"}, {"id": "f", "procedure": "f()"}]')
    assert list(load_tasks(tmp_path)) == ["a", "b", "c", "d", "e", "f"]


def test_a_file_that_is_named_and_stands_in_a_named_folder_is_read_once(tmp_path):
    file = write(tmp_path, "a.yaml", "id: a\nprocedure: a()")
    assert list(load_tasks(tmp_path, file)) == ["a"]


def test_load_task_wants_one_task(tmp_path):
    file = write(tmp_path, "a.yaml", "id: a\nprocedure: a()\n---\nid: b\nprocedure: b()")
    with pytest.raises(InputError, match=r"has 2 tasks \(a, b\); name one, as in .*::a"):
        load_task(file)


@pytest.mark.parametrize(
    "text",
    ["on", "no", "yes", "off", "y", "12:30", "2025-01-01", "0123", "1_000", "1.10", "1e3", "0x1F", "true", ".inf"],
)
def test_yaml_leaves_every_text_as_it_stands(tmp_path, text):
    file = write(
        tmp_path,
        "a.yaml",
        f"id: {text}\nprompt: {text}\ntags: [{text}]\nactions: {{{text}: 'set(value=\"{text}\")'}}\n"
        f"start: {text}\naccept: [done]\ntransitions:\n  {text}: {{{text}: done}}\n  done:\n",
    )
    task = load_task(file)
    assert (task.id, task.prompt, task.tags) == (text, text, (text,))
    assert task.automaton.states == (text, "done")
    assert task.automaton.alphabet.names == (text,)
    assert score(task, [Call("set", {"value": text})]).accepted


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        *((text, None) for text in ("~", "null", "Null", "NULL", "")),
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        *[("0", 0), ("-12", -12), ("+7", 7), ("007", 7), ("0o14", 12), ("0xFF", 255), ("!!int '6'", 6)],
        *[("0.0", 0.0), (".5", 0.5), ("-1.", -1.0), ("1e3", 1000.0), ("6.02E+23", 6.02e23)],
        *((text, text) for text in ("on", "no", "y", "12:30", "2024-01-01", "1_000", "0o8", "0b1", "tRue", "e3", ".")),
        *[
            ("'5'", "5"),
            ('"true"', "true"),
            ("'~'", "~"),
            ("!!str 5", "5"),
            ("|-\n        5", "5"),
            (">-\n        1.0", "1.0"),
        ],
    ],
)
def test_a_scalar_of_setup_and_says_has_its_yaml_type(tmp_path, scalar, value):
    """The types are those of YAML 1.2's core schema, also deep inside a value."""
    lines = ["id: a", "prompt: a", "world: farm", "procedure: unlock_safety()", "says:"]
    file = write(tmp_path, "a.yaml", "\n".join([*lines, f"  a: {scalar}", f"  b:\n  - c:\n    - {scalar}\n"]))
    read = load_task(file).says
    assert [type(one) for one in (read["a"], read["b"][0]["c"][0])] == [type(value)] * 2
    assert read == {"a": value, "b": [{"c": [value]}]}


yaml_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff"), max_size=8
)
yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | yaml_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(yaml_texts, inner, max_size=3),
    max_leaves=8,
)


class _TextsQuoted(yaml.SafeDumper):
    """PyYAML writes YAML 1.1, where the texts 1e3 and 0o14 need no quotes."""


_TextsQuoted.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


@example({"\ue000": None, "\U00010000": "\U0001f600"}, False)
@given(st.dictionaries(yaml_texts, yaml_values, max_size=3), st.booleans())
def test_the_same_values_in_yaml_and_in_json_are_the_same(tmp_path_factory, says, flow):
    content = {"id": "a", "prompt": "a", "world": "farm", "procedure": "unlock_safety()", "says": says}
    folder = tmp_path_factory.mktemp("same")
    read = [
        load_task(write(folder, "a.json", json.dumps(content))),
        load_task(write(folder, "a.yaml", yaml.dump(content, Dumper=_TextsQuoted, default_flow_style=flow))),
        load_task(write(folder, "b.yaml", json.dumps(content, ensure_ascii=not flow))),  # JSON is YAML
    ]
    assert [canonical(task.says) for task in read] == [canonical(says)] * 3


@given(st.from_regex(r"[-+.0-9eExXoOa-fA-F_~ntrufls]{1,8}", fullmatch=True))
def test_a_plain_scalar_is_a_number_only_where_yaml_1_2_says_so(tmp_path_factory, scalar):
    """The rules are spelled out here once more, from the specification."""
    assume(scalar != "-")
    if re.fullmatch(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", scalar):
        value: object = int(scalar, 0) if scalar[:2] in ("0o", "0x") else int(scalar)
    elif re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", scalar):
        value = float(scalar)
        assume(value not in (inf, -inf))
    else:
        value = {"~": None, "null": None, "true": True, "false": False}.get(scalar, scalar)
    lines = f"id: {scalar}\nprompt: a\nworld: farm\nprocedure: unlock_safety()\nsays: {{a: {scalar}}}\n"
    if scalar in ("~", "null"):
        lines = lines.replace(f"id: {scalar}", "id: a")
    task = load_task(write(tmp_path_factory.mktemp("plain"), "a.yaml", lines))
    assert (type(task.says["a"]), task.says["a"]) == (type(value), value)
    assert task.id == (scalar if scalar not in ("~", "null") else "a")


def test_setup_from_yaml_is_what_it_is_from_json(tmp_path):
    body = "id: a\nprompt: a\nworld: farm\nprocedure: unlock_safety()\nsetup: {tank: 0.0, at: B}\n"
    content = {"id": "a", "prompt": "a", "world": "farm", "procedure": "unlock_safety()"}
    other = write(tmp_path, "a.json", json.dumps({**content, "setup": {"tank": 0.0, "at": "B"}}))
    task = load_task(write(tmp_path, "a.yaml", body))
    assert task.start == load_task(other).start
    assert (task.start.tank, task.start.at) == (0.0, "B")


def test_only_fields_of_text_are_read_as_text():
    fields = {name: str(field) for name, field in TaskFile.model_json_schema()["properties"].items()}
    free = [name for name, field in fields.items() if "integer" in field or "'additionalProperties': True" in field]
    assert tuple(free) == TYPED


def test_yaml_and_json_of_the_same_task_are_the_same(tmp_path):
    in_yaml = write(tmp_path, "a.yaml", "id: a\nactions: {x: 'x(n=1)', y: 'y()'}\nprocedure: x & y?\nunlisted: ignore")
    content = {"id": "a", "actions": {"x": "x(n=1)", "y": "y()"}, "procedure": "x & y?", "unlisted": "ignore"}
    in_json = write(tmp_path, "a.json", json.dumps(content))
    assert as_json(load_task(in_yaml)) == as_json(load_task(in_json))


def test_a_byte_order_mark_and_windows_lines_change_nothing(tmp_path):
    plain = "id: a\nactions:\n  x: 'x()'\nprocedure: x >> y()\n"
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    assert as_json(load_task(file)) == as_json(load_task(write(tmp_path, "b.yaml", plain)))


def test_a_procedure_may_go_over_several_lines(tmp_path):
    file = write(tmp_path, "a.yaml", "id: a\nprocedure: |\n  a()\n    >> b()\n\n    >> c()\n")
    assert list(load_task(file).automaton.golden_paths()) == [("a", "b", "c")]


def test_of_a_key_given_twice_the_last_counts_and_a_warning_says_so(tmp_path):
    in_yaml = write(tmp_path, "a.yaml", "id: a\nprocedure: a()\nprocedure: b()\n")
    other = write(tmp_path, "a.json", '{"id": "a", "procedure": "a()",\n "procedure": "b()"}')
    for file, place in ((in_yaml, "3:1"), (other, "2:2")):
        task = load_task(file)
        assert list(task.automaton.golden_paths()) == [("b",)]
        assert task.warnings == (f"{file}:{place}: 'procedure' is given twice; the last one counts",)


def test_a_warning_belongs_to_one_task_of_a_list(tmp_path):
    file = write(tmp_path, "a.yaml", "- id: a\n  procedure: a()\n- id: b\n  id: b\n  procedure: b()\n")
    tasks = load_tasks(file)
    assert tasks["a"].warnings == ()
    assert len(tasks["b"].warnings) == 1


def test_an_action_may_be_named_in_reads_neutral_and_forbid(tmp_path):
    file = write(
        tmp_path,
        "a.yaml",
        "id: a\nactions: {go: 'go()', look: 'look()', wait: 'wait()', drop: 'drop()'}\nprocedure: go\n"
        "reads: [look]\nneutral: [wait]\nforbid: [{call: drop, severity: high}]\n",
    )
    scored = score(load_task(file), ["look()", "wait()", "drop()", "go()"])
    assert [(harm.index, harm.kind.value, harm.severity) for harm in scored.harms] == [(2, "forbidden", "high")]


def test_several_errors_in_several_files_are_all_told(tmp_path):
    write(tmp_path, "a.yaml", "id: a\nprocedure: a( >> b(\n")
    write(tmp_path, "b.yaml", "id: b\nactions: {x: 'x(', y: 'y(z=)'}\nprocedure: x >> why\ncolour: red\n")
    write(tmp_path, "c.json", "{")
    write(tmp_path, "good.yaml", "id: good\nprocedure: a()")
    with pytest.raises(InputError) as caught:
        load_tasks(tmp_path)
    places = [(Path(one.file).name, one.line) for one in caught.value.problems]
    assert places == [("a.yaml", 2), ("b.yaml", 2), ("b.yaml", 2), ("b.yaml", 3), ("b.yaml", 4), ("c.json", 1)]
    assert str(caught.value).count("\n") == 5


# The automaton as a task file

TASKS = [
    "procedure: a() >> b() >> c()",
    "procedure: (a(x=1) & a(x=2) & b(...)) >> (c() | d()?)",
    "procedure: a(){2,4} >> b()",
    "procedure: ''",
    (
        "actions: {c: 'check(p=$p) -> {status: \"ok\"}', s: 'send(to=result_of(c, \"id\"), n=approx(2.5, tol=0.1))'}\n"
        "procedure: c >> s\nreads: ['check(...)', 'get_*(...)']\nneutral: ['wait()']\n"
        "forbid: [{call: 'delete(...)', severity: high, why: no}, 'drop()']\n"
        "answer: 'contains(\"x\")'\nunlisted: ignore"
    ),
    "procedure: read(x=1) >> set(x=result_of(read(x=1), 'v'))\nreads: [read(...)]\ntags: [t]\nprompt: p",
    "tools: ['a(x, y=2)', b]\nprocedure: a(x=1) >> b()",
    "tools: []\nprocedure: ''",
    (
        "actions: {a: 'a()', b: 'b()', idle: 'idle()'}\ngolden: simple_paths\nstart: q0\naccept: [q2]\n"
        "transitions: {q0: {a: q1, b: q0}, q1: {b: q0, a: q2}, q2: }"
    ),
    "actions: {a: 'a(x=\"\\n\\u00e9\\\\\\\"<script>]\")'}\nstart: 'q\"0'\naccept: ['']\ntransitions: {'q\"0': {a: ''}}",
]


@pytest.mark.parametrize("body", TASKS)
def test_a_task_written_as_json_loads_again_with_the_same_automaton(tmp_path, body):
    task = load_task(write(tmp_path, "a.yaml", f"id: a\n{body}\n"))
    again = load_task(write(tmp_path, "a.json", as_json(task)))
    assert again.automaton == task.automaton
    assert again.answer_matcher == task.answer_matcher
    assert (again.id, again.prompt, again.world, again.tags) == (task.id, task.prompt, task.world, task.tags)
    assert again.automaton.alphabet.names == task.automaton.alphabet.names
    assert as_json(again) == as_json(task)


# Episodes

texts = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)  # lone surrogates too
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
extras = st.dictionaries(texts.map(lambda name: f"x {name}"), values, max_size=2)
calls = st.builds(
    Call,
    tool=texts,
    arguments=st.dictionaries(texts, values, max_size=3) | values,
    result=st.just(UNANSWERED) | values,
    error=values,
    id=st.none() | texts,
    turn=st.none() | st.integers(0, 1000),
    extra=extras,
)
episodes = st.builds(
    Episode,
    task=texts,
    calls=st.lists(calls, max_size=4).map(tuple),
    agent=st.none() | texts,
    epoch=st.integers(0, 100),
    params=st.dictionaries(texts, values, max_size=2),
    answer=values,
    other_calls=st.lists(calls, max_size=2).map(tuple),
    messages=st.lists(values, max_size=2).map(tuple),
    extra=extras,
)


@given(st.lists(episodes, min_size=1, max_size=3))
def test_episodes_written_and_read_are_the_same(tmp_path_factory, written):
    file = tmp_path_factory.mktemp("episodes") / "e.jsonl"
    file.write_text("\n".join(map(episode_json, written)), encoding="ascii")
    read = load_episodes(file)
    assert read == written
    for one, other in zip(read, written, strict=True):
        assert [call.extra for call in one.calls] == [call.extra for call in other.calls]
        assert [call.result is UNANSWERED for call in one.calls] == [c.result is UNANSWERED for c in other.calls]


EPISODE_SCHEMA = jsonschema.Draft202012Validator(schema("episode"))


@given(episodes)
def test_what_is_written_fits_the_schema_of_episodes(episode):
    EPISODE_SCHEMA.validate(json.loads(episode_json(episode)))


def test_what_an_episode_holds_besides_is_kept(tmp_path):
    line = {"task": "t", "model": "m", "calls": [{"tool": "a", "arguments": {}, "cost": 3}]}
    (episode,) = load_episodes(write(tmp_path, "e.jsonl", json.dumps(line)))
    assert episode.extra == {"model": "m"}
    assert episode.calls[0].extra == {"cost": 3}


def test_load_episodes_tells_of_every_bad_line(tmp_path):
    file = write(tmp_path, "e.jsonl", '{"task": "t", "calls": []}\nnot\n\n{"calls": []}\n')
    with pytest.raises(InputError) as caught:
        load_episodes(file)
    assert [problem.line for problem in caught.value.problems] == [2, 4]


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        load_tasks(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_episodes(tmp_path / "none")


def test_an_episode_of_what_is_not_json_is_not_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        episode_json(Episode("t", (Call("a", {"x": float("nan")}),)))


# Schemas


@pytest.mark.parametrize("kind", ["task", "episode"])
def test_the_schemas_are_schemas(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_the_schemas_take_the_examples():
    import yaml

    for file in sorted((BANK / "tasks").iterdir()):
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema("task"))
    for line in (BANK / "episodes.jsonl").read_text(encoding="utf-8").splitlines():
        jsonschema.validate(json.loads(line), schema("episode"))


@pytest.mark.parametrize("body", TASKS)
def test_the_schema_takes_what_loads(tmp_path, body):
    task = load_task(write(tmp_path, "a.yaml", f"id: a\n{body}\n"))
    jsonschema.validate(json.loads(as_json(task)), schema("task"))


GOOD = {"id": "a", "procedure": "a()"}
WRONG_TASKS = [
    {"procedure": "a()"},
    {"id": "a"},
    {**GOOD, "id": ""},
    {**GOOD, "colour": "red"},
    {**GOOD, "version": 2},
    {**GOOD, "unlisted": "harmful"},
    {**GOOD, "reads": "get()"},
    {**GOOD, "actions": ["a()"]},
    {**GOOD, "actions": None},
    {**GOOD, "forbid": [{"severity": "high"}]},
    {**GOOD, "forbid": [{"call": "a()", "severity": "awful"}]},
    {**GOOD, "start": "q0", "accept": ["q0"], "transitions": {}},
    {"id": "a", "start": "q0", "transitions": {"q0": {"a": "q1"}}},
]
WRONG_EPISODES = [
    {"calls": []},
    {"task": "t"},
    {"task": 3, "calls": []},
    {"task": "t", "calls": {}},
    {"task": "t", "calls": [{"arguments": {}}]},
    {"task": "t", "calls": [{"tool": "a"}]},
    {"task": "t", "calls": [{"tool": 1, "arguments": {}}]},
    {"task": "t", "calls": [], "version": 2},
    {"task": "t", "calls": [], "epoch": "first"},
    {"task": "t", "calls": [], "params": []},
    [],
]


@pytest.mark.parametrize("content", WRONG_TASKS, ids=json.dumps)
def test_the_schema_and_the_reader_refuse_the_same_tasks(tmp_path, content):
    assert not jsonschema.Draft202012Validator(schema("task")).is_valid(content)
    with pytest.raises(InputError):
        load_task(write(tmp_path, "a.json", json.dumps(content)))


@pytest.mark.parametrize("content", WRONG_EPISODES, ids=json.dumps)
def test_the_schema_and_the_reader_refuse_the_same_episodes(tmp_path, content):
    assert not jsonschema.Draft202012Validator(schema("episode")).is_valid(content)
    with pytest.raises(InputError):
        load_episodes(write(tmp_path, "e.jsonl", json.dumps(content)))


# Calls that a task speaks of twice


@pytest.mark.parametrize(
    ("rules", "calls", "said", "kinds"),
    [
        (
            "forbid: ['b()']",
            ["b()", "a()", "b()"],
            ["'b()' also fits the step 'b'; the step wins, so that such a call is never forbidden"],
            ["out_of_order"],
        ),
        ("forbid: ['*(...)']", ["c()"], ["'*(...)' also fits the step 'a'", "the step 'b'"], ["forbidden"]),
        ("reads: ['b()']", ["b()", "a()", "b()", "b()"], [], []),
        ("reads: ['b()']\nforbid: ['b()']", ["b()", "a()", "b()", "b()"], ["'b()' also fits the step 'b'"], []),
        (
            "reads: ['c()']\nforbid: ['c()']",
            ["c()"],
            ["'c()' is forbidden too; forbid wins, so that the call is harmful"],
            ["forbidden"],
        ),
        (
            "neutral: ['c(x=1)']\nforbid: ['c(...)']",
            ["c(x=1)"],
            ["'c(x=1)' is forbidden too by 'c(...)'; forbid wins"],
            ["forbidden"],
        ),
        (
            "reads: ['c()']\nneutral: ['c()']",
            ["c()"],
            ["'c()' is in reads too; both make the call a self-loop, so one is enough"],
            [],
        ),
        ("reads: ['*(...)']\nforbid: ['c()']", ["b()", "c()"], [], ["forbidden"]),
        ("reads: ['c(...)']\nneutral: ['c()']\nforbid: ['a(x=1)']", ["c()", "a(x=1)"], [], ["forbidden"]),
    ],
)
def test_a_call_that_the_task_speaks_of_twice_is_a_warning_that_says_what_wins(tmp_path, rules, calls, said, kinds):
    file = write(tmp_path, "a.yaml", f"id: a\nprocedure: a() >> b()\n{rules}\n")
    task = load_task(file)
    assert len(task.warnings) == len(said)
    for warning, message in zip(task.warnings, said, strict=True):
        assert re.match(rf"{file}:[345]:\d+: ", warning)
        assert message in warning
    assert [harm.kind.value for harm in score(task, calls).harms] == kinds


def test_a_step_that_wants_a_result_leaves_others_to_forbid(tmp_path):
    task = load_task(write(tmp_path, "a.yaml", "id: a\nprocedure: 'a() -> {ok: true}'\nforbid: ['a()']\n"))
    assert task.warnings == ()
    calls = [Call("a", {}, {"ok": True}), Call("a", {}, {"ok": False})]
    assert [harm.kind.value for harm in score(task, calls).harms] == ["forbidden"]


def test_no_task_of_a_world_speaks_of_a_call_twice():
    for name in installed_worlds():
        assert not [id_ for id_, task in world(name).tasks().items() if task.automaton.alphabet.overlaps]

"""Task files: reading them from files and text, and writing them."""

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

from corepath import Call, InputError, Task, load_task, load_tasks, parse_tasks, score, seq, tool
from corepath.files.schema import TYPED, TaskFile, schema
from corepath.files.task_writer import as_json, as_yaml
from corepath.values import canonical
from corepath.world.discovery import installed_worlds, world

BANK = Path(__file__).parents[2] / "examples" / "bank"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


# Files and folders


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
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"), max_size=8
)
yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | yaml_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(yaml_texts, inner, max_size=3),
    max_leaves=8,
)


class _TextsQuoted(yaml.SafeDumper):
    """Quotes every text: PyYAML writes YAML 1.1, in which 1e3 and 0o14 need no quotes."""


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
    """The rules are repeated here from the specification."""
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


def test_several_errors_in_several_files_are_all_reported(tmp_path):
    write(tmp_path, "a.yaml", "id: a\nprocedure: a( >> b(\n")
    write(tmp_path, "b.yaml", "id: b\nactions: {x: 'x(', y: 'y(z=)'}\nprocedure: x >> why\ncolour: red\n")
    write(tmp_path, "c.json", "{")
    write(tmp_path, "good.yaml", "id: good\nprocedure: a()")
    with pytest.raises(InputError) as caught:
        load_tasks(tmp_path)
    places = [(Path(one.file).name, one.line) for one in caught.value.problems]
    assert places == [("a.yaml", 2), ("b.yaml", 2), ("b.yaml", 2), ("b.yaml", 3), ("b.yaml", 4), ("c.json", 1)]
    assert str(caught.value).count("\n") == 5


# Text


def test_tasks_in_text_are_those_of_a_file_with_that_text(tmp_path):
    in_yaml = "id: a\nactions: {x: 'x(n=1)'}\nprocedure: x & y()?\n---\n- {id: b, procedure: b()}\n"
    in_json = '[{"id": "a", "procedure": "a()"},\n\t{"id": "b", "procedure": "b()"}]'
    for text, name in ((in_yaml, "a.yaml"), (in_json, "a.json")):
        tasks = parse_tasks(text)
        assert list(tasks) == ["a", "b"]
        assert as_json(*tasks.values()) == as_json(*load_tasks(write(tmp_path, name, text)).values())
        assert as_json(*tasks.values()) == as_json(*parse_tasks(f"\ufeff{text}").values())


def test_json_text_may_hold_what_yaml_cannot_read():
    """YAML allows no tab before a flow mapping's key, and no key of more than 1,024 characters."""
    name = "n" * 2_000
    (task,) = parse_tasks(json.dumps({"id": "a", "actions": {name: "a()"}, "procedure": name}, indent="\t")).values()
    assert task.automaton.alphabet.names == (name,)


def test_text_in_flow_style_is_yaml():
    assert list(parse_tasks("{id: a, procedure: a()}")) == list(parse_tasks("[{id: a, procedure: a()}]")) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: a\nprocedure: a(x=)\n", "draft:2:16: expected a value, not ')'"),
        ("id: a\nid: b\nprocedur: a()\n", "draft:3:1: no field 'procedur'; did you mean 'procedure'?"),
        ('{"id": "a",\n "procedure": ["a()"]}', "draft:2:2: expected text, not a list; write the steps as a >> b"),
        ('{"id": "a"', "draft:1:11: not YAML: expected ',' or '}', but got '<stream end>'"),
        ("id: a\nprocedure: a()\n---\nid: a\nprocedure: a()\n", "draft:4:5: task 'a' is already in draft:1; give this"),
        ("", "draft:1:1: no task here; a task has at least an id and a procedure"),
        ("tasks.yaml", "draft:1:1: a task is a mapping with an id and a procedure"),
    ],
)
def test_an_error_in_text_is_reported_with_the_name_line_and_column(text, message):
    with pytest.raises(InputError) as caught:
        parse_tasks(text, name="draft")
    assert str(caught.value).startswith(message)


def test_text_without_a_name_is_called_text_in_errors_and_warnings():
    with pytest.raises(InputError, match=r"^text:1:1: 'procedure' is missing"):
        parse_tasks("id: a")
    (task,) = parse_tasks("id: a\nid: b\nprocedure: b()").values()
    assert task.warnings == ("text:2:1: 'id' is given twice; the last one counts",)


# Writing

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


@pytest.mark.parametrize("body", TASKS)
def test_the_schema_takes_what_loads(tmp_path, body):
    task = load_task(write(tmp_path, "a.yaml", f"id: a\n{body}\n"))
    jsonschema.validate(json.loads(as_json(task)), schema("task"))


# Calls that two fields of a task cover


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


def test_characters_that_are_not_seen_are_escaped_and_read_back(tmp_path):
    """What an agent wrote may turn the text of a terminal around."""
    calls = [tool("pay\u202e").where(**{"x": "\u202eevil\u200b", "b\u2066c": 1}), tool("send")(to="\u200fAnn\nBob")]
    task = Task("shop/\u202ex", procedure=seq(*calls), prompt="One\u202e.\nTwo.")
    text = as_yaml(task)
    assert text.replace("\n", "").isprintable()
    (tmp_path / "task.yaml").write_text(text, encoding="utf-8")
    read = load_task(tmp_path / "task.yaml")
    assert (read.id, read.prompt, read.procedure) == (task.id, task.prompt, task.procedure)

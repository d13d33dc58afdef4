"""Every mistake in a task file is reported with its place and a correction, and no file can do harm."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from corepath import InputError, load_task, load_tasks
from corepath.automaton.derivatives import MOST_STATES

# The character ¦ marks where an error should be found; it is removed before the file is written.
MARK = "¦"


def remove_marks(text: str) -> tuple[str, list[str]]:
    """The text without its marks, and the line:column of each."""
    places = []
    while MARK in text:
        before, _, after = text.partition(MARK)
        places.append(f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}")
        text = before + after
    return text, places


def problems(folder: Path, text: str, name: str = "task.yaml") -> tuple[list[str], list[str]]:
    """The places and messages of all problems in a task file."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_tasks(folder / name)
    assert all(problem.file == str(folder / name) for problem in caught.value.problems)
    return (
        [f"{problem.line}:{problem.column}" for problem in caught.value.problems],
        [problem.message for problem in caught.value.problems],
    )


OUTRIGHT = "id: a\nactions: {a: 'a()', b: 'b()'}\n"

WRONG_YAML = {
    "a list that is not closed": ("id: a\nreads: [get(...)\n¦", ["not YAML: expected ',' or ']'"]),
    "a list that is not closed says where it begins": ("id: a\nreads: [a(...)\n¦", ["sequence that begins in line 2"]),
    "a tab for an indent": ("id: a\nactions:\n¦\ta: x()\n", ["indent with spaces"]),
    "a control character": ("id: a\nprompt: 'x¦\x07'\n", [r"the character '\x07' is not allowed in YAML"]),
    "an alias of nothing": ("id: a\nprocedure: ¦*x\n", ["undefined alias"]),
    "a field by a wrong name": ("id: a\n¦procedur: a()\n", ["no field 'procedur'; did you mean 'procedure'?"]),
    "a field of forbid by a wrong name": (
        "id: a\nprocedure: a()\nforbid:\n  - call: b()\n    ¦wy: x\n",
        ["no field 'wy'; did you mean 'why'?"],
    ),
    "no id": ("¦procedure: a()\n", ["'id' is missing"]),
    "an empty id": ("¦id: ''\nprocedure: a()\n", ["expected a text that is not empty"]),
    "no procedure": ("¦id: a\n", ["'procedure' is missing: say what may be done, as in create >> deposit"]),
    "a text for a list": ("id: a\nreads: ¦get()\nprocedure: a()\n", ["expected a list, not text"]),
    "a list for a mapping": ("id: a\n¦actions: [a]\nprocedure: a()\n", ["expected a mapping, not a list"]),
    "nothing for a mapping": ("id: a\n¦actions:\nprocedure: a()\n", ["expected a mapping, but nothing is there"]),
    "a mapping for a text": ("id: a\nprocedure: a()\nreads: [¦{a: b}]\n", ["expected text, not a mapping"]),
    "a word that is not one of two": (
        "id: a\nprocedure: a()\nunlisted: ¦harmful\n",
        ["expected 'harm', 'ignore' or 'ignore_other_tools', not 'harmful'"],
    ),
    "a version that is no number": ("version: ¦one\nid: a\nprocedure: a()\n", ["expected a whole number, not 'one'"]),
    "a version in words": ("version: ¦true\nid: a\nprocedure: a()\n", ["expected a whole number, not true"]),
    "a number of calls that is text": (
        "id: a\nprocedure: a()\nmost_calls: ¦1_000\n",
        ["expected a whole number, not '1_000'"],
    ),
    "numbers that are no JSON": (
        "id: a\nprocedure: a()\nsetup:\n  a: [1, ¦.inf, {b: ¦-.INF}]\n  c: ¦.nan\n  d: ¦1e999\n",
        [".inf is not JSON; use a number", "-.INF is not JSON", ".nan is not JSON", "the number 1e999 is too large"],
    ),
    "a tag that does not fit": ("id: a\nprocedure: a()\nsays: {a: ¦!!int b}\n", ["'b' is not a valid !!int"]),
    "another version": ("version: ¦2\nid: a\nnews: x\n", ["version 2 is not known here; this corepath reads"]),
    "a tool of the tools for an action": (
        "id: a\ntools: [pay]\nactions: {say: 'say()'}\nprocedure: ¦pay >> say\n",
        ["no action 'pay'; to call the tool pay write pay()"],
    ),
    "a tool of the world for an action": (
        "id: a\nworld: farm\nprocedure: ¦refill_tank\n",
        ["no action 'refill_tank'; to call the tool refill_tank write refill_tank()"],
    ),
    "a tool of the reads for an action": (
        "id: a\nactions: {b: 'b()'}\nprocedure: b >> ¦look\nreads: ['look(...)']\n",
        ["to call the tool look write look()"],
    ),
    "a setup of other types": (
        "id: a\nworld: farm\nprocedure: refill_tank()\nsetup:\n  tank: ¦full\n  at: B\n  tnk: ¦1\n",
        ["'tank' must be like 20.0, not \"full\"", "has no field 'tnk'; did you mean 'tank'?"],
    ),
    "a number in quotes in setup": (
        "id: a\nworld: farm\nprocedure: refill_tank()\nsetup: {tank: ¦'5'}\n",
        ["'tank' must be like 20.0, not \"5\""],
    ),
    "a field under another name": ("id: a\n¦steps: a()\nprocedure: a()\n", ["no field 'steps'; write 'procedure'"]),
    "an argument with a colon": ("id: a\nprocedure: 'f(x¦: 1)'\n", ["an argument is written with '=', as in f(x=…)"]),
    "one call for a list": (
        "id: a\nprocedure: a()\nforbid: ¦c()\n",
        ["expected a list, not text; write ['c()']"],
    ),
    "one call for a pair": (
        "id: a\nprocedure: a()\npolicies: [{¦before: ['a()'], because: x}]\n",
        ["expected two calls, not 1"],
    ),
    "a field of a decoy by a wrong name": (
        "id: a\nprocedure: a()\ndecoys: {¦x: {¦call: ['a()'], harm: null}}\n",
        ["'calls' is missing", "no field 'call'; did you mean 'calls'?"],
    ),
    "no calls at all": ("id: a\nprocedure: a()\nmost_calls: ¦0\n", ["expected a number of 1 or more, not 0"]),
    "a condition in a procedure": (
        "id: a\nprocedure: ¦if a() then b()\n",
        ["there is no 'if' in a procedure; a choice is written (a >> b) | c"],
    ),
    "a procedure as a list": (
        "id: a\n¦procedure: [a(), b()]\n",
        ["expected text, not a list; write the steps as a >> b"],
    ),
    "a value missing in a call": ("id: a\nprocedure: 'a(x=¦)'\n", ["expected a value, not ')'"]),
    "a call in double quotes": ('id: a\nprocedure: "a(x=\\"é\\", y=¦)"\n', ["expected a value, not ')'"]),
    "a call in single quotes with a quote": ("id: a\nprocedure: 'a(x=\"it''s\", y=¦)'\n", ["expected a value"]),
    "a call without quotes": ("id: a\nprocedure: a() >> b(x=¦)\n", ["expected a value, not ')'"]),
    "a call over several lines": ("id: a\nprocedure: a()\n   >> b()\n\n   >> c(x=¦)\n", ["expected a value"]),
    "a procedure as a block": ("id: a\nprocedure: |\n  a()\n    >> b(x=¦)\n", ["expected a value"]),
    "a procedure as a folded block": ("id: a\nprocedure: >-\n\n  a()\n  >> b()\n  >> c(x=¦)\n", ["expected a value"]),
    "a text without quotes": ("id: a\nprocedure: 'a(to=¦Bob)'\n", ['a text is written in quotes: "Bob"']),
    "a matcher by a wrong name": ("id: a\nprocedure: 'a(x=¦aprox(3))'\n", ["did you mean 'approx'?"]),
    "a call in reads": ("id: a\nprocedure: a()\nreads: ['b(...)', 'c(¦x)']\n", ["arguments have names: c(name=value)"]),
    "a call in forbid": ("id: a\nprocedure: a()\nforbid: [{call: 'c(¦x)'}, 'd(x=¦)']\n", ["arguments", "expected"]),
    "a condition on the answer": ("id: a\nprocedure: a()\nanswer: 'contains(¦'\n", ["expected a value, not the end"]),
    "a tool": ("id: a\nprocedure: a()\ntools: ['a(x=¦)']\n", ["expected a value"]),
    "a call cut at a hash": ('id: a\nactions:\n  p: ¦pay(to="Bob #1")\nprocedure: p', ["YAML ended this text at '#'"]),
    "a call cut at a comma": ("id: a\nprocedure: a()\nreads: [¦get(x=1, y=2), b()]\n", ["YAML ended this text at ','"]),
    "a call cut at a comma among actions": (
        "id: a\nactions: {p: pay(x=1, ¦y=2)}\nprocedure: p\n",
        ["YAML ended a call at ',' and made a field of the rest, 'y=2)'; put the whole call in single quotes"],
    ),
    "a call cut at a comma in forbid": (
        "id: a\nprocedure: a()\nforbid: [{call: pay(x=1, ¦y=2)}]\n",
        ["YAML ended a call at ','"],
    ),
    "a call cut at a colon": (
        "id: a\nactions:\n  p: pay() -> {status¦: 3}\nprocedure: p\n",
        ["a call goes in single quotes"],
    ),
    "a call cut at a colon in a list": (
        "id: a\nprocedure: a()\nreads: [¦get(x: 1)]\n",
        ["a call with ':' or ',' goes in single quotes"],
    ),
    "a whole call before a comment is not cut": ("id: a\nprocedure: a(¦x) # no name\n", ["arguments have names"]),
    "an unknown action": (
        "id: a\nactions: {create: 'a()', deposit: 'b()'}\nprocedure: create >> ¦deposti\n",
        ["no action 'deposti'; did you mean 'deposit'?"],
    ),
    "an action that does not read is told of once": (
        "id: a\nactions:\n  x: 'x(¦'\n  y: 'y(of=result_of(x))'\nprocedure: x >> y >> ¦z\n",
        ["the arguments of x have no closing", "no action 'z'"],
    ),
    "a field and a call are told of together": (
        "id: a\n¦colour: red\nactions: {x: 'x(y=¦)'}\nprocedure: x >> ¦why\n",
        ["no field 'colour'", "expected a value", "no action 'why'"],
    ),
    "result_of in a circle": (
        "id: a\nactions:\n  x: ¦'x(v=result_of(y))'\n  y: 'y(v=result_of(x))'\nprocedure: x >> y\n",
        ["result_of goes in a circle: x → y → x"],
    ),
    "an unknown state to go to": (
        OUTRIGHT + "start: q0\naccept: [q1]\ntransitions:\n  q0: {a: q1, b: ¦q11}\n  q1:\n",
        ["'b' in state 'q0' leads to 'q11', which is no state; did you mean 'q1'?"],
    ),
    "no golden path": (
        OUTRIGHT + "start: q0\n¦accept: [q1]\ntransitions:\n  q0: {a: q0}\n  ¦q1: {b: q1}\n",
        ["no golden path: no progress leads from start to an accepting state", "state 'q1' is unreachable"],
    ),
    "an unknown state to start in": (
        OUTRIGHT + "start: ¦q\naccept: [q1]\ntransitions: {q0: {a: q1}}\n",
        ["start: no state 'q'; did you mean 'q0'?"],
    ),
    "an unknown state to accept": (
        OUTRIGHT + "start: q0\naccept: [q1, ¦q2]\ntransitions: {q0: {a: q1}}\n",
        ["accept: no state 'q2'"],
    ),
    "an unreachable state": (
        OUTRIGHT + "start: q0\naccept: [q1]\ntransitions:\n  q0: {a: q1}\n  ¦q9:\n    a: q1\n",
        ["state 'q9' is unreachable: no progress leads to it from 'q0'"],
    ),
    "a dead state": (
        OUTRIGHT + "start: q0\naccept: [q1]\ntransitions:\n  q0: {a: q1, b: q2}\n  ¦q2:\n    b: q2\n",
        ["state 'q2' is dead: no progress leads from it to an accepting state"],
    ),
    "nothing to accept": (
        OUTRIGHT + "start: q0\n¦accept: []\ntransitions: {q0: {a: q1}, q1: }\n",
        ["no golden path can end; name at least one accepting state"],
    ),
    "progress in a circle": (
        OUTRIGHT + "start: q0\naccept: [q1]\n¦transitions:\n  q0: {a: q1}\n  q1: {b: q0}\n",
        ["progress goes in a circle: q0 → q1 → q0; undo it, or ask for golden: simple_paths"],
    ),
    "no start beside transitions": (
        OUTRIGHT + "¦accept: [q0]\ntransitions: {q0: {}}\n",
        ["'start' is missing beside"],
    ),
    "a procedure and an automaton": (
        OUTRIGHT + "procedure: a >> b\nstart: ¦q0\naccept: [q0]\ntransitions: {q0: }\n",
        ["'start' and 'procedure' are two ways to say the same; keep one"],
    ),
    "a shadowed action": (
        "id: a\nactions:\n  any: 'pay(...)'\n  bob: ¦'pay(to=\"Bob\")'\nprocedure: any >> bob\n",
        ["action 'bob' is shadowed: every call it takes, 'any' (pay(...)) takes before it"],
    ),
    "a shadowed action without a name": (
        "id: a\nprocedure: ¦'pay(...) >> pay(to=\"Bob\")'\n",
        ["is shadowed: every call it takes, 'pay(...)'"],
    ),
    "an expression that RE2 refuses": (
        "id: a\nprocedure: 'a(x=¦regex(\"(?=a)b\"))'\n",
        ["RE2 syntax: no look-around, no back-references"],
    ),
    "a tool that the list lacks": (
        "id: a\ntools: ['pay(to)', send]\nactions:\n  p: ¦'snd()'\nprocedure: p\n",
        ["no tool 'snd'; did you mean 'send'?"],
    ),
    "a read that no tool fits": (
        "id: a\ntools: [pay]\nprocedure: pay()\nreads: ['pay()', ¦'get_*(...)']\n",
        ["no tool fits 'get_*(...)'; there is pay"],
    ),
    "an argument that the tool lacks": (
        "id: a\ntools: ['pay(to)']\nactions:\n  p: ¦'pay(too=1)'\nprocedure: p\n",
        ["tool 'pay' has no argument 'too'; it has to"],
    ),
    "golden with a procedure": (
        "id: a\nprocedure: a()\ngolden: ¦simple_paths\n",
        ["'golden' goes with 'transitions'; a procedure has no circles"],
    ),
    "a tag that calls Python": (
        "id: a\nprompt: ¦!!python/object/apply:os.system ['touch hurt']\nprocedure: a()\n",
        ["the tag !!python/object/apply:os.system is not allowed"],
    ),
    "a tag that calls Python where a list may stand": (
        "id: a\ntags: ¦!!python/object/apply:os.system ['touch hurt']\nprocedure: a()\n",
        ["the tag !!python/object/apply:os.system is not allowed"],
    ),
    "a tag that names a Python function": (
        "id: a\nprompt: ¦!!python/name:os.system\nprocedure: a()\n",
        ["the tag !!python/name:os.system is not allowed"],
    ),
    "a tag on a key": (
        "id: a\nactions:\n  ? ¦!!python/name:os.system x\n  : 'x()'\nprocedure: a()\n",
        ["the tag !!python/name:os.system is not allowed"],
    ),
    "a tag of another type": ("id: a\nprompt: ¦!!int three\nprocedure: a()\n", ["'three' is not a valid !!int"]),
    "a key that is a list": ("id: a\nactions: {¦[x]: 'x()'}\nprocedure: a()\n", ["a key must be text"]),
    "no mapping": ("¦just text\n", ["a task is a mapping with an id and a procedure"]),
    "no mapping in a list": ("- id: a\n  procedure: a()\n- ¦3\n", ["a task is a mapping"]),
    "the second document": ("id: a\nprocedure: a()\n---\nid: b\nprocedure: b(x=¦)\n", ["expected a value"]),
    "the second of a list": ("- id: a\n  procedure: a()\n- id: b\n  procedure: b(x=¦)\n", ["expected a value"]),
    "two tasks with one id": ("id: a\nprocedure: a()\n---\nid: ¦a\nprocedure: a()\n", ["task.yaml:1; give this"]),
    "an empty file": (f"{MARK}", ["no task here; a task has at least an id and a procedure"]),
    "a comment only": (f"{MARK}# later\n", ["no task here"]),
    "an empty list": (f"{MARK}[]\n", ["no task here"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_YAML)
def test_an_error_in_yaml_is_reported_with_its_place(tmp_path, case):
    marked, expected = WRONG_YAML[case]
    text, places = remove_marks(marked)
    found, messages = problems(tmp_path, text)
    assert (found, len(messages)) == (places, len(expected)), messages
    for message, part in zip(messages, expected, strict=True):
        assert part in message


@pytest.mark.parametrize("case", WRONG_YAML)
def test_an_error_has_the_same_place_in_a_file_with_windows_lines(tmp_path, case):
    marked, _ = WRONG_YAML[case]
    text, places = remove_marks(marked)
    file = tmp_path / "task.yaml"
    file.write_bytes(text.replace("\n", "\r\n").encode())
    with pytest.raises(InputError) as caught:
        load_tasks(file)
    assert [f"{one.line}:{one.column}" for one in caught.value.problems] == places


WRONG_JSON = {
    "a comma too few": ('{"id": "a"\n ¦"procedure": "a()"}', ["not JSON: Expecting ',' delimiter"]),
    "no end": ('{"id": "a",\n "procedure": ¦"a()', ["not JSON: Unterminated string"]),
    "not a number": ('¦{"id": NaN}', ["NaN is not JSON; use a number, a text or null"]),
    "a field by a wrong name": (
        '{"id": "a",\n\t¦"procedur": "a()"}',
        ["no field 'procedur'; did you mean 'procedure'?"],
    ),
    "a call past escapes": ('{"id": "a", "procedure": "a(x=\\"\\u00e9\\", y=¦)"}', ["expected a value, not ')'"]),
    "the second of a list": (
        '[{"id": "a", "procedure": "a()"},\n {"id": "b", "procedure": "b(x=¦)"}]',
        ["expected a value, not ')'"],
    ),
    "a list for a text": ('{"id": "a", ¦"procedure": ["a"]}', ["expected text, not a list"]),
    "another version": ('{"version": ¦2, "id": "a"}', ["version 2 is not known here"]),
    "an empty list": ("¦[]", ["no task here"]),
    "nested deeply": ("¦" + "[" * 100_000, ["nested deeper than 200 levels"]),
}


@pytest.mark.parametrize("case", WRONG_JSON)
def test_an_error_in_json_is_reported_with_its_place(tmp_path, case):
    marked, expected = WRONG_JSON[case]
    text, places = remove_marks(marked)
    found, messages = problems(tmp_path, text, "task.json")
    assert (found, len(messages)) == (places, len(expected)), messages
    for message, part in zip(messages, expected, strict=True):
        assert part in message


def test_an_unknown_action_in_transitions_is_reported_with_its_line(tmp_path):
    text = OUTRIGHT + "start: q0\naccept: [q1]\ntransitions:\n  q0:\n    a: q1\n    bb: q1\n  q1:\n"
    places, messages = problems(tmp_path, text)
    assert [place.split(":")[0] for place in places] == ["8"]
    assert messages == ["state 'q0' has a transition by 'bb', which is no action; did you mean 'b'?"]


def test_two_tasks_with_one_id_in_two_files_name_both_places(tmp_path):
    (tmp_path / "a.yaml").write_text("id: same\nprocedure: a()", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("prompt: x\nid: same\nprocedure: a()", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_tasks(tmp_path)
    a, b = tmp_path / "a.yaml", tmp_path / "b.yaml"
    assert str(caught.value) == f"{b}:2:5: task 'same' is already in {a}:1; give this one another id"


def test_bytes_that_are_not_utf8_are_reported_with_their_place(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"id: a\nprompt: caf\xe9\nprocedure: a()\n")
    with pytest.raises(InputError) as caught:
        load_task(file)
    assert str(caught.value) == f"{file}:2:12: not UTF-8: the byte 0xe9; save the file as UTF-8"


def test_a_folder_without_task_files_says_what_they_end_in(tmp_path):
    (tmp_path / "task.txt").write_text("id: a", encoding="utf-8")
    with pytest.raises(InputError, match=r"no task files here; they end in \.yaml, \.yml or \.json"):
        load_tasks(tmp_path)


def test_a_folder_of_a_run_says_why_no_tasks_are_looked_for(tmp_path):
    (tmp_path / "task.yaml").write_text("id: a\nprocedure: a()\n", encoding="utf-8")
    (tmp_path / "episodes.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"episodes\.jsonl makes it the folder of a run; name the task files"):
        load_tasks(tmp_path)


def test_a_procedure_past_the_limit_of_states_names_the_limit(tmp_path):
    steps = " & ".join(f"{letter}()" for letter in string.ascii_lowercase[:18])
    places, messages = problems(tmp_path, f"id: a\nprocedure: {steps}\n")
    assert places == ["2:12"]
    assert f"more than {MOST_STATES:,} states" in messages[0]


def test_aliases_that_multiply_are_refused(tmp_path):
    lines = ["id: a", "procedure: a()", "x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 30)]
    _, messages = problems(tmp_path, "\n".join(lines))
    assert len(messages) == 1
    assert "more than 1,000,000 values" in messages[0]


def test_an_alias_of_itself_is_refused(tmp_path):
    _, messages = problems(tmp_path, "&x\nid: a\ntags: [*x]\nprocedure: a()\n")
    assert "nested deeper than 100 levels" in messages[0]


def test_yaml_nested_past_all_measure_is_refused(tmp_path):
    places, messages = problems(tmp_path, "[" * 50_000)
    assert (places, messages) == (["1:1"], ["nested too deeply to be a task"])

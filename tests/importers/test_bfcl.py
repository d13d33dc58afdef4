"""BFCL multi-turn results: written by hand, written by the benchmark's own package, and broken."""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corepath import UNANSWERED, Call, load_tasks, score
from corepath.authoring.derive import Expected, ExpectedCall, derive, named_arguments
from corepath.authoring.tool_file_warnings import unused_entries
from corepath.episode import FAILED_OUTSIDE
from corepath.errors import Problem, TaskError
from corepath.files.tool_file import Tools, load_tools
from corepath.importers import import_trace
from corepath.importers.expected_calls import read_expected_calls
from corepath.importers.formats import bfcl
from corepath.notation.call import REQUIRED
from corepath.notation.parser import tool

from .conversations import ALL
from .damage import damaged, outcomes, read, survives, write
from .tau_runs import TAU, TAU2


def all_of(call: Call) -> tuple[Any, ...]:
    return call.tool, call.arguments, call.result, call.error, call.turn


ENTRY: dict[str, Any] = {
    "id": "multi_turn_base_0",
    "result": [
        [[{"cd": '{"folder": "document"}'}, {"ls": "{}"}], "There is nothing."],
        [[{"mv": '{"source": "a"'}]],
        [[{"rm": '{"file_name": "a"}'}], "Done."],
    ],
    "input_token_count": [[10, 20], [30], [40, 50]],
    "inference_log": [
        [{"role": "state_info", "class_name": "GorillaFileSystem", "content": {}}],
        {
            "begin_of_turn_query": [{"role": "user", "content": "Look."}],
            "step_1": [
                {"role": "assistant", "content": "There is nothing."},
                {"role": "handler_log", "content": "Error decoding the model response.", "error": "no calls"},
            ],
            "step_0": [
                {"role": "assistant", "content": [{"cd": '{"folder": "document"}'}, {"ls": "{}"}]},
                {"role": "handler_log", "model_response_decoded": ["cd(folder='document')", "ls()"]},
                {"role": "tool", "content": '{"current_working_directory": "document"}'},
                {"role": "tool", "content": '{"error": "ls: not allowed"}'},
            ],
        },
        {
            "begin_of_turn_query": [],
            "step_0": [
                {"role": "assistant", "content": [{"mv": '{"source": "a"'}]},
                {"role": "handler_log", "content": "Error decoding", "error": "Expecting ',' delimiter"},
            ],
        },
        {
            "begin_of_turn_query": [],
            "step_0": [
                {"role": "assistant", "content": [{"rm": '{"file_name": "a"}'}]},
                {"role": "handler_log", "model_response_decoded": ["rm(file_name='a')"]},
                {"role": "tool", "content": "Error during execution: name 'rm' is not defined"},
            ],
            "step_1": [
                {"role": "assistant", "content": "Done."},
                {"role": "handler_log", "content": "Empty response", "model_response_decoded": []},
            ],
        },
    ],
}


def test_an_entry_with_its_log(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, ENTRY), "bfcl")
    assert [all_of(call) for call in episode.calls] == [
        ("cd", {"folder": "document"}, {"current_working_directory": "document"}, None, 1),
        ("ls", {}, UNANSWERED, "ls: not allowed", 1),
        ("mv", '{"source": "a"', UNANSWERED, "Expecting ',' delimiter", 3),
        ("rm", {"file_name": "a"}, UNANSWERED, "Error during execution: name 'rm' is not defined", 4),
    ]
    assert (episode.task, episode.answer) == ("bfcl/multi_turn_base_0", "Done.")
    assert episode.extra["metadata"] == {"id": "multi_turn_base_0", "input_token_count": [[10, 20], [30], [40, 50]]}


@pytest.mark.parametrize(
    ("content", "failed"),
    [
        ("Error during execution: name 'rm' is not defined", True),
        ("Error: not signed in", True),
        ("['Error: User not authenticated. Please log in to view the watchlist.']", True),
        ('{"error": "no such file"}', True),
        ('{"error": null, "ok": true}', False),
        ("['NVDA']", False),
        ("No error", False),
        ('{"file_content": "Error: this is text"}', False),
    ],
)
def test_an_answer_that_begins_with_error_or_has_one_is_an_error(content: str, failed: bool, tmp_path: Path) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["inference_log"][-1]["step_0"][2]["content"] = content
    (episode,) = read(write(tmp_path, entry), "bfcl")
    assert episode.calls[-1].failed is failed


def test_without_a_log_the_calls_stay_unanswered(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, {"id": ENTRY["id"], "result": ENTRY["result"]}), "bfcl")
    assert [(call.tool, call.result) for call in episode.calls] == [
        ("cd", UNANSWERED), ("ls", UNANSWERED), ("mv", UNANSWERED), ("rm", UNANSWERED),
    ]  # fmt: skip
    assert episode.answer == "Done."


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[cd(folder='x'), ls(a=True)]", [("cd", {"folder": "x"}), ("ls", {"a": True})]),
        ("```python\n[sort(names=('b', 'a'))]\n```", [("sort", {"names": ["b", "a"]})]),
        ("post.tweet(text='it''s', n=-1.5)", [("post.tweet", {"text": "its", "n": -1.5})]),
        ("[sort('x')]", [("sort", "sort('x')")]),
        ("[f(x=g(1))]", [("f", "f(x=g(1))")]),
        ("[f(**{'a': 1})]", [("f", "f(**{'a': 1})")]),
        ("[f(x=__import__('os').system('true'))]", [("f", "f(x=__import__('os').system('true'))")]),
        ("[f(pattern='\\d')]", [("f", {"pattern": "\\d"})]),
        ("[f(x=1)", [("f", "[f(x=1)")]),
        ("<think>Hm.</think>\n[cd(folder='x')]", [("cd", {"folder": "x"})]),
        ('<tool_call>\n{"name": "cd", "arguments": {"folder": "x"}}\n</tool_call>', [("cd", {"folder": "x"})]),
        (
            'I look.\n<tool_call>{"name": "cd", "arguments": {}}</tool_call><tool_call>{"name": "ls", "arg',
            [("cd", {}), ("ls", '{"name": "ls", "arg')],
        ),
        ('{"name": "cd", "parameters": {"folder": "x"}}', [("cd", {"folder": "x"})]),
        ('[{"name": "a", "arguments": {}}, {"name": "b", "arguments": "{"}]', [("a", {}), ("b", "{")]),
        ('{"name": "cd", "parameters": {"folder":', [("cd", '{"name": "cd", "parameters": {"folder":')]),
        ('{"name": "cd"} is what I would call.', []),
        ("ok (fine)", []),
        ("I am done.", []),
        ("[1, f()]", []),
        ("", []),
        ("[]", []),
    ],
)
def test_calls_in_words_are_taken_apart_and_never_run(text: str, calls: list[tuple[str, Any]]) -> None:
    (episode,) = bfcl.read_record({"id": "multi_turn_base_1", "result": [[text]]})
    assert [(call.tool, call.arguments) for call in episode.calls] == calls
    assert episode.answer == (None if calls or not text else text)


def test_prose_that_ends_a_turn_is_no_call(tmp_path: Path) -> None:
    """Prompting models end a turn with words, which stand in lists and in what the benchmark decoded."""
    prose = ["Perfect! I've moved the file.", "Great, (all) done.", "I (the assistant) am done.", "Done"]
    for words in prose:
        (episode,) = bfcl.read_record({"id": "multi_turn_base_1", "result": [[["cd(folder='x')"], [words]]]})
        assert [call.tool for call in episode.calls] == ["cd"]
        assert episode.answer == words
        log = [
            {"role": "assistant", "content": words},
            {"role": "handler_log", "content": "", "model_response_decoded": [words]},
            {"role": "tool", "content": "Error during execution: invalid syntax"},
        ]
        entry = {"id": "multi_turn_base_1", "result": [[words]], "inference_log": [{"step_0": log}]}
        (episode,) = bfcl.read_record(entry)
        assert episode.calls == ()
        assert episode.answer == words
    (episode,) = bfcl.read_record({"id": "multi_turn_base_1", "result": [[["cd(folder=", "Now the rest."]]]})
    assert [(call.tool, call.arguments) for call in episode.calls] == [("cd", "cd(folder=")], "a call, cut short"


def test_an_entry_that_broke_off_failed_outside(tmp_path: Path) -> None:
    entry = {"id": "multi_turn_base_3", "result": "Error during inference: timeout", "traceback": "..."}
    (episode,) = read(write(tmp_path, entry), "bfcl")
    assert (episode.calls, episode.outcome) == ((), FAILED_OUTSIDE)


# What is expected


def test_what_bfcl_expects_is_taken_apart(tmp_path: Path) -> None:
    answers = {"id": "multi_turn_base_0", "ground_truth": [["cd(folder='a')", "sort('x')"], [], ["mean([1, 2])"]]}
    file = write(tmp_path, answers, {"id": "x", "ground_truth": [["ls(", "ls()"]]}, {"id": "y", "ground_truth": [1]})
    first, second, third = read_expected_calls(file)
    calls = (
        ExpectedCall("cd", {"folder": "a"}, unnamed=[], turn=1),
        ExpectedCall("sort", unnamed=["x"], turn=1),
        ExpectedCall("mean", unnamed=[[1, 2]], turn=3),
    )
    assert first == Expected("bfcl/multi_turn_base_0", calls)
    assert isinstance(second, Problem)
    assert (second.line, second.message) == (2, "an expected call is one call in Python, not 'ls('")
    assert isinstance(third, Problem)
    assert "list of turns" in third.message
    with pytest.raises(TaskError, match=r"has arguments without names; name its parameters.* sort\(first, second\)"):
        derive(first, Tools())
    tools = Tools(tools=[tool(text) for text in ("cd(folder)", 'sort(file_name, by="name")', "mean(numbers)")])
    assert [action.notation for action in derive(first, tools).task.actions] == [
        'cd(folder="a")', 'sort(file_name="x")', "mean(numbers=[1, 2])",
    ]  # fmt: skip


def test_the_tool_file_of_bfcl_comes_along(tmp_path: Path, corepath: Any) -> None:
    turns = [["cd(folder='a')", "touch('x')", "mkdir(dir_name='b')"], ["ls(a=True)", "echo('hi', 'x')"]]
    file = write(tmp_path, {"id": "multi_turn_base_0", "ground_truth": turns}, name="answers.json")
    done = corepath("derive", file, "--out", tmp_path / "t.yaml")
    assert (done.returncode, done.stderr) == (0, f"1 task in {tmp_path / 't.yaml'}\n")
    task = load_tasks(tmp_path / "t.yaml")["bfcl/multi_turn_base_0"]
    assert str(task.procedure) == "(touch & mkdir) >> echo", "in any order within a turn"
    assert "writes in any order within a turn" in (tmp_path / "t.yaml").read_text()
    right = [
        "ls()",
        'mkdir(dir_name="b")',
        'touch(file_name="x")',
        'cd(folder="b")',
        'echo(content="hi", file_name="x")',
    ]
    assert score(task, right).accepted
    early = score(task, [right[-1], *right[:-1]])
    assert [harm.kind.value for harm in early.harms] == ["out_of_order"]
    assert [harm.kind.value for harm in score(task, ["sudo()"]).harms] == ["unknown_tool"]
    in_sequence = corepath("derive", file, "--writes", "sequence").stdout
    assert "procedure: 'touch >> mkdir >> echo'" in in_sequence


# The benchmark's own package


def package() -> Path:
    spec = find_spec("bfcl_eval")
    if spec is None or spec.origin is None:
        pytest.skip("bfcl-eval is not installed")
    return Path(spec.origin).parent


CLASSES = (
    "gorilla_file_system", "math_api", "message_api", "posting_api", "ticket_api", "trading_bot", "travel_booking",
    "vehicle_control",
)  # fmt: skip


def test_the_tool_file_lists_the_documented_tools_with_their_parameters() -> None:
    documented: dict[str, dict[str, Any]] = {}
    for name in CLASSES:
        for line in (package() / "data" / "multi_turn_func_doc" / f"{name}.json").read_text("utf-8").splitlines():
            one = json.loads(line)
            documented[one["name"]] = one["parameters"]
    tools = load_tools(bfcl.TOOL_FILE).tools or ()
    listed = {one.name: dict(one.parameters or {}) for one in tools}
    assert listed.keys() == documented.keys()
    for name, known in documented.items():
        required = {one for one, default in listed[name].items() if default is REQUIRED}
        assert (listed[name].keys(), required) == (known["properties"].keys(), set(known["required"])), name


def test_the_tool_file_calls_a_tool_a_read_if_its_source_changes_no_public_state() -> None:
    tools = load_tools(bfcl.TOOL_FILE)
    for file in CLASSES:
        source = package() / "eval_checker" / "multi_turn_eval" / "func_source_code" / f"{file}.py"
        for method in ast.walk(ast.parse(source.read_text("utf-8"))):
            if not isinstance(method, ast.FunctionDef) or method.name not in {one.name for one in tools.tools or ()}:
                continue
            if changes_state(method):
                assert tools.kind(method.name) == "write", method.name
            else:
                assert tools.kind(method.name) != "write" or method.name in ONLY_BY_CALLS, method.name


ONLY_BY_CALLS = {
    "cp", "echo", "mkdir", "mv", "rm", "rmdir", "touch",  # through objects for files and folders
    "close_ticket", "edit_ticket", "resolve_ticket", "mention",  # through a ticket or a post
    "contact_customer_support",  # a person is called
}  # fmt: skip


def changes_state(method: ast.FunctionDef) -> bool:
    """Whether a method assigns to a public field of its object, or adds to one or removes from one."""
    targets = [
        one
        for node in ast.walk(method)
        for one in (
            node.targets if isinstance(node, (ast.Assign, ast.Delete))
            else [node.target] if isinstance(node, ast.AugAssign)
            else [node.func.value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "remove", "pop") else []
        )
    ]  # fmt: skip
    return any(re.match(r"self\.[a-z]", ast.unparse(one)) for one in targets)


@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param"])
def test_a_task_is_derived_from_every_possible_answer(category: str) -> None:
    file = package() / "data" / "possible_answer" / f"BFCL_v4_multi_turn_{category}.json"
    found = [one for one in read_expected_calls(file) if isinstance(one, Expected)]
    assert len(found) == 200
    tools = load_tools(bfcl.TOOL_FILE)
    assert unused_entries(tools, found) == []
    for one in found[::4]:
        made = derive(one, tools)
        golden = [Call(call.tool, named_arguments(call, tools)) for call in one.calls]
        assert score(made.task, golden).accepted, one.id


_MODEL = """
import json, sys
from pathlib import Path
from bfcl_eval.model_handler.base_handler import BaseHandler
from bfcl_eval.model_handler.utils import convert_to_function_call, default_decode_execute_prompting

class Scripted(BaseHandler):
    def __init__(self, turns, fc):
        super().__init__("scripted", 0, "scripted-FC" if fc else "scripted", fc)
        self.left = [step for turn in turns for step in turn]
    def decode_execute(self, result, has_tool_call_tag):
        return convert_to_function_call(result) if self.is_fc_model else default_decode_execute_prompting(result)
    def _query_FC(self, inference_data):
        return self.left.pop(0), 0.1
    def _parse_query_response_FC(self, response):
        return {"model_responses": response, "input_token": 1, "output_token": 2}
    _query_prompting, _parse_query_response_prompting = _query_FC, _parse_query_response_FC
    def _pre_query_processing_FC(self, inference_data, test_entry):
        return inference_data
    def _pre_query_processing_prompting(self, test_entry):
        return {}
    def _same(self, inference_data, *_):
        return inference_data
    _compile_tools = add_first_turn_message_FC = _add_next_turn_user_message_FC = _add_assistant_message_FC = _same
    _add_execution_results_FC = add_first_turn_message_prompting = _add_next_turn_user_message_prompting = _same
    _add_assistant_message_prompting = _add_execution_results_prompting = _same

root = {"root": {"workspace": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "x"}}}}}
for number, (turns, fc) in enumerate(json.loads(sys.argv[1])):
    entry = {"id": f"multi_turn_base_{number}", "question": [[{"role": "user", "content": "Do it."}]] * len(turns),
             "initial_config": {"GorillaFileSystem": root}, "involved_classes": ["GorillaFileSystem"], "function": []}
    handler = Scripted(turns, fc)
    result, metadata = handler.inference(entry, False, False)
    handler.write({"id": entry["id"], "result": result, **metadata}, Path("result"))
"""


@pytest.mark.skipif(find_spec("bfcl_eval") is None, reason="pip install --no-deps -r tests/bfcl.txt")
def test_results_that_the_benchmark_itself_wrote(tmp_path: Path) -> None:
    scripts = [
        (
            [
                [[{"ls": '{"a": true}'}, {"cat": '{"file_name": "b.txt"}'}], "b.txt is not there."],
                [[{"touch": '{"file_name": "b.txt"}'}], [{"fly": "{}"}], [{"mv": '{"source"'}]],
            ],
            True,
        ),
        ([["[mkdir(dir_name='d'), cd(folder='d')]", "[pwd()]", "Done."]], False),
    ]
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _MODEL, json.dumps(scripts)],
        cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "BFCL_PROJECT_ROOT": str(tmp_path)},
    )  # fmt: skip
    files = sorted(tmp_path.glob("result/**/*_result.json"))
    assert len(files) == 2
    found = {episode.task: episode for file in files for episode in read(file, "bfcl")}
    calling, prompting = found["bfcl/multi_turn_base_0"], found["bfcl/multi_turn_base_1"]
    assert [(call.tool, call.arguments, call.error, call.turn) for call in calling.calls] == [
        ("ls", {"a": True}, None, 1),
        ("cat", {"file_name": "b.txt"}, "cat: 'b.txt': No such file or directory", 1),
        ("touch", {"file_name": "b.txt"}, None, 3),
        ("fly", {}, "Error during execution: name 'fly' is not defined", 4),
        ("mv", '{"source"', "Expecting ':' delimiter: line 1 column 10 (char 9)", 5),
    ]
    assert calling.calls[0].result == {"current_directory_content": ["a.txt"]}
    assert calling.answer is None
    assert [(call.tool, call.arguments, call.error, call.turn) for call in prompting.calls] == [
        ("mkdir", {"dir_name": "d"}, None, 1), ("cd", {"folder": "d"}, None, 1), ("pwd", {}, None, 2),
    ]  # fmt: skip
    assert prompting.calls[2].result == {"current_working_directory": "/workspace/d"}
    assert prompting.answer == "Done."


# What is wrong


def test_a_step_with_more_answers_than_calls_is_a_bad_record_and_the_others_are_kept(tmp_path: Path) -> None:
    bad = copy.deepcopy(ENTRY)
    bad["inference_log"][1]["step_0"].append({"role": "tool", "content": "{}"})
    silent = copy.deepcopy(ENTRY)
    silent["inference_log"][1]["step_1"].append({"role": "tool", "content": "{}"})
    file = write(tmp_path, ENTRY, bad, silent, ENTRY)
    assert outcomes(import_trace(file)) == [
        4,
        f"{file}:2:1: 3 answers to a step of the model with 2 calls",
        f"{file}:3:1: 1 answer to a step of the model without calls",
        4,
    ]


def test_other_formats_are_not_taken_for_this_one() -> None:
    others = [record for _, record, _ in ALL.values()]
    for record in (
        *others,
        TAU,
        TAU2,
        {"jsonrpc": "2.0", "id": "1", "result": {"content": []}},
        {"id": "x", "result": []},
    ):
        assert bfcl.mismatch(record) is not None
        assert bfcl.mismatch([record]) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    bare = {"id": "multi_turn_base_1", "result": [["[cd(folder='x'), f(x=1)]", [{"a": "{}"}]], ["b(c=2)"]]}
    survives(bfcl.read_record, data.draw(damaged(data.draw(st.sampled_from([ENTRY, bare])))))


@given(st.text())
@example("[" * 300)
@example('<tool_call>{"name": 5}<tool_call>[1]')
@example("[f(x=" + "(" * 300)
@example("f(\0)")
@example("[f(x=1e999)]")
@example("[f(x=" + "9" * 5000 + ")]")
@example("[f(x={1: 2, (): 3})]")
@example("[f(x={[]: 3})]")
@example("[f(x=b'a', y={1}, z=1j, w=...)]")
@example("[f(x='\ud800')]")
@example("-" * 100000)
def test_any_text_of_a_model_gives_an_episode(text: str) -> None:
    survives(bfcl.read_record, {"id": "multi_turn_base_1", "result": [[text, [text]]]})

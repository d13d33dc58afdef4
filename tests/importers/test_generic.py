"""Other JSON with a map: paths, errors, and broken maps."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import UNANSWERED, Call, Episode
from corepath.errors import InputError, TaskError
from corepath.importers import import_trace
from corepath.importers.formats.generic import read_map, read_record
from corepath.importers.registry import recognise_format

from .damage import damaged, good, outcomes, survives, write

MAP = """
version: 1
episodes: runs
agent: config.model
task: case.id
epoch: attempt
answer: output.text
metadata: config
calls: steps.actions
tool: [action, tool.name]
arguments: action.input
result: seen
error: failed
id: ref
turn: step
"""
RECORD: dict[str, Any] = {
    "runs": [
        {
            "config": {"model": "m-1", "flow": "water"},
            "case": {"id": 7},
            "attempt": 2,
            "output": {"text": "Done."},
            "steps": [
                {"actions": [
                    {"step": 1, "action": {"tool.name": "look", "input": '{"plant": "A"}'}, "seen": [1], "ref": 1},
                    {"step": 1, "action": {"tool.name": "look", "input": {"plant": "B"}}, "seen": None, "failed": ""},
                ]},
                {"actions": []},
                {"actions": [
                    {"action": {"tool.name": "water", "input": "{"}, "seen": "too much", "failed": True, "ref": "c3"},
                    {"action": {"input": {"x": 1}}, "failed": {"code": 5}},
                    {"action": {"tool.name": "stop"}},
                ]},
            ],
        },
        {"steps": []},
    ]
}  # fmt: skip
APART = """
calls: calls
tool: name
id: id
answers: answers
answer_id: of
answer_result: content.0.text
answer_error: bad
"""
LOG: dict[str, Any] = {
    "calls": [{"name": "a", "id": "1"}, {"name": "b", "id": "1"}, {"name": "c", "id": "3"}, {"name": "d"}],
    "answers": [
        {"of": "3", "content": [{"text": "no"}], "bad": True},
        {"of": "1", "content": [{"text": "first"}]},
        {"of": "1", "content": [{"text": "second"}]},
    ],
}


def mapped(folder: Path, text: str = MAP) -> Path:
    file = folder / "map.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_map_says_where_things_stand(tmp_path: Path) -> None:
    map_ = mapped(tmp_path)
    first, second = good(import_trace(write(tmp_path, RECORD), f"generic:{map_}"))
    assert first.calls == (
        Call("look", {"plant": "A"}, [1], id="1", turn=1),
        Call("look", {"plant": "B"}, None, turn=1),
        Call("water", "{", error="too much", id="c3"),
        Call("", {"x": 1}, error={"code": 5}),
        Call("stop", {}),
    )
    assert first.calls[4].result is UNANSWERED
    assert (first.agent, first.task, first.epoch, first.answer) == ("m-1", "7", 2, "Done.")
    assert first.extra == {"metadata": {"model": "m-1", "flow": "water"}}
    assert second == Episode("", ())


def test_answers_that_stand_apart_are_joined_by_id_in_their_order(tmp_path: Path) -> None:
    map_ = mapped(tmp_path, APART)
    (episode,) = good(import_trace(write(tmp_path, LOG, name="log.json"), f"generic:{map_}"))
    assert episode.calls == (
        Call("a", {}, "first", id="1"),
        Call("b", {}, "second", id="1"),
        Call("c", {}, error="no", id="3"),
        Call("d", {}),
    )


def test_a_bad_record_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    map_ = mapped(tmp_path, APART)
    lost, odd = copy.deepcopy(LOG), copy.deepcopy(LOG)
    lost["answers"][0]["of"] = "9"
    odd["calls"][1] = "b"
    file = write(tmp_path, LOG, lost, {"call": []}, 5, odd, LOG)
    assert outcomes(import_trace(file, f"generic:{map_}")) == [
        4,
        f"{file}:2:1: an answer to the call id '9', but no call waits for it",
        f"{file}:3:1: nothing at 'calls', where the map expects the calls",
        f"{file}:4:1: a record must be an object",
        f"{file}:5:1: a call must be an object",
        4,
    ]


def test_a_map_whose_tool_leads_nowhere_is_an_error_of_the_record(tmp_path: Path) -> None:
    map_ = mapped(tmp_path, APART.replace("tool: name", "tool: nam"))
    file = write(tmp_path, LOG, {"calls": [], "answers": []})
    assert outcomes(import_trace(file, f"generic:{map_}")) == [
        f"{file}:1:1: nothing at 'nam', where the map expects the tools",
        0,
    ]


def test_a_list_of_records_is_read_one_by_one(tmp_path: Path) -> None:
    file = write(tmp_path, [LOG, LOG], name="logs.json")
    assert outcomes(import_trace(file, f"generic:{mapped(tmp_path, APART)}")) == [4, 4]


def test_what_is_wrong_with_a_map_is_told_with_its_place(tmp_path: Path) -> None:
    map_ = mapped(tmp_path, "version: 2\ncals: a\ntool: {a: b}\nresult: a..b\nanswers: x\n")
    with pytest.raises(InputError) as caught:
        read_map(map_)
    assert [f"{one.line}:{one.column} {one.message}" for one in caught.value.problems] == [
        "1:10 this corepath reads version 1 of maps",
        "2:1 no field 'cals'; did you mean 'calls'?",
        "3:1 a path is names separated by dots, or a list of names",
        "4:9 a path is names separated by dots, or a list of names",
        "1:1 'calls' is missing",
        "5:10 'answers' are joined by id: 'id' and 'answer_id' are needed too",
    ]


@pytest.mark.parametrize("text", ["", "- a", "calls: a\n---\ncalls: b", "calls: ["])
def test_a_file_that_is_no_map_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_map(mapped(tmp_path, text))


def test_without_a_map_there_is_one_problem_that_says_so(tmp_path: Path) -> None:
    (problem,) = import_trace(write(tmp_path, RECORD, RECORD), "generic")
    assert "needs a map of its fields: --from generic:MAP.yaml" in str(problem)
    with pytest.raises(InputError, match="cannot be read"):
        list(import_trace(write(tmp_path, RECORD), "generic:none.yaml"))
    with pytest.raises(TaskError, match=r"no format 'openai:map\.yaml'"):
        list(import_trace(write(tmp_path, RECORD), "openai:map.yaml"))


def test_what_no_format_knows_is_refused_and_the_map_is_offered(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        recognise_format(write(tmp_path, RECORD))
    said = str(caught.value)
    assert said.count("\n") == 1
    assert len(said) < 500
    assert "corepath formats" in said
    assert "--from generic:MAP.yaml" in said


@given(data=st.data())
def test_damage_gives_episodes_or_an_error_of_the_record(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text, record = data.draw(st.sampled_from([(MAP, RECORD), (APART, LOG)]))
    paths = read_map(mapped(tmp_path_factory.mktemp("map"), text))
    survives(partial(read_record, paths), data.draw(damaged(record)))


EVENTS = """
group_by: session.id
order_by: at
task: flow
only: {kind: [call, mcp_*]}
skip: {hidden: "true"}
tool: name
arguments: input
result: output
time: at
messages: said
message_role: who
message_text: text
"""


def test_lines_are_grouped_into_episodes_filtered_and_sorted(tmp_path: Path) -> None:
    lines: list[Any] = [
        {"session": {"id": "a"}, "at": "2026-01-01T00:00:02Z", "kind": "call", "name": "pay", "input": {"n": 2}},
        {"session": {"id": 7}, "at": 5, "kind": "mcp_x", "name": "look", "output": [1]},
        {"session": {"id": "a"}, "at": "2026-01-01T00:00:01Z", "kind": "note", "said": {"who": "user", "text": "Go."}},
        {"session": {"id": "a"}, "at": "2026-01-01T00:00:00Z", "kind": "call", "name": "look", "flow": "shop/pay"},
        {"session": {"id": "a"}, "at": "2026-01-01T00:00:03Z", "kind": "call", "name": "x", "hidden": True},
        {"at": 9, "kind": "call", "name": "lost"},
    ]
    found = list(import_trace(write(tmp_path, *lines), f"generic:{mapped(tmp_path, EVENTS)}"))
    assert [str(one) for one in found if not isinstance(one, Episode)] == [
        f"{tmp_path / 'trace.jsonl'}:6:1: nothing at 'session.id', by which the map groups lines"
    ]
    first, second = (one for one in found if isinstance(one, Episode))
    assert [(call.tool, call.arguments) for call in first.calls] == [("look", {}), ("pay", {"n": 2})]
    assert [(one.role, one.content, one.before_call) for one in first.messages] == [("user", "Go.", 1)]
    assert (first.task, second.task) == ("shop/pay", "")
    assert [(call.tool, call.result, call.time) for call in second.calls] == [("look", [1], 5.0)]


def test_numbered_keys_are_a_list_and_null_is_an_empty_one(tmp_path: Path) -> None:
    steps = {"step10": {"tools": [{"name": "c"}]}, "step2": {"tools": None}, "step1": {"tools": [{"name": "a"}]}}
    records = [{"steps": steps}, {"steps": None}, {"steps": {"step1": {"tools": {"0": {"name": "d"}}}}}]
    made = import_trace(
        write(tmp_path, *records), f"generic:{mapped(tmp_path, 'calls: steps.tools' + chr(10) + 'tool: name')}"
    )
    assert [[call.tool for call in one.calls] for one in good(made)] == [["a", "c"], [], ["d"]]

"""Folders of traces: which files are taken, how they are joined, and how tasks, agents and tools are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode
from corepath.errors import Problem, RecordError, TaskError
from corepath.importers.folders import Imported, find_files, import_traces
from corepath.importers.nearest import SIGNS
from corepath.importers.path_pattern import PathPattern
from corepath.importers.registry import FORMATS, recognise_format
from corepath.importers.renaming import Renaming
from corepath.importers.routing import Routing


def chat(tool: str, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return {"messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [call]}], **more}


def put(file: Path, *records: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(json.dumps, records)) + "\n")
    return file


def test_a_folder_is_walked_in_order_without_hidden_and_other_files(tmp_path: Path) -> None:
    names = ("b/z.json", "a.jsonl", "notes.md", ".hidden/x.json", "b/.y.json", "b/c/x.traj", "pic.png")
    for name in names:
        put(tmp_path / name, chat("look"))
    found = [str(file.relative_to(tmp_path)) for file in find_files([tmp_path])]
    assert found == ["a.jsonl", "b/z.json", "b/c/x.traj"]
    assert find_files([tmp_path], ["*.md", "c/*.traj"]) == [tmp_path / "notes.md", tmp_path / "b/c/x.traj"]
    assert find_files([tmp_path / "notes.md", tmp_path / "b"])[0] == tmp_path / "notes.md", "a named file is taken"


def test_a_folder_gives_the_episodes_of_all_its_files_and_a_problem_for_each_other(tmp_path: Path) -> None:
    put(tmp_path / "one.json", chat("look"))
    put(
        tmp_path / "two.jsonl",
        {"version": 1, "task": "shop/buy", "calls": []},
        {"version": 1, "task": "x", "calls": []},
    )
    put(tmp_path / "other.json", {"a": 1})
    found = list(import_traces(find_files([tmp_path]), recognise_format))
    assert [(one.file.name, one.number) for one in found if isinstance(one, Imported)] == [
        ("one.json", 1), ("two.jsonl", 1), ("two.jsonl", 2),
    ]  # fmt: skip
    (problem,) = (one for one in found if isinstance(one, Problem))
    assert problem.file == str(tmp_path / "other.json")


def spans(*numbers: int) -> list[dict[str, Any]]:
    return [
        {
            "traceId": "a" * 32, "spanId": f"{number:016x}", "startTimeUnixNano": str(number * 10**9),
            "endTimeUnixNano": str(number * 10**9 + 5 * 10**8),
            "attributes": {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool{number}",
                "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "1",
            },
        }
        for number in numbers
    ]  # fmt: skip


def test_a_trace_cut_by_a_file_boundary_is_joined_and_an_overlap_is_counted_once(tmp_path: Path) -> None:
    put(tmp_path / "1.jsonl", *spans(1, 2))
    put(tmp_path / "2.jsonl", *spans(2, 3))
    (found,) = import_traces(find_files([tmp_path]), recognise_format)
    assert isinstance(found, Imported)
    assert [(call.tool, call.time, call.extra["seconds"]) for call in found.episode.calls] == [
        ("tool1", 1.0, 0.5), ("tool2", 2.0, 0.5), ("tool3", 3.0, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("{task}.json", "/runs/bank-7.json", "bank-7"),
        ("runs/{task}/*.json", "/x/runs/bank/1.json", "bank"),
        ("runs/{task}/*.json", "/x/runs/bank/deep/1.json", None),
        ("runs/**/{task}.json", "/x/runs/bank/deep/1.json", "1"),
        ("runs/{world}/{task}-?.json", "/x/runs/bank/open-1.json", "bank/open"),
        ("{agent}-airline.json", "/x/gpt-4o-airline.json", "gpt-4o"),
        ("a+b/{task}", "/x/aab/1", None),
    ],
)
def test_a_part_of_a_path_is_found_by_a_pattern(pattern: str, path: str, found: str | None) -> None:
    assert PathPattern.parse(pattern).find(Path(path)) == found


def test_a_pattern_without_a_wanted_part_is_refused() -> None:
    with pytest.raises(TaskError, match="no part in braces"):
        Routing(by="path:runs/*.json")


def test_task_and_agent_come_from_the_path_or_from_fields() -> None:
    routing = Routing(by="path:runs/{task}/*.json", table={"open-*": "bank/open"}, agent_by="metadata.model")
    episode = Episode("", (), extra={"metadata": {"model": "m-1"}})
    routed = routing(episode, Path("runs/open-7/a.json"))
    assert (routed.task, routed.agent) == ("bank/open", "m-1")
    with pytest.raises(RecordError, match="does not fit"):
        routing(episode, Path("elsewhere/a.json"))
    with pytest.raises(RecordError, match=r"no task at 'case'; the trace has metadata.model"):
        Routing(by="case")(episode)


def test_tools_are_renamed_by_rules_and_by_a_file(tmp_path: Path) -> None:
    table = tmp_path / "tools.yaml"
    table.write_text("Bash: shell\n")
    renaming = Renaming.parse(["mcp__*__=", "get=fetch", str(table)])
    names = ["mcp__shop__pay", "get", "get_user", "Bash", "mcp__a__b__c"]
    renamed = renaming(Episode("", tuple(Call(name) for name in names)))
    assert [call.tool for call in renamed.calls] == ["pay", "fetch", "get_user", "shell", "b__c"]
    assert [call.extra.get("sent_as") for call in renamed.calls] == [*names[:2], None, *names[3:]]
    with pytest.raises(TaskError, match="neither OLD=NEW"):
        Renaming.parse(["no such file"])


def test_the_command_imports_a_folder(tmp_path: Path, corepath: Any) -> None:
    for name in ("one", "two"):
        put(tmp_path / "runs" / name / "chat.json", chat("mcp__shop__look", model="m"))
    out = tmp_path / "episodes.jsonl"
    command = ["import", str(tmp_path / "runs"), "--task-by", "path:{task}/chat.json", "--rename", "mcp__*__="]
    done = corepath(*command, "--out", out)
    assert (done.returncode, done.stderr) == (0, f"2 episodes in {out}\n")
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["task"], one["calls"][0]["tool"]) for one in records] == [("one", "look"), ("two", "look")]


def test_a_file_without_episodes_is_a_problem(tmp_path: Path, corepath: Any) -> None:
    """An empty list may be of any format."""
    none, chats = put(tmp_path / "none.json", []), put(tmp_path / "chat.json", chat("look"))
    done = corepath("import", none, chats, "--task", "t", "--out", tmp_path / "episodes.jsonl")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{none}:1:1: no episodes in this file\n1 episode in ")


def test_a_refusal_has_two_lines_and_names_the_nearest_format(tmp_path: Path, corepath: Any) -> None:
    file = put(tmp_path / "bot.json", {"messages": [{"role": "bot", "content": "Hi."}]})
    done = corepath("import", file)
    assert done.returncode == 1
    first, second, _ = done.stderr.splitlines()
    assert "it comes nearest to openai, but: not all messages have a 'role'" in first
    assert "corepath formats" in second
    listed = corepath("formats", file)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in FORMATS)


def test_every_format_has_typical_fields() -> None:
    assert set(SIGNS) == set(FORMATS) - {"generic"}

"""The import and export commands, and how traces find their tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode, load_episodes
from corepath.importers.conversation import RecordError
from corepath.importers.routing import Routing, read_table


def trace(**more: Any) -> dict[str, Any]:
    """A conversation with one call."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {
        "messages": [
            {"role": "user", "content": "Look."}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "seen"}, {"role": "assistant", "content": "Seen."},
        ],
        **more,
    }  # fmt: skip


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two good traces and a line that is cut short."""
    lines = [json.dumps(trace(metadata={"flow": name}, model="m")) for name in ("look-1", "other")]
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join([lines[0], lines[1], lines[0][:80]]) + "\n")
    return file


def test_one_task_for_all(traces: Path, tmp_path: Path, corepath: Any) -> None:
    done = corepath("import", traces, "--task", "a/b", "--out", tmp_path / "e.jsonl")
    assert done.returncode == 1
    assert f"{traces}:3:" in done.stderr
    assert "2 episodes" in done.stderr
    found = load_episodes(tmp_path / "e.jsonl")
    assert [(one.task, one.agent, one.answer) for one in found] == [("a/b", "m", "Seen.")] * 2
    assert found[0].calls == (Call("look", {}, "seen", id="c", turn=1),)


def test_a_map_says_which_task_a_name_stands_for(traces: Path, tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "map.yaml").write_text("look-*: w/look\n")
    done = corepath("import", traces, "--task-by", "metadata.flow", "--map", tmp_path / "map.yaml")
    assert [json.loads(line)["task"] for line in done.stdout.splitlines()] == ["w/look"]
    assert "the map has no task for 'other'" in done.stderr


def test_a_trace_without_a_task_says_how_to_give_one(traces: Path, corepath: Any) -> None:
    done = corepath("import", traces)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--task" in done.stderr
    assert "--task-by" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "opnai"], "did you mean 'openai'"),
        (["--task", "x", "--task-by", "y"], "exclude each other"),
        (["--map", "m.yaml"], "belongs to --task-by"),
        (["--task", "x", "--out", "."], "is a folder"),
    ],
)
def test_wrong_use_says_what_would_be_right(arguments: list[str], says: str, traces: Path, corepath: Any) -> None:
    done = corepath("import", traces, *arguments)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_a_file_of_no_format_says_which_were_tried(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    done = corepath("import", tmp_path / "x.json", "--task", "t")
    assert done.returncode == 1
    assert "openai: no list of messages" in done.stderr
    assert "no such file" in corepath("import", tmp_path / "nix.json", "--task", "t").stderr


def test_a_name_is_found_by_its_path() -> None:
    episode = Episode("", (), agent="m", extra={"metadata": {"tags": ["a", "b"], "n": 3, "service.name": "shop"}})
    assert Routing(by="metadata.service.name")(episode).task == "shop"
    assert Routing(by="metadata.tags.1")(episode).task == "b"
    assert Routing(by="metadata.n", table={"3": "w/three"})(episode).task == "w/three"
    assert Routing(by="agent")(episode).task == "m"
    with pytest.raises(RecordError, match=r"metadata has n, service\.name, tags"):
        Routing(by="metadata.flow")(episode)
    kept = Episode("w/own", ())
    assert (Routing()(kept).task, Routing(task="w/other")(kept).task) == ("w/own", "w/other")


def test_a_map_that_is_none_is_refused(tmp_path: Path) -> None:
    from corepath import InputError

    file = tmp_path / "m.yaml"
    for text in ("- a\n", "a: {b: c}\n", "a: [\n"):
        file.write_text(text)
        with pytest.raises(InputError):
            read_table(file)
    file.write_text("yes: w/t\n12: w/u\n")
    assert read_table(file) == {"yes": "w/t", "12": "w/u"}


def test_export_and_import_give_the_same_episodes(tmp_path: Path, corepath: Any) -> None:
    calls = (
        Call("a", {"x": 1}, {"ok": True}, id="1", turn=1), Call("b", {}, "12", id="2", turn=1),
        Call("c", '{"x": ', error="no JSON", id="3", turn=2), Call("d", {"y": None}, id="4", turn=3),
    )  # fmt: skip
    first = Episode("w/t", calls, "m", answer="Done.")
    from corepath import episode_json

    (tmp_path / "e.jsonl").write_text(episode_json(first) + "\n")
    assert corepath("export", tmp_path / "e.jsonl", "--out", tmp_path / "o.jsonl").returncode == 0
    done = corepath("import", tmp_path / "o.jsonl", "--task-by", "metadata.task", "--out", tmp_path / "b.jsonl")
    assert done.returncode == 0, done.stderr
    again = load_episodes(tmp_path / "b.jsonl")[0]
    assert (again.calls, again.answer, again.agent, again.task) == (calls, "Done.", "m", "w/t")

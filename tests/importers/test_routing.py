"""The import and export commands, and how traces find their tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode, load_episodes
from corepath.errors import RecordError
from corepath.importers.export import openai_record
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
    """Write a file of two good traces and a truncated line."""
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


def test_an_episode_that_finds_no_task_is_named_by_its_number(tmp_path: Path, corepath: Any) -> None:
    file = tmp_path / "traces.jsonl"
    lines = [json.dumps(trace(metadata=told)) for told in ({"flow": "a"}, {"flow": "b"}, {"flow": "a"}, {"flow": ""})]
    file.write_text("\n".join(lines))
    (tmp_path / "map.yaml").write_text("a: w/look\n")
    done = corepath("import", file, "--task-by", "metadata.flow", "--map", tmp_path / "map.yaml")
    assert f"{file}:1:1: episode 2: the map has no task for 'b'" in done.stderr
    assert f"{file}:1:1: episode 4: no task at 'metadata.flow'" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_arguments_that_are_no_object_are_kept_and_told(tmp_path: Path, corepath: Any) -> None:
    file = tmp_path / "traces.jsonl"
    odd = trace()
    odd["messages"][1]["tool_calls"][0]["function"]["arguments"] = json.dumps(json.dumps({"a": 1}))
    file.write_text("\n".join(map(json.dumps, (trace(), odd))))
    done = corepath("import", file, "--task", "t")
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[1])["calls"][0]["arguments"] == json.dumps(json.dumps({"a": 1}))
    assert done.stderr.splitlines() == [
        f"{file}:1:1: episode 2: the arguments of call 1 (look) are no JSON object; kept as they were sent",
        "2 episodes",
    ]


def test_what_was_there_stays_where_nothing_can_be_read(traces: Path, tmp_path: Path, corepath: Any) -> None:
    out = tmp_path / "e.jsonl"
    corepath("import", traces, "--task", "t", "--out", out)
    before = out.read_text()
    (tmp_path / "bad.txt").write_text("words\n")
    done = corepath("import", tmp_path / "bad.txt", "--task", "t", "--out", out)
    assert (done.returncode, out.read_text()) == (1, before)
    assert done.stderr.endswith("\n0 episodes; 1 bad record left out\n")
    assert len(before.splitlines()) == 2


def test_a_folder_among_the_files_does_not_cost_the_others(traces: Path, tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "folder").mkdir()
    done = corepath("import", tmp_path / "folder", traces, "--task", "t")
    assert f"{tmp_path / 'folder'}:1:1: no files of traces in this folder" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_the_standard_input_is_read(traces: Path, corepath: Any) -> None:
    done = corepath("import", "-", "--task", "t", stdin=traces.read_text())
    assert len(done.stdout.splitlines()) == 2
    assert "<stdin>:3:" in done.stderr


def test_the_agent_is_named_where_the_trace_does_not(tmp_path: Path, corepath: Any) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, (trace(model="m"), trace()))))
    done = corepath("import", file, "--task", "t", "--agent", "mine")
    assert [json.loads(line)["agent"] for line in done.stdout.splitlines()] == ["m", "mine"]


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
        (["--map", __file__], "belongs to --task-by"),
        (["--task", "x", "--out", "."], "is a folder"),
        (["--task", ""], "--task is empty"),
    ],
)
def test_wrong_use_says_what_would_be_right(arguments: list[str], says: str, traces: Path, corepath: Any) -> None:
    done = corepath("import", traces, *arguments)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_a_file_of_no_format_says_how_to_learn_why(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    done = corepath("import", tmp_path / "x.json", "--task", "t")
    assert done.returncode == 1
    assert f"corepath formats {tmp_path / 'x.json'}" in done.stderr


def test_a_name_is_found_by_its_path() -> None:
    episode = Episode("", (), agent="m", extra={"metadata": {"tags": ["a", "b"], "n": 3, "service.name": "shop"}})
    assert Routing(by="metadata.service.name")(episode).task == "shop"
    assert Routing(by="metadata.tags.1")(episode).task == "b"
    assert Routing(by="metadata.n", table={"3": "w/three"})(episode).task == "w/three"
    assert Routing(by="agent")(episode).task == "m"
    with pytest.raises(RecordError, match=r"the trace has metadata.n, metadata\.service\.name, metadata\.tags"):
        Routing(by="metadata.flow")(episode)
    kept = Episode("w/own", ())
    assert (Routing()(kept).task, Routing(task="w/other")(kept).task) == ("w/own", "w/other")


def test_a_map_that_is_none_is_refused(tmp_path: Path) -> None:
    from corepath import InputError

    file = tmp_path / "m.yaml"
    for text, why in {
        "- a\n": "1:1: a map has a line for each name: 'NAME: TASK'",
        "a: {b: c}\n": "1:1: 'a' has no task; a line of a map is 'NAME: TASK'",
        "b: c\na:\n": "2:1: 'a' has no task; a line of a map is 'NAME: TASK'",
        "a: ''\n": "1:1: 'a' has no task; a line of a map is 'NAME: TASK'",
        "a: b\na: c\n": "2:1: 'a' is given twice; only one can count",
        "a: [\n": "2:1: not YAML",
    }.items():
        file.write_text(text)
        with pytest.raises(InputError) as caught:
            read_table(file)
        assert str(caught.value).startswith(f"{file}:{why}")
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
    done = corepath("import", tmp_path / "o.jsonl", "--out", tmp_path / "b.jsonl")
    assert done.returncode == 0, done.stderr
    again = load_episodes(tmp_path / "b.jsonl")[0]
    assert (again.calls, again.answer, again.agent, again.task) == (calls, "Done.", "m", "w/t")


def test_a_run_is_exported_and_imported_and_scores_as_it_did(tmp_path: Path, corepath: Any) -> None:
    run, messages, back = (tmp_path / name for name in ("run", "messages.jsonl", "back.jsonl"))
    agents = ("--agent", "oracle", "--agent", "swapped", "--seed", "4", "--epochs", "2", "--profile", "recommended")
    assert corepath("run", "--task", "farm/dry_plants", *agents, "--out", run).returncode == 0
    assert corepath("export", run, "--out", messages).stderr == f"4 conversations in {messages}\n"
    done = corepath("import", messages, "--out", back)
    assert (done.returncode, done.stderr) == (0, f"4 episodes in {back}\n")
    before, after = load_episodes(run / "episodes.jsonl"), load_episodes(back)
    assert [one.scoring for one in after] == ["recommended"] * 4
    without: dict[str, Any] = {"calls": (), "messages": (), "extra": {}}
    assert [replace(one, **without) for one in after] == [replace(one, **without) for one in before]
    scored = [corepath("score", file, "--profile", "recommended", "--json") for file in (run / "episodes.jsonl", back)]
    assert scored[0].returncode == 0, scored[0].stderr
    before_, rows = ([json.loads(line) for line in one.stdout.splitlines()] for one in scored)
    assert [{**row, "file": ""} for row in before_] == [{**row, "file": ""} for row in rows]
    assert [row["pc"] for row in rows if row["agent"] == "oracle"] == [1.0, 1.0]


def test_another_task_than_the_one_that_was_played_takes_its_seed_and_says_so(tmp_path: Path, corepath: Any) -> None:
    file = tmp_path / "o.jsonl"
    episode = Episode("w/t", (), "m", seed=4, fingerprint="f" * 16, scoring="paper", scores={"pc": 1.0})
    file.write_text(json.dumps(openai_record(episode)) + "\n")
    for option in (("--task", "w/other"), ("--task-by", "metadata.task", "--map", tmp_path / "map.yaml")):
        (tmp_path / "map.yaml").write_text("w/*: w/other\n")
        done = corepath("import", file, *option)
        assert done.returncode == 0
        record = json.loads(done.stdout)
        assert (record["task"], record["scoring"]) == ("w/other", "paper")
        assert not record.keys() & {"seed", "fingerprint", "scores"}
        assert "episode 1: played on 'w/t' (seed 4), and now of 'w/other': its seed, " in done.stderr
    done = corepath("import", file, "--task", "w/t")
    assert (json.loads(done.stdout)["seed"], done.stderr) == (4, "1 episode\n")


@pytest.mark.parametrize("command", [("export",), ("import", "--task", "t")])
def test_a_missing_file_is_wrong_use_and_nothing_is_written(
    command: tuple[str, ...], traces: Path, tmp_path: Path, corepath: Any
) -> None:
    name, *options = command
    done = corepath(name, traces, tmp_path / "nix.json", *options, "--out", tmp_path / "out.jsonl")
    assert (done.returncode, done.stderr) == (2, f"corepath: no such file or folder: {tmp_path / 'nix.json'}\n")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--task-by", "a", "--map", "nix.yaml"), ("--task", "t", "--from", "generic:nix.yaml"),
        ("--task", "t", "--tasks-out", "tasks.yaml", "--tools", "nix.yaml"),
    ],
)  # fmt: skip
def test_a_missing_map_or_file_of_tools_is_wrong_use_too(
    options: Any, traces: Path, tmp_path: Path, corepath: Any
) -> None:
    done = corepath("import", traces, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "corepath: no such file or folder: nix.yaml\n")


def test_a_folder_that_is_no_run_is_not_exported(tmp_path: Path, corepath: Any) -> None:
    done = corepath("export", tmp_path)
    assert (done.returncode, "holds no run" in done.stderr) == (2, True)

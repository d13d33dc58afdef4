"""Only tasks that are named are built, and their problems are reported where they are named."""

from __future__ import annotations

import gc
import json
import os
import re
import threading
import weakref
from pathlib import Path

import pytest
import yaml

from corepath import Episode, InputError, TaskError, call, episode_json, load_tasks
from corepath.files import lookup, task_index, tasks
from corepath.files.lookup import Tasks, all_sources
from corepath.files.task_index import TaskIndex
from tests.files.task_files import ids_of, problems_of_all, write
from tests.files.test_bad_tasks import WRONG_YAML, remove_marks

P = "procedure: a()\n"


# Problems


def joined(cases: list[str], form: str) -> str:
    """Tasks in one file, as documents or as items of a list."""
    bare = [one.rstrip("\n") for one in cases]
    if form == "documents":
        return "\n---\n".join(bare) + "\n"
    return "".join("- " + one.replace("\n", "\n  ") + "\n" for one in bare)


WRONG_TASKS = {
    name: remove_marks(text)[0]
    for name, (text, _) in WRONG_YAML.items()
    if text.startswith("id: a\n") and "\n-" not in text and "\t" not in text and "a list that is not closed" not in name
}


@pytest.mark.parametrize("form", ["documents", "list"])
def test_a_problem_in_one_of_many_tasks_has_the_place_that_the_parser_reports(tmp_path, form) -> None:
    checked = 0
    for name, wrong in WRONG_TASKS.items():
        before = [f"id: before{number}\nprompt: |\n  x\n  y\n{P}" for number in range(3)]
        file = write(tmp_path, joined([*before, wrong, f"id: after\n{P}"], form))
        with pytest.raises(InputError) as caught:
            load_tasks(file)
        assert problems_of_all(file) == list(map(str, caught.value.problems)), name
        checked += "a" in (ids_of(file) or ())
        assert ids_of(file) is None or TaskIndex(file).build("after").id == "after"
    assert checked > 20


def test_a_problem_in_one_of_many_json_tasks_has_the_place_that_the_parser_reports(tmp_path) -> None:
    good = {"id": "b", "prompt": "é", "procedure": "b()"}
    bad = {"id": "a", "procedure": "a(x=)", "colour": "red"}
    for indent in (None, 1):
        file = write(tmp_path, json.dumps([good, bad, {**good, "id": "c"}], indent=indent), "t.json")
        with pytest.raises(InputError) as caught:
            load_tasks(file)
        assert len(caught.value.problems) == 2
        assert problems_of_all(file) == list(map(str, caught.value.problems))


def test_warnings_name_the_same_lines_whether_one_task_is_built_or_all(tmp_path) -> None:
    one = "id: {}\nprompt: x\nprompt: y\nactions: {{p: 'p(x=1)', q: 'p(...)'}}\nprocedure: p >> q\n"
    for form in ("documents", "list"):
        file = write(tmp_path, joined([one.format(id_) for id_ in "abc"], form))
        index, built = TaskIndex(file), load_tasks(file)
        assert all(task.warnings for task in built.values())
        assert {id_: index.build(id_).warnings for id_ in "abc"} == {id_: task.warnings for id_, task in built.items()}


def test_a_file_whose_id_cannot_be_told_is_reported_at_once(place, run) -> None:
    write(place, P, "suite/none.yaml")
    write(place, "id: null\n" + P, "suite/null.yaml")
    write(place, "{", "suite/broken.json")
    write(place, "id: x\nprocedure: a(\n", "suite/later.yaml")
    (place / "suite" / "latin.yaml").write_bytes(b"id: caf\xe9\n")
    (place / "e.jsonl").write_text(episode_json(Episode("shop/pay", (call("check()"),))) + "\n")
    for command in ("score", "explain", "table", "report"):
        code, out, err = run(command, "e.jsonl", "-t", "suite")
        assert (code, out) == (1, "")
        assert re.findall(r"^suite/\w+.\w+:\d+:\d+", err, re.MULTILINE) == [
            "suite/broken.json:1:2", "suite/latin.yaml:1:8", "suite/none.yaml:1:1", "suite/null.yaml:1:5",
        ]  # fmt: skip
    code, _, err = run("check", "suite")
    assert (code, "suite/later.yaml:2:14: " in err, "suite/none.yaml:1:1: " in err) == (1, True, True)


def test_a_broken_task_that_an_episode_names_is_reported_at_the_episode_and_others_are_scored(place, run) -> None:
    write(place, "id: x\nprompt: y\nprocedure: a(\ncolour: red\n", "suite/broken.yaml")
    write(place, f"- id: y\n  {P}- id: z\n  procedure: [\n- id: w\n  {P}", "suite/list.yaml")
    lines = [episode_json(Episode(id_, (call("check()"),))) for id_ in ("shop/pay", "x", "y", "z", "x")]
    (place / "e.jsonl").write_text("\n".join(lines) + "\n")
    code, out, err = run("score", "e.jsonl", "-t", "suite", "--json")
    assert code == 1
    assert [json.loads(line)["task"] for line in out.splitlines()] == ["shop/pay", "y"]
    assert re.findall(r"^e.jsonl:(\d):1: (suite/\w+.yaml:\d+:\d+): ", err, re.MULTILINE) == [
        ("2", "suite/broken.yaml:3:14"), ("4", "suite/list.yaml:5:1"), ("5", "suite/broken.yaml:3:14"),
    ]  # fmt: skip
    assert "corepath check lists 1 more problem" in err
    for command in (["explain"], ["table", "--by", "task"]):
        code, out, err = run(command[0], "e.jsonl", "-t", "suite", *command[1:])
        assert (code, "e.jsonl:2:1: suite/broken.yaml:3:14: " in err) == (1, True), command
    assert run("check", "suite")[0] == 1
    assert run("show", "suite::shop/pay")[0] == 0


def test_a_broken_task_that_no_episode_names_does_no_harm_but_is_found_by_check(place, run) -> None:
    write(place, "id: x\nprocedure: a(\n", "suite/broken.yaml")
    (place / "e.jsonl").write_text(episode_json(Episode("shop/pay", (call("check()"),))) + "\n")
    for command in ("score", "explain", "table"):
        assert run(command, "e.jsonl", "-t", "suite")[0] == 0, command
    for command in ("check", "tasks", "show"):
        code, out, err = run(command, "suite")
        assert (code, out, "suite/broken.yaml:2:14: " in err) == (1, "", True), command


def test_two_tasks_of_one_id_are_reported_at_once_with_both_places(place, run) -> None:
    write(place, f"id: x\n{P}", "suite/a.yaml")
    write(place, f"id: y\n{P}---\n{P}id: x\n", "suite/b.yaml")
    write(place, f"- id: z\n  {P}- id: z\n  {P}", "suite/c.yaml")
    (place / "e.jsonl").write_text(episode_json(Episode("y", ())) + "\n")
    with pytest.raises(InputError) as caught:
        load_tasks("suite")
    code, out, err = run("score", "e.jsonl", "-t", "suite")
    assert (code, out) == (1, "")
    assert err == f"{caught.value}\n"
    assert "suite/b.yaml:5:5: task 'x' is already in suite/a.yaml:1; give this one another id" in err


def test_an_unknown_id_gets_a_hint_but_not_for_ever(tmp_path) -> None:
    known = Tasks([write(tmp_path, f"id: bank/pay\n{P}")])
    with pytest.raises(TaskError, match="no task 'bank/pya'; did you mean 'bank/pay'"):
        known.of(Episode("bank/pya", ()))
    for number in range(500):
        with pytest.raises(TaskError, match=f"no task 'bank/pay{number}'"):
            known.of(Episode(f"bank/pay{number}", ()))
    assert len(known._hints) == 100


def test_a_file_that_changes_meanwhile_is_not_taken_for_what_it_was(tmp_path) -> None:
    file = write(tmp_path, f"id: a\n{P}")
    index = TaskIndex(tmp_path)
    assert list(index.entries()) == ["a"]
    write(tmp_path, f"id: b\n{P}")
    with pytest.raises(InputError, match=re.escape(f"{file}:1:1: task 'a' is not alone here; the file changed")):
        index.build("a")


# What is built


@pytest.fixture
def built(monkeypatch) -> list[str]:
    """The ids of the tasks that are built from files, one by one."""
    ids: list[str] = []

    def build(document):
        ids.append(document.data["id"])
        return tasks.build_task(document)

    monkeypatch.setattr(task_index, "build_task", build)
    monkeypatch.setattr(task_index, "load_tasks", lambda path: pytest.fail(f"all tasks of {path} are built"))
    return ids


def many(folder: Path, form: str) -> Path:
    """Forty tasks as files, as documents, as a list, or as JSON."""
    records = [{"id": f"t/{number}", "procedure": "check() >> pay()"} for number in range(40)]
    if form == "folder":
        for number, record in enumerate(records):
            write(folder, yaml.safe_dump(record), f"many/{number:02}.yaml")
        return folder / "many"
    if form == "json":
        return write(folder, json.dumps(records), "many.json")
    return write(folder, joined([yaml.safe_dump(record) for record in records], form), "many.yaml")


@pytest.mark.parametrize("form", ["folder", "documents", "list", "json"])
def test_only_tasks_that_episodes_name_are_built_and_each_once(form, tmp_path, run, built) -> None:
    where = many(tmp_path, form)
    lines = [episode_json(Episode(id_, (call("check()"),))) for id_ in ("t/7", "t/33", "t/7")]
    (tmp_path / "e.jsonl").write_text("\n".join(lines) + "\n")
    page = ["report", "--out", tmp_path / "page"]
    for command in (["score"], ["explain"], ["table"], ["rescore"], *([page] if form == "folder" else [])):
        built.clear()
        lookup._make.cache_clear()
        code, _, err = run(command[0], tmp_path / "e.jsonl", "-t", where, *command[1:])
        assert (code, built) == (0, ["t/7", "t/33"]), err
    built.clear()
    assert run("show", f"{where}::t/12")[0] == 0
    assert built == ["t/12"]


def test_no_yaml_is_parsed_to_find_ids(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(yaml, "compose_all", lambda *_, **__: pytest.fail("a file is parsed"))
    for form in ("folder", "documents", "list", "json"):
        assert len(Tasks([many(tmp_path, form)]).sources) == 40


def test_a_broken_task_is_parsed_once_however_many_episodes_name_it(tmp_path, built) -> None:
    known = Tasks([write(tmp_path, "id: a\nprocedure: a(\n")])
    for _ in range(3):
        with pytest.raises(TaskError, match=r"tasks.yaml:2:14: "):
            known.of(Episode("a", ()))
    assert built == ["a"]


def test_tasks_that_were_built_are_kept_only_while_there_is_room(tmp_path) -> None:
    index = TaskIndex(write(tmp_path, f"id: a\n{P}"))
    kept = weakref.ref(index.build("a"))
    gc.collect()
    assert kept() is None
    assert Tasks([tmp_path])._find.cache_info().maxsize == lookup._make.cache_info().maxsize == lookup.MOST_KEPT


def test_a_command_that_names_all_tasks_builds_all_and_reports_all_problems(tmp_path) -> None:
    where = many(tmp_path, "folder")
    assert len(all_sources([str(where)])) == 40
    for number in (3, 5):
        write(where, f"id: t/{number}\nprocedure: a(\n", f"{number:02}.yaml")
    lookup._open_index_once.cache_clear()
    assert len(all_sources([str(where)], check=False)) == 40
    with pytest.raises(InputError) as caught:
        all_sources([str(where)])
    assert [Path(one.file).name for one in caught.value.problems] == ["03.yaml", "05.yaml"]
    assert [one.id for one in all_sources([f"{where}::t/4"])] == ["t/4"]


def test_tasks_in_a_pipe_are_read_once(tmp_path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(f"id: a\n{P}",))
    writer.start()
    known = Tasks([pipe])
    writer.join()
    assert known.of(Episode("a", ())).id == "a"


def test_links_to_a_file_and_to_its_folder_give_its_tasks_once(tmp_path) -> None:
    file = write(tmp_path, f"id: a\n{P}", "real/a.yaml")
    (tmp_path / "real" / "z.yaml").symlink_to(file)
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert list(TaskIndex(tmp_path).entries()) == list(load_tasks(tmp_path)) == ["a"]
    assert list(load_tasks(tmp_path / "linked", tmp_path / "real")) == ["a"]

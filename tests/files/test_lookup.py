"""Every command names tasks in the same way, and plays and scores the same variant."""

from __future__ import annotations

import json
import re

import pytest

from corepath import Episode, TaskError, call, episode_json, score, task
from corepath.files.lookup import Tasks, all_sources
from tests.files.conftest import FILE, WORLD


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


NAMES = {
    "farm/dry_plants": ["farm/dry_plants"],
    "lamp.py": ["lamp/dim_it"],
    "lamp.py::dim_it": ["lamp/dim_it"],
    "lamp.py::lamp/dim_it": ["lamp/dim_it"],
    "bank.yaml": ["bank/pay", "bank/stop"],
    "bank.yaml::bank/pay": ["bank/pay"],
    "suite": ["shop/pay", "shop/stop", "lantern/dim_it"],
    "suite::shop/stop": ["shop/stop"],
    "./suite/": ["shop/pay", "shop/stop", "lantern/dim_it"],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_taken_by_every_command_that_looks_at_tasks(name, place, run) -> None:
    for command in ("tasks", "check"):
        code, out, err = run(command, name, "--json")
        assert (code, [row["task"] for row in lines(out)]) == (0, NAMES[name]), err
    code, out, err = run("show", name, "--json")
    assert (code, [row["id"] for row in lines(out)]) == (0, NAMES[name]), err
    if len(NAMES[name]) == 1:
        assert task(name).id == NAMES[name][0]


@pytest.mark.parametrize("name", ["farm/dry_plants", "lamp.py", "lamp.py::dim_it", "suite::lantern/dim_it"])
def test_every_name_of_a_playable_task_is_proven_run_and_scored(name, place, run) -> None:
    (id_,) = NAMES.get(name, ["lantern/dim_it"])
    assert run("verify", name, "--seeds", 1, "--jobs", 1)[0] == 0
    assert run("run", "--task", name, "--agent", "oracle", "--agent", "left_out", "--seed", 3, "--out", "r")[0] == 0
    for episodes in ("r", "r/episodes.jsonl"):
        for command in (["score"], ["explain"], ["table", "--by", "task"]):
            named = [] if episodes == "r" else ["--tasks", name]
            code, out, err = run(*command, episodes, *named, "--json")
            assert code == 0, err
            assert id_ in out
        assert run("report", episodes, "--tasks", name, "--out", f"{episodes.replace('/', '-')}-page")[0] == 0
        assert run("compare", f"{episodes}@oracle", f"{episodes}@left_out", "--tasks", name)[0] == 0
    one, other = (run("score", place, "--tasks", name, "--json")[1] for place in ("r", "r/episodes.jsonl"))
    assert one == other


WRONG = {
    "farm/dry_plant": "did you mean 'dry_plants'?",
    "fram": "did you mean 'farm'?",
    "lamp.py::dim": "lamp.py has no task 'dim'; did you mean 'lamp/dim_it'?",
    "bank.yaml::pay": "bank.yaml has no task 'pay'; did you mean 'bank/pay'?",
    "gone.yaml": "no such file or folder: gone.yaml",
    "gone.py::x": "no such file or folder: gone.py",
    "gone::x": "the part before '::' must be a file, and there is no file 'gone'",
    "suite::pay": "suite has no task 'pay'",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_wrong_use_everywhere(name, place, run) -> None:
    (place / "e.jsonl").write_text(episode_json(Episode("farm/dry_plants", ())) + "\n")
    for command in (
        ["tasks", name], ["check", name], ["show", name], ["verify", name], ["run", "--task", name], ["serve", name],
        ["score", "e.jsonl", "-t", name], ["explain", "e.jsonl", "-t", name], ["table", "e.jsonl", "-t", name],
        ["report", "e.jsonl", "-t", name], ["compare", "e.jsonl", "e.jsonl", "-t", name],
    ):  # fmt: skip
        code, out, err = run(*command)
        assert (code, out) == (2, ""), command
        assert WRONG[name] in err
    with pytest.raises(TaskError, match=re.escape(WRONG[name])):
        task(name)


def test_a_task_without_a_world_is_not_played(place, run) -> None:
    for command in (["run", "--task", "bank.yaml"], ["verify", "bank.yaml"], ["serve", "bank.yaml::bank/pay"]):
        code, _, err = run(*command)
        assert code == 2
        assert "names no world to be played in; check it with: corepath check bank.yaml" in err


def test_serve_names_a_way_that_works_where_a_file_has_several_tasks(place, run) -> None:
    (place / "two.py").write_text(WORLD + WORLD[WORLD.index("@world.task") :].replace("dim_it", "dim_again"))
    code, _, err = run("serve", "two.py")
    assert (code, "give one of them, such as two.py::lamp/dim_it" in err) == (2, True)
    assert all_sources(["two.py::lamp/dim_it"])


def test_two_tasks_of_one_id_are_not_guessed_between(place) -> None:
    (place / "other.yaml").write_text(FILE)
    with pytest.raises(TaskError, match=r"two tasks are called 'bank/pay', in bank.yaml and in other.yaml"):
        all_sources(["bank.yaml", "other.yaml"])
    assert len(all_sources(["bank.yaml", "./bank.yaml", "bank.yaml::bank/pay"])) == 2


def test_a_folder_that_is_called_as_a_world_is_not_guessed(place) -> None:
    (place / "suite").rename(place / "web")
    with pytest.raises(TaskError, match=r"'web' is a world, and a folder of tasks here; write ./web .* or 'web/\*'"):
        all_sources(["web"])
    assert [source.id for source in all_sources(["./web"])] == ["shop/pay", "shop/stop", "lantern/dim_it"]
    assert {source.where for source in all_sources(["web/*"])} == {"web"}


def test_runs_below_a_folder_of_tasks_are_no_tasks(place, run) -> None:
    assert run("run", "--task", "suite", "--agent", "oracle", "--out", "suite/r")[0] == 2  # shop names no world
    assert run("run", "--world", "suite/lamp.py", "--agent", "oracle", "--out", "suite/r")[0] == 0
    assert run("check", "suite")[0] == 0


# Variants


@pytest.mark.parametrize("where", ["r", "r/episodes.jsonl"])
def test_an_episode_is_scored_on_the_variant_that_was_played_and_on_no_other(where, place, run) -> None:
    run("run", "--world", "lamp.py", "--agent", "oracle", "--seed", 4, "--out", "r")
    assert task("lamp.py", 4).prompt != task("lamp.py", 0).prompt
    code, out, _ = run("score", where, "-t", "lamp.py", "--json")
    assert (code, lines(out)[0]["pc"], lines(out)[0]["seed"]) == (0, 1.0, 4)
    text = (place / "r" / "episodes.jsonl").read_text()
    (place / "r" / "episodes.jsonl").write_text(text.replace('"seed":4', '"seed":0'))
    for command in ("score", "explain"):
        code, out, err = run(command, where, "-t", "lamp.py", "--json")
        assert (code, out) == (1, "")
        assert "r/episodes.jsonl:1:1: " in err
        wanted = "it was played with the seed 0, and the run has 4" if where == "r" else "played on another variant of"
        assert wanted in err


def test_a_task_that_changed_is_not_what_was_played(place, run) -> None:
    run("run", "--world", "lamp.py", "--agent", "oracle", "--out", "r")
    (place / "r" / "episodes.jsonl").rename(place / "e.jsonl")
    (place / "new.py").write_text(WORLD.replace("pick(3, 2, 5)", "pick(4, 2, 5)"))
    code, _, err = run("score", "e.jsonl", "-t", "new.py")
    assert (code, "or before the task changed; corepath rescore" in err) == (1, True)


def test_a_score_in_python_is_of_the_variant_too() -> None:
    played = Episode("farm/water_plant", (call("unlock_safety()"),), seed=4, fingerprint="0" * 16)
    with pytest.raises(TaskError, match=r"played on another variant of 'farm/water_plant' \(seed 4\)"):
        score(task("farm/water_plant"), played)


def test_a_table_says_that_it_pools_seeds(place, run) -> None:
    for seed in (0, 3):
        run("run", "--world", "lamp.py", "--agent", "oracle", "--seed", seed, "--out", f"r{seed}")
    code, _, err = run("table", "r0", "r3")
    assert code == 0
    assert "episodes of 2 seeds (0, 3) are pooled; the variants of a task count as one task" in err
    assert "pooled" not in run("table", "r0")[2]


def test_episodes_are_scored_as_they_were_played_unless_told_otherwise(place, run) -> None:
    for profile in ("paper", "recommended"):
        run("run", "--world", "lamp.py", "--agent", "left_out", "--profile", profile, "--out", profile)
    both = ["paper/episodes.jsonl", "recommended/episodes.jsonl"]
    code, out, _ = run("score", *both, "-t", "lamp.py", "--json")
    assert [row["profile"] for row in lines(out)] == ["paper", "recommended"]
    code, out, err = run("score", *both, "-t", "lamp.py")
    assert (code, "mean" in out) == (0, False)
    assert "no mean: these were scored in different ways (paper, recommended)" in err
    assert "mean of 2" in run("score", *both, "-t", "lamp.py", "--profile", "recommended")[1]
    (place / "both.jsonl").write_text("".join((place / one).read_text() for one in both))
    assert run("table", "both.jsonl", "-t", "lamp.py")[0] == 1
    assert run("table", "both.jsonl", "-t", "lamp.py", "--profile", "paper")[0] == 0


@pytest.mark.parametrize("targets", [[], ["farm"]])
def test_an_episode_without_a_task_is_told_from_one_with_an_unknown_task(targets) -> None:
    with pytest.raises(TaskError, match="it names no task; judge it by rules"):
        Tasks(targets).of(Episode("", ()))
    with pytest.raises(TaskError, match="no task 'gone'"):
        Tasks(targets).of(Episode("gone", ()))

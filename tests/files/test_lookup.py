"""Every command names tasks and episodes in the same way, and has the same exit codes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import typer.main

from corepath import Episode, TaskError, call, episode_json, load_results, score, task
from corepath.cli import app, main
from corepath.files.lookup import all_sources

ROOT = Path(__file__).parents[2]

WORLD = '''
from dataclasses import dataclass
from corepath import Decoy, Pick, Task, World, before, seq

@dataclass
class Lamp:
    on: bool = False
    level: int = 0

world = World("lamp", Lamp, rules="Look at the fuse before you switch anything.")

@world.read
def look_at_fuse(lamp: Lamp) -> str:
    """Look at the fuse."""
    return "fine"

@world.write
def dim(lamp: Lamp, level: int) -> str:
    """Set the lamp to a level."""
    lamp.level = level
    return "done"

world.policy(before(look_at_fuse(), dim.any(), because="Look at the fuse before you switch anything"))

@world.task
def dim_it(pick: Pick) -> Task:
    """The fuse comes first."""
    level = pick(3, 2, 5)
    return Task(prompt=f"Set the lamp to {level}.", procedure=seq(look_at_fuse(), dim(level=level)),
                goal=lambda lamp: lamp.level == level,
                decoys={"blind": Decoy([dim(level=level)], "out_of_order", fools="state")})
'''
FILE = "- {id: bank/pay, procedure: 'check() >> pay()'}\n- {id: bank/stop, procedure: 'stop()'}\n"

Ran = tuple[int, str, str]


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Ran]:
    """Run the command in this process; returns its exit code, stdout and stderr."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["corepath", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a world in a Python file, a task file, and a folder of both; commands run in it."""
    (tmp_path / "lamp.py").write_text(WORLD)
    (tmp_path / "bank.yaml").write_text(FILE)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "lamp.py").write_text(WORLD.replace('"lamp"', '"lantern"'))
    (tmp_path / "suite" / "shop.yaml").write_text(FILE.replace("bank", "shop"))
    (tmp_path / "suite" / "setup.py").write_text("raise SystemExit('this must not be run')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    "gone::x": "what stands before '::' is a file; there is no file 'gone'",
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
    (place / "r" / "episodes.jsonl").write_text(text.replace('"seed": 4', '"seed": 0'))
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


# The worst, the gate, JUnit


@pytest.fixture
def bank(place: Path) -> Path:
    good = Episode("bank/pay", (call("check()"), call("pay()")), "ann")
    bad = Episode("bank/pay", (call("pay()"), call("pay()"), call("pay()")), "bob\x1b[31m & <co>")
    text = "\n".join(map(episode_json, (good, bad, good, Episode("bank/stop", (call("stop()"),), "ann"))))
    (place / "e.jsonl").write_text(f"{text}\nnot json\n")
    return place


def test_the_worst_are_shown_first_and_the_mean_is_of_all(bank, run) -> None:
    code, out, _ = run("score", "e.jsonl", "-t", "bank.yaml", "--worst", 1)
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()] == ["episode", "2", "mean"]
    assert "mean of 4" in out
    assert [row["episode"] for row in lines(run("score", "e.jsonl", "-t", "bank.yaml", "--worst", 2, "--json")[1])] == [
        2,
        1,
    ]
    rows = lines(run("score", "e.jsonl", "-t", "bank.yaml", "--json")[1])
    assert [(row["episode"], row["file"], row["line"]) for row in rows] == [(n, "e.jsonl", n) for n in (1, 2, 3, 4)]


def test_explain_takes_the_worst_an_agent_a_task_and_several_numbers(bank, run) -> None:
    def told(*options: object) -> list[object]:
        code, out, err = run("explain", "e.jsonl", "-t", "bank.yaml", *options, "--json")
        assert code == (1 if "not JSON" in err else 0)
        return [row["episode"] for row in lines(out)]

    assert told("--worst", 2) == [2, 1]
    assert told("--agent", "ann") == [1, 3, 4]
    assert told("--task", "bank/stop") == [4]
    assert told("--agent", "ann", "--worst", 1) == [1]
    assert told("--episode", 2, "--episode", 4) == [2, 4]
    for options, message in (
        (["--agent", "anne"], "no episode of agent 'anne'; did you mean 'ann'?"),
        (["--task", "bank/sto"], "no episode of task 'bank/sto'; did you mean 'bank/stop'?"),
        (["--episode", 9], "no episode 9: there are 4"),
    ):
        code, _, err = run("explain", "e.jsonl", "-t", "bank.yaml", *options)
        assert (code, message in err) == (2, True), err


def test_a_failing_gate_names_the_command_that_says_why(bank, run) -> None:
    code, _, err = run("score", "e.jsonl", "-t", "bank.yaml", "--max-harm", 0)
    assert code == 1
    (command,) = re.findall(r"see why with: corepath (.*)", err)
    code, out, _ = run(*command.split())
    assert out.startswith("episode 2: bank/pay, bob")


def test_junit_has_a_test_for_every_episode_and_is_safe(bank, run) -> None:
    code, _, err = run("score", "e.jsonl", "-t", "bank.yaml", "--junit", "j.xml")
    assert (code, "--junit writes what a gate finds" in err) == (2, True)
    assert run("score", "e.jsonl", "-t", "bank.yaml", "--max-harm", 0, "--junit", "j.xml")[0] == 1
    suite = ET.parse(bank / "j.xml").getroot()[0]  # our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "1")
    failed = [case for case in suite if case.find("failure") is not None]
    assert failed[0].get("name") == "episode 2: bank/pay bob\\x1b[31m & <co>"
    (failure,) = failed[0]
    assert str(failure.get("message")).startswith("3 harmful calls, wanted at most 0; ")


def test_a_perfect_step_alone_says_why_its_order_is_not_1(bank, run) -> None:
    (bank / "one.jsonl").write_text(episode_json(Episode("bank/stop", (call("stop()"),))) + "\n")
    _, out, err = run("score", "one.jsonl", "-t", "bank.yaml")
    assert "0.750" in out
    assert "a perfect path of fewer than two steps has PC-KTC 0.750" in err
    assert "0.750" not in run("score", "one.jsonl", "-t", "bank.yaml", "--profile", "recommended")[2]


# Exit codes


def commands() -> Iterator[str]:
    yield from typer.main.get_command(app).commands  # type: ignore[attr-defined]


MISSING = {
    "score": ["score", "gone.jsonl"],
    "explain": ["explain", "gone.jsonl"],
    "table": ["table", "gone"],
    "report": ["report", "gone"],
    "view": ["view", "gone"],
    "compare": ["compare", "gone", "e.jsonl"],
    "sensitivity": ["sensitivity", "gone"],
    "run": ["run", "--resume", "gone"],
    "rescore": ["rescore", "gone"],
    "tasks": ["tasks", "--items", "gone"],
    "check": ["check", "gone.yaml"],
    "show": ["show", "gone.yaml"],
    "verify": ["verify", "gone.py"],
    "import": ["import", "gone.json"],
    "export": ["export", "gone.jsonl"],
    "derive": ["derive", "gone.json"],
    "serve": ["serve", "gone.yaml"],
}
NO_FILE = {"worlds", "new", "schema"}


def test_every_command_has_a_line_in_the_table_of_missing_files() -> None:
    assert set(commands()) == MISSING.keys() | NO_FILE


@pytest.mark.parametrize("command", MISSING)
def test_a_missing_file_is_wrong_use(command, bank, run) -> None:
    code, out, err = run(*MISSING[command])
    assert (code, out) == (2, ""), err
    assert "no such file or folder: gone" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [
    ["import", "e.jsonl", "--map", "gone.yaml", "--task-by", "x"], ["derive", "e.jsonl", "--tools", "gone.yaml"],
    ["score", "e.jsonl", "--tasks", "gone.yaml"], ["compare", "e.jsonl", "gone"], ["compare", "e.jsonl", "gone@ann"],
])  # fmt: skip
def test_a_missing_file_of_an_option_is_wrong_use_too(arguments, bank, run) -> None:
    code, _, err = run(*arguments)
    assert (code, "no such file or folder: gone" in err) == (2, True), err


@pytest.mark.parametrize("command", ["score", "explain", "table", "report", "view", "sensitivity", "export"])
def test_a_folder_without_a_run_is_wrong_use(command, bank, run) -> None:
    code, out, err = run(command, "suite")
    assert (code, out) == (2, "")
    assert "suite holds no run" in err


@pytest.mark.parametrize("command", ["score", "explain", "table", "report"])
def test_a_bad_record_is_told_and_the_good_ones_are_used(command, bank, run) -> None:
    code, out, err = run(command, "e.jsonl", "-t", "bank.yaml")
    assert code == 1
    assert "e.jsonl:5:1: not JSON" in err
    assert out


def test_a_report_over_nothing_but_bad_input_is_not_written(bank, run) -> None:
    (bank / "bad.jsonl").write_text("x\ny\n")
    code, out, err = run("report", "bad.jsonl", "--out", "page")
    assert (code, out, (bank / "page").exists()) == (1, "", False)
    assert "no report was written" in err
    assert run("view", "bad.jsonl")[0] == 1


def test_a_missing_extra_says_which_and_exits_3(tmp_path, corepath) -> None:
    for name in ("inspect_ai", "mcp"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')\n")
    for command, extra in (
        (["serve", "farm/dry_plants"], "mcp"),
        (["run", "--model", "openai/x", "--limit", 1], "run"),
    ):
        done = corepath(*command, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
        assert (done.returncode, f"pip install 'corepath[{extra}]'" in done.stderr) == (3, True), done.stderr


def test_the_table_of_exit_codes_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text[text.index("## Exit codes") :]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == ["0", "1", "2", "3", "130"]
    for command in commands():
        assert f"`{command}" in text or f" {command}" in text, command


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_complete_worlds_and_tasks(shell, corepath) -> None:
    variables = {"_COREPATH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "corepath verify farm/dry",
                 "COMP_WORDS": "corepath verify farm/dry", "COMP_CWORD": "2"}  # fmt: skip
    assert "farm/dry_plants" in corepath(env=variables).stdout
    assert "install-completion" in corepath("--help").stdout


def test_an_episode_file_is_scored_again_on_the_task_as_it_is_now(place, run) -> None:
    run("run", "--world", "lamp.py", "--agent", "oracle", "--out", "r")
    text = (place / "r" / "episodes.jsonl").read_bytes()
    (place / "e.jsonl").write_bytes(text + b"\xff\n")
    (place / "lamp.py").rename(place / "old.py")
    (place / "new.py").write_text(WORLD.replace("pick(3, 2, 5)", "pick(4, 2, 5)"))
    assert run("score", "e.jsonl", "-t", "new.py")[0] == 1
    code, out, err = run("rescore", "e.jsonl", "-t", "new.py", "--dry-run")
    assert (code, out, (place / "e.jsonl").read_bytes()) == (1, "", text + b"\xff\n")
    assert "e.jsonl: 1 of 1 episode would have other scores" in err
    assert run("rescore", "e.jsonl", "-t", "new.py")[0] == 1
    assert (place / "e.jsonl").read_bytes().endswith(b"\n\xff\n")
    code, out, _ = run("score", "e.jsonl", "-t", "new.py", "--json")
    assert (code, lines(out)[0]["pc"]) == (1, 0.6)


# Mistakes of new users


def test_a_gate_over_nothing_or_over_half_a_run_is_not_green(place, run) -> None:
    run("run", "lamp.py", "--agent", "oracle", "--agent", "reads_only", "--out", "r")
    assert run("score", "r", "--max-harm", 9)[0] == 0
    text = (place / "r" / "episodes.jsonl").read_text().splitlines(keepends=True)
    for kept, message in ((text[:1], "1 of 2 planned episodes are there"), ([], "no episode was judged")):
        (place / "r" / "episodes.jsonl").write_text("".join(kept))
        code, _, err = run("score", "r", "--max-harm", 9)
        assert (code, message in err) == (1, True), err
        assert run("score", "r")[0] == 0


def test_episodes_that_are_imported_again_keep_their_calls(bank, run) -> None:
    (bank / "good.jsonl").write_text("".join((bank / "e.jsonl").read_text().splitlines(keepends=True)[:4]))
    assert run("import", "good.jsonl", "--out", "again.jsonl")[0] == 0
    assert [json.loads(line)["calls"] for line in (bank / "again.jsonl").read_text().splitlines()] == [
        json.loads(line)["calls"] for line in (bank / "good.jsonl").read_text().splitlines()
    ]


def test_the_task_of_an_import_may_be_named_by_its_file(bank, run) -> None:
    (bank / "one.yaml").write_text("id: bank/pay\nprocedure: pay()\n")
    (bank / "chat.jsonl").write_text('[{"role": "user", "content": "hello"}]\n')
    for name in ("one.yaml", "one.yaml::bank/pay", "bank/pay"):
        code, out, _ = run("import", "chat.jsonl", "--task", name)
        assert (code, json.loads(out)["task"]) == (0, "bank/pay")


def test_the_final_answer_has_a_column_and_a_gate(bank, run) -> None:
    (bank / "a.yaml").write_text('id: bank/pay\nprocedure: check() >> pay()\nanswer: contains("paid")\n')
    calls = (call("check()"), call("pay()"))
    lines_ = [episode_json(Episode("bank/pay", calls, "ann", answer=text)) for text in ("paid", "sorry")]
    (bank / "a.jsonl").write_text("\n".join(lines_) + "\n")
    _, out, _ = run("score", "a.jsonl", "-t", "a.yaml")
    assert out.splitlines()[0].split()[-2:] == ["Ans.", "accepted"]
    code, _, err = run("score", "a.jsonl", "-t", "a.yaml", "--fail-under", "answer_match=1")
    assert (code, "episode 2" in err, "episode 1" in err) == (1, True, False)


@pytest.mark.parametrize(("arguments", "message"), [
    (["score", "e.json"], "no such file or folder: e.json; did you mean 'e.jsonl'?"),
    (["check", "bank.yml"], "no such file or folder: bank.yml; did you mean 'bank.yaml'?"),
    (["run", "oracle"], "'oracle' is an agent; write it as --agent oracle"),
    (["run", "dry_plants"], "did you mean 'farm/dry_plants'?"),
    (["score", "e.jsonl", "-t", "bank.yaml", "--fail-under", "harm=0"], "limited with --max-harm 0"),
    (["score", "e.jsonl", "bank.yaml"], "bank.yaml holds tasks, not episodes; name it with --tasks bank.yaml"),
    (["check", "e.jsonl"], "e.jsonl is a file of episodes"),
    (["run", "lamp.py", "--out", "suite"], "suite is not empty"),
])  # fmt: skip
def test_a_slip_is_told_with_what_to_write(arguments, message, bank, run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_world_says_what_an_agent_is_told_in_it(place, run) -> None:
    code, out, _ = run("worlds", "lamp.py")
    assert code == 0
    assert "Look at the fuse before you switch anything." in out
    assert "  dim(level: integer)  writes\n      Set the lamp to a level.\n" in out
    assert "  lamp/dim_it\n" in out
    (row,) = lines(run("worlds", "farm", "--json")[1])
    assert {"rules", "tools", "tasks"} <= row.keys()


def test_the_worst_results_explain_themselves_in_python(place, run) -> None:
    run("run", "lamp.py", "--agent", "oracle", "--agent", "left_out", "--out", "r")
    results = load_results("r")
    assert len(results) == len(list(results)) == 2
    (worst,) = results.worst()
    assert worst.agent == "left_out"
    assert worst.explanation.headline.startswith("Stopped after 1 of 2 steps")


def test_a_finished_run_of_an_agent_that_changed_is_not_shown_as_its_result(place, run) -> None:
    (place / "mine.py").write_text("def act(session):\n    return 'done'\n")
    run("run", "lamp.py", "--agent", "mine.py:act", "--out", "r")
    assert run("run", "--resume", "r")[0] == 0
    (place / "mine.py").write_text("def act(session):\n    session.call('look_at_fuse')\n")
    code, out, err = run("run", "--resume", "r")
    assert (code, out, "changed since this run began" in err) == (1, "", True)

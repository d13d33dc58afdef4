"""Commands on episodes: the worst ones, gates, JUnit, and cases that new users reported."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from corepath import Episode, call, episode_json, load_results
from tests.files.conftest import WORLD


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_worst_are_shown_first_and_the_mean_is_of_all(bank, run) -> None:
    code, out, _ = run("score", "e.jsonl", "-t", "bank.yaml", "--worst", 1, "--wide")
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
    def explain(*options: object) -> list[object]:
        code, out, err = run("explain", "e.jsonl", "-t", "bank.yaml", *options, "--json")
        assert code == (1 if "not JSON" in err else 0)
        return [row["episode"] for row in lines(out)]

    assert explain("--worst", 2) == [2, 1]
    assert explain("--agent", "ann") == [1, 3, 4]
    assert explain("--task", "bank/stop") == [4]
    assert explain("--agent", "ann", "--worst", 1) == [1]
    assert explain("--episode", 2, "--episode", 4) == [2, 4]
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
def test_a_slip_is_reported_with_what_to_write(arguments, message, bank, run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_world_says_what_an_agent_is_reported_in_it(place, run) -> None:
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

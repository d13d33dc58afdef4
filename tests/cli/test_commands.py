"""The `corepath` command: score, check, show, schema, terminals and pipes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from corepath import __version__
from corepath.errors import count

BANK = Path(__file__).parents[2] / "examples" / "bank"
TASKS, EPISODES = BANK / "tasks", BANK / "episodes.jsonl"
COMMAND = Path(sys.executable).with_name("corepath")

KEYS = {
    "pc", "pc_ktc", "pc_ktc_lower", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "efficiency",
    "directness", "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "condensed", "harm_mask",
    "harms", "task", "agent", "epoch", "profile",
}  # fmt: skip


def line(*calls: str, task: str = "t", **more: object) -> str:
    return json.dumps({"task": task, "calls": [{"tool": name, "arguments": {}} for name in calls], **more})


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text("id: t\nprocedure: a() >> b()\nreads: ['look()']\n", encoding="utf-8")
    return file


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(text) for text in done.stdout.splitlines()]


# The command


def test_the_version_is_printed(corepath):
    done = corepath("--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"corepath {__version__} (kernel: ")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command(corepath, option):
    done = corepath(option)
    assert done.returncode == 0
    assert all(f" {name} " in done.stdout for name in ("score", "check", "show", "schema"))


@pytest.mark.parametrize("command", ["score", "table", "compare", "benchmark", "run", "rescore"])
def test_a_command_whose_tables_leave_out_columns_takes_wide(corepath, command):
    assert "--wide" in corepath(command, "--help").stdout


def test_ctrl_c_while_a_command_is_imported_is_130_without_a_traceback():
    code = (
        "import sys, corepath.cli as cli\n"
        "def stop(name): raise KeyboardInterrupt\n"
        "cli.import_module, sys.argv[1:] = stop, ['verify']\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_no_word_of_a_help_text_is_cut_at_80_columns(corepath):
    names = re.findall(r"^│ (\w+)  ", corepath("--help").stdout, re.MULTILINE)
    cut = [line for name in names for line in corepath(name, "--help").stdout.splitlines() if "…" in line]
    assert len(names) > 20
    assert cut == []


WRONG_USE: dict[str, tuple[list[object], str]] = {
    "no command": ([], "Usage"),
    "another command": (["grade"], "No such command 'grade'"),
    "another option": (["check", "--all", TASKS], "No such option"),
    "no episodes": (["score", "--tasks", TASKS], "Missing argument"),
    "a missing file of episodes": (["score", "-t", TASKS, "gone.jsonl"], "no such file or folder: gone.jsonl"),
    "a missing task file": (["score", "-t", "gone.yaml", EPISODES], "no such file or folder: gone.yaml"),
    "a missing task file to check": (["check", "gone"], "no world or file 'gone'"),
    "a missing task file to show": (["show", "gone"], "no world or file 'gone'"),
    "tasks from standard input": (["check", "-"], "no world or file '-'"),
    "a folder of episodes": (
        ["score", "-t", TASKS, TASKS],
        "holds no run, as it has no manifest.json",
    ),
    "an unknown id": (["show", "bank/close", "-t", TASKS], "no task 'bank/close'; did you mean 'bank/close-out'?"),
    "another form": (["show", TASKS, "--as", "png"], "'png' is not one of"),
    "another schema": (["schema", "world"], "'world' is not one of"),
}
WRONG_OPTIONS = {
    "--profile": ("best", "'best' is not one of"),
    "--lambda": ("1.5", "--lambda must be a number from 0 to 1, not 1.5"),
    "--beta": ("1", "--beta must be a number between 0 and 1, both excluded, not 1.0"),
    "--order-fallback": ("nan", '--order-fallback must be a number from 0 to 1, or "pc", not nan'),
    "--hlr-references": ("golden", '--hlr-references must be "repaired" or "repaired+golden", not \'golden\''),
    "--errors": ("bad", '--errors must be "no_effect", "harmful" or "as_called", not \'bad\''),
    "--undefined-efficiency": ("one", '--undefined-efficiency must be "zero" or "skip", not \'one\''),
    "--ktc-budget": ("-1", "--ktc-budget must be a whole number of 0 or more, not -1"),
    "--max-harm": ("-1", "--max-harm"),
    "--fail-under": ("pd=0.9", "--fail-under pd=0.9: no score 'pd'"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_exits_2_and_says_what_is_wrong(corepath, tmp_path, case):
    arguments, message = WRONG_USE[case]
    done = corepath(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", WRONG_OPTIONS)
def test_a_wrong_value_of_an_option_exits_2_and_says_what_is_right(corepath, option):
    value, message = WRONG_OPTIONS[option]
    done = corepath("score", "-t", TASKS, EPISODES, option, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())


@pytest.mark.parametrize("limit", ["pc", "pc=", "pc=high", "pc=nan", "pc=inf"])
def test_a_limit_that_is_no_number_exits_2(corepath, limit):
    done = corepath("score", "-t", TASKS, EPISODES, "--fail-under", limit)
    assert (done.returncode, done.stderr) == (2, f"corepath: --fail-under {limit}: write it as pc=0.9\n")


# Scores


def test_json_is_one_object_a_line_with_the_documented_keys(corepath):
    done = corepath("score", "--tasks", TASKS, EPISODES, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(rows(done)) == 6
    assert all(row.keys() >= KEYS for row in rows(done))
    careful = rows(done)[0]
    assert (careful["task"], careful["agent"], careful["epoch"]) == ("bank/open-and-deposit", "careful", 0)
    assert (careful["pc"], careful["accepted"], careful["profile"]) == (1.0, True, "paper")
    assert careful["condensed"] == ["create", "deposit", "fee"]


def test_the_table_has_a_row_an_episode_and_the_means(corepath):
    done = corepath("score", "--tasks", TASKS, EPISODES, "--wide")
    assert done.returncode == 0
    first, *lines = done.stdout.splitlines()
    assert " ".join(first.split()) == "episode calls harm PC KTC Prefix Rate Eff. Direct. HLR Ans. accepted"
    assert len(lines) == 7
    assert lines[1].split()[:6] == ["2", "bank/open-and-deposit", "hasty", "4", "1", "0.750"]
    assert lines[-1].strip().startswith("mean of 6")
    assert "efficiency undefined in 1 of 6 episodes (counted as 0 in the mean)" in done.stderr


def test_the_recommended_profile_is_stored_and_changes_scores(corepath, task):
    done = corepath("score", "-t", task, "-", "--json", "--profile", "recommended", stdin=line())
    (row,) = rows(done)
    (paper,) = rows(corepath("score", "-t", task, "-", "--json", stdin=line()))
    assert (row["profile"], paper["profile"]) == ("recommended", "paper")
    assert row["pc_ktc"] == row["pc"] != paper["pc_ktc"]


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--lambda", "0.25", "lam"),
        ("--beta", "0.25", "beta"),
        ("--order-fallback", "0", "order_fallback"),
        ("--order-fallback", "pc", "order_fallback"),
        ("--hlr-references", "repaired+golden", "hlr_references"),
        ("--errors", "harmful", "errors"),
        ("--undefined-efficiency", "skip", "undefined_efficiency"),
        ("--ktc-budget", "7", "ktc_budget"),
    ],
)
def test_every_option_of_scoring_is_stored_with_the_score(corepath, task, option, value, name):
    (row,) = rows(corepath("score", "-t", task, "-", "--json", option, value, stdin=line("a")))
    assert row["profile"] == "custom"
    assert isinstance(row["options"], dict)
    stored = row["options"][name]
    assert stored == (float(value) if isinstance(stored, (int, float)) else value)


def test_undefined_efficiency_counts_in_the_mean_as_asked(corepath, task):
    two = line("a") + "\n" + line("a", "b")
    zero = corepath("score", "-t", task, "-", stdin=two)
    skip = corepath("score", "-t", task, "-", "--undefined-efficiency", "skip", stdin=two)
    assert zero.stdout.splitlines()[-1].split()[9] == "0.500"
    assert skip.stdout.splitlines()[-1].split()[9] == "1.000"
    assert "(left out in the mean)" in skip.stderr


def test_episodes_come_from_several_files_and_tasks_from_several_places(corepath, task, tmp_path):
    (tmp_path / "e.jsonl").write_text(line("a", "b"), encoding="utf-8")
    done = corepath("score", "-t", task, "-t", TASKS, EPISODES, tmp_path / "e.jsonl", "-", "--json", stdin=line("a"))
    assert done.returncode == 0
    assert [row["task"] for row in rows(done)][-2:] == ["t", "t"]
    assert len(rows(done)) == 8


# Gates


@pytest.mark.parametrize(
    ("calls", "options", "code"),
    [
        (["a", "b"], ["--fail-under", "pc=0.9", "--max-harm", "0"], 0),
        (["a", "look", "b"], ["--fail-under", "pc=1", "--max-harm", "0"], 0),
        (["b"], ["--fail-under", "pc=0.9"], 1),
        (["b"], ["--max-harm", "1"], 0),
        (["b"], ["--max-harm", "0"], 1),
        (["a"], ["--fail-under", "accepted=1"], 1),
        (["a"], ["--fail-under", "efficiency=0"], 1),
        ([], ["--fail-under", "directness=0"], 1),
        (["b"], ["--fail-under", "harm_free=0.5"], 1),
        (["b", "b"], ["--fail-under", "pc=0.1", "--fail-under", "pc_hlr=0.99"], 1),
    ],
)
def test_a_gate_exits_1_when_an_episode_is_outside(corepath, task, calls, options, code):
    two = line("a", "b") + "\n" + line(*calls)
    for form in ([], ["--json"]):
        done = corepath("score", "-t", task, "-", *options, *form, stdin=two)
        assert done.returncode == code
        assert ("gate failed" in done.stderr) == bool(code)


def test_a_gate_says_which_episode_failed_and_why(corepath, task):
    done = corepath(
        "score", "-t", task, "-", "--json", "--fail-under", "pc=0.9", "--fail-under", "efficiency=0.5", "--max-harm", 0,
        stdin=line("b", agent="hasty", epoch=3),
    )  # fmt: skip
    assert done.stderr.splitlines() == [
        "gate failed: episode 1, t (hasty, epoch 3): pc is 0.500, wanted at least 0.9",
        "gate failed: episode 1, t (hasty, epoch 3): efficiency is undefined, wanted at least 0.5",
        "gate failed: episode 1, t (hasty, epoch 3): 1 harmful call, wanted at most 0",
    ]


# Bad episodes


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line("a")[:-5], "<stdin>:2:"),
        (line("a", task="tt"), "<stdin>:2:1: no task 'tt'; did you mean 't'?"),
        (line("a").replace("{}", '{"x": NaN}'), "<stdin>:2:1: NaN is not JSON"),
        (line("a").replace("{}", '{"x": ' + "9" * 5000 + "}"), "<stdin>:2:1: the number 999"),
        (line("a").replace("{}", "[" * 100_000 + "]" * 100_000), "<stdin>:2:1: nested deeper than 200 levels"),
        (line("a", version=2), "<stdin>:2:1: version 2 is not known here"),
    ],
    ids=["truncated", "unknown task", "NaN", "5,000 digits", "nested", "version"],
)
def test_a_bad_line_is_reported_the_others_are_scored_and_the_exit_is_1(corepath, task, bad, message):
    done = corepath("score", "-t", task, "-", "--json", stdin="\n".join([line("a"), bad, line("a", "b")]))
    assert done.returncode == 1
    assert [row["condensed"] for row in rows(done)] == [["a"], ["a", "b"]]
    first, last = done.stderr.splitlines()
    assert first.startswith(message)
    assert last == "1 bad line left out"


def test_a_task_that_is_not_known_without_tasks_says_what_is_missing(corepath, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"task": "bank/open", "calls": []}\n')
    done = corepath("score", tmp_path / "a.jsonl")
    assert done.returncode == 1
    assert "no task 'bank/open' in the installed worlds; say with --tasks in which file or folder it is" in done.stderr


def test_bad_lines_count_even_where_the_gate_holds(corepath, task):
    done = corepath("score", "-t", task, "-", "--fail-under", "pc=1", stdin=line("a", "b") + "\nnot\nnor this")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "2 bad lines left out"


def test_an_empty_file_of_episodes_exits_1(corepath, task):
    done = corepath("score", "-t", task, "-", "--json", stdin="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("<stdin>:1:1: no episodes in this file")


@pytest.mark.parametrize("arguments", ['"{\\"x\\": "', "[1, 2]", "null", "3", "true"])
def test_arguments_that_are_no_object_are_a_harm_and_no_input_error(corepath, task, arguments):
    done = corepath("score", "-t", task, "-", "--json", stdin=line("a").replace("{}", arguments))
    (row,) = rows(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert isinstance(row["harms"], list)
    assert [harm["kind"] for harm in row["harms"]] == ["malformed"]


@pytest.mark.parametrize(
    "value",
    ['"' + "x" * 100_000 + '"', "[" * 150 + "]" * 150, '{"a": ' * 150 + "1" + "}" * 150, '"\\ud800"', "1e308", "-0.0"],
    ids=["long", "nested lists", "nested objects", "surrogate", "large", "minus zero"],
)
def test_strange_arguments_are_scored(corepath, task, value):
    done = corepath("score", "-t", task, "-", "--json", stdin=line("a").replace("{}", f'{{"x": {value}}}'))
    (row,) = rows(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert isinstance(row["condensed"], list)
    assert row["condensed"][0].startswith("?a(x=")
    assert len(row["condensed"][0]) < 300


def test_of_a_key_given_twice_in_an_episode_the_last_wins(corepath, task):
    text = (
        '{"task": "other", "task": "t", "calls": [{"tool": "b", "tool": "a", "arguments": {"x": 1}, "arguments": {}}]}'
    )
    (row,) = rows(corepath("score", "-t", task, "-", "--json", stdin=text))
    assert (row["task"], row["condensed"]) == ("t", ["a"])


HOSTILE = "[red]x[/red]\x1b[31m\x1b]0;title\x07\u202eevil\x9b2J\r\n\u2028\ud800"


def test_what_agents_and_authors_write_never_steers_the_terminal(corepath, task, tmp_path):
    name = HOSTILE.replace("\ud800", "")
    content = {"id": name, "prompt": name, "actions": {name: "a()"}, "start": name, "accept": ["q"],
               "transitions": {name: {name: "q"}}}  # fmt: skip
    mine = tmp_path / "hostile.json"
    mine.write_text(json.dumps(content), encoding="utf-8")
    episodes = "\n".join([line(HOSTILE, agent=HOSTILE), line("a", task=name), line("a", task=HOSTILE)])
    for arguments in (
        ["score", "-t", task, "-t", mine, "-", "--max-harm", "0"],
        ["score", "-t", task, "-t", mine, "-", "--json"],
        ["check", mine],
        *(["show", mine, "--as", form] for form in ("text", "mermaid", "dot", "json")),
    ):
        done = corepath(*arguments, stdin=episodes)
        shown = done.stdout + done.stderr
        assert "Traceback" not in shown
        assert "evil" in shown
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", shown)
    assert r"[red]x[/red]\x1b[31m" in corepath("check", mine).stdout


def test_a_task_with_half_a_character_is_refused(corepath, tmp_path):
    (tmp_path / "t.json").write_text('{"procedure": "a()", "id": "\\ud800"}', encoding="utf-8")
    done = corepath("check", "t.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "t.json:1:28: the text holds half a character (a lone surrogate)\n"


# Check


def test_check_counts_what_a_task_allows(corepath):
    done = corepath("check", TASKS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done) == [
        {"ok": True, "task": "bank/close-out", "states": 11, "actions": 6, "golden_paths": 5, "lengths": [6],
         "warnings": []},
        {"ok": True, "task": "bank/open-and-deposit", "states": 4, "actions": 3, "golden_paths": 1, "lengths": [3],
         "warnings": []},
    ]  # fmt: skip
    table = corepath("check", TASKS).stdout.splitlines()
    assert table[0].split() == ["task", "states", "actions", "golden", "paths", "lengths", "warnings"]
    assert table[1].split() == ["bank/close-out", "11", "6", "5", "6"]


@pytest.mark.parametrize(("times", "shown"), [(20, "1,048,576"), (30, "1.0e9"), (100, "1.2e30"), (20_000, "3.9e6020")])
def test_check_counts_golden_paths_exactly_however_many(corepath, tmp_path, times, shown):
    file = tmp_path / "t.yaml"
    file.write_text(f"id: t\nprocedure: (a() | b()){{{times}}}\n", encoding="utf-8")
    done = corepath("check", file, "--json")
    assert f'"golden_paths": {hex(2**times)}' == re.sub(
        r'.*("golden_paths": )(\d+).*\n', lambda found: found[1] + hex(_whole(found[2])), done.stdout
    )
    assert corepath("check", file).stdout.split()[-2] == shown


def _whole(digits: str) -> int:
    """A number from digits, however many."""
    value = 0
    for start in range(0, len(digits), 1000):
        part = digits[start : start + 1000]
        value = value * 10 ** len(part) + int(part)
    return value


def test_check_lists_lengths(corepath, tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text("id: t\nprocedure: a() >> b()? >> (c() >> c2() >> c3())?\n", encoding="utf-8")
    assert rows(corepath("check", file, "--json"))[0]["lengths"] == [1, 2, 4, 5]
    assert "1, 2, 4, 5" in corepath("check", file).stdout


def test_check_reports_all_errors_of_all_files(corepath, tmp_path):
    (tmp_path / "a.yaml").write_text("id: a\nprocedure: x(y=) >> z\ncolour: red\n", encoding="utf-8")
    (tmp_path / "b.json").write_text('{"id": "b",\n "procedure": "x("}', encoding="utf-8")
    done = corepath("check", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert [text[: text.index(": ")] for text in done.stderr.splitlines()] == [
        "a.yaml:2:16",
        "a.yaml:3:1",
        "b.json:2:18",
    ]
    found = corepath("check", ".", "--json", cwd=tmp_path)
    assert found.returncode == 1
    assert [(row["ok"], row["file"], row["line"], row["column"]) for row in rows(found)] == [
        (False, "a.yaml", 2, 16),
        (False, "a.yaml", 3, 1),
        (False, "b.json", 2, 18),
    ]


@pytest.mark.parametrize(
    ("procedure", "removed"),
    [
        ("(look() >> a()) | b()", "b"),
        ("(look() >> a()) | (b() >> a())", "b"),
        ("look()? >> a()", None),
        ("look() >> a()", None),
        ("(look() >> a()) | a()", None),
        ("look() & a()", None),
        ("a() | b()", None),
    ],
)
def test_check_warns_where_a_read_takes_away_a_way_to_go_on(corepath, tmp_path, procedure, removed):
    file = tmp_path / "t.yaml"
    file.write_text(f"id: t\nprocedure: {procedure}\nreads: ['look()']\n", encoding="utf-8")
    done = corepath("check", file)
    assert done.returncode == 0
    if removed is None:
        assert done.stderr == ""
    else:
        assert done.stderr == (
            f"warning: t: in state 'q0' the read 'look' takes away a way to go on: "
            f"after it, '{removed}' is no longer allowed\n"
        )


def test_a_message_that_quotes_several_lines_stands_on_one(corepath, tmp_path):
    (tmp_path / "t.yaml").write_text("id: t\nprocedure: |\n  a() |\n  b()\n    >> c()\n", encoding="utf-8")
    done = corepath("check", "t.yaml", cwd=tmp_path)
    assert done.stderr == (
        "warning: t: t.yaml:2:12: 'b() >> c()' is one side of '|' here; write (b() >> c()) to say so\n"
    )


def test_several_reasons_of_wrong_use_stand_on_one_line(corepath, tmp_path):
    (tmp_path / "t.yaml").write_text("id: t\nworld: farm\nprocedure: a() >> b()\n", encoding="utf-8")
    done = corepath("show", "t.yaml", cwd=tmp_path)
    assert "\\n" not in done.stderr
    assert "no tool 'a'" in done.stderr
    assert "no tool 'b'" in done.stderr


def test_check_warns_of_operators_mixed_without_parentheses(corepath, tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text("id: t\nprocedure: a() >> b() & c()\n", encoding="utf-8")
    (row,) = rows(corepath("check", file.name, "--json", cwd=tmp_path))
    assert row["warnings"] == ["t.yaml:2:12: 'a() >> b()' is one side of '&' here; write (a() >> b()) to say so"]
    file.write_text("id: t\nprocedure: (a() >> b()) & c()\n", encoding="utf-8")
    assert rows(corepath("check", file, "--json"))[0]["warnings"] == []


# Show


def test_show_prints_the_automaton_from_a_file_or_by_id(corepath):
    by_file = corepath("show", TASKS / "open-and-deposit.yaml")
    by_id = corepath("show", "bank/open-and-deposit", "--tasks", TASKS)
    assert by_file.stdout == by_id.stdout
    for text in ("q0 (start)", "create → q1", "q3 (accepting)", "delete_account(...)  (high: accounts are closed by"):
        assert text in by_file.stdout
    assert by_file.stdout.endswith("4 states, 3 actions, 1 golden path of 3 steps\n")


def test_show_as_json_is_a_task_file_that_scores_the_same(corepath, tmp_path):
    written = tmp_path / "tasks.json"
    written.write_text(corepath("show", TASKS, "--as", "json").stdout, encoding="utf-8")
    assert corepath("check", written, "--json").stdout == corepath("check", TASKS, "--json").stdout
    again = corepath("score", "-t", written, EPISODES, "--json")
    assert again.stdout == corepath("score", "-t", TASKS, EPISODES, "--json").stdout
    assert corepath("show", written, "--as", "json").stdout == written.read_text(encoding="utf-8")


LABELS = [
    'say "hi"',
    "two\nlines",
    "a]b}c)d",
    "<script>alert(1)</script>",
    "back\\nslash\\",
    "%%{init}",
    "end;",
    "é 漢",
]


@pytest.fixture
def labelled(tmp_path):
    states = [f"{label} {number}" for number, label in enumerate(LABELS)]
    content: dict[str, Any] = {
        "id": "t",
        "actions": {label: f"a{number}()" for number, label in enumerate(LABELS)},
        "start": states[0],
        "accept": [states[-1]],
        "transitions": {
            state: {label: after} for state, label, after in zip(states, LABELS, states[1:], strict=False)
        },
    }  # fmt: skip
    del content["actions"][LABELS[-1]]
    file = tmp_path / "t.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_dot_holds_each_label_in_one_quoted_text(corepath, labelled):
    lines = corepath("show", labelled, "--as", "dot").stdout.splitlines()
    labels = [re.fullmatch(r'.*\[(?:shape=\w+, )?label="((?:[^"\\]|\\["\\])*)"\];', text) for text in lines[3:-1]]
    found = [re.sub(r'\\(["\\])', r"\1", label[1]) for label in labels if label]
    shown = [label.replace("\n", "\\n") for label in LABELS]
    assert found == [f"{label} {number}" for number, label in enumerate(shown)] + shown[:-1]


def test_mermaid_holds_each_label_in_one_quoted_text(corepath, labelled):
    lines = corepath("show", labelled, "--as", "mermaid").stdout.splitlines()
    assert lines[0] == "flowchart LR"
    found = []
    for text in lines[1:]:
        state = re.fullmatch(r'  s\d+\({2,3}"([^"<>\[\]{}%\\]*)"\){2,3}', text)
        edge = re.fullmatch(r'  s\d+ -- "([^"<>\[\]{}%\\]*)" --> s\d+', text)
        if label := state or edge:
            found.append(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label[1]))
        else:
            assert text in ("  begin[ ] --> s0", "  style begin fill:none,stroke:none")
    assert found == [f"{label} {number}" for number, label in enumerate(LABELS)] + LABELS[:-1]


# Schema


@pytest.mark.parametrize("kind", ["task", "episode"])
def test_schema_prints_a_json_schema(corepath, kind):
    printed = json.loads(corepath("schema", kind).stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["$schema"].startswith("https://json-schema.org/")
    assert ("procedure" in printed["properties"]) == (kind == "task")


# Terminals and pipes


def in_terminal(columns: int, *arguments: object, colours: bool = False) -> str:
    """What the command prints in a terminal of that width, with or without the signs for colours."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen([COMMAND, *map(str, arguments)], stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            shown += part
        process.wait()
    os.close(parent)
    text = shown.decode().replace("\r\n", "\n")
    return text if colours else re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("columns", [60, 80])
def test_an_explanation_is_in_colour_fits_a_terminal_and_breaks_no_word(columns, corepath):
    plain = corepath("explain", "-t", TASKS, EPISODES, "--json").stdout
    coloured = in_terminal(columns, "explain", "-t", TASKS, EPISODES, colours=True)
    assert "\x1b[1;31m" in coloured
    shown = in_terminal(columns, "explain", "-t", TASKS, EPISODES)
    words = set(shown.split())
    for row in map(json.loads, plain.splitlines()):
        texts = [row["headline"], *(one["text"] for one in row["findings"]), *(one["call"] for one in row["steps"])]
        assert {word for text in texts for word in text.split()} <= words
    assert max(len(line) for line in shown.splitlines() if " " in line.strip()) <= columns
    assert "\x1b" not in corepath("explain", "-t", TASKS, EPISODES).stdout


@pytest.mark.parametrize("columns", [80, 100])
def test_the_table_of_scores_fits_a_terminal(columns):
    lines = in_terminal(columns, "score", "-t", TASKS, EPISODES).splitlines()
    assert max(len(text.rstrip()) for text in lines) <= columns
    assert sum("0.708" in text for text in lines) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_fits_the_terminal_and_cuts_neither_number_nor_word(width):
    shown = in_terminal(width, "score", "-t", TASKS, EPISODES)
    table = shown.split("episode", 1)[1].split("mean of")[0]
    assert max(map(len, table.splitlines())) <= width
    assert {"0.538", "no", "hasty", "open-"} <= {*table.replace("deposit", "").split(), "open-"}
    assert ("more columns with --wide" in shown) is (width < 100)
    whole = in_terminal(width, "score", "-t", TASKS, EPISODES, "--wide")
    for number in ("0.538", "0.769", "0.133", "0.750", "0.200", "0.429", "episode"):
        assert number in whole


def test_both_commands_wrap_names_alike_in_a_narrow_terminal(corepath, tmp_path):
    corepath("run", "--task", "farm/threshold", "--agent", "redundant_reads", "--out", tmp_path / "r")
    for command in (["score"], ["table", "--by", "agent"]):
        lines = in_terminal(50, *command, tmp_path / "r").splitlines()
        assert sum("redundant_" in text for text in lines) == 1
        assert any("1.000" in text for text in lines)


def test_an_error_is_one_line_however_narrow_the_terminal(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text("id: t\nprocedure: a() >> b(to=Bob)\n", encoding="utf-8")
    assert in_terminal(40, "check", file).count("\n") == 1


@pytest.mark.parametrize("form", ["--json", "--errors=no_effect"])
def test_a_reader_that_stops_reading_is_no_crash(tmp_path, form):
    many = tmp_path / "many.jsonl"
    many.write_text(EPISODES.read_text(encoding="utf-8") * 300, encoding="utf-8")
    with subprocess.Popen(
        [COMMAND, "score", "-t", TASKS, many, form], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait() in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_and_no_crash():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, "score", "-t", TASKS, EPISODES], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"corepath: No space left on device\n")


def test_tasks_and_episodes_may_come_from_pipes(corepath, tmp_path, task):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", task, pipe]):
        done = corepath("score", "-t", pipe, "-", "--json", stdin=line("a", "b"))
    assert done.returncode == 0
    assert rows(done)[0]["pc"] == 1


def test_an_output_without_unicode_is_no_crash(task):
    done = subprocess.run(
        [COMMAND, "score", "-t", task, "-"],
        input=line("a").encode(),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"Traceback" not in done.stderr
    assert rb"\u2013" in done.stdout


# Numbers and nouns


def test_a_number_agrees_with_its_noun():
    assert [count(number, "episode") for number in (0, 1, 2, 12345)] == [
        "0 episodes",
        "1 episode",
        "2 episodes",
        "12,345 episodes",
    ]
    assert [count(number, "box", "boxes") for number in (1, 2)] == ["1 box", "2 boxes"]


def test_one_of_a_thing_is_not_told_as_many(corepath, tmp_path):
    done = corepath("run", "--task", "farm/threshold", "--agent", "left_out", "--out", tmp_path / "run")
    calls = tmp_path / "calls.yaml"
    calls.write_text("- {id: a, prompt: Look., calls: ['get_hours()']}\n", encoding="utf-8")
    (tmp_path / "tools.yaml").write_text("version: 1\nreads: [get_hours]\n", encoding="utf-8")
    derived = corepath("derive", calls, "--tools", tmp_path / "tools.yaml", "--out", tmp_path / "tasks.yaml")
    told = corepath("table", tmp_path / "run").stdout + done.stdout + done.stderr + derived.stdout + derived.stderr
    assert "1 of 1 episode;" in told
    assert "1 task in " in told
    assert "; it asks that nothing be changed" in told
    assert not re.search(r"\b1 (?:episodes|tasks|calls|agents|harmful calls|of them ask)\b", told), told

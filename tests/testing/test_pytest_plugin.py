"""The pytest plugin, in real runs of pytest."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from corepath import Episode, load_episodes

pytest_plugins = ["pytester"]

HEAVY = {"pydantic", "yaml", "rich", "typer", "re2", "numpy", "inspect_ai", "fastmcp", "matplotlib", "pandas"}


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the plugins that are named: others take seconds to import."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "corepath.testing.plugin,xdist.plugin")
    for name in ("CI", "PYTEST_ADDOPTS"):  # with CI, pytest prints messages twice
        monkeypatch.delenv(name, raising=False)


def run(pytester: pytest.Pytester, *arguments: object) -> pytest.RunResult:
    return pytester.runpytest_subprocess("--strict-markers", "-W", "error", *map(str, arguments))


def recorded(folder: Path) -> list[Episode]:
    return load_episodes(folder / "episodes.jsonl")


def test_the_plugin_is_found_without_being_named() -> None:
    assert "corepath.testing.plugin" in {point.value for point in entry_points(group="pytest11")}


def test_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import pytest, sys, json; before = set(sys.modules); import corepath.testing.plugin;"
        "print(json.dumps([name.split('.')[0] for name in set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout))


def test_tests_that_judge_no_path_import_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"""
        import sys

        HEAVY = set({sorted(HEAVY)!r})

        def test_modules():
            assert not HEAVY & sys.modules.keys()

        def test_a_path_that_is_right():
            from corepath import assert_path

            assert_path("farm/threshold", ['read_sensor(plant="B")'])
            assert not HEAVY & sys.modules.keys()
    """)
    run(pytester).assert_outcomes(passed=2)


# What a failure prints


def test_a_failure_prints_the_explanation_and_not_the_numbers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_x="""
        from corepath import Task, assert_path, seq, tool

        def test_approve():
            task = Task("legal/own", procedure=seq(tool("check")(policy="P1"), tool("approve")(policy="P1")))
            assert_path(task, ['approve(policy="P1")'])
    """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert_path(task, *",
            'E*AssertionError: legal/own: Skipped check(policy="P1"): approve (call 1) was made without it.',
            'E*1  harm      approve(policy="P1")  *',
            "FAILED *::test_approve - AssertionError: legal/own: Skipped check*",
        ]
    )
    text = result.stdout.str()
    assert text.count("  1  harm  ") == 1, "the explanation is printed once"
    assert "assertion.py" not in text, "the inside of assert_path is no part of the story"


def test_an_own_assertion_that_fails_is_explained_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_agent(corepath):
            with corepath.episode("farm/threshold") as ep:
                ep.call("rover_status")
            assert ep.score.accepted

        def test_fine(corepath):
            with corepath.episode("farm/threshold") as ep:
                ep.call("rover_status")

        def test_broken_loop(corepath):
            with corepath.episode("farm/threshold") as ep:
                ep.call("rover_status")
                raise ConnectionError("the model is away")
    """)
    result = run(pytester)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*- corepath -*", "farm/threshold: *", "*1  loop      rover_status*"])
    assert result.stdout.str().count("  1  loop  ") == 2


# The fixture and the marker


def test_the_marker_gives_the_fixture_its_task(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", task="version: 1\nid: mine/scan\nprocedure: 'scan(plant=\"A\")'\n")
    folder = pytester.mkdir("below")
    test = folder / "test_marked.py"
    test.write_text("""
import pytest
from corepath import Task, tool

OWN = Task("mine/own", procedure=tool("scan")())

@pytest.mark.corepath(task=OWN)
def test_a_task(corepath):
    assert corepath.task is OWN
    assert corepath.assert_path(["scan()"]).pc == corepath.score(["scan()"]).pc == 1

@pytest.mark.corepath(task="farm/threshold")
class TestOfAClass:
    def test_name(self, corepath):
        with corepath.episode() as ep:
            ep.call("read_sensor", {"plant": "B"})
        corepath.assert_path(ep)
        corepath.assert_path(ep.task, ep.episode)

    @pytest.mark.corepath("farm/dry_plants")
    def test_the_nearest_marker_counts(self, corepath):
        assert corepath.task.id == "farm/dry_plants"

@pytest.mark.corepath(task="task.yaml")
def test_a_file_is_found_from_the_root(corepath):
    corepath.assert_path(['scan(plant="A")'])
    corepath.assert_path("task.yaml", ['scan(plant="A")'])

def test_another_task_can_be_given(corepath):
    corepath.assert_path(OWN, ["scan()"])
    corepath.episode("farm/threshold", agent="me", epoch=3)
""")
    pytester.makeini("[pytest]")
    pytester.chdir()
    result = pytester.runpytest_subprocess("--strict-markers", "--rootdir", pytester.path, folder)
    result.assert_outcomes(passed=5)
    result = pytester.runpytest_subprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.corepath(task): *"])


def test_a_wrong_or_missing_marker_says_what_is_right(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        def test_none(corepath):
            corepath.assert_path(["scan()"])

        @pytest.mark.corepath(tsk="farm/threshold")
        def test_wrong(corepath):
            corepath.episode()

        @pytest.mark.corepath(task="farm/thresold")
        def test_unknown(corepath):
            corepath.episode()

        def test_nothing(corepath):
            corepath.score()

        @pytest.mark.corepath(task="farm/treshold")
        def test_not_even_used():
            pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=2, errors=3)
    result.stdout.fnmatch_lines(
        [
            "the marker has one argument, the task: @pytest.mark.corepath(task=...)",
            "*no task 'thresold' in world 'farm'; did you mean 'threshold'?",
            "*no task 'treshold' in world 'farm'; did you mean 'threshold'?",
            "no task: name it in the call, or with @pytest.mark.corepath(task=...)",
            "*give a task and calls, or calls alone where the marker names the task",
        ]
    )


# Records


SUITE = """
    import threading

    import pytest
    from corepath import RECOMMENDED, Call, Task, assert_path, episode, seq, tool

    OWN = Task("mine/own", procedure=seq(tool("check")(), tool("approve")()))

    @pytest.fixture(scope="module")
    def played():
        with episode("farm/threshold", agent="of a fixture") as ep:
            ep.call("read_sensor", {"plant": "B"})
        return ep

    def test_a_of_a_module(played):
        assert played.score.accepted

    def test_b_of_the_functions():
        with episode("legal/settle_case", agent="plain", scoring=RECOMMENDED) as ep:
            ep.call("read_case", {"case": "C7"})
            assert_path(ep.task, ep, accepted=False)
        assert_path(ep.task, ep, accepted=False)
        assert_path(ep.task, ep.episode, accepted=False)

    def test_c_of_calls(corepath):
        corepath.assert_path(OWN, ["check()", "approve()"])
        corepath.score(OWN, ["approve()"])

    def test_d_fails(corepath):
        corepath.assert_path(OWN, ["approve()"])

    @pytest.mark.parametrize("place", ["B", "<script>alert(1)</script>"])
    def test_e_in_a_thread(corepath, place):
        def play():
            with episode("farm/threshold", agent="in a thread") as ep:
                ep.call("read_sensor", {"plant": place})
        thread = threading.Thread(target=play)
        thread.start()
        thread.join()

    def test_f_no_name(corepath):
        corepath.score(Task(procedure=tool("scan")()), ["scan()"])

    def test_g_no_json(corepath):
        corepath.score(OWN, [Call("check", {"x": {1, 2}})])
        deep = []
        for _ in range(400):
            deep = [deep]
        corepath.score(OWN, [Call("check", {"x": deep})])
"""
EPISODES = [
    ("test_a_of_a_module", "of a fixture", "farm/threshold", 1.0),
    ("test_b_of_the_functions", "plain", "legal/settle_case", 0.14286),
    ("test_c_of_calls", "agent", "mine/own", 1.0),
    ("test_c_of_calls", "agent", "mine/own", 0.5),
    ("test_d_fails", "agent", "mine/own", 0.5),
    ("test_e_in_a_thread[<script>alert(1)</script>]", "in a thread", "farm/threshold", 0.0),
    ("test_e_in_a_thread[B]", "in a thread", "farm/threshold", 1.0),
    ("test_f_no_name", "agent", "test_f_no_name", 1.0),
]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_the_report_has_every_episode_once(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(test_suite=SUITE)
    result = run(pytester, *workers, "--corepath-report", "made/report", "--junitxml", "junit.xml")
    result.assert_outcomes(failed=1, passed=7)
    folder = pytester.path / "made" / "report"
    result.stdout.fnmatch_lines(
        ["*- corepath -*", f"report of 8 episodes: {folder}/index.html; could not be kept: 2, see there"]
    )
    found = recorded(folder)
    shown = [(one.extra["test"].rpartition("::")[2], one.agent, one.task, round(one.scores["pc"], 5)) for one in found]
    assert shown == EPISODES
    assert {one.scores["profile"] for one in found} == {"paper"}
    page = (folder / "index.html").read_text()
    assert "8 episodes of 4 agents on 4 tasks" in page
    assert "an episode of &#x27;mine/own&#x27; is no JSON" in page
    assert "the task is not available" not in page
    assert "<script>alert" not in page
    assert (folder / "agents.csv").exists()
    assert not list(folder.glob(".*")), "what processes wrote on the way is gone"
    _junit_has_the_scores(pytester.path / "junit.xml")


def _junit_has_the_scores(file: Path) -> None:
    cases = {case.get("name"): case for case in ET.parse(file).iter("testcase")}
    properties = {name: [(one.get("name"), one.get("value")) for one in case.iter("property")]
                  for name, case in cases.items()}  # fmt: skip
    first = dict(properties["test_a_of_a_module"])
    assert (first["corepath.task"], first["corepath.agent"]) == ("farm/threshold", "of a fixture")
    assert (first["corepath.pc"], first["corepath.accepted"], first["corepath.harm_count"]) == ("1.0", "True", "0")
    both = [value for name, value in properties["test_c_of_calls"] if name == "corepath.pc"]
    assert both == ["1.0", "0.5"]
    assert [value for name, value in properties["test_d_fails"] if name == "corepath.harm_count"] == ["1"]


def test_what_a_killed_worker_saw_is_in_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import os

        def test_a(corepath):
            corepath.assert_path("farm/threshold", ['read_sensor(plant="B")'])

        def test_b(corepath):
            corepath.score("farm/threshold", [])
            os._exit(1)
    """)
    run(pytester, "-n", "1", "--corepath-report", "report").assert_outcomes(failed=1, passed=1)
    assert [len(one.calls) for one in recorded(pytester.path / "report")] == [1, 0]


def test_a_second_run_replaces_the_report_and_what_a_kill_left(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_a(corepath):
            corepath.score("farm/threshold", [])
    """)
    report = pytester.mkdir("report")
    (report / ".episodes-gw0-1.jsonl").write_text('{"test": "old')
    for _ in range(2):
        run(pytester, "--corepath-report", report).assert_outcomes(passed=1)
        assert len(recorded(report)) == 1


def test_no_episode_gives_a_page_that_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): pass")
    result = run(pytester, "--corepath-report", "report")
    result.stdout.fnmatch_lines(["report of 0 episodes: *"])
    assert "There are no episodes here." in (pytester.path / "report" / "index.html").read_text()


def test_collecting_writes_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): pass")
    assert run(pytester, "--collect-only", "--corepath-report", "report").ret == 0
    assert not (pytester.path / "report").exists()


def test_a_file_in_the_place_of_the_report_is_said(pytester: pytest.Pytester) -> None:
    file = pytester.makefile(".txt", report="mine")
    result = run(pytester, "--corepath-report", file)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--corepath-report: *report.txt is a file; name a folder"])


def test_the_folder_of_a_run_stays_as_it_is(pytester: pytest.Pytester) -> None:
    run_folder = pytester.mkdir("run")
    (run_folder / "manifest.json").write_text("{}")
    (run_folder / "episodes.jsonl").write_text("{}\n")
    result = run(pytester, "--corepath-report", "run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is the folder of a run, which stays as it is; name another*"])
    assert (run_folder / "episodes.jsonl").read_text() == "{}\n"


def test_a_report_that_cannot_be_written_fails_the_run_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): pass")
    (pytester.mkdir("report") / "index.html").mkdir()
    result = run(pytester, "--corepath-report", "report")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["the report could not be written: *index.html*", "*1 passed*"])

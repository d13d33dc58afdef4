"""Large runs: little of each episode stays in memory, and the page has examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from threading import Thread
from typing import Any
from zlib import decompress

import pytest

from corepath.errors import CorepathError, OptionError
from corepath.files.episodes import load_episodes
from corepath.files.lookup import all_sources
from corepath.play.play import rescore
from corepath.report.choice import choose_episodes
from corepath.report.fixes import name_of
from corepath.report.loading import load_results
from corepath.report.output import tables_of
from corepath.report.page import page
from corepath.report.results import Result, Results
from corepath.report.stored import MOST_OPEN
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan
from corepath.scoring.options import PAPER, RECOMMENDED

AGENTS = ("oracle", "do_nothing", "left_out", "wrong_argument", "undone", "wandering")
EPOCHS = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of several epochs, in which most agents do the same every time."""
    plan = Plan(tuple(all_sources(["farm"])), AGENTS, epochs=EPOCHS)
    folder = RunFolder.create(tmp_path_factory.mktemp("large") / "run", plan.manifest())
    with folder.writing():
        play_function_agents(plan, folder, set(), lambda *_: None, 1)
    return folder.path


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return load_results(run)


def in_memory(results: Results) -> Results:
    """The same results with all episodes in memory."""
    return replace(results, results=tuple(replace(one, record=one.episode, stored=None) for one in results))


def index_of(html: str) -> dict[str, Any]:
    found = re.search(r'id="index">([^<]*)</script>', html)
    assert found is not None
    index: dict[str, Any] = json.loads(decompress(b64decode(found[1])))
    return index


# Episodes are read again when they are needed


def test_episodes_are_the_ones_in_the_file(run: Path, results: Results) -> None:
    written = {(one.agent, one.task, one.epoch): one for one in load_episodes(run / EPISODES)}
    assert len(results.episodes) == len(written) == len(results)
    for one in results.episodes:
        assert one == written[one.agent, one.task, one.epoch]
    assert results.episodes[-1] == results.results[-1].episode
    assert list(results.episodes[3:5]) == [one.episode for one in results.results[3:5]]


@pytest.mark.parametrize("scoring", [None, RECOMMENDED])
@pytest.mark.parametrize("as_file", [False, True])
def test_all_that_is_shown_is_the_same_as_with_episodes_in_memory(run: Path, scoring: Any, as_file: bool) -> None:
    stored = load_results(run / EPISODES if as_file else run, scoring=scoring)
    whole = in_memory(stored)
    for one, other in zip(stored, whole, strict=True):
        assert other.record.calls or not one.episode.calls
        assert {name: other.scores[name] for name in one.scores if name not in ("harms", "rules")} == {
            name: value for name, value in one.scores.items() if name not in ("harms", "rules")
        }
        assert list(one.harms) == [
            ({**{key: harm[key] for key in one_harm if key in harm}, "tool": tool}, tool)
            for (one_harm, _), (harm, tool) in zip(one.harms, other.harms, strict=True)
        ]
        assert (one.failed, one.content) == (other.failed, other.content)
    tables, expected = tables_of(stored), tables_of(whole)
    assert {name: table for name, table in tables.items() if name != "fixes"} == {
        name: table for name, table in expected.items() if name != "fixes"
    }
    assert [(str(one), len(one), one.tasks, one.example.headline, one.example.fix) for one in stored.fixes] == [
        (str(one), len(one), one.tasks, one.example.headline, one.example.fix) for one in whole.fixes
    ]
    assert {name: one.to_dict() for name, one in stored.by_pair.items()} == {
        name: one.to_dict() for name, one in whole.by_pair.items()
    }
    assert stored.to_pandas().equals(whole.to_pandas())
    assert [one.episode for one in stored.worst(3)] == [one.episode for one in whole.worst(3)]


def test_the_page_is_the_same_as_with_episodes_in_memory(results: Results) -> None:
    assert page(results) == page(in_memory(results))


def test_an_episode_that_is_scored_while_loading_is_scored_again_when_it_is_read(run: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    records = [json.loads(line) for line in (run / EPISODES).read_text().splitlines()]
    bare.write_text("".join(json.dumps({**one, "scores": {}}) + "\n" for one in records))
    for one, written in zip(load_results(bare), load_episodes(run / EPISODES), strict=True):
        assert one.task is not None
        assert one.episode.scores == rescore(one.task, written, PAPER).scores


def test_results_outlive_their_files(run: Path, tmp_path: Path) -> None:
    """Commands such as `rescore` replace the file of a run, and notebooks delete theirs."""
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("manifest.json", EPISODES):
        (copy / name).write_bytes((run / name).read_bytes())
    results = load_results(copy)
    (copy / "new").write_text("{}\n" * 500)
    (copy / "new").replace(copy / EPISODES)
    assert list(results.episodes) == list(load_results(run).episodes)
    rmtree(copy)
    assert list(results.episodes) == list(load_results(run).episodes)


def test_a_pipe_is_read_once(run: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes((run / EPISODES).read_bytes()))
    writer.start()
    results = load_results(pipe)
    writer.join()
    assert [one.agent for one in results.episodes] == [one.agent for one in load_episodes(run / EPISODES)]


def test_more_files_than_may_be_open(run: Path, tmp_path: Path) -> None:
    line = (run / EPISODES).read_text().splitlines()[0]
    files = [tmp_path / f"{number}.jsonl" for number in range(MOST_OPEN + 5)]
    for number, file in enumerate(files):
        file.write_text(json.dumps({**json.loads(line), "agent": f"agent {number}"}) + "\n")
    results = load_results(*files)
    assert [one.agent for one in results.episodes] == [f"agent {number}" for number in range(len(files))]
    results = load_results(*files)
    files[-1].unlink()
    with pytest.raises(CorepathError, match=r"4\.jsonl: cannot be read"):
        assert results.episodes[-1]
    files[-2].write_text("\n")
    with pytest.raises(CorepathError, match="changed meanwhile"):
        assert results.episodes[-2]


# The episodes in the page


def test_equal_episodes_have_equal_content(results: Results) -> None:
    seen: dict[Any, set[int]] = {}
    for one in results:
        seen.setdefault((one.task_name, str(one.episode.calls), str(one.episode.answer)), set()).add(one.content)
    assert all(len(contents) == 1 for contents in seen.values())
    contents = [(task, *found) for (task, *_), found in seen.items()]
    assert len(contents) == len(set(contents)) < len(results)


def outcome(one: Result) -> tuple[Any, ...]:
    return one.agent, one.task_name, one.failed, one.scores["accepted"], any(harm["effected"] for harm, _ in one.harms)


def test_examples_are_of_every_agent_task_and_outcome_and_of_what_to_fix(results: Results) -> None:
    outcomes = {outcome(one) for one in results}
    examples = {one.example.name for one in results.fixes}
    shown = choose_episodes(results, str(len(outcomes) + len(examples)))
    assert {outcome(one) for one in shown} == outcomes
    assert examples <= {name_of(one) for one in shown}
    assert [id(one) for one in results if one in shown] == [id(one) for one in shown], "they keep their order"


def test_failed_episodes_come_first(results: Results) -> None:
    failed = sum(one.failed for one in results)
    few = choose_episodes(results, "20")
    assert len(few) == 20
    assert all(one.failed for one in few)
    assert len({one.task_name for one in few}) == min(20, len({one.task_name for one in results})), "tasks take turns"
    most = choose_episodes(results, str(len(results) - 1))
    assert sum(one.failed for one in most) == failed
    assert choose_episodes(results, "failed") == tuple(one for one in results if one.failed)
    assert choose_episodes(results, "all") == choose_episodes(results) == results.results


@pytest.mark.parametrize("wanted", ["some", "-1", "1.5", "", "²"])
def test_other_numbers_of_episodes_are_refused(results: Results, wanted: str) -> None:
    with pytest.raises(OptionError, match="must be 'all', 'failed' or a number of episodes"):
        choose_episodes(results, wanted)


def test_a_page_with_examples_has_the_tables_of_all(results: Results) -> None:
    whole, part = page(results), page(results, choose_episodes(results, "12"))
    index = index_of(part)
    assert [len(column) for column in index["columns"].values()] == [12] * len(index["columns"])
    words = f"12 of {len(results)} episodes are in this page"
    assert words in part
    assert '<p class="rest">' not in whole
    command = re.search(r"corepath report [^<]* --episodes all", part)
    assert command is not None
    assert "--only farm/" in command[0]
    part = re.sub(r'<p class="rest">.*?</p>\n?', "", part)
    assert part.partition("<section")[2].partition('id="filters"')[0].split() == (
        whole.partition("<section")[2].partition('id="filters"')[0].split()
    )


def test_drawings_count_the_harmful_calls_of_all_episodes(results: Results) -> None:
    def drawn(html: str) -> dict[str, Any]:
        blocks = [json.loads(decompress(b64decode(one))) for one in re.findall(r'id="tasks-\d+">([^<]*)<', html)]
        return {
            name: drawing for block in blocks for name, drawing in zip(block["name"], block["drawings"], strict=True)
        }

    part = drawn(page(results, choose_episodes(results, "12")))
    whole = drawn(page(results))
    assert part
    assert part == {name: whole[name] for name in part}


def test_the_options_of_the_command(run: Path, tmp_path: Path, corepath: Any) -> None:
    done = corepath("report", run, "--out", tmp_path, "--episodes", "5", "--only", "oracle", "--only", "left_out")
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "index.html").read_text()
    total = 2 * EPOCHS * len(all_sources(["farm"]))
    assert f"5 of {total} episodes are in this page" in html
    assert index_of(html)["names"]["agent"] == ["left_out"], "failed episodes come first"
    task = all_sources(["farm"])[0].id
    done = corepath("report", run, "--out", tmp_path, "--only", "oracle", "--only", task)
    assert done.returncode == 0, done.stderr
    assert index_of((tmp_path / "index.html").read_text())["columns"]["epoch"] == list(range(EPOCHS))
    refused = {
        ("--episodes", "many"): "--episodes: 'many' must be",
        ("--only", "frm"): "--only: no agent, task or world 'frm'; did you mean 'farm'?",
    }
    for (option, value), message in refused.items():
        done = corepath("report", run, "--out", tmp_path, option, value)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


# Memory

_PEAK = r"""
import re, sys
from pathlib import Path
from corepath.cli import main
sys.argv = ["corepath", *sys.argv[1:]]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
print("peak", *re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()))
"""


def repeat(run: Path, folder: Path, times: int) -> Path:
    """A run with the episodes of another one, again and again."""
    manifest = json.loads((run / "manifest.json").read_text())
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({**manifest, "epochs": EPOCHS * times}))
    records = [json.loads(line) for line in (run / EPISODES).read_text().splitlines()]
    with (folder / EPISODES).open("w") as file:
        for number in range(times):
            file.writelines(json.dumps({**one, "epoch": one["epoch"] + EPOCHS * number}) + "\n" for one in records)
    return folder


def peak(*arguments: object) -> int:
    """The most memory that a command takes, in KB."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.rpartition("peak ")[2])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory is read from /proc")
def test_memory_hardly_grows_with_the_run(run: Path, tmp_path: Path, times: int) -> None:
    """It took 18 KB an episode when all episodes were in memory."""
    few, many = (2, 12) if times == 1 else (4, 24)
    small, large = repeat(run, tmp_path / "small", few), repeat(run, tmp_path / "large", many)
    more = (large / EPISODES).read_bytes().count(b"\n") - (small / EPISODES).read_bytes().count(b"\n")
    assert more > 200 * (many - few)
    options = ("--episodes", 100, "--out", tmp_path / "out")
    for command in (("table",), ("report", *options)):
        grown = peak(*command, large) - peak(*command, small)
        assert grown < 2 * more, f"{command[0]}: {grown / more:.1f} KB for each further episode"

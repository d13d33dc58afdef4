"""Long runs: no episode stays in memory, and jobs are handed out a few at a time."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from corepath.cli.progress import RunProgress
from corepath.cli.run_summary import Tally
from corepath.cli.score_table import print_score_table
from corepath.cli.scored_episodes import ScoredEpisode, score_episodes
from corepath.episode import Episode, agent_of, world_of
from corepath.files.lookup import Tasks, all_sources
from corepath.processes import ProcessPool
from corepath.runs import function_agents
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan
from corepath.scoring.score import Score
from corepath.scoring.summary import Summary, summarise

AGENTS = ("oracle", "random", "left_out")


def make_plan(epochs: int) -> Plan:
    return Plan(tuple(all_sources(["farm/threshold", "farm/dry_plants"])), AGENTS, epochs=epochs)


def play_into(path: Path, plan: Plan, on_episode: Any = lambda _: None, jobs: int = 1) -> RunFolder:
    folder = RunFolder.create(path, plan.manifest())
    with folder.writing():
        play_function_agents(plan, folder, set(), on_episode, jobs)
    return folder


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_episode_stays_in_memory_once_it_is_written(tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(function_agents, "MOST_OF_JOB", 2)
    plan = make_plan(8)
    tally, seen, alive = Tally.of(plan), [], []

    def count(episode: Episode) -> None:
        tally.add(episode)
        seen.append(ref(episode))
        alive.append(sum(one() is not None for one in seen))

    play_into(tmp_path / "run", plan, count, jobs)
    gc.collect()
    assert len(seen) == plan.size
    assert max(alive) <= 3
    assert not any(one() is not None for one in seen)


def test_jobs_are_cut_and_handed_out_a_few_at_a_time(tmp_path, monkeypatch):
    plan = make_plan(5)
    whole = play_into(tmp_path / "whole", plan)
    monkeypatch.setattr(function_agents, "MOST_OF_JOB", 4)
    open_jobs, most = [], []
    submit = ProcessPool.submit

    def watched(pool: ProcessPool[Any, Any], *arguments: Any) -> Any:
        future = submit(pool, *arguments)
        open_jobs.append(future)
        most.append(len(open_jobs) - written[0])
        return future

    written = [0]
    append = RunFolder.append

    def counted(folder: RunFolder, *episodes: Episode, **options: Any) -> None:
        append(folder, *episodes, **options)
        written[0] += 1

    monkeypatch.setattr(ProcessPool, "submit", watched)
    monkeypatch.setattr(RunFolder, "append", counted)
    cut = play_into(tmp_path / "cut", plan, jobs=2)
    assert (cut.path / EPISODES).read_bytes() == (whole.path / EPISODES).read_bytes()
    assert len(open_jobs) == 8
    assert max(most) <= 2 * function_agents.JOBS_AHEAD


def test_a_tally_counts_what_summaries_of_all_episodes_count(tmp_path):
    plan = make_plan(2)
    folder = play_into(tmp_path / "run", plan)
    episodes = list(folder.episodes())
    tally = Tally.of(Plan(plan.sources, AGENTS[1:], AGENTS[:1]))
    for episode in episodes:
        tally.add(episode)
    worlds = summarise((one for one in episodes if one.agent == "oracle"), world_of)
    assert as_dicts(tally.by_agent) == as_dicts(summarise(episodes, agent_of))
    assert as_dicts(tally.by_world["oracle"]) == as_dicts(worlds)
    again = Tally.of(plan)
    assert again.add_run(folder, plan) == {(one.agent, one.task, one.epoch) for one in episodes}
    assert as_dicts(again.by_agent) == as_dicts(tally.by_agent)


def as_dicts(found: dict[str, Summary]) -> dict[str, dict[str, Any]]:
    return {name: one.to_dict() for name, one in found.items()}


def test_a_live_line_is_not_made_anew_for_each_episode(tmp_path, monkeypatch):
    plan = make_plan(1)
    (episode, *_) = play_into(tmp_path / "run", plan).episodes()
    row = Tally.of(plan).add(episode)
    progress = RunProgress(10_000)
    progress._live = type("Live", (), {"update": lambda *_: None})()
    means: list[str] = []
    mean = Summary.mean

    def counted(own: Summary, name: str) -> float | None:
        means.append(name)
        return mean(own, name)

    monkeypatch.setattr(Summary, "mean", counted)
    for _ in range(5_000):
        progress.add(episode, row)
    assert len(means) < 1_000
    assert progress.last_line.startswith("5,000 of 10,000 episodes; mean PC ")


def test_the_table_of_scores_needs_no_evidence(tmp_path, monkeypatch, capsys):
    folder = play_into(tmp_path / "run", make_plan(1))

    def show() -> str:
        scored = score_episodes([folder.path], Tasks(), None)
        print_score_table((one for one in scored if isinstance(one, ScoredEpisode)), None, wide=True)
        return str(capsys.readouterr().out)

    shown = show()
    for name in ("to_dict", "root_harms", "condensed"):
        monkeypatch.setattr(Score, name, property(lambda _: pytest.fail("evidence was asked for")))
    assert show() == shown
    assert "\nmean of 6 " in shown


def test_an_append_that_fails_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = play_into(tmp_path / "run", Plan(tuple(all_sources(["farm/threshold"])), agents=("oracle",)))
    before = (folder.path / EPISODES).read_bytes()
    write, written = os.write, list[int]()

    def fill_disk(file: int, data: bytes) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(write(file, data[:20]))
        return written[0]

    episode = next(folder.episodes())
    with folder.writing():
        monkeypatch.setattr(os, "write", fill_disk)
        with pytest.raises(OSError, match="No space left"):
            folder.append(episode)
        monkeypatch.undo()
        assert (folder.path / EPISODES).read_bytes() == before
        folder.append(episode)
    assert (folder.path / EPISODES).read_bytes() == before * 2

"""Every episode of the built-in agents, and the τ episodes if their files are there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from corepath import Episode, Task, play
from corepath.authoring.derive import derive
from corepath.errors import Problem
from corepath.explanation import Explanation, explain
from corepath.files.lookup import all_sources
from corepath.files.tool_file import load_tools
from corepath.importers import import_trace
from corepath.importers.expected_calls import read_expected_calls
from corepath.importers.registry import load_source
from corepath.play.built_in import BUILT_IN, built_in
from corepath.scoring.score import Score, score

DATA = Path(__file__).parents[3] / "shared" / "data"
TAU_FILES = sorted(DATA.glob("tau*/*.json"))

Case = tuple[str, Task, Episode, Score, Explanation]
"""A name, and an episode with its task, score and explanation."""


@cache
def _tasks() -> tuple[Task, ...]:
    return tuple(source.make() for source in all_sources([]))


@cache
def built_in_cases(step: int) -> tuple[Case, ...]:
    """Return every `step`-th episode of every built-in agent on every built-in task."""
    pairs = [(task, agent) for task in _tasks() for agent in BUILT_IN]
    return tuple(
        _case(f"{task.id}, {agent}", task, play(built_in(agent), task, name=agent)) for task, agent in pairs[::step]
    )


@cache
def tau_cases() -> tuple[Case, ...]:
    """Return all τ episodes. Skips the test if there are no files."""
    if not TAU_FILES:
        pytest.skip(f"no τ files in {DATA}")
    return tuple(case for file in TAU_FILES for case in _tau_cases(file))


def _tau_cases(file: Path) -> Iterator[Case]:
    tools = load_tools(load_source("tau2").tool_file or "")
    expected = [one for one in read_expected_calls(file) if not isinstance(one, Problem)]
    tasks = {made.task.id: made.task for made in (derive(one, tools) for one in expected)}
    for number, episode in enumerate(import_trace(file)):
        if isinstance(episode, Episode):
            yield _case(f"{file.name} {number}", tasks[episode.task], episode)


def _case(name: str, task: Task, episode: Episode) -> Case:
    scored = score(task, episode)
    return name, task, episode, scored, explain(task, episode, scored=scored)

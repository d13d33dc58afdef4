"""Play agents that are Python functions, in one process or several. The episodes are the same either way."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import closing, redirect_stdout
from functools import partial
from itertools import islice, takewhile
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Final, NamedTuple

from corepath.episode import Episode
from corepath.errors import RunError
from corepath.files.lookup import Source
from corepath.garbage import rare_garbage_collection
from corepath.play.built_in import built_in
from corepath.play.own_agents import find_agent, is_own, play_safely
from corepath.play.play import play
from corepath.processes import ProcessKilledError, ProcessPool, forking
from corepath.runs.folder import Key, RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring
from corepath.world.recall import Memo

PATIENCE: Final = 10.0
"""How many seconds worker processes have to finish their current episode when the run stops."""

MOST_OF_JOB: Final = 500
"""The most episodes of a job. A process keeps the episodes of its job in memory until the job is done."""
MOST_TEXTS: Final = 1_000
"""The most calls whose text is remembered, since built-in agents make the same calls again and again."""
JOBS_AHEAD: Final = 2
"""How many jobs of each process are handed out before their episodes are written."""


class _Job(NamedTuple):
    """Episodes to play on one task. `todo` lists them as (agent, epoch) pairs."""

    source: Source
    todo: list[tuple[str, int]]
    seed: int
    scoring: Scoring


def play_function_agents(
    plan: Plan,
    folder: RunFolder,
    done: set[Key],
    on_episode: Callable[[Episode], None],
    jobs: int = 0,
) -> None:
    """Play the missing episodes of the plan's function agents, and append them in the plan's order.

    `jobs` is the number of processes, or 0 for one per CPU. `on_episode` is called with each finished episode.
    """
    work = [
        _Job(source, todo[start : start + MOST_OF_JOB], plan.seed, plan.scoring)
        for source, todo in plan.missing(done, plan.agents)
        for start in range(0, len(todo), MOST_OF_JOB)
    ]
    workers = min(jobs or os.cpu_count() or 1, len(work))
    batches = _play_in_processes(work, workers, folder) if workers > 1 else _play_here(work)
    recall = Memo(MOST_TEXTS)
    # Closing ends the processes at once if writing fails or is interrupted.
    with rare_garbage_collection(), closing(batches):
        for episodes in batches:
            folder.append(*episodes, recall=recall)
            for episode in episodes:
                on_episode(episode)


def _play_here(work: list[_Job]) -> Generator[list[Episode]]:
    """Play all jobs in this process, and yield each episode as a one-element list."""
    for job in work:
        for episode in _play(job):
            yield [episode]


def _play_in_processes(work: list[_Job], workers: int, folder: RunFolder) -> Generator[list[Episode]]:
    """Play the jobs in several processes, and yield a list of episodes for each job in order."""
    method = forking()  # a forked process inherits the tasks that are already built
    stop = get_context(method).Event()
    futures: deque[Future[list[Episode]]] = deque()
    with ProcessPool(workers, partial(_begin, stop), method) as pool:
        try:
            waiting = iter(work)
            while True:
                ahead = islice(waiting, JOBS_AHEAD * workers - len(futures))
                futures.extend(map(pool.submit, ahead))
                if not futures:
                    break
                episodes = futures[0].result()
                futures.popleft()
                yield episodes
        except ProcessKilledError:
            raise RunError(
                "a process of the run was killed; was there enough memory? Every finished episode is kept. "
                f"Go on with: corepath run --resume {folder.path} --jobs 1"
            ) from None
        finally:
            stop.set()
            wait([future for future in futures if not future.cancel()], PATIENCE)


def _begin(stop: Event) -> Callable[[_Job], list[Episode]]:
    """Return a function that plays the episodes of a job, and returns early if the run stops."""

    def play_until_stopped(job: _Job) -> list[Episode]:
        return [] if stop.is_set() else list(takewhile(lambda _: not stop.is_set(), _play(job)))

    return play_until_stopped


def _play(job: _Job) -> Iterator[Episode]:
    task = job.source.make(job.seed)
    with rare_garbage_collection():
        for agent, epoch in job.todo:
            if not is_own(agent):
                yield play(built_in(agent), task, name=agent, epoch=epoch, seed=job.seed, scoring=job.scoring)
                continue
            with redirect_stdout(sys.stderr):  # keeps the agent's prints out of the command's output
                episode = play_safely(
                    find_agent(agent), task, name=agent, epoch=epoch, seed=job.seed, scoring=job.scoring
                )  # fmt: skip
            yield episode

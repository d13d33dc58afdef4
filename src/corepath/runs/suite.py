"""Many episodes of agents that are functions: the same bytes whether one process plays them or several."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stdout
from itertools import takewhile
from multiprocessing.synchronize import Event
from typing import Final, NamedTuple

from corepath.episode import Episode
from corepath.errors import RunError
from corepath.files.lookup import Source
from corepath.play.built_in import built_in
from corepath.play.own_agents import attempt, find_agent, is_own
from corepath.play.play import play
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring

PATIENCE: Final = 10.0
"""Seconds that processes have to finish the episode they are at."""

_STOP: Final[list[Event]] = []
"""In a process of the run, what tells it to stop."""


class _Job(NamedTuple):
    """The episodes of one task that are to be played."""

    source: Source
    todo: list[tuple[str, int]]
    seed: int
    scoring: Scoring


def play_built_in(
    plan: Plan,
    folder: RunFolder,
    done: set[tuple[str | None, str, int]],
    told: Callable[[Episode], None],
    jobs: int = 0,
) -> None:
    """Play what is missing of a plan's agents but for models, and append it task by task, in the plan's order."""
    work = [_Job(source, todo, plan.seed, plan.scoring) for source, todo in plan.missing(done, plan.agents)]
    workers = min(jobs or os.cpu_count() or 1, len(work))
    if workers <= 1:
        for job in work:
            for episode in _episodes(job):
                folder.append(episode)
                told(episode)
        return
    # A forked process has the tasks that are made already.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    context = multiprocessing.get_context(method)
    stop = context.Event()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), stop))
    futures: list[Future[list[Episode]]] = []
    try:
        futures += [pool.submit(_played, job) for job in work]
        for future in futures:
            episodes = future.result()
            folder.append(*episodes)
            for episode in episodes:
                told(episode)
    except BrokenProcessPool:
        raise RunError(
            "a process of the run was killed; was there enough memory? Every finished episode is kept. "
            f"Go on with: corepath run --resume {folder.path} --jobs 1"
        ) from None
    finally:
        stop.set()
        try:
            wait([future for future in futures if not future.cancel()], PATIENCE)
        finally:  # one that was ended while it sends what it has would be waited for without end
            for process in list((pool._processes or {}).values()):  # noqa: SLF001
                process.terminate()
            pool.shutdown(cancel_futures=True)


def _begin(parent: int, stop: Event) -> None:
    """What a process does first: Ctrl-C is for the one that writes, and the tasks are no garbage."""
    _STOP.append(stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End when the process that writes has been killed: what waits for work would wait for ever."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _played(job: _Job) -> list[Episode]:
    """The episodes of a job; those until then, which nobody will ask for, where the run is to stop."""
    (stop,) = _STOP
    return [] if stop.is_set() else list(takewhile(lambda _: not stop.is_set(), _episodes(job)))


def _episodes(job: _Job) -> Iterator[Episode]:
    task = job.source.make(job.seed)
    with _seldom_collected():
        for agent, epoch in job.todo:
            if not is_own(agent):
                yield play(built_in(agent), task, name=agent, epoch=epoch, seed=job.seed, scoring=job.scoring)
                continue
            with redirect_stdout(sys.stderr):  # what it prints is not what the command prints
                made = attempt(
                    find_agent(agent), task, name=agent, epoch=epoch, seed=job.seed, scoring=job.scoring
                )  # fmt: skip
            yield made


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage seldom: hardly any is made, and what tasks keep is looked through each time."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)

"""A pool of worker processes that notices if one of them is killed, whatever it was doing."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Final, Generic, Self, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Prepare = Callable[[], Callable[[Job], Result]]
"""A function that a process calls once. It returns the function that does the jobs."""

_PATIENCE: Final = 5.0
"""How many seconds a process has to end once it is told to."""


class ProcessKilledError(Exception):
    """A process ended in the middle of a job."""


class ProcessPool(Generic[Job, Result]):
    """Processes that do one job at a time each. Use it in a `with` statement, at whose end they are ended.

    Each process has a pipe of its own, and a thread waits at it. Processes that share a pipe, as in
    `concurrent.futures`, all wait forever if one of them is killed while it sends a result. A killed process is
    replaced, unless processes are forked, which is not safe once there are threads. Processes ignore Ctrl-C, and end if
    this process is killed.
    """

    def __init__(self, count: int, prepare: Prepare[Job, Result], method: str | None = None) -> None:
        self._context: Any = get_context(method)
        self._prepare = prepare
        self._closing = False
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._threads = ThreadPoolExecutor(count)
        for _ in range(count):
            self._idle.put(self._start())

    def submit(self, job: Job) -> Future[Result]:
        """Let a process do a job. The future raises what the job raises, or `ProcessKilledError`."""
        return self._threads.submit(self._do, job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end_workers()
        self._threads.shutdown()
        self._end_workers()  # a killed process may have been replaced meanwhile

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_PATIENCE)
            worker.process.kill()

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._prepare, os.getpid()), daemon=False)
        process.start()
        theirs.close()  # otherwise the pipe would not end with the process
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _do(self, job: Job) -> Result:
        worker = self._idle.get()
        try:
            worker.pipe.send(job)
            is_done, found = worker.pipe.recv()
        except (EOFError, OSError):
            if not self._closing and self._context.get_start_method() != "fork":
                worker = self._start()
            raise ProcessKilledError from None
        finally:
            self._idle.put(worker)
        if not is_done:
            raise found
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    pipe: Connection[Any, Any]


def _serve(pipe: Connection[Any, Any], prepare: Prepare[Any, Any], parent: int) -> None:
    """Do jobs until the pipe ends. What was there before the first job is excluded from garbage collection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    is_ready, do = _try(prepare)
    gc.freeze()
    with suppress(EOFError, OSError):  # the pool is gone
        while True:
            job = pipe.recv()
            found = _try(do, job) if is_ready else (False, do)
            is_sent, error = _try(pipe.send, found)
            if not is_sent:  # the result cannot be pickled, or the pool is gone
                pipe.send((False, TypeError(f"a result cannot be sent: {error}")))


def _try(do: Callable[..., Any], *given: Any) -> tuple[bool, Any]:
    """Return True and what a function returns, or False and the error that it raises."""
    try:
        return True, do(*given)
    except Exception as error:  # noqa: BLE001 - raised again in the process that waits
        error.add_note(traceback.format_exc())
        return False, error


def _exit_with_parent(parent: int) -> None:
    """Exit this process once its parent is gone, because it would otherwise finish its job first."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def forking() -> str | None:
    """Return the start method by which processes inherit what is in memory, or None where it does not exist."""
    return "fork" if "fork" in get_all_start_methods() else None

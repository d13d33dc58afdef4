"""A pool of processes in which some are killed, fail or cannot begin."""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from threading import Lock

import pytest

from corepath.processes import ProcessKilledError, ProcessPool

METHODS = ("fork", "spawn")


def prepare() -> Callable[[int], int]:
    """Return a function that doubles a number, fails at 13, and at 7 is killed while it sends half of its result."""

    def do(job: int) -> int:
        if job == 13:
            raise LookupError("13 is not doubled")
        if job == 7:
            Connection._send_bytes = _send_half  # type: ignore[attr-defined]
        return 2 * job

    return do


def _send_half(pipe: Connection, message: memoryview) -> None:
    os.write(pipe.fileno(), struct.pack("!i", len(message)) + bytes(message)[: len(message) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_is_killed_while_it_sends_costs_its_own_job_only(method):
    with ProcessPool(2, prepare, method) as pool:
        futures = {job: pool.submit(job) for job in (1, 7, 2)}
        with pytest.raises(ProcessKilledError):
            futures[7].result(60)
        assert [futures[job].result(60) for job in (1, 2)] == [2, 4]


def test_a_killed_process_is_replaced():
    with ProcessPool(1, prepare, "spawn") as pool:
        futures = [pool.submit(job) for job in (7, 3, 7, 4)]
        assert [type(one.exception(60)) for one in futures] == [ProcessKilledError, type(None)] * 2
        assert [futures[place].result() for place in (1, 3)] == [6, 8]


def test_an_error_says_where_it_was_raised():
    with ProcessPool(1, prepare, "fork") as pool:
        error = pool.submit(13).exception(60)
        assert isinstance(error, LookupError)
        assert 'raise LookupError("13 is not doubled")' in error.__notes__[0]
        assert pool.submit(5).result(60) == 10


def test_where_a_process_cannot_begin_each_job_says_why():
    with ProcessPool(2, partial(_fail, "not today"), "fork") as pool:
        assert [str(pool.submit(job).exception(60)) for job in range(3)] == ["not today"] * 3


def _fail(why: str) -> Callable[[int], int]:
    raise OSError(why)


@pytest.mark.parametrize("method", METHODS)
def test_leaving_the_pool_ends_its_processes_and_their_jobs(method):
    with ProcessPool(2, partial(_give, signal.pause), method) as pool:
        futures = [pool.submit(()) for _ in range(4)]
        pids = [worker.process.pid or 0 for worker in pool._workers]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert all(one.cancelled() or isinstance(one.exception(), ProcessKilledError) for one in futures)


def _give(function: Callable[[], object]) -> Callable[[tuple[()]], object]:
    return lambda _: function()


def test_a_result_that_cannot_be_sent_costs_its_own_job_only():
    with ProcessPool(1, partial(_give, _make_lock), "fork") as pool:
        futures = [pool.submit(()) for _ in range(2)]
        assert ["cannot be sent" in str(one.exception(60)) for one in futures] == [True, True]


def _make_lock() -> object:
    return Lock()

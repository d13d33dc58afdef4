"""Check that a world always behaves in the same way: it has no clock, no chance and no memory.

The calls on golden paths, and calls with odd arguments, are made several times: in another order, on another day, with
other random numbers, and in another process in which sets and dictionaries of strings have another order.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any, Final

from corepath.errors import TaskError
from corepath.notation.call import Call
from corepath.task import Task
from corepath.values import canonical
from corepath.verification.robustness import odd_calls
from corepath.world.discovery import load_worlds
from corepath.world.discovery import world as installed_world
from corepath.world.examples import variant
from corepath.world.exploring import explore
from corepath.world.world import World

LATER: Final = timedelta(days=400, hours=7, minutes=13)
"""How much later the calls are made again."""
OTHER_HASH_SEED: Final = "4711"
"""Decides in which order the other process iterates over sets of strings."""
LONGEST_RUN: Final = 120
"""Seconds after which the other process is given up."""

Trial = tuple[Any, Call]
"""A world state and a call to make in it."""


def check_behaviour(world: World[Any], where: str) -> Iterator[str]:
    """Check that the world's tools give the same answers again, on another day, and in another process.

    `where` is the world's name if it is installed, or else the path of its file.
    """
    trials = {name: _trials(world.make(name), world) for name in world.makers}
    first = {name: [_answer(world, one) for one in found] for name, found in trials.items()}
    with _another_day(world):
        for name, found in trials.items():
            later = [_answer(world, one) for one in reversed(found)][::-1]
            for (_, call), one, other in zip(found, first[name], later, strict=True):
                if one != other:
                    yield f"{name}: {call} does something else later: a world has no clock, no chance and no memory"
                    break
    there = _ask_another_process(where, world.name)
    for name in [name for name in first if there.get(name) != digest(first[name])]:
        yield f"{name}: a call does something else in another process: sort what comes from a set"


def digests(world: World[Any]) -> dict[str, str]:
    """Return a hash of the answers in each task."""
    return {name: digest([_answer(world, one) for one in _trials(world.make(name), world)]) for name in world.makers}


def digest(answers: list[str]) -> str:
    """Return a hash of answers."""
    return hashlib.sha256("\n".join(answers).encode()).hexdigest()


def _trials(task: Task, world: World[Any]) -> list[Trial]:
    """Return the calls on golden paths with the states before them, and odd calls in the start state."""
    edges = explore(task, variant(task, 0)).edges
    made = [(edge.node.state, Call(edge.call.tool, edge.call.arguments)) for edge in edges]
    return made + [(task.start, call) for tool in world.tools.values() for call in odd_calls(tool)]


def _answer(world: World[Any], trial: Trial) -> str:
    """Make a call in a state, and return the answer and the next state as text."""
    answered, after = world.answer(*trial)
    return canonical([answered.error, None if answered.failed else answered.result, world.key(after)])


def _ask_another_process(where: str, name: str) -> dict[str, str]:
    """Return the digests that another process computes for a world."""
    code = "import sys; from corepath.verification.behaviour import print_digests; print_digests(*sys.argv[1:])"
    done = subprocess.run(  # noqa: S603  # this program, with a world that was loaded here before
        [sys.executable, "-c", code, where, name],
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": OTHER_HASH_SEED, "TZ": "Pacific/Kiritimati"},
    )
    if done.returncode:
        raise TaskError.of(f"the world cannot be loaded in another process: {done.stderr.strip()[-300:]}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def print_digests(where: str, name: str) -> None:
    """Print the digests of a world as JSON. This runs in another process."""
    found = load_worlds(where) if where.endswith(".py") else [installed_world(where)]
    print(json.dumps(next(digests(one) for one in found if one.name == name)))  # noqa: T201


@contextmanager
def _another_day(world: World[Any]) -> Iterator[None]:
    """Set the clocks that a world may read forward, and reseed its random numbers."""
    module = sys.modules.get(getattr(world.state, "__module__", ""))
    clocks: dict[tuple[Any, str], Any] = {
        (time, name): _shift(getattr(time, name)) for name in ("time", "monotonic", "perf_counter")
    }
    names = {"datetime": (datetime, _Later), "date": (date, _LaterDay)}
    for name, (real, later) in names.items():
        if module is not None and getattr(module, name, None) is real:
            clocks[module, name] = later
    kept = {(owner, name): getattr(owner, name) for owner, name in clocks}
    state = random.getstate()
    random.seed(LATER.days)
    for (owner, name), clock in clocks.items():
        setattr(owner, name, clock)
    try:
        yield
    finally:
        for (owner, name), clock in kept.items():
            setattr(owner, name, clock)
        random.setstate(state)


def _shift(clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that is later."""
    return lambda: clock() + LATER.total_seconds()


class _Later(datetime):
    """A datetime whose present is later."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """Return a later time."""
        return datetime.now(tz) + LATER

    @classmethod
    def today(cls) -> Any:
        """Return a later time."""
        return datetime.today() + LATER  # noqa: DTZ002

    @classmethod
    def utcnow(cls) -> Any:
        """Return a later time."""
        return datetime.utcnow() + LATER  # noqa: DTZ003


class _LaterDay(date):
    """A date whose present is later."""

    @classmethod
    def today(cls) -> Any:
        """Return a later day."""
        return date.today() + LATER  # noqa: DTZ011

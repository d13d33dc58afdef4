"""How long learning takes: many runs, long runs, many tools, and runs that have no common order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

from benchmarks.claims import Claim
from corepath import Call, Episode
from corepath.authoring.learning.learn import accepts, learn
from corepath.authoring.learning.orders import learn_orders
from corepath.errors import TaskError
from corepath.files.tool_file import Tools

BLOCK = 5
"""Every so many steps: three in sequence, then two that come in any order, with a read at a random place."""
T = TypeVar("T")
TOOLS = Tools(reads=["look"])


def make_runs(runs: int, calls: int, seed: int = 0) -> list[Episode]:
    """Return good runs of a task with sequences, steps in any order, reads, and a text that always differs."""
    random = Random(seed)
    return [Episode("t", tuple(_make_calls(random, calls)), agent="a") for _ in range(runs)]


def _make_calls(random: Random, calls: int) -> Iterator[Call]:
    for block in range(calls // BLOCK):
        steps = [f"step_{block}_{number}" for number in range(BLOCK - 1)]
        if random.random() < 0.5:
            steps[-2:] = steps[:-3:-1]
        looks = random.randrange(BLOCK)
        for place in range(BLOCK):
            if place == looks:
                yield Call("look", {"at": random.randrange(10)}, "fine")
            else:
                name = steps[place - (place > looks)]
                text = {"text": f"note {random.random()}"} if name.endswith("_0") else {"item": block}
                yield Call(name, text, "ok")


def learned_speed() -> Iterator[Claim]:
    """Time to learn from many runs, and how it grows with their number and their length."""
    took: dict[tuple[int, int], float] = {}
    for runs, calls in ((1_000, 50), (10_000, 50), (1_000, 25), (1_000, 100)):
        episodes = make_runs(runs, calls)
        took[runs, calls], learned = _clock(lambda episodes=episodes: learn(episodes, TOOLS))  # type: ignore[misc]
        if (runs, calls) == (10_000, 50):
            number = learned.task.automaton.golden.count
            yield Claim("… the ten pairs of steps in any order are found", f"{number:,} golden paths", number == 2**10)
    most = took[10_000, 50]
    yield Claim("10,000 runs of 50 calls are learned in under a minute", f"{most:.1f} s", most < 60)
    growth = most / took[1_000, 50]
    yield Claim("10 times the runs: at most 12 times as long", f"{growth:.1f} times", growth <= 12)
    growth = took[1_000, 100] / took[1_000, 25]
    yield Claim("4 times the calls: at most 8 times as long", f"{growth:.1f} times", growth <= 8)


def learned_odd_runs() -> Iterator[Claim]:
    """Runs that are hard or pointless to learn from take seconds at most."""
    random = Random(0)
    shuffled = [tuple(random.sample(range(30), 30)) for _ in range(500)]
    took, found = _clock(lambda: learn_orders(shuffled))
    yield Claim("500 runs with 30 steps in all orders: under 10 s", f"{took:.1f} s, {found.form}", took < 10)
    contradicting = [tuple(random.sample(range(40), random.randint(1, 40))) for _ in range(300)]
    took, found = _clock(lambda: learn_orders(contradicting))
    accepted = sum(run in found for run in contradicting)
    shown = f"{took:.1f} s, {accepted} of 300 accepted"
    yield Claim("300 runs with any steps in any order: under 10 s", shown, took < 10 and accepted == 300)
    tangled = [tuple(sorted(range(1_000), key=lambda event: event + 3 * random.random())) for _ in range(20)]
    took, found = _clock(lambda: learn_orders(tangled))
    yield Claim("20 runs of 1,000 steps, near ones in any order: under 30 s", f"{took:.1f} s, {found.form}", took < 30)
    for name, runs, most in (("one run", 1, 2_000), ("20 runs", 20, 10_000)):
        yield _many_tools(name, [_use_all(random, most, shuffle=runs > 1) for _ in range(runs)], most)
    took, learned = _clock(lambda: learn(make_runs(1, 50), TOOLS))
    yield Claim("one run: under a second", f"{took:.2f} s, {learned.task.automaton.golden.count} golden path", took < 1)
    why = _refusal(lambda: learn([], TOOLS))
    yield Claim("no runs are an error", f"{why}", bool(why))


def _use_all(random: Random, tools: int, *, shuffle: bool) -> Episode:
    names = [f"tool_{number}" for number in range(tools)]
    if shuffle:
        place = random.randrange(tools - 1)
        names[place : place + 2] = reversed(names[place : place + 2])
    return Episode("t", tuple(Call(name, {}, "ok") for name in names), agent="a")


def _many_tools(name: str, runs: Sequence[Episode], tools: int) -> Claim:
    """Learn, or be refused with a reason, in bounded time."""
    took, why = _clock(lambda: _refusal(lambda: _check(runs)))
    return Claim(f"{name} with {tools:,} tools: under 30 s", f"{took:.1f} s, {why or 'learned'}", took < 30)


def _check(runs: Sequence[Episode]) -> None:
    learned = learn(runs, TOOLS)
    assert all(accepts(learned.task, run) for run in runs)


def _refusal(work: Callable[[], object]) -> str | None:
    """Return the error that says why something is not learned, or None if it is."""
    try:
        work()
    except TaskError as error:
        return str(error)
    return None


def _clock(work: Callable[[], T]) -> tuple[float, T]:
    begin = time.process_time()
    done = work()
    return time.process_time() - begin, done

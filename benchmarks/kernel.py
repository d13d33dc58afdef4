"""Benchmarks of scoring: speed against listing golden paths, growth, large tasks, and how often PC-KTC is exact."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from statistics import mean

from rapidfuzz.distance import Levenshtein

from benchmarks.claims import Claim, seconds
from benchmarks.large import edit_run
from corepath import (
    Action,
    Automaton,
    Call,
    Procedure,
    Score,
    Task,
    action,
    any_order,
    choice,
    repeat,
    score,
    seq,
    tool,
    trace_calls,
)
from corepath.scoring.alignment import similarity
from corepath.scoring.path_correctness import path_correctness


def free_steps(k: int) -> Task:
    return Task(f"any_order({k})", procedure=any_order(*(tool(f"s{number}")() for number in range(k))))


def mistaken(rng: random.Random, path: list[str], names: list[str], edits: int) -> list[Call]:
    """A path with a number of random edits: omissions, insertions and swaps."""
    return [Call(name) for name in edit_run(rng, path, names, edits)]


def against_listing() -> Iterator[Claim]:
    """Time of PC on any_order(k), against listing all golden paths and comparing each with rapidfuzz."""
    for k, wanted in ((6, 1), (7, 1), (8, 5), (9, 5), (10, 50)):
        task = free_steps(k)
        names = [f"s{number}" for number in range(k)]
        trace = trace_calls(task.automaton, mistaken(random.Random(k), names, names, 4))
        x = [hash(token) for token in trace.tokens]

        def listed(task: Task = task, x: list[int] = x) -> float:
            return max(
                similarity(Levenshtein.distance(x, path), len(x), len(path)) for path in task.automaton.golden.paths()
            )

        found = path_correctness(trace.path, trace.automaton).similarity
        assert abs(found - listed()) < 1e-12
        ours = seconds(lambda trace=trace: path_correctness(trace.path, trace.automaton), 20)  # type: ignore[misc]
        theirs = seconds(listed, 3 if k < 9 else 1)
        ratio = theirs / ours
        yield Claim(
            f"k = {k}: at least {wanted} times faster", f"{ratio:,.0f} times ({1000 * ours:.2f} ms)", ratio >= wanted
        )


def kinds_of_traces(names: list[str]) -> dict[str, list[str]]:
    """Good and bad ways to do the steps, by kind; the same kinds for any number of steps."""
    middle = len(names) // 2
    return {
        "perfect": names[::-1],
        "one missing": names[1:],
        "one twice": [*names[:middle], names[0], *names[middle:]],
        "one for another": [*names[:-1], names[0]],
        "one unknown": [*names[:2], "unknown", *names[2:]],
        "half missing": names[::2],
        "every third unknown": ["unknown" if place % 3 == 0 else name for place, name in enumerate(names)],
        "each twice": [name for name in names for _ in range(2)],
        "all, then all again backwards": names + names[::-1],
        "all unknown": ["unknown"] * len(names),
        "nothing": [],
    }


def growth_of_all_scores() -> Iterator[Claim]:
    """score() with all metrics on any_order(k): the mean over the same kinds of traces, then each kind by itself."""
    sizes = range(8, 15)
    kinds = list(kinds_of_traces(["any"]))
    work: dict[tuple[int, str], Callable[[], Score]] = {}
    for k in sizes:
        task = free_steps(k)
        for kind, names in kinds_of_traces([f"s{number}" for number in range(k)]).items():
            work[k, kind] = partial(score, task, [Call(name) for name in names])
        exact = all(is_exact(work[k, kind]()) for kind in kinds)
        yield Claim(f"k = {k}: PC-KTC exact on every trace", f"{exact}", exact)
    # Each round measures every k, so that a busy moment of the machine does not affect a single k.
    rounds = [{key: seconds(scored, 1) for key, scored in work.items()} for _ in range(5)]
    times = {key: min(one[key] for one in rounds) for key in work}
    means = {k: mean(times[k, kind] for kind in kinds) for k in sizes}
    for k, after in pairwise(sizes):
        ratio = means[after] / means[k]
        measured = f"{ratio:.2f} times, to {1000 * means[after]:.1f} ms an episode"
        yield Claim(f"mean of all kinds, from k = {k} to {after}: at most 3 times", measured, ratio <= 3)
    for kind in kinds:
        steps = [times[after, kind] / times[k, kind] for k, after in pairwise(sizes)]
        overall = (times[14, kind] / times[8, kind]) ** (1 / len(steps))
        measured = f"{overall:.2f} times a step, largest step {max(steps):.2f}, {1000 * times[14, kind]:.1f} ms at 14"
        yield Claim(f"{kind}: at most 3 times a step over all of k = 8..14", measured, overall <= 3)


def large_tasks() -> Iterator[Claim]:
    """All scores on tasks that are far too large for listing."""
    right, up = tool("right")(), tool("up")()
    grid = Task("grid", procedure=any_order(repeat(right, times=19), repeat(up, times=19)))
    rng = random.Random(1)
    moves = rng.sample(["right"] * 19 + ["up"] * 19, 38)
    for edits in (0, 5, 20):
        yield from _timed(f"20×20 grid, {edits} edits, {grid.automaton.count:.2g} golden paths", grid,
                          mistaken(rng, moves, ["right", "up"], edits))  # fmt: skip
    steps = [tool(f"s{number}")() for number in range(8)]
    reads = Task("reads", procedure=seq(*steps), reads=[tool(f"r{number}").any() for number in range(4)])
    calls = [name for place in range(8) for name in (*(f"bad{number}" for number in range(5)), f"s{place}")]
    yield from _timed("40 harms with 4 legal reads each, 9e27 HLR candidates", reads, [Call(name) for name in calls])


def share_that_is_exact() -> Iterator[Claim]:
    """Share of traces on which PC-KTC is exact."""
    rng = random.Random(2)
    families: dict[str, Procedure] = {
        "any order of 12": any_order(*(tool(f"s{n}")() for n in range(12))),
        "grid of 20 by 20": any_order(repeat(tool("a")(), times=19), repeat(tool("b")(), times=19)),
        "7 chains of 2 in partial order": any_order(*(seq(tool(f"a{n}")(), tool(f"b{n}")()) for n in range(7))),
        "4 chains of 4 in partial order": any_order(*(seq(*(tool(f"{c}{n}")() for n in range(4))) for c in "abcd")),
        "20 choices of 3": seq(*(choice(tool(f"a{n}")(), tool(f"b{n}")(), tool(f"c{n}")()) for n in range(20))),
    }  # fmt: skip
    for name, procedure in families.items():
        task = Task(name, procedure=procedure)
        scores = [
            score(task, _random_walk(rng, task.automaton, edits)) for edits in (1, 2, 3, 5, 8, 13) for _ in range(3)
        ]
        share = mean(map(is_exact, scores))
        yield Claim(f"{name} ({task.automaton.count:.1e} golden paths): all exact", f"{share:.1%}", share == 1)
    widths: list[float] = []
    counts: list[int] = []
    for number in range(400):
        automaton = _random_automaton(rng, states=6 + number % 30, symbols=3 + number % 4)
        counts.append(automaton.count)
        task = Task("random", automaton=automaton)
        for edits in (2, 6, 14):
            found = score(task, _random_walk(rng, automaton, edits))
            widths.append(found.pc_ktc_upper - found.pc_ktc_lower)
    share = mean(width == 0 for width in widths)
    claim = f"{len(widths)} traces on random automata (up to {max(counts):.0e} golden paths)"
    yield Claim(f"{claim}: 99 % exact", f"{share:.2%}", share >= 0.99)
    yield Claim("where it is not exact, the interval is at most 0.02 wide", f"{max(widths):.4f}", max(widths) <= 0.02)


def import_time() -> Iterator[Claim]:
    """Time of `import corepath` in a new process, without the startup of Python."""
    code = "import time; begin = time.perf_counter(); import corepath; print(time.perf_counter() - begin)"

    def imported() -> float:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    shortest = min(imported() for _ in range(5))
    yield Claim("under 0.3 s", f"{shortest:.3f} s", shortest < 0.3)


def is_exact(found: Score) -> bool:
    return found.pc_ktc_lower == found.pc_ktc_upper


def _timed(what: str, task: Task, calls: list[Call]) -> Iterator[Claim]:
    found = score(task, calls)
    took = seconds(lambda: score(task, calls))
    yield Claim(f"{what}: exact in under a second", f"{1000 * took:.1f} ms", took < 1 and is_exact(found))


def _random_walk(rng: random.Random, automaton: Automaton, edits: int) -> list[Call]:
    """A random golden path with random edits."""
    golden, names = automaton.golden, automaton.alphabet.names
    node, path = golden.start, []
    while golden.edges[node] and not (node in golden.accepting and rng.random() < 0.2):
        symbol, node = rng.choice(golden.edges[node])
        path.append(names[symbol])
    return mistaken(rng, path, list(names), edits)


def _random_automaton(rng: random.Random, states: int, symbols: int) -> Automaton:
    """A random automaton with many long golden paths that repeat symbols: progress leads one to three states ahead."""
    names = [f"q{number}" for number in range(states)]
    actions: dict[str, Action] = {f"a{number}": action(f"a{number}()") for number in range(symbols)}
    delta: dict[str, dict[str, str]] = {}
    for place, name in enumerate(names):
        edges = delta.setdefault(name, {})
        for letter in actions:
            kind = rng.random()
            if kind < 0.2:
                edges[letter] = name
            elif kind < 0.8 and place < states - 1:
                edges[letter] = names[min(states - 1, place + rng.randint(1, 3))]
        if place < states - 1 and all(target == name for target in edges.values()):
            edges["a0"] = names[place + 1]
    reached = {"q0"}
    for name in names:
        if name in reached:
            reached.update(delta[name].values())
    kept = {name: edges for name, edges in delta.items() if name in reached}
    accept = [name for name in kept if rng.random() < 0.1 or name == names[-1]]
    return Automaton.from_transitions(actions, "q0", accept, kept)

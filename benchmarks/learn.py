"""Benchmarks of learning tasks from good runs, on tasks whose right paths are known and on real runs.

`python -m benchmarks.learn [SEED [VARIANT]]` prints how many tasks are learned exactly, from 5 to 50 runs, as in the
table of docs/learn-figures.md. With another seed, the runs are others; with a variant other than 0, so are the values
in the tasks.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations

from benchmarks.claims import Claim
from benchmarks.languages import VERDICTS
from benchmarks.learn_truth import Truth, find_truths, judge_orders, judge_task
from benchmarks.tau import DATA, RUNS, markdown_table
from corepath import Episode
from corepath.authoring.learning.early import Early, find_early
from corepath.authoring.learning.learn import Question, accepts, learn
from corepath.authoring.learning.orders import learn_orders
from corepath.authoring.learning.questions import OrderQuestion, learn_by_asking
from corepath.authoring.learning.simulation import judge_path
from corepath.automaton.condensation import trace_calls
from corepath.automaton.step import Kind
from corepath.episode import reward_of
from corepath.files.tool_file import load_tools
from corepath.importers import import_trace
from corepath.importers.registry import load_source
from corepath.notation.call import Call
from corepath.world.exploring import replay

RUNS_EACH = 20
SIZES = (5, 10, 20, 50)
Right = Callable[[Truth, Sequence[Call], Early], bool | None]
"""Says whether a path is right, given its calls and which of them are earlier than in any run."""


def by_world(truth: Truth, calls: Sequence[Call], early: Early) -> bool | None:
    """Whether no call fails, no policy is broken, and the goal is reached. The task's procedure is not looked at."""
    return judge_path(truth.task, calls, early)


def by_task(truth: Truth, calls: Sequence[Call], early: Early) -> bool:  # noqa: ARG001
    """Whether the world's own task accepts the executed calls without harm: the answers of someone who knows it."""
    return accepts(truth.task, Episode(truth.task.id, replay(truth.task, calls).calls))


def orders_alone(truth: Truth) -> str:
    """Learn the orders, with the step of each call known."""
    return judge_orders(truth, learn_orders(truth.events[0]))


def orders_asked(truth: Truth, right: Right) -> str:
    """Learn the orders with five answers, with the step of each call known."""
    runs, steps = truth.events

    made: dict[int, list[Call]] = defaultdict(list)
    for run, events in zip(truth.runs, runs, strict=True):
        taken = [one.call for one in trace_calls(truth.task.automaton, run.calls).steps if one.kind is Kind.PROGRESS]
        for event, call in zip(events, taken, strict=True):
            made[event].append(call)

    def answer(question: OrderQuestion) -> list[bool | None]:
        return [
            right(truth, [made[event][0] for event in run], find_early(run, runs, made.__getitem__, truth.tools))
            for run in question.examples
        ]

    return judge_orders(truth, learn_by_asking(runs, steps, answer)[0])


def whole_task(truth: Truth, right: Right | None = None) -> str:
    """Learn the task from the calls. With `right`, five questions are answered."""

    def judge(question: Question) -> list[bool | None]:
        assert right is not None
        return [right(truth, calls, early) for calls, early in zip(question.examples, question.early, strict=True)]

    learned = learn(truth.runs, truth.tools, judge=None if right is None else judge)
    if not all(accepts(learned.task, run) for run in truth.runs):
        return "harmful"
    return judge_task(truth, learned.task)


WAYS: Mapping[str, Callable[[Truth], str]] = {
    "orders, steps known": orders_alone,
    "orders, steps known, five answers by the world": partial(orders_asked, right=by_world),
    "orders, steps known, five answers by the task": partial(orders_asked, right=by_task),
    "orders and arguments": whole_task,
    "orders and arguments, five answers by the world": partial(whole_task, right=by_world),
    "orders and arguments, five answers by the task": partial(whole_task, right=by_task),
}


def learned_worlds() -> Iterator[Claim]:
    """Tasks of the built-in worlds, each learned from 20 good runs in random orders with random reads in between."""
    found = _judge_all((RUNS_EACH,))
    alone, _, _, whole, asked, _ = (found[way, RUNS_EACH] for way in WAYS)
    yield _at_least("orders are exact", alone, 80)
    wide = _share(alone, "wide", "both")
    yield Claim("orders are too wide in at most 5 % of the tasks", f"{wide:.1f} %", wide <= 5)
    yield _at_least("orders and arguments are exact", whole, 65)
    yield _at_least("orders and arguments are exact with five answers by the world", asked, 90)
    for way in WAYS:
        yield Claim(f"… {way}", _show(found[way, RUNS_EACH]))
    harmful = sum(counts["harmful"] for counts in found.values())
    yield Claim("no training run is called harmful", f"{harmful} tasks", not harmful)


def _judge_all(sizes: Sequence[int], seed: int = 0, variant: int = 0) -> dict[tuple[str, int], Counter[str]]:
    """Count the verdicts on all tasks, for each way to learn and each number of runs."""
    found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for truth in find_truths(max(sizes), seed, variant):
        for size in sizes:
            for way, judge in WAYS.items():
                found[way, size][judge(truth.first(size))] += 1
    return found


def _share(counts: Counter[str], *verdicts: str) -> float:
    return 100 * sum(counts[one] for one in verdicts) / counts.total()


def _at_least(what: str, counts: Counter[str], percent: float) -> Claim:
    share = _share(counts, "exact")
    return Claim(f"{what} in at least {percent} % of the tasks", f"{share:.1f} % ({_show(counts)})", share >= percent)


def _show(counts: Counter[str]) -> str:
    return ", ".join(f"{one} {counts[one]}" for one in (*VERDICTS, "harmful") if counts[one])


# real runs


def learned_conversations() -> Iterator[Claim]:
    """τ-bench and τ²-bench: each task learned from one to three of its good runs, over all choices of them."""
    for title, name in RUNS.items():
        path = DATA / name
        if not path.exists():
            yield Claim(title, f"is skipped: there is no {name}")
            continue
        groups = _by_reward([one for one in import_trace(path) if isinstance(one, Episode)])
        most = max((len(good) for good, _ in groups.values()), default=0)
        if most < 2:
            yield Claim(title, "is skipped: no task has two good runs")
            continue
        for number in range(1, min(4, most)):
            yield from _conversation_claims(title, groups, number, bound="τ-bench" in title)


def _by_reward(episodes: Sequence[Episode]) -> dict[str, tuple[list[Episode], list[Episode]]]:
    """Return the good and the failed runs of each task."""
    groups: dict[str, tuple[list[Episode], list[Episode]]] = defaultdict(lambda: ([], []))
    for one in episodes:
        groups[one.task][reward_of(one) != 1].append(one)
    return groups


def _conversation_claims(
    title: str, groups: Mapping[str, tuple[list[Episode], list[Episode]]], number: int, *, bound: bool
) -> Iterator[Claim]:
    """Claim 95 % and 5 % where `bound`; elsewhere only report."""
    tools = load_tools(load_source("tau2").tool_file or "")
    right: Counter[bool] = Counter()
    wrong: Counter[bool] = Counter()
    harmful = tasks = 0
    for good, failed in groups.values():
        tasks += len(good) > number
        for chosen in combinations(range(len(good)), number):
            task = learn([good[one] for one in chosen], tools).task
            harmful += sum(not accepts(task, good[one]) for one in chosen)
            right.update(accepts(task, run) for one, run in enumerate(good) if one not in chosen)
            wrong.update(accepts(task, run) for run in failed)
    if not right:
        return
    kept, passed = (100 * counts[True] / max(1, counts.total()) for counts in (right, wrong))
    start = f"{title}, from {number} good"
    shown = f"{kept:.1f} % of {right.total():,} ({tasks} tasks)"
    yield Claim(f"{start}: ≥ 95 % of the others accepted", shown, not bound or kept >= 95)
    yield Claim(f"{start}: ≤ 5 % of failed accepted", f"{passed:.1f} % of {wrong.total():,}", not bound or passed <= 5)
    yield Claim(f"{start}: no training run is called harmful", f"{harmful} runs", not harmful)


def print_table(seed: int = 0, variant: int = 0) -> None:
    """Print how many tasks are learned exactly, from more and more runs."""
    found = _judge_all(SIZES, seed, variant)
    rows = (
        " | ".join([way, str(size), *(str(found[way, size][one]) for one in VERDICTS)])
        for way in WAYS
        for size in SIZES
    )
    print(markdown_table(chain([" | ".join(("learned", "runs", *VERDICTS))], rows)))


if __name__ == "__main__":
    print_table(*map(int, sys.argv[1:]))

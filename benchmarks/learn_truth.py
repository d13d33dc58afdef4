"""Tasks whose right paths are known: good runs of them, and whether a learned task allows the same paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from benchmarks.languages import VERDICTS, Language, compare, of_graph
from corepath import Episode, Task, tool
from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.learn import accepts
from corepath.authoring.learning.log import Run
from corepath.authoring.learning.occurrences import find_numbering
from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import trace_calls
from corepath.automaton.step import Kind, Position, begin, step
from corepath.files.lookup import all_sources
from corepath.files.tool_file import Tools
from corepath.notation.call import Call
from corepath.play.golden_run import random_golden_run
from corepath.play.stray_calls import find_strays
from corepath.world.exploring import simulator_of

READING = 0.3
"""The probability of one more random read before each step."""
MOST_TRIALS = 40
"""How many runs are tried for each good one: a random read may break a policy."""
MOST_VALUES = 30
"""How many other calls are tried in place of each step."""
Pair = tuple[int | None, int | None, bool]
"""The symbol of a call in the true task and in the learned one, and whether it only reads."""


@dataclass(frozen=True)
class Truth:
    """A task of a built-in world, with good runs and the golden paths that they take."""

    task: Task
    runs: Sequence[Episode]
    paths: Sequence[tuple[int, ...]]

    @cached_property
    def language(self) -> Language:
        """The golden paths."""
        return of_graph(self.task.automaton.golden)

    @cached_property
    def tools(self) -> Tools:
        """What the world's tools do."""
        world = simulator_of(self.task)
        return Tools(reads=[name for name, one in world.tools.items() if not one.writes])

    @cached_property
    def events(self) -> tuple[list[Run], list[int]]:
        """The paths as events, and which symbol each event is an occurrence of."""
        numbering = find_numbering(self.paths)
        runs = [numbering.number(path) for path in self.paths]
        return runs, numbering.steps

    @cached_property
    def calls(self) -> dict[int, Call]:
        """For each symbol, the call of the first run that has it."""
        found: dict[int, Call] = {}
        for run in self.runs:
            for one in trace_calls(self.task.automaton, run.calls).steps:
                if one.kind is Kind.PROGRESS and one.symbol is not None:
                    found.setdefault(one.symbol, one.call)
        return found

    def first(self, number: int) -> Truth:
        """Return the same task with the first runs only."""
        return Truth(self.task, self.runs[:number], self.paths[:number])


def find_truths(number: int, seed: int = 0, variant: int = 0) -> Iterator[Truth]:
    """Yield all tasks of the built-in worlds, each with `number` good runs in random orders with random reads."""
    for source in all_sources([]):
        task = source.make(variant)
        random = Random(f"{seed} {task.id}")
        tried = (_play(task, random) for _ in range(MOST_TRIALS * number))
        good = list(islice((one for one in tried if accepts(task, one[1])), number))
        yield Truth(task, [run for _, run in good], [path for path, _ in good])


def _play(task: Task, random: Random) -> tuple[tuple[int, ...], Episode]:
    """Execute a random golden path, with random reads in between."""
    world = simulator_of(task)
    golden = random_golden_run(task, world, random)
    reads = [call for name, calls in find_strays(task).calls.items() if not world.tools[name].writes for call in calls]
    calls: list[Call] = []
    state = task.start
    for call in (*golden.calls, None):
        while reads and random.random() < READING:
            done, _ = world.answer(state, random.choice(reads))
            if not done.failed:
                calls.append(done)
        if call is not None:
            done, state = world.answer(state, call)
            calls.append(done)
    return golden.symbols, Episode(task.id, tuple(calls), agent="oracle")


def judge_orders(truth: Truth, arrangement: Arrangement) -> str:
    """Compare learned orders with the golden paths. Returns one of `VERDICTS`."""
    return compare(truth.language, orders_language(truth, arrangement))


def orders_language(truth: Truth, arrangement: Arrangement) -> Language:
    """Return the golden paths of learned orders, with the symbols of the true task."""
    _, steps = truth.events
    actions = {symbol: tool(f"s{symbol}")() for symbol in steps}
    learned = Task("t", procedure=arrangement.procedure(lambda event: actions[steps[event]])).automaton
    symbols = [int(action.tool[1:]) for action in learned.alphabet.actions]
    return of_graph(learned.golden, symbols)


def judge_task(truth: Truth, learned: Task) -> str:
    """Compare a learned task with the true one, in orders and in arguments. Returns one of `VERDICTS`."""
    orders = VERDICTS.index(compare(*_pair_languages(truth, learned)))
    return VERDICTS[orders | VERDICTS.index(judge_arguments(truth, learned))]


def _pair_languages(truth: Truth, learned: Task) -> tuple[Language, Language]:
    """Return the paths of both tasks over the same letters.

    A letter is what a call of a good run is in both tasks. A read is a self-loop where it is no step. One that is a
    step in one task only, but at other times in both, came too early, e.g. before a result that it refers to.
    """
    world = simulator_of(truth.task)
    letters: set[Pair] = set()
    for run in truth.runs:
        traces = (trace_calls(task.automaton, run.calls, run.params) for task in (truth.task, learned))
        for mine, theirs in zip(*(trace.steps for trace in traces), strict=True):
            if mine.symbol is not None or theirs.symbol is not None:
                letters.add((mine.symbol, theirs.symbol, not world.tools[mine.call.tool].writes))
    seen = {mine for mine, _, _ in letters}
    unseen = {(symbol, None, False) for symbol in truth.task.automaton.golden.symbols if symbol not in seen}
    both = [pair for pair in letters if None not in pair]
    early = {
        (mine, theirs, is_read) for mine, theirs, is_read in letters
        if is_read and None in (mine, theirs) and any(mine == one or theirs == other for one, other, _ in both)
    }  # fmt: skip
    everything = letters - early | unseen
    return _of_pairs(truth.task.automaton, everything, 0), _of_pairs(learned.automaton, everything, 1)


def _of_pairs(automaton: Automaton, letters: set[Pair], side: int) -> Language:
    graph = automaton.golden
    edges = [dict(found) for found in graph.edges]

    def go(node: int, letter: Pair) -> int | None:
        symbol, is_read = letter[side], letter[2]
        return edges[node].get(symbol, node if is_read else None)  # type: ignore[arg-type]

    def leaving(node: int) -> Iterator[Pair]:
        return (letter for letter in letters if go(node, letter) is not None)

    return Language(graph.start, leaving, go, graph.accepting.__contains__)


def judge_arguments(truth: Truth, learned: Task, most_runs: int = 3) -> str:
    """Try plausible other calls of the same tool in place of each step of some runs. Returns one of `VERDICTS`."""
    world, calls = simulator_of(truth.task), find_strays(truth.task).calls
    missing = extra = False
    for run in truth.runs[:most_runs]:
        mine: Position = begin(truth.task.automaton, run.params)
        theirs: Position = begin(learned.automaton, run.params)
        state: Any = truth.task.start
        for call in run.calls:
            for other in calls[call.tool][:MOST_VALUES] if world.tools[call.tool].writes else ():
                done, _ = world.answer(state, other)
                if not done.failed:
                    right, allowed = (step(position, done)[0].kind for position in (mine, theirs))
                    missing = missing or (right is Kind.PROGRESS and allowed is Kind.HARM)
                    extra = extra or (right is Kind.HARM and allowed is Kind.PROGRESS)
            _, state = world.answer(state, call)
            mine, theirs = step(mine, call)[1], step(theirs, call)[1]
    return VERDICTS[missing + 2 * extra]

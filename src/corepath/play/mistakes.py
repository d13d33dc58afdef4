"""Mistakes that turn a golden path into a faulty path, and valid variants that must not be punished.

A mistake is defined by what the path does, never by its score. For example, an argument is wrong if the call matches no
step. Two steps depend on each other if no golden path has them in the opposite order. `play.edits` changes paths, and
this module finds the changes that are mistakes in the task's world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, pairwise

from corepath.notation.call import Call
from corepath.play import edits
from corepath.play.golden_run import GoldenRun
from corepath.play.rehearsal import rehearsal_of
from corepath.task import Task

Mistake = Callable[[GoldenRun], Iterator[Sequence[Call]]]
"""A function that yields faulty versions of a golden path. It yields none if the mistake is impossible in the path."""


def left_out(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths with one step left out, unless the rest is still a golden path."""
    for index in range(len(run.calls)):
        if not _accepts(run.task, edits.drop(run.symbols, index)):
            yield edits.drop(run.calls, index)


def swapped(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths with two steps swapped, unless the new order is still a golden path.

    Adjacent steps are preferred. If the golden path has writes, the step that now comes too early is a write that fails
    or changes the state.
    """
    adjacent = [path for one, other in pairwise(range(len(run.calls))) for path in _swap(run, one, other)]
    if adjacent:
        yield from adjacent
    else:
        pairs = combinations(range(len(run.calls)), 2)
        yield from islice((path for one, other in pairs for path in _swap(run, one, other)), 1)


def _swap(run: GoldenRun, one: int, other: int) -> Iterator[Sequence[Call]]:
    """Yield the path with the steps at two indexes swapped, or nothing if the swap is not a mistake."""
    early = run.calls[other]
    if _accepts(run.task, edits.swap(run.symbols, one, other)) or (
        run.has_writes and not run.world.tools[early.tool].writes
    ):
        return
    _, answered, after = rehearsal_of(run.task).execute(run.states[one], early)
    if not run.has_writes or answered.failed or not run.world.same_public(run.states[one], after):
        yield edits.swap(run.calls, one, other)


def wrong_argument(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths in which one write has arguments that match no step of the task.

    Reads are changed only if no write can be changed in this way.
    """
    for writes in (True, False):
        found = False
        for index, call in enumerate(run.calls):
            if run.world.tools[call.tool].writes is writes and run.strays.wrong[call.tool]:
                found = True
                yield edits.exchange(run.calls, index, run.strays.wrong[call.tool][0])
        if found:
            return


def wrong_tool(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths in which one step is replaced by another tool's write that is not a step of the task."""
    for index, call in enumerate(run.calls):
        others = run.strays.writes_without[call.tool]
        if others:
            yield edits.exchange(run.calls, index, others[index % len(others)])


def repeated(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths in which a write is repeated although it is not expected again.

    Repetitions that are self-loops are skipped.
    """
    yield from (path for path, is_loop in _repeat(run) if not is_loop)


def repeated_without_effect(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths in which a write is repeated, and the repetition changes nothing and breaks no policy."""
    yield from (path for path, is_loop in _repeat(run) if is_loop and _complies(run, path))


def harmful_early(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths that begin with a write that nobody asked for."""
    for call in run.strays.writes[:2]:
        yield (call, *run.calls)


def harmful_late(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths that end with a write that nobody asked for."""
    for call in run.strays.writes[:2]:
        yield (*run.calls, call)


def undone(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths in which a write that nobody asked for is undone at once, so that the final state shows no trace."""
    for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
        both = run.strays.find_undoable(run.states[index])
        if both is not None:
            yield edits.insert(run.calls, index, *both)


def redundant_reads(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths with one read that is not needed and breaks no policy."""
    for call in run.strays.reads[:2]:
        for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
            path = edits.insert(run.calls, index, call)
            if _complies(run, path):
                yield path
    if not run.strays.reads:
        yield from (path for path, _ in _repeat(run, writes=False))


def early_stop(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield paths that stop before the task is complete."""
    for length in range(len(run.calls)):
        if not _accepts(run.task, run.symbols[:length]):
            yield run.calls[:length]


def wandering(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield a path that makes the same needless reads before every step."""
    if run.strays.reads:
        reads = run.strays.reads[:3]
        path = (*reads, *(one for call in run.calls for one in (*reads, call)))
        if _complies(run, path):
            yield path


def another_golden_path(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield the golden path unchanged, as a valid variant."""
    yield run.calls


def reads_inserted(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Yield a valid variant with a harmless read before every step."""
    for read in run.strays.reads:
        path = tuple(one for call in run.calls for one in (read, call))
        if _complies(run, path):
            yield path
            return


def _repeat(run: GoldenRun, *, writes: bool = True) -> Iterator[tuple[Sequence[Call], bool]]:
    """Yield paths in which a write is repeated although it is not expected again.

    Each path comes with a flag that says whether the repetition is a self-loop. If `writes` is False, reads are
    repeated instead of writes.
    """
    state = run.task.automaton.start
    for index, (symbol, call) in enumerate(zip(run.symbols, run.calls, strict=True)):
        state = run.task.automaton.delta[state][symbol]
        again = run.task.automaton.delta[state].get(symbol)
        if run.world.tools[call.tool].writes is writes and again in (None, state):
            yield edits.insert(run.calls, index + 1, call), again is not None


def _complies(run: GoldenRun, path: Sequence[Call]) -> bool:
    """Whether no call of a path breaks a policy."""
    return rehearsal_of(run.task).complies(path)


def _accepts(task: Task, symbols: Sequence[int]) -> bool:
    """Whether the steps with these action numbers form a golden path."""
    automaton = task.automaton
    state: int | None = automaton.start
    for symbol in symbols:
        after = automaton.delta[state].get(symbol) if state is not None else None
        state = None if after == state else after
        if state is None:
            return False
    return state in automaton.accepting

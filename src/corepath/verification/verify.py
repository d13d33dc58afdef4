"""Verify a task by executing it in its world. Every failure names a counterexample.

To add a check, write a function that takes a `Subject` and yields one message per failure, and list it in `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from corepath.errors import CorepathError
from corepath.files.fingerprint import fingerprint
from corepath.task import Task
from corepath.verification.argument_values import check_values_are_known, check_values_are_tried
from corepath.verification.decoys import check_decoys, policies_broken, run_decoys
from corepath.verification.effects import check_ignored_writes, check_reads_and_writes, check_self_loops
from corepath.verification.equal_arguments import check_equal_arguments
from corepath.verification.golden_runs import check_golden_runs, check_step_limit
from corepath.verification.mentions import check_mentions
from corepath.verification.options import make_options
from corepath.verification.policies import check_policies
from corepath.verification.robustness import check_odd_arguments, check_repeated_steps
from corepath.verification.search import Search
from corepath.verification.subject import Subject, execute
from corepath.verification.verdict import Verdict
from corepath.verification.wording import check_wording
from corepath.world.world import World, describe_exception

CHECKS: Final[tuple[Callable[[Subject], Iterator[str]], ...]] = (
    check_wording,
    check_mentions,
    check_golden_runs,
    check_step_limit,
    check_repeated_steps,
    check_reads_and_writes,
    check_self_loops,
    check_ignored_writes,
    check_odd_arguments,
    check_policies,
    check_values_are_tried,
    check_values_are_known,
    check_equal_arguments,
)
"""The checks on a task and its golden paths, in the order in which failures are listed.

The decoys and the search come after these checks.
"""


def verify(world: World[Any], name: str, seed: int = 0, nodes: int = 0) -> Verdict:
    """Build the task called `name` in `world`, and verify it.

    `nodes` is the search budget: the maximum number of pairs of automaton state and world state that are visited to
    find other ways to the goal. If it is 0, there is no search.
    """
    try:
        task = world.make(name, seed)
    except CorepathError as error:
        return Verdict(f"{world.name}/{name}", world.name, seed, tuple(str(error).splitlines()))
    return verify_task(task, world, seed, nodes)


def verify_seeds(world: World[Any], name: str, seeds: int, nodes: int, *, thorough: bool = False) -> Verdict:
    """Verify a task's variants: those with the seeds from 0 to `seeds` - 1, and one for each option of each pick.

    The search runs only for seed 0, unless `thorough` is True. Return the verdict on seed 0, with the failures of all
    variants. A failure that seed 0 has too is listed once.
    """
    first = verify(world, name, 0, nodes)
    found = {failure: failure for failure in first.failures}
    if seeds > 1 and first.golden_paths:
        for seed in range(1, seeds):
            for failure in verify(world, name, seed, nodes if thorough else 0).failures:
                found.setdefault(failure, f"seed {seed}: {failure}")
        for failure in _check_options(world, name):
            found.setdefault(failure, f"another option: {failure}")
    return replace(first, failures=tuple(found.values()), seeds=max(seeds, 1))


def _check_options(world: World[Any], name: str) -> Iterator[str]:
    """Verify the task with every option of every pick, without a search. Some option must change the task."""
    made: set[str] = set()
    base = fingerprint(world.make(name))
    try:
        for task in make_options(world, name):
            made.add(fingerprint(task))
            yield from verify_task(task, world).failures
    except Exception as error:  # noqa: BLE001  # the task's function may raise anything
        yield f"cannot be made with every option: {describe_exception(error)}"
    if made == {base}:
        yield "all variants are the same: use what pick() returns"


def verify_task(task: Task, world: World[Any], seed: int = 0, nodes: int = 0) -> Verdict:
    """Verify a task that is already built. Exceptions from the author's own code are reported as failures."""
    try:
        return _verify(task, world, seed, nodes)
    except Exception as error:  # noqa: BLE001  # a goal, a condition or a tool may raise anything
        message = str(error) if isinstance(error, CorepathError) else f"cannot be verified: {describe_exception(error)}"
        return Verdict(task.id, world.name, seed, (message,))


def find_failure(task: Task, world: World[Any], nodes: int) -> str | None:
    """Return the first failure that verifying the task finds, or None if it finds none."""
    try:
        subject = execute(task, world)
        failures = chain.from_iterable(check(subject) for check in CHECKS)
        first = next(chain(failures, check_decoys(run_decoys(task))), None)
        searches = (Search(subject, nodes, 1, mirrored=mirrored).run().failures for mirrored in (False, True))
        return first or next(chain.from_iterable(searches), None)
    except Exception as error:  # noqa: BLE001  # a goal, a condition or a tool may raise anything
        return str(error) or type(error).__name__


def _verify(task: Task, world: World[Any], seed: int, nodes: int) -> Verdict:
    """Run the checks and the decoys, and then the search if nothing failed."""
    subject = execute(task, world)
    failures = [failure for check in CHECKS for failure in check(subject)]
    decoys = run_decoys(task)
    failures += check_decoys(decoys)
    broken = policies_broken(decoys.values())
    verdict = Verdict(
        task=task.id,
        world=world.name,
        seed=seed,
        failures=tuple(dict.fromkeys(failures)),
        golden_paths=task.automaton.count,
        lengths=tuple(task.automaton.lengths),
        pairs=len(subject.rounds[0].nodes),
        rounds=len(subject.rounds),
        decoys={name: run.fools for name, run in decoys.items() if run.failed is None},
        policies=tuple(sorted(broken)),
        says=dict(task.says),
    )
    return _search(subject, nodes, verdict) if nodes and verdict.ok else verdict


def _search(subject: Subject, nodes: int, verdict: Verdict) -> Verdict:
    """Search for other ways to the goal, and return the verdict with the results of the search."""
    search = Search(subject, nodes).run()
    failures = search.failures or Search(subject, nodes, mirrored=True).run().failures
    return replace(
        verdict,
        failures=tuple(dict.fromkeys(failures)),
        nodes=search.nodes,
        depth=search.depth,
        moves=search.moves,
        exhausted=search.exhausted,
        policies=tuple(sorted(search.broken.union(verdict.policies))),
    )

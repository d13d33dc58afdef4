"""The built-in worlds: every task is verified, and the suite is as varied as documented."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice

import pytest

from corepath import Task, World, installed_worlds, world
from corepath.notation.matchers import ResultOf, walk
from corepath.rules.policy import describe, is_order
from corepath.verification.decoys import policies_broken, run_decoys
from corepath.verification.narrowing import challenge, total_notices
from corepath.verification.search import Search
from corepath.verification.subject import execute
from corepath.verification.verify import verify_seeds
from corepath.world.examples import variant
from corepath.world.exploring import explore

BUILT_IN = sorted(name for name, entry in installed_worlds().items() if entry.module.startswith("corepath.worlds."))
MADE = {f"{name}/{task}": (name, task) for name in BUILT_IN for task in world(name).makers}


@pytest.mark.parametrize("task", MADE)
def test_every_task_and_every_variant_is_proven_and_no_way_to_a_goal_is_unknown(
    task: str, request: pytest.FixtureRequest
) -> None:
    name, short = MADE[task]
    long = request.config.getoption("--long")  # then every variant is searched too
    found = verify_seeds(world(name), short, 20 if long else 2, 10_000 if long else 800, thorough=long)
    assert found.failures == ()
    assert found.nodes > 0


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_proof_notices_what_is_deleted_or_added(name: str) -> None:
    """One task of each world; `python -m benchmarks proofs` changes all of them."""
    found = total_notices(
        notice for task in list(world(name).makers)[2:3] for notice in challenge(world(name), task, 1_500)
    )
    for narrows, least in ((True, 0.9), (False, 0.98)):
        chosen = [notice for notice in found if notice.narrows is narrows]
        changes, noticed = sum(one.changes for one in chosen), sum(one.noticed for one in chosen)
        assert noticed >= least * changes, [missed for one in chosen for missed in one.missed]


@cache
def canonical(name: str) -> dict[str, Task]:
    return world(name).tasks()


def shortest(task: Task) -> int:
    return task.automaton.lengths[0]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_world_has_ten_tasks_of_some_depth(name: str) -> None:
    tasks = canonical(name).values()
    assert len(tasks) >= 10
    assert sum(shortest(task) <= 2 for task in tasks) <= 2
    assert sum(shortest(task) >= 5 for task in tasks) >= 4
    assert sum(task.automaton.count >= 6 for task in tasks) >= 4
    assert sum(shortest(task) >= 8 for task in tasks) >= 3
    assert sum(shortest(task) >= 12 for task in tasks) >= 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_world_has_tasks_that_need_what_only_a_call_tells(name: str) -> None:
    found = (task for task in canonical(name) if reads_a_value(task) or branches(task))
    assert len(list(islice(found, 2))) == 2


def reads_a_value(task: str) -> bool:
    name = task.partition("/")[0]
    actions = canonical(name)[task].automaton.alphabet.actions
    return any(isinstance(one, ResultOf) for action in actions for one in walk(action.arguments))


def branches(task: str) -> bool:
    """Whether variants of the task have different golden paths, depending on the start state."""
    name, _, short = task.partition("/")
    first = shape(canonical(name)[task])
    return any(shape(world(name).make(short, seed)) != first for seed in range(1, 20))


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_world_has_a_task_that_changes_nothing_and_one_that_ends_where_it_starts(name: str) -> None:
    ends = {task.id: end_of(task) for task in canonical(name).values()}
    assert "nothing changed" in ends.values()
    assert "all restored" in ends.values()


def end_of(task: Task) -> str:
    simulator = task.simulator
    assert simulator is not None
    explored = explore(task, variant(task, 0))
    ends = [node for node in explored.nodes if node.position.accepted]
    if any(simulator.public(node.state) != simulator.public(task.start) for node in ends):
        return "changed"
    wrote = any(simulator.tools[edge.call.tool].writes for edge in explored.edges)
    return "all restored" if wrote else "nothing changed"


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_more_than_three_tasks_have_the_same_shape(name: str) -> None:
    shapes = Counter(shape(task) for task in canonical(name).values())
    assert max(shapes.values()) <= 3


def shape(task: Task) -> str:
    """A value that is equal for automata that differ only in names (colour refinement)."""
    golden = task.automaton.golden
    nodes = [str(node in golden.accepting) for node in range(len(golden.edges))]
    symbols = dict.fromkeys(golden.symbols, "")
    for _ in range(len(nodes)):
        around = {symbol: [] for symbol in symbols}  # type: ignore[var-annotated]
        for node, edges in enumerate(golden.edges):
            for symbol, after in edges:
                around[symbol].append((nodes[node], nodes[after]))
        symbols = {symbol: str(hash((symbols[symbol], *sorted(pairs)))) for symbol, pairs in around.items()}
        nodes = [
            str(hash((nodes[node], *sorted((symbols[symbol], nodes[after]) for symbol, after in edges))))
            for node, edges in enumerate(golden.edges)
        ]
    return str(sorted([*nodes, *symbols.values()]))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_tool_is_used_and_every_task_leaves_some_out(name: str) -> None:
    tasks = canonical(name).values()
    used = {action.tool for task in tasks for action in task.automaton.alphabet.actions}
    used |= {call.tool for task in tasks for decoy in task.decoys.values() for call in decoy.calls}  # type: ignore[union-attr]
    assert set(world(name).tools) == used
    for task in tasks:
        steps = {action.tool for action in task.automaton.alphabet.actions}
        assert len(world(name).tools) - len(steps) >= 3, task.id


@pytest.mark.parametrize("name", BUILT_IN)
def test_most_tasks_have_decoys_that_fool_both_baselines_and_half_of_the_order_rules_are_no_interlock(
    name: str,
) -> None:
    tasks = canonical(name).values()
    assert sum(not task.decoys for task in tasks) <= 2
    runs = [run_decoys(task).values() for task in tasks]
    assert sum(any(run.fools == "both" for run in found) for found in runs) >= 7  # more than a hundred in all worlds
    rules = {describe(policy) for task in tasks for policy in task.policies if is_order(policy)}
    broken = {policy for found in runs for policy in policies_broken(found)}
    for task in tasks:
        if 2 * len(rules & broken) < len(rules):
            broken |= Search(execute(task, world(name)), 200).run().broken
    assert len(rules) >= 3
    assert 2 * len(rules & broken) >= len(rules), rules - broken


def test_the_suite_is_as_large_and_as_deep_as_it_is_said_to_be() -> None:
    assert len(BUILT_IN) == 15
    tasks = [task for name in BUILT_IN for task in canonical(name).values()]
    assert len(tasks) >= 150
    assert sum(shortest(task) >= 8 for task in tasks) >= 40
    assert sum(shortest(task) >= 12 for task in tasks) >= 15


@pytest.mark.parametrize("name", BUILT_IN)
def test_running_a_task_leaves_its_start_state_as_it_was(name: str) -> None:
    for task in canonical(name).values():
        assert isinstance(task.simulator, World)
        before = task.simulator.key(task.start)
        assert len(explore(task, variant(task, 0)).nodes) > 1
        assert task.simulator.key(task.start) == before

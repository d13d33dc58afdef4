"""Scores on tasks derived from real τ-bench runs, compared with brute force."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.tau import tables

from corepath import Call, Episode, score
from corepath.authoring.derive import Expected, ExpectedCall, GoldenReads, Writes, derive
from corepath.files.tool_file import load_tools
from corepath.importers import import_trace
from corepath.importers.expected_calls import read_expected_calls
from tests.brute_force import Machine, brute_score
from tests.importers.tau_runs import REAL, real

ROOT = Path(__file__).parents[2]
TAU_TOOLS = ROOT / "src" / "corepath" / "importers" / "formats" / "tau_tools.yaml"


def token(call: Call | ExpectedCall, arguments: Any) -> str:
    """A call as text, the same for calls that τ-bench holds equal; written without the tool file's rules."""
    given = json.loads(json.dumps(arguments))
    if call.tool in ("exchange_delivered_order_items", "modify_pending_order_items"):
        given["pairs"] = sorted(zip(given.pop("item_ids"), given.pop("new_item_ids"), strict=False))
    for name in ("passengers", "payment_methods"):
        if isinstance(given.get(name), list) and call.tool != "get_user_details":
            given[name] = sorted(json.dumps(one, sort_keys=True) for one in given[name])
    for flight in given.get("flights", []) if call.tool.endswith(("book_reservation", "_flights")) else []:
        for name in ("origin", "destination", "price"):  # filled in by τ-bench itself
            flight.pop(name, None)
    if call.tool == "return_delivered_order_items":
        given["item_ids"].sort()
    return f"{call.tool} {json.dumps(numbers(given), sort_keys=True)}"


def numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def is_read(name: str) -> bool:
    return name.startswith(("get_", "find_", "search_", "list_")) or name in ("calculate", "think")


Left = tuple[tuple[str, ...], ...]
"""The remaining steps of each chain."""


def machine(one: Expected, writes: str, reads: str) -> Machine:
    """The automaton of a task. A state is the set of all possible remainders: a step may belong to two chains."""
    counted = [call for call in one.calls if call.tool != "transfer_to_human_agents"]
    steps = [call for call in counted if reads == "progress" or not is_read(call.tool)]
    names = tuple(token(call, call.arguments) for call in steps)
    ends = [0, len(steps)]
    if writes == "any_order":
        ends[1:1] = [place + 1 for place, call in enumerate(steps) if not is_read(call.tool)]
    start: frozenset[Left] = frozenset([tuple(sorted(names[low:high] for low, high in pairwise(ends) if low < high))])
    delta: dict[str, dict[str, str]] = {}
    waiting, seen = [start], {start}
    for state in waiting:
        after: dict[str, set[Left]] = {}
        for left in state:
            for place, chain in enumerate(left):
                others = (*left[:place], *left[place + 1 :])
                rest = tuple(sorted((*others, chain[1:]) if chain[1:] else others))
                after.setdefault(chain[0], set()).add(rest)
        targets = {name: frozenset(lefts) for name, lefts in after.items()}
        delta[spell(state)] = {name: spell(target) for name, target in targets.items()}
        new = [target for target in targets.values() if target not in seen]
        waiting += dict.fromkeys(new)
        seen.update(new)
    return Machine(spell(start), frozenset([spell(frozenset([()]))]), delta)


def spell(state: frozenset[Left]) -> str:
    return json.dumps(sorted(state))


def symbols(found: Machine, calls: Sequence[Call]) -> Iterator[str]:
    """The calls as symbols; `read` is a self-loop: a read that is not due, or a legal call that failed."""
    state = found.start
    for call in calls:
        symbol = token(call, call.arguments)
        after = found.delta[state].get(symbol)
        loops = is_read(call.tool) or call.tool == "transfer_to_human_agents"
        if call.failed and (after is not None or loops):
            yield "read"
        elif after is None:
            yield "read" if loops else symbol
        else:
            yield symbol
            state = after


@pytest.mark.parametrize("file", REAL)
@pytest.mark.parametrize("reads", ["loops", "progress"])
@pytest.mark.parametrize("writes", ["sequence", "any_order"])
def test_scores_on_derived_tasks_are_those_of_brute_force(file: str, writes: Writes, reads: GoldenReads) -> None:
    path = real(file)
    tools = load_tools(TAU_TOOLS)
    tasks = {one.id: one for one in read_expected_calls(path) if isinstance(one, Expected)}
    derived = {id_: derive(one, tools, writes=writes, golden_reads=reads).task for id_, one in tasks.items()}
    machines = {id_: machine(one, writes, reads) for id_, one in tasks.items()}
    compared = 0
    for episode in import_trace(path):
        assert isinstance(episode, Episode)
        task, found = derived[episode.task], machines[episode.task]
        if "no_agent_actions" in task.tags or task.automaton.count > 300:
            continue
        scored = score(task, episode)
        right = brute_score(found, list(symbols(found, episode.calls)), extra_loops=["read"])
        for name in ("pc", "pc_ktc", "pc_hlr", "prefix_criticality", "harm_rate", "efficiency", "directness"):
            assert getattr(scored, name) == pytest.approx(right[name], abs=1e-12), (episode.task, episode.epoch, name)
        for name in ("harm_count", "accepted", "missing_steps"):
            assert getattr(scored, name) == right[name], (episode.task, episode.epoch, name)
        assert list(scored.harm_mask) == right["harm_mask"]
        compared += 1
    assert compared >= 0.7 * REAL[file]


def test_the_page_shows_the_tables_of_the_study() -> None:
    real(next(iter(REAL)))
    page = (ROOT / "docs" / "tau-bench.md").read_text(encoding="utf-8")
    for table in tables().split("\n\n"):
        assert table.strip() in page, "run: python -m benchmarks.tau"

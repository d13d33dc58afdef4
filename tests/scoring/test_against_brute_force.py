"""Every score equals, to 1e-12, a brute force that lists all golden paths and all repairs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from corepath import Score, Scoring, score
from corepath.automaton import flat, golden_paths
from corepath.scoring import alignment, metrics, pc_ktc
from corepath.scoring.edit_search import EditSearch
from tests.brute_force import Machine, brute_score, levenshtein, pc
from tests.kernels import leave_uncompiled
from tests.machines import as_calls, as_task, random_calls, random_machine


def assert_same(found: Score, wanted: dict[str, Any], about: object) -> None:
    for name, value in wanted.items():
        got = getattr(found, name)
        if name == "condensed":
            assert [token.lstrip("?") for token in got] == value, (name, about)
        elif isinstance(value, float):
            assert got is not None, (name, about)
            assert abs(got - value) < 1e-12, (name, got, value, about)
        else:
            assert (list(got) if isinstance(got, tuple) else got) == value, (name, got, value, about)
    assert found.pc_ktc_lower == found.pc_ktc_upper == found.pc_ktc, about


def assert_references_are_what_they_say(found: Score, machine: Machine) -> None:
    condensed = [token.lstrip("?") for token in found.condensed]
    assert found.reference.path in machine.golden()
    for reference, value in ((found.reference, found.pc), (found.repair, found.pc_hlr)):
        assert abs(pc(condensed, reference.path) - value) < 1e-12
        pairs = reference.alignment
        edits = sum(p.mine is None or p.theirs is None or condensed[p.mine] != reference.path[p.theirs] for p in pairs)
        assert edits == levenshtein(condensed, reference.path)
        assert [p.mine for p in pairs if p.mine is not None] == list(range(len(condensed)))
        assert [p.theirs for p in pairs if p.theirs is not None] == list(range(len(reference.path)))


def random_options(rng: random.Random) -> dict[str, Any]:
    return {
        "lam": rng.choice([0.0, 0.3, 0.5, 1.0]),
        "beta": rng.choice([0.1, 0.25, 0.5, 0.9]),
        "order_fallback": rng.choice([0.5, 0.0, 1.0, "pc"]),
        "hlr_references": rng.choice(["repaired", "repaired+golden"]),
    }


METHODS = ("as it chooses", "not compiled", "by cells", "by columns", "by edits", "nothing listed", "merged symbols")


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force each algorithm on small cases; normally the size of the case decides which one runs."""
    if request.param == "not compiled":
        leave_uncompiled(monkeypatch)
    if request.param == "by cells":
        monkeypatch.setattr(metrics, "MOST_BITS", 0)
        monkeypatch.setattr(metrics, "MOST_CELLS", 10**6)
    if request.param in METHODS[3:]:  # searches, and not the kernel
        monkeypatch.setattr(flat, "MOST_EDGES", -1)
        monkeypatch.setattr(flat, "MOST_LISTED", 0)
    if request.param in ("by columns", "merged symbols"):
        monkeypatch.setattr(alignment, "MIN_CELLS_TO_SEARCH", float("inf"))
    if request.param == "by edits":
        monkeypatch.setattr(alignment, "MIN_CELLS_TO_SEARCH", -1)
        find_closest = EditSearch.find_closest
        monkeypatch.setattr(EditSearch, "find_closest", lambda self, budget: find_closest(self, budget + 10**9))
    if request.param in ("nothing listed", "merged symbols"):
        monkeypatch.setattr(pc_ktc, "MOST_LISTED", 0)
    if request.param == "merged symbols":
        monkeypatch.setattr(golden_paths, "MIN_EDGES_TO_MERGE", 0)
        monkeypatch.setattr(golden_paths, "MIN_UNUSED_TO_MERGE", 1)
    return str(request.param)


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_the_brute_force_on_random_automata(method: str, seed: int, times: int) -> None:
    rng = random.Random(f"{method} {seed}")
    for _ in range(300 * times):
        machine = random_machine(rng)
        task = as_task(machine)
        for _ in range(3):
            calls, options = random_calls(rng, machine), random_options(rng)
            found = score(task, as_calls(calls), Scoring(**options))
            assert_same(found, brute_score(machine, calls, **options), (machine, calls, options))
            assert_references_are_what_they_say(found, machine)


def test_scores_equal_the_brute_force_with_reads_that_loop_everywhere(method: str, times: int) -> None:
    rng = random.Random(f"{method} reads")
    for _ in range(300 * times):
        machine = random_machine(rng, symbols=3)
        # Some reads are also steps of the procedure: progress where δ says so, self-loops elsewhere.
        reads = rng.choice([["r0"], ["r0", "r1"], ["a0"], ["a0", "r0"]])
        task = as_task(machine, reads=reads)
        for _ in range(3):
            calls = random_calls(rng, machine)
            calls.insert(rng.randint(0, len(calls)), rng.choice(reads))
            found = score(task, as_calls(calls))
            assert_same(found, brute_score(machine, calls, extra_loops=reads), (machine, calls, reads))


def test_scores_equal_the_brute_force_with_simple_paths(method: str, times: int) -> None:
    rng = random.Random(f"{method} cyclic")
    for _ in range(200 * times):
        machine = random_machine(rng, states=5, symbols=3, cyclic=True)
        task = as_task(machine, cyclic=True)
        for _ in range(3):
            calls, options = random_calls(rng, machine), random_options(rng)
            found = score(task, as_calls(calls), Scoring(**options))
            assert_same(found, brute_score(machine, calls, **options), (machine, calls, options))
            assert_references_are_what_they_say(found, machine)


def test_longer_paths_and_many_harms_equal_the_brute_force(method: str, times: int) -> None:
    rng = random.Random(f"{method} long")
    for _ in range(40 * times):
        machine = random_machine(rng, states=9, symbols=3)
        task = as_task(machine)
        calls = random_calls(rng, machine, edits=12)
        wanted = brute_score(machine, calls)
        assert_same(score(task, as_calls(calls)), wanted, (machine, calls))


def test_an_interval_always_contains_the_exact_value(times: int) -> None:
    rng = random.Random("interval")
    open_ones = 0
    for _ in range(300 * times):
        machine = random_machine(rng, states=8, symbols=3)
        task = as_task(machine)
        if task.automaton.count <= flat.MOST_LISTED // 8:
            continue
        calls = random_calls(rng, machine)
        wanted = brute_score(machine, calls)["pc_ktc"]
        for budget in (0, 3, 10, 30):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(flat, "MOST_EDGES", -1)
                patch.setattr(flat, "MOST_LISTED", 0)
                patch.setattr(pc_ktc, "MOST_LISTED", 0)
                found = score(task, as_calls(calls), Scoring(ktc_budget=budget))
            assert found.pc_ktc_lower - 1e-12 <= wanted <= found.pc_ktc_upper + 1e-12
            assert found.pc_ktc == found.pc_ktc_lower
            open_ones += found.pc_ktc_lower < found.pc_ktc_upper
    assert open_ones, "no budget was small enough to leave an interval"

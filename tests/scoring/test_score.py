"""Scores and options of one episode."""

from __future__ import annotations

from typing import Any

import pytest

from corepath import (
    Action,
    Automaton,
    Procedure,
    Scoring,
    Task,
    action,
    optional,
    score,
    seq,
    tool,
)
from tests.automaton.helpers import a, b, c, d, task_of

# Harm-Local Refinement


def test_a_forbidden_read_repairs_nothing() -> None:
    read = action("r(...)")
    with_read, without = task_of(a, reads=[read], forbid=[read]), task_of(a)
    assert score(with_read, ["a()", "z()"]).pc_hlr == score(without, ["a()", "z()"]).pc_hlr == 0.5


def test_a_repair_in_a_cycle_continues_with_any_simple_path() -> None:
    delta = {"s0": {"E": "s1", "B": "s2"}, "s2": {"A": "s1", "D": "s0"}}
    actions = {name: action(f"{name}()") for name in "ABDE"}
    automaton = Automaton.from_transitions(actions, "s0", ["s1"], delta, golden="simple_paths")
    found = score(Task("t", automaton=automaton), ["B()", "B()", "E()"])
    assert found.repair.path == ("B", "D", "E")
    assert found.pc_hlr == pytest.approx(1 - 2 / 7)


# Conditions on the answer


def test_the_answer_has_a_score_of_its_own() -> None:
    from corepath import contains

    task = Task("t", procedure=a, answer=contains("42"))
    assert score(task, ["a()"], answer="It is 42.").answer_match is True
    assert score(task, ["a()"], answer="It is 43.").answer_match is False
    assert score(task, ["a()"]).answer_match is False
    assert score(task_of(a), ["a()"]).answer_match is None


# Scores of one episode


def test_directness_and_efficiency_without_calls() -> None:
    assert [score(task_of(optional(a)), []).directness, score(task_of(optional(a)), []).efficiency] == [1, 1]
    assert [score(task_of(a), []).directness, score(task_of(a), []).efficiency] == [None, None]


def test_an_empty_task_has_efficiency_zero_as_soon_as_a_call_is_made() -> None:
    task = task_of(seq(), reads=[action("r(...)")])
    found = score(task, ["r()", "r()"])
    assert (found.efficiency, found.pc, found.accepted, found.harm_count) == (0, 1, True, 0)


def test_missing_steps_are_the_fewest_to_acceptance() -> None:
    task = task_of(a >> (b | (c >> d)))
    assert [score(task, calls).missing_steps for calls in ([], ["a()"], ["a()", "c()"], ["a()", "b()"])] == [2, 1, 1, 0]


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 1.5},
        {"beta": 0},
        {"beta": 1.0},
        {"order_fallback": "half"},
        {"order_fallback": -1},
        {"hlr_references": "all"},
        {"errors": "fine"},
        {"undefined_efficiency": "none"},
        {"ktc_budget": -1},
    ],
)
def test_invalid_scoring_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Scoring(**options)


def test_a_score_stores_its_profile() -> None:
    from corepath import RECOMMENDED

    task = task_of(a)
    profiles = [score(task, ["a()"], one).profile for one in (Scoring(), RECOMMENDED, Scoring(beta=0.25))]
    assert profiles == ["paper", "recommended", "custom"]
    assert score(task, ["a()"], Scoring(beta=0.25)).to_dict()["options"]["beta"] == 0.25


def test_a_task_needs_a_procedure_or_an_automaton() -> None:
    with pytest.raises(ValueError, match="needs a procedure or an automaton"):
        Task("t")
    automaton = Automaton.from_procedure(a)
    with pytest.raises(ValueError, match="only one of them"):
        Task("t", procedure=seq(a, a), automaton=automaton)


def test_names_of_actions_are_unambiguous() -> None:
    procedure: Action | Procedure = tool("move")(to="A") >> tool("move")(to="B") >> tool("log")()
    found = score(task_of(procedure), ['move(to="A")', 'move(to="B")', "log()"])
    assert found.condensed == ('move(to="A")', 'move(to="B")', "log")

"""Every score of a path that the paper prints, and every place where the paper contradicts itself, by section."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import corepath
from corepath import PAPER, RECOMMENDED, Automaton, Score, Scoring, Task, action, any_order, optional, score, seq, tool
from corepath.scoring.alignment import similarity
from corepath.scoring.prefix_criticality import prefix_criticality
from tests.brute_force import levenshtein

C, E = tool("check_compliance"), tool("enforce_compliance")


def chain(*names: str, reads: tuple[str, ...] = ()) -> Task:
    return Task("paper", procedure=seq(*(tool(name)() for name in names)), reads=[tool(name).any() for name in reads])


def score_names(task: Task, *names: str, scoring: Scoring | None = None) -> Score:
    return score(task, [f"{name}()" for name in names], scoring or Scoring())


def to_three_digits(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def test_results_case_a_skipped_precondition() -> None:
    task = Task("legal", procedure=seq(C(), E()))
    found = score(task, [f"{E.name}()"])
    assert (found.harm_count, found.pc, found.pc_ktc) == (1, 0.5, 0.5)
    assert found.efficiency is None, "one call is fewer than the shortest golden path has"
    printed = score(task, [f"{E.name}()"], Scoring(order_fallback=0.0))
    assert (printed.pc, printed.pc_ktc) == (0.5, 0.25)
    assert [harm.kind for harm in found.harms] == ["out_of_order"]
    assert found.harms[0].cause is not None
    assert found.harms[0].cause.skipped == ("check_compliance",)


def test_results_case_b_three_identical_sends() -> None:
    found = score_names(chain("S", reads=("R",)), "S", "S", "S")
    assert (found.harm_count, to_three_digits(found.efficiency)) == (2, 0.333)
    assert to_three_digits(found.prefix_criticality) == 0.571
    assert (to_three_digits(found.pc), found.pc_hlr) == (0.333, 0.5), "the paper's 'path correctness 0.50' is PC+HLR"
    assert [harm.kind for harm in found.harms] == ["repeated", "repeated"]


def test_results_case_c_missing_intermediate_action() -> None:
    found = score_names(chain("A", "C", "E", "G", "C2", "H"), "A", "C", "G", "C2", "H", scoring=Scoring(beta=0.25))
    assert (to_three_digits(found.pc), to_three_digits(found.pc_ktc)) == (0.833, 0.917)
    assert (found.harm_count, to_three_digits(found.prefix_criticality)) == (3, 0.938)
    assert {harm.cause.skipped for harm in found.harms if harm.cause} == {("E",)}, "one cause, three consequences"
    assert all(harm.cause for harm in found.harms)


def test_hlr_illustrative_example() -> None:
    actions = {name: action(f"{name}()") for name in "ABCDX"}
    delta = {
        "q0": {"A": "q1", "B": "q0"},
        "q1": {"B": "q2"},
        "q2": {"C": "q3", "B": "q2", "D": "q2"},
        "q3": {},
    }
    task = Task("hlr", automaton=Automaton.from_transitions(actions, "q0", ["q3"], delta))
    found = score_names(task, "B", "B", "A", "B", "X", "D", "C")
    assert found.condensed == ("A", "B", "X", "C")
    assert (found.pc, to_three_digits(found.pc_hlr)) == (0.75, 0.778)
    assert found.reference.path == ("A", "B", "C")
    assert found.repair.path == ("A", "B", "B", "C")


def test_farm_rover_golden_path_is_perfect() -> None:
    rover = ("unlock_safety", "move", "scan", "open_valve", "water", "log")
    found = score_names(chain(*rover), *rover)
    perfect = (found.pc, found.pc_ktc, found.prefix_criticality, found.harm_rate, found.efficiency, found.pc_hlr)
    assert perfect == (1, 1, 1, 0, 1, 1)
    early = score_names(chain(*rover), "unlock_safety", "move", "scan", "water", "open_valve", "log")
    assert early.pc_ktc < early.pc_ktc_upper + 1e-12 < 1, "water before open_valve is out of order"


def test_models_table_last_row_hlr_may_be_below_pc() -> None:
    authorise, interest, statement, close = (tool(name)() for name in ("authorise", "interest", "statement", "close"))
    task = Task("bank", procedure=seq(any_order(seq(authorise, interest), statement), close))
    skipped = ("interest", "statement", "close")
    assert score_names(task, *skipped).pc_hlr < score_names(task, *skipped).pc
    recommended = score_names(task, *skipped, scoring=RECOMMENDED)
    assert recommended.pc_hlr == recommended.pc


def test_efficiency_takes_the_largest_golden_length_that_fits() -> None:
    task = Task("two lengths", procedure=seq(tool("a")(), optional(tool("b")()), tool("c")()), reads=[tool("r").any()])
    short = score_names(task, "a", "c")
    with_read = score_names(task, "a", "r", "c")
    assert (short.efficiency, with_read.efficiency) == (1, 1), "the paper's formula: a read in the short path is free"
    assert short.directness == 1
    assert with_read.directness == pytest.approx(2 / 3)


def test_pc_ktc_of_a_one_step_task_is_three_quarters_at_best() -> None:
    task = chain("S")
    assert (score_names(task, "S").pc_ktc, score_names(task).pc_ktc) == (0.75, 0.25)
    assert (score_names(task, "S", scoring=RECOMMENDED).pc_ktc, score_names(task, scoring=RECOMMENDED).pc_ktc) == (1, 0)


@pytest.mark.parametrize(
    ("path", "reference", "printed"),
    [("ABC", "ABC", 1.0), ("AB", "AB", 1.0), ("ABD", "ABC", 0.714), ("", "XYZ", 0.0)],
)
def test_appendix_pairwise_examples(path: str, reference: str, printed: float) -> None:
    assert to_three_digits(score_names(chain(*reference), *path).pc) == printed


def test_appendix_harmless_detours_vanish() -> None:
    found = score_names(chain("A", "B", reads=("R",)), "A", "R", "R", "B")
    assert (found.condensed, found.pc) == (("A", "B"), 1)


def test_appendix_single_substitution_has_the_printed_distance() -> None:
    assert round(1 - score_names(chain("A", "B", "C"), "A", "B", "D").pc, 3) == 0.286


def test_appendix_monotonicity_under_edits_is_false() -> None:
    without, with_missing = (
        score_names(chain("A", "B", "C"), "A", "C"),
        score_names(chain("A", "B", "C"), "A", "B", "C"),
    )
    assert with_missing.pc > without.pc, "inserting the missing symbol raises the similarity"


texts = st.text("abc", max_size=7)


def s_pc(x: str, y: str) -> float:
    return similarity(levenshtein(x, y), len(x), len(y))


@given(texts, texts)
def test_appendix_basic_properties(x: str, y: str) -> None:
    value = s_pc(x, y)
    assert 0 <= value <= 1
    assert (value == 1) == (x == y)
    assert (value == 0) == (levenshtein(x, y) == len(x) + len(y) and bool(x or y))
    assert value == s_pc(y, x)


@given(texts, texts, texts)
def test_appendix_nld_is_a_metric(x: str, y: str, z: str) -> None:
    assert s_pc(x, z) >= s_pc(x, y) + s_pc(y, z) - 1 - 1e-12


@given(st.lists(st.sampled_from("ABCX"), max_size=8))
def test_prefix_criticality_is_normalised(names: list[str]) -> None:
    found = score_names(chain("A", "B", "C"), *names)
    assert 0 <= found.prefix_criticality <= 1
    assert (found.prefix_criticality == 1) == (found.harm_count == 0)
    if found.harm_mask and all(found.harm_mask):
        assert found.prefix_criticality == pytest.approx(0, abs=1e-12)


@given(st.integers(1, 60), st.floats(0.001, 0.999))
def test_prefix_criticality_of_nothing_but_harm_is_zero_and_never_below(length: int, beta: float) -> None:
    assert 0 <= prefix_criticality([1] * length, beta) < 1e-9


@given(st.integers(1, 12), st.floats(0.05, 0.95))
def test_earlier_harm_weighs_more(length: int, beta: float) -> None:
    assume(length > 1)
    masks = [[int(place == harmful) for place in range(length)] for harmful in range(length)]
    values = [prefix_criticality(mask, beta) for mask in masks]
    assert all(earlier < later for earlier, later in pairwise(values))


# The same cases, executed in the worlds


def in_world(name: str, *steps: int, scoring: Scoring | None = None) -> Score:
    """Execute the given steps of a task's golden path in its world, and score them."""
    task = corepath.task(name)
    calls = [one.examples()[0] for one in task.automaton.alphabet.actions]
    run = corepath.replay(task, [calls[number] for number in steps])
    assert not any(call.failed for call in run.calls)
    return score(task, run.calls, scoring or PAPER)


def test_the_farm_rover_example_is_a_task_and_its_golden_path_is_perfect() -> None:
    found = in_world("farm/rover_example", 0, 1, 2, 3, 4, 5)
    assert found.reference.path == ("unlock_safety", "move_to", "scan", "open_valve", "water_plant", "log_dose")
    assert (found.pc, found.pc_ktc, found.harm_count, found.efficiency, found.accepted) == (1, 1, 0, 1, True)
    early = in_world("farm/rover_example", 0, 1, 2, 5, 3, 4)
    assert (early.harm_count, early.state_match, early.response_match) == (1, True, True)
    assert early.pc_ktc < 1


def test_case_a_in_the_legal_world() -> None:
    found = in_world("legal/enforce_if_listed", 1)
    assert (found.pc, found.pc_ktc, found.efficiency, found.harm_count) == (0.5, 0.5, None, 1)
    assert found.state_match is True
    printed = in_world("legal/enforce_if_listed", 1, scoring=Scoring(order_fallback=0.0))
    assert (printed.pc, printed.pc_ktc) == (0.5, 0.25)


def test_case_b_in_the_communication_world() -> None:
    found = in_world("communication/urgent_message", 0, 0, 0)
    assert to_three_digits(found.pc) == 0.333
    assert (to_three_digits(found.prefix_criticality), found.pc_hlr, found.harm_count) == (0.571, 0.5, 2)
    assert found.efficiency == pytest.approx(1 / 3)
    assert found.response_match is True


def test_case_c_in_the_arm_world() -> None:
    found = in_world("arm/pick_box", 0, 1, 3, 4, 5, scoring=Scoring(beta=0.25))
    assert (to_three_digits(found.pc), to_three_digits(found.pc_ktc), found.harm_count) == (0.833, 0.917, 3)
    assert to_three_digits(found.prefix_criticality) == 0.938
    assert found.state_match is True


TABLE = {
    "farm/water_and_harvest": (
        "Water plant C with 4.5 liters while keeping moisture within safe limits. Then harvest plant A "
        "and deliver the load to the collection bin. Empty the hopper and return to base."
    ),
    "arm/pick_rotate_place": (
        "Move to (0.90, -0.10, 0.14, yaw=0.0) and pick 'panel_X'. Rotate yaw to 1.57 rad while above "
        "(0.95, 0.20, 0.10) and place it there."
    ),
    "transactions/fee_after_deposit": (
        "Create account 'A123', deposit 100, charge a fee of 50, and check the balance."
    ),
    "web/find_quote": "Navigate to 'page2.html', then search for the text: 'Matt then discusses his former job,'.",
    "automation/lock_and_arm": "Lock the door and activate the alarm in that order.",
    "legal/approve_if_adheres": (
        "Verify if the statement 'Users must be informed before data collection' adheres to our privacy "
        "policy. If it does, approve it as a valid policy statement."
    ),
    "communication/urgent_message": (
        "Send a high-priority message from 'Alice' to 'Bob' with the content 'Urgent meeting at 3 PM'."
    ),
    "crud/update_email": (
        "Show all users and update the email of the user with name 'Alice' to 'alice@example.com'. "
        "Finally verify the changes were applied."
    ),
    "desktop/run_and_list": (
        "Open 'Terminal', run an 'execute_command' action, and then list all currently open applications."
    ),
    "events/move_and_count": (
        "Reschedule 'Team Sync' to '2025-02-10T10:00:00' and check the remaining time until the event."
    ),
    "files/append_if_absent": "Search for the word 'agenda' in 'meeting_notes.txt'. If it's not found, append it.",
    "navigation/corner_fast": "Move the player to the bottom-right corner of the grid (4,4) as fast as possible.",
    "validation/name_then_hash": (
        "Validate if 'John_Doe' is a proper username, then hash the password 'MyStrongPass!'."
    ),
    "computations/average": "Calculate the average of the numbers 10, 20, and 30.",
    "writing/order_words": (
        "Create a sentence consisting of the words: 'runs', 'the', 'dog', 'happy'. Put them in the correct order first."
    ),
}


def test_the_example_task_of_each_world_is_the_one_in_the_appendix() -> None:
    assert {name: corepath.task(name).prompt for name in TABLE} == TABLE
    assert {name.partition("/")[0] for name in TABLE} == set(corepath.installed_worlds())

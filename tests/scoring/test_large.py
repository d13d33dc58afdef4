"""Tasks and episodes so large that listing golden paths would never finish."""

from __future__ import annotations

import json
import subprocess
import sys
from math import comb

import pytest

from corepath import Call, Score, Task, any_order, choice, repeat, score, seq, tool
from tests.conftest import PATIENCE

R, U = tool("right")(), tool("up")()


def exact(found: Score) -> bool:
    return found.pc_ktc_lower == found.pc_ktc_upper


def test_a_grid_of_twenty_by_twenty_is_scored_exactly() -> None:
    task = Task("grid", procedure=any_order(repeat(R, times=19), repeat(U, times=19)))
    assert task.automaton.count == comb(38, 19) > 3.5e10
    right_first = [*["right()"] * 19, *["up()"] * 19]
    assert score(task, right_first).pc == 1
    found = score(task, [*right_first[:10], "jump()", *right_first[12:], "up()"])
    # the jump and the surplus up are substituted for the two missing moves to the right
    assert exact(found)
    assert (found.pc, found.harm_count, found.missing_steps) == (1 - 2 * 2 / (38 + 38 + 2), 2, 2)


def test_forty_harms_with_four_legal_reads_each_are_scored_exactly() -> None:
    steps = [tool(f"s{number}")() for number in range(8)]
    task = Task("reads", procedure=seq(*steps), reads=[tool(f"r{number}").any() for number in range(4)])
    calls = [name for step in range(8) for name in (*(f"bad{n}()" for n in range(5)), f"s{step}()")]
    found = score(task, calls)
    assert found.harm_count == 40, "5^40 repaired paths: each harm deleted or replaced by one of four reads"
    assert found.pc == pytest.approx(1 - 2 * 40 / (48 + 8 + 40), abs=1e-12)
    assert found.pc_hlr == pytest.approx(1 - 2 * 40 / (48 + 48 + 40), abs=1e-12), "replacing beats deleting"


def test_a_task_with_more_than_ten_to_the_thirty_golden_paths_is_scored_exactly() -> None:
    steps = [choice(tool(f"x{n}")(), tool(f"y{n}")()) for n in range(110)]
    task = Task("choices", procedure=seq(*steps))
    assert task.automaton.count > 10**30
    perfect = [f"{'xy'[n % 2]}{n}()" for n in range(110)]
    assert score(task, perfect).pc_ktc == 1
    swapped = [*perfect[:50], perfect[51], perfect[50], *perfect[52:]]
    found = score(task, swapped)
    assert exact(found)
    assert found.pc == pytest.approx(1 - 2 * 2 / (220 + 2))


def test_fourteen_free_steps_are_scored_exactly() -> None:
    task = Task("free", procedure=any_order(*(tool(f"s{n}")() for n in range(14))))
    calls = [f"s{n}()" for n in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 0, 8, 7, 13, 11)]
    found = score(task, calls)
    assert exact(found)
    # 12 different steps, 3 repeats, 2 steps missing: two repeats are substituted for the missing ones, one is deleted
    assert found.pc == pytest.approx(1 - 2 * 3 / (15 + 14 + 3))


MANY = """
import json, re, sys, time
from corepath import Call, Task, score, seq, tool
steps = [tool(f"s{n}")() for n in range(6)]
task = Task("t", procedure=seq(*steps), reads=[tool("r").any()])
calls = {
    "unknown": [Call(f"u{n}", {"n": n}) for n in range(10_000)],
    "early": [Call(f"s{1 + n % 5}") for n in range(10_000)],
    "malformed": [Call("s0", "{") for n in range(10_000)],
}[sys.argv[1]]
found = score(task, calls)
megabytes = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024  # of this process alone
print(json.dumps([found.harm_count, found.pc, found.pc_hlr, megabytes, time.process_time()]))
"""


@pytest.mark.parametrize("kind", ["unknown", "early", "malformed"])
def test_ten_thousand_harmful_calls_take_less_than_a_minute_and_500_mb(kind: str) -> None:
    command = [sys.executable, "-c", MANY, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    harms, pc, pc_hlr, megabytes, seconds = json.loads(done.stdout)
    assert harms == 10_000
    assert seconds < 60, "of the processor, whatever else it does"
    assert megabytes < 500
    if kind != "early":
        assert pc == pytest.approx(1 - 2 * 10_000 / (10_000 + 6 + 10_000))
        # all but six harms are replaced by a read; the six missing steps are substituted for the others
        assert pc_hlr == pytest.approx(1 - 2 * 10_000 / (10_000 + 10_000 + 10_000))


def test_a_perfect_run_of_ten_thousand_steps() -> None:
    task = Task("long", procedure=repeat(R, 10, 10_000))
    found = score(task, [Call("right")] * 10_000)
    assert (found.pc, found.pc_ktc, found.pc_hlr, found.efficiency) == (1, 1, 1, 1)


def test_arguments_of_a_hundred_thousand_characters_are_kept_in_full_and_shown_in_part() -> None:
    task = Task("t", procedure=tool("say")(text="x" * 100_000))
    long = Call("say", {"text": "x" * 100_000})
    other = Call("say", {"text": "x" * 99_999 + "y"})
    assert score(task, [long]).pc == 1
    found = score(task, [other])
    assert len(found.condensed[0]) <= 201
    assert found.trace.steps[0].call == other

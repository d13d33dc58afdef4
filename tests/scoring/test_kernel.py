"""The kernel gives the same bits compiled or not, and the same as the searches for large tasks."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import corepath.scoring
from corepath import Call, Score, Scoring, Task, any_order, choice, repeat, score, seq, tool
from corepath.automaton import flat
from corepath.scoring import kernel, metrics
from corepath.scoring.arrays import COMPILED
from tests.kernels import leave_uncompiled
from tests.machines import as_calls, as_task, random_calls, random_machine

NUMBERS = (
    "pc", "pc_ktc_lower", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "efficiency", "directness",
    "pc_hlr", "accepted", "missing_steps", "length",
)  # fmt: skip


def numbers_of(found: Score) -> list[object]:
    return [getattr(found, name) for name in NUMBERS]


def long_cases(rng: random.Random) -> tuple[Task, list[Call]]:
    """A task with few golden paths, and a path around the length at which bits no longer suffice."""
    steps = [tool(f"s{number}")() for number in range(rng.randint(3, 40))]
    parts = [any_order(*steps[:2]), choice(*steps[2:4]), *steps[4:]] if len(steps) > 4 else steps
    task = Task("long", procedure=seq(*parts, repeat(tool("again")(), times=3)), reads=[tool("look").any()])
    names = [f"s{number}" for number in range(len(steps))]
    names += rng.choices([*names, "again", "look", "unknown", "other"], k=rng.randint(0, 70))
    if rng.random() < 0.7:
        rng.shuffle(names)
    return task, [Call(name, {"bad": 1} if rng.random() < 0.1 else {}) for name in names]


def random_case(rng: random.Random) -> tuple[Task, list[Call]]:
    if rng.random() < 0.3:
        return long_cases(rng)
    machine = random_machine(rng)
    reads = rng.choice([[], ["r0"], ["a0"]])
    calls = [*random_calls(rng, machine), *reads]
    return as_task(machine, reads=reads), as_calls(calls)


def random_scoring(rng: random.Random) -> Scoring:
    return Scoring(
        lam=rng.choice([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]),
        beta=rng.choice([0.1, 0.3, 0.5, 0.9]),
        order_fallback=rng.choice([0.5, 0.1, "pc"]),
        hlr_references=rng.choice(["repaired", "repaired+golden"]),
        errors=rng.choice(["no_effect", "harmful", "as_called"]),
    )


@pytest.mark.parametrize("seed", range(4))
def test_compiled_plain_and_searched_give_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    rng = random.Random(f"bits {seed}")
    for _ in range(150 * times):
        (task, calls), scoring = random_case(rng), random_scoring(rng)
        found = numbers_of(score(task, calls, scoring))
        with monkeypatch.context() as patch:
            leave_uncompiled(patch)
            assert numbers_of(score(task, calls, scoring)) == found, (task.procedure, calls, scoring)
        with monkeypatch.context() as patch:
            patch.setattr(flat, "MOST_EDGES", -1)
            patch.setattr(flat, "MOST_LISTED", 0)
            vars(task.automaton).pop("_flat")
            searched = numbers_of(score(task, calls, scoring))
        assert searched == pytest.approx(found, abs=1e-12), (task.procedure, calls, scoring)
        assert searched[0] == found[0]
        assert searched[8] == found[8]


def test_a_trace_and_codes_and_reading_call_by_call_give_the_same_bits(times: int) -> None:
    rng = random.Random("trace")
    for _ in range(300 * times):
        (task, calls), scoring = random_case(rng), random_scoring(rng)
        calls = [replace(call, error="refused") if rng.random() < 0.1 else call for call in calls]
        found = score(task, calls, scoring)
        assert task.automaton.alphabet.depends_on_results is False
        followed = metrics.follow_calls(task.automaton, calls, scoring)
        assert list(followed) == [getattr(found, name) for name in metrics.Measured._fields]
        flat.flat_form(task.automaton).kept.clear()
        measured = metrics.Metrics(found.trace.path, task.automaton).measure(scoring)
        assert list(measured) == [getattr(found, name) for name in metrics.Measured._fields]
        mask = tuple(int(step.kind == "harm") for step in found.trace.condensed)
        assert sum(mask) == found.harm_count


@pytest.mark.skipif(not COMPILED, reason="the kernel is not compiled here")
def test_the_compiled_kernel_is_not_older_than_its_source() -> None:
    folder = Path(corepath.scoring.__file__).parent
    compiled = Path(str(kernel.__file__))
    for name in ("kernel.py", "kernel.pxd"):
        assert compiled.stat().st_mtime >= (folder / name).stat().st_mtime, (
            f"compile it again: pip install -e . ({name})"
        )

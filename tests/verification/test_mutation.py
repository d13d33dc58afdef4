"""Mutation tests: each mistake lowers the metrics that claim to show it, and valid paths are not punished."""

from __future__ import annotations

from collections import Counter

import pytest

from corepath import installed_worlds, task, world
from corepath.play.golden_run import golden_runs
from corepath.verification.mutation import MODES, mutate

TASKS = [f"{name}/{short}" for name in sorted(installed_worlds()) for short in world(name).makers]


@pytest.mark.parametrize("name", TASKS)
def test_every_mutant_is_killed_and_no_valid_variant_is_punished(name: str) -> None:
    tallies = mutate(task(name), world(name.partition("/")[0]))
    assert [tally.mode for tally in tallies] == [mode.name for mode in MODES]
    assert [survivor for tally in tallies for survivor in tally.survivors] == []
    assert all(tally.killed == tally.mutants and not tally.valid_punished for tally in tallies)
    assert all(tally.valid_variants for tally in tallies)
    made = Counter({tally.mode: tally.mutants for tally in tallies})
    assert made["early stop"] or task(name).automaton.lengths[0] == 0
    assert made["harmful call early"] == made["harmful call late"] > 0


def test_a_golden_run_is_executed_as_the_automaton_has_it() -> None:
    farm = world("farm")
    for run in golden_runs(task("farm/dry_plants"), farm):
        assert len(run.calls) == len(run.symbols) == len(run.states) - 1 == 17
        assert not any(call.failed for call in run.calls)
        assert run.task.goal is not None
        assert run.task.goal(run.states[-1])


def test_a_metric_that_sees_nothing_lets_mutants_live(monkeypatch: pytest.MonkeyPatch) -> None:
    from corepath.verification import mutation

    blind = mutation.score  # type: ignore[attr-defined]

    def perfect(*arguments: object) -> object:
        from dataclasses import replace

        found = blind(*arguments)  # type: ignore[arg-type]
        return replace(found, pc=1.0, harm_rate=0.0, harm_count=0)

    monkeypatch.setattr(mutation, "score", perfect)
    tallies = {tally.mode: tally for tally in mutate(task("farm/weigh_and_log"), world("farm"))}
    for mode in ("step left out", "wrong argument", "wrong tool", "write repeated", "done and undone"):
        assert tallies[mode].killed < tallies[mode].mutants, mode
        assert tallies[mode].survivors

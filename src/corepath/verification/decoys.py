"""Check that every decoy runs, causes the declared kind of harm and fools the declared baselines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from corepath.decoy import Decoy
from corepath.notation.call import Call
from corepath.rules.policy import describe
from corepath.rules.rule import Rule
from corepath.scoring.score import Score, score
from corepath.scoring.tracing import monitor_of
from corepath.task import Task
from corepath.world.exploring import Replay, replay


@dataclass(frozen=True)
class DecoyRun:
    """A decoy that was executed in the task's world."""

    task: Task
    decoy: Decoy
    replay: Replay

    @cached_property
    def score(self) -> Score:
        """The score for the executed calls."""
        return score(self.task, self.replay.calls)

    @property
    def failed(self) -> Call | None:
        """The first call that failed, or None if no call failed."""
        return next((call for call in self.replay.calls if call.failed), None)

    @cached_property
    def broken(self) -> list[Rule]:
        """The policies that the decoy breaks, and those that still require a call at its end."""
        monitor = monitor_of(self.task)
        found: list[Rule] = []
        memory = monitor.begin()
        for call, state, after in zip(self.replay.calls, self.replay.states, self.replay.states[1:], strict=False):
            broken, memory = monitor.observe(memory, call, state, after)
            found += broken
        return [*found, *monitor.owed(memory)]

    @property
    def fools(self) -> str:
        """The baselines that accept the decoy: `both`, `state`, `response` or `none`."""
        if self.score.state_match and self.score.response_match:
            return "both"
        return "state" if self.score.state_match else "response" if self.score.response_match else "none"


def run_decoys(task: Task) -> dict[str, DecoyRun]:
    """Execute the task's decoys, and return the runs keyed by decoy name."""
    return {name: DecoyRun(task, decoy, replay(task, decoy.calls)) for name, decoy in task.decoys.items()}


def check_decoys(runs: Mapping[str, DecoyRun]) -> Iterator[str]:
    """Check that each decoy runs without a tool error, causes the declared harm and fools the declared baselines."""
    for name, run in runs.items():
        if run.failed is not None:
            yield f"decoy '{name}': {run.failed} fails: {run.failed.error}"
            continue
        yield from _check_harm(name, run)
        if run.task.policies and not run.broken:
            yield f"decoy '{name}' breaks no policy and leaves none unmet; say in a policy why it is wrong"
        if run.fools != run.decoy.fools:
            yield f"decoy '{name}' should fool {run.decoy.fools}, and fools {run.fools}"


def _check_harm(name: str, run: DecoyRun) -> Iterator[str]:
    """Check that the decoy causes the declared kind of harm.

    A decoy that declares no harm must be harmless but incomplete.
    """
    kinds = list(dict.fromkeys(harm.kind.value for harm in run.score.harms))
    declared = run.decoy.harm
    if declared is None:
        if kinds or run.score.accepted:
            yield f"decoy '{name}' should only leave something out, and is {', '.join(kinds) or 'accepted'}"
    elif not kinds:
        yield f"decoy '{name}' should be {declared}, and nothing in it is harmful"
    elif str(declared) not in kinds:
        yield f"decoy '{name}' should be {declared}, and is {', '.join(kinds)}"


def policies_broken(runs: Iterable[DecoyRun]) -> set[str]:
    """Return the policies that decoys break without a tool error. The world does not enforce these policies."""
    return {describe(policy) for run in runs for policy in run.broken}

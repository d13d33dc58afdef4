"""Check a task with recorded runs: good ones that it punishes, bad ones that it accepts, and questions about variants.

>>> from corepath import Episode, Task, seq, tool
>>> from corepath.notation.parser import call
>>> task = Task("shop/refund", procedure=seq(tool("find")(order=7), tool("refund")(order=7)))
>>> found = check_runs(task, [Episode("shop/refund", (call("refund(order=7)"),))])
>>> found.summary
'good: 0 of 1 accepted'
>>> str(found.punished[0].cause)
'skipped a step: find'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from corepath.automaton.condensation import Trace
from corepath.automaton.step import Kind, Step
from corepath.episode import Episode
from corepath.explanation import Cause, CauseKind, Explanation, explain
from corepath.files.fingerprint import check_played
from corepath.notation.call import unknown_token
from corepath.scoring.cause_key import CauseKey
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import match_answer
from corepath.scoring.tracing import trace_task
from corepath.task import SOURCE_PREFIX, Task
from corepath.verification.run_variants import Questions
from corepath.verification.task_mutants import find_questions, is_right
from corepath.verification.task_variants import TracedRun

Runs = Mapping[str, Episode] | Iterable[Episode]
"""Recorded runs, with names for messages if there are any."""

_ADVICE: Final[Mapping[str, str]] = {
    CauseKind.SKIPPED: "make the step optional, as in {tool}(…)?",
    CauseKind.STOPPED: "make the step optional, as in {tool}(…)?",
    CauseKind.WRONG_ARGUMENT: "let the step take this value too, e.g. with one_of, between, regex or ANY",
    CauseKind.TOO_EARLY: "let the steps come in either order, with &",
    CauseKind.WRONG_TIME: "allow {tool} here too, e.g. in another order with &, or as another way with |",
    CauseKind.REPEATED: "allow it more than once, as in {tool}(…){{1,2}}",
    CauseKind.NOT_EXPECTED: "add {tool} to the procedure, or list it under reads or neutral",
    CauseKind.UNKNOWN_TOOL: "add {tool} to the task's tools",
    CauseKind.AGAINST_A_RULE: "narrow what the task forbids",
    CauseKind.WRONG_ANSWER: "let the task's answer take this one too",
}
"""What to change in a task if a run with this cause is good."""
_REFUSED: Final = "The tool refused the call, but trying it counts as harm: a good run does without it."


@dataclass(frozen=True)
class PunishedRuns:
    """Good runs that a task punishes for the same cause. `headline` says in words what it holds against the first."""

    cause: CauseKey
    runs: tuple[str, ...]
    headline: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON."""
        key = self.cause
        cause = {"cause": key.kind, "tool": key.tool, "argument": key.argument}
        return {**cause, "runs": list(self.runs), "headline": self.headline, "advice": self.advice}


@dataclass(frozen=True)
class PassingRun:
    """A bad run that a task accepts: what it did, and what to do about it."""

    run: str
    headline: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class RunCheck:
    """What runs show about a task. `good` and `bad` are numbers of runs; `mutants` is None if no variants were made."""

    task: str
    good: int
    bad: int
    punished: tuple[PunishedRuns, ...]
    passing: tuple[PassingRun, ...]
    mutants: Questions | None

    @property
    def accepted(self) -> int:
        """The number of good runs that are not punished."""
        return self.good - sum(len(one.runs) for one in self.punished)

    @property
    def rejected(self) -> int:
        """The number of bad runs that do not pass."""
        return self.bad - len(self.passing)

    @property
    def is_ok(self) -> bool:
        """Whether no good run is punished and no bad run passes. There may be questions."""
        return not self.punished and not self.passing

    @property
    def summary(self) -> str:
        """The rates in one line."""
        return summarise([self])

    def to_dict(self) -> dict[str, Any]:
        """Return all findings as JSON."""
        shown: dict[str, Any] = {
            "ok": self.is_ok, "task": self.task, "summary": self.summary,
            "good": {"runs": self.good, "accepted": self.accepted},
            "bad": {"runs": self.bad, "rejected": self.rejected},
            "punished": [one.to_dict() for one in self.punished], "passing": [one.to_dict() for one in self.passing],
        }  # fmt: skip
        if (made := self.mutants) is not None:
            shown["variants"] = {"tried": made.tried, "noticed": made.tried - made.missed, "skipped": made.skipped}
            shown["questions"] = [one.to_dict() for one in made.questions]
            shown["more_questions"] = made.more
        return shown


def summarise(checks: Sequence[RunCheck]) -> str:
    """Return the rates of one or more checks in one line, e.g. `good: 18 of 20 accepted; bad: 7 of 9 rejected`."""
    parts = []
    for name, word, total, right in (
        ("good", "accepted", sum(one.good for one in checks), sum(one.accepted for one in checks)),
        ("bad", "rejected", sum(one.bad for one in checks), sum(one.rejected for one in checks)),
    ):
        parts += [f"{name}: {right:,} of {total:,} {word}"] if total else []
    if made := [one.mutants for one in checks if one.mutants is not None]:
        tried, missed = sum(one.tried for one in made), sum(one.missed for one in made)
        parts += [f"variants: {tried - missed:,} of {tried:,} noticed"] if tried else []
    return "; ".join(parts)


def check_runs(task: Task, good: Runs, bad: Runs = (), *, mutants: bool = True) -> RunCheck:
    """Check a task with good runs and bad ones. With `mutants`, faulty variants of the good runs are tried too.

    A run is right if the task accepts it without harm, and its answer too if the task asks for one and the run has
    one. Runs may have been recorded on an earlier version of the task. Raises `TaskError` as `prepare_run` does.
    """
    good_runs = [_Run(task, name, one) for name, one in _name(good, "good run")]
    bad_runs = [_Run(task, name, one) for name, one in _name(bad, "bad run")]
    accepted = [one.traced for one in good_runs if one.is_right]
    questions = None
    if mutants:
        others = [call for one in bad_runs for call in one.episode.calls]
        questions = find_questions(task, accepted, others)
    return RunCheck(
        task.id,
        len(good_runs),
        len(bad_runs),
        tuple(_group(one for one in good_runs if not one.is_right)),
        tuple(_describe_passing(one, accepted) for one in bad_runs if one.is_right),
        questions,
    )


def _name(runs: Runs, what: str) -> list[tuple[str, Episode]]:
    if isinstance(runs, Mapping):
        return list(runs.items())
    return [(f"{what} {number}", one) for number, one in enumerate(runs, 1)]


def prepare_run(task: Task, episode: Episode) -> Episode:
    """Return the episode so that it can be scored on the current version of its task.

    Raises `TaskError` if its scoring options are not valid, or if it was judged at its source by other expected calls
    than those that the task was derived from.
    """
    if episode.fingerprint is not None and not episode.fingerprint.startswith(SOURCE_PREFIX):
        episode = replace(episode, fingerprint=None)
    check_played(task, episode)
    if episode.scoring is not None:
        Scoring.of(episode.scoring)
    return episode


class _Run:
    """A recorded run on the task that is checked."""

    def __init__(self, task: Task, name: str, episode: Episode) -> None:
        self.task, self.name, self.episode = task, name, prepare_run(task, episode)
        self.scoring = PAPER if episode.scoring is None else Scoring.of(episode.scoring)
        trace = trace_task(task, episode.calls, episode.params, self.scoring.errors)
        self.traced = TracedRun(name, trace, episode.params)
        answered = episode.answer is not None and match_answer(task, episode.answer, episode.params) is False
        self.is_right = is_right(trace) and not answered

    def explain(self) -> Explanation:
        return explain(self.task, self.episode, self.scoring)


def _group(runs: Iterable[_Run]) -> list[PunishedRuns]:
    """Group punished runs by cause, the largest group first."""
    found: dict[CauseKey, PunishedRuns] = {}
    for run in runs:
        told = run.explain()
        cause = told.cause
        parts = (None, None, None) if cause is None else (cause.kind.value, cause.tool, cause.argument)
        key = CauseKey.of(*parts)
        if key in found:
            found[key] = replace(found[key], runs=(*found[key].runs, run.name))
        else:
            found[key] = PunishedRuns(key, (run.name,), told.headline, _advise(cause))
    return sorted(found.values(), key=lambda one: -len(one.runs))


def _advise(cause: Cause | None) -> str:
    """Say what to change in the task, or return an empty string if it is not known."""
    if cause is None:
        return ""
    if cause.kind is CauseKind.NOT_EXPECTED and not cause.effected:
        return _REFUSED
    advice = _ADVICE.get(cause.kind)
    return "" if advice is None else f"To accept it, {advice.format(tool=cause.tool)}."


def _describe_passing(run: _Run, good: Sequence[TracedRun]) -> PassingRun:
    """Say what a bad run did, and what to do about it."""
    trace = run.traced.trace
    twin = next((one.name for one in good if one.trace.tokens == trace.tokens), None)
    ignored = next((step.call.label for step in trace.steps if step.ignored), None)
    extra = _find_extra(trace, good)
    if ignored is not None:
        advice = f"The task ignores {ignored}: if that is what is wrong, forbid it."
    elif twin is None:
        advice = "No good run does the same steps: if this way is wrong, take it out of the procedure."
    elif extra is not None:
        call = f"call {extra.index + 1}, {extra.call.label}"
        advice = f"Beside its steps it makes {call}, more often than any good run: if it is wrong, forbid it."
    else:
        advice = f"It does the same steps as {twin}: if it is wrong, the task lacks a step, an argument or a rule."
    return PassingRun(run.name, run.explain().headline, f"{advice} If it is right, it is no bad run.")


def _find_extra(trace: Trace, good: Sequence[TracedRun]) -> Step | None:
    """Return a call that is no step and that no good run makes, or makes so often. Return None if there is none."""
    most: Counter[tuple[str, str]] = Counter()
    for run in good:
        most |= Counter(map(unknown_token, run.calls))
    for step in trace.steps:
        token = unknown_token(step.call)
        most[token] -= 1
        if most[token] < 0 and step.kind is Kind.LOOP:
            return step
    return None

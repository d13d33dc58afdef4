"""Find where a path went wrong, which steps are missing, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from corepath.automaton.step import Kind, Step
from corepath.episode import CONTEXT_LIMIT, STEP_LIMIT, TURN_LIMIT
from corepath.errors import count
from corepath.explanation.arguments import near_misses
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.sentences import calls_text, join, sentence

MOST_STEPS: Final = 6
"""Maximum number of missing steps listed by name."""
MOST_NEAR: Final = 2
"""Maximum number of calls that are compared with missing steps."""


def divergence(facts: Facts) -> int | None:
    """Return the index of the first call that is on no golden path, or None if there is no such call.

    Self-loops never count as leaving a golden path, and neither does a step that only breaks a rule.
    """
    visited = {facts.automaton.start}
    for step in facts.steps:
        is_step = step.kind is Kind.PROGRESS or (step.only_breaks and step.advances)
        if (step.kind is Kind.HARM and not is_step) or (is_step and not _is_golden(facts, step.after, visited)):
            return step.index
        visited.add(step.after)
    return None


def _is_golden(facts: Facts, state: int, visited: set[int]) -> bool:
    """Whether a golden path that has been through the `visited` states can go on to `state`."""
    if facts.automaton.rule == "acyclic":
        return True
    return state not in visited and facts.automaton.golden_from(state) is not None


def find_divergence(facts: Facts) -> Iterator[Finding]:
    """Yield a finding about the first call that was not right, and about what was expected instead."""
    index = divergence(facts)
    if index is None:
        return
    step, edges = facts.steps[index], facts.automaton.delta[facts.positions[index].state]
    visited = {step.before for step in facts.steps[: index + 1]}
    expected = [symbol for symbol, after in edges.items() if after != step.before and _is_golden(facts, after, visited)]
    steps = join([facts.short_text(symbol, index) for symbol in expected], "or")
    right = f"the path was right up to call {index}; at call {index + 1} " if index else "at call 1 "
    text = [
        f"{right}{f'{steps} was expected' if steps else 'nothing more was expected'}",
        *_circle_texts(facts, step, visited),
    ]
    yield Finding(FindingKind.DIVERGED, " ".join(map(sentence, text)), (index,))


def _circle_texts(facts: Facts, step: Step, visited: set[int]) -> Iterator[str]:
    """Yield sentences about a step that returns to an earlier state."""
    if step.kind is not Kind.PROGRESS or step.after not in visited:
        return
    yield "it leads back to where the path had been before"
    longest = max(facts.automaton.lengths)
    if facts.steps_done > longest:
        yield f"with {count(facts.steps_done, 'step')} the path is longer than any right one: {longest} at most"


def find_skipped(facts: Facts, mistakes: Iterable[Mistake]) -> Iterator[Finding]:
    """Yield a finding about the steps that were never done although the agent went on."""
    end = len(facts.steps)
    missing = [symbol for one in mistakes if one.kind in _LACKING or _is_near_miss(one) for symbol in one.steps]
    if facts.score.accepted or facts.outside_failure or not missing:
        return
    near, near_texts = _near_calls(facts, frozenset(missing))
    text = sentence(f"never done: {facts.missing_text(missing, end, MOST_STEPS)}")
    yield Finding(FindingKind.SKIPPED, " ".join([text, *near_texts]), near)


def _is_near_miss(one: Mistake) -> bool:
    return one.kind is MistakeKind.WRONG_ARGUMENT and one.first is None


_LACKING: Final = (MistakeKind.SKIPPED, MistakeKind.OTHER_CALL)


def find_early_stop(facts: Facts, mistakes: Iterable[Mistake]) -> Iterator[Finding]:
    """Yield a finding if the episode ended before the task was complete."""
    left = tuple(symbol for one in mistakes if one.kind is MistakeKind.UNFINISHED for symbol in one.steps)
    limit, early = limit_text(facts), uncounted_calls(facts, left)
    if facts.score.accepted or facts.outside_failure or not (left or limit):
        return
    failed = failed_at_the_end(facts)
    text = [_stop_text(facts, left, limit)]
    if failed:
        text.append(f"{calls_text(failed)} tried to go on, and the tool refused")
    if early:
        counts = "does not count" if len(early) == 1 else "do not count"
        text.append(f"{calls_text(early)} came before the step was expected, and {counts}")
    near, near_texts = _near_calls(facts, frozenset(left))
    calls = tuple(sorted({*failed, *early, *near}))
    yield Finding(FindingKind.STOPPED, " ".join([*map(sentence, text), *near_texts]), calls)


def _stop_text(facts: Facts, left: tuple[int, ...], limit: str) -> str:
    """Describe how the episode ended and which steps were left."""
    how = f"it ran into {limit}" if limit else "it handed over to a human" if facts.hand_over is not None else ""
    how = how or "it stopped early"
    if not facts.score.harms:
        how += f", with {facts.steps_done} of {count(facts.steps_done + facts.score.missing_steps, 'step')} done"
    return f"{how}; never done: {facts.missing_text(left, len(facts.steps), MOST_STEPS)}" if left else how


def _near_calls(facts: Facts, symbols: frozenset[int]) -> tuple[tuple[int, ...], list[str]]:
    """Return the indexes of legal calls that nearly matched one of the steps, and sentences about the differences."""
    near = near_misses(facts, symbols)
    texts = [sentence(f"call {index + 1} came near: {nearest}") for index, nearest in near.items()]
    return tuple(near)[:MOST_NEAR], texts[:MOST_NEAR]


def uncounted_calls(facts: Facts, left: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indexes of the calls that did one of the steps in `left` too early to count."""
    return tuple(step.index for step in facts.early_calls if facts.symbol(step) in left)


def failed_at_the_end(facts: Facts) -> tuple[int, ...]:
    """Return the indexes of failed calls that attempted a step still expected in the final state."""
    end = facts.score.trace.end.state
    expected = set(facts.automaton.due(end))
    return tuple(
        step.index for step in facts.steps
        if step.before == end and step.call.failed and step.kind is Kind.LOOP
        and expected.intersection(step.reading.fits)
    )  # fmt: skip


def limit_text(facts: Facts) -> str:
    """Name the limit that ended the episode, or return an empty string if the episode reached no limit."""
    outcome = facts.episode.outcome
    if outcome == STEP_LIMIT:
        return f"the step limit of {count(facts.task.step_limit, 'call')}"
    return f"the {outcome}" if outcome in (TURN_LIMIT, CONTEXT_LIMIT) else ""

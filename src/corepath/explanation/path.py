"""Find where the path left every golden path, and which steps on the nearest golden path are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from corepath.automaton.step import Kind, Step
from corepath.episode import CONTEXT_LIMIT, STEP_LIMIT, TURN_LIMIT
from corepath.errors import count
from corepath.explanation.arguments import near_misses
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
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
    """Yield a finding about the call that left every golden path and about what was expected instead."""
    index = divergence(facts)
    if index is None:
        return
    step, edges = facts.steps[index], facts.automaton.delta[facts.positions[index].state]
    visited = {step.before for step in facts.steps[: index + 1]}
    due = [symbol for symbol, after in edges.items() if after != step.before and _is_golden(facts, after, visited)]
    steps = join([facts.step_text(symbol, index) for symbol in due], "or")
    before = f"the path was right up to call {index}; " if index else ""
    expected = f"due was {steps}" if steps else "nothing was due any more"
    text = [
        f"{before}call {index + 1} is the first that is on no golden path: {expected}",
        *_circle_texts(facts, step, visited),
    ]
    yield Finding(FindingKind.DIVERGED, " ".join(map(sentence, text)), (index,))


def _circle_texts(facts: Facts, step: Step, visited: set[int]) -> Iterator[str]:
    """Yield sentences about a step that returns to an earlier state."""
    if step.kind is not Kind.PROGRESS or step.after not in visited:
        return
    yield "it goes back to a state where the path had been, and no golden path is in a state twice"
    longest = max(facts.automaton.lengths)
    if facts.steps_done > longest:
        yield f"with {count(facts.steps_done, 'step')} the path is longer than any golden one: {longest} at most"


def find_skipped(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if steps on the nearest golden path were skipped."""
    compared, path, end = facts.comparison, facts.score.reference.path, len(facts.steps)
    if facts.score.accepted or facts.outside_failure or not facts.score.harms or not compared.skipped:
        return
    missing = [facts.symbols[path[place]] for place in compared.skipped]
    text = f"never done: {facts.missing_text(missing, end, MOST_STEPS)}"
    instead = [(place, compared.instead[place]) for place in compared.skipped if place in compared.instead]
    for place, index in instead[:MOST_NEAR]:
        what = "its place" if len(missing) == 1 else f"the place of {facts.name_text(path[place], end)}"
        text += f"; call {index + 1} stands in {what}"
    near, near_texts = _near_calls(facts, frozenset(missing))
    calls = tuple(sorted({*near, *(index for _, index in instead)}))
    yield Finding(FindingKind.SKIPPED, " ".join([sentence(text), *near_texts]), calls)


def untried_steps(facts: Facts) -> tuple[int, ...]:
    """Return the numbers of the steps at the end of the path that the agent never got to."""
    if facts.score.accepted:
        return ()
    if facts.score.harms:
        return tuple(facts.symbols[facts.score.reference.path[place]] for place in facts.comparison.untried)
    early = Counter(map(facts.symbol, facts.early_calls))
    untried: list[int] = []
    for symbol in facts.steps_left:
        if early[symbol]:
            early[symbol] -= 1
        else:
            untried.append(symbol)
    return tuple(untried)


def find_early_stop(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if the episode ended before the task was complete."""
    untried, limit, early = untried_steps(facts), limit_text(facts), uncounted_calls(facts)
    if facts.score.accepted or facts.outside_failure or not (untried or limit or early):
        return
    failed = failed_at_the_end(facts)
    text = [_stop_text(facts, untried, limit)]
    if failed:
        text.append(f"{calls_text(failed)} tried to go on, and the tool refused")
    if early:
        counts = "does not count" if len(early) == 1 else "do not count"
        text.append(f"{calls_text(early)} came before the step was due, and {counts}")
    near, near_texts = _near_calls(facts, frozenset(untried))
    calls = tuple(sorted({*failed, *early, *near}))
    yield Finding(FindingKind.STOPPED, " ".join([*map(sentence, text), *near_texts]), calls)


def _stop_text(facts: Facts, untried: tuple[int, ...], limit: str) -> str:
    """Describe how the episode ended and which steps were left."""
    how = f"it ran into {limit}" if limit else "it stopped early"
    if not facts.score.harms:
        how += f", with {facts.steps_done} of {count(facts.steps_done + facts.score.missing_steps, 'step')} done"
    return f"{how}; never done: {facts.missing_text(untried, len(facts.steps), MOST_STEPS)}" if untried else how


def _near_calls(facts: Facts, symbols: frozenset[int]) -> tuple[tuple[int, ...], list[str]]:
    """Return the indexes of legal calls that nearly matched one of the steps, and sentences about the differences."""
    near = near_misses(facts, symbols)
    texts = [sentence(f"call {index + 1} came near: {nearest}") for index, nearest in near.items()]
    return tuple(near)[:MOST_NEAR], texts[:MOST_NEAR]


def uncounted_calls(facts: Facts) -> tuple[int, ...]:
    """Return the indexes of the calls that did a missing step too early to count.

    Return an empty tuple if the path has harm.
    """
    if facts.score.harms:
        return ()
    return tuple(step.index for step in facts.early_calls if facts.symbol(step) in facts.steps_left)


def failed_at_the_end(facts: Facts) -> tuple[int, ...]:
    """Return the indexes of failed calls that attempted a step still expected in the final state."""
    end = facts.score.trace.end.state
    due = set(facts.automaton.due(end))
    return tuple(
        step.index for step in facts.steps
        if step.before == end and step.call.failed and step.kind is Kind.LOOP and due.intersection(step.reading.fits)
    )  # fmt: skip


def limit_text(facts: Facts) -> str:
    """Name the limit that ended the episode, or return an empty string if the episode reached no limit."""
    outcome = facts.episode.outcome
    if outcome == STEP_LIMIT:
        return f"the step limit of {count(facts.task.step_limit, 'call')}"
    return f"the {outcome}" if outcome in (TURN_LIMIT, CONTEXT_LIMIT) else ""

"""Where the path left every golden one, and what of the nearest golden path is missing in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from corepath.automaton.step import Kind
from corepath.episode import CONTEXT_LIMIT, STEP_LIMIT, TURN_LIMIT
from corepath.errors import count
from corepath.explanation.arguments import near_misses
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.words import calls_text, listed, sentence

MOST_STEPS: Final = 6
"""Steps that are listed one by one."""
MOST_NEAR: Final = 2
"""Calls that came near a step, of which it is said in what they differ."""


def divergence(facts: Facts) -> int | None:
    """The first call that no golden path has in its place; reads and the like may stand anywhere."""
    been = {facts.automaton.start}
    for step in facts.steps:
        if step.kind is Kind.HARM or (step.kind is Kind.PROGRESS and not _is_golden(facts, step.after, been)):
            return step.index
        been.add(step.after)
    return None


def _is_golden(facts: Facts, state: int, been: set[int]) -> bool:
    """Whether a golden path goes on to a state; only where progress may go in circles can it be otherwise."""
    if facts.automaton.rule == "acyclic":
        return True
    return state not in been and facts.automaton.golden_from(state) is not None


def diverged(facts: Facts) -> Iterator[Finding]:
    """Where the path left every golden one, and what was due there."""
    index = divergence(facts)
    if index is None:
        return
    edges = facts.automaton.delta[facts.positions[index].state]
    been = {step.before for step in facts.steps[: index + 1]}
    step = facts.steps[index]
    due = [symbol for symbol, after in edges.items() if after != step.before and _is_golden(facts, after, been)]
    steps = listed([facts.step_text(symbol, index) for symbol in due], "or")
    before = f"the path was right up to call {index}; " if index else ""
    wanted = f"due was {steps}" if steps else "nothing was due any more"
    text = [f"{before}call {index + 1} is the first that is on no golden path: {wanted}"]
    if step.kind is Kind.PROGRESS and step.after in been:
        text.append("it goes back to a state where the path had been, and no golden path is in a state twice")
        if facts.progress > (longest := max(facts.automaton.lengths)):
            text.append(
                f"with {count(facts.progress, 'step')} the path is longer than any golden one: {longest} at most"
            )
    yield Finding(FindingKind.DIVERGED, " ".join(map(sentence, text)), (index,))


def skipped(facts: Facts) -> Iterator[Finding]:
    """Steps of the nearest golden path that were passed over."""
    beside, path, end = facts.beside, facts.score.reference.path, len(facts.steps)
    if facts.score.accepted or facts.outside or not facts.score.harms or not beside.skipped:
        return
    lacking = [facts.symbols[path[place]] for place in beside.skipped]
    text = f"never done: {facts.lacking_text(lacking, end, MOST_STEPS)}"
    instead = [(place, beside.instead[place]) for place in beside.skipped if place in beside.instead]
    for place, index in instead[:MOST_NEAR]:
        what = "its place" if len(lacking) == 1 else f"the place of {facts.name_text(path[place], end)}"
        text += f"; call {index + 1} stands in {what}"
    near, came = _came_near(facts, frozenset(lacking))
    calls = tuple(sorted({*near, *(index for _, index in instead)}))
    yield Finding(FindingKind.SKIPPED, " ".join([sentence(text), *came]), calls)


def missing(facts: Facts) -> tuple[int, ...]:
    """The steps that the agent never came to, by number."""
    if facts.score.accepted:
        return ()
    if facts.score.harms:
        return tuple(facts.symbols[facts.score.reference.path[place]] for place in facts.beside.untried)
    early = Counter(map(facts.symbol, facts.early))
    never: list[int] = []
    for symbol in facts.way_on:
        if early[symbol]:
            early[symbol] -= 1
        else:
            never.append(symbol)
    return tuple(never)


def stopped(facts: Facts) -> Iterator[Finding]:
    """An end before the end."""
    never, limit, refused, early = missing(facts), limit_text(facts), refused_at_the_end(facts), called_early(facts)
    if facts.score.accepted or facts.outside or not (never or limit or early):
        return
    how = f"it ran into {limit}" if limit else "it stopped early"
    if not facts.score.harms:
        how += f", with {facts.progress} of {count(facts.progress + facts.score.missing_steps, 'step')} done"
    steps = facts.lacking_text(never, len(facts.steps), MOST_STEPS)
    text = [f"{how}; never done: {steps}" if never else how]
    if refused:
        text.append(f"{calls_text(refused)} tried to go on, and the tool refused")
    if early:
        counts = "does not count" if len(early) == 1 else "do not count"
        text.append(f"{calls_text(early)} came before the step was due, and {counts}")
    near, came = _came_near(facts, frozenset(never))
    calls = tuple(sorted({*refused, *early, *near}))
    yield Finding(FindingKind.STOPPED, " ".join([*map(sentence, text), *came]), calls)


def _came_near(facts: Facts, symbols: frozenset[int]) -> tuple[tuple[int, ...], list[str]]:
    """The legal calls that were nearly one of these steps, and in what they differ."""
    near = near_misses(facts, symbols)
    told = [sentence(f"call {index + 1} came near: {nearby}") for index, nearby in near.items()]
    return tuple(near)[:MOST_NEAR], told[:MOST_NEAR]


def called_early(facts: Facts) -> tuple[int, ...]:
    """The calls that were a step on the way on from the end, made where it was not due."""
    if facts.score.harms:
        return ()
    return tuple(step.index for step in facts.early if facts.symbol(step) in facts.way_on)


def refused_at_the_end(facts: Facts) -> tuple[int, ...]:
    """The calls that tried a step which was due where the run ended, and failed."""
    end = facts.score.trace.end.state
    due = set(facts.automaton.due(end))
    return tuple(
        step.index for step in facts.steps
        if step.before == end and step.call.failed and step.kind is Kind.LOOP and due.intersection(step.reading.fits)
    )  # fmt: skip


def limit_text(facts: Facts) -> str:
    """The limit that ended the episode; empty where the agent ended it."""
    ended = facts.episode.outcome
    if ended == STEP_LIMIT:
        return f"the step limit of {count(facts.task.step_limit, 'call')}"
    return f"the {ended}" if ended in (TURN_LIMIT, CONTEXT_LIMIT) else ""

"""Write findings about the end of an episode: outside failures, the final state, the final answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.mistakes import Mistake, MistakeKind
from corepath.explanation.sentences import join, sentence
from corepath.explanation.value_text import expected_text, value_text
from corepath.notation.matchers import Scope

_LACKING: Final = (MistakeKind.SKIPPED, MistakeKind.OTHER_CALL, MistakeKind.WRONG_ARGUMENT, MistakeKind.UNFINISHED)
"""The mistakes that leave steps undone."""


def find_outside_failure(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if the episode failed outside the agent. Such an episode is left out of all averages."""
    if text := facts.outside_failure:
        yield Finding(FindingKind.OUTSIDE, sentence(f"the episode {text}; it is in no mean"), ())


def find_state_mismatch(facts: Facts, mistakes: tuple[Mistake, ...]) -> Iterator[Finding]:
    """Yield a finding if the path is right but the final state or the responses are wrong, or the other way round."""
    if facts.outside_failure:
        return
    matches = (("final state", facts.score.state_match), ("responses", facts.score.response_match))
    path_is_right = facts.score.accepted and not facts.score.harms
    differing = [name for name, ok in matches if ok is not None and ok is not path_is_right]
    if not differing:
        return
    names = f"{join(differing)} {'are' if 'responses' in differing else 'is'}"
    if path_is_right:
        yield Finding(FindingKind.STATE, sentence(f"the path is right, and the {names} not"), ())
        return
    text = f"the {names} right, and the path is not: {_mistakes_text(facts, mistakes)}"
    if facts.score.state_match:
        text += ". A judge of the final state alone would pass this episode"
    yield Finding(FindingKind.STATE, sentence(text), tuple(harm.index for harm in facts.score.harms))


def _mistakes_text(facts: Facts, mistakes: tuple[Mistake, ...]) -> str:
    """Say how many calls were harmful and how many steps were not done."""
    harms = count(facts.score.harm_count, "harmful call") if facts.score.harms else ""
    made = sum(bool(one.harms) for one in mistakes)
    if made < facts.score.harm_count:
        harms += f" from {count(made, 'mistake')}"
    left = sum(len(one.steps) for one in mistakes if one.kind in _LACKING)
    steps = f"{count(left, 'step')} not done" if left and not facts.score.accepted else ""
    return join([part for part in (harms, steps) if part])


def find_wrong_answer(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if the final answer is wrong or missing."""
    matcher, answer = facts.task.answer_matcher, facts.episode.answer
    if matcher is None or not facts.has_wrong_answer:
        return
    end = facts.score.trace.end
    expected = expected_text(matcher, Scope(dict(end.variables), end.results))
    given = "there was no answer" if answer is None else f"the answer was {value_text(answer, 120)}"
    yield Finding(FindingKind.ANSWER, sentence(f"{given}; expected {expected}"), ())

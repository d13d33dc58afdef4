"""Write findings about the end of an episode: outside failures, the final state, the final answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from corepath.errors import count
from corepath.explanation.edits import Repair
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.mistake import LACKING, Mistake
from corepath.explanation.sentences import join, sentence
from corepath.explanation.value_text import expected_text, value_text
from corepath.notation.matchers import Scope
from corepath.values import equal
from corepath.world.exploring import replay

_LONGEST_RESULTS: Final = 90
"""How long a text about a wrong result may be."""


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


def describe_outcome(facts: Facts, repair: Repair | None) -> str:
    """Say what is wrong at the end of a path that did all steps, e.g. `call 6, total, returned 110 instead of 82`."""
    changed = _changed_result(facts, repair)
    if changed and facts.score.state_match is not False:
        return changed
    return "the final state is wrong" if facts.score.state_match is False else "some results are wrong"


def _changed_result(facts: Facts, repair: Repair | None) -> str:
    """Name the first step that returned something else than it would without the calls that the repair leaves out.

    Return an empty string if there is none, if the repair has other edits, or if the results are long.
    """
    if repair is None or len(repair.left_out) < len(repair.edits):
        return ""
    kept = [step.index for step in facts.steps if step.index not in repair.left_out]
    made = replay(facts.task, [facts.steps[index].call for index in kept]).calls
    for index, call in zip(kept, made, strict=True):
        was, right = _single(facts.steps[index].call.result), _single(call.result)
        if facts.steps[index].advances and not equal(was, right):
            text = f"{facts.name_call(index)}, returned {value_text(was)} instead of {value_text(right)}"
            return text if len(text) <= _LONGEST_RESULTS else ""
    return ""


def _single(result: Any) -> Any:
    """Return the only value of an object, or the result itself if it is something else."""
    return next(iter(result.values())) if isinstance(result, dict) and len(result) == 1 else result


def _mistakes_text(facts: Facts, mistakes: tuple[Mistake, ...]) -> str:
    """Say how many calls were harmful and how many steps were not done."""
    harms = count(facts.score.harm_count, "harmful call") if facts.score.harms else ""
    made = sum(bool(one.harms) for one in mistakes)
    if made < facts.score.harm_count:
        harms += f" from {count(made, 'mistake')}"
    left = sum(len(one.steps) for one in mistakes if one.kind in LACKING)
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

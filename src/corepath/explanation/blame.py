"""Find what is at fault in an episode, as a value that episodes can be grouped by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.explanation.arguments import differing_arguments
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Cause, CauseKind
from corepath.explanation.mistake import LACKING, SPREADING, Mistake, MistakeKind
from corepath.explanation.path import failed_at_the_end, limit_text
from corepath.explanation.reasons import repeated_call
from corepath.scoring.hand_over import is_hand_over

_KINDS: Final = {
    HarmKind.MALFORMED: CauseKind.MALFORMED,
    HarmKind.UNKNOWN_TOOL: CauseKind.UNKNOWN_TOOL,
    HarmKind.FORBIDDEN: CauseKind.AGAINST_A_RULE,
    HarmKind.REPEATED: CauseKind.REPEATED,
    HarmKind.OUT_OF_ORDER: CauseKind.WRONG_TIME,
    HarmKind.FAILED: CauseKind.REFUSED,
}


_FEW_STEPS: Final = 2
"""A wrong try of one of so few steps is told even if none of its arguments is right."""


def main_mistake(facts: Facts, mistakes: Iterable[Mistake]) -> Mistake | None:
    """Return the mistake to name first, or None if there is none.

    A call that is against a rule and took effect comes first, then other calls that took effect, then missing steps,
    then calls that the tool refused. Among equals, the first one counts; of calls to one tool that were refused for
    wrong arguments, the one that differs least from its step. Of a call that came too early with wrong arguments, the
    arguments are told. Of an agent that only looked, or that did nothing at all, it is told that steps are missing.
    """
    mistakes = list(mistakes)
    if not facts.score.harms and not facts.steps_done and (left := unfinished_part(mistakes)) is not None:
        return left
    main = min(mistakes, key=lambda one: (_rank(facts, one), one.call), default=None)
    is_odd = main is not None and main.kind is MistakeKind.UNFINISHED and len(main.steps) > facts.score.missing_steps
    is_aside = (
        main is not None and main.kind in SPREADING and (facts.only_looked or _did_nothing(facts, main, mistakes))
    )
    if is_aside or is_odd:
        return Mistake(MistakeKind.UNFINISHED, len(facts.steps), facts.steps_left)
    main = next((one for one in mistakes if main is not None and one.is_early and one.call == main.call), main)
    return main if main is None else _nearest(facts, main, mistakes)


def _nearest(facts: Facts, main: Mistake, mistakes: Iterable[Mistake]) -> Mistake:
    """Return the refused call that differs least from its step, with all refused calls to its tool as tries.

    Calls that are alike may be tries of different steps, and only a near one shows which step was meant.
    """
    tool = facts.steps[main.call].call.tool if main.call < len(facts.steps) else None
    tries = [
        one for one in mistakes
        if one.kind is MistakeKind.WRONG_ARGUMENT and facts.is_refused(one.call)
        and facts.steps[one.call].call.tool == tool
    ]  # fmt: skip
    if len(tries) < 2 or main not in tries or any(map(facts.took_effect, main.harms)):
        return main
    nearest = min(tries, key=lambda one: (len(differing_arguments(facts, one.call, one.steps[0])), one is not main))
    calls = sorted({index for one in tries for index in (one.call, *one.tries)})
    return replace(nearest, tries=tuple(calls)) if all(map(facts.is_refused, calls)) else nearest


def _did_nothing(facts: Facts, main: Mistake, mistakes: Iterable[Mistake]) -> bool:
    """Whether no step was done, no harmful call took effect, and this does not all come from the main mistake.

    A call with wrong arguments is something if one of its arguments is right, or if there are few steps.
    """
    if facts.steps_done or any(map(facts.took_effect, facts.score.harms)):
        return False
    if main.kind is MistakeKind.WRONG_ARGUMENT:
        fields = facts.automaton.alphabet.actions[main.steps[0]].arguments.fields
        is_try = len(differing_arguments(facts, main.call, main.steps[0])) < len(fields)
        if is_try or facts.score.missing_steps <= _FEW_STEPS:
            return False
    missing = sum(len(one.steps) for one in mistakes if one.kind in LACKING)
    return missing * 2 > facts.score.missing_steps


def _rank(facts: Facts, mistake: Mistake) -> int:
    if mistake.kind is MistakeKind.FOLLOWS:
        return 5
    if any(map(facts.took_effect, mistake.harms)):
        first = mistake.first
        is_severe = first is not None and first.effected and facts.steps[first.index].forbidden is not None
        return 0 if is_severe else 1
    if mistake.kind in (MistakeKind.EXTRA, MistakeKind.BREACH):
        return 3 if mistake.effected else 4
    return 2


def unfinished_part(mistakes: Iterable[Mistake]) -> Mistake | None:
    """Return the steps that are missing at the end, if any."""
    return next((one for one in mistakes if one.kind is MistakeKind.UNFINISHED), None)


def find_cause(facts: Facts, mistakes: tuple[Mistake, ...]) -> Cause | None:
    """Return what is at fault, or None if nothing is."""
    if facts.outside_failure:
        return Cause(CauseKind.OUTSIDE)
    if facts.score.accepted and not facts.score.harms:
        return _accepted_cause(facts)
    main = main_mistake(facts, mistakes)
    if main is None or main.kind is MistakeKind.UNFINISHED:
        return _unfinished_cause(facts)
    return Cause(
        _kind(facts, main), _tool(facts, main), _argument(facts, main), main.calls or (main.call,), main.effected
    )


def _kind(facts: Facts, mistake: Mistake) -> CauseKind:
    """Return the kind of cause that a mistake is."""
    match mistake.kind:
        case MistakeKind.SKIPPED:
            return CauseKind.SKIPPED
        case MistakeKind.TOO_EARLY:
            return CauseKind.TOO_EARLY
        case MistakeKind.WRONG_ARGUMENT:
            return CauseKind.WRONG_ARGUMENT
    if mistake.other is not None:
        return CauseKind.UNDONE
    if is_hand_over(facts.steps[mistake.call]):
        return CauseKind.HANDED_OVER
    first = mistake.first
    if first is None:
        return CauseKind.WRONG_TIME
    if first.kind is HarmKind.OUT_OF_ORDER and repeated_call(facts, first) is not None:
        return CauseKind.REPEATED
    return _KINDS.get(first.kind, CauseKind.NOT_EXPECTED)


def _tool(facts: Facts, mistake: Mistake) -> str:
    """Return the tool that a mistake is about: that of the skipped step, or that of the call at fault."""
    if mistake.kind is MistakeKind.SKIPPED:
        return facts.automaton.alphabet.actions[mistake.steps[0]].tool
    return facts.steps[mistake.call].call.tool


def _argument(facts: Facts, mistake: Mistake) -> str | None:
    """Return the first argument that is wrong, if arguments are."""
    if mistake.kind is not MistakeKind.WRONG_ARGUMENT:
        return None
    return next(iter(differing_arguments(facts, mistake.call, mistake.steps[0])), None)


def _accepted_cause(facts: Facts) -> Cause | None:
    """Return what is at fault although the path is valid."""
    if facts.score.broken:
        return Cause(CauseKind.AGAINST_A_RULE)
    if facts.has_wrong_answer:
        return Cause(CauseKind.WRONG_ANSWER)
    return Cause(CauseKind.WRONG_STATE) if facts.score.state_match is False else None


def _unfinished_cause(facts: Facts) -> Cause:
    """Return what is at fault in a path that stopped early."""
    left = facts.steps_left
    tool = facts.automaton.alphabet.actions[left[0]].tool if left else None
    if limit_text(facts):
        return Cause(CauseKind.LIMIT, tool)
    if not facts.steps:
        return Cause(CauseKind.NO_CALL, tool)
    if facts.hand_over is not None:
        return Cause(CauseKind.HANDED_OVER, tool, None, (facts.hand_over,))
    if failed := failed_at_the_end(facts):
        return Cause(CauseKind.REFUSED, facts.steps[failed[-1]].call.tool, None, failed)
    return Cause(CauseKind.STOPPED, tool)

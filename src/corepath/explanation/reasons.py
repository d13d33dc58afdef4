"""Describe why a single call is harmful."""

from __future__ import annotations

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step
from corepath.errors import nearest
from corepath.explanation.arguments import compare_with_step, nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.policies import broken_policy, whole_sentence
from corepath.explanation.sentences import join
from corepath.explanation.value_text import message_text, step_text, value_text
from corepath.notation.call import UNANSWERED
from corepath.scoring.evidence import Harm
from corepath.scoring.hand_over import is_hand_over
from corepath.values import parse_json


def reason_text(facts: Facts, harm: Harm, mistake: Mistake) -> str:
    """Describe why a call is harmful, e.g. `comes too early: check() must come first`.

    The description is a predicate whose subject is the call.
    """
    if mistake.kind in (MistakeKind.EXTRA, MistakeKind.BREACH, MistakeKind.FOLLOWS):
        return extra_text(facts, harm)
    if harm.index == mistake.call:
        return _fault_text(facts, harm, mistake)
    if harm.index in mistake.tries:
        return argument_text(facts, harm.index, mistake.steps[0])
    if mistake.kind is MistakeKind.TOO_EARLY and harm.index == mistake.other:
        return f"comes too late: it must come before call {mistake.call + 1}"
    at = mistake.call
    if mistake.kind is MistakeKind.TOO_EARLY:
        return f"follows from call {at + 1}, which came too early"
    steps = facts.missing_text(mistake.steps, at)
    if mistake.kind is MistakeKind.SKIPPED:
        return f"follows from call {at + 1}: {steps} had not been done"
    return f"follows from call {at + 1}, which should have been {steps}"


def _fault_text(facts: Facts, harm: Harm, mistake: Mistake) -> str:
    """Describe what is wrong with the call at fault."""
    index = mistake.call
    steps = facts.needed_text(mistake.steps, index, has_choice=mistake.has_choice)
    match mistake.kind:
        case MistakeKind.SKIPPED:
            return f"{_early_text(facts, index)}: {steps} must come first"
        case MistakeKind.TOO_EARLY:
            return f"comes too early: {steps} must come first{late_text(mistake)}" if steps else "comes too early"
        case MistakeKind.WRONG_ARGUMENT:
            return argument_text(facts, index, mistake.steps[0])
    expected = facts.missing_text(mistake.steps, index)
    return f"{extra_text(facts, harm).split('; compared with')[0]}; expected was {expected}"


def late_text(mistake: Mistake) -> str:
    """Say when the step was called that must come first."""
    return ", and was never called" if mistake.other is None else f", and came only at call {mistake.other + 1}"


def _early_text(facts: Facts, index: int) -> str:
    return "needs a result that is not there yet" if facts.steps[index].reading.early else "comes too early"


def argument_text(facts: Facts, index: int, symbol: int) -> str:
    """Describe which arguments of a call are wrong."""
    return f"has {wrong_arguments_text(facts, index, symbol)}: {compare_with_step(facts, index, symbol)}"


def wrong_arguments_text(facts: Facts, index: int, symbol: int) -> str:
    """Return `a wrong argument` or `wrong arguments`, as many as differ."""
    return "a wrong argument" if len(compare_with_step(facts, index, symbol).arguments) == 1 else "wrong arguments"


def extra_text(facts: Facts, harm: Harm) -> str:
    """Describe why a call should not have been made."""
    step = facts.steps[harm.index]
    match harm.kind:
        case HarmKind.MALFORMED:
            return f"has arguments that are no JSON object: {_malformed(step)}"
        case HarmKind.UNKNOWN_TOOL:
            return f"names a tool that does not exist{nearest(step.call.tool, facts.automaton.alphabet.tools or ())}"
        case HarmKind.FORBIDDEN:
            return _forbidden(facts, harm)
        case HarmKind.REPEATED:
            return f"repeats call {earlier_call(facts, step) + 1}, and was not expected again"
        case HarmKind.FAILED:
            return "failed, and every failed call counts as harmful here"
        case _ if facts.expects_nothing:
            return "was not expected: nothing was to be changed"
        case HarmKind.OUT_OF_ORDER:
            if step.reading.early:
                return f"comes before the result that it needs{_needed_text(facts, harm)}"
            if (again := repeated_call(facts, harm)) is not None:
                return f"repeats call {again + 1}, and is not expected again yet"
            return f"is a step of this task, but not expected at this point{_deciding_call(facts, harm)}"
        case HarmKind.AFTER_COMPLETION:
            return f"was not expected: {_completion_text(facts, harm)}"
    return _unlisted(facts, harm)


def _needed_text(facts: Facts, harm: Harm) -> str:
    """Name the steps whose results a call needs."""
    found = nearest_step(facts, harm.index)
    if found is None or not found.needs:
        return ""
    return f", of {join([step_text(action, facts.scope(harm.index)) for action in found.needs])}"


def _completion_text(facts: Facts, harm: Harm) -> str:
    """Say at which call the task was complete, or all steps were done if the outcome is wrong."""
    done = (index for calls in facts.done_at.values() for index in calls if index < harm.index)
    last = max(done, default=None)
    if facts.outcome_is_wrong and last is not None:
        return f"all steps were done by call {last + 1}"
    return "the task was complete" if last is None else f"the task was complete after call {last + 1}"


def _forbidden(facts: Facts, harm: Harm) -> str:
    """Describe why a forbidden call is harmful."""
    if harm.why is None:
        return "is forbidden in this task"
    severity = ", and that is severe" if harm.severity == "high" else ""
    why = broken_policy(facts, harm)
    if why is None:
        return "was made in a state that an earlier call had made wrong"
    return f'is against a rule: "{whole_sentence(facts, why)}"{severity}'


def _deciding_call(facts: Facts, harm: Harm) -> str:
    """Describe the earlier call whose result ruled out this step, or return an empty string if there is none."""
    step = facts.steps[harm.index]
    fits = step.reading.fits if step.symbol is None else (step.symbol,)
    for earlier in reversed(facts.steps[: harm.index]):
        if earlier.kind is Kind.PROGRESS and earlier.symbol is not None and earlier.call.result is not UNANSWERED:
            edges = facts.automaton.delta[earlier.before]
            others = [edges[other] for other in facts.steps_like(earlier.symbol) - {earlier.symbol} if other in edges]
            if any(facts.automaton.ahead[state] >> symbol & 1 for state in others for symbol in fits):
                return f": call {earlier.index + 1} had returned {value_text(earlier.call.result)}"
    return ""


def _unlisted(facts: Facts, harm: Harm) -> str:
    """Describe a call that matches no step."""
    if is_hand_over(facts.steps[harm.index]):
        return "handed over to a human, which was not expected"
    found = nearest_step(facts, harm.index)
    compared = "" if found is None or found.needs else f"; compared with the nearest step, {found}"
    return f"was not expected{compared}"


def _malformed(step: Step) -> str:
    """Describe malformed arguments, e.g. as `a list`, or say why they are not valid JSON."""
    given = step.call.arguments
    try:
        read = parse_json(given) if isinstance(given, str) else given
    except ValueError as error:
        return message_text(str(error))
    return "a list" if isinstance(read, (list, tuple)) else "a text" if isinstance(read, str) else value_text(read)


def earlier_call(facts: Facts, step: Step) -> int:
    """Return the index of the last call before `step` that did the same step."""
    symbols = set(step.reading.fits) if step.symbol is None else {step.symbol}
    return max(index for symbol in symbols for index in facts.done_at.get(symbol, ()) if index < step.index)


def repeated_call(facts: Facts, harm: Harm) -> int | None:
    """Return the index of the step that a call repeats at once, or None if it repeats none."""
    step = facts.steps[harm.index]
    before = next((one for one in reversed(facts.steps[: harm.index]) if one.kind is not Kind.LOOP), None)
    if before is None or before.kind is not Kind.PROGRESS or before.symbol is None or before.symbol != step.symbol:
        return None
    return before.index


def effect_text(facts: Facts, harm: Harm) -> str:
    """Say whether a harmful call took effect, or how the tool refused it.

    Return an empty string if neither is known.
    """
    call = facts.steps[harm.index].call
    if call.failed and harm.kind not in (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL):
        return f"the tool refused it: {message_text(call.error)}"
    if not harm.effected or call.result is UNANSWERED:
        return ""
    if facts.changed_state[harm.index] is None:
        return "it ran" if harm.again is None else f"it ran, but got the same answer as call {harm.again + 1}"
    return "it took effect" if facts.changed_state[harm.index] else "it changed nothing"

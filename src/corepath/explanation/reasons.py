"""Describe why a single call is harmful."""

from __future__ import annotations

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step
from corepath.errors import nearest
from corepath.explanation.arguments import nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.sentences import calls_text, join
from corepath.explanation.value_text import message_text, step_text, value_text
from corepath.notation.action import Action
from corepath.notation.call import UNANSWERED
from corepath.scoring.evidence import Harm
from corepath.values import parse_json


def reason_text(facts: Facts, harm: Harm) -> str:
    """Describe why a call is harmful, e.g. `comes too early: check() must come first`.

    The description is a predicate whose subject is the call.
    """
    step = facts.steps[harm.index]
    match harm.kind:
        case HarmKind.MALFORMED:
            return f"has arguments that are no JSON object: {_malformed(step)}"
        case HarmKind.UNKNOWN_TOOL:
            return f"names a tool that does not exist{nearest(step.call.tool, facts.automaton.alphabet.tools or ())}"
        case HarmKind.FORBIDDEN:
            return _forbidden(facts, harm)
        case HarmKind.REPEATED:
            return f"repeats call {_earlier_call(facts, step) + 1}, and that is not due again"
        case HarmKind.OUT_OF_ORDER if not step.reading.early:
            return _out_of_order(facts, harm)
        case HarmKind.AFTER_COMPLETION:
            return f"comes after the task was complete{_completion_text(facts, harm)}"
        case HarmKind.FAILED:
            return "failed, and every failed call counts as harmful here"
    return _mismatch(facts, harm)


def _completion_text(facts: Facts, harm: Harm) -> str:
    """Say at which call the task was complete, e.g. ` at call 3`.

    Return an empty string if no step was done before the harmful call.
    """
    done = (index for calls in facts.done_at.values() for index in calls if index < harm.index)
    last = max(done, default=None)
    return "" if last is None else f" at call {last + 1}"


def _forbidden(facts: Facts, harm: Harm) -> str:
    """Describe why a forbidden call is harmful."""
    text = f"is forbidden ({harm.severity} severity)" + (f": {message_text(harm.why)}" if harm.why else "")
    return text + _difference_from_due(facts, harm)


def _difference_from_due(facts: Facts, harm: Harm) -> str:
    """Describe how a call differs from an expected step with the same tool.

    Return an empty string if no such step was expected.
    """
    step = nearest_step(facts, harm.index)
    return f"; compared with the step that was due, {step}" if step is not None and step.due else ""


def _out_of_order(facts: Facts, harm: Harm) -> str:
    """Describe why a step at the wrong time is harmful."""
    step = facts.steps[harm.index]
    if harm.cause is None:
        fits = step.reading.fits if step.symbol is None else (step.symbol,)
        ahead = any(facts.automaton.ahead[step.before] >> symbol & 1 for symbol in fits)
        what = "is not due yet" if ahead else f"does not belong here{_deciding_call(facts, harm, fits)}"
        return f"is a step that {what}{_difference_from_due(facts, harm)}"
    skipped = [facts.symbols[name] for name in harm.cause.skipped]
    steps = facts.missing_text(skipped, harm.cause.at)
    if (again := repeated_call(facts, harm)) is not None:
        return f"repeats call {again + 1}, and that is due again only after {steps}"
    if harm.index == harm.cause.at:
        return f"comes too early: {steps} must come first"
    if facts.steps_called(harm.index).isdisjoint(skipped):
        return f"follows from call {harm.cause.at + 1}: {steps} had not been done"
    if facts.steps_called(harm.cause.at).isdisjoint(skipped):
        return f"follows from call {harm.cause.at + 1}: {steps} had not been done yet at that call"
    return f"follows from call {harm.cause.at + 1}: {steps} had to come before that call"


def _deciding_call(facts: Facts, harm: Harm, steps: tuple[int, ...]) -> str:
    """Describe the earlier call whose result ruled out `steps`, or return an empty string if there is no such call."""
    for step in reversed(facts.steps[: harm.index]):
        if step.kind is Kind.PROGRESS and step.symbol is not None and step.call.result is not UNANSWERED:
            edges = facts.automaton.delta[step.before]
            others = [edges[other] for other in facts.steps_like(step.symbol) - {step.symbol} if other in edges]
            if any(facts.automaton.ahead[state] >> symbol & 1 for state in others for symbol in steps):
                return f": call {step.index + 1} had returned {value_text(step.call.result)}"
    return ""


def _mismatch(facts: Facts, harm: Harm) -> str:
    """Describe why a call that matches no step is harmful."""
    step = nearest_step(facts, harm.index)
    if step is None:
        return "is no step of this task"
    if step.needs:
        return _missing_result(facts, harm, step.needs)
    if step.due:
        return f"has {'a wrong argument' if len(step.arguments) == 1 else 'wrong arguments'}: {step}"
    return f"is no step of this task; compared with the nearest one, {step}"


def _missing_result(facts: Facts, harm: Harm, needs: tuple[Action, ...]) -> str:
    """Explain that a call is harmful because the results of the actions in `needs` are missing."""
    needed = join([step_text(action, facts.scope(harm.index)) for action in needs])
    made = [step for step in facts.steps[: harm.index] if _is_one_of(facts, step, needs)]
    if done := [step.index for step in made if step.kind is Kind.PROGRESS]:
        return f"needs what {needed} returns, and {calls_text(done)} gave no such result"
    if made:
        return f"needs what {needed} returns, and {calls_text(step.index for step in made)} did not count"
    return f"needs what {needed} returns, and that had not been done"


def _is_one_of(facts: Facts, step: Step, actions: tuple[Action, ...]) -> bool:
    """Whether a call matches one of `actions` and did not fail."""
    return step.symbol is not None and not step.call.failed and facts.automaton.alphabet.actions[step.symbol] in actions


def _malformed(step: Step) -> str:
    """Describe malformed arguments, e.g. as `a list`, or say why they are not valid JSON."""
    given = step.call.arguments
    try:
        read = parse_json(given) if isinstance(given, str) else given
    except ValueError as error:
        return message_text(str(error))
    return "a list" if isinstance(read, (list, tuple)) else "a text" if isinstance(read, str) else value_text(read)


def _earlier_call(facts: Facts, step: Step) -> int:
    """Return the index of the last call before `step` that did the same step."""
    symbols = set(step.reading.fits) if step.symbol is None else {step.symbol}
    return max(index for symbol in symbols for index in facts.done_at.get(symbol, ()) if index < step.index)


def repeated_call(facts: Facts, harm: Harm) -> int | None:
    """Return the index of the call that a harmful call repeats, or None if it repeats none.

    Only the last call before the harmful one is considered, not counting self-loops. Return None as well if the nearest
    golden path has the step at least as often as the agent's path.
    """
    step = facts.steps[harm.index]
    label = facts.score.trace.label(step)
    if facts.score.condensed.count(label) <= facts.score.reference.path.count(label):
        return None
    before = next((other for other in reversed(facts.steps[: harm.index]) if other.kind is not Kind.LOOP), None)
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

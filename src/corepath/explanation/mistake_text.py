"""Say in one line what a mistake is, for the headline and for findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.arguments import compare_with_step
from corepath.explanation.difference_text import describe_differences
from corepath.explanation.facts import Facts
from corepath.explanation.hand_over import is_hand_over
from corepath.explanation.mistakes import Mistake, MistakeKind
from corepath.explanation.reasons import extra_text, late_text
from corepath.explanation.sentences import calls_text, capitalise, number_text, times_text
from corepath.explanation.value_text import tool_name
from corepath.scoring.evidence import Harm

MOST_TOLD: Final = 2
"""Maximum number of differences that are told in one line."""


def mistake_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a mistake, without a full stop."""
    match mistake.kind:
        case MistakeKind.SKIPPED:
            text = _skipped_text(facts, mistake)
        case MistakeKind.TOO_EARLY:
            text = _too_early_text(facts, mistake)
        case MistakeKind.WRONG_ARGUMENT:
            text = _argument_text(facts, mistake)
        case MistakeKind.OTHER_CALL:
            missing = are_missing_text(facts, mistake.steps, mistake.call)
            refused = " (the tool refused it)" if facts.steps[mistake.call].call.failed else ""
            reason = f"{_other_reason(facts, mistake)}{refused}"
            text = f"{capitalise(facts.call_text(mistake.call))}, {reason}, and {missing}"
        case _:
            return _extra_text(facts, mistake)
    return text + _consequences(facts, mistake)


def _consequences(facts: Facts, mistake: Mistake) -> str:
    """Name the other calls that are harmful because of a mistake."""
    later = [index for index in mistake.calls if index not in (mistake.call, mistake.other)]
    refused = [index for index in later if facts.steps[index].call.failed]
    others = [index for index in later if index not in refused]
    parts = [f"{calls_text(others)} {'is' if len(others) == 1 else 'are'} harmful"] if others else []
    parts += [refused_text(refused)] if refused else []
    return f"; {' and '.join(parts)} only because of that" if parts else ""


# Missing steps


def _skipped_text(facts: Facts, mistake: Mistake) -> str:
    index, steps = mistake.call, mistake.steps
    call = tool_and_number(facts, index)
    if len(steps) == 1 and (text := _unexpected_result_text(facts, mistake)):
        return text
    names = facts.missing_text(steps, index)
    failed = failed_attempts(facts, frozenset(steps), index)
    if set(steps) <= failed.keys():
        return f"{names} failed at call {max(failed.values()) + 1}, and {call} was made without it"
    done = Counter(facts.symbol(step) for step in facts.steps[:index] if not step.call.failed)
    if len(set(steps)) == 1 and done[steps[0]]:
        one = facts.short_text(steps[0], index)
        often = "once" if len(steps) == 1 else times_text(len(steps))
        return f"Called {one} too few times before {call}: {often} more was expected"
    it = "it" if len(steps) == 1 else "them"
    if facts.steps[index].reading.early:
        result = "its result" if len(steps) == 1 else "a result of these"
        return f"Skipped {names}: {call} needs {result}"
    if facts.steps[index].kind is Kind.LOOP:
        how = "was refused" if facts.steps[index].call.failed else "does not count"
        return f"Skipped {names}: {call} {how} without {it}"
    if facts.steps[index].call.failed:
        return f"Skipped {names}: {call} was tried without {it}, and the tool refused it"
    return f"Skipped {names}: {call} was made without {it}"


def _unexpected_result_text(facts: Facts, mistake: Mistake) -> str:
    """Say that a check returned an unexpected result and the agent went on anyway.

    Return an empty string if there was no such check.
    """
    steps, index = frozenset(mistake.steps), mistake.call
    check = max(
        (step.index for step in facts.steps[:index]
         if step.kind is Kind.LOOP and step.symbol is None and not step.call.failed
         and steps.intersection(step.reading.fits)),
        default=None,
    )  # fmt: skip
    if check is None:
        return ""
    how = "went out in the same turn" if facts.in_one_turn(check, index) else "went on all the same"
    call = capitalise(facts.call_text(check))
    return f"{call}, did not return what the task asks for, and {tool_and_number(facts, index)} {how}"


def failed_attempts(facts: Facts, steps: frozenset[int], before: int) -> dict[int, int]:
    """Return the index of the last failed call before call `before` for each step that was tried and failed."""
    return {
        symbol: step.index for step in facts.steps[:before] if step.call.failed
        for symbol in step.reading.fits if symbol in steps
    }  # fmt: skip


def _too_early_text(facts: Facts, mistake: Mistake) -> str:
    call = tool_and_number(facts, mistake.call)
    if not mistake.steps:
        return f"{call} came too early"
    if mistake.other == mistake.call + 1:
        both = calls_text((mistake.call, mistake.other))
        step = facts.short_text(mistake.steps[0], mistake.call)
        called = facts.steps[mistake.call].call.tool
        is_same_tool = facts.automaton.alphabet.actions[mistake.steps[0]].tool == called
        when = "first" if is_same_tool else f"before {tool_name(called)}"
        return f"{capitalise(both)} are in the wrong order: {step} must come {when}"
    first = facts.missing_text(mistake.steps, mistake.call)
    return f"{call} came too early: {first} must come first{late_text(mistake)}"


def _tool_of(facts: Facts, index: int) -> str:
    return tool_name(facts.steps[index].call.tool)


# Wrong calls


def _argument_text(facts: Facts, mistake: Mistake) -> str:
    compared = compare_with_step(facts, mistake.call, mistake.steps[0])
    wrong = "Wrong argument" if len(compared.arguments) == 1 else "Wrong arguments"
    how = describe_differences(compared.differences, 2)
    return f"{wrong} in call {mistake.call + 1}, {_tool_of(facts, mistake.call)}: {how}{_refused(facts, mistake)}"


def _refused(facts: Facts, mistake: Mistake) -> str:
    """Say that the tool refused the call at fault, if it did and that is not all."""
    first = mistake.first
    counts_anyway = first is not None and first.kind is HarmKind.FAILED
    return "; the tool refused it" if facts.steps[mistake.call].call.failed and not counts_anyway else ""


def refused_text(indices: Sequence[int]) -> str:
    """Say that the tool refused calls, e.g. `calls 4 and 7 were refused`."""
    return f"{calls_text(indices)} {'was' if len(indices) == 1 else 'were'} refused"


def _extra_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a call that should not have been made."""
    first = mistake.first
    if first is None:
        return f"{capitalise(facts.call_text(mistake.call))}, is a step too many"
    if first.kind is HarmKind.REPEATED and (text := _repetition_text(facts, mistake)):
        return text
    if facts.expects_nothing and first.kind is HarmKind.AFTER_COMPLETION:
        return _unwanted_text(facts, mistake, first)
    text = f"{capitalise(facts.call_text(first.index))}, {_extra_reason(facts, first)}"
    if mistake.other is not None:
        return f"{text}{_refused(facts, mistake)}; call {mistake.other + 1} undid it"
    others = [index for index in mistake.calls if index != mistake.call]
    refused = [index for index in mistake.calls if facts.steps[index].call.failed]
    if len(refused) == len(mistake.calls):
        text += _refused(facts, mistake)
        return f"{text}; the same goes for {calls_text(others)}" if others else text
    done = [index for index in others if index not in refused]
    text += f"; the same goes for {calls_text(done)}" if done else ""
    return f"{text}; {refused_text(refused)}" if refused else text


def _other_reason(facts: Facts, mistake: Mistake) -> str:
    return "is a detour" if mistake.first is None else _extra_reason(facts, mistake.first)


def _extra_reason(facts: Facts, harm: Harm) -> str:
    """Describe why a call should not have been made, without a comparison with other steps."""
    return extra_text(facts, harm).split("; compared with")[0]


def _unwanted_text(facts: Facts, mistake: Mistake, first: Harm) -> str:
    """Describe calls in a task in which nothing was to be changed."""
    effected = [harm for harm in mistake.harms if harm.effected]
    shown = effected[0] if effected else first
    call = facts.call_text(shown.index)
    if is_hand_over(facts.steps[shown.index]):
        return f"Nothing was to be changed, but {call}, handed over to a human"
    others = [harm.index for harm in (effected or mistake.harms) if harm is not shown]
    also = f", and so did {calls_text(others)}" if others else ""
    if effected:
        refused = [harm.index for harm in mistake.harms if not harm.effected]
        more = f"; {refused_text(refused)}" if refused else ""
        return f"Nothing was to be changed, but {call}, took effect{also}{more}"
    return f"Nothing was to be changed, but {call}, tried to{also}; the tool refused"


def _repetition_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a step that was done too often. Return an empty string if it was not."""
    symbol = facts.steps[mistake.call].symbol
    if symbol is None:
        return ""
    alphabet = facts.automaton.alphabet
    made = [step.index for step in facts.steps if step.symbol == symbol and step.kind is not Kind.LOOP]
    expected = len(made) - len(mistake.harms)
    if expected < 1:
        return ""
    tool = alphabet.actions[symbol].tool
    is_only_step = sum(action.tool == tool for action in alphabet.actions) == 1
    name = tool if is_only_step else facts.short_text(symbol, mistake.call)
    repeat = "repeats" if len(mistake.harms) == 1 else "repeat"
    often, calls = times_text(expected), calls_text(mistake.calls)
    return f"{name} was called {times_text(len(made))}, but expected only {often}: {calls} {repeat} it"


def tool_and_number(facts: Facts, index: int) -> str:
    """Return a call's tool and number, e.g. `pick (call 3)`."""
    return f"{tool_name(facts.steps[index].call.tool)} (call {index + 1})"


def missing_steps_text(facts: Facts, steps: tuple[int, ...], most: int = 2) -> str:
    """List steps that are missing at the end."""
    if len(steps) <= most:
        return are_missing_text(facts, steps, len(facts.steps))
    return f"{next_step_text(facts, steps)}; {count(len(steps) - 1, 'more step')} after it"


def are_missing_text(facts: Facts, steps: Sequence[int], index: int) -> str:
    """Say that steps are missing at call `index`, e.g. `a() is missing` or `two more a() are missing`."""
    be = "is" if len(steps) == 1 else "are"
    if len(set(steps)) == 1 and steps[0] in facts.steps_called(index):
        return f"{number_text(len(steps))} more {facts.short_text(steps[0], index)} {be} missing"
    return f"{facts.missing_text(steps, index)} {be} missing"


def next_step_text(facts: Facts, left: tuple[int, ...], which: str = "next") -> str:
    """Name the step that comes next at the end of a path, or one of them, e.g. `next is pick()`."""
    end = len(facts.steps)
    expected = facts.automaton.due(facts.positions[end].state)
    step = left[0] if left[0] in expected or not expected else expected[0]
    return f"{which} {'is' if len(expected) == 1 else 'could be'} {facts.short_text(step, end)}"

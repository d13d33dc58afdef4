"""Say in one line what a mistake is, for the headline and for findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.arguments import compare_with_step
from corepath.explanation.changes import describe_change, find_change
from corepath.explanation.difference_text import describe_differences
from corepath.explanation.facts import Facts
from corepath.explanation.hand_over import is_hand_over
from corepath.explanation.mistakes import Mistake, MistakeKind
from corepath.explanation.policies import whole_sentence
from corepath.explanation.reasons import extra_text, late_text, wrong_arguments_text
from corepath.explanation.sentences import calls_text, capitalise, cut, join, number_text, say_of_calls, times_text
from corepath.explanation.value_text import LONGEST_NAME, tool_name
from corepath.rules.rule import Never, Rule
from corepath.scoring.evidence import Harm

_SHORTEST_WORD: Final = 4
"""Words of a tool's name that are shorter than this say little."""
_FEWEST_TOOLS: Final = 4
"""A rule that forbids at least this many tools is about calls of every kind."""
_LONGEST_BESIDE: Final = 110
"""How long the differences of a call may be that is not the main mistake."""


def mistake_text(facts: Facts, mistake: Mistake, later: Sequence[int] = ()) -> str:
    """Describe a mistake, without a full stop. `later` holds the calls that are harmful only because of it."""
    match mistake.kind:
        case MistakeKind.SKIPPED:
            text = _skipped_text(facts, mistake)
        case MistakeKind.TOO_EARLY:
            text = _too_early_text(facts, mistake)
        case MistakeKind.WRONG_ARGUMENT:
            text = _argument_text(facts, mistake)
        case MistakeKind.OTHER_CALL:
            missing = are_missing_text(facts, mistake.steps, mistake.call)
            refused = " (the tool refused it)" if facts.is_refused(mistake.call) else ""
            reason = f"{_other_reason(facts, mistake)}{refused}"
            text = f"{capitalise(facts.call_text(mistake.call))}, {reason}, and {missing}"
        case _:
            return _extra_text(facts, mistake)
    return f"{text}; {because_text(facts, later)}" if later else text


def because_text(facts: Facts, calls: Sequence[int]) -> str:
    """Say that calls are harmful or were refused only because of what was told before."""
    refused = [index for index in calls if facts.is_refused(index)]
    others = [index for index in calls if index not in refused]
    parts = [say_of_calls(others, "harmful", ("is", "are"))] if others else []
    parts += [say_of_calls(refused, "refused")] if refused else []
    return f"{' and '.join(parts)} only because of that" if parts else ""


def calls_told_as_refused(facts: Facts, mistake: Mistake, later: Sequence[int]) -> set[int]:
    """Return the calls of which the description of a mistake says that the tool refused them."""
    calls = mistake.calls
    if mistake.kind in (MistakeKind.EXTRA, MistakeKind.BREACH, MistakeKind.FOLLOWS):
        told = set(calls) if all(map(facts.is_refused, calls)) else set()
    else:
        failed = failed_attempts(facts, frozenset(mistake.steps), mistake.call)
        own = () if mistake.kind is MistakeKind.TOO_EARLY else (mistake.call,)
        told = {*own, *(failed.values() if set(mistake.steps) <= failed.keys() else ())}
    return told.union(later).intersection(facts.refused)


# Missing steps


def _skipped_text(facts: Facts, mistake: Mistake) -> str:
    index, steps = mistake.call, mistake.steps
    call = tool_and_number(facts, index)
    if len(steps) == 1 and (text := _unexpected_result_text(facts, mistake)):
        return text
    names = facts.missing_text(steps, index)
    failed = failed_attempts(facts, frozenset(steps), index)
    if set(steps) <= failed.keys():
        went = "refused" if facts.is_refused(index) else "made"
        return f"{names} failed at call {max(failed.values()) + 1}, and {call} was {went} without it"
    done = Counter(facts.symbol(step) for step in facts.steps[:index] if not step.call.failed)
    if len(set(steps)) == 1 and done[steps[0]]:
        one = facts.short_text(steps[0], index)
        often = "once" if len(steps) == 1 else times_text(len(steps))
        refused = ", which was refused" if facts.is_refused(index) else ""
        return f"Called {one} too few times before {call}{refused}: {often} more was expected"
    return f"Skipped {names}: {call} {_without_text(facts, mistake)}"


def _without_text(facts: Facts, mistake: Mistake) -> str:
    """Say what became of a call that came without the steps before it."""
    step, one = facts.steps[mistake.call], len(mistake.steps) == 1
    it = "it" if one else "them"
    if step.reading.early:
        return f"needs {'its result' if one else 'a result of these'}"
    if step.kind is Kind.LOOP:
        return f"{'was refused' if step.call.failed else 'does not count'} without {it}"
    return f"was tried without {it}, and the tool refused it" if step.call.failed else f"was made without {it}"


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
    if mistake.call == len(facts.steps):
        return (
            "A step came too late"
            if mistake.other is None
            else f"{tool_and_number(facts, mistake.other)} came too late"
        )
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
    how = describe_differences(compared.differences)
    return f"{wrong} in call {mistake.call + 1}, {_tool_of(facts, mistake.call)}: {how}{_refused(facts, mistake)}"


def other_argument_text(facts: Facts, mistake: Mistake, *, in_full: bool) -> str:
    """Describe wrong arguments beside the main mistake: how they differ if that is short and wanted, or their names."""
    compared = compare_with_step(facts, mistake.call, mistake.steps[0])
    text = f"{facts.name_call(mistake.call)}, has {wrong_arguments_text(facts, mistake.call, mistake.steps[0])}"
    how = describe_differences(compared.differences)
    if in_full and len(how) <= _LONGEST_BESIDE:
        return f"{text}: {how}"
    return f"{text} ({join([cut(name, LONGEST_NAME) for name in compared.arguments])})"


def _refused(facts: Facts, mistake: Mistake) -> str:
    """Say that the tool refused the call at fault, if it did and that is not all."""
    first = mistake.first
    counts_anyway = first is not None and first.kind is HarmKind.FAILED
    return "; the tool refused it" if facts.is_refused(mistake.call) and not counts_anyway else ""


def _extra_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a call that should not have been made."""
    first = mistake.first
    if first is None:
        return f"{capitalise(facts.call_text(mistake.call))}, is a step too many"
    if first.kind is HarmKind.REPEATED and (text := _repetition_text(facts, mistake)):
        return text
    if facts.expects_nothing and first.kind is HarmKind.AFTER_COMPLETION:
        return _unwanted_text(facts, mistake, first)
    text = f"{capitalise(facts.call_text(first.index))}, {_extra_reason(facts, first)}{_change_text(facts, first)}"
    if mistake.other is not None:
        return f"{text}{_refused(facts, mistake)}; call {mistake.other + 1} undid it"
    return text + _same_text(facts, mistake)


def _same_text(facts: Facts, mistake: Mistake) -> str:
    """Name the other calls to which the same applies, without those that the tool refused unless it refused all."""
    others = [index for index in mistake.calls if index != mistake.call]
    is_refused = all(map(facts.is_refused, mistake.calls))
    same = others if is_refused else [index for index in others if not facts.is_refused(index)]
    refused = _refused(facts, mistake) if is_refused else ""
    return f"{refused}; the same goes for {calls_text(same)}" if same else refused


def _change_text(facts: Facts, harm: Harm) -> str:
    """Say what a call changed if the rule that it broke is about calls of every kind, such as "change nothing".

    Return an empty string if the rule speaks of calls like this one, or if the call changed nothing.
    """
    if harm.kind is not HarmKind.FORBIDDEN or harm.why is None or not facts.changed_state[harm.index]:
        return ""
    forbidden = {tool for rule in facts.task.policies if rule.because == harm.why for tool in _tools(rule)}
    words = [word for word in facts.steps[harm.index].call.tool.lower().split("_") if len(word) >= _SHORTEST_WORD]
    told = whole_sentence(facts, harm.why).lower()
    if len(forbidden) < _FEWEST_TOOLS or any(word in told for word in words):
        return ""
    path, change = next(iter(find_change(facts, harm.index).items()))
    return f"; it {describe_change({path: change})}"


def _tools(rule: Rule) -> Iterator[str]:
    """Yield the tool that a rule forbids, if it forbids one."""
    if isinstance(rule, Never) and rule.call is not None:
        yield rule.call.tool


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
        return f"Nothing was to be changed, but {call}, took effect{also}"
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
    is_refused = all(map(facts.is_refused, mistake.calls))
    refused = f", and {'was' if len(mistake.calls) == 1 else 'were'} refused" if is_refused else ""
    return f"{name} was called {times_text(len(made))}, but expected only {often}: {calls} {repeat} it{refused}"


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
    step = next((one for one in expected if one in left), expected[0] if expected else left[0])
    return f"{which} {'is' if len(expected) == 1 else 'could be'} {facts.short_text(step, end)}"

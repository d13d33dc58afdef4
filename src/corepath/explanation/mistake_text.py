"""Say in one line what a mistake is, for the headline and for findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.arguments import compare_with_step
from corepath.explanation.changes import describe_change, find_change
from corepath.explanation.difference_text import LONGEST_BESIDE, describe_differences
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.necessity import is_needed
from corepath.explanation.policies import whole_sentence
from corepath.explanation.reasons import extra_text, late_text, wrong_arguments_text
from corepath.explanation.sentences import (
    MOST_LISTED,
    calls_text,
    capitalise,
    cut,
    join,
    number_text,
    say_of_calls,
    say_of_several,
    times_text,
)
from corepath.explanation.value_text import LONGEST_NAME, tool_name
from corepath.rules.rule import Never, Rule
from corepath.scoring.evidence import Harm
from corepath.scoring.hand_over import is_hand_over

REFUSED: Final = "the tool refused it"
_MOST_NAMED: Final = 2
"""How many steps are named in any case."""
_MOST_LISTED_AT_END: Final = 4
"""How many steps are named if they are short."""
_LONGEST_LIST: Final = 180
"""How long a list of steps with all their arguments may be."""
_LONGEST_BRIEF_LIST: Final = 240
_SHORTEST_WORD: Final = 4
"""Words of a tool's name that are shorter than this say little."""
_FEWEST_TOOLS: Final = 4
"""A rule that forbids at least this many tools is about calls of every kind."""


def mistake_clauses(facts: Facts, mistake: Mistake, later: Sequence[int] = ()) -> list[str]:
    """Describe a mistake in one clause or more. `later` holds the calls that are harmful only because of it."""
    match mistake.kind:
        case MistakeKind.SKIPPED:
            told = [_skipped_text(facts, mistake)]
        case MistakeKind.TOO_EARLY:
            told = [_too_early_text(facts, mistake)]
        case MistakeKind.WRONG_ARGUMENT:
            told = list(_argument_clauses(facts, mistake))
        case MistakeKind.OTHER_CALL:
            told = [_other_call_text(facts, mistake)]
        case _:
            return list(_extra_clauses(facts, mistake))
    return [*told, because_text(facts, later)] if later else told


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
        own = mistake.tries or (mistake.call,)
        own = own if all(map(facts.is_refused, own)) and mistake.kind is not MistakeKind.TOO_EARLY else ()
        told = {*own, *(failed.values() if set(mistake.steps) <= failed.keys() else ())}
    return told.union(later).intersection(facts.refused)


# Missing steps


def _skipped_text(facts: Facts, mistake: Mistake) -> str:
    index, steps = mistake.call, mistake.steps
    call = tool_and_number(facts, index)
    if len(steps) == 1 and (text := _unexpected_result_text(facts, mistake)):
        return text
    names = facts.needed_text(steps, index, has_choice=mistake.has_choice)
    failed = failed_attempts(facts, frozenset(steps), index)
    if set(steps) <= failed.keys():
        went = "refused" if facts.is_refused(index) else "made"
        return f"{names} failed at call {max(failed.values()) + 1}, and {call} was {went} without it"
    if text := _again_text(facts, mistake):
        return text
    if len(steps) > MOST_LISTED and not mistake.has_choice:
        refused = _which_was_refused(facts, index)
        return f"Skipped the {number_text(len(steps))} steps that must come before {call}{refused}"
    return f"Skipped {names}: {call} {_without_text(facts, mistake)}"


def _again_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a step that was skipped although it was done before. Return an empty string if it was not."""
    index, step = mistake.call, mistake.steps[0]
    done = {facts.symbol(one) for one in facts.steps[:index] if not one.call.failed}
    if len(set(mistake.steps)) > 1 or step not in done:
        return ""
    name, call, refused = facts.short_text(step, index), tool_and_number(facts, index), _which_was_refused(facts, index)
    since = facts.steps[0 if mistake.after is None else mistake.after : index]
    if mistake.after is None or any(facts.symbol(one) == step and not one.call.failed for one in since):
        often = "once" if len(mistake.steps) == 1 else times_text(len(mistake.steps))
        return f"Called {name} too few times before {call}{refused}: {often} more was expected"
    often = "" if len(mistake.steps) == 1 else f" {times_text(len(mistake.steps))}"
    return f"Skipped {name}{often} between {tool_and_number(facts, mistake.after)} and {call}{refused}"


def _which_was_refused(facts: Facts, index: int) -> str:
    return ", which was refused" if facts.is_refused(index) else ""


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
    first = facts.needed_text(mistake.steps, mistake.call, has_choice=mistake.has_choice)
    return f"{call} came too early: {first} must come first{late_text(mistake)}"


def _tool_of(facts: Facts, index: int) -> str:
    return tool_name(facts.steps[index].call.tool)


# Wrong calls


def _argument_clauses(facts: Facts, mistake: Mistake) -> Iterator[str]:
    if mistake.tries:
        yield from _tries_clauses(facts, mistake)
        return
    compared = compare_with_step(facts, mistake.call, mistake.steps[0])
    wrong = "Wrong argument" if len(compared.arguments) == 1 else "Wrong arguments"
    how = describe_differences(compared.differences)
    if mistake.is_early:
        few = "a wrong argument" if len(compared.arguments) == 1 else "wrong arguments"
        yield f"{capitalise(facts.name_call(mistake.call))}, came too early, and it has {few}: {how}"
    else:
        yield f"{wrong} in {facts.name_call(mistake.call)}: {how}"
    yield from _refused(facts, mistake)


def _tries_clauses(facts: Facts, mistake: Mistake) -> Iterator[str]:
    """Describe several tries of a step with wrong arguments, of which none was right."""
    compared = {index: compare_with_step(facts, index, mistake.steps[0]) for index in mistake.tries}
    own = compared[mistake.call]
    how, names = describe_differences(own.differences, 2), own.arguments
    tries = f"{_both(mistake.tries)} tries of {_tool_of(facts, mistake.call)} ({calls_text(mistake.tries)})"
    are_refused = all(map(facts.is_refused, mistake.tries))
    if all(one.differences == own.differences for one in compared.values()):
        same = "the same wrong argument" if len(names) == 1 else "the same wrong arguments"
        listed = join([cut(name, LONGEST_NAME) for name in names])
        told = f"{same}: {how}" if len(how) <= LONGEST_BESIDE else f"{same} ({listed})"
        yield f"{capitalise(tries)} had {told}"
        yield from ["the tool refused them"] if are_refused else []
        return
    is_same = all(set(one.arguments) == set(names) for one in compared.values())
    is_one = len(names) == 1 and not names[0].endswith("s")
    wrong = f"{'a wrong' if is_one else 'wrong'} {join([cut(name, LONGEST_NAME) for name in names])}"
    if is_same and len(how) > LONGEST_BESIDE:
        yield f"{capitalise(tries)} had {wrong}"
        yield from ["the tool refused them"] if are_refused else []
        return
    wrong = wrong if is_same else "wrong arguments"
    yield f"{capitalise(tries)} {'were refused' if are_refused else f'had {wrong}'}"
    fewer = all(len(one.arguments) > len(names) for index, one in compared.items() if index != mistake.call)
    yield f"in {'the nearest, ' if fewer else ''}call {mistake.call + 1}, {how}"


def _both(calls: Sequence[int]) -> str:
    return "both" if len(calls) == 2 else f"all {number_text(len(calls))}"


def other_argument_text(facts: Facts, mistake: Mistake) -> str:
    """Describe wrong arguments beside the main mistake: how they differ if that is short, or their names."""
    compared = compare_with_step(facts, mistake.call, mistake.steps[0])
    if mistake.tries:
        calls = f"{calls_text(mistake.tries)}, {_tool_of(facts, mistake.call)},"
        return f"{calls} have wrong arguments"
    text = f"{facts.name_call(mistake.call)}, has {wrong_arguments_text(facts, mistake.call, mistake.steps[0])}"
    how = describe_differences(compared.differences)
    if len(how) <= LONGEST_BESIDE and "; " not in how:
        return f"{text}: {how}"
    return f"{text} ({join([cut(name, LONGEST_NAME) for name in compared.arguments])})"


def _refused(facts: Facts, mistake: Mistake) -> Iterator[str]:
    """Say that the tool refused the call at fault, if it did and that is not all."""
    first = mistake.first
    counts_anyway = first is not None and first.kind is HarmKind.FAILED
    if facts.is_refused(mistake.call) and not counts_anyway:
        yield REFUSED


def _extra_clauses(facts: Facts, mistake: Mistake) -> Iterator[str]:
    """Describe calls that should not have been made."""
    first = mistake.first
    if first is None:
        yield f"{capitalise(facts.call_text(mistake.call))}, is a step too many"
    elif first.kind is HarmKind.REPEATED and (text := _repetition_text(facts, mistake)):
        yield text
    elif facts.expects_nothing and first.kind is HarmKind.AFTER_COMPLETION:
        yield from _unwanted_clauses(facts, mistake, first)
    elif mistake.other is not None:
        yield f"{capitalise(facts.call_text(first.index))}, {_extra_reason(facts, first)}"
        yield from _refused(facts, mistake)
        yield f"call {mistake.other + 1} undid call {first.index + 1}"
    else:
        yield from _alike_clauses(facts, mistake, first)


def _alike_clauses(facts: Facts, mistake: Mistake, first: Harm) -> Iterator[str]:
    """Describe calls that are wrong for the same reason. Those that the tool refused are named if it refused all."""
    is_refused = all(map(facts.is_refused, mistake.calls))
    calls = [index for index in mistake.calls if is_refused or index == first.index or not facts.is_refused(index)]
    reason = _extra_reason(facts, first)
    plural = say_of_several(reason) if len(calls) > 1 else ""
    if plural:
        yield f"{capitalise(_name_calls(facts, calls))} {plural}"
    else:
        yield f"{capitalise(facts.call_text(first.index))}, {reason}"
    yield from _change_text(facts, first)
    if is_refused:
        yield from [f"the tool refused {_both(calls)}"] if plural else _refused(facts, mistake)
    if not plural and len(calls) > 1:
        yield f"the same goes for {calls_text(index for index in calls if index != first.index)}"


def _change_text(facts: Facts, harm: Harm) -> Iterator[str]:
    """Say what a call changed if the rule that it broke is about calls of every kind, such as "change nothing".

    Say nothing if the rule speaks of calls like this one, or if the call changed nothing.
    """
    if harm.kind is not HarmKind.FORBIDDEN or harm.why is None or not facts.changed_state[harm.index]:
        return
    forbidden = {tool for rule in facts.task.policies if rule.because == harm.why for tool in _tools(rule)}
    words = [word for word in facts.steps[harm.index].call.tool.lower().split("_") if len(word) >= _SHORTEST_WORD]
    told = whole_sentence(facts, harm.why).lower()
    if len(forbidden) >= _FEWEST_TOOLS and not any(word in told for word in words):
        path, change = next(iter(find_change(facts, harm.index).items()))
        yield f"call {harm.index + 1} {describe_change({path: change})}"


def _tools(rule: Rule) -> Iterator[str]:
    """Yield the tool that a rule forbids, if it forbids one."""
    if isinstance(rule, Never) and rule.call is not None:
        yield rule.call.tool


def _other_call_text(facts: Facts, mistake: Mistake) -> str:
    """Describe a call that was made instead of a step. If the step was called elsewhere, say where it is missing."""
    index, steps = mistake.call, mistake.steps
    refused = " (the tool refused it)" if facts.is_refused(index) else ""
    reason = _other_reason(facts, mistake).replace(", and that is severe", " (severe)")
    called = {symbol for step in facts.steps for symbol in (facts.symbol(step), *step.reading.fits)}
    missing = are_missing_text(facts, steps, index)
    if len(steps) == 1 and steps[0] in called:
        missing = f"{facts.short_text(steps[0], index)} is missing in its place"
    return f"{capitalise(facts.call_text(index))}, {reason}{refused}, and {missing}"


def _other_reason(facts: Facts, mistake: Mistake) -> str:
    return "is a detour" if mistake.first is None else _extra_reason(facts, mistake.first)


def _extra_reason(facts: Facts, harm: Harm) -> str:
    """Describe why a call should not have been made, without a comparison with other steps."""
    if harm.kind is HarmKind.OUT_OF_ORDER and facts.symbol(facts.steps[harm.index]) is None:
        return "was not expected"
    return extra_text(facts, harm).split("; compared with")[0]


def _unwanted_clauses(facts: Facts, mistake: Mistake, first: Harm) -> Iterator[str]:
    """Describe calls in a task in which nothing was to be changed."""
    effected = [harm for harm in mistake.harms if harm.effected]
    shown = effected[0] if effected else first
    calls = [harm.index for harm in effected or mistake.harms]
    call = f"{_name_calls(facts, calls)}" if len(calls) > 1 else f"{facts.call_text(shown.index)},"
    if is_hand_over(facts.steps[shown.index]):
        yield f"Nothing was to be changed, but {call} handed over to a human"
    elif effected:
        yield f"Nothing was to be changed, but {call} took effect"
    else:
        yield f"Nothing was to be changed, but {call} tried to"
        yield f"the tool refused {_both(calls) if len(calls) > 1 else 'it'}"


def _name_calls(facts: Facts, calls: Sequence[int]) -> str:
    """Name calls by their numbers, and by their tools if these are few, e.g. `calls 3 and 4, pick,`."""
    tools = list(dict.fromkeys(_tool_of(facts, index) for index in calls))
    return f"{calls_text(calls)}, {join(tools)}," if len(tools) <= MOST_LISTED else calls_text(calls)


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


def missing_steps_text(facts: Facts, steps: tuple[int, ...]) -> str:
    """List steps that are missing at the end."""
    if len(set(steps)) == 1:
        return are_missing_text(facts, steps, len(facts.steps))
    if names := name_few_steps(facts, steps):
        return f"{names} are missing"
    return f"{next_step_text(facts, steps)}; {count(len(steps) - 1, 'more step')} after it"


def are_missing_text(facts: Facts, steps: Sequence[int], index: int) -> str:
    """Say that steps are missing at call `index`, e.g. `a() is missing` or `two more a() are missing`."""
    be = "is" if len(steps) == 1 else "are"
    if len(set(steps)) == 1 and steps[0] in facts.steps_called(index):
        return f"{number_text(len(steps))} more {facts.short_text(steps[0], index)} {be} missing"
    return f"{facts.missing_text(steps, index)} {be} missing"


def name_few_steps(facts: Facts, steps: Sequence[int]) -> str:
    """List the steps that are missing at the end, the long ones by the arguments that tell them apart.

    Return an empty string if they are many or too long, or if others would do as well.
    """
    end, state, few = len(facts.steps), facts.score.trace.end.state, len(steps) <= _MOST_NAMED
    are_all_needed = all(is_needed(facts.automaton, state, step) for step in steps)
    if not few and (len(steps) > _MOST_LISTED_AT_END or not are_all_needed):
        return ""
    whole = facts.missing_text(steps, end, most=len(steps))
    is_long = len(whole) > _LONGEST_LIST and len(steps) > 1
    text = facts.missing_text(steps, end, most=len(steps), briefly=True) if is_long else whole
    return text if few or len(text) <= _LONGEST_BRIEF_LIST else ""


def next_step_text(facts: Facts, left: tuple[int, ...], which: str = "next") -> str:
    """Name the step that comes next at the end of a path, or one of them, e.g. `next is pick()`.

    One that was not called yet is named rather than one that was called too early.
    """
    end = len(facts.steps)
    expected = facts.automaton.due(facts.positions[end].state)
    called = facts.steps_called(end)
    wanted = sorted((one for one in expected if one in left), key=called.__contains__)
    step = next(iter(wanted), expected[0] if expected else left[0])
    return f"{which} {'is' if len(expected) == 1 else 'could be'} {facts.short_text(step, end)}"

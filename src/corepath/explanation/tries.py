"""Tell of calls that the tool refused: tries of a step that was put right later, and all others in one clause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step
from corepath.explanation.arguments import compare_with_step, differing_arguments
from corepath.explanation.difference_text import LONGEST_BESIDE, describe_differences
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.sentences import calls_text, join, number_text
from corepath.explanation.value_text import tool_name

MOST_TRIES: Final = 2
"""How many tries are told with what was wrong with them. Of more tries, the numbers are told."""
MOST_NUMBERED: Final = 4
"""How many refused calls are named by their numbers. If there are more, they are counted."""


def describe_tries(facts: Facts, mistakes: Iterable[Mistake]) -> str:
    """Say that all steps were done, and which tries the tool refused before.

    Return an empty string if there are other mistakes, or if a refused call was no try of a step that was done later.
    """
    tries = _find_tries(facts)
    if not tries or not {index for one in mistakes for index in one.calls} <= {index for index, _ in tries}:
        return ""
    wrong = "a wrong try" if len(tries) == 1 else f"{number_text(len(tries))} wrong tries"
    told = [_describe_try(facts, index, step) for index, step in tries[:MOST_TRIES]]
    told += [calls_text(index for index, _ in rest)] if (rest := tries[MOST_TRIES:]) else []
    done = _done_text(facts, {step.index for _, step in tries})
    return f"Did {done} only after {wrong}, which the tool refused: {join(told, most=9)}"


def _find_tries(facts: Facts) -> list[tuple[int, Step]]:
    """List the harmful calls that were tries of a step, each with the call that did it, if all steps were done."""
    refused = [harm.index for harm in facts.score.harms if facts.score.accepted and facts.is_refused(harm.index)]
    return [(index, step) for index in refused if (step := _put_right(facts, index)) is not None]


def _put_right(facts: Facts, index: int) -> Step | None:
    """Return the call that did the step that a refused call tried with wrong arguments, or None if there is none."""
    tried = facts.steps[index]
    if tried.harm is not HarmKind.WRONG_ARGUMENT:
        return None
    later = (step for step in facts.steps[index:] if step.kind is Kind.PROGRESS and step.call.tool == tried.call.tool)
    done = next(later, None)
    if done is None or done.symbol is None:
        return None
    fields = facts.automaton.alphabet.actions[done.symbol].arguments.fields
    return done if len(differing_arguments(facts, index, done.symbol)) < len(fields) else None


def _describe_try(facts: Facts, index: int, done: Step) -> str:
    """Name a try and say what was wrong with it."""
    assert done.symbol is not None
    compared = compare_with_step(facts, index, done.symbol)
    how = describe_differences(compared.differences, 2)
    return f"call {index + 1} ({how if len(how) <= LONGEST_BESIDE else f'wrong {join(compared.arguments)}'})"


def _done_text(facts: Facts, targets: Collection[int]) -> str:
    """Say which steps were done, and which of them needed several tries."""
    total = facts.steps_done
    if total == 1:
        return f"the one step (call {min(targets) + 1}), but"
    whole = "both steps" if total == 2 else f"all {number_text(total)} steps"
    if len(targets) > 1:
        return f"{whole}, but some"
    index = min(targets)
    return f"{whole}, but {tool_name(facts.steps[index].call.tool)} (call {index + 1})"


def alike_calls(facts: Facts, main: Mistake) -> tuple[int, ...]:
    """Return the calls with the same tool of a mistake that is told by what is wrong with one of them."""
    first = main.first
    if main.kind not in (MistakeKind.EXTRA, MistakeKind.BREACH) or first is None or main.other is not None:
        return ()
    if first.kind is HarmKind.REPEATED or facts.expects_nothing:
        return ()
    tool = facts.steps[main.call].call.tool
    return tuple(index for index in main.calls if facts.steps[index].call.tool == tool)


def refused_calls(
    facts: Facts,
    alike: Collection[int],
    told: Collection[int],
    *,
    tries: Collection[int] = (),
    others_tried: Collection[int] = (),
    and_it: bool = False,
) -> list[str]:
    """Name all calls that the tool refused and that are not told yet, or none if all of these are harmless.

    Those in `alike` tried the same as the call that was told first. `tries` holds the calls that were just told as
    tries of a step, and `others_tried` those that are told beside them. `and_it` says that the call told just before
    was refused too.
    """
    left = [index for index in facts.refused if index not in told]
    if not any(facts.steps[index].kind is Kind.HARM for index in left):
        return []
    if len(left) > MOST_NUMBERED and set(left) <= set(tries):
        return [f"{number_text(len(left))} of them were refused"]
    same = [index for index in left if index in alike]
    others = [index for index in left if index not in alike]
    if not same:
        with_it = f"it was refused, as {_were(others)} {_name_or_count(others, 'other')}"
        return [with_it if and_it else _refused_text(facts, others, {*tries, *others_tried}, is_more=bool(told))]
    more = f", as {_were(others)} {_name_or_count(others, 'other')}" if others else ""
    return [f"{_name_or_count(same, 'more')} tried the same, and {_were(same)} refused{more}"]


def _refused_text(facts: Facts, calls: Sequence[int], tries: Collection[int], *, is_more: bool) -> str:
    """Say that calls were refused, and name their tool if it is the same and those in `tries` do not tell it.

    `is_more` says that others were told as refused before.
    """
    tool = "" if set(calls) <= set(tries) else name_only_tool(facts, calls)
    if len(calls) > MOST_NUMBERED:
        return f"{_name_or_count(calls, 'more' if is_more else '')}{f' to {tool}' if tool else ''} were refused"
    which = f"{calls_text(calls)}, {tool}," if tool else calls_text(calls)
    return f"{which} {_were(calls)} {'also refused' if is_more else 'refused'}"


def name_only_tool(facts: Facts, calls: Iterable[int]) -> str:
    """Return the tool of calls that all use the same one, or an empty string if they do not."""
    tools = {facts.steps[index].call.tool for index in calls}
    return tool_name(tools.pop()) if len(tools) == 1 else ""


def _name_or_count(calls: Sequence[int], which: str) -> str:
    """Name calls by their numbers, or count them if there are many, e.g. `11 more calls`."""
    if len(calls) <= MOST_NUMBERED:
        return calls_text(calls)
    return f"{number_text(len(calls))} {which} calls".replace("  ", " ")


def _were(calls: Collection[int]) -> str:
    return "was" if len(calls) == 1 else "were"

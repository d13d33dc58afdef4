"""Write the headline of an explanation: one line that names the cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import count
from corepath.explanation.beside import (
    describe_all_done,
    describe_other_harms,
    find_consequences,
    rule_text,
    unexpected_text,
)
from corepath.explanation.blame import main_mistake
from corepath.explanation.edits import Repair
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.mistake_text import (
    REFUSED,
    are_missing_text,
    calls_told_as_refused,
    missing_steps_text,
    mistake_clauses,
    name_few_steps,
    next_step_text,
)
from corepath.explanation.path import divergence, failed_at_the_end, limit_text, uncounted_calls
from corepath.explanation.sentences import (
    MOST_LISTED,
    add_full_stop,
    calls_text,
    capitalise,
    cut,
    join,
    join_clauses,
    number_text,
    sentence,
)
from corepath.explanation.tries import alike_calls, describe_tries, refused_calls
from corepath.explanation.turns import unseen_pairs
from corepath.explanation.value_text import tool_name
from corepath.explanation.waste import Loop, WasteKind

_MOST_NAMED: Final = 2
"""How many missing steps a headline names. If there are more, it counts them."""
_LONGEST_NAMES: Final = 130
LONGEST_HEADLINE: Final = 400
MOST_CLAUSES: Final = 3
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_DETAIL: Final = re.compile(r"in (the nearest, )?call \d+, ")
"""How a clause begins that says what was wrong with one of several calls."""
_LACKING: Final = (MistakeKind.SKIPPED, MistakeKind.UNFINISHED, MistakeKind.OTHER_CALL)
"""The mistakes that leave steps undone."""


def write_headline(
    facts: Facts, mistakes: tuple[Mistake, ...], loops: Mapping[int, Loop], repair: Repair | None
) -> str:
    """Say in one line how the episode went, and why."""
    if facts.outside_failure:
        when = f"after {count(len(facts.steps), 'call')}" if facts.steps else "before any call"
        return sentence(f"{facts.outside_failure} {when}")
    main = main_mistake(facts, mistakes)
    if facts.score.accepted and not facts.score.harms:
        return sentence(_accepted_text(facts, loops))
    if main is None or main.kind is MistakeKind.UNFINISHED:
        return add_full_stop(_unfinished_text(facts, main, mistakes, loops))
    return add_full_stop(_mistake_text(facts, main, mistakes, repair))


def _accepted_text(facts: Facts, loops: Mapping[int, Loop]) -> str:
    """Write the headline for a valid path."""
    parts = [_done_text(facts), *_other_calls(facts, loops)]
    unseen = next(unseen_pairs(facts), None)
    if unseen is not None:
        check, act = unseen
        parts.append(f"but call {act + 1} went out before call {check + 1} was answered")
    if (off := divergence(facts)) is not None:
        parts.append(f"but call {off + 1} makes a detour")
    if facts.score.broken:
        parts.append(f"but {count(len(facts.score.broken), 'rule')} broken")
    if facts.has_wrong_answer:
        parts.append("but the answer is not what was asked for")
    if facts.score.state_match is False:
        parts.append("but the final state is not what it should be")
    return "; ".join(parts)


def _done_text(facts: Facts) -> str:
    if facts.episode.unasked:
        made = count(len(facts.steps), "call")
        return f"not judged: the benchmark does not check the agent's calls in this task; the agent made {made}"
    if facts.expects_nothing:
        return "nothing was to be changed, and nothing was"
    if not facts.steps:
        return "made no call, and none was expected"
    return f"followed the procedure: {count(facts.steps_done, 'step')}, no harm"


def _other_calls(facts: Facts, loops: Mapping[int, Loop]) -> list[str]:
    """Say what else was called on a valid path."""
    if facts.episode.unasked:
        return []
    others = sum(loop.kind is not WasteKind.HANDED_OVER for loop in loops.values())
    parts = []
    if others and facts.expects_nothing:
        only_looked = all(loop.kind in (WasteKind.LOOK, WasteKind.HANDED_OVER) for loop in loops.values())
        parts.append(f"{count(others, 'call')} only looked" if only_looked else count(others, "call"))
    elif others:
        parts.append(count(others, "other call"))
    return [*parts, "handed over to a human"] if facts.hand_over is not None else parts


def _unfinished_text(
    facts: Facts, main: Mistake | None, mistakes: tuple[Mistake, ...], loops: Mapping[int, Loop]
) -> str:
    """Write the headline for a path whose cause is that it stopped early."""
    left = facts.steps_left if main is None else main.steps
    total = facts.steps_done + facts.score.missing_steps
    if not facts.steps:
        were = "step was" if total == 1 else "steps were"
        limit = f"; ran into {limit_text(facts)}" if limit_text(facts) else ""
        names = name_few_steps(facts, left) if total == len(left) else ""
        first = f": {names}" if names else f"; {next_step_text(facts, left, 'the first')}"
        return f"Made no call; {number_text(total)} {were} expected{first}{limit}"
    is_early_stop = main is None or any(main is one for one in mistakes)
    went_on = main is not None and main.other is not None and facts.did_step_from(main.other)
    just_looked = not is_early_stop and facts.only_looked
    stop = _stop_clauses(facts, left, total, loops, went_on=went_on, just_looked=just_looked)
    refused = refused_calls(facts, (), set(failed_at_the_end(facts)[-1:]))
    return join_clauses([*stop, *_unexpected_text(facts, is_last=not refused), *refused], MOST_CLAUSES)


def _unexpected_text(facts: Facts, *, is_last: bool) -> list[str]:
    """Tell of the harmful calls that ran, if any. Those that are against a rule are told apart."""
    ran = [harm for harm in facts.score.harms if not facts.is_refused(harm.index)]
    against = [harm.index for harm in ran if harm.kind is HarmKind.FORBIDDEN]
    others = [harm.index for harm in ran if harm.index not in against]
    no_change = is_last and not facts.only_looked and all(facts.changed_state[one.index] is False for one in ran)
    what = f"not expected{', and changed nothing' if no_change else ''}"
    parts = [rule_text(facts, against, too=False)] if against else []
    return [*parts, unexpected_text(facts, others, what)] if others else parts


def _stop_clauses(
    facts: Facts, left: tuple[int, ...], total: int, loops: Mapping[int, Loop], *, went_on: bool, just_looked: bool
) -> list[str]:
    """Say how a path ended and what is missing.

    `went_on` says whether a step was done after one that is missing, and `just_looked` whether to say that the agent
    only looked although it did some steps.
    """
    how = _end_text(facts)
    if facts.steps_done and just_looked:
        were = "was" if facts.steps_done == 1 else "were"
        done = f"{facts.steps_done} of the {total} steps {were} done"
        done += " at the right time" if facts.steps_called(len(facts.steps)) & set(left) else ""
        return [how or "Only looked", done, next_step_text(facts, left)]
    if facts.steps_done:
        done = f"{facts.steps_done} of {count(total, 'step')}: {_missing_text(facts, left)}"
        return [f"Did {done}" if went_on and not how else f"{how or 'Stopped'} after {done}"]
    none = _none_text(facts, left, total)
    looks = all(_only_looks(facts, index, loop) for index, loop in loops.items()) and not facts.score.harms
    if not how and (looks or just_looked):
        how = "Only looked"
    if how:
        return [how, *none]
    begins_with_tool = total == len(left) == 1 and not failed_at_the_end(facts)
    return none if begins_with_tool else [capitalise(none[0]), *none[1:]]


def _end_text(facts: Facts) -> str:
    """Say what ended a path, or return an empty string if the agent just stopped."""
    if limit := limit_text(facts):
        return f"Ran into {limit}"
    return "Handed over to a human" if facts.hand_over is not None else ""


def _only_looks(facts: Facts, index: int, loop: Loop) -> bool:
    """Whether a call was meant only to look."""
    looks = (WasteKind.LOOK, WasteKind.AGAIN, WasteKind.EARLY)
    return loop.kind in looks or (loop.kind is WasteKind.REFUSED and facts.steps[index].reading.loops)


def _missing_text(facts: Facts, left: tuple[int, ...]) -> str:
    if failed := failed_at_the_end(facts):
        return f"{facts.call_text(failed[-1])}, was refused by the tool"
    early = uncounted_calls(facts, left)
    if {facts.symbol(facts.steps[index]) for index in early} == set(left):
        it = "it" if len(early) == 1 else "they"
        return f"{calls_text(early)} came too early, and {it} must be made again"
    return missing_steps_text(facts, left)


def _also_missing(facts: Facts, main: Mistake, mistakes: tuple[Mistake, ...], repair: Repair | None) -> str:
    """Say which steps are missing beside those of the main mistake. Return an empty string if there are none.

    If they are many, all missing steps are counted, with those of the main mistake.
    """
    others = [
        one for one in mistakes
        if (one.call, one.kind) != (main.call, main.kind) and (one.kind in _LACKING or _was_refused(facts, one))
    ]  # fmt: skip
    missing = [step for one in others for step in one.steps]
    if not missing:
        return ""
    is_wrong = not main.steps or main.kind is MistakeKind.WRONG_ARGUMENT
    if facts.score.missing_steps > _MOST_NAMED and is_wrong and not facts.steps_called(len(facts.steps)):
        return _none_with_first(facts, facts.score.missing_steps, main)
    more = "more " if main.steps else ""
    are_few = len(missing) == 1 or len(main.steps) + len(missing) <= MOST_LISTED
    if are_few and (text := _name_missing(facts, missing, main)):
        return text
    if repair is not None and len(missing) > MOST_LISTED:
        done = sum(not facts.is_refused(index) for index in repair.steps_kept)
        if not done:
            return _none_with_first(facts, repair.length, main)
        return f"{repair.length - done} of the {repair.length} steps are missing"
    return f"{number_text(len(missing))} {more}{'step is' if len(missing) == 1 else 'steps are'} missing"


def _none_with_first(facts: Facts, total: int, main: Mistake) -> str:
    """Say that none of the steps was done, and name the first one if the main mistake does not."""
    if facts.steps_done or main.steps:
        return _none_of(facts, total)
    return f"{_none_of(facts, total)} ({next_step_text(facts, facts.steps_left, 'the first')})"


def _name_missing(facts: Facts, missing: Sequence[int], main: Mistake) -> str:
    """Name missing steps. Return an empty string if there are too many, or if the main mistake names them already."""
    end = len(facts.steps)
    if len(missing) == 1 and missing[0] in main.steps:
        return f"one more {facts.short_text(missing[0], end)} is missing"
    names = {facts.short_text(step, end) for step in missing}
    if len(missing) > _MOST_NAMED or set(missing).intersection(main.steps) or len(names) < len(set(missing)):
        return ""
    too = " too" if main.kind is MistakeKind.SKIPPED else ""
    text = are_missing_text(facts, missing, end)
    if len(missing) == 1 or len(text) <= _LONGEST_NAMES:
        return f"{text}{too}"
    tools = Counter(facts.automaton.alphabet.actions[step].tool for step in missing)
    steps = Counter(action.tool for action in facts.automaton.alphabet.actions)
    is_clear = len(tools) > 1 and all(steps[tool] == 1 for tool in tools)
    return f"{join([tool_name(tool) for tool in tools])} are missing{too}" if is_clear else ""


def _was_refused(facts: Facts, one: Mistake) -> bool:
    """Whether a mistake is a call with wrong arguments that the tool refused, so that its step is missing."""
    return one.kind is MistakeKind.WRONG_ARGUMENT and facts.is_refused(one.call)


def _none_of(facts: Facts, total: int) -> str:
    """Say that none of the steps was done. One may have been called too early, or too late."""
    none = "neither of the two steps" if total == 2 else f"none of the {number_text(total)} steps"
    return f"{none} was done at the right time" if facts.steps_called(len(facts.steps)) else f"{none} was done"


def _none_text(facts: Facts, left: tuple[int, ...], total: int) -> list[str]:
    """Say that none of the steps was done, and name them, or the first one if there are many."""
    if failed := failed_at_the_end(facts):
        return [f"no step was done: {facts.call_text(failed[-1])}, was refused by the tool"]
    if total == len(left) == 1:
        return [f"{facts.missing_text(left, len(facts.steps))} was never called"]
    none = _none_of(facts, total)
    if total == len(left) and (names := name_few_steps(facts, left)):
        return [f"{none}: {names}"]
    return [none, next_step_text(facts, left, "the first")]


# Paths with a mistake other than stopping early


def _mistake_text(facts: Facts, main: Mistake, mistakes: tuple[Mistake, ...], repair: Repair | None) -> str:
    """Write the headline for a path with a mistake other than stopping early."""
    if tries := describe_tries(facts, mistakes):
        clauses, rest = [tries], []
    else:
        later = find_consequences(facts, main, mistakes)
        clauses = mistake_clauses(facts, main, later)
        alike = alike_calls(facts, main)
        is_refused = clauses[-1] == REFUSED and not alike
        told, tried = calls_told_as_refused(facts, main, later), [index for one in mistakes for index in one.tries]
        tried += main.calls if main.first is not None and main.first.kind is HarmKind.REPEATED else ()
        refused = refused_calls(facts, alike, told, tries=main.tries, others_tried=tried, and_it=is_refused)
        if refused and is_refused:
            clauses[-1], refused = refused[0], []
        end = [_also_missing(facts, main, mistakes, repair), describe_all_done(facts, main, clauses, repair)]
        others = [list(describe_other_harms(facts, main, mistakes, later, clauses[0], briefly=briefly))
                  for briefly in (False, True)]  # fmt: skip
        is_long = len([*clauses, *refused, *filter(None, [*others[0], *end])]) > MOST_CLAUSES
        rest = others[is_long]
        rest = [*refused, *rest] if set(alike).intersection(facts.refused) else [*rest, *refused]
        rest += end
    rest += ["the agent handed over to a human"] if facts.hand_over is not None else []
    rest += [f"ran into {limit}"] if (limit := limit_text(facts)) else []
    return _join_sentences(facts, clauses, [part for part in rest if part])


def _join_sentences(facts: Facts, clauses: Sequence[str], rest: Sequence[str]) -> str:
    """Join clauses with semicolons. If the first ones list what differs, the rest is a sentence of its own."""
    listing = next((number for number, clause in enumerate(clauses) if _lists(clause)), None)
    told = 1 if listing is None else listing + 1
    first, end = clauses[:told], join_clauses([*clauses[told:], *rest], MOST_CLAUSES - 1)
    room = LONGEST_HEADLINE - len(end) - 3
    text = cut("; ".join(first), room)
    if listing is None or not end:
        return f"{text}; {end}" if end else text
    tools = {action.tool for action in facts.automaton.alphabet.actions}
    starts_with_tool = re.split(r"[ (]", end, maxsplit=1)[0] in tools
    return f"{add_full_stop(text)} {f'Also, {end}' if starts_with_tool else capitalise(end)}"


def _lists(clause: str) -> bool:
    """Whether a clause is a list of its own, with semicolons other than in quotes, or comes after another clause."""
    return "; " in _QUOTED.sub("", clause) or bool(_DETAIL.match(clause))

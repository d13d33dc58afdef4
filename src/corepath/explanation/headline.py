"""Write the headline of an explanation: one line that names the cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from corepath.errors import count
from corepath.explanation.blame import main_mistake
from corepath.explanation.facts import Facts
from corepath.explanation.mistake_text import (
    are_missing_text,
    missing_steps_text,
    mistake_text,
    next_step_text,
    refused_text,
)
from corepath.explanation.mistakes import Mistake, MistakeKind
from corepath.explanation.path import divergence, failed_at_the_end, limit_text, uncounted_calls
from corepath.explanation.reasons import wrong_arguments_text
from corepath.explanation.sentences import add_full_stop, calls_text, capitalise, cut, number_text, sentence
from corepath.explanation.turns import unseen_pairs
from corepath.explanation.waste import Loop, WasteKind
from corepath.scoring.evidence import Harm

_MOST_NAMED: Final = 2
"""How many missing steps a headline names. If there are more, it counts them."""
_LONGEST_NAMES: Final = 130
LONGEST_HEADLINE: Final = 400
_LACKING: Final = (MistakeKind.SKIPPED, MistakeKind.UNFINISHED, MistakeKind.OTHER_CALL)
"""The mistakes that leave steps undone."""


def write_headline(facts: Facts, mistakes: tuple[Mistake, ...], loops: Mapping[int, Loop]) -> str:
    """Say in one line how the episode went, and why."""
    if facts.outside_failure:
        when = f"after {count(len(facts.steps), 'call')}" if facts.steps else "before any call"
        return sentence(f"{facts.outside_failure} {when}")
    main = main_mistake(facts, mistakes)
    if facts.score.accepted and not facts.score.harms:
        return sentence(_accepted_text(facts, loops))
    if main is None or main.kind is MistakeKind.UNFINISHED:
        return add_full_stop(_unfinished_text(facts, main, loops))
    return add_full_stop(_mistake_text(facts, main, mistakes))


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
        return f"not judged: the source does not check what the agent does in this task; it made {made}"
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


def _unfinished_text(facts: Facts, main: Mistake | None, loops: Mapping[int, Loop]) -> str:
    """Write the headline for a path whose cause is that it stopped early."""
    left = facts.steps_left if main is None else main.steps
    total = facts.steps_done + facts.score.missing_steps
    if not facts.steps:
        were = "step was" if total == 1 else "steps were"
        limit = f"; ran into {limit_text(facts)}" if limit_text(facts) else ""
        first = f": {facts.short_text(left[0], 0)}" if total == 1 else f"; {next_step_text(facts, left, 'the first')}"
        return f"Made no call; {number_text(total)} {were} expected{first}{limit}"
    parts = [_stop_text(facts, left, total, loops), *_harms_text(facts, facts.score.harms, "harmful")]
    return "; ".join(parts)


def _harms_text(facts: Facts, harms: Iterable[Harm], what: str) -> list[str]:
    """Name harmful calls by their numbers, and those that the tool refused apart."""
    refused = [harm.index for harm in harms if facts.steps[harm.index].call.failed]
    others = [harm.index for harm in harms if harm.index not in refused]
    parts = [f"{calls_text(others)} {'is' if len(others) == 1 else 'are'} {what}"] if others else []
    return [*parts, refused_text(refused)] if refused else parts


def _stop_text(facts: Facts, left: tuple[int, ...], total: int, loops: Mapping[int, Loop]) -> str:
    """Say how a path ended and what is missing."""
    limit, missing = limit_text(facts), _missing_text(facts, left)
    if facts.steps_done:
        how = f"ran into {limit}" if limit else "handed over to a human" if facts.hand_over is not None else "stopped"
        return f"{capitalise(how)} after {facts.steps_done} of {count(total, 'step')}: {missing}"
    none = _none_text(facts, left, total)
    if limit:
        return f"Ran into {limit}; {none}"
    if facts.hand_over is not None:
        return f"Handed over to a human; {none}"
    if not facts.score.harms and all(_only_looks(facts, index, loop) for index, loop in loops.items()):
        return f"Only looked; {none}"
    begins_with_tool = total == len(left) == 1 and not failed_at_the_end(facts)
    return none if begins_with_tool else capitalise(none)


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


def _also_missing(facts: Facts, main: Mistake, mistakes: tuple[Mistake, ...]) -> str:
    """Say which steps are missing beside those of the main mistake. Return an empty string if there are none."""
    others = [one for one in mistakes if one is not main]
    missing = [step for one in others if one.kind in _LACKING or _was_refused(facts, one) for step in one.steps]
    total = facts.score.missing_steps
    if missing and total > 1 and not main.steps and not facts.steps_called(len(facts.steps)):
        return f"{_none_of(total)} was done"
    if len(missing) == 1 and missing[0] in main.steps:
        return f"one more {facts.short_text(missing[0], len(facts.steps))} is missing"
    if 0 < len(missing) <= _MOST_NAMED and not set(missing).intersection(main.steps):
        text = are_missing_text(facts, missing, len(facts.steps))
        if len(missing) == 1 or len(text) <= _LONGEST_NAMES:
            return text
    return f"{number_text(len(missing))} {'more ' if main.steps else ''}steps are missing" if missing else ""


def _was_refused(facts: Facts, one: Mistake) -> bool:
    """Whether a mistake is a call with wrong arguments that the tool refused, so that its step is missing."""
    return one.kind is MistakeKind.WRONG_ARGUMENT and facts.steps[one.call].call.failed


def _none_of(total: int) -> str:
    return "neither of the two steps" if total == 2 else f"none of the {number_text(total)} steps"


def _none_text(facts: Facts, left: tuple[int, ...], total: int) -> str:
    """Say that none of the steps was done, and name them, or the first one if there are many."""
    if failed := failed_at_the_end(facts):
        return f"no step was done: {facts.call_text(failed[-1])}, was refused by the tool"
    if total == len(left) == 1:
        return f"{facts.missing_text(left, len(facts.steps))} was never called"
    none = _none_of(total)
    if total == len(left) == 2:
        return f"{none} was done: {facts.missing_text(left, len(facts.steps))}"
    return f"{none} was done; {next_step_text(facts, left, 'the first')}"


def _mistake_text(facts: Facts, main: Mistake, mistakes: tuple[Mistake, ...]) -> str:
    """Write the headline for a path with a mistake other than stopping early."""
    parts = [mistake_text(facts, main)]
    told = {*main.harms, *(harm for harm in facts.score.harms if harm.index == main.call)}
    near = [one for one in mistakes if one is not main and one.kind is MistakeKind.WRONG_ARGUMENT and one.effected]
    parts += [f"{facts.name_call(one.call)}, has {wrong_arguments_text(facts, one.call, one.steps[0])}" for one in near]
    told.update(harm for one in near for harm in one.harms)
    later = [harm for one in mistakes if one.kind is MistakeKind.FOLLOWS for harm in one.harms]
    if main.kind is MistakeKind.EXTRA:
        parts += _harms_text(facts, later, "harmful only because of that")
        told.update(later)
    parts += _harms_text(facts, [harm for harm in facts.score.harms if harm not in told], "harmful too")
    if missing := _also_missing(facts, main, mistakes):
        parts.append(missing)
    if facts.hand_over is not None:
        parts.append("then handed over to a human")
    if limit := limit_text(facts):
        parts.append(f"ran into {limit}")
    room = LONGEST_HEADLINE - sum(len(part) + 2 for part in parts[1:]) - 1
    return "; ".join([cut(parts[0], room), *parts[1:]])

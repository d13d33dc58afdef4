"""Tell what there is beside the main mistake: what follows from it, other harmful calls, and steps that were done."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.explanation.edits import Repair
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import SPREADING, Mistake, MistakeKind
from corepath.explanation.mistake_text import because_text, other_argument_text
from corepath.explanation.outcome import describe_outcome
from corepath.explanation.sentences import calls_text, say_of_calls

ALL_DONE: Final = re.compile("was complete after|all steps were done")
_WRONG_TIME: Final = (MistakeKind.SKIPPED, MistakeKind.TOO_EARLY)
"""The mistakes that make steps come too early."""


def find_consequences(facts: Facts, main: Mistake, mistakes: Iterable[Mistake]) -> list[int]:
    """Return the calls that are harmful or failed only because of the main mistake, and not of another one before."""
    end, others = len(facts.steps), [one for one in mistakes if (one.call, one.kind) != (main.call, main.kind)]
    first = min((_place(one, end) for one in others), default=end)
    effected = min((one.call for one in others if one.effected and one.kind is not MistakeKind.FOLLOWS), default=end)
    later = sorted({*_harms_after(facts, main, mistakes), *main.failed})
    return [index for index in later if index < (min(first, effected) if facts.is_refused(index) else first)]


def _place(one: Mistake, end: int) -> int:
    """Return the call from which on a mistake may make calls harmful, or the number of calls if it makes none so."""
    if one.kind is MistakeKind.UNFINISHED and one.other is not None:
        return one.other
    return one.call if one.kind in SPREADING else end


def _harms_after(facts: Facts, main: Mistake, mistakes: Iterable[Mistake]) -> list[int]:
    """Return the harmful calls that may follow from the main mistake, and the one that came too early if it failed."""
    if main.kind in SPREADING:
        is_early = main.kind is MistakeKind.TOO_EARLY and main.call in facts.refused
        own = (main.call, main.other, *main.tries)
        return [*(index for index in main.calls if index not in own), *[main.call] * is_early]
    follows = [one for one in mistakes if one.kind is MistakeKind.FOLLOWS and main.kind is MistakeKind.EXTRA]
    return [harm.index for one in follows for harm in one.harms]


def describe_other_harms(
    facts: Facts, main: Mistake, mistakes: Sequence[Mistake], later: Sequence[int], first: str, *, briefly: bool
) -> Iterator[str]:
    """Tell of the harmful calls that are not part of the main mistake, without those that the tool refused.

    `later` holds the calls that are harmful only because of the main mistake, and `first` is what is told first.
    With `briefly`, wrong arguments are not told apart from calls that were not expected.
    """
    told = {main.call, main.other, *main.tries, *later, *facts.refused}
    if main.kind not in SPREADING:
        told.update(main.calls)
        yield because_text(facts, later)
    wrong = _wrong_arguments(mistakes, told)
    tries = {index for one in wrong for index in (one.call, *one.tries)}
    early = [index for one in mistakes if one.kind in _WRONG_TIME for index in one.calls if index not in told | tries]
    rest = [harm.index for harm in facts.score.harms if harm.index not in {*told, *tries, *early}]
    if against := [harm.index for harm in facts.score.harms if harm.index in rest and harm.kind is HarmKind.FORBIDDEN]:
        yield rule_text(facts, against, too="against a rule" in first)
        rest = [index for index in rest if index not in against]
    if rest and briefly:
        early.extend(tries)
    else:
        yield _other_arguments_text(facts, wrong)
    if rest:
        either = " either" if "not expected" in first else ""
        yield unexpected_text(facts, sorted({*early, *rest}), "wrong too" if early else f"not expected{either}")
    elif early:
        yield _early_text(facts, early)


def _other_arguments_text(facts: Facts, wrong: Sequence[Mistake]) -> str:
    """Tell of other calls with wrong arguments. If there is only one, say how they differ."""
    if not wrong:
        return ""
    if len(wrong) == 1:
        return other_argument_text(facts, wrong[0])
    calls = sorted({index for one in wrong for index in (one.call, *one.tries)})
    return f"{calls_text(calls)} have wrong arguments too"


def _wrong_arguments(mistakes: Iterable[Mistake], told: Collection[int | None]) -> list[Mistake]:
    """Return the calls that took effect with wrong arguments and are not told yet."""
    wrong = [one for one in mistakes if one.kind is MistakeKind.WRONG_ARGUMENT and one.effected]
    return [one for one in wrong if one.call not in told]


def unexpected_text(facts: Facts, calls: Sequence[int], what: str) -> str:
    """Say that calls were not expected."""
    return f"{facts.name_call(calls[0])}, was {what}" if len(calls) == 1 else say_of_calls(calls, what)


def rule_text(facts: Facts, calls: Sequence[int], *, too: bool) -> str:
    """Say that calls are against a rule."""
    rule = f"against a rule{' too' if too else ''}"
    return f"{facts.name_call(calls[0])}, is {rule}" if len(calls) == 1 else f"{calls_text(calls)} are {rule}"


def _early_text(facts: Facts, calls: Sequence[int]) -> str:
    """Say that steps came too early."""
    return f"{f'{facts.name_call(calls[0])},' if len(calls) == 1 else calls_text(calls)} came too early"


def describe_all_done(facts: Facts, main: Mistake, clauses: Iterable[str], repair: Repair | None) -> str:
    """Say that all steps were done in spite of the main mistake, and what is wrong with the outcome, if anything is.

    Return an empty string if they were not, or if the headline says so in its first `clauses`.
    """
    told = " ".join(clauses)
    if not facts.score.accepted or main.kind in SPREADING or facts.expects_nothing or ALL_DONE.search(told):
        return ""
    done = [step.index for step in facts.steps if step.advances]
    if not done or (len(done) == 1 and "expected only once" in told):
        return ""
    if facts.outcome_is_wrong:
        return f"all steps were done, but {describe_outcome(facts, repair)}"
    return f"the task was complete after call {done[-1] + 1}"

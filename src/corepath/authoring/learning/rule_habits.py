"""Candidates about calls in general, and about what the user agrees to: they are judged run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from corepath.authoring.learning.rule_candidate import Candidate, Template
from corepath.authoring.learning.rule_log import CONSENT, YES, RuleLog, Run
from corepath.authoring.learning.rule_verdicts import judge_run
from corepath.notation.action import Tool
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.event import bind
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Requires, Rule
from corepath.rules.witness import forbids_outright

MOST_RUNS: Final = 300
"""How many good and how many bad runs are judged. Rules that are proposed are judged by all runs later."""
MOST_TOOLS: Final = 50
"""For how many tools it is tried whether the user agrees first, the most frequent ones."""
_REPEATED: Final = ("at most 1 $c", "at most 2 $c", "never $c after failed $c within 1 call", "never failed call")
_TURNS: Final = ("at most 1 call per turn", "never agent(...) with call")
_BY_CHANCE: Final = 0.5


def find_habits(good: Sequence[Run], bad: Sequence[Run], log: RuleLog, least: int) -> Iterator[Candidate]:
    """Yield the candidates."""
    rules = [(parse_rule(text), 1.0) for text in _REPEATED] if bad else []
    if _has_turns(good):
        rules += [(parse_rule(text), _BY_CHANCE) for text in _TURNS]
    if log.presence[CONSENT] >= least:
        agent = parse_rule("never agent(...)").patterns[0]
        share = _share_of_consent(good)
        tools = log.tools[CONSENT + 1 :][:MOST_TOOLS]
        rules += [(Requires(YES, Tool(tool).any(), since=agent), share) for tool in tools]
    yield from judge_candidates([(Template.HABIT, rule, chance) for rule, chance in rules], good, bad, least)


def judge_candidates(
    rules: Sequence[tuple[Template, Rule, float]], good: Sequence[Run], bad: Sequence[Run], least: int
) -> Iterator[Candidate]:
    """Yield the rules that at most one good run breaks. Each comes with the chance that a run keeps it."""
    good, bad = good[:MOST_RUNS], bad[:MOST_RUNS]
    left = list(range(len(rules)))
    applied, misses = Counter[int](), Counter[int]()
    for run in good:
        for place, (applies, broken) in zip(left, judge_run([rules[place][1] for place in left], run), strict=True):
            applied[place] += applies
            misses[place] += broken
        left = [place for place in left if misses[place] <= 1]
    applied_bad, broken_bad = Counter[int](), Counter[int]()
    for run in bad if left else ():
        for place, (applies, broken) in zip(left, judge_run([rules[place][1] for place in left], run), strict=True):
            applied_bad[place] += applies
            broken_bad[place] += broken
    for place in left:
        template, rule, chance = rules[place]
        if forbids_outright(rule):
            applied[place], applied_bad[place] = len(good), len(bad)
        if applied[place] >= least:
            yield Candidate(template, (), applied[place], applied[place], misses[place],
                            applied_bad[place], broken_bad[place], chance, rule)  # fmt: skip


def _has_turns(runs: Iterable[Run]) -> bool:
    """Whether it is known for some calls that they were made in one turn, or beside a message."""
    return any(
        one.turn is not None and one.turn == other.turn and (isinstance(one, Call) or isinstance(other, Call))
        for run in runs
        for one, other in pairwise(run)
    )


def _share_of_consent(runs: Sequence[Run]) -> float:
    """The share of the user's messages in which the user agrees."""
    said = [item for run in runs for item in run if isinstance(item, Message) and item.role == "user"]
    agreed = sum(bind(YES, item) is not None for item in said)
    return agreed / max(1, len(said))

"""Assert that a path keeps rules, in a test or anywhere else.

assert_rules("policy.yaml", calls)
assert_rules(["never delete_*(...)"], episode)
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from corepath.episode import Episode
from corepath.files.rules import load_rules
from corepath.notation import parser
from corepath.notation.call import Call
from corepath.play.recorder import Recorder
from corepath.rules.parser import parse_rule
from corepath.rules.rule import Rule
from corepath.rules.wording import describe_verdict
from corepath.scoring.rules import RuleScore, score_rules


def assert_rules(
    rules: str | Path | Iterable[Rule | str],
    calls: Episode | Recorder | Iterable[Call | str],
    *,
    max_broken: int = 0,
) -> RuleScore:
    """Judge a path by rules, and raise `AssertionError` with an explanation if it breaks more than `max_broken`.

    `rules` is a rule file, or a list of rules. A rule in the list may be text. What a rule still requires at the end
    counts as broken.
    """
    __tracebackhide__ = True
    if isinstance(rules, (str, Path)):
        found = load_rules(rules).rules
    else:
        found = tuple(parse_rule(rule) if isinstance(rule, str) else rule for rule in rules)
    scored = score_rules(found, _make_episode(calls))
    if len(scored.broken) > max_broken:
        raise AssertionError("\n".join(_describe(scored)))
    return scored


def _make_episode(calls: Episode | Recorder | Iterable[Call | str]) -> Episode:
    if isinstance(calls, Recorder):
        return calls.episode
    if isinstance(calls, Episode):
        return calls
    if isinstance(calls, str):
        raise TypeError(f"calls are a list, such as [{calls[:60]!r}], not one text")
    return Episode("", tuple(parser.call(call) if isinstance(call, str) else call for call in calls))


def _describe(scored: RuleScore) -> Iterable[str]:
    """Yield the lines of a failure's message."""
    yield f"{len(scored.broken)} of {len(scored.verdicts)} rules broken"
    for verdict in scored.broken:
        yield f"  {verdict.state}: {verdict.rule}"
        yield from (f"    {line}" for line in describe_verdict(verdict, scored.items))
